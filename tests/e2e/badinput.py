#!/usr/bin/env python3
"""Everything a caller, a workspace or a disk can get wrong: a clear error, soon, in bounded memory, and the next call
works."""
# timeout: 400

import base64
import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import threading
import time

import lib
from lib import AM_ROOT, Gate, check, expect_error, wait_until

GIB = 1 << 30
SECRET = "a secret that lies outside"
OUT = "PATH_OUTSIDE_WORKSPACE SYMLINK_OUTSIDE_WORKSPACE"
INVALID = "INVALID_ARGUMENTS"


class Suite:
    """Cases of one form. Most share a gate; after each, it must still work and be small."""

    def __init__(self, tap, form):
        self.tap, self.form = tap, form
        self.folder = form.folder("area/ws")
        self.area = self.folder.parent
        self.sibling = form.folder("area/ws-sibling")
        for path in (self.area / "secret", self.sibling / "secret"):
            form.write(path, SECRET)
        form.write(self.folder / "good", "good\n")
        self.gate = Gate(form, workspace=self.folder)

    def path(self, name):
        return self.folder / name

    def write(self, name, content):
        return self.form.write(self.folder / name, content)

    def works(self, gate=None):
        result = (gate or self.gate).ok("read_file", path="good")
        check(result["content"] == "good\n", f"the next call: {result}")

    @contextlib.contextmanager
    def case(self, name, memory=lib.PEAK_MB):
        if self.gate.process.poll() is not None:
            self.gate.end()
            self.gate = Gate(self.form, workspace=self.folder)
        with self.tap.case(f"{self.form.name}: {name}"):
            yield self.gate
            self.works()
            self.gate.check_memory(memory)

    @contextlib.contextmanager
    def own_case(self, name, *words, memory=lib.PEAK_MB, **options):
        """A case with a gate of its own, which may end."""
        with Gate(self.form, *words, workspace=self.folder, **options) as gate:
            with self.tap.case(f"{self.form.name}: {name}"):
                yield gate
                if gate.process.poll() is None and not gate.closed:
                    gate.check_memory(memory)

    def sparse(self, name, size):
        path = self.write(name, "")
        os.truncate(path, size)
        return path

    def start_long_read(self, gate, name, call_id="long"):
        """Returns once the worker really is at it."""
        gate.ok("stat", path=name)
        worker = gate.worker()
        before = lib.cpu_ticks(worker)
        gate.send("read_file", call_id, path=name, hash=True)
        wait_until(lambda: lib.cpu_ticks(worker) > before + 4, "the read begins")


EDITS = [{"old_text": "good", "new_text": "bad"}, {"old_text": SECRET, "new_text": ""}]


def refused_everywhere(gate, codes, path, entry=True):
    """No tool takes the path. entry: it is no link, which delete and move would take for itself."""
    calls = [
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "x"}),
        ("stat", {"path": path}),
        ("list_files", {"path": path}),
        ("list_files", {"path": path, "recursive": True}),
        ("edit_file", {"path": path, "edits": EDITS}),
        ("edit_file", {"path": path, "edits": EDITS, "dry_run": True}),
        ("update_frontmatter", {"path": path, "update": {"a": {"set": 1}}}),
        ("make_directory", {"path": path}),
        ("move", {"from": "good", "to": path}),
        ("move", {"from": "good", "to": path, "overwrite": True}),
    ]
    if entry:
        calls += [
            ("delete", {"path": path}),
            ("delete", {"path": path, "recursive": True}),
            ("move", {"from": path, "to": "taken"}),
        ]
    for name, arguments in calls:
        error = gate.refused(codes, name, **arguments)
        check(SECRET not in json.dumps(error), f"the error tells the secret: {error}")


# --- paths


def paths(suite):
    ws, area = suite.folder, suite.area
    for name, path in [
        ("traversal", "../secret"),
        ("traversal through a folder", "a/b/../../../secret"),
        ("traversal to the root", "../" * 60 + "etc/passwd"),
        ("an absolute path", "/etc/passwd"),
        ("an absolute path beside the workspace", str(area / "secret")),
        ("an absolute path out of the workspace again", f"{ws}/../secret"),
        ("a sibling whose name begins like the workspace", f"{suite.sibling}/secret"),
        ("a sibling by traversal", "../ws-sibling/secret"),
        ("a sibling of the inner name", "/workspace-sibling/secret"),
    ]:
        with suite.case(name) as gate:
            refused_everywhere(gate, "PATH_OUTSIDE_WORKSPACE", path)
    check_secrets(suite)

    with suite.case("a NUL in a path") as gate:
        for path in ("good\0", "\0", "a\0/../../secret"):
            refused_everywhere(gate, INVALID, path)
    with suite.case("a path of 5,000 bytes, and one with a long name") as gate:
        refused_everywhere(gate, INVALID, "x/" * 2500)
        refused_everywhere(gate, INVALID, "y" * 300)
    with suite.case("an empty path is the workspace where a folder fits") as gate:
        for path in ("", ".", "./", "/workspace", str(ws)):
            names = [e["path"] for e in gate.ok("list_files", path=path)["entries"]]
            check("good" in names, f"{path!r} lists {names}")
            gate.refused("NOT_A_FILE", "read_file", path=path)
            gate.refused("NOT_A_FILE", "write_file", path=path, content="x")
    with suite.case("trailing slashes and dots are dropped") as gate:
        for path in ("good/", "./good", ".//good//", "./././good/."):
            check(gate.ok("read_file", path=path)["content"] == "good\n", path)
    with suite.case("no path at all") as gate:
        gate.refused(INVALID, "read_file")
        gate.refused(INVALID, "stat")
        gate.refused(INVALID, "write_file", content="x")


def check_secrets(suite):
    for path in (suite.area / "secret", suite.sibling / "secret"):
        check(path.read_text(encoding="ascii") == SECRET, f"{path} was changed")


def names_not_utf8(suite):
    raw = b"caf\xe9-\xff\xfe"
    coded = base64.b64encode(raw).decode()
    with open(os.fsencode(suite.folder) + b"/" + raw, "wb") as file:
        file.write(b"latin")
    suite.form.own(os.fsencode(suite.folder) + b"/" + raw)
    with suite.case("names that are not UTF-8 are listed and can be used") as gate:
        entries = gate.ok("list_files")["entries"]
        check(coded in [e.get("name_b64") for e in entries], f"not listed: {entries}")
        check(gate.ok("read_file", path_b64=coded)["content"] == "latin", "not read")
        gate.ok("write_file", path_b64=coded, content="changed")
        check(gate.ok("stat", path_b64=coded)["size"] == 7, "not written")
    with suite.case("path_b64 is no way around") as gate:
        for path in ("../secret", "/etc/passwd", "\0"):
            refused = gate.refused(f"{OUT} {INVALID}", "read_file", path_b64=base64.b64encode(path.encode()).decode())
            check(SECRET not in json.dumps(refused), "the secret is told")
        gate.refused(INVALID, "read_file", path_b64="not base64!")
        gate.refused(INVALID, "read_file", path_b64=base64.b64encode(b"x" * 5000).decode())


def links(suite):
    def link(name, target):
        suite.form.link(suite.folder / name, target)

    inside = suite.form.folder("area/ws/folder")
    suite.form.write(inside / "file", "inside\n")
    link("direct", suite.area / "secret")
    link("relative", "../secret")
    link("chain-1", "chain-2")
    link("chain-2", "folder/chain-3")
    link("folder/chain-3", "../../secret")
    link("through", "..")
    link("dangling-out", suite.area / "new-file")
    link("dangling-relative", "../new-file")
    link("to-sibling", suite.sibling)
    cases = [
        ("direct", "direct"),
        ("relative", "relative"),
        ("chained", "chain-1"),
        ("to a folder outside", "through/secret"),
        ("to a folder outside, then back in", "through/ws/good"),
        ("to a sibling", "to-sibling/secret"),
        ("dangling, absolute", "dangling-out"),
        ("dangling, relative", "dangling-relative"),
    ]
    for name, path in cases:
        with suite.case(f"a symbolic link out: {name}") as gate:
            refused_everywhere(gate, "SYMLINK_OUTSIDE_WORKSPACE", path, entry="/" in path)
            gate.refused("SYMLINK_OUTSIDE_WORKSPACE", "write_file", path=path, content="x", append=True)
    with suite.case("a link out is still a link afterwards, and nothing was written") as gate:
        check_secrets(suite)
        check(suite.path("direct").is_symlink(), "the link was replaced")
        check(not (suite.area / "new-file").exists(), "a file was made outside")
    with suite.case("links that stay inside are followed") as gate:
        link("in", "folder/file")
        link("in-absolute", suite.folder / "folder/file")
        link("in-inner", "/workspace/folder/file")
        link("dangling-in", "folder/made")
        for path in ("in", "in-absolute", "in-inner"):
            check(gate.ok("read_file", path=path)["content"] == "inside\n", path)
        gate.refused("NOT_FOUND", "read_file", path="dangling-in")
        gate.ok("write_file", path="dangling-in", content="made\n")
        check((inside / "made").read_text(encoding="ascii") == "made\n", "not written through the link")
        check(suite.path("dangling-in").is_symlink(), "the link was replaced")
    with suite.case("links in a circle") as gate:
        link("circle-a", "circle-b")
        link("circle-b", "circle-a")
        refused_everywhere(gate, "NOT_FOUND", "circle-a", entry=False)
        link("self", suite.folder / "self")
        refused_everywhere(gate, "NOT_FOUND", "self", entry=False)
    for target in (
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/proc/self/fd/4",
        "/proc/self/cwd/secret",
        "/proc/1/root/etc/passwd",
        "/proc/self/exe",
        "/dev/stdin",
        "/dev/fd/5",
    ):
        name = "magic" + target.replace("/", "-")
        link(name, target)
        with suite.case(f"a magic link, {target}") as gate:
            refused_everywhere(gate, "SYMLINK_OUTSIDE_WORKSPACE", name, entry=False)


def swapped_folder(suite):
    with suite.case("a folder that becomes a link to outside during a read") as gate:
        suite.form.folder("area/ws/swap")
        outside = suite.form.folder("area/outside-swap")
        suite.sparse("swap/big", GIB)
        suite.form.write(outside / "big", SECRET)
        suite.form.link(suite.path("swap-link"), outside)
        suite.start_long_read(gate, "swap/big")
        lib.exchange(suite.path("swap"), suite.path("swap-link"))
        result = gate.wait("long")
        check(result["ok"] and result["result"]["bytes"] == GIB, f"not the file that was opened: {lib.short(result)}")
        refused_everywhere(gate, "SYMLINK_OUTSIDE_WORKSPACE", "swap/big")
        check((outside / "big").read_text(encoding="ascii") == SECRET, "it was changed")


# --- things that are no files


def special_files(suite):
    with suite.case("a FIFO") as gate:
        os.mkfifo(suite.path("fifo"))
        suite.form.own(suite.path("fifo"))
        check("FIFO" in gate.refused("NOT_A_FILE", "read_file", path="fifo", seconds=5)["message"], "not named")
        gate.refused("NOT_A_FILE", "write_file", path="fifo", content="x", seconds=5)
        gate.refused("NOT_A_DIRECTORY", "list_files", path="fifo", seconds=5)
        check(gate.ok("stat", path="fifo")["type"] == "other", "not other")
    with suite.case("six FIFOs at once do not stop the server") as gate:
        ids = [gate.send("read_file", path="fifo") for _ in range(6)]
        ids += [gate.send("write_file", path="fifo", content="x") for _ in range(6)]
        suite.works()
        for call_id in ids:
            expect_error(gate.wait(call_id, seconds=5), "NOT_A_FILE")
    with suite.case("a FIFO that has a writer is no file either") as gate:
        with open_both(suite.path("fifo")) as end:
            os.write(end, b"data")
            gate.refused("NOT_A_FILE", "read_file", path="fifo", seconds=5)
    with suite.case("a socket") as gate, socket.socket(socket.AF_UNIX) as listener:
        # By way of the descriptor: the path may be longer than a socket's name can be.
        folder = os.open(suite.folder, os.O_PATH)
        listener.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        listener.listen()
        os.chmod(suite.path("socket"), 0o777)
        check("socket" in gate.refused("NOT_A_FILE", "read_file", path="socket")["message"], "not named")
        gate.refused("NOT_A_FILE", "write_file", path="socket", content="x")
        listener.setblocking(False)
        check(not select.select([listener], [], [], 0)[0], "someone connected")
    if AM_ROOT:
        with suite.case("a device") as gate:
            for name, device in (("null", os.makedev(1, 3)), ("zero", os.makedev(1, 5))):
                os.mknod(suite.path(name), stat.S_IFCHR | 0o666, device)
                os.chmod(suite.path(name), 0o666)
                suite.form.own(suite.path(name))
                check("device" in gate.refused("NOT_A_FILE", "read_file", path=name)["message"], "not named")
                gate.refused("NOT_A_FILE", "write_file", path=name, content="x")
    with suite.case("a folder where a file is meant, and the other way round") as gate:
        gate.refused("NOT_A_FILE", "read_file", path="folder")
        gate.refused("NOT_A_FILE", "write_file", path="folder", content="x")
        gate.refused("NOT_A_DIRECTORY", "list_files", path="good")
        gate.refused("NOT_A_DIRECTORY", "read_file", path="good/inner")
        gate.refused("NOT_A_DIRECTORY", "write_file", path="good/inner", content="x")
    with suite.case("a file that does not exist") as gate:
        gate.refused("NOT_FOUND", "read_file", path="missing")
        gate.refused("NOT_FOUND", "list_files", path="missing/folder")
        gate.refused("NOT_FOUND", "stat", path="missing")
    with suite.case("a file without the right to read or write it") as gate:
        # A root gate's cell is not root, but the owner of a root-owned workspace: no bits, no rights.
        suite.write("locked", SECRET).chmod(0)
        gate.refused("PERMISSION_DENIED", "read_file", path="locked")
        gate.refused("PERMISSION_DENIED", "write_file", path="locked", content="x")
        check(suite.path("locked").stat().st_size == len(SECRET), "it was replaced")


def changes(suite):
    """What delete, move, edit and recursive lists meet."""
    with suite.case("edits of what is no file, or not ours") as gate:
        gate.refused("NOT_A_FILE", "edit_file", path="fifo", edits=EDITS, seconds=5)
        gate.refused("NOT_A_FILE", "edit_file", path="folder", edits=EDITS)
        gate.refused("NOT_FOUND", "edit_file", path="missing", edits=EDITS)
        gate.refused("PERMISSION_DENIED", "edit_file", path="locked", edits=EDITS)
        suite.sparse("edit-big", 3 * GIB)
        gate.refused("TOO_LARGE", "edit_file", path="edit-big", edits=EDITS)
    with suite.case("edits that are wrong in themselves leave the file alone") as gate:
        suite.write("edit-me", "one\ntwo\ntwo\n")
        for edits in (
            [],
            "x",
            [1],
            [{}],
            [{"old_text": "one"}],
            [{"old_text": 1, "new_text": "x"}],
            [{"old_text": "one", "new_text": "x", "more": 1}],
            [{"old_text": "one", "new_text": "x", "all": "yes"}],
            [{"old_text": "", "new_text": "x"}],
            [{"old_text": "one", "new_text": "one"}],
            [{"old_text": "one", "new_text": "x"}] * 1001,
        ):
            gate.refused("INVALID_ARGUMENTS", "edit_file", path="edit-me", edits=edits)
        for edits in (
            [{"old_text": "two", "new_text": "x"}],
            [{"old_text": "one", "new_text": "1"}, {"old_text": "three", "new_text": "3"}],
            [{"old_text": "one\0", "new_text": "1"}],
        ):
            gate.refused("NO_MATCH", "edit_file", path="edit-me", edits=edits)
        check(suite.path("edit-me").read_text(encoding="ascii") == "one\ntwo\ntwo\n", "it was changed")
    with suite.case("a link is deleted or moved itself, never what it leads to") as gate:
        suite.form.link(suite.path("bait"), suite.area / "secret")
        gate.ok("move", **{"from": "bait", "to": "bait-2"})
        gate.ok("delete", path="bait-2", recursive=True)
        folder = suite.form.folder("area/ws/baited")
        suite.form.link(folder / "out", suite.area)
        gate.ok("delete", path="baited", recursive=True)
        check_secrets(suite)
    with suite.case("what cannot be deleted or moved") as gate:
        for path in ("", ".", "/workspace", str(suite.folder), "folder/.."):
            gate.refused("INVALID_ARGUMENTS NOT_A_FILE", "delete", path=path, recursive=True)
            gate.refused("INVALID_ARGUMENTS NOT_A_FILE", "move", **{"from": path, "to": "elsewhere"})
        gate.refused("CONFLICT", "delete", path="folder")
        gate.refused("NOT_FOUND", "delete", path="missing")
        gate.refused("NOT_A_DIRECTORY", "delete", path="good/inner")
        gate.refused("ALREADY_EXISTS", "move", **{"from": "good", "to": "edit-me"})
        gate.refused("INVALID_ARGUMENTS", "move", **{"from": "folder", "to": "folder/inner/self"})
        gate.refused("INVALID_ARGUMENTS", "move", **{"from": "good", "to": "good"})
        gate.refused("ALREADY_EXISTS", "make_directory", path="good")
    with suite.case("a folder with something that cannot be deleted is put back") as gate:
        suite.form.folder("area/ws/half")
        folder = suite.form.folder("area/ws/half/inner")
        suite.form.write(folder / "file", "x")
        folder.chmod(0o555)
        gate.refused("PERMISSION_DENIED", "delete", path="half", recursive=True)
        check((folder / "file").exists() and not list(suite.folder.glob(".sgt-*")), "not put back")
        folder.chmod(0o755)
        check(gate.ok("delete", path="half", recursive=True)["deleted"] == 3, "not deleted")
    with suite.case("a tree of 3,000 folders in one another is listed and deleted in bounds") as gate:
        here = os.open(suite.folder, os.O_PATH)
        for _ in range(3000):
            os.mkdir("deep", 0o755, dir_fd=here)
            if lib.AM_ROOT:
                os.chown("deep", suite.form.uid, suite.form.uid, dir_fd=here)
            inner = os.open("deep", os.O_PATH, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)
        check(gate.ok("list_files", path="deep", recursive=True)["truncated"], "not said to be cut")
        gate.refused("INVALID_ARGUMENTS", "delete", path="deep", recursive=True)
        suite.works()
        subprocess.run(["rm", "-rf", suite.path("deep")], check=True)
    with suite.case("globs that are wrong, and globs that are hard") as gate:
        for glob in ("[", "{a", "a}", "/etc/*", "../*", "{" * 40 + "}" * 40, "x" * 1025):
            gate.refused("INVALID_PATTERN INVALID_ARGUMENTS", "list_files", glob=glob)
        for glob in ("*a" * 200 + "b", "{a,b}" * 30, "**/" * 100 + "x", "[!a-z]" * 100, "?" * 300):
            gate.ok("list_files", glob=glob, recursive=True, seconds=5)


@contextlib.contextmanager
def open_both(path):
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield end
    finally:
        os.close(end)


# --- large, growing, slow


def large_files(suite):
    with suite.case("a sparse file of 3 GiB") as gate:
        suite.sparse("3g", 3 * GIB)
        started = time.monotonic()
        result = gate.call("read_file", path="3g", hash=True, seconds=40)
        if result["ok"]:
            check(result["result"]["bytes"] == 3 * GIB, f"{lib.short(result)}")
            check(result["result"]["truncated"] and len(result["result"]["content"]) <= 100_000, "not cut")
        else:
            expect_error(result, "TIMEOUT")
        lib.note(f"after {time.monotonic() - started:.1f} s")
    with suite.case("a file that grows while it is read") as gate:
        grown(suite, gate)
    with suite.case("a file that shrinks while it is read") as gate:
        suite.sparse("shrinks", GIB)
        suite.start_long_read(gate, "shrinks")
        os.truncate(suite.path("shrinks"), 1000)
        result = gate.wait("long")
        check(result["ok"], "it failed")
        digest = hashlib.sha256()
        mebibytes, rest = divmod(result["result"]["bytes"], 1 << 20)
        for _ in range(mebibytes):
            digest.update(bytes(1 << 20))
        digest.update(bytes(rest))
        check(digest.hexdigest() == result["result"]["sha256"], "the hash is not of as many bytes as are told")
    with suite.case("cancelling a long read") as gate:
        suite.sparse("64g", 64 * GIB)
        suite.start_long_read(gate, "64g")
        started = time.monotonic()
        gate.send_raw(b'{"cancel":"long"}\n')
        expect_error(gate.wait("long", seconds=5), "CANCELLED")
        check(time.monotonic() - started < 1.9, "it was ended by force, or not at all")
    with suite.case("cancelling what is not there") as gate:
        gate.send_raw(b'{"cancel":"nothing"}\n{"cancel":7}\n{"cancel":null}\n')
    with suite.case("two calls with one id") as gate:
        suite.start_long_read(gate, "64g", "twin")
        gate.send("stat", "twin", path="good")
        error = expect_error(gate.wait("twin", seconds=5), INVALID)
        check("twin" in error["message"], f"{error}")
        gate.send_raw(b'{"cancel":"twin"}\n')
        expect_error(gate.wait("twin", seconds=5), "CANCELLED")
        gate.send("stat", "twin", path="good")
        check(gate.wait("twin")["ok"], "the id cannot be used again")
    with suite.own_case("the time limit", env={"TOOL_TIMEOUT_SECS": "1"}) as gate:
        started = time.monotonic()
        gate.refused("TIMEOUT", "read_file", path="64g", hash=True, seconds=8)
        check(0.9 < time.monotonic() - started < 5, f"after {time.monotonic() - started} s")
        suite.works(gate)
    with suite.own_case("the time limit with every thread busy", env={"TOOL_TIMEOUT_SECS": "1"}) as gate:
        ids = [gate.send("read_file", path="64g", hash=True) for _ in range(40)]
        for call_id in ids:
            expect_error(gate.wait(call_id, seconds=10), "TIMEOUT")
        suite.works(gate)


def grown(suite, gate):
    piece = bytes(range(256)) * 4096
    path = suite.write("grows", piece * 64)
    stop = threading.Event()

    def grow():
        with open(path, "ab") as file:
            while not stop.is_set() and file.tell() < GIB:
                file.write(piece)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        results = [gate.ok("read_file", path="grows", max_bytes=1000, encoding="base64", hash=True) for _ in range(3)]
    finally:
        stop.set()
        thread.join()
    for result in results:
        whole, rest = divmod(result["bytes"], len(piece))
        digest = hashlib.sha256()
        for _ in range(whole):
            digest.update(piece)
        digest.update(piece[:rest])
        check(digest.hexdigest() == result["sha256"], f"the hash is not of the {result['bytes']} bytes it names")
    path.unlink()


# --- requests


def requests(suite):
    with suite.case("a wrong hash") as gate:
        suite.write("hashed", "one")
        gate.refused("PRECONDITION_FAILED", "write_file", path="hashed", content="two", if_match_sha256="0" * 64)
        gate.refused("PRECONDITION_FAILED", "write_file", path="no-such", content="two", if_match_sha256="0" * 64)
        gate.refused(INVALID, "write_file", path="hashed", content="two", if_match_sha256="xyz")
        check(suite.path("hashed").read_text(encoding="ascii") == "one", "it was written")
        good = hashlib.sha256(b"one").hexdigest()
        gate.ok("write_file", path="hashed", content="two", if_match_sha256=good)
    with suite.case("of 16 writes with one expected hash, one succeeds") as gate:
        suite.write("hashed", "one")
        good = hashlib.sha256(b"one").hexdigest()
        ids = [gate.send("write_file", path="hashed", content=f"by {i}", if_match_sha256=good) for i in range(16)]
        results = [gate.wait(call_id) for call_id in ids]
        check(sum(r["ok"] for r in results) == 1, f"{sum(r['ok'] for r in results)} succeeded")
    with suite.case("wrong types") as gate:
        for value in (7, None, True, [], {}, ["good"], {"path": "good"}):
            gate.refused(INVALID, "read_file", path=value)
        for field, value in [
            ("start_line", "1"),
            ("start_line", 0),
            ("start_line", -5),
            ("start_line", 1.5),
            ("start_line", 1e300),
            ("max_bytes", 1 << 70),
            ("max_bytes", 0),
            ("encoding", "utf16"),
            ("encoding", 1),
        ]:
            error = gate.refused(INVALID, "read_file", path="good", **{field: value})
            check(field in error["message"], f"the field is not named: {error}")
        gate.refused(INVALID, "read_file", path="good", start_line=5, end_line=2)
        gate.refused(INVALID, "write_file", path="x", content=5)
        gate.refused(INVALID, "write_file", path="x", content="x", append="yes")
        gate.refused(INVALID, "write_file", path="x", content="###", encoding="base64")
        check(not suite.path("x").exists(), "it was written")
    with suite.case("unknown fields and tools") as gate:
        error = gate.refused(INVALID, "read_file", path="good", colour="red")
        check("colour" in error["message"], f"{error}")
        gate.refused("UNKNOWN_TOOL", "no_such_tool")
        gate.refused("UNKNOWN_TOOL", "x" * 100_000)
        gate.refused(f"UNKNOWN_TOOL {INVALID}", "")
    for name, line in [
        ("truncated JSON", b'{"id":"1","tool_call":{"name":"read_file","argum'),
        ("no JSON", b"hello"),
        ("binary", bytes(b for b in range(256) if b != 10)),
        ("bytes that are not UTF-8", b'{"id":"1","tool_call":{"name":"read_file","arguments":{"path":"\xff\xfe"}}}'),
        ("half a surrogate pair", b'{"id":"1","tool_call":{"name":"read_file","arguments":{"path":"\\ud800"}}}'),
        ("a key twice", b'{"id":"1","tool_call":{"name":"read_file","arguments":{"path":"good","path":"../secret"}}}'),
        ("deep JSON", b'{"id":"1","tool_call":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        ("very deep JSON", b"[" * 5_000_000),
        ("deep objects", b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000),
        ("a million small values", b"[" + b"0," * 1_000_000 + b"0]"),
        ("JSON that is no object", b"[1,2,3]"),
        ("an empty object", b"{}"),
        ("two objects on a line", b'{"id":"1"}{"id":"2"}'),
        ("a comment", b'{"id":"1"} // hello'),
        ("NaN", b'{"id":NaN}'),
        ("an id that is an object", b'{"id":{},"tool_call":{"name":"stat","arguments":{"path":"good"}}}'),
        ("an id of 100 KB", b'{"id":"' + b"i" * 100_000 + b'","tool_call":{"name":"time.now","arguments":{}}}'),
        ("arguments that are text", b'{"id":null,"tool_call":{"name":"stat","arguments":"path"}}'),
        ("a name that is a number", b'{"id":null,"tool_call":{"name":3,"arguments":{}}}'),
    ]:
        with suite.case(f"a line with {name}") as gate:
            gate.send_raw(line + b"\n")
            answer = gate.any_answer(seconds=10)
            expect_error(answer["result"], f"{INVALID} TOO_LARGE")
    with suite.case("empty lines are no calls") as gate:
        gate.send_raw(b"\n\n  \n\r\n")
    with suite.case("a NUL in content is content") as gate:
        gate.ok("write_file", path="nul", content="a\0b")
        check(suite.path("nul").read_bytes() == b"a\0b", "cut at the NUL")
    with suite.case("a line of 100 MB") as gate:
        gate.send_raw(b'{"id":"1","tool_call":{"name":"write_file","arguments":{"path":"huge","content":"', seconds=60)
        for _ in range(100):
            gate.send_raw(b"x" * 1_000_000, seconds=60)
        gate.send_raw(b'"}}}\n', seconds=60)
        error = expect_error(gate.any_answer(seconds=30)["result"], "TOO_LARGE")
        check("33554432" in error["message"], f"the limit is not named: {error}")
        check(not suite.path("huge").exists(), "it was written")
    with suite.case("a line of 100 MB without an end, then the end of input, is answered"):
        with Gate(suite.form, workspace=suite.folder) as gate:
            for _ in range(100):
                gate.send_raw(b"x" * 1_000_000, seconds=60)
            gate.close_input()
            answers = gate.drain(seconds=30)
            check(len(answers) == 1, f"{len(answers)} answers")
            expect_error(answers[0]["result"], "TOO_LARGE")


# --- many and much at once


def volume(suite):
    content = "0123456789abcdef" * (1 << 16)
    suite.write("1m", content)
    with suite.own_case("a write of 17 MB", memory=250) as gate:
        body = "y" * 17_000_000
        result = gate.call("write_file", path="17m", content=body, seconds=30)
        if result["ok"]:
            check(suite.path("17m").read_text(encoding="ascii") == body, "the file is not what was sent")
        else:
            expect_error(result, "TOO_LARGE")
        suite.works(gate)
    with suite.own_case("a write over the limit", memory=250) as gate:
        suite.write("kept", "old")
        config = suite.form.write(suite.form.base / "small.json", '{"files":{"maxWriteBytes":1000}}')
        gate.send_raw(gate.line("write_file", {"path": "kept", "content": "z" * 34_000_000})[1])
        expect_error(gate.any_answer()["result"], "TOO_LARGE")
        with Gate(suite.form, "--config", config, workspace=suite.folder) as small:
            small.refused("TOO_LARGE", "write_file", path="kept", content="z" * 1001)
            small.ok("write_file", path="kept", content="z" * 1000)
        suite.works(gate)
    with suite.own_case("answers that nobody reads for a while are all there afterwards") as gate:
        unread_answers(gate, content, 400)
    with suite.own_case("small answers that nobody reads for a while") as gate:
        lines = [gate.line("stat", {"path": "good"})[1] for _ in range(20_000)]
        feeder = threading.Thread(target=feed, args=(gate.into, b"".join(lines)))
        feeder.start()
        wait_quiet(gate.pid)
        gate.check_memory()
        answers = 0
        while answers < len(lines):
            gate.pump(until=lambda: gate.answers)
            check(all(a["result"]["ok"] for a in gate.answers), "a call failed")
            answers += len(gate.answers)
            gate.answers.clear()
        feeder.join()
    with suite.own_case("input that ends does not cost an answer") as gate:
        ids = [gate.send("read_file", path="1m", max_bytes=1 << 20) for _ in range(8)]
        ids += [gate.send("stat", path="good") for _ in range(8)]
        gate.send_raw(gate.line("stat", {"path": "good"}, "last")[1].rstrip())  # without its newline
        gate.close_input()
        answers = gate.drain(seconds=20)
        check({a["id"] for a in answers} == {*ids, "last"}, f"only {sorted(a['id'] for a in answers)}")
        check(all(a["result"]["ok"] for a in answers), "a call failed")
        check(gate.wait_exit() == 0, "it did not end well")


def feed(fd, data):
    os.set_blocking(fd, True)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:65536]) :]


def wait_quiet(pid):
    """Until a process has used no time for a while."""
    last, since = -1, time.monotonic()
    end = since + 20
    while time.monotonic() - since < 0.5 and time.monotonic() < end:
        now = lib.cpu_ticks(pid)
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.02)


def unread_answers(gate, content, count):
    lines = [gate.line("read_file", {"path": "1m", "max_bytes": 1 << 20}) for _ in range(count)]
    feeder = threading.Thread(target=feed, args=(gate.into, b"".join(line for _, line in lines)))
    feeder.start()
    wait_quiet(gate.pid)
    peaks = gate.peak_mb()
    missing = {call_id for call_id, _ in lines}
    while missing:
        gate.pump(until=lambda: gate.answers)
        for answer in gate.answers:
            check(answer["result"]["ok"] and answer["result"]["result"]["content"] == content, "a call failed")
            missing.remove(answer["id"])
        gate.answers.clear()
    feeder.join()
    # What sanitizers keep of memory that was freed is theirs.
    check(lib.SANITIZED or sum(peaks.values()) < lib.PEAK_MB, f"memory while nobody read: {peaks} MB")


# --- ending


def endings(suite):
    with suite.own_case("a caller that goes away in the middle of its answers") as gate:
        suite.works(gate)
        cell = gate.cell()
        for _ in range(64):
            gate.pump(gate.line("read_file", {"path": "1m", "max_bytes": 1 << 20})[1], reading=False)
        gate.process.stdout.close()
        gate.process.stdin.close()
        gate.process.stdin = None
        gate.wait_exit()
        gate.closed = True
        wait_until(lambda: not any(lib.alive(p) for p in cell), "the cell ended with its gate")
    with suite.own_case("a caller that only stops listening") as gate:
        suite.works(gate)
        cell = gate.cell()
        gate.process.stdout.close()
        with contextlib.suppress(lib.Gone):
            for _ in range(64):
                gate.pump(gate.line("read_file", {"path": "1m", "max_bytes": 1 << 20})[1], reading=False)
        gate.wait_exit()
        gate.closed = True
        wait_until(lambda: not any(lib.alive(p) for p in cell), "the cell ended with its gate")
    for name, number in (("SIGTERM", signal.SIGTERM), ("SIGINT", signal.SIGINT)):
        with suite.own_case(f"{name} ends the gate with its cell") as gate:
            suite.start_long_read(gate, "64g")
            cell = gate.cell()
            gate.kill(number)
            answers = gate.drain(seconds=8)
            check([a["id"] for a in answers] == ["long"], f"{answers}")
            expect_error(answers[0]["result"], "CANCELLED")
            gate.wait_exit()
            wait_until(lambda: not any(lib.alive(p) for p in cell), "the cell ended with its gate")
    config = suite.form.write(suite.form.base / "large.json", json.dumps({"files": {"maxWriteBytes": GIB}}))
    with suite.own_case("a write cut off by SIGTERM leaves no temporary file", "--config", config) as gate:
        size = 400 << 20
        suite.sparse("append-here", size)
        gate.send("write_file", path="append-here", content="x", append=True)
        wait_until(lambda: list(suite.folder.glob(".sgt-*")), "the write begins")
        gate.kill(signal.SIGTERM)
        answers = gate.drain(seconds=8)
        gate.wait_exit()
        # On a busy machine the write may be done before the signal arrives; then it is whole.
        done = answers[0]["result"]["ok"]
        if not done:
            expect_error(answers[0]["result"], "CANCELLED")
        check(suite.path("append-here").stat().st_size == size + done, "half written")
        # Where the disk was too slow to stop in time, the next gate removes it.
        with Gate(suite.form, workspace=suite.folder) as other:
            suite.works(other)
            wait_until(lambda: not list(suite.folder.glob(".sgt-*")), "no temporary file after the next call")


# --- disks


def disks(suite):
    form = suite.form
    place = form.folder("disk")
    with suite.tap.case(f"{form.name}: a full disk keeps the old file"), lib.tmpfs(form, place, "2m"):
        old = "o" * 1_200_000
        write_as_owner(form, place / "file", old)
        write_as_owner(form, place / "good", "good\n")
        with Gate(form, workspace=place) as gate:
            for more in ({}, {"append": True}):
                error = gate.refused("DISK_FULL", "write_file", path="file", content="n" * 1_300_000, **more)
                check("nothing was changed" in error["message"], f"{error}")
            gate.refused("DISK_FULL", "write_file", path="new/folder/file", content="n" * 1_300_000)
            check((place / "file").read_text(encoding="ascii") == old, "the old file is not what it was")
            check(not list(place.rglob(".sgt-*")), "a temporary file is left")
            gate.ok("write_file", path="small", content="fits")
            suite.works(gate)
            gate.check_memory()
    with suite.tap.case(f"{form.name}: a read-only disk"), lib.tmpfs(form, place, "1m"):
        write_as_owner(form, place / "good", "good\n")
        lib.make_read_only(place)
        with Gate(form, workspace=place) as gate:
            suite.works(gate)
            gate.refused("READ_ONLY", "write_file", path="good", content="x")
            gate.refused("READ_ONLY", "write_file", path="new", content="x")
            gate.refused("READ_ONLY", "write_file", path="new/folder/file", content="x")
            suite.works(gate)
    home = form.folder("full-home")
    with suite.tap.case(f"{form.name}: an audit log without room refuses calls"), state_on_tmpfs(form, home, "1m"):
        full_audit(suite, home)


def write_as_owner(form, path, text):
    path.write_text(text, encoding="ascii")
    if AM_ROOT:
        os.chown(path, form.uid or lib.PLAIN_UID, form.uid or lib.PLAIN_UID)


@contextlib.contextmanager
def state_on_tmpfs(form, home, size):
    with lib.tmpfs(form, home, size):
        if AM_ROOT:
            os.chown(home, form.uid, form.uid)
        yield


def full_audit(suite, home):
    with Gate(suite.form, workspace=suite.folder, state=home) as gate:
        suite.works(gate)
        filler = os.open(home / "filler", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(filler, b"x" * 4096):
                pass
        os.close(filler)
        refused = 0
        for number in range(200):  # a page of the log may still have room
            result = gate.call("write_file", path=f"unrecorded-{number}", content="x")
            if result["ok"]:
                check(not refused, "a call ran after one was refused for want of room")
            else:
                expect_error(result, "DISK_FULL")
                refused += 1
                check(not suite.path(f"unrecorded-{number}").exists(), "it was done without its record")
        check(refused > 50, f"only {refused} of 200 calls were refused")
        expect_error(gate.call("read_file", path="good"), "DISK_FULL")
        os.unlink(home / "filler")
        suite.works(gate)
        gate.check_memory()
        gate.close_input()
        check(gate.wait_exit() == 0, "it did not end well")
        kinds = [r["kind"] for r in lib.audit_records(gate.state)]
        check(kinds[-1] == "gate.stop", f"{kinds[-3:]}")


# --- the state folder


def start_fails(suite, home, expected):
    with Gate(suite.form, workspace=suite.folder, state=home) as gate:
        code = gate.wait_exit()
        check(code == 2, f"exit status {code}")
        check(expected in gate.said(), f"not clear: {gate.said()}")


def state_folder(suite):
    form = suite.form
    for mode in (0o755, 0o750, 0o707):
        with suite.tap.case(f"{form.name}: a state folder of mode {mode:o} is refused"):
            home = form.folder(f"open-home-{mode:o}", 0o700)
            form.folder(f"open-home-{mode:o}/sandgate", mode)
            start_fails(suite, home, "must be yours alone")
    with suite.tap.case(f"{form.name}: a state folder of someone else is refused"):
        home = form.folder("foreign-home", 0o755)
        if AM_ROOT:
            folder = form.folder("foreign-home/sandgate", 0o700)
            os.chown(folder, 12345, 12345)
            start_fails(suite, home, "must be yours alone" if form.is_root else "Permission denied")
        else:
            os.symlink("/root" if os.path.isdir("/root") else "/", home / "sandgate")
            start_fails(suite, home, "the state folder")
    with suite.tap.case(f"{form.name}: a state folder that cannot be written is refused"):
        home = form.folder("closed-home", 0o755)
        with lib.tmpfs(form, home, "1m"):
            folder = home / "sandgate"
            folder.mkdir(mode=0o700)
            if AM_ROOT:
                os.chown(folder, form.uid, form.uid)
            lib.make_read_only(home)
            start_fails(suite, home, "cannot be opened (Read-only file system)")
    with suite.tap.case(f"{form.name}: a workspace that is not there, or is a file"):
        for path, expected in ((suite.folder / "no-such", "no-such"), (suite.folder / "good", "good")):
            with Gate(form, workspace=path) as gate:
                check(gate.wait_exit() == 2 and expected in gate.said(), f"not clear: {gate.said()}")
    with suite.tap.case(f"{form.name}: settings of the workspace that cannot be read stop every call"):
        folder = form.folder("area/bad-settings")
        form.write(folder / "sandgate.json", "{ broken")
        form.write(folder / "good", "good\n")
        with Gate(form, workspace=folder) as gate:
            error = gate.refused("POLICY_DENIED", "read_file", path="good")
            check("sandgate.json" in error["message"], f"{error}")
            form.write(folder / "sandgate.json", "{}")
            suite.works(gate)
    with suite.tap.case(f"{form.name}: settings of the workspace that are a FIFO or a link to outside stop every call"):
        for make in (os.mkfifo, lambda path: os.symlink(suite.area / "secret", path)):
            settings = form.base / "area/bad-settings/sandgate.json"
            settings.unlink()
            make(settings)
            form.own(settings)
            with Gate(form, workspace=settings.parent) as gate:
                error = gate.refused("POLICY_DENIED", "read_file", path="good")
                check("sandgate.json" in error["message"], f"{error}")


PARTS = [paths, names_not_utf8, links, swapped_folder, special_files, changes, large_files, requests, volume, endings]
PARTS += [disks, state_folder]


def main():
    tap = lib.Tap()
    found = lib.forms()
    lib.own_mounts()
    for form in found:
        suite = Suite(tap, form)
        for part in PARTS:
            part(suite)
        suite.gate.end()
    tap.done()


if __name__ == "__main__":
    main()
