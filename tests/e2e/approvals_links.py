#!/usr/bin/env python3
"""A path that is a symbolic link: the question and the log name the file that it leads to, and a call that was approved for
that file changes no other."""
# timeout: 300

import json

import lib
from lib import Gate, check, wait_until

HEAD = "---\ncurrentNodeId: one\n---\nbody\n"
UPDATE = {"currentNodeId": {"set": "two"}}

# Dialect, tool, arguments, what the question says of the paths, what the log has for `real` and `realTo`, and the link
# that is turned. `main` is a link to src/real.md, `d` to the folder src.
CALLS = [
    ("native", "write_file", {"path": "main", "content": "x\n"}, "main (leads to src/real.md)", "src/real.md", None, "main"),
    ("native", "write_file", {"path": "d/new/file", "content": "x\n"}, "(leads to src/new/file)", "src/new/file", None, "d"),
    ("native", "edit_file", {"path": "d/real.md", "edits": [{"old_text": "body", "new_text": "soul"}]},
     "d/real.md (leads to src/real.md)", "src/real.md", None, "d"),
    ("native", "update_frontmatter", {"path": "main", "update": UPDATE}, "(leads to src/real.md)", "src/real.md", None, "main"),
    ("native", "delete", {"path": "d/real.md"}, "d/real.md (leads to src/real.md)", "src/real.md", None, "d"),
    ("native", "make_directory", {"path": "d/made/deep"}, "(leads to src/made/deep)", "src/made/deep", None, "d"),
    ("native", "move", {"from": "d/real.md", "to": "plain"}, "d/real.md (leads to src/real.md) -> plain", "src/real.md", None, "d"),
    ("native", "move", {"from": "other/b", "to": "d/deep/b"}, "other/b -> d/deep/b (leads to src/deep/b)", None, "src/deep/b", "d"),
    ("sidecar", "write_file", {"path": "main", "content": "x\n"}, "(leads to src/real.md)", "src/real.md", None, "main"),
    ("runner", "write_file", {"path": "main", "content": "x\n", "append": True}, "(leads to src/real.md)", "src/real.md", None, "main"),
    ("system", "filesystem", {"operation": "write", "path": "main", "content": "x\n"}, "src/real.md)", "src/real.md", None, "main"),
    ("toolhost", "fs.write", {"path": "@project/d/new", "content": "x\n"}, "(leads to @project/src/new)", "@project/src/new", None, "d"),
    ("toolhost", "fs.apply_patch", {"path": "@state/d/real.md", "patch": {"operation": "updateFrontmatter", "update": UPDATE}},
     "(leads to @state/src/real.md)", "@state/src/real.md", None, "d"),
]  # fmt: skip


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("links-home", 0o700)
        self.workspace = form.folder("links-ws", 0o777)
        self.other = form.folder("links-state", 0o777)

    def config(self, action):
        rules = [{"toolName": "*", "action": action}]
        name = self.form.base / f"{action}.json"
        settings = {"approval": {"rules": rules}, "tools": {"filesystem": {"allowedDirectories": [str(self.workspace)], "followSymlinks": True}}}
        self.form.write(name, json.dumps(settings))
        return name

    def fill(self):
        for path in sorted(self.workspace.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for name in ("src", "other"):
            (self.workspace / name).mkdir()
            self.form.own(self.workspace / name)
            self.form.write(self.workspace / name / "real.md", HEAD)
        self.form.write(self.workspace / "other/b", "b\n")
        self.form.link(self.workspace / "main", "src/real.md")
        self.form.link(self.workspace / "d", "src")

    def turn(self, name):
        (self.workspace / name).unlink()
        self.form.link(self.workspace / name, {"main": "other/real.md", "d": "other"}[name])

    def gate(self, dialect, action="prompt", tool=""):
        options = ["--config", self.config(action), "--dialect", dialect]
        if dialect != "toolhost":
            return Gate(self.form, *options, workspace=self.workspace, state=self.home)
        folders = [self.workspace, self.other]
        if tool == "fs.apply_patch":  # works only there
            folders.reverse()
        return Gate(self.form, *options, "--project", folders[0], "--state", folders[1], state=self.home)

    def run(self, *argv):
        return self.form.run(self.home, *argv)

    def waiting(self):
        found = wait_until(lambda: json.loads(self.run("approvals", "--json").stdout), "one that waits")
        return found[0]

    def approve(self, request):
        done = self.run("approve", request)
        check(done.returncode == 0, f"{done.stderr!r}")

    def last(self, kind):
        done = self.run("audit", "show", "--json", "--kind", kind)
        return json.loads(done.stdout.splitlines()[-1])

    def tree(self):
        return {p: p.is_file() and p.read_bytes() for name in ("src", "other") for p in (self.workspace / name).rglob("*")}


def named(place):
    for dialect, tool, arguments, shown, real, real_to, _ in CALLS:
        place.fill()
        with place.gate(dialect, tool=tool) as gate:
            call = gate.send(tool, **arguments)
            asked = place.waiting()
            check(shown in asked["summary"], f"{tool}: {asked['summary']}")
            place.approve(asked["id"])
            gate.wait(call)
            check(place.last("call.outcome")["ok"], f"{tool}: {place.last('call.outcome')}")
        check(shown in place.last("approval.asked")["summary"], f"{tool}: the record of the question")
        for kind in ("call.intent", "call.outcome"):
            ends_as_expected(place.last(kind), tool, real, real_to)


def ends_as_expected(record, tool, real, real_to):
    for key, path in (("real", real), ("realTo", real_to)):
        found = record.get(key)
        check((found or "").endswith(path) if path else found is None, f"{tool}: {key} is {found} in {record}")


def turned(place):
    for dialect, tool, arguments, _, _, _, link in CALLS:
        place.fill()
        with place.gate(dialect, tool=tool) as gate:
            call = gate.send(tool, **arguments)
            asked = place.waiting()
            place.turn(link)
            before = place.tree()
            place.approve(asked["id"])
            gate.wait(call)
            check(place.last("call.outcome").get("code") == "CONFLICT", f"{tool}: {place.last('call.outcome')}")
            check(place.tree() == before, f"{tool}: something was changed")


def became_a_link(place):
    for path, make in (("plain", lambda name: place.form.write(place.workspace / name, HEAD)), ("new", lambda name: None)):
        place.fill()
        make(path)
        with place.gate("native") as gate:
            call = gate.send("write_file", path=path, content="x\n")
            asked = place.waiting()
            check("leads to" not in asked["summary"], asked["summary"])
            (place.workspace / path).unlink(missing_ok=True)
            place.form.link(place.workspace / path, "other/real.md" if path == "plain" else "other/fresh")
            place.approve(asked["id"])
            answer = gate.wait(call)
            check(not answer["ok"] and answer["error"]["code"] == "CONFLICT", f"{path}: {answer}")
        check(not (place.workspace / "other/fresh").exists(), "a file behind the link")


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


# Of a move from other/b to `to`: what the question says, and what is done while it stands.
MOVES = [
    ({"to": "new"}, "(moves a file of 2 bytes)\n(nothing is at the new place)\n", lambda form, ws: form.write(ws / "new", "precious\n")),
    ({"to": "new", "overwrite": True}, "(nothing is at the new place)\n", lambda form, ws: form.write(ws / "new", "precious\n")),
    ({"to": "src/real.md", "overwrite": True}, "(replaces a file of ", lambda form, ws: form.write(ws / "src/real.md", "precious\n")),
    ({"to": "new"}, "(moves a file of 2 bytes)\n", lambda form, ws: form.write(ws / "other/b", "another\n")),
    ({"to": "new"}, "(moves a file of 2 bytes)\n", lambda form, ws: replace_by_folder(ws / "other/b")),
    ({"from": "src", "to": "new"}, "(moves a folder with all that is in it)\n", lambda form, ws: (ws / "src").rename(ws / "old")),
]  # fmt: skip


def moved(place):
    for arguments, shown, change in MOVES:
        for changed in (False, True):
            place.fill()
            with place.gate("native") as gate:
                call = gate.send("move", **{"from": "other/b", **arguments})
                asked = place.waiting()
                detail = json.loads(place.run("approvals", asked["id"], "--json").stdout)["detail"]
                check(shown in detail, f"{arguments}: {detail}")
                if changed:
                    change(place.form, place.workspace)
                place.approve(asked["id"])
                answer = gate.wait(call)
                check(answer["ok"] != changed, f"{arguments}: {answer}")


def unasked(place):
    for dialect, tool, arguments, _, real, real_to, _ in CALLS:
        place.fill()
        with place.gate(dialect, "approve", tool) as gate:
            gate.call(tool, **arguments)
        check(place.last("call.outcome")["ok"], tool)
        ends_as_expected(place.last("call.outcome"), tool, real, real_to)
        line = place.run("audit", "show", "--kind", "call.outcome").stdout.decode().splitlines()[-1]
        check((real or real_to) in line, line)


COMMANDS = [
    ("native", "run_command", {"command": "pwd -P > where", "cwd": "d"}),
    ("sidecar", "run_command", {"command": "pwd -P > where", "cwd": "d"}),
    ("runner", "shell", {"command": "pwd -P > where", "working_directory": "d"}),
    ("system", "bash", {"command": "/bin/touch", "args": ["where"], "cwd": "d"}),
]


def folders(place):
    real = str(place.workspace / "src")
    for dialect, tool, arguments in COMMANDS:
        place.fill()
        with place.gate(dialect) as gate:
            call = gate.send(tool, **arguments)
            asked = place.waiting()
            check(" in d (leads to " in asked["summary"] and "src):" in asked["summary"], asked["summary"])
            place.approve(asked["id"])
            gate.wait(call)
            check((place.workspace / "src/where").exists(), "it ran elsewhere")
            check(place.last("call.intent")["command"]["folder"] == real, place.last("call.intent"))
            check(place.last("call.outcome")["end"]["folder"] == real, place.last("call.outcome"))
            call = gate.send(tool, **arguments)
            asked = place.waiting()
            place.turn("d")
            place.approve(asked["id"])
            answer = gate.wait(call)
            check(not (place.workspace / "other/where").exists(), f"{tool}: it ran in another folder: {answer}")
            check("CONFLICT" in json.dumps(place.last("call.outcome")), place.last("call.outcome"))


def folder_unasked(place):
    place.fill()
    with place.gate("native", "approve") as gate:
        check(gate.call("run_command", command="true", cwd="d")["ok"], "it runs")
        check(place.last("call.outcome")["end"]["folder"] == str(place.workspace / "src"), place.last("call.outcome"))
        check(gate.call("run_command", command="true", cwd="src")["ok"], "it runs")
        check("folder" not in place.last("call.outcome")["end"], place.last("call.outcome"))


CASES = [
    ("the question and the log name the file", named),
    ("a link that is turned while the question stands", turned),
    ("a file that becomes a link", became_a_link),
    ("both ends of a move", moved),
    ("without a question the log names it too", unasked),
    ("the folder of a command", folders),
    ("the folder of a command that nobody is asked about", folder_unasked),
]

lib.run_cases(CASES, Place)
