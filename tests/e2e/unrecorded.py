#!/usr/bin/env python3
"""Calls whose outcome cannot be recorded: one that was done says so and is not to be repeated, later ones are refused
before they do anything, and the logs stay readable. Prints TAP."""

import contextlib
import fcntl
import json
import os
import subprocess

import lib
from boundary import in_a_child
from lib import Gate, check


@contextlib.contextmanager
def files_cannot_grow(gate):
    """Every write of the gate to a file fails. Its cell has limits of its own."""

    def limit(soft):
        # By a process of the gate's user: root in a container may not do it for others.
        subprocess.run(["prlimit", "--pid", str(gate.pid), f"--fsize={soft}:"], check=True, **gate.form.identity())

    limit(1)
    try:
        yield
    finally:
        limit("unlimited")


def a_command_that_was_done(form):
    """the log cannot grow while a command runs: the answer says that it ran, the next call does nothing"""
    workspace = form.folder("command/ws")
    with Gate(form, workspace=workspace, state=form.folder("command/home", 0o700)) as gate:
        ran = gate.send("run_command", command="touch begun; while ! test -e go; do sleep 0.01; done; echo x >> out")
        lib.wait_until((workspace / "begun").exists, "the command runs")
        with files_cannot_grow(gate):
            form.write(workspace / "go", "")
            error = lib.expect_error(gate.wait(ran), "INTERNAL")
            check((workspace / "out").read_text() == "x\n", "the command did not run")
            check("was done" in error["message"] and "before repeating" in error["message"], error)
            check(error["details"]["reason"] == "outcome_not_recorded", error)
            check(error["retryable"] is False, error)
            error = gate.refused("DISK_FULL", "write_file", path="late", content="x")
            check(error["retryable"] is True, error)
            check(not (workspace / "late").exists(), "a call without a record was done")
        gate.ok("write_file", path="late", content="x")
    outcomes = [r for r in lib.audit_records(gate.state) if r["kind"] == "call.outcome"]
    check([r["ok"] for r in outcomes] == [True, False, True], f"the log has other outcomes: {outcomes}")


def fill(path):
    filler = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(filler, b"x" * 4096):
            pass
    os.close(filler)


def read_log(path):
    """Its lines. Each must be whole."""
    data = path.read_bytes()
    check(data.endswith(b"\n"), f"half a line at the end: {data[-80:]!r}")
    return [json.loads(line) for line in data.splitlines()]


def a_full_run(form):
    """@state is full: at most one call is done without its line and says so; later ones wait for room"""
    lib.own_mounts()
    project, state = form.folder("run/project"), form.folder("run/state")
    made = project / "f"
    if lib.AM_ROOT:  # the cell acts as the owner of the project
        os.chown(project, form.uid or lib.PLAIN_UID, form.uid or lib.PLAIN_UID)
    with lib.tmpfs(form, state, "64k"), Gate(form, "--dialect", "toolhost", "--project", project, "--state", state,
                                             state=form.folder("run/home", 0o700)) as gate:
        log = state / "logs/execution.jsonl"
        gate.ok("fs.write", path="@project/f", content="first")
        fill(state / "filler")
        unrecorded, refused = [], 0
        for number in range(60):
            result = gate.call("fs.write", path="@project/f", content=str(number))
            done = made.read_text() == str(number)
            check(result["ok"] <= done, f"not done, but answered {result}")
            check(not (result["ok"] and refused), "a call ran after one was refused for want of room")
            if not result["ok"]:
                unrecorded += [result["error"]["message"]] * done
                refused += not done
        check(refused > 10, f"only {refused} of 60 calls were refused")
        check(len(unrecorded) == 1 and "was done" in unrecorded[0], f"done without a record: {unrecorded}")
        read_log(log)
        os.unlink(state / "filler")
        gate.ok("fs.write", path="@project/f", content="again")
        lines = read_log(log)
        written = [line for line in lines if line["output"]["ok"]]
        check(len(written) == 60 - refused + 2, f"{len(written)} lines of {60 - refused + 2} calls that were done")


def half_a_line(form):
    """a line that another gate left half written does not spoil the next one"""
    project, state = form.folder("torn/project"), form.folder("torn/state")
    options = ("--dialect", "toolhost", "--project", project, "--state", state)
    with Gate(form, *options, state=form.folder("torn/home", 0o700)) as gate:
        gate.ok("fs.write", path="@project/f", content="x")
        with form.acting(), open(state / "logs/execution.jsonl", "ab") as log:
            log.write(b'{"ts":"2026')
        gate.ok("fs.write", path="@project/f", content="y")
    lines = (state / "logs/execution.jsonl").read_bytes().splitlines()
    check(lines[1] == b'{"ts":"2026' and len(lines) == 3, lines)
    check(json.loads(lines[2])["toolName"] == "fs.write", lines[2])


def refused_when_there_is_room_again(form):
    """a refused call has its line, also when the calls before it found no room"""
    lib.own_mounts()
    project, state = form.folder("room/project"), form.folder("room/state")
    if lib.AM_ROOT:
        os.chown(project, form.uid or lib.PLAIN_UID, form.uid or lib.PLAIN_UID)
    with lib.tmpfs(form, state, "64k"), Gate(form, "--dialect", "toolhost", "--project", project, "--state", state,
                                             state=form.folder("room/home", 0o700)) as gate:
        log = state / "logs/execution.jsonl"
        fill(state / "filler")
        while gate.call("fs.write", path="@project/f", content="x")["ok"]:
            pass
        os.unlink(state / "filler")
        lib.expect_error(gate.call("no_such_tool"), "E_SCHEMA_VALIDATION")
        check(read_log(log)[-1]["toolName"] == "no_such_tool", f"its line is missing: {read_log(log)[-1]}")


def locked_log(form):
    """while another process has the log locked a call that was done says that it is not recorded, and no line is lost"""
    project, state = form.folder("locked/project"), form.folder("locked/state")
    options = ("--dialect", "toolhost", "--project", project, "--state", state)
    with Gate(form, *options, state=form.folder("locked/home", 0o700)) as gate:
        log = state / "logs/execution.jsonl"
        gate.ok("fs.list", path="@project")
        with form.acting(), open(log, "rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            error = lib.expect_error(gate.call("fs.write", path="@project/f", content="x"), "E_INTERNAL")
            check("was done" in error["message"] and "locked" in error["message"], error)
            check(len(read_log(log)) == 1, "a line was written beside another writer")
            error = lib.expect_error(gate.call("fs.write", path="@project/g", content="x"), "E_INTERNAL")
            check("locked" in error["message"] and not (project / "g").exists(), error)
        gate.ok("fs.list", path="@project")
    paths = [line["input"]["path"] for line in read_log(log)]
    check(paths.count("@project/f") == 1 and len(paths) >= 3, paths)


def waits_for_lock(form):
    """a gate that waits for the lock of its log hears its callers meanwhile, and then has one line a call, as answered"""
    project, state = form.folder("waits/project"), form.folder("waits/state")
    options = ("--approver", "--dialect", "toolhost", "--project", project, "--state", state)
    with Gate(form, *options, state=form.folder("waits/home", 0o700)) as gate:
        log = state / "logs/execution.jsonl"
        gate.ok("fs.list", path="@project")
        heard, answered = False, ["1"]
        for _ in range(10):  # on a busy machine the gate may have given up before it is asked something
            with form.acting(), open(log, "rb") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                before = outcomes(gate)
                calls = [gate.send("fs.list", path="@project") for _ in range(5)]
                lib.wait_until(lambda before=before: outcomes(gate) > before, "a call that was done")
                gate.send_raw(b'{"approve":"none"}\n')
                gate.pump(until=lambda: gate.events or gate.answers)
                heard = heard or not gate.answers
            gate.pump(until=lambda calls=calls: len(gate.answers) == len(calls) and gate.events)
            done = [a["id"] for a in gate.answers if a["result"]["ok"]]
            answered += done
            ran = [a["id"] for a in gate.answers]
            gate.answers.clear()
            gate.events.clear()
            gate.ok("fs.list", path="@project")  # writes what had to wait
            if heard and len(done) == len(ran):
                break
        check(heard, "it answered nobody while it waited")
    lines = [line["toolCallId"] for line in read_log(log) if line["output"]["ok"]]
    check(len(lines) == len(set(lines)) and set(answered) <= set(lines), f"lines {lines}, answered {answered}")
    check([line for line in lines if line in done] == done, f"lines {lines}, answered {done}")


def outcomes(gate):
    return sum(r["kind"] == "call.outcome" for r in lib.audit_records(gate.state))


def moved_log(form):
    """when the log is renamed, removed, or its folder is, the next line goes to the file that has the name, and none is lost"""
    project, state = form.folder("moved/project"), form.folder("moved/state")
    options = ("--dialect", "toolhost", "--project", project, "--state", state)
    logs = state / "logs"
    log = logs / "execution.jsonl"
    with Gate(form, *options, state=form.folder("moved/home", 0o700)) as gate, Gate(form, *options, state=form.folder("moved/home2", 0o700)) as other:
        def write(name, by=gate):
            by.ok("fs.write", path=f"@project/{name}", content="x")

        def paths(path):
            return [line["input"]["path"].rpartition("/")[2] for line in read_log(path)]

        write("a")
        with form.acting():
            log.rename(logs / "old.jsonl")
        write("b")
        write("c", other)
        check((paths(logs / "old.jsonl"), paths(log)) == (["a"], ["b", "c"]), f"renamed: {paths(log)}")
        check(log.stat().st_uid == project.stat().st_uid, "it belongs to somebody else")
        with form.acting():
            log.unlink()
        write("d", other)
        write("e")
        check(paths(log) == ["d", "e"], f"removed: {paths(log)}")
        with form.acting():
            logs.rename(state / "logs-old")
        write("f")
        check((paths(state / "logs-old/execution.jsonl"), paths(log)) == (["d", "e"], ["f"]), "its folder was renamed")
        for number, change in enumerate((
            lambda: log.symlink_to(state / "elsewhere"),
            lambda: os.link(logs / "kept", log),
            lambda: os.mkfifo(log),
            log.mkdir,
        )):
            with form.acting():
                log.rename(logs / "kept")
                change()
            done = gate.call("fs.write", path=f"@project/n{number}", content="x")
            error = lib.expect_error(done, "E_INTERNAL")
            check("execution.jsonl" in error["message"], error)
            check(not (state / "elsewhere").exists(), "written through a link")
            with form.acting():
                (log.rmdir if log.is_dir() and not log.is_symlink() else log.unlink)()
                (logs / "kept").rename(log)
            gate.ok("fs.list", path="@project")
        check([p for p in paths(log) if p[0] == "n"] == ["n0", "n1", "n2", "n3"], f"lines of what was done: {paths(log)}")


def several_gates_on_a_full_disk(form):
    """four gates write to one log while its disk fills up and empties: whole lines, one for each call that was done"""
    lib.own_mounts()
    project, state = form.folder("many/project"), form.folder("many/state")
    if lib.AM_ROOT:
        os.chown(project, form.uid or lib.PLAIN_UID, form.uid or lib.PLAIN_UID)
    options = ("--dialect", "toolhost", "--project", project, "--state", state)
    with lib.tmpfs(form, state, "1m"), contextlib.ExitStack() as stack:
        gates = [stack.enter_context(Gate(form, *options, state=form.folder(f"many/home{i}", 0o700))) for i in range(4)]
        recorded = set()
        for turn in range(60):
            # It is full for every second turn, and becomes so while calls run.
            sent = [(g, g.send(*call, call_id=f"{turn}-{n}-{i}", **args)) for i, g in enumerate(gates)
                    for n, (call, args) in enumerate([(("fs.write",), {"path": f"@project/f{i}", "content": "x"}),
                                                      (("no_such_tool",), {}), (("fs.list",), {"path": "@project"})] * 2)]
            if turn % 2:
                (state / "filler").unlink(missing_ok=True)
            else:
                fill(state / "filler")
            for gate, call in sent:
                result = gate.wait(call)
                if result["ok"] or "execution.jsonl" not in result["error"]["message"]:
                    recorded.add(call)
        (state / "filler").unlink(missing_ok=True)
        for i, gate in enumerate(gates):
            last = gate.wait(gate.send("fs.list", call_id=f"last-{i}", path="@project"))
            check(last["ok"], f"no call after there was room again: {last}")
        lines = [line["toolCallId"] for line in read_log(state / "logs/execution.jsonl")]
    missing = recorded - set(lines)
    check(not missing, f"{len(missing)} of {len(recorded)} calls have no line")
    check(len(lines) == len(set(lines)), "a call has two lines")


CASES = [a_command_that_was_done, in_a_child(a_full_run), half_a_line, in_a_child(refused_when_there_is_room_again),
         locked_log, waits_for_lock, moved_log, in_a_child(several_gates_on_a_full_disk)]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
