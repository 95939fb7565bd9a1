#!/usr/bin/env python3
"""File tools move folders while a command is prepared, while it runs, and while the gate looks at what it left. No cover is
missed, nothing secret is read, and no repository of a command's own stays.
"""

import contextlib
import fcntl
import json
import os
import select

import lib
import ran
from lib import check
from ran import PYTHON, Place

ROUNDS = 60 if lib.SOAK else 8
SECRET = "KEY=only the user knows"
KEPT = {".env": SECRET + "\n", ".envrc": "good\n", ".git/config": "[core]\n\tbare = false\n", ".git/HEAD": "ref: refs/heads/m\n"}
FOLDERS = ("q", "r")
# Moves that are sent before a command and behind it.
BESIDE = ((20, 200), (0, 1), (0, 7), (0, 1))

# Tries all names until it is told to end, and once more then. Prints what succeeded.
ATTACK = """
import json, os
got = []
def attempt(what, path, flags):
    try:
        fd = os.open(path, flags, 0o755)
    except OSError:
        return
    if what == "read" and b"only the user" not in os.read(fd, 100):
        return
    if what != "read":
        os.write(fd, b"evil")
    got.append(f"{what} {path}")
open("up", "w").close()
last = False
while not last:
    last = os.path.exists("stop")
    for d in ("q", "r"):
        attempt("read", d + "/.env", os.O_RDONLY)
        for name in (".envrc", ".git/config", ".git/HEAD"):
            attempt("write", d + "/" + name, os.O_WRONLY | os.O_APPEND)
        attempt("make", d + "/.git/hook", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
print(json.dumps(sorted(set(got))[:8]))
"""


def moves(gate, one, other, count):
    """Sends moves there and back, without waiting for an answer."""
    ways = ({"from": one, "to": other}, {"from": other, "to": one})
    return [gate.send("move", **ways[i % 2]) for i in range(count)]


def wait_all(gate, calls):
    """How many of the moves were made."""
    return sum(gate.wait(call, 4 * lib.SECONDS)["ok"] for call in calls)


def user_repository(form, name):
    place = Place(form, name)
    place.put("attack.py", ATTACK)
    return place


def fill(place):
    for path, text in KEPT.items():
        place.put(f"q/{path}", text)


def attack(place, gate, before, beside):
    """A command that tries everything beside moves. Returns how many of them were made, and whether it was started."""
    calls = moves(gate, "q", "r", before)
    command = gate.send("run_command", command=f"{PYTHON} attack.py")
    calls += moves(gate, "q", "r", beside)
    made = wait_all(gate, calls)
    place.put("stop")
    answer = gate.wait(command, 4 * lib.SECONDS)
    if not answer["ok"]:
        check(answer["error"]["details"]["reason"] == "guards_moved", lib.short(answer))
        check(not (place.workspace / "up").exists(), "it ran")
    else:
        check(json.loads(answer["result"]["stdout"]) == [], lib.short(answer))
    at = [place.workspace / d for d in FOLDERS if (place.workspace / d).exists()]
    check(len(at) == 1, f"{at}")
    for path, text in KEPT.items():
        check((at[0] / path).read_text() == text, f"{path} has changed")
    check(not (at[0] / ".git/hook").exists(), "a file was made in the user's .git")
    return made, answer["ok"]


def first_command(form):
    """a folder that is moved beside a gate's first command stays guarded in it"""
    started = 0
    for number in range(ROUNDS):
        place = user_repository(form, f"first{number}")
        fill(place)
        with place.gate() as gate:
            if number % 2:
                gate.ok("stat", path="q")
            made, ran_at_all = attack(place, gate, *BESIDE[number % len(BESIDE)])
            check(made > 0, "nothing was moved")
            started += ran_at_all
            # Nothing moves any more: the next command starts.
            (place.workspace / "up").unlink(missing_ok=True)
            check(attack(place, gate, 0, 0)[1], "a command was not started though nothing was moved")
    check(started > 0, "no command was started")


def warm_gate(form):
    """the same of a repository that the user makes between two commands"""
    for number in range(ROUNDS):
        place = user_repository(form, f"warm{number}")
        with place.gate() as gate:
            for _ in range(2):
                gate.ok("run_command", command="true")
            fill(place)
            made, _ = attack(place, gate, 0, 7 if number % 2 else 1)
            check(made > 0, "nothing was moved")


def looks_like_git(folder):
    return (folder / ".git/HEAD").exists()


def after_a_command(form):
    """a repository with a configuration that runs programs does not stay, wherever it is moved while the gate looks"""
    for number in range(2 * ROUNDS):
        place = Place(form, f"after{number}")
        for i in range(200):
            place.put(f"m/{i}/k/x")
        for path in ("a0/keep", "z9/keep"):
            place.put(path)
        line = ("mkdir a0/x && git init -q a0/x && git -C a0/x config core.fsmonitor 'touch ran; false' && touch up; "
                "until [ -e stop ]; do :; done; for i in m/*/k; do echo > $i/f; done")
        with place.gate() as gate:
            gate.ok("run_command", command="true")
            command = gate.send("run_command", command=line)
            lib.wait_until((place.workspace / "up").exists, "it runs")
            calls = moves(gate, "a0/x", "z9/x", 40)
            place.put("stop")
            calls += moves(gate, "a0/x", "z9/x", 400)
            answer = gate.wait(command, 4 * lib.SECONDS)
            made = wait_all(gate, calls)
            check(answer["ok"] and made > 0, f"{made} moves: {lib.short(answer)}")
            gate.ok("run_command", command="true")
        left = [f for f in ("a0/x", "z9/x") if looks_like_git(place.workspace / f)]
        check(not left, f"{left} stayed: {lib.short(answer)}")


IN_OPEN = 0x20


@contextlib.contextmanager
def held(folder):
    """Calls that change something in the folder wait meanwhile, as they do for another gate's call. Yields a function that
    waits until one of them has opened the folder to lock it, or a file in it: its path is judged then."""
    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    events = lib.libc.inotify_init1(os.O_CLOEXEC)
    check(lib.libc.inotify_add_watch(events, os.fsencode(folder), IN_OPEN) >= 0, "inotify_add_watch")

    def wait_for_call():
        check(select.select([events], [], [], lib.SECONDS)[0], "no call has opened the folder")

    try:
        yield wait_for_call
    finally:
        os.close(events)
        os.close(fd)


LATE = (
    ("write_file", {"path": "node_modules/proj/.envrc", "content": "evil"}),
    ("write_file", {"path": "node_modules/proj/.mcp.json", "content": "evil"}),
    ("write_file", {"path": "node_modules/proj/.envrc", "content": "evil", "append": True}),
    ("write_file", {"path": "node_modules/link/.envrc", "content": "evil"}),
    ("move", {"from": "node_modules/proj/file", "to": "node_modules/proj/.envrc"}),
    ("move", {"from": "other", "to": "node_modules/proj/.envrc"}),
)


def late_changes(form):
    """a change that waits while a command moves its folder out of an exception is not made there"""
    for number, (tool, arguments) in enumerate(LATE):
        place = Place(form, f"late{number}")
        for path in ("proj/.git/HEAD", "proj/file", "node_modules/keep", "other"):
            place.put(path)
        form.link(place.workspace / "node_modules/link", "proj")
        with place.gate() as gate:
            gate.ok("run_command", command="mv proj node_modules/proj")
            folder = place.workspace / "node_modules/proj"
            with held(folder) as wait_for_call:
                call = gate.send(tool, **arguments)
                wait_for_call()
                value = gate.ok("run_command", command="mv node_modules/proj proj")
            answer = gate.wait(call)
            new = [n for n in (".envrc", ".mcp.json") if (place.workspace / "proj" / n).exists()]
            check(not new, f"{tool} made {new} in what was moved: {lib.short(answer)} {lib.short(value)}")
            check((place.workspace / "proj/file").exists(), f"{tool}: {lib.short(answer)}")


LATE_PARTS = (
    ("write_file", {"path": "src/config", "content": "evil"}),
    ("write_file", {"path": "src/hooks", "content": "evil"}),
    ("move", {"from": "other", "to": "src/config"}),
    ("delete", {"path": "src/kept"}),
    ("delete", {"path": "src/folder", "recursive": True}),
)


def late_parts(form):
    """nor is one in a folder that becomes a git directory meanwhile"""
    for number, (tool, arguments) in enumerate(LATE_PARTS):
        place = Place(form, f"part{number}")
        place.put("src/kept")
        place.put("src/folder/x")
        place.put("other", "evil")
        with place.gate() as gate:
            gate.ok("run_command", command="true")
            folder = place.workspace / "src"
            with held(folder) as wait_for_call:
                call = gate.send(tool, **arguments)
                wait_for_call()
                # By the user: what a command makes would be taken away.
                for path in ("src/HEAD", "src/objects/x", "src/refs/x"):
                    place.put(path)
            answer = gate.wait(call)
            check(not answer["ok"] and answer["error"]["details"]["reason"] == "protected", f"{tool}: {lib.short(answer)}")
            check((folder / "kept").exists() and (folder / "folder/x").exists() and not (folder / "config").exists(), f"{tool}: {lib.short(answer)}")


def late_head(form):
    """nor is HEAD written where file tools make the other parts of a git directory meanwhile"""
    place = Place(form, "head")
    place.put("src/config", "evil")
    with place.gate() as gate:
        with held(place.workspace / "src") as wait_for_call:
            call = gate.send("write_file", path="src/HEAD", content="ref: refs/heads/m\n")
            wait_for_call()
            for name in ("objects", "refs"):
                gate.ok("make_directory", path=f"src/{name}")
        answer = gate.wait(call)
        check(not answer["ok"] and answer["error"]["details"]["reason"] == "protected", lib.short(answer))
        check(not (place.workspace / "src/HEAD").exists(), "there is a git directory")


ran.main(first_command, warm_gate, after_a_command, late_changes, late_parts, late_head)
