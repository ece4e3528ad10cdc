"""`triage classify` on one log that lies on disk, on a web server and in an S3-compatible store, both on the loopback and in the same rounds.

    python -m benchmarks.elsewhere build/bench/clean.log --rounds 3

The servers are written in Python and take the same processors, so this is what reading from elsewhere costs at the least, not what a network gives.
Needs the extras `remote` and `dev` (moto). The answers are compared: they must be the same bytes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import installed, interleaved, table

KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}
SERVE_WEB = """
import sys, time
from pathlib import Path
from tests.sources.remote.servers import web_server
with web_server() as web:
    web.files["/log"] = Path(sys.argv[1]).read_bytes()
    print(web.url, flush=True)
    sys.stdin.read()
"""
UPLOAD = "import sys, boto3; s3 = boto3.client('s3'); s3.create_bucket(Bucket='bench'); s3.upload_file(sys.argv[1], 'bench', 'log')"


@contextlib.contextmanager
def web(log: Path) -> Iterator[str]:
    """The address of the log on a web server of its own process."""
    with subprocess.Popen([sys.executable, "-c", SERVE_WEB, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/log"
        server.communicate("")


@contextlib.contextmanager
def store(log: Path) -> Iterator[str]:
    """The address of the log in a store of its own process; the environment then leads there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            subprocess.run([sys.executable, "-c", UPLOAD, str(log)], check=True)
            yield "s3://bench/log"
        finally:
            server.terminate()


def main() -> None:
    """Measure, compare the answers, and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("log", type=Path)
    ask.add_argument("--rounds", type=int, default=3)
    given = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder, web(given.log) as page, store(given.log) as key:
        places = {"disk": str(given.log), "http": page, "s3": key}
        runs = interleaved({name: [installed(), "classify", place] for name, place in places.items()}, given.rounds, Path(folder))
        answers = {name: done[-1].output.read_text().partition("(triage explain")[0] for name, done in runs.items()}
        print(f"{given.log}: {given.log.stat().st_size / 1e6:.0f} MB, {given.rounds} rounds, {os.cpu_count()} processors")
        print(f"the answers are {'the same' if len(set(answers.values())) == 1 else 'NOT THE SAME'}\n")
        print(table(runs, "disk"))


if __name__ == "__main__":
    main()
