"""Reads a step of the engine out of its scheduler's dump: how many tokens of how many requests, and whether one was in its prefill.

What stands in the dump is the users' own (ids, stop words, schemas), so nothing but figures leaves this module::

    num_scheduled_tokens={cmpl-a: 2045, cmpl-b: 1}, total_num_scheduled_tokens=2046, scheduled_spec_decode_tokens={}

>>> step({"by_request": "cmpl-a: 2045, cmpl-b: 1", "tokens": "2046", "speculated": ""})
{'tokens': '2046', 'step': 'prefill', 'requests': '2', 'chunk': '2045', 'prefills': '1'}
"""

from __future__ import annotations

from triage.expressions import compiled_later

_REQUEST = compiled_later(r"(?P<id>[^\s,{}]+): (?P<tokens>\d{1,9})(?=,|$)")
_DRAFT = compiled_later(r"(?P<id>[^\s,{}]+): (?:\[(?P<list>[^\]]*)\]|(?P<count>\d{1,9}))")


def step(captured: dict[str, str]) -> dict[str, str]:
    """What a `step` line says, by its captures `tokens`, `by_request`, `speculated` and `requests`: figures, and `step` as `prefill` or `decode`.

    A request with more than one token, beyond those that were speculated for it, is in its prefill; `chunk` is the longest such and `prefills`
    how many there are. Where the tokens of the requests do not make up the total, somebody's id was made to look like another request: then
    nothing is said of them.
    """
    told = {key: captured[key] for key in ("tokens", "requests") if captured.get(key, "").isdecimal()}
    listed = [(found["id"], int(found["tokens"])) for found in _REQUEST.finditer(captured.get("by_request", ""))]
    if not listed or sum(tokens for _, tokens in listed) != int(told.get("tokens", -1)):
        return told
    drafts = _drafts(captured.get("speculated", ""))
    prefills = [tokens for name, tokens in listed if tokens > 1 + drafts.get(name, 0)]
    told |= {"step": "prefill" if prefills else "decode", "requests": str(len(listed))}
    return told | ({"chunk": str(max(prefills)), "prefills": str(len(prefills))} if prefills else {})


def _drafts(text: str) -> dict[str, int]:
    """How many tokens were speculated for each request: a list of them, or their number."""
    return {d["id"]: int(d["count"]) if d["count"] else len([t for t in d["list"].split(",") if t.strip()]) for d in _DRAFT.finditer(text)}
