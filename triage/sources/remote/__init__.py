"""Reads logs that lie elsewhere: over HTTP by ourselves, in object stores and everything else that fsspec knows by the extra `remote`.

An object is read in order by one request after the other, each from the byte where the last one ended, and only while it is the same
object: its size, its ETag and its time are those that it had when it was found.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.model import Seconds
from triage.sources.remote.objects import MissingError, Object, RemoteError
from triage.sources.remote.reading import RemoteFile
from triage.sources.urls import NODE, address_of, scheme_of

__all__ = ["MissingError", "RemoteError", "RemoteFile", "below", "found", "opened", "written"]

WEB = ("http", "https")
_known: dict[str, Object] = {}  # by address


def found(url: str) -> list[str]:
    """The addresses of all objects that a URL leads to: itself, those below a prefix or a page of links, those that a glob matches.

    Raises RemoteError, which says what is wrong without naming the URL.
    """
    objects = _found(url)
    _known.update({each.url: each for each in objects})
    return [each.url for each in objects]


def below(url: str, given: str) -> str:
    """What an object found by a URL is called from there on: the part below a prefix; all of it where the URL named it."""
    base = given if given.endswith("/") else f"{given}/"
    return url.removeprefix(base) if url.startswith(base) else url


def opened(name: str) -> RemoteFile:
    """The object with this name, to be read from its beginning. Raises RemoteError."""
    return RemoteFile(_object(name))


def written(name: str) -> Seconds:
    """When an object was last written, in seconds since the epoch. Raises RemoteError where that is not known."""
    at = _object(name).written
    if at is None:
        raise RemoteError("nobody says when it was last written")
    return at


def _object(name: str) -> Object:
    url = address_of(name)
    if url not in _known:
        for each in _found(url):
            _known[each.url] = each
    if url not in _known:
        raise MissingError("there is no such object")
    return _known[url]


def _found(url: str) -> Sequence[Object]:
    scheme = scheme_of(url)
    if scheme == NODE:
        raise RemoteError("a path on a machine of a Ray cluster: give --backend ray")
    if scheme in WEB:
        from triage.sources.remote.web import find_pages

        return find_pages(url)
    from triage.sources.remote.stores import find_objects

    return find_objects(url)
