#!/usr/bin/env python3
"""A command sends another one a descriptor of its workspace over a unix socket and ends. What was guarded stays so for
whoever has the descriptor, and so does what becomes a secret later: nothing at all is opened with it any more.
"""

import contextlib
import json
import os
import socket

import lib
import ran
from lib import check
from ran import PYTHON, Place
from repository import GRANTED, Repository

SECRET = "KEY=only the user knows"
RULES = {"files": {"secret": [".env"]}}
MANY = 100  # from 64 on, mounts are used again

# Listens at one name after the other, because a scan covers sockets in the workspace.
TAKE = """
import errno, json, os, socket, sys, time
where, unread = sys.argv[1], sys.argv[2] == "unread"
end = time.monotonic() + 60
line = None
while not line and time.monotonic() < end:
    name = f"{where}/line{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(name + ".new")
        s.listen()
        s.settimeout(0.5)
        os.rename(name + ".new", name)
        try:
            line, _ = s.accept()
        except TimeoutError:
            pass
fds = [] if unread else socket.recv_fds(line, 10, 8)[1]

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.02)

open("got", "w").close()
wait_for("ended")
fds = fds or socket.recv_fds(line, 10, 8)[1]
folder = fds[0]

def attempt(do):
    try:
        return do()
    except OSError as e:
        return errno.errorcode[e.errno]

def read(path):
    return attempt(lambda: os.read(os.open(path, os.O_RDONLY, dir_fd=folder), 1000).decode())

def write(path, flags=0):
    return attempt(lambda: os.write(os.open(path, os.O_WRONLY | os.O_APPEND | flags, 0o755, dir_fd=folder), b"# changed"))

def connect():
    with socket.socket(socket.AF_UNIX) as s:
        return attempt(lambda: s.connect(f"/proc/self/fd/{folder}/run/host"))

# The sender's mounts end a moment after its answer has come.
while read("plain") == "plain" and "KEY" not in read(".env") and time.monotonic() < end:
    time.sleep(0.01)
open("tried", "w").close()
wait_for("go")
print(json.dumps({
    "plain": read("plain"),
    "secrets": [read(path) for path in (".env", "sub/.env", "new/.env")],
    "open": attempt(lambda: os.open(".", os.O_RDONLY, dir_fd=folder)),
    "made": write("sub/made", os.O_CREAT),
    "config": write(".git/config"),
    "hook": write(".git/hooks/post-commit", os.O_CREAT),
    "mode": attempt(lambda: os.chmod(".git/config", 0o600, dir_fd=folder)),
    "time": attempt(lambda: os.utime(".env", (1, 1), dir_fd=folder)),
    "size": attempt(lambda: os.stat(".env", dir_fd=folder).st_size),
    "socket": connect(),
    "own": open("plain").read(),
}))
"""
SEND = """
import os, socket, sys, time
where, more = sys.argv[1], sys.argv[2:]
end = time.monotonic() + 60
sent = False
while not sent and time.monotonic() < end:
    for name in os.listdir(where):
        if not name.startswith("line") or name.endswith(".new"):
            continue
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(f"{where}/{name}")
        except OSError:
            continue
        fds = [os.open("/workspace", os.O_RDONLY | os.O_DIRECTORY)]
        fds += [os.open(path, os.O_RDONLY) for path in more if path.startswith("/")]
        # The first is what is used; the last ones hold what its mounts are in.
        socket.send_fds(s, [b"x"], fds)
        sent = True
        break
if "wait" in more:
    time.sleep(600)
"""


def make(form, name, rules=None):
    place = Repository(form, name, rules or RULES)
    for path in ("sub", "run"):
        form.folder(f"{name}-ws/{path}")
    place.put("plain", "plain")
    place.put(".env", SECRET)
    place.put("sub/.env", SECRET)
    return place


@contextlib.contextmanager
def listening(place):
    """A socket of the host in the workspace, that nobody connects to."""
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(place.workspace)  # the path may be too long for a socket's
        server.bind("run/host")
        os.chdir("/")
        os.chmod(place.workspace / "run/host", 0o777)
        place.form.own(place.workspace / "run/host")
        server.listen()
        server.setblocking(False)
        yield
        with contextlib.suppress(BlockingIOError):
            server.accept()
            raise AssertionError("somebody connected")


def replace_secrets(place):
    """The user saves a secret, and makes a new one."""
    place.form.folder(f"{place.workspace.name}/new")
    for path in ("sub/.env", "new/.env"):
        os.replace(place.put("saved", SECRET), place.workspace / path)


def start(gate, script, *arguments, **more):
    return gate.send("run_command", argv=[PYTHON, "-c", script, *arguments], **more)


def check_unopened(place, answer):
    """What was tried."""
    value = ran.ended(answer)
    seen = json.loads(value["stdout"])
    what = lib.short(seen)
    check(seen["plain"] == "EACCES" and seen["secrets"] == ["EACCES"] * 3, what)
    check(seen["open"] == "EACCES" and seen["made"] == "EACCES", what)
    check(seen["config"] in ("EACCES", "EROFS") and seen["hook"] in ("EACCES", "EROFS"), what)
    check(seen["own"] == "plain", what)
    check(not (place.workspace / ".git/hooks/post-commit").exists(), "a hook was made")
    check("changed" not in (place.workspace / ".git/config").read_text(encoding="utf-8"), "the settings were changed")
    return seen


def check_guarded(place, answer):
    seen = check_unopened(place, answer)
    what = lib.short(seen)
    # In a layer it is another user's file.
    check(seen["mode"] in ("EROFS", "EPERM") and seen["time"] == "EROFS" and seen["size"] == 0, what)
    check(seen["socket"] in ("ECONNREFUSED", "EACCES"), what)


def wait_for_descriptor(place, sender, sending):
    try:
        lib.wait_until(lambda: (place.workspace / "got").exists(), "it has the descriptor")
    except AssertionError as error:
        raise AssertionError(f"{error}; its sender: {lib.short(sender.wait(sending))}") from error


def pass_on(place, taker, sender, where="/home/agent", how="read", more=(), between=None, **sending):
    """From a command of one gate to one of the same or another."""
    with listening(place):
        # Listening begins when it runs: the other one may take its time to start.
        taking = start(taker, TAKE, where, how, timeout_ms=120000)
        sending = start(sender, SEND, where, *more, **{"timeout_ms": 120000, **sending})
        wait_for_descriptor(place, sender, sending)
        sender.wait(sending)
        if between:
            between()
        place.put("ended", "")
        lib.wait_until(lambda: (place.workspace / "tried").exists(), "it has tried the descriptor")
        replace_secrets(place)
        place.put("go", "")
        check_guarded(place, taker.wait(taking))


def one_gate(form):
    """what one command sends another of its session"""
    place = make(form, "one")
    with place.gate() as gate:
        pass_on(place, gate, gate)


# Opens a file of a repository before that is judged, and hands it to a command that is started after that.
HOLD = """
import os, socket, time
while not os.path.exists("/home/agent/made"):
    time.sleep(0.01)
with open("lib/.git/config", "a") as held, socket.socket(socket.AF_UNIX) as server:
    server.bind("/home/agent/line")
    server.listen()
    open("/home/agent/held", "w").close()
    line, _ = server.accept()
    socket.send_fds(line, [b"x"], [held.fileno()])
    line.recv(1)
"""
MAKE = "git init -q lib; touch /home/agent/made; while ! test -e /home/agent/held; do sleep 0.01; done"
WRITE = """
import os, socket, sys, time
with socket.socket(socket.AF_UNIX) as line:
    line.connect("/home/agent/line")
    fds = socket.recv_fds(line, 10, 1)[1]
    line.send(b"x")
open("got", "w").close()
while not os.path.exists("ended"):
    time.sleep(0.01)
os.write(fds[0], sys.argv[1].encode())
if sys.argv[2]:
    os.rename("lib", sys.argv[2])
if len(sys.argv) > 3:
    os.chmod(sys.argv[2], 0)
"""


def write_later(form, name, text, where=None, closed=False):
    """Has a file of a new repository opened before that is judged, and written to by a command that began later and may move
    the folder around it. Whether the user's git ran what it names, and where it was."""
    place = make(form, name)
    with place.gate() as gate:
        holding = start(gate, HOLD, timeout_ms=120000)
        answer = gate.call("run_command", command=MAKE, timeout_ms=120000)
        told = [v["call"] for v in answer["result"]["violations"]]
        check(told == ["created:lib/.git"], lib.short(answer))
        writing = start(gate, WRITE, text, where or "", *(["closed"] if closed else []), timeout_ms=120000)
        lib.wait_until(lambda: (place.workspace / "got").exists(), "it has the descriptor")
        ran.ended(gate.wait(holding))
        place.put("ended", "")
        told = [v["call"] for v in ran.ended(gate.wait(writing))["violations"]]
        again = [v["call"] for v in gate.call("run_command", command="true")["result"]["violations"]]
        check(again == [], again)
    place.git("-C", where or "lib", "status", codes=(0, 128))
    return place.workspace / (where or "lib") / ".git", told


def new_repository(form):
    """a file of a new repository that is opened before that is judged, and written to by a command that began later"""
    for number, evil in enumerate((True, False)):
        canary = form.base / f"new{number}-canary"
        text = f'[core]\n\tfsmonitor = "touch {canary}; false"\n' if evil else "[core]\n\tbare = false\n"
        git, told = write_later(form, f"new{number}", text)
        check(told == (["quarantined:lib/.git"] if evil else []), told)
        check(not canary.exists(), "the user's git ran a program of the command's")
        check(git.exists() != evil, "the repository")


def moved_repository(form):
    """the same where the command that writes then moves the folder around the repository, and closes it"""
    for number, closed in enumerate((False, True)):
        canary = form.base / f"moved{number}-canary"
        text = f'[core]\n\tfsmonitor = "touch {canary}; false"\n'
        git, told = write_later(form, f"moved{number}", text, where="other", closed=closed)
        check("quarantined:other/.git" in told, told)
        check(not canary.exists(), "the user's git ran a program of the command's")
        check(not git.exists(), "the repository")


def unread(form):
    """what waits in a socket when its sender ends"""
    place = make(form, "unread")
    with place.gate() as gate:
        pass_on(place, gate, gate, how="unread")


def killed(form):
    """what a command sends that is then killed"""
    place = make(form, "killed")
    with place.gate() as gate:
        pass_on(place, gate, gate, more=("wait",), timeout_ms=4000)


def with_namespace(form):
    """what a command sends together with its mount namespace, which lives on with that"""
    place = make(form, "namespace")
    with place.gate() as gate:
        pass_on(place, gate, gate, more=("/proc/self/ns/mnt", "/"))


def two_gates(form):
    """what a command sends to one of another gate"""
    place = make(form, "two")
    with place.gate() as first, place.gate() as second:
        pass_on(place, first, second, where="/workspace")


def gate_killed(form):
    """what a command sends whose gate is then killed opens nothing"""
    place = make(form, "gone")
    with place.gate() as taker, place.gate() as sender:
        taking = start(taker, TAKE, "/workspace", "read", timeout_ms=120000)
        start(sender, SEND, "/workspace", "wait", timeout_ms=120000)
        lib.wait_until(lambda: (place.workspace / "got").exists(), "it has the descriptor")
        sender.process.kill()
        sender.process.wait()
        place.put("ended", "")
        lib.wait_until(lambda: (place.workspace / "tried").exists(), "it has tried the descriptor")
        replace_secrets(place)
        place.put("go", "")
        check_unopened(place, taker.wait(taking))


def with_layers(form):
    """what a command sends whose git directory was a layer"""
    place = make(form, "layers", {**RULES, **GRANTED})
    other = Place(form, "other", RULES, workspace=place.workspace)
    with place.gate() as granted, other.gate() as gate:
        pass_on(place, gate, granted, where="/workspace")


def used_again(form):
    """what a command sends whose mounts are kept for the next one, and then thrown away"""
    place = make(form, "again")
    for number in range(MANY):
        form.folder(f"again-ws/d{number}")
        place.put(f"d{number}/.env", SECRET)

    def more():
        """They are of no use when there is one more secret."""
        form.folder("again-ws/more")
        place.put("more/.env", SECRET)
        ran.bash(gate, "true")

    with place.gate() as gate:
        for _ in range(3):
            ran.bash(gate, "true")
        pass_on(place, gate, gate, between=more)


ran.main(one_gate, new_repository, moved_repository, unread, killed, with_namespace, two_gates, gate_killed, with_layers, used_again)
