#!/usr/bin/env python3
"""A command that closes a folder of the session to its owner: the folder is opened again before what the command made is
looked for. Where that cannot be done, the user is told on standard error what to do.
"""

import json
import os
import stat

import lib
import ran
from lib import check
from made import Project, whats
from repository import GRANTED, Repository

MODES = ("111", "300", "000", "444", "600", "077", "1000")


def evil(place, mode, folder="."):
    return (f"cd {folder}; echo x > .envrc; git init -q s; git -C s config core.fsmonitor {place.program}; "
            f"chmod {mode} .")


def check_open(place, folder, mode):
    now = stat.S_IMODE(folder.stat().st_mode)
    check(now == int(mode, 8) | 0o700, f"{mode} became {now:o}")
    left = [name for name in (".envrc", "s/.git") if (folder / name).exists()]
    check(not left, f"{mode}: still there: {left}")
    place.git("status", check_status=False, cwd=folder / "s")
    check(not place.bait.exists(), "git ran what a command chose")


def any_mode(form):
    """whatever mode it is given, what the command made is found, and the folder is told of"""
    place = Project(form, "modes", repository=False)
    with place.gate() as gate:
        for mode in MODES:
            told = whats(gate.call("run_command", command=evil(place, mode))["result"])
            check({"opened:.", "quarantined:.envrc", "quarantined:s/.git"} == set(told), f"{mode}: {told}")
            check_open(place, place.workspace, mode)
            (place.workspace / "s").rmdir()
            place.workspace.chmod(0o755)
        told = whats(gate.call("run_command", command="true")["result"])
        check(told == [], f"told again: {told}")


def one_shots(form):
    """`call` and `run`, where nothing was asked of the folder before"""
    for kind in ("call", "run"):
        place = Project(form, kind, repository=False)
        line = evil(place, "000")
        if kind == "run":
            done = place.run("--", "sh", "-c", line)
            check(b"closed by the command, and opened again" in done.stderr, f"{done.stderr}")
        else:
            done = form.run(place.home, "call", "--workspace", place.workspace, "run_command", json.dumps({"command": line}))
            check(b'"opened:."' in done.stdout, f"{done.stdout}")
        check(done.returncode == 0, f"{kind}: {done.returncode} {done.stderr}")
        check_open(place, place.workspace, "000")


def second_folder(form):
    """each folder of a session that commands can write to"""
    place = Project(form, "second", repository=False)
    other = form.folder("second-other")
    config = form.write(form.base / "second.json", json.dumps(
        {"tools": {"bash": {"allowedDirectories": [str(place.workspace), str(other)]}}}))
    config.chmod(0o600)
    done = form.run(place.home, "call", "--dialect", "system", "--config", config, "--workspace", place.workspace, "bash",
                    json.dumps({"command": "bash", "args": ["-c", evil(place, "000", other)]}))
    check_open(place, other, "000")
    check(done.returncode == 0, f"{done.stdout} {done.stderr}")


def with_the_grant(form):
    """what the command wrote to git directories is taken over all the same"""
    place = Repository(form, "grant", GRANTED)
    with place.gate() as gate:
        line = "echo 2 > two; git add two; git commit -qm more; echo x > .envrc; chmod 000 ."
        value = gate.call("run_command", command=line, git=True)["result"]
        check(whats(value) == ["quarantined:.envrc", "opened:."], f"{value}")
    check(place.git("log", "-1", "--format=%s").strip() == "more", "the commit is lost")


def cannot_be_opened(form):
    """a folder that belongs to somebody else by then: told on standard error, and no command starts until it is open"""
    if not lib.AM_ROOT:
        lib.note("only root gives folders away")
        return
    place = Project(form, "foreign", repository=False)
    with place.gate() as gate:
        call = gate.send("run_command", command="echo x > .envrc; touch up; until [ -e go ]; do sleep 0.05; done")
        lib.wait_until((place.workspace / "up").exists, "the command is under way")
        os.chown(place.workspace, 12345, 12345)
        place.workspace.chmod(0o711)
        (place.workspace / "go").touch()
        told = whats(gate.wait(call)["result"])
        check(told == ["scan:failed"], f"{told}")
        check("chmod u+rx" in gate.said(), gate.said())
        gate.refused("PERMISSION_DENIED", "run_command", command="true")
        os.chown(place.workspace, form.uid, form.uid)
        place.workspace.chmod(0o755)
        told = whats(gate.call("run_command", command="true")["result"])
        check("quarantined:.envrc" in told, f"{told}")


if __name__ == "__main__":
    ran.main(any_mode, one_shots, second_folder, with_the_grant, cannot_be_opened)
