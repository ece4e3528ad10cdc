"""`python -m triage` is the command `triage`."""

from triage.cli.main import main

if __name__ == "__main__":
    main(prog_name="triage")
