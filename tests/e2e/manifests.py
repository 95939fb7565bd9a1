#!/usr/bin/env python3
"""Tools that come with a manifest: listed as builtin ones are, held by the same rules; a bad one is named and left out."""

import json

import lib
from lib import check

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string", "description": "What to count."}, "least": {"type": "integer", "minimum": 1}},
}


def manifest(name, **more):
    return {
        "manifest": 1,
        "name": name,
        "version": "1.0.0",
        "description": "Counts words.",
        "input": SCHEMA,
        "module": "tool.wasm",
        "sha256": "0" * 64,
        **more,
    }


class Place:
    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(name)
        self.tools = form.folder(f"{name}/tools")
        self.workspace = form.folder(f"{name}/workspace")

    def add(self, name, text, folder=None):
        place = (folder or self.tools) / name
        self.form.folder(place.relative_to(self.form.base))
        text = text if isinstance(text, str) else json.dumps(text)
        return self.form.write(place / "manifest.json", text)

    def config(self, **more):
        path = self.home / "config.json"
        runtime = {"toolFolders": [str(self.tools)], **more.pop("runtime", {})}
        self.form.write(path, json.dumps({"runtime": runtime, **more}))
        return path

    def run(self, *words, **more):
        done = self.form.run(self.home, *words, "--config", self.config(**more))
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def call(self, tool, arguments, **more):
        _, out, err = self.run("call", tool, json.dumps(arguments), "--workspace", self.workspace, **more)
        check(out, err)
        return json.loads(out)


def is_listed(form):
    """in every format, with its schema; only where the dialect may have it, and where it is switched on"""
    at = Place(form, "listed")
    at.add("word.count", manifest("word.count"))
    for format_name, key in (("anthropic", "input_schema"), ("tool_call", "input_schema")):
        tools = {t["name"]: t for t in json.loads(at.run("tools", "--format", format_name)[1])}
        name = "word_count" if format_name == "anthropic" else "word.count"
        check(name in tools or "word_count" in tools, f"{format_name}: {sorted(tools)}")
        check((tools.get(name) or tools["word_count"])[key] == SCHEMA, tools)
    functions = json.loads(at.run("tools", "--format", "openai")[1])
    check(any(f["function"]["name"] == "word_count" and f["function"]["parameters"] == SCHEMA for f in functions), functions)
    check("word.count\n  Counts words." in at.run("tools", "--format", "text")[1], "text")
    for dialect in ("sidecar", "system", "toolhost", "runner"):
        check("word" not in [t["name"][:4] for t in json.loads(at.run("tools", "--dialect", dialect)[1])], f"{dialect} has its own tools alone")
    off = at.run("tools", "--format", "text", policy={"enabled": {"word.count": False}})[1]
    check("read_file\n" in off and "word.count" not in off, "switched off")


def arguments_are_checked(form):
    """before anything else, and by the schema"""
    at = Place(form, "arguments")
    at.add("word.count", manifest("word.count"))
    for arguments, field, reason in (
        ({}, "text", "missing"),
        ({"text": 1}, "text", "type"),
        ({"text": "a", "least": 0}, "least", "range"),
        ({"text": "a", "more": 1}, "more", "unknown"),
    ):
        error = at.call("word.count", arguments)["error"]
        check(error["code"] == "INVALID_ARGUMENTS", error)
        check((error["details"]["field"], error["details"]["reason"]) == (field, reason), error)


def rules_hold(form):
    """rules know it and its arguments by name; a name that no tool bears stays an error"""
    at = Place(form, "rules")
    at.add("word.count", manifest("word.count"))
    rule = {"toolName": "word.count", "action": "deny", "condition": {"text": {"glob": "secret*"}}}
    error = at.call("word_count", {"text": "secrets"}, approval={"rules": [rule]})["error"]
    check(error["code"] == "POLICY_DENIED" and "approval.rules[0]" in error["message"], error)
    status, _, err = at.run("config", "check", approval={"rules": [{"toolName": "word.size", "action": "deny"}]})
    check(status != 0 and "word.size" in err and "optional" in err, err)
    status, _, err = at.run(
        "config", "check", approval={"rules": [{"toolName": "word.size", "action": "deny", "optional": True}]}
    )
    check(status == 0, err)


def a_bad_one_is_named(form):
    """by its field; the others work"""
    at = Place(form, "bad")
    at.add("good", manifest("good"))
    at.add("broken", "{")
    at.add("greedy", manifest("greedy", capabilities={"gpu": {}}))
    at.add("clever", manifest("clever", input={**SCHEMA, "properties": {"a": {"pattern": "x"}}}))
    at.add("other", manifest("another"))
    at.add("read_file", manifest("read_file"))
    at.add("open", manifest("open")).chmod(0o666)
    form.link(at.tools / "linked", at.tools / "good")
    form.folder("bad/tools/empty")
    _, out, err = at.run("tools", "--format", "text")
    check("good\n" in out, out)
    for words in (
        ("broken", "no JSON"),
        ("greedy", "capabilities:", "no other"),
        ("clever", "input.properties.a.pattern", "not understood"),
        ("other", "name: must be `other`"),
        ("read_file", "another tool is called so"),
        ("open", "chmod go-w"),
        ("linked", "manifest.json"),
    ):
        line = next((text for text in err.splitlines() if f"/{words[0]} " in text), "")
        check(line and all(word in line for word in words), f"{words}: {err}")
    check("/empty" not in err, err)


def never_in_a_workspace(form):
    """a folder that an agent can write in is refused, by its name and through a link"""
    at = Place(form, "reach")
    inside = form.folder("reach/workspace/tools")
    at.add("word.count", manifest("word.count"), inside)
    link = form.link(at.home / "link", inside)
    for folder in (inside, link):
        runtime = {"toolFolders": [str(folder)]}
        status, _, err = at.run("call", "time.now", "--workspace", at.workspace, runtime=runtime)
        check(status != 0 and "runtime.toolFolders" in err and "an agent could change it" in err, err)
    form.write(at.workspace / "sandgate.json", json.dumps({"runtime": {"toolFolders": [str(inside)]}}))
    check(at.call("word.count", {"text": "a"})["error"]["code"] == "UNKNOWN_TOOL", "the workspace has no say")
    at.add("word.count", manifest("word.count"))
    runtime = {"toolFolders": [str(at.tools)]}
    status, _, err = at.run("call", "time.now", "--workspace", at.tools / "word.count", runtime=runtime)
    check(status != 0 and "runtime.toolFolders" in err and "an agent could change" in err, err)


lib.run_cases(
    [
        ("is listed", is_listed),
        ("arguments are checked", arguments_are_checked),
        ("rules hold", rules_hold),
        ("a bad one is named", a_bad_one_is_named),
        ("never in a workspace", never_in_a_workspace),
    ]
)
