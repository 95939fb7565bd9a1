#!/usr/bin/python3
"""Many calls change one file at the same time: every change that was acknowledged is in the file, exactly once.

The calls come from one gate with many in flight, from the owner of a session and a guest, from two gates that know
nothing of each other, and from gates of two dialects. Beside them something else changes or reads the same file.
"""
# tier: any
# timeout: 400

import collections
import re

import lib
from lib import Gate, check

IN_FLIGHT = 24
CALLS = 240 * (5 if lib.SOAK else 1)
LARGE = b"0123456789abcde\n" * (1 << 16)


class Place:
    def __init__(self, form, name, content=None):
        self.form = form
        self.workspace = form.folder(f"{name}-ws")
        self.homes = [form.folder(f"{name}-home{i}", 0o700) for i in (0, 1)]
        self.file = self.workspace / "log"
        if content is not None:
            form.write(self.file, content)

    def gate(self, number=0, *options):
        """One that is warm: it begins with the others."""
        gate = Gate(self.form, *options, workspace=self.workspace, state=self.homes[number])
        gate.call("list_files", path=".")
        return gate


class Load:
    """Calls of one gate, some in flight all the time. Each has a text of its own."""

    def __init__(self, gate, name, make, count):
        self.gate, self.name, self.make = gate, name, make
        self.left = collections.deque(f"{name}.{i}" for i in range(count))
        self.flying = {}
        self.done, self.refused = [], []

    def fill(self):
        while self.left and len(self.flying) < IN_FLIGHT:
            text = self.left.popleft()
            tool, arguments = self.make(text)
            self.flying[self.gate.send(tool, **arguments)] = text

    def take(self):
        self.gate.pump(until=lambda: self.gate.answers)
        for answer in self.gate.answers:
            text, result = self.flying.pop(answer["id"]), answer["result"]
            good = result.startswith("Success") if isinstance(result, str) else result["ok"]
            (self.done if good else self.refused).append((text, result))
        self.gate.answers.clear()


def run(loads):
    while any(load.left or load.flying for load in loads):
        for load in loads:
            load.fill()
        for load in loads:
            if load.flying:
                load.take()


def append(path):
    return lambda text: ("write_file", {"path": path, "content": f"<{text}>\n", "append": True})


def check_all_there(content, loads, may_refuse=()):
    found = collections.Counter(re.findall(rb"<([\w.]+)>", content))
    for load in loads:
        for text, result in load.refused:
            code = result["error"]["code"] if isinstance(result, dict) else result
            check(code in may_refuse, f"{text} was refused: {lib.short(result)}")
        lost = [text for text, _ in load.done if found[text.encode()] != 1]
        check(not lost, f"{load.name}: {len(lost)} of {len(load.done)} acknowledged are not there once: {lost[:5]}")
        check(load.done or may_refuse, f"{load.name}: nothing was done")
    check(sum(found.values()) == sum(len(load.done) for load in loads), "the file has more than was acknowledged")


def appended(place, loads, before):
    run(loads)
    content = place.file.read_bytes()
    check(content.startswith(before), "what was there before is gone")
    check_all_there(content[len(before) :], loads)
    check(sorted(p.name for p in place.workspace.iterdir()) == ["log"], "something is left behind")


def one_gate(form, before):
    place = Place(form, f"one{before is not None}{len(before or b'')}", before)
    with place.gate() as gate:
        appended(place, [Load(gate, "a", append("log"), CALLS)], before or b"")


def owner_and_guest(form, before):
    place = Place(form, f"session{len(before)}", before)
    home = place.homes[0]
    made = form.run(home, "session", "create", "--workspace", place.workspace)
    session = made.stdout.decode().strip()
    with Gate(form, "--session", session, state=home) as owner:
        owner.ok("stat", path="log")
        with Gate(form, "--session", session, state=home) as guest:
            appended(place, [Load(owner, "o", append("log"), CALLS), Load(guest, "g", append("log"), CALLS)], before)


def two_gates(form, before):
    place = Place(form, f"two{before is not None}{len(before or b'')}", before)
    with place.gate(0) as a, place.gate(1) as b:
        appended(place, [Load(a, "a", append("log"), CALLS), Load(b, "b", append("log"), CALLS)], before or b"")


def two_dialects(form):
    place = Place(form, "dialects", b"")
    with place.gate(0) as a, place.gate(1, "--dialect", "runner") as b:
        appended(place, [Load(a, "a", append("log"), CALLS), Load(b, "b", append("log"), CALLS)], b"")


def edit(text):
    return "edit_file", {"path": "log", "edits": [{"old_text": "END", "new_text": f"<{text}>\nEND"}]}


def edits(form):
    """An edit adds its text before the last line; appends go behind it."""
    place = Place(form, "edits", b"begin\nEND\n")
    with place.gate(0) as a, place.gate(1) as b:
        loads = [Load(a, "ae", edit, CALLS), Load(b, "be", edit, CALLS)]
        run(loads)
        check_all_there(place.file.read_bytes(), loads)
        more = [Load(a, "af", edit, CALLS // 2), Load(b, "bf", append("log"), CALLS // 2)]
        run(more)
        check_all_there(place.file.read_bytes(), loads + more)


def frontmatter(form):
    """`artifacts` takes one more unique text with each patch of the toolhost."""
    folders = {name: form.folder(f"patch/{name}") for name in ("project", "pkg", "state")}
    form.write(folders["state"] / "s.md", "---\nartifacts: []\n---\nbody\n")
    options = ["--dialect", "toolhost"] + [x for n, f in folders.items() for x in (f"--{n}", f)]
    homes = [form.folder(f"patch-home{i}", 0o700) for i in (0, 1)]

    def patch(text):
        update = {"artifacts": {"append": f"<{text}>"}}
        return "fs.apply_patch", {"path": "@state/s.md", "patch": {"operation": "updateFrontmatter", "update": update}}

    with Gate(form, *options, state=homes[0]) as a, Gate(form, *options, state=homes[1]) as b:
        loads = [Load(a, "a", patch, CALLS // 2), Load(b, "b", patch, CALLS // 2)]
        run(loads)
        check_all_there((folders["state"] / "s.md").read_bytes(), loads)


def preconditions(form):
    """Of all that expect the same hash one succeeds; so the last hash that was told is the file's."""
    place = Place(form, "if-match", b"0\n")
    with place.gate(0) as a, place.gate(1) as b:
        for turn in range(20):
            known = a.ok("read_file", path="log")["sha256"]

            def write(text, known=known):
                return "write_file", {"path": "log", "content": f"<{text}>\n", "if_match_sha256": known}

            loads = [Load(gate, f"{name}{turn}", write, 6) for gate, name in ((a, "a"), (b, "b"))]
            run(loads)
            done = [text for load in loads for text, _ in load.done]
            check(len(done) == 1, f"{done} all replaced the same file")
            check(place.file.read_text() == f"<{done[0]}>\n", "the file is another's")
            codes = {result["error"]["code"] for load in loads for _, result in load.refused}
            check(codes == {"PRECONDITION_FAILED"}, codes)


def create_only(form):
    place = Place(form, "create")
    with place.gate(0) as a, place.gate(1) as b:

        def create(text):
            number = int(text.split(".")[1]) % 20
            return "write_file", {"path": f"new/{number}", "content": f"<{text}>\n", "create_only": True}

        loads = [Load(a, "a", create, 120), Load(b, "b", create, 120)]
        run(loads)
        content = b"".join(p.read_bytes() for p in sorted((place.workspace / "new").iterdir()))
        check_all_there(content, loads, ("ALREADY_EXISTS",))
        check(len(loads[0].done) + len(loads[1].done) == 20, "not one for each name")


def replaced_meanwhile(form):
    """Whole writes, moves onto the file and deletions beside appends: the file is always one of the possible ones."""
    place = Place(form, "replaced", b"")
    line = re.compile(rb"(=[\w.]+=\n)?(<[\w.]+>\n)*")
    with place.gate(0) as a, place.gate(1) as b:

        def other(text):
            number = int(text.split(".")[1])
            if number % 3 == 0:
                return "write_file", {"path": "log", "content": f"={text}=\n"}
            if number % 3 == 1:
                return "delete", {"path": "log"}
            return "move", {"from": "log", "to": "old/log", "overwrite": True}

        loads = [Load(a, "a", append("log"), CALLS), Load(b, "b", other, CALLS // 2)]
        run(loads)
        for path in (place.file, place.workspace / "old/log"):
            if path.exists():
                check(line.fullmatch(path.read_bytes()), f"{path.name}: {path.read_bytes()[:300]!r}")
        check(not loads[0].refused, f"an append was refused: {loads[0].refused[:1]}")
        codes = {result["error"]["code"] for _, result in loads[1].refused}
        check(codes <= {"NOT_FOUND"}, codes)


def reads_go_on(form):
    """Readers see a whole number of lines, never half a file."""
    place = Place(form, "reads", LARGE)
    with place.gate(0) as a, place.gate(1) as b:
        b.ok("stat", path="log")
        load = Load(a, "a", append("log"), CALLS)
        sizes = []
        while load.left or load.flying:
            load.fill()
            load.take()
            sizes.append(b.ok("read_file", path="log", start_line=1, end_line=1)["bytes"])
        check(sizes == sorted(sizes) and sizes[0] >= len(LARGE), f"the file became shorter: {sizes}")
        check_all_there(place.file.read_bytes()[len(LARGE) :], [load])


def main():
    lib.run_cases(
        [
            ("one gate, no file yet", lambda form: one_gate(form, None)),
            ("one gate, an empty file", lambda form: one_gate(form, b"")),
            ("one gate, a file of 1 MB", lambda form: one_gate(form, LARGE)),
            ("owner and guest, an empty file", lambda form: owner_and_guest(form, b"")),
            ("owner and guest, a file of 1 MB", lambda form: owner_and_guest(form, LARGE)),
            ("two gates, no file yet", lambda form: two_gates(form, None)),
            ("two gates, a file of 1 MB", lambda form: two_gates(form, LARGE)),
            ("two gates of two dialects", two_dialects),
            ("edits of two gates, and appends", edits),
            ("front matter of two gates", frontmatter),
            ("one of those that expect the same file replaces it", preconditions),
            ("one of those that create a file does", create_only),
            ("appends while others replace, move and delete the file", replaced_meanwhile),
            ("reads beside appends", reads_go_on),
        ]
    )


if __name__ == "__main__":
    main()
