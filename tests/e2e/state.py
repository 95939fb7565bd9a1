#!/usr/bin/env python3
"""The state that cannot be used: damaged, newer, locked, read-only, full, from the future. Nothing runs then, and the
message says what to do. Prints TAP."""

import contextlib
import json
import os
import shutil
import sqlite3
import time

import lib
from boundary import in_a_child
from lib import Gate, check

LIMITED = {"policy": {"rateLimits": {"*": {"maxCalls": 1000, "windowMs": 60000}}}}


class Place:
    """A workspace, a home, and a configuration under which every call is counted."""

    def __init__(self, form, name, config=None):
        self.form = form
        self.workspace = form.folder(f"{name}/ws")
        self.home = form.folder(f"{name}/home", 0o700)
        self.config = form.write(form.base / name / "config.json", json.dumps(config or LIMITED))
        self.made = self.workspace / "made"

    @property
    def database(self):
        return self.home / "sandgate" / "state.db"

    def gate(self, **more):
        return Gate(self.form, "--config", self.config, workspace=self.workspace, state=self.home, **more)

    def call(self, tool="write_file", arguments='{"path":"made","content":"x"}'):
        return self.form.run(self.home, "call", tool, arguments, "--workspace", self.workspace,
                             "--config", self.config)

    def start(self):
        """Leaves a state that works."""
        check(self.call("stat", '{"path":"."}').returncode == 0, "a first call")
        return self

    def change(self, sql):
        with self.form.acting():
            connection = sqlite3.connect(self.database)
            with connection:
                connection.execute(sql)
            connection.close()

    def refused(self, *words):
        """Neither at the start nor by a call does anything run."""
        done = self.call()
        text = done.stderr.decode() + done.stdout.decode()
        check(done.returncode != 0, f"it ran: {text}")
        check(not self.made.exists(), "the file was written")
        for word in words:
            check(word in text, f"`{word}` is not in: {text}")
        return text


def damaged(form):
    """whatever bytes are damaged, it is refused and left as it is"""
    whole = Place(form, "damaged").start()
    good = whole.database.read_bytes()
    for wal in whole.database.parent.glob("state.db-*"):
        wal.unlink()
    for name, data in (("noise", b"noise" * 2000), ("cut", good[:5000]), ("first page", b"\0" * 100 + good[100:]),
                       ("text", b"not a database at all\n")):
        whole.database.write_bytes(data)
        text = whole.refused("state.db", "to begin anew")
        check(whole.database.read_bytes() == data, f"{name}: it was changed ({text})")
    whole.database.write_bytes(good)
    check(whole.call().returncode == 0, "restored, it works")


def newer(form):
    """a later version's tables are not touched"""
    place = Place(form, "newer").start()
    place.change("PRAGMA user_version = 999")
    place.refused("newer version")
    place.change("PRAGMA user_version = 1")
    check(place.call().returncode == 0, "it works again")


def not_ours(form):
    """what stands in its place and is something else"""
    place = Place(form, "not-ours").start()
    aside = place.home / "aside"
    shutil.move(place.database, aside)
    for wal in place.database.parent.glob("state.db-*"):
        wal.unlink()
    for make in (lambda: place.database.symlink_to(aside), place.database.mkdir, lambda: os.mkfifo(place.database),
                 lambda: os.link(aside, place.database)):
        make()
        place.refused("state.db")
        place.database.rmdir() if place.database.is_dir() and not place.database.is_symlink() else place.database.unlink()
    shutil.move(aside, place.database)
    place.database.chmod(0o644)
    place.refused("chmod 600")


@contextlib.contextmanager
def locked(place):
    with place.form.acting():
        other = sqlite3.connect(place.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


def held_by_another(form):
    """a lock that is soon given back costs time, one that is not refuses; the next call works"""
    place = Place(form, "locked").start()
    with place.gate() as gate:
        gate.ok("stat", path=".")
        with locked(place) as other:
            waiting = gate.send("write_file", path="made", content="x")
            time.sleep(0.3)
            check(not place.made.exists(), "it ran without being counted")
            other.execute("COMMIT")
            check(gate.wait(waiting)["ok"], "it goes on")
        place.made.unlink()
        with locked(place):
            error = gate.refused("INTERNAL", "write_file", path="made", content="x")
            check("locked by another process" in error["message"], error)
            check(error["details"]["reason"] == "state_locked", error)
        check(not place.made.exists(), "it ran without being counted")
        lib.wait_until(lambda: gate.call("write_file", path="made", content="x")["ok"], "it works again")


def read_only(form):
    """a state folder that cannot be written"""
    lib.own_mounts()
    home = form.folder("read-only-home")
    place = Place(form, "read-only")
    place.home = home
    with lib.tmpfs(form, home, "4m"):
        if lib.AM_ROOT:
            os.chown(home, form.uid, form.uid)
        place.start()
        lib.make_read_only(home)
        place.refused("state")


def open_to_others(form):
    """a state folder that others can look into"""
    place = Place(form, "open").start()
    folder = place.home / "sandgate"
    for mode in (0o755, 0o750, 0o701, 0o770):
        folder.chmod(mode)
        place.refused("must be yours alone")
    folder.chmod(0o700)
    check(place.call().returncode == 0, "it works again")


def full(form):
    """a state folder without room: nothing that is counted runs, until there is some again"""
    lib.own_mounts()
    home = form.folder("full-state-home")
    place = Place(form, "full-state")
    place.home = home
    with lib.tmpfs(form, home, "2m"):
        if lib.AM_ROOT:
            os.chown(home, form.uid, form.uid)
        place.start()
        with place.gate() as gate:
            gate.ok("stat", path=".")
            filler = os.open(home / "filler", os.O_WRONLY | os.O_CREAT)
            with contextlib.suppress(OSError):
                while os.write(filler, b"x" * 4096):
                    pass
            os.close(filler)
            refused = 0
            for number in range(300):
                result = gate.call("write_file", path=f"n{number}", content="x")
                if result["ok"]:
                    check(not refused, "a call ran after one was refused for want of room")
                    continue
                lib.expect_error(result, "DISK_FULL")
                refused += 1
                check(not (place.workspace / f"n{number}").exists(), "it was done uncounted")
            check(refused > 50, f"only {refused} of 300 calls were refused")
            os.unlink(home / "filler")
            lib.wait_until(lambda: gate.call("write_file", path="after", content="x")["ok"], "it works again")
        ran = len(list(place.workspace.glob("n*"))) + 1
        with form.acting():
            used = sqlite3.connect(place.database).execute("SELECT sum(n) FROM rate_key").fetchone()[0]
        check(used >= ran, f"{ran} calls ran and {used} were counted")


def clock_that_went_back(form):
    """what was counted at a later time than now"""
    place = Place(form, "clock").start()
    future = int(time.time() * 1000) + 3600 * 1000
    place.change(f"UPDATE clock SET seen_ms = {future}")
    text = place.refused("clock", "sandgate policy reset")
    check("clock_went_back" in text, text)
    done = form.run(place.home, "policy", "reset", "--config", place.config, "--workspace", place.workspace)
    check(done.returncode == 0, done.stderr)
    check(place.call().returncode == 0, "it works again")
    place.made.unlink()
    place.change(f"UPDATE clock SET seen_ms = {int(time.time() * 1000) + 2000}")
    check(place.call().returncode == 0, "two seconds are nothing")


BAD = [
    ({"approval": {"rules": [{"toolName": "x"}]}}, "approval.rules[0].action is required"),
    ({"approval": {"rules": [{"toolName": "x", "action": "maybe"}]}}, "approve, deny, prompt"),
    ({"approval": {"rules": [{"toolName": "x", "action": "deny", "when": 1}]}}, "approval.rules[0].when"),
    ({"approval": {"rules": [{"toolName": "stat", "action": "deny", "condition": {"path": {"benaeth": "a"}}}]}},
     "benaeth"),
    ({"approval": {"rules": [{"toolName": "stat", "action": "deny", "condition": {"path": {"regex": "("}}}]}},
     "approval.rules[0].condition.path"),
    ({"approval": {"rules": [{"toolName": "stat", "action": "deny", "condition": {"paht": "a"}}]}}, "paht"),
    ({"policy": {"budgets": [{"unit": "calls"}]}}, "policy.budgets[0].limit"),
    ({"policy": {"budgets": [{"unit": "smiles", "limit": 1}]}}, "bytesWritten"),
    ({"policy": {"rateLimits": {"stat": {"maxCalls": 0}}}}, "policy.rateLimits.stat.maxCalls"),
    ({"hooks": [{"event": "tool:before", "command": ["/no/such/program"]}]}, "/no/such/program"),
    ({"hooks": [{"event": "before", "command": ["/bin/true"]}]}, "tool:before"),
    ({"approval": {"default": "ask"}}, "approve, prompt, deny"),
    ({"agents": {"other.one": {"capabilities": {"filesystem": {"write": ["src", "a/[b"]}}}}},
     "agents.other.one.capabilities.filesystem.write[1]"),
    ({"agents": {"*": {"capabilities": {"filesystem": {"read": ["{a"]}}}}}, "agents.*.capabilities.filesystem.read[0]"),
]


def bad_configuration(form):
    """is refused at the start, with the field and what is allowed"""
    for number, (config, word) in enumerate(BAD):
        place = Place(form, f"bad{number}", config)
        done = place.call()
        text = done.stderr.decode()
        check(done.returncode == 2, f"{config}: {done}")
        check(word in text, f"`{word}` is not in: {text}")
        check(not place.made.exists(), "it ran")


CASES = [damaged, newer, not_ours, held_by_another, in_a_child(read_only), open_to_others, in_a_child(full),
         clock_that_went_back, bad_configuration]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
