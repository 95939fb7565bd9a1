#!/usr/bin/env python3
"""Every front under each limit of the kernel, from too little to start up to enough.

A front works or says what is missing. It never hangs, is never ended by a signal, leaves no process, no mount and no
temporary file behind, claims nothing that it did not do, and works again without the limit. Prints TAP.
"""
# timeout: 600

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess

import lib
from boundary import in_a_child
from lib import check
from ran import Place

KIB, MIB = 1 << 10, 1 << 20
# With a limit like this, each of these is an honest answer, and the call may be tried again. INTERRUPTED is not among
# them: the cell would have died.
EXPECTED = {"SESSION_BUSY", "DISK_FULL", "TIMEOUT"}
# The first is refused for its size where the limit is one of sizes; the second is the limit of commands.
FINAL = {"TOO_LARGE", "PROCESS_LIMIT", "DISK_LIMIT", "SANDBOX_UNAVAILABLE"}
# A command for which there is no room waits for 5 s.
WAIT = 60
OLD = "old line\n"


@dataclasses.dataclass
class Limit:
    """One limit, the values that every run tries and all of them."""

    name: str
    option: str
    few: tuple
    all: tuple
    root: bool = True  # root is held to it, too
    steady: frozenset = frozenset()  # tools that need no more of it later than at first

    def values(self):
        return self.all if lib.SOAK else self.few


LIMITS = (
    Limit("open files", "nofile", (8, 16, 20, 24, 30, 40, 48, 51, 56), tuple(range(8, 81)),
          steady=frozenset({"run_command"})),
    # Threads count, and a worker starts more of them where calls take long: a command may find less room than before.
    Limit("processes", "nproc", (1, 2, 4, 7, 12), tuple(range(1, 17)), root=False,
          steady=frozenset({"write_file", "read_file"})),
    Limit("data", "data", tuple(k * KIB for k in (256, 1024, 2048, 4096, 6400)),
          tuple(k * 256 * KIB for k in range(1, 60))),
    Limit("address space", "as", tuple(m * MIB for m in (12, 16, 20, 32, 64)),
          tuple(m * MIB for m in (*range(4, 64), *range(64, 256, 8)))),
    Limit("file size", "fsize", (0, 4 * KIB, 64 * KIB), (0, 1, 512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB)),
    Limit("stack", "stack", (16 * KIB, 128 * KIB), tuple(k * KIB for k in (16, 32, 64, 96, 128, 192, 256, 512, 1024))),
)


def mounts(form):
    """Those that have to do with the test's own folders."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if str(form.base.parent) in line]


class Scarce(Place):
    """A place whose programs are started with a limit."""

    def __init__(self, form, limit, value):
        super().__init__(form, f"{limit.option}{value}")
        self.what = f"{limit.name} {value}"
        self.steady = limit.steady
        self.under = ["prlimit", f"--{limit.option}={value}:{value}", "--"]
        self.put("old", OLD)
        self.mounts = mounts(form)

    def limited(self, *argv, stdin=b""):
        """A front, to its end."""
        command = [*self.under, str(self.form.binary), *map(str, argv)]
        try:
            return subprocess.run(command, input=stdin, capture_output=True, timeout=WAIT, cwd="/", check=False,
                                  env=lib.environment(self.home), **self.form.identity())
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.what}: {argv} hangs") from None

    def starts(self):
        """The kernel and libc can start the program at all."""
        return self.limited("--version").returncode == 0

    def check_clean(self):
        lib.wait_until(lambda: not lib.running(self.form.binary), f"{self.what}: no process is left")
        check(mounts(self.form) == self.mounts, f"{self.what}: mounts are left")
        left = list(self.workspace.rglob(".sgt-*"))
        check(not left, f"{self.what}: temporary files are left: {left}")


def code_of(place, result):
    """None for a call that was done; else a code that says what is missing."""
    if result["ok"]:
        return None
    error = result["error"]
    check(error["code"] in EXPECTED | FINAL, f"{place.what}: {lib.short(error)}")
    check(error["retryable"] or error["code"] in FINAL, f"{place.what}: not to be repeated: {lib.short(error)}")
    check(len(error["message"]) > 10, f"{place.what}: no message: {error}")
    return error["code"]


def check_ended(place, status, said, allowed=(0, 1, 2)):
    """By itself, and with a word where it did not serve."""
    check(status in allowed, f"{place.what}: ended with {status}: {said}")
    check(status != 2 or said.strip(), f"{place.what}: ended without a word")


def one_call(place):
    done = place.limited("call", "write_file", json.dumps({"path": "new", "content": "x"}), "--workspace", place.workspace)
    said = done.stderr.decode()
    check_ended(place, done.returncode, said)
    code = code_of(place, json.loads(done.stdout)) if done.stdout else said
    check((done.returncode == 0) == (code is None), f"{place.what}: status {done.returncode}, {code}")
    check(code is not None or (place.workspace / "new").read_text() == "x", f"{place.what}: a write that was not done")


def one_command(place):
    done = place.limited("run", "--workspace", place.workspace, "--", "/bin/echo", "hello")
    said = done.stderr.decode()
    check(done.returncode >= 0 and done.returncode < 128, f"{place.what}: run ended with {done.returncode}: {said}")
    check(done.returncode != 0 or done.stdout == b"hello\n", f"{place.what}: no output: {said}")
    check(done.returncode == 0 or said.strip(), f"{place.what}: run says nothing, status {done.returncode}")


def mcp(place):
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    asked = [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "old"}}},
    ]
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **a}).encode() + b"\n" for a in asked)
    done = place.limited("mcp", "--host", "--workspace", place.workspace, stdin=lines)
    check_ended(place, done.returncode, done.stderr.decode())
    if done.returncode == 0:
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        check({a.get("id") for a in answers} >= {1, 2}, f"{place.what}: {answers}")


def steps(number):
    """Calls of one round, each with what must be so in the workspace if it was done, as (path, text)."""
    big = "b" * 300000
    yield "write_file", {"path": "small", "content": f"{number}\n"}, ("small", f"{number}\n")
    yield "write_file", {"path": "big", "content": big}, ("big", big)
    yield "edit_file", {"path": "small", "edits": [{"old_text": str(number), "new_text": "e"}]}, ("small", "e\n")
    yield "read_file", {"path": "old", "max_bytes": 100}, None
    yield "list_files", {"path": ".", "recursive": True}, None
    yield "search", {"pattern": "ol[dx]"}, None
    yield "search", {"pattern": r"(\w{1,12}\s){1,6}[^x]\p{L}+$"}, None  # much to compile
    yield "run_command", {"command": "echo hello", "timeout_ms": 10000}, None


def check_made(place, made):
    if made:
        check((place.workspace / made[0]).read_text() == made[1], f"{place.what}: {made[0]} has other content")


def long_lived(place):
    """Rounds of calls in one gate. Calls come one at a time, so what is steady works again once it has worked."""
    worked, appended = set(), 0
    with place.gate(under=place.under) as gate:
        try:
            for number in range(3):
                done = set()
                for name, args, made in steps(number):
                    if name == "edit_file" and "small" not in done:
                        continue  # there is nothing to be edited
                    code = code_of(place, gate.call(name, seconds=WAIT, **args))
                    check(code is None or name not in worked, f"{place.what}: {name} worked once, now {code}")
                    if code is None:
                        done.add(args.get("path"))
                        worked.update({name} & place.steady)
                        check_made(place, made)
                answer = gate.call("write_file", path="old", content="more\n", append=True, seconds=WAIT)
                appended += code_of(place, answer) is None
        except lib.Gone:
            check_ended(place, gate.wait_exit(), gate.said(), (1, 2))
        else:
            gate.close_input()
            check(gate.wait_exit() == 0, f"{place.what}: {gate.said()}")
    check((place.workspace / "old").read_text() == OLD + "more\n" * appended, f"{place.what}: {appended} appends")


def works_again(place):
    """Nothing of it is left that a gate with room would trip over."""
    with place.gate() as gate:
        gate.ok("write_file", path="small", content="x")
        check(gate.ok("run_command", command="echo x")["stdout"] == "x\n", place.what)
    done = place.form.run(place.home, "audit", "verify")
    check(done.returncode == 0, f"{place.what}: {done.stdout.decode()} {done.stderr.decode()}")


def try_one(form, limit, value):
    place = Scarce(form, limit, value)
    if not place.starts():
        return False
    for front in (one_call, one_command, mcp, long_lived):
        front(place)
        place.check_clean()
    works_again(place)
    place.check_clean()
    return True


def sweep(limit):
    def case(form):
        problems, started = [], 0
        for value in limit.values():
            try:
                started += try_one(form, limit, value)
            except AssertionError as error:
                problems.append(str(error))
        check(not problems, "\n".join(problems))
        check(started, "the program was never started: the values are too low")

    return f"little of one thing: {limit.name}", case


# --- file systems


def fill(path):
    """Takes all room that is left."""
    filler = os.open(path, os.O_WRONLY | os.O_CREAT)
    for size in (65536, 4096, 1):
        with contextlib.suppress(OSError):
            while os.write(filler, b"x" * size):
                pass
    os.close(filler)


def full_workspace(form):
    """no room in the workspace: a write, an append or an edit is whole or changes nothing"""
    lib.own_mounts()
    place = Place(form, "full")
    with lib.tmpfs(form, place.workspace, "512k"):
        target, filler = place.workspace / "f", place.workspace / "filler"
        target.write_text("a" * 100000)
        os.chown(target, form.uid or lib.PLAIN_UID, -1)
        old = target.read_text()
        with place.gate() as gate:
            fill(filler)
            for name, args in (
                ("write_file", {"path": "f", "content": "b" * 200000}),
                ("write_file", {"path": "f", "content": "b" * 200000, "append": True}),
                ("write_file", {"path": "new/f", "content": "b" * 200000}),
                ("edit_file", {"path": "f", "edits": [{"old_text": old, "new_text": "b" * 200000}]}),
            ):
                error = gate.refused("DISK_FULL", name, **args)
                check(error["retryable"], error)
                check(target.read_text() == old, f"{name} changed the file and failed")
                check(sorted(os.listdir(place.workspace)) == ["f", "filler"], os.listdir(place.workspace))
            check(gate.ok("read_file", path="f", max_bytes=10)["content"] == "a" * 10, "reads go on")
            filler.unlink()
            gate.ok("write_file", path="f", content="more", append=True)
            check(target.read_text() == old + "more", "with room again")


def full_state(form):
    """no room in the state folder: no call is done without its record, and with room calls are done again"""
    lib.own_mounts()
    place = Place(form, "state")
    made = place.put("f", "old")
    with lib.tmpfs(form, place.home, "4m"):
        if form.is_root:  # the state folder has to be the gate's own
            os.chown(place.home, 0, 0)
        with place.gate() as gate:
            gate.ok("write_file", path="f", content="first")
            fill(place.home / "filler")
            refused = 0
            for number in range(200):
                result = gate.call("write_file", path="f", content=str(number))
                done = made.read_text() == str(number)
                check(result["ok"] <= done, f"not done, but answered {result}")
                check(result["ok"] or not done or "was done" in result["error"]["message"], result)
                refused += not result["ok"]
            check(refused > 10, f"{refused} of 200 calls were refused")
            os.unlink(place.home / "filler")
            gate.ok("write_file", path="f", content="again")
            gate.close_input()
            check(gate.wait_exit() == 0, gate.said())
        done = form.run(place.home, "audit", "verify")
        check(done.returncode == 0, done.stderr)


def cases(form):
    sweeps = [sweep(limit) for limit in LIMITS if limit.root or not form.is_root]
    return sweeps + [(case.__doc__, in_a_child(case)) for case in (full_workspace, full_state)]


def main():
    tap = lib.Tap()
    for form in lib.forms():
        for name, case in cases(form):
            with tap.case(f"{form.name}: {name}"):
                case(form)
    tap.done()


if __name__ == "__main__":
    main()
