"""Headless Chromium for the tests of the page, spoken to over pipes: no port, no driver, no further dependency."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE_S = 60
# The browser reads commands from descriptor 3 and writes to 4, which a plain child process does not have.
_LAUNCH = """
import fcntl, os, sys
r, w = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 20) for fd in sys.argv[1:3])
os.dup2(r, 3); os.dup2(w, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a browser. ``problems`` are errors on its console, exceptions and what its policy has stopped."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._number = 0
        self._pending = b""
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []

    def begin(self) -> None:
        """Attach to a new page and listen to what it says."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it has loaded."""
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri() + fragment)
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def value(self, expression: str) -> Any:
        """What an expression gives in the page; raises AssertionError where it throws."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Ask again until an expression is true."""
        end = time.monotonic() + _PATIENCE_S
        while not self.value(expression):
            assert time.monotonic() < end, f"never became true: {expression}"

    def press(self, key: str) -> None:
        """Press and release a key."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        text = {"text": "\r"} if key == "Enter" else {} if key in codes else {"text": key}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def screen(self, width: int, height: int = 900, theme: str = "light") -> None:
        """Take a size in CSS pixels and a preferred theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its result; events that come before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE_S)
            chunk = os.read(self._read, 1 << 20) if ready else b""
            assert chunk, "the browser says nothing any more"
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {parameters['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


def find_browser() -> str | None:
    """Where the browser is, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def running_browser(program: str, profile: Path) -> Iterator[Browser]:
    """A browser with a fresh profile, ended at the end."""
    child_read, write = os.pipe()
    read, child_write = os.pipe()
    words = [sys.executable, "-c", _LAUNCH, str(child_read), str(child_write), program, *FLAGS]
    with subprocess.Popen(
        [*words, f"--user-data-dir={profile}"],
        pass_fds=(child_read, child_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(child_read)
        os.close(child_write)
        try:
            browser = Browser(read, write)
            browser.begin()
            yield browser
        finally:
            os.close(write)
            os.close(read)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
