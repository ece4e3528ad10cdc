"""Names of logs that lie elsewhere: how an address is shown, without what is secret in it, and which address such a name stands for."""

from __future__ import annotations

import re

from triage.expressions import compiled_later

NODE = "node"  # node://HOST/PATH: a path on another machine of the cluster that the work is given to
_URL = compiled_later(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<rest>[^/].*|/[^/].*)", re.DOTALL)
_LOGIN = compiled_later(r"(://)[^/?#]*@")
_SECRET = compiled_later(r"(?i)([?&][^=&#]*(?:sig|token|secret|passw|pwd|credential|auth|key|access|jwt|session|code)[^=&#]*=)[^&#\s]*")
_FRAGMENT = compiled_later(r"^(https?://[^#]*)#.*", re.IGNORECASE | re.DOTALL)
HIDDEN = "***"

_addresses: dict[str, str] = {}  # of the names that are not their own address
_names: dict[str, str] = {}


def is_url(path: str) -> bool:
    """Whether a path is an address such as `s3://bucket/key` and no path on this machine."""
    return "://" in path and _URL.fullmatch(path) is not None


def scheme_of(url: str) -> str:
    """`s3` of `s3://bucket/key`; empty for what is no address."""
    found = _URL.fullmatch(url)
    return found["scheme"].lower() if found else ""


def without_secrets(text: str) -> str:
    """Text in which every address has lost its name and password, and the values of parameters that give access.

    >>> without_secrets("http://me:secret@host/log?day=3&X-Amz-Signature=abc")
    'http://host/log?day=3&X-Amz-Signature=***'
    """
    return _SECRET.sub(rf"\1{HIDDEN}", _LOGIN.sub(r"\1", text))


def shown_url(url: str) -> str:
    """The name under which an address is told. Two addresses never share one: a later one gets a number."""
    if url in _names or url in _addresses:
        return _names.get(url, url)
    bare = _FRAGMENT.sub(r"\1", without_secrets(url))
    name, number = bare, 1
    while _addresses.get(name, url) != url:
        number += 1
        name = f"{bare}#{number}"
    if name != url:
        _names[url], _addresses[name] = name, url
    return name


def address_of(name: str) -> str:
    """The address that a name is shown for; a name that hides nothing is its own address."""
    return _addresses.get(name, name)


def parted(url: str) -> tuple[str, str]:
    """An address as its folder and its last part, both without the parameters that only give access."""
    bare = url.partition("?")[0] if shown_url(url) != url else url
    folder, _, name = bare.rpartition("/")
    return folder, name


def told_addresses(names: list[str]) -> dict[str, str]:
    """The addresses of those names that hide something: what another process needs to be told, and nobody else."""
    return {name: _addresses[name] for name in names if name in _addresses}


def learn_addresses(told: dict[str, str]) -> None:
    """Take over what another process told."""
    _addresses.update(told)
    _names.update({url: name for name, url in told.items()})
