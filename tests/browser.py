"""A headless Chromium for tests of pages: driven through a pipe by the DevTools protocol, and everything it asks the network for is written down."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60.0


class Tab:
    """One tab, with what it asked for (`requests`) and what it complained of (`complaints`)."""

    def __init__(self, out: int, into: int) -> None:
        self._out, self._into, self._buffer = out, into, b""
        self._numbers, self._session = itertools.count(1), ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loaded = 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": self._session} if self._session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']['message']}")
                return told["result"]
            self._note(told)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._into], [], [], PATIENCE)[0]:
                raise TimeoutError("Chromium is silent")
            piece = os.read(self._into, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium is gone")
            self._buffer += piece
        first, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(first)
        return told

    def _note(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Page.loadEventFired":
                self.loaded += 1

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        before = self.loaded
        self.call("Page.navigate", url=page.as_uri())
        while self.loaded == before:
            self._note(self._next())

    def value(self, script: str) -> Any:
        """What an expression in the page gives; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0),
                      text="\r" if key == "Enter" and kind == "keyDown" else "")  # fmt: skip

    def settle(self) -> None:
        """Wait until the page has drawn twice."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]))


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A tab of a fresh Chromium, which ends with the block."""
    take_out, give_in = os.pipe()
    take_in, give_out = os.pipe()
    command = [CHROMIUM or "chromium", *FLAGS, f"--user-data-dir={profile}"]
    script = f'exec "$@" 3<&{take_out} 4>&{give_out}'
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(["bash", "-c", script, "bash", *command], pass_fds=(take_out, give_out), stdout=nowhere, stderr=nowhere) as run:
        os.close(take_out)
        os.close(give_out)
        try:
            yield Tab(give_in, take_in)
        finally:
            os.close(give_in)
            os.close(take_in)
            run.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(10)
            run.kill()
