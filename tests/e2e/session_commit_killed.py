#!/usr/bin/python3
"""A commit that is killed, at any step and at any moment: each file is the old or the new one, and the next start ends it."""
# timeout: 300
import json
import os
import random
import shutil
import signal
import subprocess
import time

import lib
from lib import check
from overlay_place import Place

SOAK = os.environ.get("SANDGATE_SOAK") == "1"
MOMENTS = 250 if SOAK else 15  # for each of the two users
# What a worker changes anything with, and how many moments of each are tried; with --soak all of them.
STEPS = {"renameat2": 3, "unlinkat": 4, "renameat": 1, "fsync": 1, "pwrite64": 1, "symlinkat": 1, "mkdirat": 1, "fchmod": 1, "write": 1}
KILL = 0
rng = random.Random(lib.seed())

WORK = (
    "for i in 1 2 3 4 5; do echo new$i > f$i; done; rm -r gone; mkdir -p made/deep; echo m > made/deep/m; ln -s m made/l; "
    "rm turns; mkdir turns; echo t > turns/t; rm -r folds; echo folded > folds; chmod 600 mode; ln -sfn f2 link; rm only; "
    "mkdir empty; head -c 300000 /dev/zero > large; mv moved sub/moved"
)


def state_of(folder):
    """Type, mode where it was asked for, and content of everything."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder",)
        else:
            found[name] = ("file", path.stat().st_mode & 0o777, path.read_bytes())
    return found


class Killed(Place):
    """A session whose commit can be begun again and again."""

    def __init__(self, form):
        super().__init__(form, "killed")
        for i in range(1, 6):
            self.write(f"f{i}", f"old{i}\n")
        for path in ("gone/a", "gone/b/c", "folds/x", "folds/y"):
            self.write(path, f"{path}\n")
        self.write("turns", "a file\n")
        self.write("mode", "mode\n")
        self.write("only", "only\n")
        self.write("moved", "moved\n")
        form.link(self.project / "link", "f1")
        shutil.copy(lib.BUILD / "tests/faults/inject", form.base / "inject")
        (form.base / "inject").chmod(0o755)
        self.session = self.create("--overlay")
        self.sh(self.session, WORK)
        self.layer = self.folder(self.session) / "layer"
        # What is put back is newer than the session; that is no conflict here.
        (self.layer / "since").write_text(f"{(time.time_ns() + 10**15)}\n")
        self.kept = form.folder("kept")
        self.copy(self.project, self.kept / "project")
        self.copy(self.layer, self.kept / "layer")
        self.old = state_of(self.project)
        self.commit(self.session)
        self.new = state_of(self.project)
        check(self.old != self.new, "nothing was done")

    def copy(self, source, target):
        subprocess.run(["cp", "-a", source, target], check=True)

    def again(self):
        """As before the commit. The project stays the same folder."""
        for folder, kept in ((self.project, "project"), (self.layer, "layer")):
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    subprocess.run(["rm", "-rf", path], check=True)
                else:
                    path.unlink()
            subprocess.run(["cp", "-a", f"{self.kept / kept}/.", folder], check=True)

    def argv(self, *options):
        return [str(a) for a in (self.form.binary, "session", "commit", self.session, *options)]

    def start(self, argv):
        return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                                env=lib.environment(self.home, {}), **self.form.identity())

    def check_half(self, what, may_have_temps):
        """Each file is the old or the new one, or not there where one of them is not."""
        now = state_of(self.project)
        for path in set(now) | set(self.old) | set(self.new):
            if ".sgt-" in path:
                check(may_have_temps, f"{what}: {path} is left")
                continue
            one = now.get(path)
            # A folder that turns into a file is emptied before.
            known = [self.old.get(path), self.new.get(path)]
            check(one in known, f"{what}: {path} is {one}, neither of {known}")

    def check_end(self, what, ended):
        # A worker whose gate was killed may live a moment longer.
        if ended:
            self.check_half(what, True)
        # The next start ends it, whatever that starts for.
        done = self.run("call", "stat", json.dumps({"path": "f1"}), "--session", self.session)
        check(done.returncode == 0, f"{what}: {done.stderr}")
        self.check_half(what, False)
        check(not (self.layer / "journal").exists(), f"{what}: the journal is left")
        ended = state_of(self.project)
        check(ended in (self.old, self.new), f"{what}: half of it")
        self.run("call", "stat", json.dumps({"path": "f1"}), "--session", self.session)
        check(state_of(self.project) == ended, f"{what}: a second start changed something")
        done = self.commit(self.session, "--ours", "**") if ended == self.old else self.commit(self.session)
        check(state_of(self.project) == self.new and done["empty"], f"{what}: {done}")


def counted(place, log):
    place.again()
    subprocess.run([place.form.base / "inject", "--log", log, "--", *place.argv()], check=True, stdout=subprocess.DEVNULL,
                   env=lib.environment(place.home, {}), **place.form.identity())
    lines = [line.split() for line in log.read_text().splitlines()]
    return {line[2]: int(line[3]) for line in lines if line[:2] == ["calls", "worker"]}


def at_steps(place):
    log = place.form.write(place.home / "log", "")
    found = counted(place, log)
    check(found.get("renameat2", 0) > 5 and found.get("fsync", 0) > 5, found)
    moments = [(call, n) for call in STEPS for n in range(1, found.get(call, 0) + 1)]
    if not SOAK:
        moments = [m for call, most in STEPS.items()
                   for m in rng.sample([m for m in moments if m[0] == call], min(most, found.get(call, 0)))]
    for call, n in moments:
        place.again()
        log.write_text("")
        subprocess.run([place.form.base / "inject", "--log", log, "--fail", "worker", call, str(n), str(KILL), "--", *place.argv()],
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=lib.environment(place.home, {}), **place.form.identity())
        check("killed worker" in log.read_text(), f"{call} {n} never came")
        place.check_end(f"killed at {call} {n}", True)


def left_at_its_end(place):
    """What a commit left is still in the session, when it is killed while it takes the rest out of the layer."""
    place.again()
    log = place.form.write(place.home / "log", "")
    subprocess.run([place.form.base / "inject", "--log", log, "--fail", "worker", "renameat2", "1", str(KILL), "--", *place.argv()],
                   check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=lib.environment(place.home, {}), **place.form.identity())
    check("killed worker" in log.read_text(), "it was never killed")
    for temp in list(place.project.rglob(".sgt-*")):
        subprocess.run(["rm", "-rf", temp], check=True)
    # As if all had been left.
    with open(place.layer / "journal", "r+b") as journal:
        journal.seek(len(b"sgcom1\0"))
        check(journal.read(1) == b"p", "it was putting things in place")
        journal.seek(-1, os.SEEK_CUR)
        journal.write(b"d")
    done = place.run("call", "stat", json.dumps({"path": "f1"}), "--session", place.session)
    check(done.returncode == 0 and state_of(place.project) == place.old, done.stderr)
    done = place.commit(place.session, "--ours", "**")
    check(state_of(place.project) == place.new and done["empty"], f"the session lost some: {done}")


def at_moments(place):
    place.again()
    began = time.monotonic()
    process = place.start(place.argv())
    check(process.wait() == 0, "a commit that nobody kills")
    whole = time.monotonic() - began
    cut = 0
    for i in range(MOMENTS):
        place.again()
        process = place.start(place.argv())
        time.sleep(rng.uniform(0.2, 1) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        cut += (place.layer / "journal").exists()
        place.check_end(f"killed at moment {i}", False)
    print(f"# {cut} of {MOMENTS} in the middle")


def main():
    tap = lib.Tap()
    for form in lib.forms():
        place = Killed(form)
        if os.uname().machine == "x86_64":  # the calls that tests/faults/inject.c knows
            with tap.case(f"{form.name}: killed at every step"):
                at_steps(place)
            with tap.case(f"{form.name}: killed at its end, with some left"):
                left_at_its_end(place)
        with tap.case(f"{form.name}: killed at any moment"):
            at_moments(place)
    tap.done()


main()
