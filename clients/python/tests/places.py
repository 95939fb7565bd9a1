"""What the tests of this folder share. They run against $SANDGATE, a real gate, and $FAKE_GATE where that does not do
what a test needs."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import time
import unittest
from typing import Any, Callable, Dict

FAKE = os.environ.get("FAKE_GATE", str(pathlib.Path(__file__).resolve().parents[2] / "fake_gate.py"))
FOREVER = 1 << 36  # bytes of a sparse file: reading it takes longer than any test


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        os.chmod(self.scratch.name, 0o711)  # a gate run as root works as another user
        self.workspace = pathlib.Path(self.scratch.name, "ws")
        self.workspace.mkdir()
        (self.workspace / "a.txt").write_text("alpha\n")
        self.zombies()

    def endless(self) -> str:
        with open(self.workspace / "endless", "ab") as file:  # never empty again while a call may open it
            file.truncate(FOREVER)
        return "endless"

    def fake(self, kind: str, **more: str) -> Dict[str, Any]:
        """Options for a gate that is not real."""
        return {"program": FAKE, "env": {**os.environ, "FAKE": kind, **more}}

    def zombies(self) -> None:
        """No child of this process is left, living or dead."""
        children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
        if children.exists():
            self.assertEqual(children.read_text().split(), [])

    def eventually(self, what: Callable[[], bool], seconds: float = 15) -> None:
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it does not happen")
            time.sleep(0.005)


class TapResult(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def line(self, word: str, test: unittest.TestCase, text: str = "") -> None:
        self.count += 1
        print(f"{word} {self.count} - {test.id().rpartition('.')[2]}", flush=True)
        print("".join(f"# {line}\n" for line in text.splitlines()), end="", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.line("ok", test)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.line("not ok", test, self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self.line("not ok", test, self.errors[-1][1])


def main() -> None:
    """Runs this program's tests and prints TAP."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = TapResult()
    tests.run(result)
    print(f"1..{result.count}")
    sys.exit(0 if result.wasSuccessful() else 1)
