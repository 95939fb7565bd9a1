#!/usr/bin/env python3
"""`sandgate config` and `sandgate help`: what they say is what the tables and the commands say."""
# tier: any
import json
import re

import lib
from lib import check

SETTINGS = {
    "approval": {"default": "approve", "rules": [{"toolName": "bash", "action": "deny"}]},
    "policy": {"enabled": {"fs.read": False}},
    "agents": {"a.b": {"tools": {"fs": {"maxReadBytes": 10}}}},
}


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("config-home", 0o700)

    def run(self, *words, env=None):
        return self.form.run(self.home, *words, env=env)

    def file(self, name, settings):
        return self.form.write(self.home / name, json.dumps(settings))


def settings_are_shown(place):
    file = place.file("good.json", SETTINGS)
    shown = place.run("config", "show", "--json", "--config", file)
    check(shown.returncode == 0, shown)
    check(json.loads(shown.stdout) == json.loads(file.read_text()), shown.stdout)
    # What is shown is a configuration that sets the same.
    again = place.form.write(place.home / "again.json", shown.stdout)
    check(place.run("config", "show", "--json", "--config", again).stdout == shown.stdout, "shown again")
    lines = place.run("config", "show", "--config", file).stdout.decode().splitlines()
    check('approval.default = "approve"' in lines and "policy.enabled.fs.read = false" in lines, lines)
    check('approval.rules = [{"toolName":"bash","action":"deny"}]' in lines, lines)


def the_environment_is_a_part_of_it(place):
    shown = place.run("config", "show", env={"SANDGATE_APPROVAL_DEFAULT": "prompt"})
    check(shown.stdout == b'approval.default = "prompt"\n', shown)
    check(b"everything has its default" in place.run("config", "show", env={"SANDGATE_APPROVAL_DEFAULT": None}).stdout, "unset")


def mistakes_are_found(place):
    check(place.run("config", "check", place.file("ok.json", {})).returncode == 0, "an empty one")
    for settings, said in (
        ({"approval": {"defualt": "approve"}}, "did you mean default?"),
        ({"approval": {"default": "maybe"}}, "approval.default"),
        ({"approval": {"rules": [{"toolName": "bassh", "action": "deny"}]}}, "bash"),
    ):
        refused = place.run("config", "check", place.file("bad.json", settings))
        check(refused.returncode == 2 and said in refused.stderr.decode(), refused)
    missing = place.run("config", "check", place.home / "none.json")
    check(missing.returncode == 2 and b"none.json" in missing.stderr, missing)
    rules = [{"toolName": "bash", "action": "deny"}, {"toolName": "bash", "action": "approve"}]
    warned = place.run("config", "check", place.file("twice.json", {"approval": {"rules": rules}}))
    check(warned.returncode == 0 and b"approval.rules[1] has no effect" in warned.stderr, warned)


def fields_are_explained(place):
    all_fields = place.run("config", "explain").stdout.decode()
    fields = re.findall(r"^(\S+)$", all_fields, re.M)
    check(len(fields) > 100 and len(set(fields)) == len(fields), len(fields))
    for field in ("tools.bash.timeoutMs", "agents.*.tools.fs.maxReadBytes", "approval.rules[].action"):
        check(field in fields, field)
    one = place.run("config", "explain", "tools.bash.timeoutMs").stdout.decode()
    check(one.startswith("tools.bash.timeoutMs\n") and "30000" in one and one.count("\n") == 3, one)
    section = place.run("config", "explain", "tools.bash").stdout.decode()
    check(re.findall(r"^(\S+)$", section, re.M) == [f for f in fields if f.startswith("tools.bash.")], section)
    for meant, written in (("approval.timeoutMs", "approval.timeout"), ("approval.default", "aproval.default")):
        said = place.run("config", "explain", written)
        check(said.returncode == 2 and f"did you mean `{meant}`?" in said.stderr.decode(), said)


def commands_are_explained(place):
    listed = place.run("help").stdout.decode()
    check(listed == place.run("--help").stdout.decode(), "the list")
    names = re.findall(r"^  (\w+) +\S", listed, re.M)
    check({"call", "run", "mcp", "config", "help"} <= set(names), names)
    for name in names:
        told, by_option = place.run("help", name), place.run(name, "--help")
        if name != "help":
            check(told.returncode == 0 and told.stdout == by_option.stdout and told.stdout, name)
    for written, meant in (("sesion", "session"), ("polcy", "policy"), ("Run", "run")):
        for words in ((written,), ("help", written)):
            said = place.run(*words)
            check(said.returncode == 2 and f"did you mean `{meant}`?" in said.stderr.decode(), said)
    check(b"sandgate --help" in place.run("xyzzyxyzzy").stderr, "nothing is near")
    version = place.run("--version").stdout.decode()
    check(re.fullmatch(r"sandgate \d+\.\d+\.\d+( \([0-9a-f]{7,40}\+?\))?( .*)?\n", version), version)


CASES = (
    settings_are_shown, the_environment_is_a_part_of_it, mistakes_are_found, fields_are_explained,
    commands_are_explained,
)

lib.run_cases([(case.__name__.replace("_", " "), case) for case in CASES], Place)
