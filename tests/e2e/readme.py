#!/usr/bin/env python3
"""README.md: each of its blocks is run as it stands there, one after the other, and prints what it shows; or says why not.
Ids, times, durations and folders are those of the run."""
import os
import pty
import re
import select
import subprocess
import sys
import time

import lib
from lib import check

PAGE = (lib.ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- (not run|file): ([^\n]+) -->\n)?```(\w*)\n(.*?)```\n", re.S)
# Typed where a program asks.
ASKED = (b"[?]:", b"ok?")
CHANGING = (
    (r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()].|[\x00-\x09\x0b-\x1f]", ""), (r"\s+", ""), (r"""\\?["']duration_ms\\?["']:\d+|\d+ms""", "MS"),
    (r'"retry_after_ms":\d+', "RETRY"), (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"), (r"\d+min\d+sleft", "LEFT"),
    (r"/dev/pts/\d+", "PTS"), (r"approvedby\w+on", "approvedbyMEon"), (r"00\d\.jsonl:\d+:record\d+", "PLACE"),
    (r"gate[0-9a-f]{16},record\d+", "GATE"), (r"\d+recordsof\d+gatesin\d+files", "COUNTS"), (r"[ (]?waitsforyouryes\(\w{8},", "waits"),
)  # fmt: skip


class Tour:
    """One shell's worth of state: a folder, a home, ids that this run has in place of those on the page."""

    def __init__(self, form):
        self.form = form
        self.base = form.folder("readme")
        self.home = form.folder("readme-home", 0o700)
        for name in (".config", ".config/sandgate"):
            form.own(self.folder(self.home / name))
        tools = form.folder("readme-bin")
        form.link(tools / "sandgate", form.binary)
        self.cwd = self.base
        self.ids = {}
        self.behind = None  # where a command in the background writes
        self.env = lib.environment(self.home, {"HOME": str(self.home), "PATH": f"{tools}:/usr/bin:/bin", "TERM": "dumb",
            "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None, "SANDGATE_APPROVAL_DEFAULT": None, "LC_ALL": "C.UTF-8"})  # fmt: skip

    def folder(self, path):
        path.mkdir(mode=0o700)
        return path

    def run(self, command, typed):
        for shown, real in self.ids.items():
            command = command.replace(shown, real)
        text = f"cd '{self.cwd}'\n{command}\nprintf '\\n@%s@%s' $? \"$PWD\""
        argv = ["setsid", "-c", "bash", "-c", text] if typed else ["bash", "-c", text]
        ours, theirs = pty.openpty() if typed else os.pipe()
        process = subprocess.Popen(argv, cwd=self.base, env=self.env, stdin=theirs if typed else subprocess.DEVNULL,
                                   stdout=theirs, stderr=theirs, **self.form.identity())  # fmt: skip
        os.close(theirs)
        try:
            output = self.read(ours)
        finally:
            os.close(ours)
            process.kill()
            process.wait()
        said, status, cwd = output.decode("utf-8", "replace").rsplit("@", 2)
        self.cwd = cwd.strip()
        return said, int(status)

    def read(self, fd):
        output = b""
        end = time.monotonic() + lib.SECONDS
        while not re.search(rb"@\d+@/[^\n]*$", output):
            check(select.select([fd], [], [], max(0, end - time.monotonic()))[0], output[-2000:])
            piece = os.read(fd, 65536)
            if not piece:
                break
            output += piece
            if output.rstrip().endswith(ASKED):
                time.sleep(0.1)
                os.write(fd, b"y\n")
        return output

    def plain(self, text):
        text = text.replace(f"{self.base}/demo", "/tmp/demo")
        for shown, real in self.ids.items():
            text = text.replace(real, shown)
        for pattern, by in CHANGING:
            text = re.sub(pattern, by, text)
        return text

    def step(self, command, shown):
        typed = any(mark.decode() in shown for mark in ASKED)
        said, status = self.run(command, typed)
        behind = re.search(r" >(\w+) </dev/null &$", command)
        if behind:
            self.behind = lib.pathlib.Path(self.cwd, behind[1])
        if command.startswith("sandgate deny "):  # the next record is that of the next command
            lib.wait_until(lambda: self.behind.stat().st_size, "the call that waited is answered")
        waits = re.match(r"(\w{8})  ", shown)
        end = time.monotonic() + lib.SECONDS
        while waits and not said.strip() and time.monotonic() < end:  # until the call is there
            time.sleep(0.1)
            said, status = self.run(command, typed)
        if waits and said:
            self.ids.setdefault(waits[1], said.split()[0])
            said, shown = re.sub(r"\b\d+ s\b", "S", said), re.sub(r"\b\d+ s\b", "S", shown)
        asked = re.search(r"yes \((\w{8}),", shown)
        if asked and (real := re.search(r"yes \((\w{8}),", said)):
            self.ids[asked[1]] = real[1]
        if shown:
            check(self.plain(said) == self.plain(shown), f"{command}\nshows:\n{shown}\nprints:\n{said}")
        else:
            check(status == 0, f"{command}: status {status}: {said}")


def steps(body):
    """Pairs of a command and what stands below it."""
    pairs = []
    more = False
    for line in body.splitlines():
        if line.startswith("$ ") or more:
            if more:
                pairs[-1][0] += "\n" + line
            else:
                pairs.append([line[2:], ""])
            more = pairs[-1][0].endswith("|")
        else:
            check(pairs, f"no command above: {line}")
            pairs[-1][1] += line + "\n"
    return pairs


def blocks_run(form):
    tour = Tour(form)
    count = 0
    for what, value, kind, body in BLOCK.findall(PAGE):
        if what == "not run":
            continue
        if what == "file":
            path = value.replace("$HOME", str(tour.home))
            form.write(lib.pathlib.Path(tour.cwd, path), body)
            continue
        check(not kind, f"a block of {kind} that is neither a file nor said not to run: {body[:200]}")
        for command, shown in steps(body):
            tour.step(command, shown)
            count += 1
    check(count >= 20, f"{count} commands")


def picture(form):
    """docs/picture.svg is what scripts/picture.py draws."""
    if form.is_root == lib.AM_ROOT:
        done = subprocess.run([sys.executable, lib.ROOT / "scripts/picture.py", "--check", "--program", form.binary],
                              capture_output=True, text=True, timeout=100, check=False)  # fmt: skip
        check(done.returncode == 0, done.stdout[-4000:] + done.stderr)


lib.run_cases([("blocks run", blocks_run), ("the picture", picture)])
