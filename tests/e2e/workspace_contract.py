#!/usr/bin/python3
"""What a session can do to files is the same in every mode: each change is made by tools and by a command, on the project itself
and in an overlay session that is committed then, and what is in the project afterwards is what was to come of it."""
# timeout: 200
import base64
import json
import os
import stat

import lib
from lib import AM_ROOT, Gate, check
from overlay_place import Place

LARGE = "0123456789abcdef" * 20000
MATTER = "---\ntitle: old\n# kept\ntags: [a]\n---\nbody\n"


def start():
    return {
        "a.txt": "alpha\n", "sub/b.txt": "beta\n", "sub/deep/c.txt": "gamma\n", "run.sh": ("#!/bin/sh\n", 0o755), "note.md": MATTER,
        "empty": None, "same": "same\n", "crlf": "one\r\ntwo\r\n", "bare": "no end",
    }


def write(path, content, **more):
    return ("write_file", {"path": path, "content": content, **more})


def edit(path, old, new):
    return ("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]})


def move(old, new, **more):
    return ("move", {"from": old, "to": new, **more})


def delete(path):
    return ("delete", {"path": path, "recursive": True})


def folder(path):
    return ("make_directory", {"path": path})


def without(*paths):
    return {path: False for path in paths}


# What is done by tools, by a command, and what is different afterwards (False: it is gone).
CASES = {
    "a new file": ([write("new", "x\n")], "echo x > new", {"new": "x\n"}),
    "an empty file": ([write("new", "")], ": > new", {"new": ""}),
    "a file in new folders": ([write("n/m/o", "x")], "mkdir -p n/m; printf x > n/m/o", {"n/m/o": "x"}),
    "a file anew": ([write("a.txt", "other\n")], "echo other > a.txt", {"a.txt": "other\n"}),
    "a file saved by a rename": ([write("t", "saved\n"), move("t", "a.txt", overwrite=True)], "echo saved > t; mv t a.txt",
                                 {"a.txt": "saved\n"}),
    "the same content": ([write("same", "same\n")], "echo same > same", {}),
    "shorter": ([write("a.txt", "")], ": > a.txt", {"a.txt": ""}),
    "appended": ([write("a.txt", "more\n", append=True)], "echo more >> a.txt", {"a.txt": "alpha\nmore\n"}),
    "appended twice": ([write("a.txt", "1", append=True), write("a.txt", "2", append=True)], "printf 1 >> a.txt; printf 2 >> a.txt",
                       {"a.txt": "alpha\n12"}),
    "appended to nothing": ([write("new", "x", append=True)], "printf x >> new", {"new": "x"}),
    "without a line end": ([write("bare", "!", append=True)], "printf '!' >> bare", {"bare": "no end!"}),
    "edited": ([edit("a.txt", "alpha", "ALPHA")], "sed -i s/alpha/ALPHA/ a.txt", {"a.txt": "ALPHA\n"}),
    "edited, with its mode": ([edit("run.sh", "sh", "bash")], "sed -i s/sh/bash/ run.sh", {"run.sh": ("#!/bin/bash\n", 0o755)}),
    "edited deep inside": ([edit("sub/deep/c.txt", "gamma", "g")], "sed -i s/gamma/g/ sub/deep/c.txt", {"sub/deep/c.txt": "g\n"}),
    "line ends": ([edit("crlf", "two", "three")], "sed -i s/two/three/ crlf", {"crlf": "one\r\nthree\r\n"}),
    "front matter": ([("update_frontmatter", {"path": "note.md", "update": {"title": {"set": "new"}}})],
                     "sed -i 's/title: old/title: new/' note.md", {"note.md": MATTER.replace("old", "new")}),
    "large": ([write("large", LARGE)], "python3 -c 'print(\"0123456789abcdef\"*20000,end=\"\")' > large", {"large": LARGE}),
    "bytes": ([write("bin", base64.b64encode(b"\0\xff\x01").decode(), encoding="base64")], "printf '\\000\\377\\001' > bin",
              {"bin": b"\0\xff\x01"}),
    "letters": ([write("ünï/cödé", "é")], "mkdir ünï; printf é > ünï/cödé", {"ünï/cödé": "é"}),
    "a name with a line end": ([write("new\nline", "x")], "printf x > \"$(printf 'new\\nline')\"", {"new\nline": "x"}),
    "a name with blanks": ([write(" a  b ", "x")], "printf x > ' a  b '", {" a  b ": "x"}),
    "a name with a dash": ([write("-rf", "x")], "printf x > ./-rf", {"-rf": "x"}),
    "a name that is no text": ([("write_file", {"path_b64": base64.b64encode(b"o\xffdd").decode(), "content": "x"})],
                               "printf x > \"$(printf 'o\\377dd')\"", {b"o\xffdd": "x"}),
    "many": ([write(f"many/{i}", str(i)) for i in range(30)], "mkdir many; for i in $(seq 0 29); do printf $i > many/$i; done",
             {f"many/{i}": str(i) for i in range(30)}),
    "deleted": ([delete("a.txt")], "rm a.txt", without("a.txt")),
    "an empty folder deleted": ([delete("empty")], "rmdir empty", without("empty")),
    "a folder deleted": ([delete("sub")], "rm -r sub", without("sub", "sub/b.txt", "sub/deep", "sub/deep/c.txt")),
    "an inner folder deleted": ([delete("sub/deep")], "rm -r sub/deep", without("sub/deep", "sub/deep/c.txt")),
    "made and deleted": ([write("n/x", "x"), delete("n")], "mkdir n; echo x > n/x; rm -r n", {}),
    "deleted and made": ([delete("a.txt"), write("a.txt", "again\n")], "rm a.txt; echo again > a.txt", {"a.txt": "again\n"}),
    "deleted and made as it was": ([delete("a.txt"), write("a.txt", "alpha\n")], "rm a.txt; echo alpha > a.txt", {}),
    "a folder made anew": ([delete("sub"), write("sub/new", "n")], "rm -r sub; mkdir sub; printf n > sub/new",
                           {**without("sub/b.txt", "sub/deep", "sub/deep/c.txt"), "sub/new": "n"}),
    "a folder": ([folder("n")], "mkdir n", {"n": None}),
    "folders": ([folder("n/m/o")], "mkdir -p n/m/o", {"n/m/o": None}),
    "a folder that is there": ([folder("sub")], "mkdir -p sub", {}),
    "a file becomes a folder": ([delete("a.txt"), write("a.txt/in", "x")], "rm a.txt; mkdir a.txt; printf x > a.txt/in",
                                {"a.txt": False, "a.txt/in": "x"}),
    "a folder becomes a file": ([delete("sub"), write("sub", "x")], "rm -r sub; printf x > sub",
                                {**without("sub/b.txt", "sub/deep", "sub/deep/c.txt"), "sub": "x"}),
    "renamed": ([move("a.txt", "z.txt")], "mv a.txt z.txt", {"a.txt": False, "z.txt": "alpha\n"}),
    "renamed, with its mode": ([move("run.sh", "sub/go.sh")], "mv run.sh sub/go.sh",
                               {"run.sh": False, "sub/go.sh": ("#!/bin/sh\n", 0o755)}),
    "moved into a new folder": ([move("a.txt", "n/m/a")], "mkdir -p n/m; mv a.txt n/m/a", {"a.txt": False, "n/m/a": "alpha\n"}),
    "moved over another": ([move("a.txt", "same", overwrite=True)], "mv a.txt same", {"a.txt": False, "same": "alpha\n"}),
    "moved and edited": ([move("a.txt", "z"), edit("z", "alpha", "zeta")], "mv a.txt z; sed -i s/alpha/zeta/ z",
                         {"a.txt": False, "z": "zeta\n"}),
    "moved to and fro": ([move("a.txt", "z"), move("z", "a.txt")], "mv a.txt z; mv z a.txt", {}),
    "two changed about": ([move("a.txt", "t"), move("same", "a.txt"), move("t", "same")], "mv a.txt t; mv same a.txt; mv t same",
                          {"a.txt": "same\n", "same": "alpha\n"}),
    "a new folder renamed": ([write("n/x", "x"), move("n", "m")], "mkdir n; printf x > n/x; mv n m", {"m/x": "x"}),
}


def full(files):
    """With the folders around them."""
    found = {}
    for path, one in files.items():
        name = path if isinstance(path, bytes) else path.encode()
        if one is False:
            continue
        text, mode = one if isinstance(one, tuple) else (one, 0o644)
        content = text.encode() if isinstance(text, str) else text
        found[name] = ("folder",) if text is None else ("file", mode, content)
        while (name := os.path.dirname(name)):
            found.setdefault(name, ("folder",))
    return found


def told(top):
    found = {}
    for at, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            rel = os.path.relpath(path, os.fsencode(top))
            if stat.S_ISDIR(st.st_mode):
                found[rel] = ("folder",)
            else:
                with open(path, "rb") as file:
                    found[rel] = ("file", st.st_mode & 0o777, file.read())
    return found


def place_in(case, arguments):
    """The arguments, with paths in the folder of the case."""
    changed = dict(arguments)
    for key in ("path", "from", "to"):
        if key in changed:
            changed[key] = f"{case}/{changed[key]}"
    if "path_b64" in changed:
        changed["path_b64"] = base64.b64encode(case.encode() + b"/" + base64.b64decode(changed["path_b64"])).decode()
    return changed


def make_start(place, name):
    for path, one in full(start()).items():
        at = os.fsencode(place.project / name) + b"/" + path
        os.makedirs(at if one[0] == "folder" else os.path.dirname(at), exist_ok=True)
        if one[0] == "file":
            with open(at, "wb") as file:
                file.write(one[2])
            os.chmod(at, one[1])


class Backend:
    """A gate in one mode, and what it has done."""

    def __init__(self, place, overlay):
        self.place = place
        self.overlay = overlay
        with place.form.acting():
            for i in range(len(CASES)):
                make_start(place, f"t{i}")
                make_start(place, f"c{i}")
        self.session = place.create(*(["--overlay"] if overlay else []))
        self.failures = {}

    def do_all(self):
        with Gate(self.place.form, "--session", self.session, state=self.place.home) as gate:
            for i, (name, (calls, command, _)) in enumerate(CASES.items()):
                try:
                    for tool, arguments in calls:
                        gate.ok(tool, **place_in(f"t{i}", arguments))
                    made = gate.ok("run_command", command=f"set -e; cd c{i}; {command}")
                    check(made["exit_code"] == 0, made)
                except AssertionError as problem:
                    self.failures[name] = problem
        if self.overlay:
            for i in range(len(CASES)):
                for way in "tc":
                    check(told(self.place.project / f"{way}{i}") == full(start()), "the project changed before the commit")
            self.place.commit(self.session, "--allow-code")

    def check_case(self, i, name, way):
        if name in self.failures:
            raise self.failures[name]
        wanted = full({**start(), **CASES[name][2]})
        found = told(self.place.project / f"{way}{i}")
        wrong = {path for path in set(wanted) | set(found) if wanted.get(path) != found.get(path)}
        check(not wrong, {path: (found.get(path), wanted.get(path)) for path in wrong})


def main():
    tap = lib.Tap()
    # What differs by the user is in session_commit.py.
    for form in lib.forms()[-1:] if AM_ROOT and os.environ.get("SANDGATE_SOAK") != "1" else lib.forms():
        for overlay in (False, True):
            mode = "overlay" if overlay else "host"
            backend = Backend(Place(form, f"contract-{mode}"), overlay)
            backend.do_all()
            for i, name in enumerate(CASES):
                for way, text in (("t", "by tools"), ("c", "by a command")):
                    with tap.case(f"{form.name}: {mode}: {name}, {text}"):
                        backend.check_case(i, name, way)
            place = backend.place
            place.run("session", "discard", backend.session, "--yes")
            with tap.case(f"{form.name}: {mode}: nothing else is left"):
                names = {path.name for path in place.project.iterdir()}
                check(names == {f"{way}{i}" for way in "tc" for i in range(len(CASES))} | {"a.txt", "sub"}, json.dumps(sorted(names)))
    tap.done()


main()
