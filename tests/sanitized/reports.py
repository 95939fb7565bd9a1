#!/usr/bin/env python3
"""What a sanitizer sees in a sealed worker reaches the test, and such a build says what it is and is never installed."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import lib
from lib import Gate, check

# What the broken worker does on request, and how a report about it begins.
SEEN = {
    "address": {"overflow": "heap-buffer-overflow", "shift": "shift exponent 40 is too large"},
    "thread": {"race": "data race"},
}[lib.SANITIZED]


def reported(form, what):
    """The report about one undefined act of a worker; it has more than its first thread by then."""
    workspace = form.folder(f"ws-{what}")
    form.write(workspace / "a.txt", "text\n")
    report = form.write(form.base / f"report-{what}", "")
    with Gate(form, workspace=workspace, env={"SANITIZER_REPORT": str(report)}) as gate:
        gate.ok("read_file", path="a.txt")
        gate.call("read_file", path=f"__probe__/undefined/{what}")
        gate.ok("read_file", path="a.txt")
        gate.close_input()
        gate.wait_exit()
        return report.read_text(encoding="utf-8", errors="replace")


def install(*argv):
    return subprocess.run(argv, cwd=lib.ROOT, capture_output=True, text=True, timeout=300, check=False)


def files_below(folder):
    return [path for path in folder.rglob("*") if not path.is_dir()]


def main():
    tap = lib.Tap()
    for form in lib.forms(lib.BROKEN):
        for what, words in SEEN.items():
            with tap.case(f"{form.name}: {what} in a worker is reported"):
                text = reported(form, what)
                check(words in text, f"no report of it: {text}")
    for form in lib.forms():
        with tap.case(f"{form.name}: the version says that it is for tests only"):
            version = form.run(form.folder("home-version"), "--version").stdout.decode()
            check("for tests only" in version and lib.SANITIZED in version, version)
    base = lib.scratch()
    with tap.case("meson install refuses it and installs nothing"):
        done = install("meson", "install", "-C", str(lib.BUILD), "--no-rebuild", "--destdir", str(base / "meson"))
        check(done.returncode != 0 and "refused" in done.stdout + done.stderr, f"{done.returncode} {done.stdout}")
        check(not files_below(base), f"{files_below(base)}")
    with tap.case("make install refuses it"):
        done = install("make", "install", f"BUILD={lib.BUILD}", f"DESTDIR={base / 'make'}", "--assume-old=build")
        check(done.returncode != 0 and "refused" in done.stdout + done.stderr, f"{done.returncode} {done.stdout}")
        check(not files_below(base), f"{files_below(base)}")
    tap.done()


if __name__ == "__main__":
    main()
