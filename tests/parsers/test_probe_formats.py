"""Every way in which probing clients write, each as one line in its own true format: symbol, instant, target."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from triage.model import Instant
from triage.parsers.probe import Row, parse

TEN_PAST_THREE = datetime(2026, 11, 12, 3, 10, tzinfo=UTC).timestamp()

DATED = [
    # columns that cron one-liners around curl write
    ("2026-11-12T03:10:00Z 200", "."),
    ("2026-11-12T03:10:00Z 200 0", "."),
    ("2026-11-12T03:10:00Z 000 7", "r"),
    ("2026-11-12T03:10:00Z 000 28", "t"),
    ("2026-11-12T03:10:00Z 000 52", "r"),
    ("2026-11-12T03:10:00Z 000 56", "r"),
    ("2026-11-12T03:10:00Z 000 6", "?"),
    ("2026-11-12T03:10:00Z 7 000", "r"),
    ("2026-11-12T03:10:00Z 503 0 0.004", "r"),
    ("2026-11-12T03:10:00Z 502", "r"),
    ("2026-11-12T03:10:00Z 504", "t"),
    ("2026-11-12T03:10:00Z 500", "e"),
    ("2026-11-12T03:10:00Z 404", "."),
    ("2026-11-12T03:10:00Z 401", "."),
    ("2026-11-12T03:10:00Z 429", "s"),
    ("2026-11-12T03:10:00Z 200 28", "t"),
    ("2026-11-12T03:10:00Z 200 0.012345", "."),
    ("2026-11-12T03:10:00Z 000 0.000213", "r"),
    ("2026-11-12T03:10:00Z 000 5.001234", "t"),
    ("2026-11-12T03:10:00Z 000", "f"),
    ("2026-11-12T03:10:00Z,503,0,0.004", "r"),
    ("2026-11-12T03:10:00Z;000;28;5.001", "t"),
    ("1794453000 200", "."),
    ("1794453000.000 000 28", "t"),
    ("1794453000000 000 7", "r"),
    ("1794453000000000000 503", "r"),
    # the same with names
    ("2026-11-12T03:10:00+00:00 http=200 exit=0 time=0.012", "."),
    ("2026-11-12T03:10:00+00:00 http=000 exit=7 time=0.001", "r"),
    ("2026-11-12T03:10:00+00:00 http=000 exit=28 time=5.001", "t"),
    ("2026-11-12T03:10:00+00:00 http=000 exit=52 time=3.2", "r"),
    ("2026-11-12T03:10:00+00:00 http_code=503 rc=22", "r"),
    ("2026-11-12T03:10:00+00:00 rc=7", "r"),
    ("2026-11-12T03:10:00+00:00 exit=28", "t"),
    ("2026-11-12T03:10:00+00:00 exit=0", None),
    ("2026-11-12T03:10:00+00:00 rc=1", "f"),
    # dates of `date` in several locales and options
    ("Thu Nov 12 03:10:00 UTC 2026 200", "."),
    ("Thu Nov 12 03:10:00 AM UTC 2026 000 7", "r"),
    ("Thu 12 Nov 2026 03:10:00 AM UTC 000 28", "t"),
    ("Thu 12 Nov 03:10:00 UTC 2026 503", "r"),
    ("Thu, 12 Nov 2026 03:10:00 +0000 200", "."),
    ("Thu Nov 12 04:10:00 CET 2026 200", "."),
    ("Wed Nov 11 22:10:00 EST 2026: OK", "."),
    ("[2026-11-12 03:10:00] 200", "."),
    ("[2026-11-12 03:10:00] FAIL", "f"),
    ("2026-11-12 03:10:00 UTC - 000 - exit code 28", "t"),
    ("2026/11/12 03:10:00 200", "."),
    ("20261112T031000Z 200", "."),
    ("20261112-031000 000 7", "r"),
    # a named exit code among columns, and columns behind a date with seconds only
    ("2026-11-12T03:10:00Z 200 0.412 exit=0", "."),
    ("2026-11-12T03:10:00Z 200 exit=0 0.412", "."),
    ("2026-11-12T03:10:00Z http://gpu1:8000/health 000 5.001 exit=28", "t"),
    ("2026-11-12 03:10:00,200,0.412", "."),
    ("2026-11-12 03:10:00,000,10.001", "t"),
    ("2026-11-12 03:10:00,200", "."),
    ("2026-11-12 03:10:00,123 200 0.412", "."),
    # words
    ("2026-11-12 03:10:00,123 INFO probe ok 200", "."),
    ("2026-11-12T03:10:00Z OK", "."),
    ("2026-11-12T03:10:00Z health: ok", "."),
    ("2026-11-12T03:10:00Z UP 0.012s", "."),
    ("2026-11-12T03:10:00Z FAIL", "f"),
    ("2026-11-12T03:10:00Z FAIL: timeout", "t"),
    ("2026-11-12T03:10:00Z FAIL (last OK 03:09)", "f"),
    ("2026-11-12T03:10:00Z DOWN connection refused", "r"),
    ("2026-11-12T03:10:00Z SLOW 4.8s", "s"),
    ("2026-11-12T03:10:00Z unhealthy", "f"),
    # curl's own words
    ("2026-11-12T03:10:00Z curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server", "r"),
    ("2026-11-12T03:10:00Z curl: (7) Failed to connect to gpu1 port 8000 after 3062 ms: No route to host", "?"),
    ("2026-11-12T03:10:00Z curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received", "t"),
    ("2026-11-12T03:10:00Z curl: (28) Failed to connect to gpu1 port 8000 after 5002 ms: Timeout was reached", "t"),
    ("2026-11-12T03:10:00Z curl: (52) Empty reply from server", "r"),
    ("2026-11-12T03:10:00Z curl: (56) Recv failure: Connection reset by peer", "r"),
    ("2026-11-12T03:10:00Z curl: (18) transfer closed with 120 bytes remaining to read", "r"),
    ("2026-11-12T03:10:00Z curl: (55) Send failure: Broken pipe", "r"),
    ("2026-11-12T03:10:00Z curl: (22) The requested URL returned error: 503", "r"),
    ("2026-11-12T03:10:00Z curl: (22) The requested URL returned error: 500", "e"),
    ("2026-11-12T03:10:00Z curl: (6) Could not resolve host: gpu1", "?"),
    ("2026-11-12T03:10:00Z curl: (35) OpenSSL SSL_connect: Connection reset by peer in connection to gpu1:8000", "r"),
    ("2026-11-12T03:10:00Z /opt/probe.sh: line 4: curl: command not found", "?"),
    # JSON lines
    ('{"ts":"2026-11-12T03:10:00Z","status":200,"latency":0.01}', "."),
    ('{"ts":1794453000,"code":0,"error":"connection refused"}', "r"),
    ('{"timestamp":1794453000000,"http_code":"000","exit":28,"url":"http://gpu1:8000/health"}', "t"),
    ('{"time":"2026-11-12T03:10:00.000Z","ok":false,"err":"ReadTimeout"}', "t"),
    ('{"start":"2026-11-12T03:10:00Z","end":"2026-11-12T03:10:05Z","status":null,"error":"timeout"}', "t"),
    ('{"time":"2026-11-12T03:10:00Z","ok":true}', "."),
    ('{"time":"2026-11-12T03:10:00Z","status":"down"}', "f"),
    ('{"time":"2026-11-12T03:10:00Z","ok":false,"status":200}', "f"),
    ('{"ts":"2026-11-12T03:10:00Z","response":{"status":503},"request":{"url":"http://gpu1:8000/health"}}', "r"),
    ('2026-11-12T03:10:00Z {"errormsg":"Operation timed out","exitcode":28,"http_code":0,"time_total":5.001,"url":"http://gpu1:8000/health"}', "t"),
    # kubelet
    ("2026-11-12T03:10:00Z Liveness probe succeeded", "."),
    (
        ('Nov 12 03:10:00 node-1 kubelet[812]: I1112 03:10:00.123456     812 prober.go:116] "Probe succeeded" probeType="Liveness" '
        'pod="ml/vllm-0" containerName="vllm"'),
        ".",
    ),
    (
        ('Nov 12 03:10:00 node-1 kubelet[812]: I1112 03:10:00.123456     812 prober.go:107] "Probe failed" probeType="Liveness" pod="ml/vllm-0" '
        'containerName="vllm" probeResult="failure" output="Get \\"http://10.1.2.3:8000/health\\": context deadline exceeded '
        '(Client.Timeout exceeded while awaiting headers)"'),
        "t",
    ),
    (
        ('2026-11-12T03:10:00Z Warning Unhealthy pod/vllm-0 Liveness probe failed: Get "http://10.1.2.3:8000/health": '
        "dial tcp 10.1.2.3:8000: connect: connection refused"),
        "r",
    ),
    ("2026-11-12T03:10:00Z Warning Unhealthy pod/vllm-0 Readiness probe failed: HTTP probe failed with statuscode: 503", "r"),
    ('2026-11-12T03:10:00Z Liveness probe failed: Get "http://10.1.2.3:8000/health": EOF', "r"),
    (
        ('2026-11-12T03:10:00Z Readiness probe failed: Get "http://10.1.2.3:8000/health": '
        "read tcp 10.1.2.1:51234->10.1.2.3:8000: read: connection reset by peer"),
        "r",
    ),
    (
        ('{"kind":"Event","reason":"Unhealthy","lastTimestamp":"2026-11-12T03:10:00Z","involvedObject":{"name":"vllm-0"},'
        '"message":"Liveness probe failed: Get \\"http://10.1.2.3:8000/health\\": dial tcp 10.1.2.3:8000: connect: connection refused"}'),
        "r",
    ),
    # blackbox exporter
    (
        ("ts=2026-11-12T03:10:00.000Z caller=handler.go:117 module=http_2xx target=http://gpu1:8000/health level=error "
        'msg="Error for HTTP request" err="Get \\"http://10.0.0.5:8000/health\\": dial tcp 10.0.0.5:8000: connect: connection refused"'),
        "r",
    ),
    (
        ("ts=2026-11-12T03:10:00.000Z caller=handler.go:117 module=http_2xx target=http://gpu1:8000/health level=error "
        'msg="Error for HTTP request" err="Get \\"http://10.0.0.5:8000/health\\": context deadline exceeded"'),
        "t",
    ),
    (
        ("ts=2026-11-12T03:10:00.000Z caller=handler.go:117 module=http_2xx target=http://gpu1:8000/health level=info "
        'msg="Probe succeeded" duration_seconds=0.0013'),
        ".",
    ),
    # Python clients
    (
        ("2026-11-12 03:10:00,000 ERROR probe: HTTPConnectionPool(host='10.0.0.5', port=8000): Max retries exceeded with url: /health (Caused by "
        "NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f>: Failed to establish a new connection: "
        "[Errno 111] Connection refused'))"),
        "r",
    ),
    ("2026-11-12 03:10:00,000 ERROR ReadTimeout: HTTPConnectionPool(host='gpu1', port=8000): Read timed out. (read timeout=5)", "t"),
    ("2026-11-12 03:10:00,000 WARNING ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))", "r"),
    ("2026-11-12 03:10:00,000 WARNING requests.exceptions.ChunkedEncodingError: ('Connection broken: IncompleteRead(0 bytes read)')", "r"),
    ("2026-11-12 03:10:00,000 WARNING httpx.ReadTimeout", "t"),
    ("2026-11-12 03:10:00,000 WARNING httpx.ConnectTimeout: timed out", "t"),
    ("2026-11-12 03:10:00,000 WARNING httpx.ConnectError: [Errno 111] Connection refused", "r"),
    ("2026-11-12 03:10:00,000 WARNING aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected", "r"),
    ("2026-11-12 03:10:00,000 WARNING ClientConnectorError: Cannot connect to host 10.0.0.5:8000 ssl:default [Connect call failed]", "r"),
    ("2026-11-12 03:10:00,000 WARNING asyncio.TimeoutError", "t"),
    ("2026-11-12 03:10:00,000 WARNING httpx.HTTPStatusError: Server error '503 Service Unavailable' for url 'http://10.0.0.5:8000/health'", "r"),
    # wget
    ("2026-11-12 03:10:00 ERROR 503: Service Unavailable.", "r"),
    ("2026-11-12T03:10:00Z wget: can't connect to remote host (127.0.0.1): Connection refused", "r"),
    ("2026-11-12T03:10:00Z wget: download timed out", "t"),
    ("2026-11-12T03:10:00Z wget exit=4", "f"),
    # proxies
    (
        ("2026/11/12 03:10:00 [error] 29#29: *18 upstream timed out (110: Connection timed out) while reading response header from upstream, "
        'client: 10.0.0.1, server: _, request: "GET /health HTTP/1.1", upstream: "http://10.0.0.5:8000/health", host: "llm"'),
        "t",
    ),
    (
        ("2026/11/12 03:10:00 [error] 29#29: *12 connect() failed (111: Connection refused) while connecting to upstream, "
        'client: 10.0.0.1, server: _, request: "POST /v1/completions HTTP/1.1", upstream: "http://10.0.0.5:8000/v1/completions", host: "llm"'),
        "r",
    ),
    ("2026-11-12T03:10:00Z 503 upstream connect error or disconnect/reset before headers. reset reason: connection failure", "r"),
    ("2026-11-12T03:10:00Z 503 upstream connect error or disconnect/reset before headers. reset reason: connection timeout", "t"),
    # Envoy and Istio: response flags
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 200 - 0 0 3 2 "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', "."),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UF 0 145 0 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', "r"),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UC 0 95 14 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', "r"),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UH 0 19 0 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "-"', "r"),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UO 0 81 0 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "-"', "s"),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 504 UT 0 24 500 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', "t"),
    ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 0 DC 0 0 500 - "10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', "t"),
    (
        ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UF upstream_reset_before_response_started{connection_failure} - "-" 0 145 0 - '
        '"10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000" inbound|8000|| - 10.0.2.5:8000 10.0.0.1:0 - -'),
        "r",
    ),
    (
        ('[2026-11-12T03:10:00.310Z] "GET /health HTTP/1.1" 503 UF,URX upstream_reset_before_response_started{connection_timeout} - "-" 0 91 500 - '
        '"10.0.35.28" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000" inbound|8000|| - 10.0.2.5:8000 10.0.0.1:0 - -'),
        "t",
    ),
    # HAProxy: termination codes, and its own checks
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /health HTTP/1.1"', "."),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/-1/-1/10 503 217 - - SC-- 1/1/1/0/3 0/0 "GET /health HTTP/1.1"', "r"),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/30/-1/69 502 208 - - SH-- 1/1/1/0/0 0/0 "GET /health HTTP/1.1"', "r"),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/<NOSRV> 0/-1/-1/-1/0 503 217 - - SC-- 0/0/0/0/0 0/0 "GET /health HTTP/1.1"', "r"),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/-1/-1/500 503 217 - - sC-- 1/1/1/0/3 0/0 "GET /health HTTP/1.1"', "t"),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/30/-1/500 504 194 - - sH-- 1/1/1/0/0 0/0 "GET /health HTTP/1.1"', "t"),
    ('10.0.1.2:33317 [12/Nov/2026:03:10:00.655] http-in llm/vllm1 10/0/30/-1/500 -1 0 - - CH-- 1/1/1/0/0 0/0 "GET /health HTTP/1.1"', "t"),
    ("2026-11-12T03:10:00Z Health check for server llm/vllm1 succeeded, reason: Layer7 check passed, code: 200, status: 3/3 UP.", "."),
    ('2026-11-12T03:10:00Z Health check for server llm/vllm1 failed, reason: Layer4 connection problem, info: "Connection refused"', "r"),
    ("2026-11-12T03:10:00Z Health check for server llm/vllm1 failed, reason: Layer7 timeout, check duration: 501ms, status: 2/3 UP.", "t"),
    # an Application Load Balancer
    ('http 2026-11-12T03:10:00.186641Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:8000 0.000 0.001 0.000 200 200 34 36 "GET http://l/health HTTP/1.1"', "."),
    ('http 2026-11-12T03:10:00.186641Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:8000 0.000 0.001 -1 502 - 34 366 "GET http://lb:80/health HTTP/1.1"', "r"),
    ('http 2026-11-12T03:10:00.186641Z app/lb/50dc 192.0.2.1:2817 - -1 -1 -1 503 - 34 366 "GET http://lb:80/health HTTP/1.1"', "r"),
    ('http 2026-11-12T03:10:00.186641Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:8000 -1 -1 -1 504 - 34 366 "GET http://lb:80/health HTTP/1.1"', "t"),
    ('http 2026-11-12T03:10:00.186641Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:8000 -1 -1 -1 460 - 34 366 "GET http://lb:80/health HTTP/1.1"', "t"),
    # wget's exit codes alone: 4 is any failure of the network, 8 any answer that is an error
    ("2026-11-12T03:10:00Z wget: exit code 4", "f"),
    ("2026-11-12T03:10:00Z wget exit=8", "f"),
    # a queue that is full is no death
    ('2026-11-12T03:10:00Z 503 {"error":{"message":"the request queue is full","type":"ServiceUnavailable","code":503}}', "s"),
    # access logs
    ('10.0.0.1 - - [12/Nov/2026:03:10:00 +0000] "GET /health HTTP/1.1" 200 0 "-" "kube-probe/1.31"', "."),
    ('10.0.0.1 - - [12/Nov/2026:03:10:00 +0000] "GET /health HTTP/1.1" 502 157 "-" "curl/8.5.0"', "r"),
    ('10.0.0.1 - - [12/Nov/2026:03:10:00 +0000] "GET /health HTTP/1.1" 499 0 "-" "kube-probe/1.31"', "t"),
    ('[2026-11-12 03:10:00] INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK', "."),
    ('[2026-11-12 03:10:00] INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 503 Service Unavailable', "r"),
    # SGLang's 503 is a stall only where the text says so
    (
        ("2026-11-12T03:10:00Z 503 Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. "
        "tic start time: 03:09:40. last_heartbeat time: 03:09:12"),
        "t",
    ),
]


@pytest.mark.parametrize(("text", "symbol"), DATED)
def test_line_has_its_symbol(text: str, symbol: str | None) -> None:
    log = parse([Row(text)], year=2026)
    assert [probe.symbol for probe in log.probes] == ([symbol] if symbol else [])
    assert log.unknown == (0 if symbol else 1)


@pytest.mark.parametrize("text", [text for text, symbol in DATED if symbol])
def test_line_has_its_instant(text: str) -> None:
    (probe,) = parse([Row(text)], year=2026).probes
    assert probe.at.earliest - 1 <= TEN_PAST_THREE <= probe.at.latest + 1


@pytest.mark.parametrize("text", [text for text, symbol in DATED if symbol and symbol not in ".s"])
def test_failing_line_keeps_its_text(text: str) -> None:
    assert parse([Row(text)], year=2026).probes[0].text == text


@pytest.mark.parametrize(
    ("text", "symbol"),
    [("000 7", "r"), ("200", "."), ("http=000 exit=28", "t"), ('INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK', "."), ("FAIL", "f")],
)
def test_line_without_date_takes_its_envelope_s(text: str, symbol: str) -> None:
    (probe,) = parse([Row(text, Instant.sharp(TEN_PAST_THREE))]).probes
    assert (probe.symbol, probe.at.earliest, probe.at.how) == (symbol, TEN_PAST_THREE, "outer stamp")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("2026-11-12T03:10:00Z vllm-a 200 0.012", "vllm-a"),
        ("2026-11-12T03:10:00Z http://gpu1:8000/health 200", "http://gpu1:8000/health"),
        ("gpu7 2026-11-12T03:10:00Z 000 7", "gpu7"),
        ('{"ts":"2026-11-12T03:10:00Z","url":"http://gpu1:8000/health","status":200}', "http://gpu1:8000/health"),
        ("2026-11-12T03:10:00Z target=vllm-b http=000 exit=7", "vllm-b"),
        ('2026-11-12T03:10:00Z Warning Unhealthy pod/vllm-0 Liveness probe failed: Get "http://10.1.2.3:8000/health": EOF', "vllm-0"),
        ("2026-11-12T03:10:00Z 200", ""),
    ],
)
def test_target(text: str, target: str) -> None:
    log = parse([Row(text)])
    assert [probe.target for probe in log.probes] == [target]
    assert log.targets == (target,)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ('[2026-11-12T03:10:00Z] "GET /health HTTP/1.1" 504 UT 0 24 15000 - "-" "kube-probe/1.31" "cc21d9b0" "llm" "10.0.2.5:8000"', 0, 15),
        ('10.0.1.2:3331 [12/Nov/2026:03:10:00] http-in llm/vllm1 10/0/30/-1/30040 504 194 - - sH-- 1/1/1/0/0 0/0 "GET /health HTTP/1.1"', 0, 30.04),
        ('http 2026-11-12T03:10:00Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:8000 0.5 0.5 -1 502 - 34 366 "GET http://lb:80/health HTTP/1.1"', -1, 0),
        ("2026-11-12T03:10:00Z http=000 exit=28 time=5.0", 0, 5),
        ('time=2026-11-12T03:10:00Z level=INFO source=handler.go:120 msg="Probe succeeded" module=http_2xx duration_seconds=0.5', -0.5, 0),
    ],
)
def test_stamp_is_the_start_or_the_end_as_the_format_has_it(text: str, start: float, end: float) -> None:
    (probe,) = parse([Row(text)]).probes
    assert (probe.at.earliest, probe.at.latest) == (TEN_PAST_THREE + start, TEN_PAST_THREE + end)
