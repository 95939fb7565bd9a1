#!/usr/bin/env python3
"""A file that was guarded once stays so where a command moves it, although an exception of the rules holds there: for every
tool, for gates that stay and gates for one call, under changed rules, and when its user saves it anew.
"""

import json
import os

import ran
from lib import check
from ran import Place

SECRET = "KEY=only the user knows"
GOOD = "the user's\n"
RULES = {"files": {"secret": [".env", "!open/"]}}
KEY = "open/q/.env"
TASKS = "node_modules/p/.vscode/tasks.json"

# For each tool, calls that would read the secret file, and calls that would change the protected one.
READS = {
    "read_file": [{"path": KEY}],
    "search": [{"pattern": "KEY", "path": KEY}, {"pattern": "KEY", "hidden": True, "ignore": False},
               {"pattern": "KEY", "path": "open/q", "hidden": True, "ignore": False}],
    "edit_file": [{"path": KEY, "edits": [{"old_text": "KEY", "new_text": "x"}]}],
    "move": [{"from": KEY, "to": "open/mine"}],
    "update_frontmatter": [{"path": KEY, "update": {"a": {"set": 1}}}],
}
CHANGES = {
    "write_file": [{"path": TASKS, "content": "mine"}, {"path": "node_modules/p/.vscode/new", "content": "mine"},
                   {"path": TASKS, "content": "mine", "append": True}],
    "edit_file": [{"path": TASKS, "edits": [{"old_text": "the", "new_text": "x"}]}],
    "delete": [{"path": TASKS}, {"path": "node_modules/p", "recursive": True}],
    "move": [{"from": TASKS, "to": "mine"}, {"from": "a.txt", "to": TASKS, "overwrite": True}],
    "make_directory": [{"path": "node_modules/p/.vscode/new"}],
    "update_frontmatter": [{"path": TASKS, "update": {"a": {"set": 1}}}],
}
# These neither give out content nor change a file. Commands have covers of their own.
OTHERS = {"list_files", "stat", "run_command", "read_output", "session_diff", "time.now"}


class Moved(Place):
    """A workspace in which a command moved a secret and a protected file to where exceptions hold."""

    def __init__(self, form, name):
        super().__init__(form, name, RULES)
        self.put("q/.env", SECRET + "\n")
        self.put("p/.vscode/tasks.json", GOOD)
        self.put("a.txt")
        for folder in ("open", "node_modules"):
            self.put(f"{folder}/a.txt")
        with self.gate() as gate:
            value = gate.call("run_command", command="mv q open/q && mv p node_modules/p")
            check(value["ok"] and value["result"]["exit_code"] == 0, value)

    def use_rules(self, secret):
        self.options[1].write_text(json.dumps({"files": {"secret": secret}}))

    def once(self, tool, args):
        """By a gate for a single call."""
        done = self.form.run(self.home, "call", tool, json.dumps(args), *self.options, "--workspace", self.workspace)
        return json.loads(done.stdout)

    def check_unread(self, tell):
        for tool, calls in READS.items():
            for args in calls:
                answer = tell(tool, args)
                check(SECRET not in json.dumps(answer), f"{tool} {args}: {answer}")
                found = answer["ok"] and not answer["result"].get("matches", True)
                check(found or answer["error"]["code"] == "PERMISSION_DENIED", f"{tool} {args}: {answer}")
        check((self.workspace / KEY).read_text().startswith(SECRET), "the secret was changed")

    def check_unchanged(self, tell):
        for tool, calls in CHANGES.items():
            for args in calls:
                answer = tell(tool, args)
                check(not answer["ok"] and answer["error"]["code"] == "PERMISSION_DENIED",
                      f"{tool} {args}: {answer}")
        at = self.workspace / TASKS
        check(at.read_text() == GOOD and os.listdir(at.parent) == ["tasks.json"], "a protected file was changed")

    def check_covered(self):
        """By a command and by tools, of gates of each kind."""
        self.check_unread(self.once)
        with self.gate() as gate:
            self.check_unread(lambda tool, args: gate.call(tool, **args))
            value = gate.call("run_command", command="find . -name .env -exec cat {} +")
            check(value["ok"] and SECRET not in json.dumps(value), value)
            self.check_unread(lambda tool, args: gate.call(tool, **args))


def every_tool(form):
    """each tool is in one of the tables, and none reads or changes such a file"""
    place = Moved(form, "tools")
    tools = {t["name"] for t in json.loads(form.run(place.home, "tools", "--format", "anthropic").stdout)}
    known = {*READS, *CHANGES, *OTHERS}
    check({t.replace(".", "_") for t in known} == {t.replace(".", "_") for t in tools}, f"{known ^ tools}")
    place.check_covered()
    place.check_unchanged(place.once)
    with place.gate() as gate:
        place.check_unchanged(lambda tool, args: gate.call(tool, **args))


def other_rules(form):
    """when the rules change and still name it elsewhere it stays guarded, and when they are put back"""
    place = Moved(form, "rules")
    for secret in ([".env", "!open/", "more"], ["other"], [".env", "!open/"]):
        place.use_rules(secret)
        if ".env" in secret:
            place.check_covered()
        else:
            with place.gate() as gate:
                gate.ok("run_command", command="true")
    place = Moved(form, "own")
    place.put("sandgate.json", '{"files": {"secret": ["other"]}}')
    place.check_covered()


def new_exception(form):
    """where it lay when the rules named it, a new exception opens it"""
    place = Place(form, "opened", {"files": {"secret": [".env"]}})
    place.put("free/.env", "shown\n")
    with place.gate() as gate:
        gate.ok("run_command", command="true")
    place.options[1].write_text(json.dumps({"files": {"secret": [".env", "!free/"]}}))
    for _ in range(2):
        with place.gate() as gate:
            check(gate.ok("read_file", path="free/.env")["content"] == "shown\n", "a tool")
            check(gate.ok("run_command", command="cat free/.env")["stdout"] == "shown\n", "a command")


def saved_anew(form):
    """what its user puts in its place by renaming is guarded, too"""
    place = Moved(form, "saved")
    with place.gate() as gate:
        gate.ok("run_command", command="true")
        place.put("open/q/new", SECRET + " anew\n")
        os.rename(place.workspace / "open/q/new", place.workspace / KEY)
        place.check_unread(lambda tool, args: gate.call(tool, **args))
    place.check_covered()
    place.check_covered()


def folder_of_an_exception(form):
    """an exception for a file does not open a folder of that name: also what its user makes there later is secret"""
    place = Place(form, "named")
    place.put("sub/.env", SECRET)
    place.put("deep/sub/id_rsa", SECRET)
    place.put("plain/.env.example", "shown\n")
    form.link(place.workspace / "plain/.env.sample", ".env.example")
    with place.gate() as gate:
        gate.ok("run_command", command="mv sub .env.example && mv deep .env.local.sample")
    for path in (".env.example/.env", ".env.local.sample/sub/id_rsa", ".env.example/other"):
        place.put("new", SECRET)
        os.rename(place.workspace / "new", place.workspace / path)
    with place.gate() as gate:
        for path in (".env.example/.env", ".env.local.sample/sub/id_rsa", ".env.example/other"):
            gate.refused("PERMISSION_DENIED", "read_file", path=path)
            value = gate.ok("run_command", command=f"cat {path}; true")
            check(SECRET not in json.dumps(value), value)
        for path in ("plain/.env.example", "plain/.env.sample"):
            check(gate.ok("read_file", path=path)["content"] == "shown\n", path)
            check(gate.ok("run_command", command=f"cat {path}")["stdout"] == "shown\n", path)
        gate.refused("PERMISSION_DENIED", "make_directory", path=".env.dist")


def renamed_workspace(form):
    """under another path the workspace is still known"""
    place = Moved(form, "renamed")
    before = place.workspace
    place.workspace = before.with_name("renamed-again")
    os.rename(before, place.workspace)
    place.check_covered()


if __name__ == "__main__":
    ran.main(every_tool, other_rules, new_exception, saved_anew, folder_of_an_exception, renamed_workspace)
