"""What a health check can see differs between engines: notes on outages where the engine and the address that was probed are known.

vLLM's /health answers 200 until its engine is declared dead and never asks the GPU; SGLang's makes a token, and is a 503 after 20 s
without one. Where either is unknown, nothing is said.
"""

from __future__ import annotations

from triage.model import Incident

ASK_NO_GPU = ("/health", "/ping", "/v1/models", "/version", "/load", "/metrics")
MAKE_A_TOKEN = ("/health", "/health_generate")


def health_hints(incident: Incident, *, hung: bool) -> tuple[str, ...]:
    """What the failing probes of an incident can and cannot tell, in a sentence; none where nothing is known that matters."""
    if incident.outage is None:
        return ()
    path, first = _path(incident.outage.target), incident.outage.first
    said = ""
    if incident.engine == "vllm" and path in ASK_NO_GPU:
        said = _of_vllm(path, first, hung)
    if incident.engine == "sglang" and path in MAKE_A_TOKEN:
        said = _of_sglang(path, first)
    return (said,) if said else ()


def _of_vllm(path: str, first: str, hung: bool) -> str:
    asks = f"the probes ask vLLM's {path}, which answers 200 while the engine hangs"
    if first == "t":
        return f"{asks}: a timeout there is a server that does not answer (starved, frozen or not reached), whatever the engine does"
    return f"{asks}: they failed when the server went, not when the hang began" if hung else ""


def _of_sglang(path: str, first: str) -> str:
    asks = f"the probes ask SGLang's {path}, which makes a token (unless SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=0)"
    if first == "t":
        return f"{asks}: a timeout there is a stall or a queue"
    return f"{asks}: a 503 there counts as refused and may be a stall; let the prober log the answer's text" if first == "r" else ""


def _path(target: str) -> str:
    """The path of a target that is an address; empty for a name."""
    if not target.startswith(("http://", "https://")):
        return ""
    from urllib.parse import urlsplit

    try:
        return urlsplit(target).path.rstrip("/")
    except ValueError:
        return ""
