#!/usr/bin/env python3
"""Protected files stay as they are and secret ones unread, by whatever name a tool asks for them."""

import ctypes
import json
import os
import signal
import threading
import time

import lib
from lib import Gate, check

RENAME_EXCHANGE = 2
SECRET = "KEY=only the user knows"
REFUSED = "PERMISSION_DENIED"


class Place:
    """A workspace with a repository and secrets, and what it looked like."""

    def __init__(self, form, name):
        self.form = form
        self.folder = form.folder(name)
        self.put(".git/HEAD", "ref: refs/heads/main\n")
        self.put(".git/config", "[core]\n")
        self.put(".git/hooks/pre-commit", "#!/bin/sh\n")
        self.put(".vscode/settings.json", "{}\n")
        self.put(".env", SECRET + "\n")
        self.put(".env.example", "KEY=\n")
        self.put("tls/server.key", SECRET + "\n")
        self.put(".aws/credentials", SECRET + "\n")
        self.put("src/main.c", "int KEY;\n")
        for link, target in (("env", ".env"), ("repo", ".git"), ("src/up", ".."), ("inside", "/workspace/.git/hooks"),
                             ("pub.key", "src/main.c"), ("dangling", ".git/hooks/post-commit"), ("aws", ".aws")):
            form.link(self.folder / link, target)
        self.before = self.all()

    def put(self, path, text):
        at = self.folder
        for part in path.split("/")[:-1]:
            at = at / part
            if not at.exists():
                at.mkdir()
                self.form.own(at)
        return self.form.write(self.folder / path, text)

    def all(self):
        found = {}
        for top, folders, files in os.walk(self.folder):
            for name in [*folders, *files]:
                path = os.path.join(top, name)
                is_link = os.path.islink(path)
                found[os.path.relpath(path, self.folder)] = (
                    os.readlink(path) if is_link else None if os.path.isdir(path) else open(path, "rb").read()
                )
        return found

    def same(self, but=()):
        now = self.all()
        changed = {path for path in {*now, *self.before} if now.get(path, 0) != self.before.get(path, 0)}
        check(changed == set(but), f"changed: {sorted(changed)}")


def refused(gate, reason, name, **args):
    error = gate.refused(REFUSED, name, **args)
    check(error["details"]["reason"] == reason, f"{name} {args}: {error}")
    check(f"files.{reason}" in error["message"], f"no rule is named: {error}")
    check(SECRET not in json.dumps(error), f"the secret is told: {error}")


SECRET_NAMES = (".env", ".ENV", "env", "src/up/.env", "src/../.env", "/workspace/.env", "tls/server.key", "tls/Server.KEY",
                "pub.key", ".aws/credentials", "aws/credentials", "src/up/aws/credentials")


def secrets_are_not_read(form):
    place = Place(form, "secret")
    # On a file system that knows letters apart these are other files, and secret as well.
    place.put(".ENV", SECRET + "\n")
    place.put("tls/Server.KEY", SECRET + "\n")
    place.before = place.all()
    with Gate(form, workspace=place.folder) as gate:
        for path in SECRET_NAMES:
            refused(gate, "secret", "read_file", path=path)
            refused(gate, "secret", "search", pattern="KEY", path=path)
            refused(gate, "secret", "edit_file", path=path, edits=[{"old_text": "KEY", "new_text": "x"}])
            refused(gate, "secret", "write_file", path=path, content="x")
        for path in (".env", "tls/server.key", "pub.key", ".aws", ".aws/credentials"):
            refused(gate, "secret", "move", **{"from": path, "to": "open.txt"})
            refused(gate, "secret", "delete", path=path, recursive=True)
        refused(gate, "secret", "move", **{"from": "src/main.c", "to": "src/x.key"})
        gate.ok("read_file", path=".env.example")
        gate.ok("read_file", path="src/main.c")
        check(gate.ok("stat", path=".env")["size"] == len(SECRET) + 1, "stat tells that it is there")
        listed = gate.ok("list_files", path=".", hidden=True, recursive=True, ignore=False)
        check({".env", "tls/server.key"} <= {e["path"] for e in listed["entries"]}, f"{listed}")
    place.same()


def searches_pass_them_by(form):
    place = Place(form, "search")
    with Gate(form, workspace=place.folder) as gate:
        for path in (".", "src/up", "aws"):
            found = gate.ok("search", pattern="KEY|only", path=path, hidden=True, ignore=False)
            check("only" not in json.dumps(found["matches"]), f"{path}: {found}")
            check(found["stats"]["skipped"]["unreadable"] == (1 if path == "aws" else 3), f"{path}: {found['stats']}")
        found = gate.ok("search", pattern="KEY", hidden=True)
        check([m["path"] for m in found["matches"]] == [".env.example", "src/main.c"], f"{found}")
    with Gate(form, "--dialect", "sidecar", workspace=place.folder) as gate:
        found = gate.call("search_files", pattern="KEY|only", path=".")
        check("only" not in json.dumps(found), f"{found}")


PROTECTED_NAMES = (".git/config", "repo/config", ".git/hooks/pre-commit", "inside/pre-commit", "src/up/repo/hooks/pre-commit",
                   ".vscode/settings.json")


def protected_files_are_not_changed(form):
    place = Place(form, "protected")
    with Gate(form, workspace=place.folder) as gate:
        for path in PROTECTED_NAMES:
            gate.ok("read_file", path=path)
            refused(gate, "protected", "write_file", path=path, content="x")
            refused(gate, "protected", "edit_file", path=path, edits=[{"old_text": "{", "new_text": "x"}])
            refused(gate, "protected", "delete", path=path)
            refused(gate, "protected", "move", **{"from": path, "to": "mine"})
            refused(gate, "protected", "move", **{"from": "src/main.c", "to": path, "overwrite": True})
        for path in (".git/hooks/new", ".GIT/HOOKS/new", "inside/new/deep", "dangling", "deep/.git/config", "src/.git",
                     ".idea/x", ".bashrc", ".BashRC", "sandgate.json", ".mcp.json", "a/.claude/settings.json"):
            refused(gate, "protected", "write_file", path=path, content="x")
        for path in (".git/hooks/d", "src/.idea", ".ssh"):
            refused(gate, "protected", "make_directory", path=path)
        for path in (".git", "repo/../.git", ".vscode", "src/up/.git"):
            refused(gate, "protected", "delete", path=path, recursive=True)
            refused(gate, "protected", "move", **{"from": path, "to": "old"})
        for source in ("src", "repo"):
            refused(gate, "protected", "move", **{"from": source, "to": "sub/.git"})
            refused(gate, "protected", "move", **{"from": source, "to": ".claude"})
        place.same()
        for path in (".git/HEAD", "repo/HEAD", ".git/index", ".git/objects/new"):
            refused(gate, "protected", "write_file", path=path, content="x")
        gate.ok("write_file", path="home/.bashrc", content="x")
        place.same({"home", "home/.bashrc"})
        place.before = place.all()
    with Gate(form, "--dialect", "sidecar", workspace=place.folder) as gate:
        for path in (".git/hooks/new", "repo/config", ".envrc"):
            answer = gate.call("write_file", path=path, content="x")
            check(not answer.get("ok") and "files.protected" in json.dumps(answer), f"{path}: {answer}")
    place.same()


HELD = {  # a folder, what is guarded in it, and by which list
    "a": ("a/deep/er/.env", "secret"),
    "b": ("b/.vscode/tasks.json", "protected"),
    "c": ("c/sub/.git/config", "protected"),
    "d": ("d/sub/.git", "protected"),
    "e": ("e/x.key/inside", "secret"),
    "f": ("f/.aws/credentials", "secret"),
    "g": ("g/node_modules/m/id_rsa", "secret"),
    "h": ("h/1/.github/workflows/x.yml", "protected"),
}


def folders_with_guarded_entries(form):
    """Not removed as a whole, nor moved to where other rules hold; nothing of them is gone."""
    place = Place(form, "held")
    for folder, (path, _) in HELD.items():
        place.put(path, "x\n")
        for beside in ("0", "zz/1"):
            place.put(f"{folder}/{beside}", "x\n")
    for path in ("bare/r/HEAD", "bare/r/objects/x", "bare/r/refs/x", "common/r/HEAD", "common/r/commondir"):
        place.put(path, "x\n")
    form.link(place.folder / "l", "b")
    form.link(place.folder / "zed", "a")
    place.put("link/x", "")
    form.link(place.folder / "link/.envrc", "x")
    place.put("node_modules/pkg/.vscode/tasks.json", "{}")
    place.before = place.all()
    held = {**HELD, "bare": ("bare/r", "protected"), "common": ("common/r", "protected"), "link": ("link/.envrc", "protected"),
            "src/../a": ("a/deep/er/.env", "secret")}
    with Gate(form, workspace=place.folder) as gate:
        for folder, (path, reason) in held.items():
            refused(gate, reason, "delete", path=folder, recursive=True)
            error = gate.refused(REFUSED, "delete", path=folder, recursive=True)
            check(any(f"`{p}`" in error["message"] for p in (path, os.path.dirname(path))), f"{error}")
            place.same()
        for source, to in (("b", "node_modules/b"), ("node_modules/pkg", "pkg"), ("h", "new/site-packages/h"),
                           ("node_modules", "old")):
            refused(gate, "protected", "move", **{"from": source, "to": to})
            place.same()
        for folder in HELD:
            gate.ok("move", **{"from": folder, "to": f"to/{folder}"})
            gate.ok("move", **{"from": f"to/{folder}", "to": folder})
        gate.ok("delete", path="to")
        place.same()
        # What is not guarded goes as ever.
        gate.ok("delete", path="a/zz", recursive=True)
        gate.ok("delete", path="node_modules/pkg", recursive=True)
        gate.ok("delete", path="l")
    with Gate(form, "--config", form.write(form.base / "held.json", json.dumps({"approval": {"rules": [
            {"toolName": "delete", "action": "prompt"}]}})), workspace=place.folder) as gate:
        # Nobody is asked about what would be refused.
        refused(gate, "protected", "delete", path="b", recursive=True)


def names_behind_links(form):
    """A name that a rule spells out is guarded as well where a link stands for a folder on the way."""
    place = Place(form, "behind")
    place.put("p/config.toml", "x\n")
    place.put("q/config", SECRET + "\n")
    place.put("q/deep/config", SECRET + "\n")
    for link, target in ((".cargo", "p"), (".kube", "way"), ("way", "q"), (".docker", "q/deep")):
        form.link(place.folder / link, target)
    place.before = place.all()
    with Gate(form, workspace=place.folder) as gate:
        gate.ok("read_file", path=".cargo/config.toml")
        for path in (".cargo/config.toml", ".cargo/config", ".cargo/./config.toml", "src/../.cargo/config.toml", ".Cargo/../.cargo/config"):
            refused(gate, "protected", "write_file", path=path, content="x")
        refused(gate, "secret", "read_file", path=".kube/config")
        refused(gate, "secret", "write_file", path=".docker/config.json", content="x")
        for tool, more in (("delete", {}), ("move", {"to": "x"})):
            refused(gate, "protected", tool, **{"from" if tool == "move" else "path": ".cargo/config.toml", **more})
    place.same()


def the_operator_decides(form):
    place = Place(form, "operator")
    config = form.write(form.base / "guards.json", json.dumps({"files": {"protected": ["/src"], "secret": ["*.md", "!a.md"]}}))
    place.put("a.md", "a")
    place.put("b.md", "b")
    with Gate(form, "--config", config, workspace=place.folder) as gate:
        gate.ok("read_file", path=".env")
        gate.ok("read_file", path="a.md")
        gate.ok("write_file", path=".git/hooks/new", content="x")
        gate.ok("move", **{"from": ".vscode", "to": "old"})
        refused(gate, "secret", "read_file", path="b.md")
        refused(gate, "protected", "write_file", path="src/up/src/new.c", content="x")
    form.write(config, json.dumps({"files": {"secret": ["a/[b"]}}))
    done = form.run(form.folder("operator-home", 0o700), "call", "list_files", "{}", "--workspace", place.folder, "--config", config)
    check(done.returncode == 2 and b"files.secret[0]" in done.stderr, f"{done}")


def a_workspace_only_adds(form):
    place = Place(form, "workspace")
    rules = {"files": {"secret": ["src/main.c", "!.env", ".env.example"], "protected": ["!.git/hooks", "docs"]}}
    place.put("sandgate.json", json.dumps(rules))
    with Gate(form, workspace=place.folder) as gate:
        for path in (".env", ".env.example", "src/main.c"):
            refused(gate, "secret", "read_file", path=path)
        for path in (".git/hooks/new", "docs/new"):
            refused(gate, "protected", "write_file", path=path, content="x")
        for text in ("files.secret[1]", "files.protected[0]", "exceptions"):
            check(text in gate.said(), f"{text}: {gate.said()}")


def from_the_first_call_on(form):
    """Also in a cell that takes the place of one that died, and with rules of the workspace's own."""
    place = Place(form, "first")
    for rounds, more in ((40, False), (40, True)):
        if more:
            place.put("sandgate.json", json.dumps({"files": {"secret": ["main.c"]}}))
        for number in range(rounds):
            with Gate(form, workspace=place.folder) as gate:
                time.sleep(number % 10 / 1000)
                refused(gate, "secret", "read_file", path="src/main.c" if more else ".env")
    with Gate(form, workspace=place.folder) as gate:
        refused(gate, "secret", "read_file", path=".env")
        for _ in range(5):
            os.kill(gate.worker(), signal.SIGKILL)
            answers = [gate.call("read_file", path=path) for path in (".env", "src/main.c", ".env", "src/main.c")]
            for answer in answers:
                check(not answer["ok"] and answer["error"]["code"] in (REFUSED, "INTERRUPTED"), f"{answer}")
            check(answers[-1]["error"]["code"] == REFUSED, f"{answers}")


def names_exchanged_meanwhile(form):
    """Someone else swaps a plain file and a link to a secret, and a folder and a link to the hooks, all the time."""
    place = Place(form, "race")
    place.put("plain", "plain")
    place.put("dir/x", "x")
    form.link(place.folder / "hooks", ".git/hooks")
    stop = threading.Event()
    libc = ctypes.CDLL(None, use_errno=True)
    pairs = [[os.fsencode(place.folder / name) for name in pair] for pair in (("plain", "env"), ("dir", "hooks"))]

    def exchange():
        while not stop.is_set():
            for a, b in pairs:
                libc.renameat2(-100, a, -100, b, RENAME_EXCHANGE)

    seen = {"done": 0, REFUSED: 0}
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        with Gate(form, workspace=place.folder) as gate:
            for _ in range(60 if not lib.SOAK else 2000):
                calls = [gate.send("read_file", path=path) for path in ("plain", "env") * 8]
                writes = [gate.send("write_file", path=f"{path}/made", content="x") for path in ("dir", "hooks") * 4]
                for call in [*calls, *writes]:
                    answer = gate.wait(call)
                    check(SECRET not in json.dumps(answer), f"{answer}")
                    seen["done" if answer["ok"] else answer["error"]["code"]] = 1
                check(not (place.folder / ".git/hooks/made").exists(), "it was written among the hooks")
    finally:
        stop.set()
        thread.join()
    check(seen["done"] and seen[REFUSED], f"only {seen}")


CASES = [
    secrets_are_not_read,
    searches_pass_them_by,
    protected_files_are_not_changed,
    folders_with_guarded_entries,
    names_behind_links,
    the_operator_decides,
    a_workspace_only_adds,
    from_the_first_call_on,
    names_exchanged_meanwhile,
]


def main():
    tap = lib.Tap()
    for form in lib.forms():
        for case in CASES:
            with tap.case(f"{form.name}: {case.__name__.replace('_', ' ')}"):
                case(form)
    tap.done()


if __name__ == "__main__":
    main()
