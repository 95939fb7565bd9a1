#!/usr/bin/python3
"""Random changes in an overlay session, held against a model in memory: what the session sees, what diff tells, and what is in
the project after whole, partial and refused commits and after a discard."""
# timeout: 200
import base64
import json
import os
import random
import stat

import lib
from lib import check
from overlay_place import Place

SOAK = os.environ.get("SANDGATE_SOAK") == "1"
ROUNDS = 500 if SOAK else 30  # for each of the two users
CHANGES = 10  # in each
NAMES = ["a", "b", "c.txt", "d e", "f\n", "ü", "x-y", "x", "build"]

# Runs in the cell: does the changes, then tells what is there.
PROGRAM = """
import base64, json, os, shutil, stat, sys
def tell(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            rel = os.path.relpath(path, top)
            if stat.S_ISLNK(st.st_mode): found[rel] = ["link", 0, os.readlink(path)]
            elif stat.S_ISDIR(st.st_mode): found[rel] = ["folder", st.st_mode & 0o777, ""]
            else: found[rel] = ["file", st.st_mode & 0o777, base64.b64encode(open(path, "rb").read()).decode()]
    return found
def gone(p):
    if os.path.isdir(p) and not os.path.islink(p): shutil.rmtree(p)
    elif os.path.lexists(p): os.unlink(p)
for one in json.loads(CHANGES):
    what, p = one[0], one[1]
    if what == "write":
        with open(p, "wb") as f: f.write(base64.b64decode(one[2]))
        os.chmod(p, one[3])
    elif what == "save":
        with open(p + ".new", "wb") as f: f.write(base64.b64decode(one[2]))
        os.chmod(p + ".new", one[3]); os.rename(p + ".new", p)
    elif what == "append":
        with open(p, "ab") as f: f.write(base64.b64decode(one[2]))
    elif what == "remove": gone(p)
    elif what == "folder": os.mkdir(p); os.chmod(p, 0o755)
    elif what == "link": os.symlink(one[2], p)
    elif what == "mode": os.chmod(p, one[2])
    elif what == "move": shutil.move(p, one[2])
    elif what == "hard": os.link(p, one[2])
    elif what == "touch": os.utime(p)
print(json.dumps(tell(".")))
"""


def told(folder):
    scope = {"CHANGES": "[]"}
    exec(PROGRAM.rsplit("\n", 2)[0], scope)  # noqa: S102  the same eyes on both sides
    return scope["tell"](str(folder))


class Model:
    """What is in a folder, as a plain dictionary."""

    def __init__(self, rng):
        self.rng = rng
        self.all = {}

    def of_type(self, *types):
        return sorted(p for p, one in self.all.items() if one[0] in types)

    def free_path(self):
        folder = self.rng.choice(["", *self.of_type("folder")])
        path = os.path.join(folder, self.rng.choice(NAMES))
        return path if path not in self.all and path.count("/") < 5 else None

    def inside(self, path):
        return [p for p in self.all if p.startswith(path + "/")]

    def drop(self, path):
        for p in [path, *self.inside(path)]:
            self.all.pop(p)

    def content(self):
        return base64.b64encode(self.rng.randbytes(self.rng.choice([0, 1, 40, 5000]))).decode()

    def change(self):
        """One change, done here; what is to be done in the cell, or nothing."""
        rng = self.rng
        kind = rng.choice(["write", "write", "save", "append", "remove", "folder", "link", "mode", "move", "move", "hard", "touch",
                           "turn", "anew"])
        fresh = self.free_path()
        if kind in ("write", "save"):
            path = rng.choice([fresh, *self.of_type("file")]) if fresh else None
            if not path:
                return []
            one = ["file", rng.choice([0o644, 0o600, 0o640]), self.content()]
            self.all[path] = one
            return [[kind, path, one[2], one[1]]]
        if kind in ("folder", "link"):
            if not fresh:
                return []
            self.all[fresh] = ["folder", 0o755, ""] if kind == "folder" else ["link", 0, rng.choice(["a", "../b", "/etc"])]
            return [[kind, fresh, self.all[fresh][2]]]
        path = rng.choice(sorted(self.all)) if self.all else None
        if not path:
            return []
        one = self.all[path]
        if kind == "remove":
            self.drop(path)
            return [["remove", path]]
        if kind in ("turn", "anew"):  # a file becomes a folder, a folder a file; or the same is made anew
            self.drop(path)
            to_file = (one[0] == "folder") == (kind == "turn")
            self.all[path] = ["file", 0o644, self.content()] if to_file else ["folder", 0o755, ""]
            return [["remove", path], ["write", path, self.all[path][2], 0o644] if to_file else ["folder", path]]
        if kind == "move" and fresh and not fresh.startswith(path + "/"):
            for p in sorted([path, *self.inside(path)]):
                self.all[fresh + p[len(path):]] = self.all.pop(p)
            return [["move", path, fresh]]
        if one[0] != "file":
            return []
        if kind == "append":
            self.all[path] = [*one[:2], base64.b64encode(base64.b64decode(one[2]) + b"more").decode()]
            return [["append", path, base64.b64encode(b"more").decode()]]
        if kind == "mode":
            self.all[path] = [one[0], rng.choice([0o644, 0o600]), one[2]]
            return [["mode", path, self.all[path][1]]]
        if kind == "hard" and fresh:
            # As soon as one of them is changed by its name they may differ; so only what is replaced is changed.
            self.all[fresh] = list(one)
            again = ["save", path, one[2], one[1]]
            return [["hard", path, fresh], again]
        return [["touch", path]] if kind == "touch" else []


def changed(old, new):
    return {p for p in set(old) | set(new) if old.get(p) != new.get(p)}


def tell_changes(place, session):
    found = {}
    for one in json.loads(place.diff(session, "--json")):
        found[one["path"]] = one
        if "from" in one:
            found[one["from"]] = one
    return found


def commit_some(place, session, rng, model, project):
    """A part of it: what was named is as in the session, all else as it was."""
    paths = sorted(changed(project, model.all))
    path = rng.choice(paths)
    place.commit(session, "--ours", "**", "--", path)
    now = told(place.project)
    for p in set(project) | set(now) | set(model.all):
        if now.get(p) != project.get(p):
            check(now.get(p) == model.all.get(p), f"{path}: {p!r} is {now.get(p)}, neither old nor new")
    return now


def one_round(place, session, rng, model, project, number):
    changes = [step for _ in range(CHANGES) for step in model.change()]
    script = f"CHANGES = {json.dumps(changes)!r}\n{PROGRAM}"
    place.ok(session, "write_file", path=".script.py", content=script)
    made = place.sh(session, "python3 .script.py; s=$?; rm .script.py; exit $s")
    check(made["exit_code"] == 0, f"{made['stderr']}\n{changes}")
    seen = json.loads(made["stdout"])
    seen.pop(".script.py")
    check(seen == model.all, f"round {number}: the session sees something else: {changed(seen, model.all)}\n{changes}")
    check(told(place.project) == project, f"round {number}: the project changed")
    check(set(tell_changes(place, session)) == changed(project, model.all),
          f"round {number}: {set(tell_changes(place, session)) ^ changed(project, model.all)}\n{changes}")
    if rng.random() < 0.6 and changed(project, model.all):
        project = commit_some(place, session, rng, model, project)
        check(set(tell_changes(place, session)) == changed(project, model.all), f"round {number}: behind a partial commit")
    elif rng.random() < 0.7:
        done = place.commit(session)
        project = told(place.project)
        check(project == model.all, f"round {number}: {changed(project, model.all)}\n{done['left']}")
        check(done["empty"] and not any((place.folder(session) / "layer/upper").iterdir()), f"round {number}: {done}")
    return project


def random_changes(place):
    rng = random.Random(f"{lib.seed()}-{place.form.name}")
    model = Model(rng)
    for p in ("a.txt", "sub/b.txt"):
        path = place.project / p
        path.chmod(0o644)
    (place.project / "sub").chmod(0o755)
    model.all = told(place.project)
    project = dict(model.all)
    session = place.create("--overlay")
    for number in range(ROUNDS):
        project = one_round(place, session, rng, model, project, number)
    place.run("session", "discard", session, "--yes")
    check(told(place.project) == project, "discard changed the project")
    check(stat.S_ISDIR(place.project.stat().st_mode) and not place.folder(session).exists(), "discarded")


def main():
    tap = lib.Tap()
    for form in lib.forms():
        with tap.case(f"{form.name}: random changes and commits"):
            random_changes(Place(form, "model"))
    tap.done()


main()
