#!/usr/bin/env python3
"""Calls whose outcome cannot be recorded: one that was done says so and is not to be repeated, later ones are refused
before they do anything, and the logs stay readable. Prints TAP."""

import contextlib
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


CASES = [a_command_that_was_done, in_a_child(a_full_run), half_a_line]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
