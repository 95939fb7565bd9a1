#!/usr/bin/env python3
"""A worker that is broken on purpose, as if its code had been taken over: it reaches nothing, and whatever bytes it
sends, the gate lives on, says so and starts a new cell.

The program is tests/broken's; its worker acts on paths below `__probe__`.
"""
# timeout: 500

import base64
import contextlib
import errno
import json
import os
import signal
import stat
import struct
import subprocess
import time

import lib
from lib import AM_ROOT, Gate, check, expect_error, wait_until

SECRET = "a secret that lies outside"
SIGSYS = 31




class Suite:
    def __init__(self, tap, form, sanitized=False):
        self.tap, self.form, self.sanitized = tap, form, sanitized
        self.folder = form.folder("ws")
        self.secret = form.write(form.base / "secret", SECRET)
        self.open_folder = form.folder("open", 0o777)
        form.write(self.folder / "good", "good\n")
        os.truncate(form.write(self.folder / "large", ""), 64 << 30)
        self.gate = self.start()

    def start(self, **env):
        # The C library fills freed memory, so that what is used after its end shows in the answers.
        # A worker that sends without end is to be ended for that, before its time is over.
        given = {"TOOL_TIMEOUT_SECS": "8" if self.sanitized else "3", "MALLOC_PERTURB_": "165", **env}
        return Gate(self.form, workspace=self.folder, env=given)

    def works(self, gate=None):
        result = (gate or self.gate).ok("read_file", path="good")
        check(result["content"] == "good\n", f"the next call: {result}")

    @contextlib.contextmanager
    def case(self, name):
        try:
            self.works()
        except (AssertionError, lib.Gone):  # what an earlier case was about
            self.gate.end()
            self.gate = self.start()
        with self.tap.case(f"{self.form.name}: {name}"):
            yield self.gate
            self.works()
            if self.sanitized:
                check("Sanitizer" not in self.gate.said() and "runtime error" not in self.gate.said(), self.gate.said())
            else:
                self.gate.check_memory()
            check(self.secret.read_text(encoding="ascii") == SECRET, "the secret was changed")
            check(not list(self.open_folder.iterdir()), "something was made outside")


def probe(gate, what):
    """What the worker says of an attempt, or the error that its end led to."""
    result = gate.call("read_file", path=f"__probe__/{what}", max_bytes=1 << 20)
    return result["result"]["content"] if result["ok"] else result["error"]


# --- system calls

# Asked for by the C library, or answered by Landlock, in place of an end.
ANSWERED = {name: errno.ENOSYS for name in ("clone3", "openat", "open", "ioctl", "prlimit64")}
# The first process of a pid namespace is deaf to signals from inside, where Landlock does not refuse them.
ANSWERED["signal-first"] = errno.EPERM


def system_calls(suite):
    names = probe(suite.gate, "calls").split()
    if os.uname().machine == "x86_64":
        names.append("other-abi-i386")
    for name in names:
        with suite.case(f"system call {name}") as gate:
            launcher = gate.launcher()
            said = probe(gate, f"call/{name}")
            if name in ANSWERED:
                check(said == f"errno {ANSWERED[name]}" or (name == "signal-first" and said == "returned 0"), f"{said}")
                check(gate.launcher() == launcher, "the cell ended")
            else:
                check(isinstance(said, dict), f"it was let through: {said}")
                # A connected socket knows no other address: what was sent came to the gate.
                word = "broke the protocol" if name == "sendto" else f"signal {SIGSYS}"
                check(said["code"] == "INTERRUPTED" and word in said["message"], f"{said}")


# --- files


def files(suite, gate, system_shown):
    secret, made = str(suite.secret), str(suite.open_folder / "made")
    hidden = {errno.EACCES} if system_shown else {errno.ENOENT}
    absent = {errno.ENOENT}
    closed = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EXDEV, errno.EBUSY, errno.ENOENT}
    rows = [
        ("read", "/etc/passwd", hidden),
        ("read", "/etc/shadow", hidden),
        # Empty places, where commands of the same cell have more.
        ("read", "/etc", {errno.EACCES}),
        ("read", "/usr/bin/env", hidden),
        ("read", "/proc/self/status", hidden),
        ("read", "/proc/1/environ", hidden),
        ("read", "/proc/1/root/etc/passwd", hidden | {errno.EACCES}),
        ("read", "/proc/self/root/etc/passwd", hidden),
        ("read", "/proc/self/mem", hidden),
        ("read", "/dev/null", {errno.EACCES}),
        ("read", "/sys/kernel", absent),
        ("read", "/workspace/..", {errno.EACCES}),
        ("read", secret, absent),
        ("up", "/etc/passwd", hidden),
        ("up", secret, absent),
        ("stat", secret, absent),
        ("stat", str(suite.open_folder), absent),
        # The way to the workspace is there, and nothing else in it.
        ("read", str(suite.form.base), {errno.EACCES}),
        ("create", "/made", closed),
        ("create", "/etc/made", closed),
        ("create", made, absent),
        ("mkdir", "/made", closed),
        ("mkdir", made, absent),
        ("unlink", "/etc/hostname", closed),
        ("unlink", secret, closed),
        ("rename", "/made", closed),
        ("rename", made, absent),
    ]
    shown = ", the system being visible" if system_shown else ""
    for verb, path, expected in rows:
        name = path.replace(str(suite.form.base), "…")
        with suite.tap.case(f"{suite.form.name}: {verb} {name}{shown}"):
            said = probe(gate, f"file/{verb}{path}")
            allowed = [f"errno {number}" for number in expected]
            check(said in allowed, f"{lib.short(said)}, expected {' or '.join(allowed)}")
            suite.works(gate)
    with suite.tap.case(f"{suite.form.name}: nothing was made outside{shown}"):
        check(not list(suite.open_folder.iterdir()) and suite.secret.exists(), "it was")
        check(not os.path.exists("/made") and not os.path.exists("/etc/made"), "it was, at the root")


def shown_system(suite):
    """Only Landlock is left between the worker and the machine's files."""
    with suite.start(SANDGATE_TEST_SHOW_SYSTEM="1") as gate:
        with suite.tap.case(f"{suite.form.name}: the machine's system is visible in that cell"):
            said = probe(gate, "file/stat/etc/passwd")
            check(said == "returned 0", f"{said}: then the following show nothing")
        files(suite, gate, True)


def setuid_files(suite):
    for how in ("fchmod", "create"):
        with suite.case(f"a setuid file, by {how}") as gate:
            said = probe(gate, f"setuid/{how}")
            path = suite.folder / "probe-setuid"
            mode = path.stat().st_mode
            path.unlink()
            check(not mode & (stat.S_ISUID | stat.S_ISGID), f"mode {mode:o}, owner {suite.form.name}; {said}")


# --- what others can see of it


def descriptors(suite):
    with suite.case("the worker's descriptors, by its own account") as gate:
        kinds = [line.split()[1] for line in probe(gate, "descriptors").splitlines()]
        check(sorted(kinds) == ["device"] * 3 + ["folder"] * 2 + ["socket"] * 3, f"{kinds}")
    with suite.case("descriptors that a worker sends are not kept") as gate:
        before = count_descriptors(gate.pid)
        probe(gate, "send-descriptors")
        suite.works()
        check(count_descriptors(gate.pid) <= before, f"{before} descriptors became {count_descriptors(gate.pid)}")
    with suite.case("the descriptors of launcher and worker, from outside") as gate:
        for pid, expected in (
            # The folder holds the points that a command's folders are mounted on.
            (gate.launcher(), ["/dev/null"] * 3 + ["/proc/1/mountinfo", "anon_inode:[eventpoll]", "anon_inode:[signalfd]", "folder", "socket"]),
            (gate.worker(), ["/dev/null"] * 3 + ["folder"] * 2 + ["socket"] * 3),
        ):
            if not AM_ROOT:  # undumpable, so that its own user may not look
                check(not readable(pid, "fd"), "its own user can look at its descriptors")
                continue
            # The launcher goes on setting up while the worker serves.
            wait_until(lambda pid=pid, expected=expected: sorted(kinds_of(pid)) == sorted(expected),
                       f"{kinds_of(pid)}, expected {expected}")


def kinds_of(pid):
    """What its descriptors are."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            is_folder = target.startswith("/") and stat.S_ISDIR(os.stat(f"/proc/{pid}/fd/{name}").st_mode)
        except FileNotFoundError:
            target, is_folder = "closed", False
        found.append("folder" if is_folder else target.split(":[")[0] if target[:6] == "socket" else target)
    return found


def readable(pid, what):
    try:
        os.listdir(f"/proc/{pid}/{what}")
        return True
    except PermissionError:
        return False


def count_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd")) if AM_ROOT else 0


def identity(suite):
    with suite.case("no process of the cell is root, and the worker can gain nothing") as gate:
        for pid in gate.cell():
            status = lib.status(pid)
            check("0" not in status["Uid"].split(), f"uids {status['Uid']}")
            check("0" not in status["Gid"].split(), f"gids {status['Gid']}")
            check(not suite.form.is_root or not status["Groups"].strip(), f"groups {status['Groups']}")
        status = lib.status(gate.worker())
        for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            check(int(status[field], 16) == 0, f"{field} {status[field]}")
        check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"{status['NoNewPrivs']} {status['Seccomp']}")
    with suite.case("their own user can neither read nor trace them") as gate:
        uid = int(lib.status(gate.worker())["Uid"].split()[0])
        drop = {"user": uid, "group": uid, "extra_groups": []} if AM_ROOT else {}
        pids = gate.cell() if suite.form.is_root else [gate.pid, *gate.cell()]
        for pid in pids:
            for what in ("environ", "maps", "mem"):
                done = subprocess.run(["cat", f"/proc/{pid}/{what}"], capture_output=True, check=False, **drop)
                check(done.returncode != 0 and b"ermission" in done.stderr, f"{what} of {pid} can be read: {done}")


# --- frames

MAGIC = 0x53474631
CALL, CANCEL, CHUNK, RESULT, ERROR, SPEC, READY, FAILED = range(1, 9)
SHELF, SHELVED = 16, 17
SHELF_BYTES = 2 << 20
HASH = "0" * 64
MOST, LEAST = (1 << 63) - 1, -(1 << 63)


def frame(head=b"", body=b"", kind=RESULT, magic=MAGIC, token=0, head_said=None, body_said=None):
    """A frame; the worker combines the token with its call's by exclusive or."""
    head = head if isinstance(head, bytes) else json.dumps(head).encode()
    lengths = len(head) if head_said is None else head_said, len(body) if body_said is None else body_said
    return struct.pack("=IIQII", magic, kind, token, *lengths) + head + body


def shelved(*numbers):
    return frame(body=struct.pack(f"={len(numbers)}I", *numbers), kind=SHELVED)


def read_head(**fields):
    return {"size": 1, "sha256": HASH, "total_lines": 1, "start_line": 1, "end_line": 1, "whole": 0, **fields}


def stat_head(**fields):
    return {"type": "file", "size": 1, "mode": 0o644, "mtime_ms": 0, **fields}


def error_head(message, **fields):
    return {"code": "INTERNAL", "message": message, **fields}


def entry(name, kind=0, size=0, mtime=0, length=None):
    return struct.pack("=qqHB", size, mtime, len(name) if length is None else length, kind) + name


GOOD = read_head()
STRANGE = "é\x1b[31m\u202e\n\0%s%n\"}"

# name, what is sent, how the call is to end: INTERRUPTED unless said, and how often it is sent
READ_FRAMES = [
    ("a right one", frame(GOOD), "ok"),
    ("an empty message", b""),
    ("one byte", b"S"),
    ("half a header", frame(GOOD)[:23]),
    ("a header only", frame()),
    ("another magic", frame(GOOD, magic=MAGIC + 1)),
    ("type 0", frame(GOOD, kind=0)),
    ("type 99", frame(GOOD, kind=99)),
    ("type 2^32-1", frame(GOOD, kind=0xFFFFFFFF)),
    ("a call", frame({"op": "read", "args": {}}, kind=CALL)),
    ("a cancel", frame(kind=CANCEL)),
    ("a specification", frame({}, kind=SPEC)),
    ("ready", frame({}, kind=READY)),
    ("failed", frame({"message": "x"}, kind=FAILED)),
    ("a head said to be longer", frame(GOOD, head_said=500)),
    ("a head said to be shorter", frame(GOOD, head_said=5)),
    ("a head said to be huge", frame(GOOD, head_said=0xF0000000)),
    ("a body said to be longer", frame(GOOD, body_said=1)),
    ("a body said to be huge", frame(GOOD, body_said=0xFFFFFFFF)),
    ("lengths that overflow", frame(GOOD, head_said=0xFFFFFFFF, body_said=len(json.dumps(GOOD)) + 1)),
    ("a byte too many", frame(GOOD) + b"x"),
    ("a head over its limit", frame(b" " * 66_000 + json.dumps(GOOD).encode())),
    ("a message over every limit", frame(GOOD) + bytes(170_000)),
    ("the next call's token", frame(GOOD, token=1)),
    ("an earlier call's token", frame(GOOD, token=1 << 32)),
    ("a token far away", frame(GOOD, token=0x7FFFFFFF)),
    ("a token of ones", frame(GOOD, token=(1 << 64) - 1)),
    ("a head that is no JSON", frame(b"hello")),
    ("a head that is cut", frame(b'{"size":1,')),
    ("a head that is an array", frame([])),
    ("a head that is a number", frame(1)),
    ("a head with a NUL behind it", frame(json.dumps(GOOD).encode() + b"\0")),
    ("a head that is not UTF-8", frame(b'{"size":1,"\xff":2}')),
    ("a deep head", frame(b"[" * 30_000)),
    ("a head of many values", frame([0] * 10_000)),
    ("a missing field", frame({"size": 1})),
    ("an unknown field", frame(read_head(extra=1))),
    ("a field twice", frame(b'{"size":1,' + json.dumps(GOOD).encode()[1:])),
    ("text for a number", frame(read_head(size="1"))),
    ("null for a number", frame(read_head(size=None))),
    ("a negative size", frame(read_head(size=-1))),
    ("half a byte", frame(read_head(size=1.5))),
    ("a size beyond 64 bits", frame(b'{"size":' + b"9" * 400 + b"," + json.dumps(GOOD).encode()[1:])),
    ("a short hash", frame(read_head(sha256="00"))),
    ("a hash that is a number", frame(read_head(sha256=7))),
    ("more whole lines than body", frame(read_head(whole=1))),
    ("an end beyond the last line", frame(read_head(end_line=9))),
    ("the largest numbers", frame(read_head(size=MOST, total_lines=MOST, start_line=MOST, end_line=MOST)), "any"),
    ("a reply of another operation", frame({"count": 0})),
    ("more body than was asked for", frame(GOOD, b"x" * 60_000)),
    ("the shelf given back", frame(kind=SHELF)),
    ("nothing on the shelf", shelved(0, 0)),
    ("a piece that begins behind the shelf", shelved(SHELF_BYTES, 1)),
    ("a piece that ends behind the shelf", shelved(SHELF_BYTES - 1, 2)),
    ("a piece that ends behind all numbers", shelved(2, 0xFFFFFFFF)),
    ("a piece that begins behind all numbers", shelved(0xFFFFFFFF, 2)),
    ("a piece that was there before", shelved(0, 10), "INTERRUPTED", 2),
    ("half a place on the shelf", shelved(0)),
    ("two places on the shelf", shelved(0, 1, 1, 1)),
    ("no place on the shelf", frame(kind=SHELVED)),
    ("all of the shelf without end", shelved(0, SHELF_BYTES), "INTERRUPTED", 1 << 40),
    ("an error without a head", frame(kind=ERROR)),
    ("an error that is no JSON", frame(b"hello", kind=ERROR)),
    ("an error without a code", frame({"message": "x"}, kind=ERROR)),
    ("an error with an unknown code", frame(error_head("x", code="X"), kind=ERROR)),
    ("an error without a message", frame({"code": "INTERNAL"}, kind=ERROR)),
    ("an error with a number for a message", frame(error_head(1), kind=ERROR)),
    ("an error with a body", frame(error_head("x"), b"x", kind=ERROR)),
    ("an error that only the policy can make", frame(error_head("x", code="POLICY_DENIED"), kind=ERROR)),
    ("an error that asks for approval", frame(error_head("x", code="APPROVAL_DENIED"), kind=ERROR)),
    ("an error that says it was interrupted", frame(error_head("x", code="INTERRUPTED"), kind=ERROR)),
    ("an error with strange text", frame(error_head(STRANGE, field=STRANGE), kind=ERROR), "INTERNAL"),
    ("an error with much text", frame(error_head(STRANGE * 500, reason=STRANGE * 9), kind=ERROR), "INTERNAL"),
    ("two answers", frame(GOOD), "ok INTERRUPTED", 2),
    ("5,000 answers to nobody", frame(GOOD, token=(1 << 64) - 1), "INTERRUPTED", 5000),
    ("pieces without end", frame(body=bytes(128 << 10), kind=CHUNK), "INTERRUPTED", 1 << 40),
    ("empty pieces without end", frame(kind=CHUNK), "INTERRUPTED TIMEOUT", 1 << 40),
]
LIST_FRAMES = [
    ("a right one", frame({"count": 1}, entry(b"a")), "ok"),
    ("a count without entries", frame({"count": 3}), "any"),
    ("a count beyond what was asked", frame({"count": 100_000})),
    ("a negative count", frame({"count": -1})),
    ("more entries than counted", frame({"count": 0}, entry(b"a"))),
    ("a cut entry", frame({"count": 1}, entry(b"a")[:4])),
    ("a cut name", frame({"count": 1}, entry(b"abc", length=7))),
    ("a name of 64 KB", frame({"count": 1}, entry(b"a" * 65_535))),
    ("no name", frame({"count": 1}, entry(b""))),
    ("a slash in a name", frame({"count": 1}, entry(b"a/b"))),
    ("a NUL in a name", frame({"count": 1}, entry(b"a\0b"))),
    ("an unknown type", frame({"count": 1}, entry(b"a", kind=99))),
    ("a negative size", frame({"count": 1}, entry(b"a", size=LEAST))),
    ("the latest time", frame({"count": 1}, entry(b"a", mtime=MOST)), "any"),
    ("the earliest time", frame({"count": 1}, entry(b"a", mtime=LEAST)), "any"),
    ("a name of strange bytes", frame({"count": 1}, entry(b'"\n\x1b\xff\\%s')), "any"),
]
STAT_FRAMES = [
    ("a right one", frame(stat_head()), "ok"),
    ("an unknown type", frame(stat_head(type="x"))),
    ("a negative mode", frame(stat_head(mode=-1))),
    ("the largest numbers", frame(stat_head(size=MOST, mode=MOST, mtime_ms=MOST)), "any"),
    ("the smallest numbers", frame(stat_head(size=0, mode=0, mtime_ms=LEAST)), "any"),
    ("a body", frame(stat_head(), b"x")),
    ("a piece of a body", frame(body=b"x", kind=CHUNK)),
]
WRITE_FRAMES = [
    ("a right one", frame({"bytes": 1, "sha256": HASH}), "ok"),
    ("a negative length", frame({"bytes": -1, "sha256": HASH})),
    ("a long hash", frame({"bytes": 1, "sha256": HASH + "00"})),
    ("a body", frame({"bytes": 1, "sha256": HASH}, b"x")),
]


def play(gate, tool, message, times, **args):
    gate.ok("write_file", path="__probe__/load", content=base64.b64encode(message).decode(), encoding="base64")
    return gate.call(tool, path=f"__probe__/play/{times}", **args)


def frames(suite):
    for tool, args, rows in (
        ("read_file", {"max_bytes": 50_000}, READ_FRAMES),
        ("list_files", {}, LIST_FRAMES),
        ("stat", {}, STAT_FRAMES),
        ("write_file", {"content": "x"}, WRITE_FRAMES),
    ):
        for name, message, *rest in rows:
            expected, times = [*rest, *["INTERRUPTED", 1][len(rest) :]]
            with suite.case(f"{tool} is answered with {name}") as gate:
                launcher = gate.launcher()
                result = play(gate, tool, message, times, **args)
                code = "ok" if result["ok"] else result["error"]["code"]
                check(expected == "any" or code in expected.split(), f"expected {expected}, got {lib.short(result)}")
                if code == "INTERRUPTED":
                    message = expect_error(result, "INTERRUPTED")["message"]
                    check("broke the protocol" in message, f"no reason is given: {message!r}")
                    wait_until(lambda pid=launcher: not lib.alive(pid), "the cell was ended")


def dead_on_arrival(suite):
    """A file of this name makes every worker crash before its first call."""
    crasher = suite.form.write(suite.folder / "__probe__", "")
    with suite.tap.case(f"{suite.form.name}: cells that all die at once are not started for ever"):
        with suite.start() as gate:
            for _ in range(3):
                gate.refused("INTERRUPTED SANDBOX_UNAVAILABLE TIMEOUT", "read_file", path="good", seconds=8)
            before = lib.cpu_ticks(gate.pid)
            time.sleep(0.5)
            check(lib.cpu_ticks(gate.pid) - before < 10, "the gate is busy though there is no call")
            crasher.unlink()
            suite.works(gate)
    crasher.unlink(missing_ok=True)


def changing_shelf(suite):
    """Whatever the worker does to it meanwhile, the gate's line is JSON: the reader would fail otherwise."""
    with suite.case("the shelf changes while the gate reads it") as gate:
        launcher = gate.launcher()
        for _ in range(100):
            said = probe(gate, "shelf/change")
            check(isinstance(said, str) and len(said) > 1000, f"{lib.short(said)}")
        check(gate.launcher() == launcher, "the cell ended")


def others_in_flight(suite):
    with suite.case("all calls of a cell that broke the rules are told so") as gate:
        message = frame(b"hello")
        gate.ok("write_file", path="__probe__/load", content=base64.b64encode(message).decode(), encoding="base64")
        ids = [gate.send("read_file", path="large", hash=True) for _ in range(3)]
        ids.append(gate.send("read_file", path="__probe__/play/1"))
        for call_id in ids:
            expect_error(gate.wait(call_id), "INTERRUPTED")
    with suite.case("a call is not told that it was interrupted while its cell may still change files") as gate:
        for _ in range(20):
            suite.works()
            launcher = gate.launcher()
            expect_error(play(gate, "read_file", frame(b"hello"), 1), "INTERRUPTED")
            check(not lib.alive(launcher), "it was answered before the cell was dead")


# --- endings


def next_cell(gate, old):
    found = [p for p in lib.children(gate.pid) if p != old]
    return len(found) == 2 and found


def endings(suite):
    for how, word in (("exit", "status 7"), ("crash", "signal 11")):
        with suite.case(f"a worker that ends: {how}") as gate:
            said = probe(gate, f"end/{how}")
            check(said["code"] == "INTERRUPTED" and word in said["message"], f"{said}")
    for how in ("hang", "spin", "close"):
        with suite.case(f"a worker that does not answer: {how}") as gate:
            launcher = gate.launcher()
            said = probe(gate, f"end/{how}")
            check(said["code"] in ("TIMEOUT", "INTERRUPTED"), f"{said}")
            suite.works()
            wait_until(lambda: not lib.alive(launcher), "the cell was ended")
    with suite.case("a worker of which every thread hangs") as gate:
        ids = [gate.send("read_file", path="__probe__/end/hang") for _ in range(12)]
        for call_id in ids:
            expect_error(gate.wait(call_id), "TIMEOUT INTERRUPTED")
    with suite.case("the process that waits to become the next cell is killed too") as gate:
        for turn in range(6):
            launcher = gate.launcher()
            os.kill(launcher, signal.SIGKILL)
            # The one that is told what to be, and the one that becomes it.
            waiting = wait_until(lambda pid=launcher: next_cell(gate, pid), "the next one")
            os.kill(waiting[turn % 2], signal.SIGKILL)
            suite.works()
            wait_until(lambda pids=waiting: not any(lib.status(p) for p in pids), "they were waited for")
    with suite.case("a gate that ends while its worker hangs") as gate:
        with suite.start() as other:
            suite.works(other)
            cell = other.cell()
            other.send("read_file", path="__probe__/end/spin")
            other.close_input()
            other.drain()
            other.wait_exit()
            wait_until(lambda: not any(lib.alive(p) for p in cell), "its cell ended with it")


# --- more than its share


def greed(suite):
    with suite.case("a worker that calls for help without end does not hold the gate up") as gate:
        probe(gate, "call-for-help")
        ids = [gate.send("read_file", path="good") for _ in range(300)]
        for call_id in ids:
            check(gate.wait(call_id)["ok"], "a call failed")
    if suite.sanitized:  # which needs memory of its own and is not limited
        return
    with suite.case("a worker's memory has an end") as gate:
        said = probe(gate, "memory")
        check(said.startswith("errno 12 after ") and int(said.split()[3]) <= 1024, f"{said}")


PARTS = [
    system_calls,
    setuid_files,
    descriptors,
    identity,
    frames,
    changing_shelf,
    others_in_flight,
    endings,
    dead_on_arrival,
    greed,
]


def sanitized_parts(tap, binary):
    """Those that are about what the gate makes of a worker's bytes, where it watches its memory."""
    suite = Suite(tap, lib.forms(binary)[-1], sanitized=True)
    frames(suite)
    changing_shelf(suite)
    others_in_flight(suite)
    suite.gate.end()


def main():
    tap = lib.Tap()
    if lib.SANITIZED:
        sanitized_parts(tap, lib.BROKEN)
        tap.done()
    for form in lib.forms(lib.BROKEN):
        suite = Suite(tap, form)
        for part in PARTS:
            part(suite)
        files(suite, suite.gate, False)
        shown_system(suite)
        suite.gate.end()
    tap.done()


if __name__ == "__main__":
    main()
