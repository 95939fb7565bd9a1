"""Starts the program as a case says and talks with it."""

import json
import os
import re
import select
import subprocess
import threading
import time

from values import ABSENT, dump
from wire import wire_of

SECONDS = 30  # for one case; a hang must not hold the run
# What would change the outcome if it came from whoever runs the tests.
FOREIGN = ("SANDGATE_", "TOOL_", "MODEL_", "WORKSPACE_", "XDG_")


class Failed(Exception):
    pass


def request_of(case):
    """The request that `tool`, `arguments` and `id` of a case stand for."""
    return wire_of(case).request(case.get("id", "1"), case["tool"], case.get("arguments", ABSENT))


def as_line(line):
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else dump(line)).encode("utf-8", "surrogatepass")


def environment(case, places):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    # The tools of whoever runs the cases are not what is tested.
    kept["PATH"] = ":".join(f for f in kept["PATH"].split(":") if not f.startswith((os.path.expanduser("~/"), "/root/")))
    own = {"HOME": str(places.root / "home"), "XDG_STATE_HOME": str(places.root / "xdg")}
    # Nobody sits here to be asked; cases about asking say so in their configuration.
    if "approval" not in case.get("config", {}):
        own["SANDGATE_APPROVAL_DEFAULT"] = "approve"
    return {**kept, **own, **case.get("env", {})}


def options(case, places):
    dialect = case.get("dialect", "native")
    argv = [] if dialect == "native" else ["--dialect", dialect]
    if dialect != "toolhost" and "--session" not in case.get("options", []):  # which has a workspace of its own
        argv += ["--workspace", places.folder("@project")]
    elif dialect == "toolhost":
        for mount in case.get("mounts", ["@project", "@pkg", "@state"]):
            argv += [f"--{mount[1:]}", places.folder(mount)]
    for name in ("format", "agent"):
        if name in case:
            argv += [f"--{name}", case[name]]
    if "config" in case:
        argv += ["--config", str(places.root / "config.json")]
    return argv + case.get("options", [])


def command_line(case, places):
    if "argv" in case:
        return case["argv"]
    if case.get("front") == "call":
        words = [case["tool"]]
        if "arguments" in case:
            words.append(as_line(case["arguments"]).decode())
        return ["call", *words, *options(case, places)]
    return ["stdio", *options(case, places)]


class Running:
    """The program with pipes around it, killed when its time is over."""

    def __init__(self, argv, env, cwd, stderr):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd
        )
        self.deadline = time.monotonic() + SECONDS
        self.watchdog = threading.Timer(SECONDS, self.process.kill)
        self.watchdog.start()
        self.buffer = b""

    def send(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("the program stopped reading") from error

    def read_line(self):
        out = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                raise Failed("no answer in time")
            piece = os.read(out, 1 << 20)
            if not piece:
                raise Failed(f"the program ended without an answer, after {self.buffer!r}")
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def finish(self, data=b""):
        rest, _ = self.process.communicate(data or None)
        self.watchdog.cancel()
        if self.process.returncode < 0:
            raise Failed(f"the program died of signal {-self.process.returncode}")
        return self.buffer + rest, self.process.returncode

    def stop(self):
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()


def event_in(line):
    """The event that a line tells of; "" where it is an answer."""
    return json.loads(line).get("event", "") if b'"event":' in line[:4096] else ""


def answers_in(out):
    """What a command prints comes as it likes, and other events only count where a case waits for them."""
    return [line for line in out.splitlines() if not event_in(line)]


def next_line(running, wanted):
    """The next answer, or the next event where one is wanted; in any case not what a command prints."""
    for line in iter(running.read_line, None):
        event = event_in(line)
        if "event" in wanted and not event:
            raise Failed(f"an answer in place of an event: {line.decode('utf-8', 'replace')[:1000]}")
        if "event" in wanted and event != "output" or not event:
            return line
    return None


def filled_in(line, answers):
    """%LAST:field% is the string that the latest answer or event with such a field has there."""

    def last(match):
        found = re.findall(rb'"%s":"([^"\\]*)"' % match[1], b"\n".join(answers))
        if not found:
            raise Failed(f"no answer has {match[1].decode()}")
        return found[-1]

    return re.sub(rb"%LAST:(\w+)%", last, line)


def talk(running, case, lines, expected):
    """Sends the lines: all at once, or each when what is to come for the one before has come. The raw answers (and
    events, where they are expected) and the exit status."""
    raw = [as_line(line) for line in lines]
    events = any("event" in one for wanted in expected for one in wanted)
    if case.get("together") or (len(raw) == 1 and not events):
        out, status = running.finish(b"\n".join(raw) + (b"" if case.get("cut") else b"\n"))
        return answers_in(out), status
    answers = []
    for line, wanted in zip(raw, expected):
        running.send(filled_in(line, answers) + b"\n")
        for one in wanted:
            answers.append(next_line(running, one))
    out, status = running.finish()
    return answers + answers_in(out), status
