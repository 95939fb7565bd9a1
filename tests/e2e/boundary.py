#!/usr/bin/env python3
"""What lies on Sandgate's own side of the boundary stays there: its processes, its files, its configuration."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import lib
from lib import Gate, check

OWNER = 1000


def refused(done, *words):
    said = done.stderr.decode()
    check(done.returncode == 2, f"status {done.returncode}: {done.stdout!r} {said}")
    for word in words:
        check(word in said, f"{word} is not in: {said}")


# --- processes


def never_open_to_their_user(form):
    """Root's helpers hold what their later user must not have; /proc tells who may look into a process."""
    open_ones = set()
    seen = 0
    for number in range(40):
        folder = form.folder(f"open/{number}/project")
        state = form.folder(f"open/{number}/state")
        os.chown(folder, OWNER, OWNER)
        with Gate(form, "--dialect", "toolhost", "--project", folder, "--state", state) as gate:
            gate.send("fs.list", path="@project")
            end = time.monotonic() + 0.02
            while time.monotonic() < end:
                for pid in lib.children(gate.pid):
                    with contextlib.suppress(OSError, KeyError):
                        uid = int(lib.status(pid)["Uid"].split()[0])
                        seen += uid == OWNER
                        # Dumpable: then such files belong to who runs the process.
                        if uid == OWNER and os.stat(f"/proc/{pid}/environ").st_uid == OWNER:
                            open_ones.add(lib.status(pid).get("Name"))
    check(seen > 40, f"seen only {seen} times")
    check(not open_ones, f"its user could look into {open_ones}")


def mounts_of_its_own(form):
    """What is mounted on one side does not show on the other."""
    folder = form.folder("propagation")
    with Gate(form, workspace=folder) as gate:
        gate.ok("list_files")
        for line in pathlib.Path(f"/proc/{gate.launcher()}/mountinfo").read_text(encoding="utf-8").splitlines():
            fields = line.split(" - ")[0].split()[6:]
            check(not any(f.startswith(("shared:", "master:")) for f in fields), line)


def with_shared_mounts(form, case):
    """The case in a mount namespace where everything is shared, as on most machines."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(Exception):
            lib.own_mounts()
            lib.kernel(lib.libc.mount(None, b"/", None, lib.MS_REC | lib.MS_SHARED, None), "sharing the mounts")
            try:
                case(form)
                status = 0
            except AssertionError as error:
                lib.note(error)
        os._exit(status)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "in a namespace with shared mounts")


def closed_descriptors(form):
    """A caller that closed standard input, output or errors does not make the log one of them."""
    folder, home = form.folder("closed"), form.folder("closed-home", 0o700)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f'exec "$0" call time.now "{{}}" --workspace "$1" {closed}', form.binary, folder],
                              capture_output=True, timeout=lib.SECONDS, check=False, cwd="/",
                              env=lib.environment(home), **form.identity())
        lost = ">&-" in closed.split()
        check(done.returncode == (1 if lost else 0), f"{closed}: status {done.returncode}, {done.stderr}")
        if closed == ">&-":
            check(b"standard output cannot be written" in done.stderr, f"{closed}: {done.stderr}")
    for file in (home / "sandgate" / "audit").glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            json.loads(line)


# --- the run's log


def log_within_the_project(form):
    """@state lies in @project, and the log has two names."""
    project = form.folder("nested/project")
    state = form.folder("nested/project/runs/7")
    with Gate(form, "--dialect", "toolhost", "--project", project, "--state", state) as gate:
        gate.ok("fs.write", path="@project/runs/7/plain", content="x")
        gate.ok("fs.write", path="@state/plain", content="y")
        for path in ("@project/runs/7/logs/execution.jsonl", "@project/runs/7/logs/new", "@state/logs/execution.jsonl"):
            answer = gate.call("fs.write", path=path, content="forged")
            check(not answer["ok"] and answer["error"]["code"] == "E_SANDBOX_VIOLATION", f"{path}: {answer}")
    lines = (state / "logs" / "execution.jsonl").read_text(encoding="utf-8").splitlines()
    check([json.loads(line)["toolName"] for line in lines] == ["fs.write"] * 5, f"{lines}")
    check(os.listdir(state / "logs") == ["execution.jsonl"], f"{os.listdir(state / 'logs')}")


def log_behind_a_link(form):
    project, state, other = form.folder("links/project"), form.folder("links/state"), form.folder("links/other")
    home = form.folder("links/home", 0o700)
    form.link(state / "logs", other)
    arguments = ("call", "fs.list", '{"path":"@project"}', "--dialect", "toolhost", "--project", project)
    refused(form.run(home, *arguments, "--state", state), "logs", "link")
    check(os.listdir(other) == [], "something was written behind the link")
    form.link(form.folder("links/runs") / "7", other)
    refused(form.run(home, *arguments, "--state", form.base / "links/runs", "--run", "7"), "links/runs/7")
    check(os.listdir(other) == [], "something was written behind the link of the run")


def log_that_was_cut(form):
    """A disk that was full left half a line: the next one stands on its own."""
    project, state = form.folder("cut/project"), form.folder("cut/state")
    logs = form.folder("cut/state/logs")
    form.write(logs / "execution.jsonl", '{"ts":"2020-01-01T00:00:00Z","kind":"tool')
    with Gate(form, "--dialect", "toolhost", "--project", project, "--state", state) as gate:
        gate.ok("fs.list", path="@project")
        gate.ok("fs.list", path="@state")
    lines = (logs / "execution.jsonl").read_text(encoding="utf-8").splitlines()
    check(len(lines) == 3 and all(json.loads(line)["toolName"] == "fs.list" for line in lines[1:]), f"{lines}")


def log_on_a_full_disk(form):
    lib.own_mounts()
    project, state = form.folder("full/project"), form.folder("full/state")
    with lib.tmpfs(form, state, "128k") as uid:
        if lib.AM_ROOT:
            os.chown(project, uid, uid)
        logs = state / "logs"
        with Gate(form, "--dialect", "toolhost", "--project", project, "--state", state) as gate:
            gate.ok("fs.list", path="@project")
            filler = state / "filler"
            filler.write_bytes(b"x" * (104 << 10))
            failed = 0
            for _ in range(400):
                result = gate.call("fs.list", path="@project/" + "n" * 200)
                failed += "execution.jsonl" in result["error"]["message"]
            check(failed > 100, f"only {failed} of 400 calls were refused for want of room")
            filler.unlink()
            check(gate.ok("fs.list", path="@project") is not None, "no call after there was room again")
        lines = logs.joinpath("execution.jsonl").read_text(encoding="utf-8").splitlines()
        check(json.loads(lines[-1])["input"]["path"] == "@project", f"{lines[-1]}")


def in_a_child(case):
    """For cases that change what this process is."""

    def run(form):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                case(form)
                status = 0
            except BaseException as error:  # whatever it is, the child must not go on as the test
                lib.note(error)
            os._exit(status)
        check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "see above")

    run.__name__, run.__doc__ = case.__name__, case.__doc__
    return run


def removed_workspace(form):
    """A workspace that was removed while the gate runs: every tool says so."""
    workspace = form.folder("removed/ws")
    form.write(workspace / "f", "x")
    calls = [("read_file", {"path": "f"}), ("write_file", {"path": "f", "content": "x"}), ("list_files", {}),
             ("write_file", {"path": "f", "content": "x", "append": True}), ("search", {"pattern": "x"}),
             ("make_directory", {"path": "a/b"}), ("delete", {"path": "f"}), ("move", {"from": "f", "to": "g"}),
             ("run_command", {"command": "true"})]
    with Gate(form, workspace=workspace, state=form.folder("removed/home", 0o700)) as gate:
        gate.ok("read_file", path="f")
        shutil.rmtree(workspace)
        for name, arguments in calls:
            error = gate.refused("NOT_FOUND", name, **arguments)
            check("was removed" in error["message"], f"{name}: {error}")
            check(error["details"]["reason"] == "folder_removed", f"{name}: {error}")


# --- its own files


def own_files_in_the_workspace(form):
    """An agent that can write the state or the configuration is its own master."""
    home = form.folder("inside/home", 0o700)
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        for value in (home, home / "not" / "there" / "yet"):
            done = form.run(home, "call", "time.now", "{}", "--workspace", home,
                            env={"XDG_STATE_HOME": str(form.base / "else"), variable: str(value)})
            refused(done, str(value), "further down")
    config = form.write(home / "mine.json", "{}")
    done = form.run(form.folder("inside/other", 0o700), "call", "time.now", "{}", "--workspace", home, "--config", config)
    refused(done, "mine.json")
    link = form.link(form.base / "inside/link", home)
    refused(form.run(home, "call", "time.now", "{}", "--workspace", form.folder("inside/home/ws/..x").parent.parent,
                     env={"XDG_STATE_HOME": str(link)}), "further down")
    done = form.run(home, "call", "time.now", "{}", "--workspace", form.base / "inside/home/ws")
    check(done.returncode == 0, f"a folder further down: {done}")


def who_may_write_the_configuration(form):
    home, folder = form.folder("config/home", 0o700), form.folder("config/ws")
    config = form.write(form.base / "config" / "c.json", "{}")

    def run():
        return form.run(home, "call", "time.now", "{}", "--workspace", folder, "--config", config)

    check(run().returncode == 0, "a right one is taken")
    for mode in (0o666, 0o646, 0o664):
        config.chmod(mode)
        refused(run(), "c.json", "chmod")
    config.chmod(0o644)
    if lib.AM_ROOT:
        os.chown(config, OWNER, OWNER)
        refused(run(), "c.json", "belong")
        os.chown(config, 0, 0)
        check(run().returncode == 0, "root's is taken by everyone")


def tightened_from_the_first_call_on(form):
    """A call that comes while the workspace's own settings are being read is judged by them, whenever it comes."""
    folder = form.folder("tightened")
    form.write(folder / "sandgate.json", '{"policy":{"enabled":{"write_file":false}}}')
    rng = random.Random(1)
    for _ in range(400):
        with Gate(form, workspace=folder) as gate:
            time.sleep(rng.random() * 0.01)
            gate.refused("POLICY_DENIED", "write_file", path="made", content="x")
    check(not (folder / "made").exists(), "it was written")


def settings_that_cannot_be_used(form):
    """A workspace that cannot say what it forbids: nothing runs in it, not even what only reads."""
    folder = form.folder("unusable")
    settings = folder / "sandgate.json"
    form.write(folder / "f", "x")

    def denied(what):
        with Gate(form, workspace=folder) as gate:
            for tool, arguments in (("write_file", {"path": "made", "content": "x"}), ("read_file", {"path": "f"})):
                error = gate.refused("POLICY_DENIED", tool, **arguments)
                check(error["details"]["reason"] == "workspace_settings", f"{what}: {error}")
        check(not (folder / "made").exists(), f"{what}: it was written")

    for what, text in (("cut off", '{"policy":{"enabled":{"write_file":fal'), ("no object", "[]"),
                       ("too large", " " * (2 << 20) + "{}"), ("of another type", '{"policy":1}')):
        form.write(settings, text)
        denied(what)
        settings.unlink()
    form.link(settings, "nowhere")
    denied("a link that leads nowhere")
    settings.unlink()
    form.folder("unusable/sandgate.json")
    denied("a folder")
    settings.rmdir()
    with Gate(form, workspace=folder) as gate:
        gate.ok("read_file", path="f")


CASES = [
    tightened_from_the_first_call_on,
    settings_that_cannot_be_used,
    closed_descriptors,
    log_within_the_project,
    log_behind_a_link,
    log_that_was_cut,
    in_a_child(log_on_a_full_disk),
    removed_workspace,
    own_files_in_the_workspace,
    who_may_write_the_configuration,
]


def main():
    tap = lib.Tap()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for form in lib.forms():
        cases = list(CASES)
        if form.is_root:
            cases.insert(0, never_open_to_their_user)
        for case in cases:
            with tap.case(f"{form.name}: {case.__name__.replace('_', ' ')}"):
                case(form)
        if lib.AM_ROOT:  # only root sees the mounts of others
            with tap.case(f"{form.name}: mounts of its own"):
                with_shared_mounts(form, mounts_of_its_own)
    tap.done()


if __name__ == "__main__":
    main()
