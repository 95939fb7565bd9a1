#!/usr/bin/python3
"""Who removes or replaces state.db cannot cut the audit log unnoticed: the next gate says so in the log, and verifying
reports it from then on. What gates themselves do, killed ones too, is never reported."""
# timeout: 300

import json
import os
import shutil
import sqlite3

import lib
from lib import Gate, check, wait_until


class Place:
    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = form.folder(f"{name}-ws")
        self.state = self.home / "sandgate"
        self.log = self.state / "audit" / "000.jsonl"
        form.write(self.workspace / "a.txt", "alpha\n")

    def call(self):
        done = self.form.run(self.home, "call", "read_file", '{"path":"a.txt"}', "--workspace", self.workspace)
        check(done.returncode == 0, done)
        return done

    def verify(self):
        done = self.form.run(self.home, "audit", "verify")
        whole = done.stdout.decode().splitlines()[-1].startswith("whole")
        check(whole == (done.returncode == 0), done)
        return whole, done.stdout.decode()

    def whole(self):
        whole, text = self.verify()
        check(whole, text)

    def broken(self, what):
        whole, text = self.verify()
        check(not whole and "BAD" in text, f"{what}: {text}")

    def keep(self, name):
        """A copy of the database as it is, all in one file."""
        with self.form.acting():
            source, copy = sqlite3.connect(self.state / "state.db"), sqlite3.connect(self.home / name)
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=WAL")
            source.close()
            copy.close()
        os.chmod(self.home / name, 0o600)

    def remove_database(self):
        for path in self.state.glob("state.db*"):
            path.unlink()

    def put_back(self, name):
        self.remove_database()
        shutil.move(self.home / name, self.state / "state.db")


# --- what is done to the database


def removed(place):
    place.remove_database()


def removed_and_asked_for(place):
    """Another command makes it anew, not a gate."""
    place.remove_database()
    done = place.form.run(place.home, "stats")
    check(done.returncode == 0, done)


def another(place):
    """An empty one of another state folder."""
    fresh = place.form.folder("fresh-" + place.home.name, 0o700)
    done = place.form.run(fresh, "stats")
    check(done.returncode == 0, done)
    place.remove_database()
    for path in (fresh / "sandgate").glob("state.db*"):
        shutil.move(path, place.state / path.name)


def older(place):
    place.put_back("older.db")


def without_wal(place):
    (place.state / "state.db-wal").unlink()
    (place.state / "state.db-shm").unlink(missing_ok=True)


DATABASE = (removed, removed_and_asked_for, another, older, without_wal)


# --- what is done to the log


def nothing(_):
    pass


def cut_at_a_record(place):
    lines = place.log.read_bytes().splitlines(keepends=True)
    os.truncate(place.log, len(b"".join(lines[:-2])))


def cut_at_a_gate(place):
    """So that the last gate is gone and the one before it ends well."""
    lines = place.log.read_bytes().splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if json.loads(line)["kind"] == "gate.start"]
    os.truncate(place.log, len(b"".join(lines[: starts[-1]])))


def cut_in_a_record(place):
    os.truncate(place.log, place.log.stat().st_size - 100)


def cut_to_nothing(place):
    os.truncate(place.log, 0)


def removed_file(place):
    place.log.unlink()


LOG = (nothing, cut_at_a_record, cut_at_a_gate, cut_in_a_record, cut_to_nothing, removed_file)
# Where nothing is left of both, the folder is as one that nobody used yet: only an anchor can tell.
FRESH = {
    (removed, removed_file), (removed_and_asked_for, removed_file), (another, removed_file), (another, cut_to_nothing),
}


def every_pair(form):
    for database in DATABASE:
        for log in LOG:
            what = f"{database.__name__}, {log.__name__}"
            place = Place(form, what.replace(", ", "-"))
            place.call()
            place.call()
            place.keep("older.db")
            place.call()
            place.call()
            place.whole()
            log(place)
            database(place)
            place.call()
            if (database, log) in FRESH:
                continue
            place.broken(what)
            place.call()
            place.call()
            place.broken(f"{what}, later")


def log_alone(form):
    """The database is left as it is."""
    for log in LOG[1:]:
        place = Place(form, f"alone-{log.__name__}")
        for _ in range(3):
            place.call()
        log(place)
        for _ in range(3):
            place.broken(log.__name__)
            place.call()
        place.broken(log.__name__)


def folder_alone(form):
    place = Place(form, "folder")
    place.call()
    shutil.rmtree(place.log.parent)
    place.broken("no folder")
    place.call()
    place.broken("a new folder")


def second_slot(form):
    """What a second gate wrote beside the first is cut; the first slot is as it was."""
    place = Place(form, "second")
    with Gate(form, workspace=place.workspace, state=place.home) as gate:
        gate.ok("read_file", path="a.txt")
        place.call()
        place.call()
        gate.close_input()
        gate.wait_exit()
    place.whole()
    place.log = place.log.with_name("001.jsonl")
    cut_at_a_gate(place)
    place.remove_database()
    place.call()
    place.broken("the second slot")


def told_at_once(form):
    place = Place(form, "told")
    place.call()
    place.remove_database()
    said = place.call().stderr.decode()
    check("state.db" in said and "audit verify" in said, said)
    check(place.call().stderr == b"", "once")


def a_new_folder_is_whole(form):
    place = Place(form, "new")
    done = form.run(place.home, "stats")
    check(done.returncode == 0, done)
    place.call()
    place.whole()


def behind_a_stop(form):
    """Whatever stands behind a gate that stopped, unless another gate began there."""
    place = Place(form, "stop")
    place.call()
    whole = place.log.read_bytes()
    for more in (b"\n", b" ", b"x", b"x\n", b"\0" * 100, b"\0\n", b"{}\n", b'{"ts":"20', whole[:40]):
        place.log.write_bytes(whole + more)
        place.broken(repr(more[:20]))
        check(b"not finished" not in form.run(place.home, "audit", "verify").stdout, f"{more[:20]!r} is taken for a gate's")
    place.log.write_bytes(whole)
    place.whole()


def records_behind_a_stop(form):
    place = Place(form, "forged")
    place.call()
    last = json.loads(place.log.read_bytes().splitlines()[-1])
    for kind in ("call.intent", "call.outcome"):
        record = {"ts": last["ts"], "seq": last["seq"] + 1, "gate": last["gate"], "kind": kind, "call": "feed-1", "hash": "0" * 64}
        with open(place.log, "ab") as log:
            log.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
    place.broken("at once")
    for _ in range(2):
        place.call()
        place.broken("after another gate")


def killed_gates(form):
    """At any moment from the start on, alone and beside others."""
    place = Place(form, "killed")
    for delay in range(40):
        gate = Gate(form, workspace=place.workspace, state=place.home)
        if delay % 3:
            gate.send("read_file", path="a.txt")
        if delay % 3 == 2:
            wait_until(lambda: place.log.exists() and place.log.stat().st_size, "the log begins")
        for _ in range(delay * 500):
            pass
        gate.kill()
        gate.wait_exit()
        if delay % 4 == 0:
            place.call()
        place.whole()
    place.call()
    place.whole()


CASES = [
    ("a database that was removed or replaced, and a log that was cut", every_pair),
    ("a log that was cut alone", log_alone),
    ("no folder", folder_alone),
    ("a slot that nobody used since", second_slot),
    ("people are told once", told_at_once),
    ("a new folder", a_new_folder_is_whole),
    ("what was added behind a gate that stopped", behind_a_stop),
    ("records that no gate wrote, behind one that stopped", records_behind_a_stop),
    ("gates that are killed leave no finding", killed_gates),
]

lib.run_cases(CASES)
