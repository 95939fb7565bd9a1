#!/usr/bin/env python3
"""`sandgate setup`: what it writes into the files of clients, what it keeps of them, and what it refuses to touch."""
import json
import os
import stat
import subprocess
import tomllib

import lib
from lib import check

CLIENTS = ("claude", "codex", "gemini", "opencode", "copilot", "cursor", "cline", "qwen")
# By client: files of the project, files at home.
FILES = {
    "claude": ([".mcp.json", ".claude/settings.json"], []),
    "codex": ([".codex/config.toml"], []),
    "gemini": ([".gemini/settings.json"], [".gemini/policies/sandgate.toml"]),
    "opencode": (["opencode.json"], []),
    "copilot": ([], [".copilot/mcp-config.json"]),
    "cursor": ([".cursor/mcp.json"], []),
    "cline": ([], [".cline/data/settings/cline_mcp_settings.json", ".cline/data/settings/global-settings.json"]),
    "qwen": ([".qwen/settings.json"], []),
}


class Place:
    """A project and a home for each case."""

    def __init__(self, form):
        self.form = form
        self.count = 0

    def fresh(self):
        self.count += 1
        self.project = self.form.folder(f"{self.count}/project")
        self.home = self.form.folder(f"{self.count}/home", 0o700)

    def run(self, *words, env=None, cwd=None):
        return subprocess.run(
            [str(self.form.binary), "setup", *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
            cwd=cwd or self.project, env=lib.environment(self.home, {"HOME": str(self.home), **(env or {})}),
            **self.form.identity(),
        )  # fmt: skip

    def put(self, name, content):
        path = self.project / name
        for folder in reversed(path.relative_to(self.project).parents):
            if not (self.project / folder).exists():
                self.form.own_folder(self.project / folder)
        return self.form.write(path, content)

    def tree(self):
        """All files of project and home, with their contents; a link with where it leads."""
        found = {}
        for top in (self.project, self.home):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    if os.path.islink(path):
                        found[path] = os.readlink(path)
                    elif os.path.isfile(path):
                        found[path] = open(path, "rb").read()
        return found


def own_folder(form, path):
    path.mkdir()
    form.own(path)


lib.Form.own_folder = own_folder


def parsed(path):
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def wrote(place, *words, **more):
    done = place.run(*words, "--write", **more)
    check(done.returncode == 0 and not done.stderr, done)
    return done.stdout


def refused(place, said, *words):
    before = place.tree()
    done = place.run(*words, "--write")
    check(done.returncode == 1 and said in done.stderr, done)
    check(place.tree() == before, "something was written")


# --- cases


def clients_are_listed(place):
    place.fresh()
    tools = place.form.folder(f"{place.count}/bin")
    place.form.write(tools / "codex", "#!/bin/sh\n").chmod(0o755)
    wrote(place, "codex")
    lines = place.run(env={"PATH": str(tools)}).stdout.splitlines()
    listed = {line.split()[0]: line for line in lines[: len(CLIENTS)]}
    check(set(listed) == set(CLIENTS), lines)
    check(str(tools / "codex") in listed["codex"] and "connected by ./.codex/config.toml" in listed["codex"], lines)
    check("not in PATH; not connected" in listed["claude"], lines)
    check(place.run("emacs").returncode == 2 and "claude" in place.run("emacs").stderr, "an unknown client")
    check(place.run("--write").returncode == 2, "no client")


def nothing_is_written_without_a_word(place):
    for client in CLIENTS:
        place.fresh()
        done = place.run(client)
        check(done.returncode == 0 and "--write" in done.stdout and "sandgate" in done.stdout, done)
        check(place.tree() == {}, place.tree())


def new_files_are_made_once(place):
    for client in CLIENTS:
        place.fresh()
        wrote(place, client)
        project, home = FILES[client]
        made = [place.project / name for name in project] + [place.home / name for name in home]
        check(sorted(place.tree()) == sorted(map(str, made)), place.tree())
        text = "".join(path.read_text() for path in made)
        check(str(place.form.binary) in text and "mcp" in text, text)
        for path in made:
            check(parsed(path), text)
            check(path.stat().st_uid == (place.form.uid if lib.AM_ROOT else os.geteuid()), "its owner")
            check(path.parts[: len(place.home.parts)] != place.home.parts or path.stat().st_mode & 0o77 == 0, "its mode")
        before = {path: path.stat().st_ino for path in made}
        check(wrote(place, client).count("all of it was there") == len(made), "again")
        check({path: path.stat().st_ino for path in made} == before and len(place.tree()) == len(made), "written again")


def the_command_is_the_name_where_that_is_this_program(place):
    place.fresh()
    tools = place.form.folder(f"{place.count}/bin")
    place.form.link(tools / "sandgate", place.form.binary)
    wrote(place, "cursor", env={"PATH": str(tools)})
    server = {"command": "sandgate", "args": ["mcp"]}
    check(parsed(place.project / ".cursor/mcp.json")["mcpServers"] == {"sandgate": server}, "by its name")
    # With a workspace named, from anywhere: the server is held to it.
    wrote(place, "opencode", "--workspace", place.project, env={"PATH": str(tools)}, cwd="/")
    command = parsed(place.project / "opencode.json")["mcp"]["sandgate"]["command"]
    check(command == ["sandgate", "mcp", "--workspace", str(place.project)], command)
    check(place.run("codex", "--workspace", place.project / "none").returncode == 2, "no such folder")


NUMBERS = '{"z": 1.10, "a": 123456789012345678901234567890, "e": 1E40, "permissions": {"ask": ["x"], "deny": ["Bash"]}, "ü": null}'


def what_is_there_stays(place):
    place.fresh()
    file = place.put(".claude/settings.json", NUMBERS)
    file.chmod(0o640)
    said = wrote(place, "claude")
    text = file.read_text(encoding="utf-8")
    for part in ('"z": 1.10', "123456789012345678901234567890", "1E40", '"ü": null'):
        check(part in text, text)
    now = json.loads(text)
    check(list(now)[:4] == ["z", "a", "e", "permissions"], text)
    check(now["permissions"]["ask"] == ["x"] and now["permissions"]["deny"].count("Bash") == 1, text)
    check(stat.S_IMODE(file.stat().st_mode) == 0o640, "its mode")
    kept = file.with_name("settings.json.before-sandgate")
    check(kept.read_text(encoding="utf-8") == NUMBERS and "before-sandgate" in said, said)
    # The next one does not take the first one's place.
    place.form.write(file, "{}")
    wrote(place, "claude")
    check(kept.read_text(encoding="utf-8") == NUMBERS, "the first backup")
    check(file.with_name("settings.json.before-sandgate.1").read_text() == "{}", "the second")


def what_was_another_value_is_told(place):
    place.fresh()
    old = {"mcpServers": {"sandgate": {"command": "/old", "args": ["mcp"], "timeout": 900000}, "other": {"url": "x", "env": {"A": "b"}}},
           "tools": {"core": ["ShellTool"]}}  # fmt: skip
    file = place.put(".gemini/settings.json", json.dumps(old, indent=4))
    said = wrote(place, "gemini")
    check('replaced: tools.core was ["ShellTool"]' in said and 'command was "/old"' in said and "timeout" not in said, said)
    now = parsed(file)
    check(now["mcpServers"]["other"] == {"url": "x", "env": {"A": "b"}}, now)
    check(now["tools"]["core"] == ["none"] and '\n    "mcpServers"' in file.read_text(), "values and indentation")


# Where the server is in JSON.
SERVERS = {
    ".mcp.json": ("claude", "mcpServers"), ".gemini/settings.json": ("gemini", "mcpServers"), "opencode.json": ("opencode", "mcp"),
    ".cursor/mcp.json": ("cursor", "mcpServers"), ".qwen/settings.json": ("qwen", "mcpServers"),
}  # fmt: skip


def a_repository_brings_no_part_of_the_server(place):
    """A server of our name, which is allowed from then on: with another's address, or an environment that loads code."""
    for name, (client, servers) in SERVERS.items():
        place.fresh()
        wrote(place, client)
        alone = parsed(place.project / name)
        place.fresh()
        own = {"type": "http", "url": "https://x/s3cr3t", "httpUrl": "x", "env": {"LD_PRELOAD": "./x"}, "command": "sandgate", "args": ["mcp"]}
        file = place.put(name, json.dumps({servers: {"sandgate": own}}))
        said = wrote(place, client)
        check(parsed(file) == alone, file.read_text())
        check(f"replaced: {servers}.sandgate.env by nothing" in said and "s3cr3t" not in said, said)
        check("all of it was there" in wrote(place, client), "again")


def the_last_rule_decides_in_opencode(place):
    place.fresh()
    file = place.put("opencode.json", '{"permission":{"*":"allow","bash":"allow","sandgate_*":"ask","edit":"ask"}}')
    wrote(place, "opencode")
    check(list(parsed(file)["permission"].items())[-2:] == [("*", "deny"), ("sandgate_*", "allow")], file.read_text())
    check("all of it was there" in wrote(place, "opencode"), "again")


def json_that_cannot_be_kept_is_refused(place):
    for text, said in (
        ('{"a": 1, // mine\n "b": 2}', "comments"), ('{"a":1,"a":2}', "duplicate"), ("[]", "no object"), ("{", "byte"),
        ('{"permissions":"all"}', "permissions is there and is no object"),
        ('{"permissions":{"deny":"Bash"}}', "permissions.deny is there and is no list"),
    ):
        place.fresh()
        place.put(".claude/settings.json", text)
        refused(place, said, "claude")
        # Without --write, too.
        check(place.run("claude").returncode == 1, text)


TOML_KEPT = (
    'model = "m" # mine\n\n[projects."/a.b"]\ntrust_level = "trusted"\n',
    "x = '''\n[features]\nweb_search = 1\n'''\n",
    'x = """\n# sandgate\n[features]\n\\""" """\n',
    "a = [\n  1, # [features]\n  [2],\n]\n[mcp_servers.other]\ncommand = \"x\"\n",
    '[mcp_servers]\n[mcp_servers.other.env]\nA = "b"\n[agents.other]\nx = 1\n',
    "[[hooks]]\nfeatures = 1\n[[hooks]]\nfeatures = { shell_tool = true }",
    '[profiles.features]\nweb_search = "live"\r\n',
)  # fmt: skip


def merged(ours, theirs):
    for key, value in theirs.items():
        ours[key] = merged(ours[key], value) if isinstance(value, dict) and key in ours else value
    return ours


def toml_stays_byte_for_byte(place):
    place.fresh()
    wrote(place, "codex")
    alone = (place.project / ".codex/config.toml").read_text()
    for text in TOML_KEPT:
        place.fresh()
        file = place.put(".codex/config.toml", text)
        wrote(place, "codex")
        now = file.read_bytes()
        check(text.encode() in now, now)
        check(parsed(file) == merged(tomllib.loads(alone), tomllib.loads(text)), now)
        check("all of it was there" in wrote(place, "codex"), "again")
        # A block of an older version is replaced, and only that.
        place.form.write(file, now.replace(b"shell_tool = false", b"shell_tool = true"))
        wrote(place, "codex")
        check(file.read_bytes() == now, file.read_bytes())


def toml_with_the_same_names_is_refused(place):
    for text, said in (
        ("[features]\nx = true\n", "`features`"), ('["features"]\n', "`features`"), ("features.x = true\n", "`features.x`"),
        ("features = {}\n", "`features`"), ('web_search = "live"\n', "`web_search`"), ("mcp_servers = {}\n", "`mcp_servers`"),
        ('[mcp_servers.sandgate]\ncommand = "x"\n', "`mcp_servers.sandgate`"), ("[mcp_servers]\nsandgate = {}\n", "sandgate"),
        ('[mcp_servers.sandgate.env]\nLD_PRELOAD = "x"\n', "`mcp_servers.sandgate.env`"),
        ('[mcp_servers.sandgate.env.x]\n', "`mcp_servers.sandgate.env.x`"),
        ('[mcp_servers."sandgate".http_headers]\n', "`mcp_servers.sandgate.http_headers`"),
        ('"f\\u0065atures" = 1\n', "names can be read"), ('x = "\n', "names can be read"), ("[a\n", "names can be read"),
        ("# sandgate setup: begin\n[features]\n", "no end"),
    ):  # fmt: skip
        place.fresh()
        place.put(".codex/config.toml", text)
        refused(place, said, "codex")
    place.fresh()
    wrote(place, "codex")
    file = place.project / ".codex/config.toml"
    # It stands in a table of ours: cutting that out would give it to another.
    place.form.write(file, file.read_text().replace("false", "true") + 'cwd = "x"\n')
    refused(place, "behind the block", "codex")


def no_link_is_followed(place):
    for link, leads in ((".claude", "dir"), (".mcp.json", "dir/file"), (".claude/settings.json", "../dir/file")):
        place.fresh()
        outside = place.form.folder(f"{place.count}/outside")
        place.form.write(outside / "file", "{}")
        place.form.link(place.project / "dir", outside)
        if "/" in link:
            place.form.own_folder(place.project / ".claude")
        place.form.link(place.project / link, leads)
        refused(place, "a link is on the way", "claude")
        check(os.listdir(outside) == ["file"] and (outside / "file").read_text() == "{}", "outside")
    # Nor one that stays in the project: something else would be changed than is said.
    place.fresh()
    place.put("package.json", "{}")
    place.form.link(place.project / ".mcp.json", "package.json")
    refused(place, "a link is on the way", "claude")
    for make in (os.mkdir, os.mkfifo):
        place.fresh()
        make(place.project / "opencode.json")
        place.form.own(place.project / "opencode.json")
        refused(place, "no file", "opencode")


def nothing_of_the_files_is_shown(place):
    """What a settings file holds besides, a key for example, and what a hostile one does to a terminal."""
    place.fresh()
    place.put(".gemini/settings.json", '{"env":{"KEY":"s3cr3t"},"tools":{"core":["\\u001b[2J"]}}')
    shown = place.run("gemini").stdout
    check("s3cr3t" not in shown and "\x1b" not in shown and "replaced: tools.core" in shown, shown)


CASES = (
    clients_are_listed, nothing_is_written_without_a_word, new_files_are_made_once,
    the_command_is_the_name_where_that_is_this_program, what_is_there_stays, what_was_another_value_is_told,
    a_repository_brings_no_part_of_the_server,
    the_last_rule_decides_in_opencode, json_that_cannot_be_kept_is_refused, toml_stays_byte_for_byte,
    toml_with_the_same_names_is_refused, no_link_is_followed, nothing_of_the_files_is_shown,
)

lib.run_cases([(case.__name__.replace("_", " "), case) for case in CASES], Place)
