"""What is a log of probes, and what only mentions health endpoints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.probe import looks_like_probe_log

PROBES = {
    "columns": "2026-11-12T03:10:00Z 200 0\n2026-11-12T03:11:00Z 000 28\n",
    "columns without their date": "200 0\n000 7\n",
    "one line": "2026-11-12T03:10:00+00:00 http=000 exit=7 time=0.001\n",
    "names": "2026-11-12T03:10:00+00:00 http=200 exit=0 time=0.012\n" * 3,
    "date command": "Thu Nov 12 03:10:00 UTC 2026 200\nThu Nov 12 03:11:00 UTC 2026 000\n",
    "words": "[2026-11-12 03:10:00] OK\n[2026-11-12 03:11:00] FAIL\ncurl: (7) Failed to connect to localhost port 8000\n",
    "json lines": '{"ts":"2026-11-12T03:10:00Z","status":200,"latency":0.01}\n{"ts":"2026-11-12T03:11:00Z","error":"timeout"}\n',
    "own prober": '{"start":"2026-11-12T03:10:00Z","end":"2026-11-12T03:10:01Z","status":200,"error_kind":null}\n',
    "csv": "time,target,status,latency\n2026-11-12T03:10:00Z,vllm-a,200,0.01\n2026-11-12T03:11:00Z,vllm-a,503,0.01\n",
    "kubelet": 'Liveness probe failed: Get "http://10.1.2.3:8000/health": dial tcp 10.1.2.3:8000: connect: connection refused\n' * 2,
    "events": (
        "LAST SEEN   TYPE      REASON      OBJECT       MESSAGE\n"
        "5m          Normal    Pulled      pod/vllm-0   Container image already present on machine\n"
        '2m          Warning   Unhealthy   pod/vllm-0   Liveness probe failed: Get "http://10.1.2.3:8000/health": EOF\n'
    ),
    "exporter": (
        "ts=2026-11-12T03:10:00.000Z caller=handler.go:117 module=http_2xx target=http://gpu1:8000/health level=error "
        'msg="Probe failed" duration_seconds=9.5\n'
    ),
    "python": (
        "2026-11-12 03:10:00,123 ERROR GET http://gpu1:8000/health: Read timed out. (read timeout=5)\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/probe.py", line 11, in <module>\n'
        "2026-11-12 03:11:00,123 ERROR GET http://gpu1:8000/health: [Errno 111] Connection refused\n"
    ),
    "requests": "2026-11-12 03:10:00,123 requests.exceptions.ReadTimeout: HTTPConnectionPool(host='gpu1', port=8000): Read timed out.\n",
    "requests without its module": (
        "2026-11-12 03:10:00,123 ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))\n"
        "2026-11-12 03:11:00,123 ERROR ChunkedEncodingError: ('Connection broken: IncompleteRead(0 bytes read)', IncompleteRead(0 bytes read))\n"
    ),
    "httpx": "2026-11-12 03:10:00,123 httpx.ReadTimeout\n2026-11-12 03:11:00,123 httpx.ConnectError: [Errno 111] Connection refused\n",
    "aiohttp": (
        "2026-11-12 03:10:00 OK\n2026-11-12 03:11:00 asyncio.TimeoutError\n"
        "2026-11-12 03:12:00 aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected\n"
        "2026-11-12 03:13:00 ClientConnectorError: Cannot connect to host gpu1:8000 ssl:default [Connect call failed ('10.0.0.1', 8000)]\n"
    ),
    "envoy": "2026-11-12T03:10:00Z 503 upstream connect error or disconnect/reset before headers. reset reason: connection failure\n",
    "wget's exit code": "2026-11-12T03:10:00Z 0\n2026-11-12T03:11:00Z wget exit 4\n2026-11-12T03:12:00Z wget exit=8\n",
    "wget": "--2026-11-12 03:10:00--  http://localhost:8000/health\nConnecting to localhost|127.0.0.1|:8000... failed: Connection refused.\n",
    "nginx errors": (
        "2026/11/12 03:10:00 [error] 29#29: *12 connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.1, "
        'request: "GET /health HTTP/1.1", upstream: "http://10.0.0.5:8000/health"\n'
    ),
    "access log of health checks": '10.0.0.1 - - [12/Nov/2026:03:10:00 +0000] "GET /health HTTP/1.1" 200 0 "-" "kube-probe/1.31"\n' * 3,
    "uvicorn about health checks only": 'INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK\n' * 3,
}

UVICORN = 'INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK\n'
OTHERS = {
    "nothing": "\n\n",
    "a client's exceptions without dates": "httpx.ReadTimeout\nhttpx.ConnectError: [Errno 111] Connection refused\n" * 3,
    "an engine's tracebacks": (
        "2026-11-12 03:10:00,123 Traceback (most recent call last):\n"
        '2026-11-12 03:10:00,123   File "/opt/engine/client.py", line 11, in get\n2026-11-12 03:10:00,123     return self.ask(*args)\n'
        "2026-11-12 03:10:00,123 httpx.ReadTimeout\n"
    ),
    "vllm": (
        "INFO 11-12 03:10:00 [api_server.py:1977] vLLM API server version 0.11.2\n"
        "(EngineCore_DP0 pid=301) INFO 11-12 03:10:05 [core.py:94] Initializing a V1 LLM engine\n"
    ),
    "vllm with health checks": "INFO 11-12 03:10:00 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s\n" + UVICORN * 50,
    "health checks in the engine's stream": ("(APIServer pid=1) " + UVICORN) * 5,
    "access log with requests": UVICORN * 20 + 'INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 200 OK\n',
    "old vllm": "INFO 01-28 16:38:38 async_llm.py:160] Added request\nERROR 01-28 16:38:39 engine.py:133] timed out\n",
    "sglang": (
        "[2026-11-12 03:10:00] server_args=ServerArgs(model_path='m')\n[2026-11-12 03:10:05 TP0] Decode batch. #running-req: 1\n"
        "[2026-11-12 03:10:06] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.\n"
    ),
    "tensorrt": "[11/12/2026-03:10:00] [TRT-LLM] [I] Starting\n[11/12/2026-03:10:01] [TRT-LLM] [MPI_Rank 3] [E] timeout\n",
    "nccl": "gpu1:301:512 [0] NCCL INFO Bootstrap timeout\ngpu1:301:512 [0] NCCL WARN connect to 10.0.0.1 refused\n",
    "c10d": "[rank0]:[E1112 03:10:00.123456789 ProcessGroupNCCL.cpp:685] Watchdog caught collective operation timeout\n",
    "kernel": "[ 7616.483934] NVRM: Xid (PCI:0000:03:00): 79, pid=1063, GPU has fallen off the bus.\n",
    "syslog of the kernel": "Nov 12 03:10:00 gpu1 kernel: usb 1-1: device descriptor read error -110\n" * 3,
    "traceback": (
        "Traceback (most recent call last):\n"
        '  File "/app/engine.py", line 10, in run\n'
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='gpu1', port=8000): Max retries exceeded\n"
    ),
    "prose": "The engine was restarted at 03:10.\nAfter that all was well.\n",
    "json of an engine": '{"asctime":"2026-11-12 03:10:00,123","levelname":"ERROR","message":"EngineCore encountered a fatal error."}\n',
    "docker json": '{"log":"INFO 11-12 03:10:00 [core.py:94] x\\n","stream":"stdout","time":"2026-11-12T03:10:00Z"}\n',
    "application log": "2026-11-12 03:10:00 INFO loading shard 1 of 4\n2026-11-12 03:10:05 ERROR failed to load shard 2\n",
}


@pytest.mark.parametrize("name", PROBES)
def test_probe_logs_are_known(name: str) -> None:
    assert looks_like_probe_log(PROBES[name].splitlines())


@pytest.mark.parametrize("name", OTHERS)
def test_other_logs_are_not_taken_for_probes(name: str) -> None:
    assert not looks_like_probe_log(OTHERS[name].splitlines())


@given(st.lists(st.text(max_size=300), max_size=30))
def test_any_lines_are_looked_at_without_raising(lines: list[str]) -> None:
    assert looks_like_probe_log(lines) in (True, False)


@pytest.mark.parametrize(
    "text",
    ["Error response from daemon: No such container: vllm", 'Error from server (NotFound): pods "vllm-0" not found', "-- No entries --"],
)
def test_why_there_is_no_log_is_no_probe(text: str) -> None:
    assert not looks_like_probe_log([text])
