"""A headless Chromium, spoken to over two pipes by its own protocol (--remote-debugging-pipe): no driver and no package beside it."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60  # One answer may take so long; a busy machine starts a browser slowly.


def find_browser():
    """The path of a Chromium, None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def above_ten(descriptor):
    """The same file under a number that is in nobody's way."""
    other = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return other


class Browser:
    """One browser with one tab. Use as a context manager."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="crossrail_pages.")
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()
        words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", f"--user-data-dir={self.folder}",
                 "--remote-debugging-pipe", "about:blank"]
        commands, answers = above_ten(commands), above_ten(answers)
        # The browser reads its commands from 3 and writes its answers to 4.
        self.process = subprocess.Popen(words, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: (os.dup2(commands, 3), os.dup2(answers, 4)))
        os.close(commands)
        os.close(answers)
        self.number, self.rest, self.session, self.events = 0, b"", None, []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.close(self.to_browser)
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_browser)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        """The next message. Raises RuntimeError where the browser has ended or says nothing."""
        while b"\0" not in self.rest:
            if not select.select([self.from_browser], [], [], SECONDS)[0]:
                raise RuntimeError("the browser does not answer")
            read = os.read(self.from_browser, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self.rest += read
        one, _, self.rest = self.rest.partition(b"\0")
        return json.loads(one)

    def call(self, method, **parameters):
        """One command of the protocol and its result; events that come meanwhile are kept."""
        self.number += 1
        sent = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        data = json.dumps(sent).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            self.events.append(got.get("method"))

    def open(self, page, width, dark):
        """Shows a file at this width (pixels), in dark mode or not."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=Path(page).absolute().as_uri())
        end = time.monotonic() + SECONDS
        while "Page.loadEventFired" not in self.events and time.monotonic() < end:
            self.events.append(self.message().get("method"))

    def evaluate(self, script):
        """The value of an expression in the page. Raises RuntimeError where it throws."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(json.dumps(got["exceptionDetails"]))
        return got["result"].get("value")

    def screenshot(self, path):
        """The whole page as PNG."""
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(got["data"]))
