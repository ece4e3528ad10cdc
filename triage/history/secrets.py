"""Which names are those of secrets: values under them are kept nowhere and shown to nobody.

>>> [is_secret(name) for name in ("HF_TOKEN", "api_key", "DB_PASSWORD", "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD", "max_num_batched_tokens")]
[True, True, True, False, False]
"""

from __future__ import annotations

import re

HIDDEN = "***"  # what is shown for one
# A token of an account ends its name; one in the middle of a name is mostly a piece of text that a model reads (TOKEN_THRESHOLD).
_SECRET = re.compile(
    r"(?:^|[_-])(?:api[_-]?keys?|keys?|secrets?|passw(?:or)?d|pass(?:phrase)?|pwd|credentials?|auth(?:orization)?|bearer|cookie)(?:$|[_-])|(?:^|[_-])token$"
    r"|[_-]token[_-](?:id|key|secret|file)|(?:apikey|accesskey|privatekey|authtoken|secretkey)",
    re.IGNORECASE,
)
_LOOKS_SECRET = re.compile(r"\b(?:sk|hf|gh[pousr]|xox[abp]|AKIA|nvapi)[-_]?[A-Za-z0-9_-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}|://[^\s/@:]{1,64}:[^\s/@]{1,256}@")


def is_secret(name: str) -> bool:
    """Whether a variable or option of this name holds a secret."""
    return bool(_SECRET.search(name.lstrip("-")))


def looks_secret(value: str) -> bool:
    """Whether a value is written like a key of one of the common services, or has a password in an address."""
    return bool(_LOOKS_SECRET.search(value))
