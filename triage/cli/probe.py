"""`triage probe`: one health check, one line."""

from __future__ import annotations

import click


@click.command()
@click.argument("url")
@click.option("--generate", is_flag=True, help="Also ask for one token: vLLM's /health says 200 while the GPUs hang.")
@click.option("--model", default="", help="The model to ask with --generate (default: the first that the engine names).")
@click.option("--api-key", "key", default="", metavar="KEY", help="The engine's --api-key; in a crontab better as TRIAGE_PROBE_API_KEY.")
@click.option("--timeout", type=click.FloatRange(min=0.1, max=600), default=10.0, show_default=True, metavar="SECONDS", help="For the whole probe.")
def probe(url: str, generate: bool, model: str, key: str, timeout: float) -> None:
    """Ask an engine whether it answers and print one JSON line, for a log that `triage classify` reads.

    Exits with 0 whatever the engine did: the line says it.

    \b
    Example, in a crontab:
      * * * * *  triage probe http://localhost:8000 --generate --timeout 30 >> /var/log/probe.jsonl
    """
    from triage.prober import probe as ask

    try:
        attempt = ask(url, generate=generate, model=model, key=key, timeout=timeout)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(attempt.line())
