#!/usr/bin/env python3
"""Where there are no user namespaces, file tools work in the tier `landlock`, and what docs/THREATS.md says of it holds: for
a worker that was taken over, too. Prints TAP."""
# tier: any

import errno
import json
import os
import subprocess
import threading

import broken
import lanes
import lib
from lib import Gate, check, expect_error, wait_until

SECRET = "a secret that lies outside"
EACCES, EPERM, ENOSYS = (f"errno {number}" for number in (errno.EACCES, errno.EPERM, errno.ENOSYS))


class Place:
    def __init__(self, form):
        self.form = form
        self.workspace = form.folder("ws")
        self.secret = form.write(form.base / "secret", SECRET)
        self.open_folder = form.folder("open", 0o777)
        self.state = form.folder("home", 0o700)
        form.write(self.workspace / "good", "good\n")

    def gate(self, lane=lanes.docker_filter, binary=None, **env):
        return Gate(self.form, workspace=self.workspace, state=self.state, lane=lane, binary=binary, env=env)


def file_tools(place):
    """every kind of file tool works, and its answers and records name the tier"""
    with place.gate() as gate:
        calls = [
            ("write_file", {"path": "made/a.txt", "content": "one\ntwo\n"}),
            ("edit_file", {"path": "made/a.txt", "edits": [{"old_text": "two", "new_text": "three"}]}),
            ("read_file", {"path": "made/a.txt"}),
            ("search", {"pattern": "three"}),
            ("list_files", {"path": "."}),
            ("stat", {"path": "made"}),
            ("move", {"from": "made/a.txt", "to": "made/b.txt"}),
            ("delete", {"path": "made", "recursive": True}),
        ]
        for name, args in calls:
            result = gate.ok(name, **args)
            check(result["tier"] == "landlock", f"{name}: {result}")
        gate.ok("write_file", path="owned", content="x")
        made = (place.workspace / "owned").stat()
        folder = place.workspace.stat()
        check((made.st_uid, made.st_gid) == (folder.st_uid, folder.st_gid), "files belong to another than their folder")
        error = gate.refused("PERMISSION_DENIED", "write_file", path=".git/hooks/pre-commit", content="x")
        check("protected" in error["message"], error)
    with place.gate() as gate:  # what was found before is said of a call that is refused at once
        error = gate.refused("INVALID_ARGUMENTS", "read_file")
        check(error["details"]["tier"] == "landlock", error)
    records = "".join(path.read_text() for path in (place.state / "sandgate/audit").glob("*.jsonl"))
    tiers = {one["tier"] for one in map(json.loads, records.splitlines()) if "tier" in one}
    check(tiers == {"landlock"}, f"tiers in the log: {tiers}")


def links_out(place):
    """no link leads out"""
    (place.workspace / "out").symlink_to(place.open_folder)
    (place.workspace / "file").symlink_to(place.secret)
    with place.gate() as gate:
        gate.refused("SYMLINK_OUTSIDE_WORKSPACE", "read_file", path="file")
        gate.refused("SYMLINK_OUTSIDE_WORKSPACE", "write_file", path="out/a", content="x")
    check(not list(place.open_folder.iterdir()), "something was made outside")


def who_it_is(place):
    """no process is root, none has or gains a right, its own user cannot look into it, and all end with the gate"""
    with place.gate() as gate:
        gate.ok("read_file", path="good")
        pids = gate.cell()
        for pid in pids:
            status = lib.status(pid)
            # The last is the one for files: that of the owner of the folder.
            check("0" not in status["Uid"].split()[:3] + status["Gid"].split()[:3], f"{status['Uid']} {status['Gid']}")
            check(int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, f"{status['CapEff']}")
            check(not place.form.is_root or not status["Groups"].strip(), f"groups {status['Groups']}")
            check(os.stat(f"/proc/{pid}/environ").st_uid == 0, f"{pid} is open to its own user")
        status = lib.status(pids[1])
        check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"{status['NoNewPrivs']} {status['Seccomp']}")
        gate.kill()
        wait_until(lambda: not any(map(lib.alive, pids)), "launcher and worker end with the gate")
    with place.gate() as gate:
        gate.ok("read_file", path="good")
        launcher, worker = gate.cell()
        os.kill(launcher, 9)
        wait_until(lambda: not lib.alive(worker), "the worker ends with its launcher")
        result = gate.call("read_file", path="good")
        check(result["ok"] or result["error"]["code"] == "INTERRUPTED", result)
        check(gate.ok("read_file", path="good")["tier"] == "landlock", "the next cell")


def try_outside(place, lane):
    secret, made = place.secret, place.open_folder / "made"
    rows = [
        ("read", "/etc/passwd", EACCES), ("read", "/proc/self/status", EACCES), ("read", "/proc/1/environ", EACCES),
        ("read", secret, EACCES), ("up", secret, EACCES), ("read", place.form.base, EACCES),
        ("create", made, EACCES), ("mkdir", made, EACCES), ("unlink", secret, EACCES), ("rename", made, EACCES),
        # What Landlock does not know: that there is a file, and its size, times and owner.
        ("stat", secret, "returned 0"),
    ]
    with place.gate(lane=lane, binary=lib.BROKEN) as gate:
        for verb, path, expected in rows:
            said = broken.probe(gate, f"file/{verb}{path}")
            check(said in (expected, expected.replace(EACCES, EPERM)), f"{verb} {path}: {lib.short(said)}")
    check(secret.read_text() == SECRET and not list(place.open_folder.iterdir()), "something was changed outside")


def taken_over(place):
    """a worker that was taken over opens, makes, moves and removes nothing outside, and what is said to show is all that does"""
    try_outside(place, lanes.docker_filter)


def old_versions(place):
    """so it is with each older version of Landlock"""
    for abi in (1, 2, 3, 4, 5):
        lane = lanes.old_landlock(abi)
        told = subprocess.run([place.form.binary, "doctor", "--json"], env=lib.environment(place.state), preexec_fn=lane,
                              capture_output=True, check=False, cwd="/", **place.form.identity())
        told = json.loads(told.stdout)
        check(told["tier"] == "landlock" and told["enforces"]["landlock"] == abi, f"ABI {abi}: {told}")
        try_outside(place, lane)
        with place.gate(lane=lane) as gate:
            gate.ok("write_file", path="made.txt", content="one\ntwo\n")
            gate.ok("edit_file", path="made.txt", edits=[{"old_text": "two", "new_text": "three"}])
            gate.ok("delete", path="made.txt")


def calls_refused(place):
    """nor does it make a system call that its filter lacks"""
    with place.gate(binary=lib.BROKEN) as gate:
        names = broken.probe(gate, "calls").split()
    check(len(names) > 30, names)
    gate = place.gate(binary=lib.BROKEN)
    for name in names:
        said = broken.probe(gate, f"call/{name}")
        if isinstance(said, dict):
            check(said["code"] == "INTERRUPTED", f"{name}: {said}")
        else:
            check(said in (EPERM, ENOSYS), f"{name} was let through: {said}")
    gate.end()


def what_needs_mounts(place):
    """overlay sessions and commands say why they cannot be had"""
    made = place.form.run(place.state, "session", "create", "--overlay", "--workspace", place.workspace)
    check(made.returncode == 0, made)
    overlay = Gate(place.form, "--session", made.stdout.decode().strip(), state=place.state, lane=lanes.docker_filter)
    with overlay as gate:
        error = gate.refused("SANDBOX_UNAVAILABLE", "read_file", path="good")
        check("system call filter refuses this (user namespaces)" in error["message"], error)
    with place.gate() as gate:
        error = gate.refused("SANDBOX_UNAVAILABLE", "run_command", command="true")
        check("no command does" in error["message"], error)


def kept_logs(place):
    """the toolhost's logs are written by no link, and stay where they are"""
    state = place.form.folder("state")
    options = ["--dialect", "toolhost", "--project", place.workspace, "--state", state]
    (state / "link").symlink_to("logs")
    with Gate(place.form, *options, state=place.state, lane=lanes.docker_filter) as gate:
        check(gate.call("fs.write", path="@state/a.txt", content="x")["ok"], "a file beside them")
        for path in ("@state/link/other", "@state/logs/other"):
            check(not gate.call("fs.write", path=path, content="x")["ok"], f"{path} was written")
    check(os.listdir(state / "logs") == ["execution.jsonl"], os.listdir(state / "logs"))


def in_a_cell(place):
    """in a command of another gate, where even openat2 is refused, a gate has this tier"""
    # Where no group counts the memory of a command, it has no Landlock either.
    told = json.loads(place.form.run(place.state, "doctor", "--json").stdout)
    if told["tier"] != "full":
        return  # it is started as a command
    watched = told["enforces"]["limits"]["memory"] == "watched"
    inside = place.workspace / "sandgate"
    place.form.write(inside, place.form.binary.read_bytes()).chmod(0o755)
    (place.workspace / "leads-out").symlink_to(place.open_folder)
    for words, wanted in (
        (["read_file", '{"path":"good"}'], '"content":"good\\n"'),
        (["write_file", '{"path":"below/made","content":"x"}'], '"tier":"landlock"'),
        (["write_file", '{"path":"leads-out/made","content":"x"}'], "SYMLINK_OUTSIDE_WORKSPACE"),
        (["run_command", '{"command":"true"}'], "SANDBOX_UNAVAILABLE"),
    ):
        command = ["env", "SANDGATE_APPROVAL_DEFAULT=approve", inside, "call", *words]
        done = place.form.run(place.state, "run", "--workspace", place.workspace, "--", *command)
        check(("SANDBOX_UNAVAILABLE" if watched else wanted) in done.stdout.decode(), f"{words}: {done}")
    check(watched or (place.workspace / "below/made").read_text() == "x", "the file")
    inside.unlink()


def by_names(place):
    """no path leads out while folders and links are exchanged, where each name is opened by itself"""
    for name in ("swap", "real"):
        place.form.folder(f"ws/{name}")
        place.form.write(place.workspace / name / "secret", "inside\n")
    place.form.write(place.open_folder / "secret", SECRET)
    link = place.workspace / "link"
    link.symlink_to(place.open_folder)
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            lib.exchange(place.workspace / "swap", link)

    other = threading.Thread(target=exchange)
    with place.gate(lane=lanes.inside_a_cell) as gate:
        gate.ok("read_file", path="good")
        other.start()
        try:
            answers = [gate.call("read_file", path="swap/secret") for _ in range(300)]
        finally:
            stop.set()
            other.join()
    for answer in answers:
        text = json.dumps(answer)
        check(SECRET not in text, text)
    check(any(answer["ok"] for answer in answers) and not all(answer["ok"] for answer in answers), "nothing was exchanged")
    (place.open_folder / "secret").unlink()


def never_lower(place):
    """neither a workspace's file nor what a session lacks later makes a tier weaker than the operator demands"""
    place.form.write(place.workspace / "sandgate.json", json.dumps({"sandbox": {"require": "landlock"}}))
    config = place.form.write(place.state / "full.json", json.dumps({"sandbox": {"require": "full"}}))
    gate = Gate(place.form, "--config", config, workspace=place.workspace, state=place.state, lane=lanes.docker_filter)
    check(gate.process.wait(lib.SECONDS) == 2 and "sandbox.require is full" in gate.said(), gate.said())
    gate.end()
    (place.workspace / "sandgate.json").unlink()
    # Without that setting, where not even Landlock can be had, nothing runs.
    with place.gate(lane=lanes.no_landlock) as gate:
        expect_error(gate.call("read_file", path="good"), "SANDBOX_UNAVAILABLE")


def group_of_root(place):
    """a user whose group is root's, as containers start one by a number, has a sandbox like any other"""
    if place.form.is_root or not lib.AM_ROOT:
        return
    for lane, tiers in ((None, ("full", "landlock")), (lanes.docker_filter, ("landlock",))):
        done = subprocess.run([place.form.binary, "call", "read_file", '{"path":"good"}'], cwd=place.workspace, check=False,
                              env=lib.environment(place.state), preexec_fn=lane, capture_output=True,
                              user=place.form.uid, group=0, extra_groups=[])
        answer = json.loads(done.stdout)
        check(answer["ok"] and answer["result"]["tier"] in tiers, answer)


def once_full(place):
    """a gate that had the full sandbox takes no weaker one when namespaces are taken away"""
    if json.loads(place.form.run(place.state, "doctor", "--json").stdout)["tier"] != "full":
        return
    with place.gate(lane=lanes.enter_user_namespace) as gate:
        if gate.ok("read_file", path="good")["tier"] != "full":  # as root of such a namespace has it
            return
        launcher = gate.launcher()
        lanes.take_namespaces(gate.pid)
        os.kill(launcher, 9)
        answers = []

        def refused():
            answers.append(gate.call("read_file", path="good"))
            return answers[-1].get("error", {}).get("code") == "SANDBOX_UNAVAILABLE"

        wait_until(refused, "the end of the cell")
        check(not any(answer["ok"] and answer["result"]["tier"] != "full" for answer in answers), answers)
        error = answers[-1]["error"]
        check("user namespaces are switched off" in error["message"] and error["details"]["tier"] == "none", error)


CASES = [file_tools, links_out, who_it_is, taken_over, old_versions, calls_refused, what_needs_mounts, kept_logs, in_a_cell, by_names,
         never_lower, once_full, group_of_root]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES], Place)
