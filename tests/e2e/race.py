#!/usr/bin/env python3
"""Calls through a path while a folder (and a file) in it and a symbolic link to outside change places all the time.

No answer may show anything from outside and nothing may be written there. The native gate's outside is a folder of
the host. The toolhost gate's is another of its own mounts, which its cell does see and may use: there only the way
paths are opened stands between a link and its target.
"""
# timeout: 400

import collections
import contextlib
import itertools
import multiprocessing
import os
import random
import re
import select
import time

import lib
from lib import check

FACTOR = 40 if lib.SOAK else 1
IN_FLIGHT = 16
ENOUGH = -1 if lib.SANITIZED else 20  # of each kind, or the case shows nothing; sanitizers look at what there is
INSIDE, OUTSIDE = "inside " * 100, "OUTSIDE " * 200
# What a call may be told while its path changes; INTERNAL is none of them.
ERRORS = {"SYMLINK_OUTSIDE_WORKSPACE", "NOT_FOUND", "NOT_A_DIRECTORY", "SESSION_BUSY", "ALREADY_EXISTS"}
ERRORS |= {"E_SANDBOX_VIOLATION", "ENOENT", "CONFLICT"}


def exchange_forever(pairs):
    """Now and then in bursts, so that every moment of a call is hit."""
    encoded = [(os.fsencode(a), os.fsencode(b)) for a, b in pairs]
    rename, pick = lib.libc.renameat2, random.randrange
    while os.getppid() != 1:
        for _ in range(200):
            for a, b in encoded:
                rename(lib.AT_FDCWD, a, lib.AT_FDCWD, b, lib.RENAME_EXCHANGE)
            for _ in range(pick(300)):
                pass


class Exchanging:
    def __init__(self, pairs):
        self.process = multiprocessing.get_context("fork").Process(target=exchange_forever, args=(pairs,), daemon=True)

    def __enter__(self):
        self.process.start()

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()


class Side:
    """One gate, its folders, the pairs that change places, and how paths are written for it."""

    def __init__(self, form, name, prefix, folder, outside, target, inside):
        self.form, self.name, self.prefix, self.folder, self.outside = form, name, prefix, folder, outside
        self.gate = None
        form.folder(folder / "deep/a")
        self.pairs = [
            self.pair("sub", target),
            self.pair("deep/a/sub", "../../" + target if target.startswith("..") else target),
        ]
        form.write(folder / "leaf", INSIDE)
        form.link(folder / "leaf-out", os.path.join(target, "file"))
        self.pairs.append((folder / "leaf", folder / "leaf-out"))
        form.link(folder / "abs", inside)  # an absolute link that stays inside: walked by hand

    def pair(self, name, target):
        folder = self.form.folder(self.folder / name)
        self.form.write(folder / "file", INSIDE)
        self.form.write(folder / "i-name", INSIDE)
        return folder, self.form.link(self.folder / (name + "-out"), target)

    def inside_folders(self):
        return [b if a.is_symlink() else a for a, b in self.pairs[:2]]


def fill_outside(form, folder):
    form.write(folder / "file", OUTSIDE)
    form.write(folder / "o-name", OUTSIDE)
    folder.chmod(0o777)
    return folder


def make_sides(form):
    form.folder("ws")
    outside = fill_outside(form, form.folder("outside"))
    native = Side(form, "native", "", form.base / "ws", outside, str(outside), str(form.base / "ws"))
    for name in ("project", "pkg", "state"):
        form.folder(f"mounts/{name}")
    mounts = form.base / "mounts"
    fill_outside(form, mounts / "pkg")
    pkg = Side(form, "toolhost", "@project/", mounts / "project", mounts / "pkg", "../pkg", "/project")
    for name in ("project", "pkg", "state"):
        form.folder(f"writable/{name}")
    mounts = form.base / "writable"
    fill_outside(form, mounts / "state")
    state = Side(form, "toolhost", "@project/", mounts / "project", mounts / "state", "../state", "/project")
    return native, pkg, state


def start(form, side):
    if side.name == "native":
        return lib.Gate(form, workspace=side.folder)
    mounts = side.folder.parent
    options = ["--dialect", "toolhost", "--project", mounts / "project", "--pkg", mounts / "pkg"]
    return lib.Gate(form, *options, "--state", mounts / "state")


def run_load(sides, seconds, next_call, judge, is_enough=lambda counts: True):
    """Keeps the gates busy with next_call(side, n) and counts what judge(side, arguments, result) makes of it. On a busy
    machine it goes on until what was counted is enough."""
    counts = collections.Counter()
    numbers = itertools.count()
    pending = {side: {} for side in sides}
    end = time.monotonic() + seconds

    def goes_on():
        now = time.monotonic()
        return now < end or (now < end + lib.SECONDS and not is_enough(counts))

    def refill(side):
        lines = []
        while len(pending[side]) < IN_FLIGHT // len(sides) and goes_on():
            name, args = next_call(side, next(numbers))
            call_id, line = side.gate.line(name, args)
            pending[side][call_id] = args
            lines.append(line)
        if lines:
            side.gate.send_raw(b"".join(lines))

    for side in sides:
        refill(side)
    while any(pending.values()):
        check(time.monotonic() < end + 2 * lib.SECONDS, "calls without an answer")
        for side in sides:
            if pending[side] and (side.gate.answers or select.select([side.gate.out], [], [], 0.005)[0]):
                side.gate.read()
                check(not side.gate.closed, f"the gate is gone; {side.gate.said()}")
                for answer in side.gate.answers:
                    counts[side.name, judge(side, pending[side].pop(answer["id"]), answer["result"])] += 1
                side.gate.answers.clear()
                refill(side)
    return counts


def refusals(counts, side):
    return sum(n for (name, what), n in counts.items() if name == side.name and what != "ok")


def enough_of(sides):
    """Of both kinds, from each side."""
    return lambda counts: all(counts[side.name, "ok"] > ENOUGH and refusals(counts, side) > ENOUGH for side in sides)


def verdict(counts, sides):
    text = ", ".join(f"{name} {what} {n}" for (name, what), n in sorted(counts.items()))
    lib.note(text)
    leaks = sum(n for (_, what), n in counts.items() if what == "LEAK")
    check(leaks == 0, f"{leaks} answers from outside")
    for side in sides:
        check(counts[side.name, "ok"] > ENOUGH, f"too few calls that went through: {text}")
        check(refusals(counts, side) > ENOUGH, f"too few refusals: {text}")
    check({what for _, what in counts} <= {"ok", *ERRORS}, f"an answer that explains nothing: {text}")


def sort_out(args, result, is_inside):
    """The error's code, `ok`, or LEAK with what came from outside."""
    if result["ok"] and result.get("result", {}).get("type") == "symlink":
        return "THE_LINK_ITSELF"  # no tool is meant to show it
    if result["ok"]:
        return "ok" if is_inside(result.get("result", result)) else leak(args, result)
    error = result["error"]
    if "OUTSIDE" in error["message"]:
        return leak(args, result)
    # Toolhost has one word for all that its list of codes does not name.
    if re.search(r"(keeps being changed by others|has just been (replaced|moved)): try again$", error["message"]):
        return "CONFLICT"
    return "NOT_A_DIRECTORY" if "is not a folder" in error["message"] else error["code"]


def leak(args, result):
    lib.note(f"{args} was answered {lib.short(result)}"[:300])
    return "LEAK"


READ_PATHS = ["sub/file", "deep/a/sub/file", "leaf", "abs/sub/file", "abs/deep/a/sub/../sub/file"]


def read_call(side, number):
    paths = READ_PATHS if side.name == "native" else READ_PATHS[:-1]  # toolhost knows no `..`
    return ("read_file" if side.name == "native" else "fs.read"), {"path": side.prefix + paths[number % len(paths)]}


def judge_read(_side, args, result):
    return sort_out(args, result, lambda r: r["content"] == INSIDE)


def list_call(side, number):
    path = ["sub", "deep/a/sub", "abs/sub"][number % 3]
    return ("list_files" if side.name == "native" else "fs.list"), {"path": side.prefix + path}


def judge_list(_side, args, result):
    def names(r):
        return [os.path.basename(e.get("path", e.get("name"))) for e in r["entries"]]

    return sort_out(args, result, lambda r: sorted(names(r)) == ["file", "i-name"])


def stat_call(_side, number):
    return "stat", {"path": READ_PATHS[number % len(READ_PATHS)]}


def judge_stat(_side, args, result):
    return sort_out(args, result, lambda r: r["size"] == len(INSIDE))


def search_call(side, number):
    """Folders and a file by way of what changes, and the folder around it all."""
    path = ["sub", "deep/a/sub", "abs/sub", "leaf", "", "deep"][number % 6]
    if side.name == "toolhost":
        return "fs.search", {"path": side.prefix + path, "pattern": "/inside|OUTSIDE/"}
    mode = ["lines", "files", "count"][number // 6 % 3]
    return "search", {"path": path, "pattern": "inside|OUTSIDE" if mode == "lines" else "OUTSIDE", "mode": mode}


def judge_search(_side, args, result):
    def is_inside(r):
        return all(m.get("text") == INSIDE and "o-name" not in m["path"] for m in r["matches"])

    return sort_out(args, result, lambda r: is_inside(r) and "OUTSIDE" not in str(r))


def write_call(side, number):
    """New files, one of three in a folder that has to be made first, and one of three over what is there."""
    folder = ["sub", "deep/a/sub", "abs/sub"][number // 3 % 3]
    name = [f"w-{number}", f"new-{number}/f", "file"][number % 3]
    return ("write_file" if side.name == "native" else "fs.write"), {
        "path": f"{side.prefix}{folder}/{name}",
        "content": INSIDE,
    }


def snapshot(folder):
    return sorted(
        (str(p.relative_to(folder)), p.lstat().st_mtime_ns, p.lstat().st_size, p.read_bytes() if p.is_file() else b"")
        for p in folder.rglob("*")
        if "logs" not in p.parts
    )


def check_written(side, before, written):
    check(snapshot(side.outside) == before, f"{side.name}: the folder outside is not what it was")
    inside = [p for folder in side.inside_folders() for p in folder.rglob("[wf]*") if p.is_file()]
    for path in inside:
        check(path.read_text(encoding="ascii") == INSIDE, f"{path} holds something else")
    # Numbers make names unique, whichever of its two names the folder has at the end.
    names = {p.name for p in inside} | {f"{p.parent.name}/{p.name}" for p in inside}
    for path in written:
        name = re.search(r"(w-\d+|new-\d+/f|file)$", path)[1]
        check(name in names, f"{path} was said to be written but is not there")
    stray = list(side.folder.rglob(".sgt-*"))
    check(not stray, f"temporary files left: {stray[:5]}")


def test_writes(sides):
    before = {side: snapshot(side.outside) for side in sides}
    written = collections.defaultdict(list)

    def judge(side, args, result):
        code = sort_out(args, result, lambda r: True)
        if code == "ok":
            written[side].append(args["path"])
        return code

    with Exchanging([p for side in sides for p in side.pairs]):
        counts = run_load(sides, 5 * FACTOR, write_call, judge, enough_of(sides))
    for side in sides:
        check_written(side, before[side], written[side])
    verdict(counts, sides)


def change_call(_side, number):
    """Everything else that changes files. `o-name` is only outside, `i-name` only inside."""
    folder = ["sub", "deep/a/sub", "abs/sub"][number // 9 % 3]
    other = ["sub", "deep/a/sub", "abs/sub"][number // 27 % 3]
    words = ["inside ", "within "]
    edit = {"old_text": words[number // 9 % 2], "new_text": words[1 - number // 9 % 2], "all": True}
    return [
        ("edit_file", {"path": f"{folder}/file", "edits": [edit]}),
        ("edit_file", {"path": "leaf", "edits": [edit]}),
        ("make_directory", {"path": f"{folder}/d-{number}/e"}),
        ("write_file", {"path": f"{folder}/d-{number - 1}/f", "content": INSIDE}),
        ("move", {"from": f"{folder}/d-{number - 2}", "to": f"{other}/m-{number}", "overwrite": True}),
        ("move", {"from": f"{folder}/o-name", "to": f"taken-{number}"}),
        ("delete", {"path": f"{folder}/o-name"}),
        ("delete", {"path": f"{other}/m-{number - 3}", "recursive": True}),
        ("list_files", {"path": "." if number % 2 else folder, "recursive": True}),
    ][number % 9]


def judge_change(_side, args, result):
    if result["ok"] and ("o-name" in str(args) or "o-name" in str(result)):
        return leak(args, result)
    code = sort_out(args, result, lambda r: True)
    # What the calls do to each other.
    return "NOT_FOUND" if code in ("NO_MATCH", "PRECONDITION_FAILED", "CONFLICT", "NOT_A_FILE") else code


def test_changes(side):
    before = snapshot(side.outside)
    with Exchanging(side.pairs):
        counts = run_load([side], 6 * FACTOR, change_call, judge_change, enough_of([side]))
    check(snapshot(side.outside) == before, "the folder outside is not what it was")
    check(not list(side.folder.glob("taken-*")), "something from outside was moved in")
    stray = list(side.folder.rglob(".sgt-*"))
    check(not stray, f"temporary files left: {stray[:5]}")
    verdict(counts, [side])


def test_reads(sides, seconds, call, judge):
    with Exchanging([p for side in sides for p in side.pairs]):
        counts = run_load(sides, seconds * FACTOR, call, judge, enough_of(sides))
    verdict(counts, sides)


@contextlib.contextmanager
def running(form, sides):
    with contextlib.ExitStack() as stack:
        for side in sides:
            side.gate = stack.enter_context(start(form, side))
        yield
        for side in sides:
            side.gate.check_memory()


def run_form(tap, form):
    native, pkg, state = make_sides(form)
    for name, sides, seconds, call, judge in [
        ("read", [native, pkg], 5, read_call, judge_read),
        ("list", [native, pkg], 3, list_call, judge_list),
        ("stat", [native], 3, stat_call, judge_stat),
        ("search", [native, pkg], 5, search_call, judge_search),
    ]:
        with tap.case(f"{form.name}: {seconds * FACTOR} s of {name} show nothing from outside"), running(form, sides):
            test_reads(sides, seconds, call, judge)
    with tap.case(f"{form.name}: {5 * FACTOR} s of write change nothing outside"), running(form, [native, state]):
        test_writes([native, state])
    with tap.case(f"{form.name}: {6 * FACTOR} s of edit, delete, move, make and recursive list change nothing outside"):
        with running(form, [native]):
            test_changes(native)


def main():
    tap = lib.Tap()
    for form in lib.forms():
        run_form(tap, form)
    tap.done()


if __name__ == "__main__":
    main()
