"""Logs in object stores and on file servers, through fsspec: s3://, gs://, abfs://, sftp:// and whatever else it has a driver for.

Where the keys come from is the business of each driver (for S3: the environment, `~/.aws`, the machine's role; `AWS_ENDPOINT_URL` for a
store of one's own), and of `FSSPEC_<PROTOCOL>_<OPTION>` in the environment. Nothing of them is ever told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from triage.model import Seconds
from triage.sources.remote.objects import ChangedError, CutError, MissingError, RemoteError
from triage.sources.remote.reading import patiently
from triage.sources.urls import scheme_of, without_secrets

BLOCK = 4 << 20
SMALLEST_BLOCK = 1 << 16
PATIENCE = 20  # seconds for a connection and for the next byte, where a driver takes that from us
EXTRA = "pip install 'crash-triage[remote]'"
_GLOB = re.compile(r"[*?\[]")
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "modified", "created")
_TAGS = ("ETag", "etag", "generation", "md5Hash")
_NO_KEYS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "DefaultCredentialsError", "TokenRetrievalError")
_CUT = ("ConnectTimeoutError", "ReadTimeoutError", "EndpointConnectionError", "ConnectionClosedError", "ClientPayloadError",
        "ServerDisconnectedError", "ResponseStreamingError",
        "IncompleteReadError", "HTTPClientError", "ClientConnectorError", "FSTimeoutError", "SSHException")  # fmt: skip
_KEY_ID = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")


class Stored:
    """One object of a store. `info` is what its driver says of it: size, ETag, time."""

    def __init__(self, url: str, store: Any, path: str, info: dict[str, Any]) -> None:
        self.url = url
        self.size: int | None = _size(info)
        self.written = _written(info)
        self._store = store
        self._path = path
        self._tag = _tag(info)
        self._block = BLOCK

    def chunks(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """See `objects.Object`. A block that does not come whole is asked for by halves the next time."""
        end = min(each for each in (self.size, stop) if each is not None) if self.size is not None or stop is not None else None
        try:
            with self._store.open(self._path, "rb", **_as_it_comes(self._store)) as file:
                self._check(_details(file))
                if start:
                    file.seek(start)
                while end is None or start < end:
                    block = file.read(self._block if end is None else min(self._block, end - start))
                    if not block:
                        break
                    start += len(block)
                    yield block
            if end is not None and start == self.size and self.size > BLOCK and not _guards_itself(file):
                self._store.invalidate_cache()
                self._check(self._store.info(self._path))
        except Exception as error:
            self._block = max(SMALLEST_BLOCK, self._block // 2)
            raise worded(error, self.url) from error

    def _check(self, info: dict[str, Any]) -> None:
        if info and (_tag(info) != self._tag or _size(info) != self.size):
            raise ChangedError


def find_objects(url: str) -> list[Stored]:
    """The objects that an address leads to: itself, all below a prefix, all that a glob matches; hidden ones only by name. Raises RemoteError."""
    store, infos = patiently(lambda: _listed(url))
    if not infos:
        raise MissingError("there is nothing below this prefix")
    scheme, _, rest = url.partition("://")
    head = f"{scheme}://{_login(rest)}"
    return [Stored(head + (name if rest.startswith("/") else name.lstrip("/")), store, name, info) for name, info in infos.items()]


def _listed(url: str) -> tuple[Any, dict[str, dict[str, Any]]]:
    """The driver, and what it says of each object, by its name there."""
    try:
        store, path = _store_of(url)
        if _GLOB.search(path) and (matched := store.glob(path, detail=True)):
            return store, {name: info for each, one in sorted(matched.items()) for name, info in _below(store, each, one).items()}
        return store, _below(store, path, store.info(path))
    except Exception as error:
        raise worded(error, url) from error


def _below(store: Any, path: str, info: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The object itself, or all below a prefix without hidden ones, by their names: of each folder its files, then what is below."""
    if info.get("type") != "directory":
        return {str(info.get("name") or path): info}
    base = str(path).rstrip("/") + "/"
    inside = store.find(path, detail=True)
    return {name: inside[name] for name in sorted(inside, key=_as_walked) if "/." not in f"/{name.removeprefix(base)}" and not name.endswith("/")}


def _as_walked(name: str) -> list[tuple[bool, str]]:
    *folders, last = name.split("/")
    return [*((True, folder) for folder in folders), (False, last)]


def _store_of(url: str) -> tuple[Any, str]:
    """The driver for an address, and what it calls the path there. Raises RemoteError where a library is missing."""
    scheme = scheme_of(url)
    try:
        import fsspec
    except ImportError as error:
        raise RemoteError(f"{scheme}:// needs fsspec: {EXTRA}") from error
    quick = {"config_kwargs": {"connect_timeout": PATIENCE, "read_timeout": PATIENCE, "retries": {"max_attempts": 2}}}
    try:
        store, path = fsspec.core.url_to_fs(url, **(quick if scheme in ("s3", "s3a") else {}))
    except ImportError as error:
        raise RemoteError(f"{scheme}:// needs a library that is not installed ({_missing(error)})") from error
    except ValueError as error:
        raise RemoteError(f"nothing installed reads {scheme}://") from error
    return store, path


def _missing(error: ImportError) -> str:
    """Which library an address needs, in few words."""
    return without_secrets(error.name or str(error))[:100]


def _as_it_comes(store: Any) -> dict[str, Any]:
    """Options that keep a driver from holding more of an object than is asked for."""
    return {"cache_type": "none", "block_size": BLOCK} if store.protocol not in ("file", ("file", "local")) else {}


def _details(file: Any) -> dict[str, Any]:
    found = getattr(file, "details", None)
    return found if isinstance(found, dict) else {}


def _guards_itself(file: Any) -> bool:
    """Whether each request names the object's ETag (s3fs does): a change is then refused at once."""
    return "IfMatch" in getattr(file, "read_kw", {})


def _size(info: dict[str, Any]) -> int | None:
    size = info.get("size")
    return size if isinstance(size, int) else None


def _tag(info: dict[str, Any]) -> str:
    tag = next((str(info[key]) for key in _TAGS if info.get(key)), "")
    return tag or str(_written(info))


def _written(info: dict[str, Any]) -> Seconds | None:
    for value in (info[key] for key in _TIMES if info.get(key)):
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value)
            return float(value.timestamp() if isinstance(value, datetime) else value)
        except (ValueError, TypeError):
            continue
    return None


def _login(rest: str) -> str:
    """The name and password of an address, as they stand behind its scheme: drivers leave them out of what they find."""
    netloc = rest.partition("/")[0]
    return netloc.rpartition("@")[0] + "@" if "@" in netloc else ""


def worded(error: Exception, url: str) -> Exception:
    """What went wrong in a store, as ours: RemoteError, or CutError where another try may help. No address and no key is in it."""
    if isinstance(error, RemoteError | CutError):
        return error
    kinds = {each.__name__ for each in type(error).__mro__}
    if "FileExpired" in kinds:
        return ChangedError()
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return MissingError("there is no such object")
    if isinstance(error, PermissionError) or "Forbidden" in kinds:
        return RemoteError("access is refused: has this user the right to list and read it?")
    if kinds.intersection(_NO_KEYS):
        return RemoteError(f"no keys for {scheme_of(url)}:// were found, neither in the environment nor where its own tools keep them")
    if isinstance(error, TimeoutError) or kinds.intersection(_CUT) or isinstance(error, ConnectionError):
        return CutError("no answer" if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__ else "the connection broke")
    said = " ".join(_KEY_ID.sub("***", without_secrets(str(error))).replace(url, "").split())
    return RemoteError(f"the store says: {said[:160]}" if said else type(error).__name__)
