#!/usr/bin/env python3
"""A gate or its cell is killed while something goes to quarantine. The next command ends the move, whatever had been done of
it, and tells it: nothing stays in the project under a name that nobody knows, and nothing of it is lost. A name that
merely looks like one of a move is left alone.
"""

import json
import os
import select
import signal

import lib
import ran
from lib import check
from cut_off import Cut
from made import whats

# What is moved takes its time to copy by its size, and to remove by its number.
COUNTS = {"renamed": 100, "copying": 100, "copied": 1200}
BALLAST = "100M"
ATTEMPTS = 40
FILL = "i=0; while [ $i -lt {count} ]; do echo $i > $i; i=$((i+1)); done; truncate -s " + BALLAST + " ballast"
MAKE = "mkdir -p .vscode/deep; echo tasks > .vscode/tasks.json; cd .vscode/deep; " + FILL
GIT = "git init -q . && git config core.fsmonitor x; mkdir .git/deep; cd .git/deep; " + FILL
HEAD = "mkdir -p bare; cd bare; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; printf '[core]\\nfsmonitor = x\\n' > config; truncate -s 100M HEAD"


class Killed(Cut):
    def aside(self):
        return [p for folder in (self.workspace, self.workspace / "bare") for p in folder.glob("sandgate-quarantine-*")]

    def stored(self, suffix):
        return [p for p in self.store().glob("*/quarantine/*") if p.name.endswith(".part") == suffix]

    def moment(self, name):
        """Whether a move has come so far."""
        return {
            "renamed": self.aside,
            "copying": lambda: self.stored(True),
            "copied": lambda: self.stored(False),
        }[name]()

    def hit(self, line, moment, victim):
        """Runs a command and kills at this moment of the move of what it made. None: that moment went by unseen; otherwise the
        gate that goes on."""
        gate = self.gate()
        gate.call("run_command", command="true")
        pid = {"gate": lambda: gate.pid, "worker": gate.worker, "launcher": gate.launcher}[victim]()
        gate.send("run_command", command=line)
        while not self.moment(moment):
            if select.select([gate.out], [], [], 0)[0]:
                gate.end()
                return None
        os.kill(pid, signal.SIGKILL)
        if victim != "gate":
            gate.any_answer()
            return gate
        answered = gate.drain()
        gate.wait_exit()
        gate.end()
        # It had told everything in the last moment.
        return None if answered else self.gate()

    def list(self):
        done = self.form.run(self.home, "quarantine", "list", "--json")
        check(done.returncode == 0, done)
        return {entry.get("path"): entry["id"] for entry in json.loads(done.stdout)}

    def check_ended(self, gate, path, told=None):
        with gate:
            self.check_told_once(gate, path, told or path)
        entries = self.list()
        check(set(entries) == {path}, entries)
        done = self.form.run(self.home, "quarantine", "restore", entries[path])
        check(done.returncode == 0, done)

    def check_told_once(self, gate, path, told):
        value = gate.call("run_command", command="true")["result"]
        check({"cut_off", f"quarantined:{told}"} <= set(whats(value)), f"told: {whats(value)}")
        check(not self.aside(), f"left in the workspace: {self.aside()}")
        check(not os.path.lexists(self.workspace / path), f"{path} is there")
        check(f"{path} was made by" in gate.said() and "sandgate quarantine restore" in gate.said(), gate.said())
        again = gate.call("run_command", command="true")["result"]
        check(whats(again) == [], f"told twice: {whats(again)}")
        left = [p.name for p in self.store().glob("*.quarantine/*.*")] + self.stored(True)
        check(not left, f"left in the state folder: {left}")
        gate.close_input()
        check(gate.wait_exit() == 0, gate.said())


def cut(form, name, *how):
    """A place where a move was cut off, and the gate that is to end it."""
    for attempt in range(ATTEMPTS):
        place = Killed(form, f"{name}-{attempt}")
        gate = place.hit(*how)
        if gate:
            return place, gate
    raise AssertionError(f"{name}: that moment was never seen")


def check_whole(folder, count):
    lost = [n for n in range(count) if not (folder / str(n)).exists() or (folder / str(n)).read_text() != f"{n}\n"]
    check(not lost, f"lost are {len(lost)}: {lost[:10]}")
    check((folder / "ballast").stat().st_size == 100 << 20, "lost is the ballast")


def each_moment(form):
    """whoever is killed, and at whatever moment, the next command ends the move, and all of it can be restored"""
    for moment, count in COUNTS.items():
        for victim in ("gate", "worker", "launcher"):
            place, gate = cut(form, f"{moment}-{victim}", MAKE.format(count=count), moment, victim)
            place.check_ended(gate, ".vscode")
            check_whole(place.workspace / ".vscode/deep", count)


def repositories(form):
    """the same of a git directory, and of HEAD in a folder that looks like one"""
    for moment in ("renamed", "copied"):
        count = COUNTS[moment]
        place, gate = cut(form, f"git-{moment}", GIT.format(count=count), moment, "gate")
        place.check_ended(gate, ".git")
        check_whole(place.workspace / ".git/deep", count)
    place, gate = cut(form, "head", HEAD, "copying", "gate")
    place.check_ended(gate, "bare/HEAD", told="bare")
    check((place.workspace / "bare/HEAD").stat().st_size == 100 << 20, "its content")


def others(form):
    """what looks like a name of a move and is none is left alone; so is what took the place of a moved file since, and that is told"""
    place, gate = cut(form, "others", MAKE.format(count=10), "renamed", "gate")
    mine = "sandgate-quarantine-0123456789abcdef"
    (aside,) = place.aside()
    with form.acting():
        aside.rename(place.workspace / "kept")
    place.put(mine, "mine\n")
    place.put(aside.name, "mine, too\n")
    with gate:
        value = gate.call("run_command", command="true")["result"]
        check("cut_off" in whats(value) and not any(w.startswith("quarantined:") for w in whats(value)), whats(value))
        check(aside.name in gate.said() and "something else" in gate.said(), gate.said())
        check(aside.read_text() == "mine, too\n" and (place.workspace / mine).read_text() == "mine\n", "what is there was touched")
        check((place.workspace / "kept/tasks.json").exists() and not (place.workspace / ".vscode").exists(), "what was moved away")
        check(whats(gate.call("run_command", command="true")["result"]) == [], "told twice")


def stuck(form):
    """where a move cannot be ended, that is told once, with the path; it is ended when it can be"""
    place, gate = cut(form, "stuck", "git init -q bare; cd bare; " + MAKE.format(count=10), "renamed", "gate")
    folder = place.workspace / "bare"
    owner = folder.stat()
    with gate:
        os.chown(folder, lib.PLAIN_UID + 1, -1)
        folder.chmod(0)
        first, second = (whats(gate.call("run_command", command="true")["result"]) for _ in range(2))
        check("cut_off" in first and second == [], f"{first} {second}")
        check(gate.said().count("cannot be ended now") == 1 and f"{folder}/.vscode" in gate.said(), gate.said())
        os.chown(folder, owner.st_uid, -1)
        folder.chmod(0o755)
        value = gate.call("run_command", command="true")["result"]
        check({"cut_off", "quarantined:bare/.vscode"} <= set(whats(value)), whats(value))


def other_folder(form):
    """a move out of another folder, which had the same number, is not ended in this one"""
    place, gate = cut(form, "born", MAKE.format(count=10), "renamed", "gate")
    (note,) = place.store().glob("*.quarantine/*.move")
    text = json.loads(note.read_text())
    check(text["folder_born"] > 0, text)
    text["folder_born"] += 1
    with form.acting():
        note.write_text(json.dumps(text))
    with gate:
        value = gate.call("run_command", command="true")["result"]
        check(whats(value) == [] and len(place.aside()) == 1, f"{whats(value)} {place.aside()}")


def damaged(form):
    """a note that says nothing, or is no file, is told and keeps nobody from working"""
    for number, text in enumerate(("", "x", "{}", '{"path":"../x","aside":1}', None)):
        place = Killed(form, f"damaged{number}")
        with place.gate() as gate:
            gate.call("run_command", command="echo x > .envrc")
        (notes,) = place.store().glob("*.quarantine")
        note = notes / "abcdefghjkmn.move"
        with form.acting():
            if text is None:
                os.mkfifo(note)
            else:
                note.write_text(text)
        with place.gate() as gate:
            value = gate.call("run_command", command="true")["result"]
            check(whats(value) == [], whats(value))
            check(("damaged" in gate.said()) == bool(text), f"{text}: {gate.said()}")
        check(text is None or not note.exists(), "the note is still there")


if __name__ == "__main__":
    # Only root can give the folder to somebody else.
    ran.main(each_moment, repositories, others, *([stuck] if lib.AM_ROOT else []), other_folder, damaged)
