#!/usr/bin/env python3
"""docs/AGENTS.md shows what `sandgate setup` writes, and its commands run."""
import json
import re
import subprocess
import tomllib

import lib
from lib import check

PAGE = (lib.ROOT / "docs/AGENTS.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```(\w*)\n(.*?)```\n", re.S)
TITLES = {"Claude Code": "claude", "Codex": "codex", "Gemini CLI": "gemini", "opencode": "opencode", "Copilot CLI": "copilot",
          "Cursor": "cursor", "Cline": "cline", "Qwen Code": "qwen"}  # fmt: skip
READ = {"json": json.loads, "toml": tomllib.loads}


class Place:
    def __init__(self, form):
        self.form = form
        self.count = 0

    def fresh(self):
        self.count += 1
        self.project = self.form.folder(f"{self.count}/project")
        self.home = self.form.folder(f"{self.count}/home", 0o700)
        tools = self.form.folder(f"{self.count}/bin")
        self.form.link(tools / "sandgate", self.form.binary)
        self.env = lib.environment(self.home, {"HOME": str(self.home), "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin"})

    def run(self, command):
        done = subprocess.run(["sh", "-c", command], cwd=self.project, env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False, **self.form.identity())  # fmt: skip
        check(done.returncode == 0, f"{command}: {done}")
        return done.stdout


def sections():
    for part in PAGE.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        yield title, text


def blocks_are_what_setup_writes(place):
    seen = set()
    for title, text in sections():
        shown = [READ[kind](body) for _, kind, body in BLOCK.findall(text) if kind in READ]
        if title not in TITLES:
            check(not shown, f"{title}: whose configuration is that?")
            continue
        place.fresh()
        place.run(f"sandgate setup {TITLES[title]} --write")
        made = [path for top in (place.project, place.home) for path in top.rglob("*")
                if path.suffix in (".json", ".toml") and path.is_file()]  # fmt: skip
        written = [READ[path.suffix[1:]](path.read_text(encoding="utf-8")) for path in made]
        check(len(shown) == len(written) and all(one in written for one in shown), f"{title}: {written}, not {shown}")
        for path in made:
            name = path.relative_to(place.project if path.is_relative_to(place.project) else place.home)
            check(f"{name}`" in text, f"{title} does not name {name}")
        seen.add(title)
    check(seen == set(TITLES), f"not on the page: {set(TITLES) - seen}")


def commands_run(place):
    place.fresh()
    ran = 0
    for skipped, kind, body in BLOCK.findall(PAGE):
        lines = body.splitlines()
        if skipped or kind:
            continue
        check(all(line.startswith("$ ") for line in lines), f"no command: {lines}")
        for line in lines:
            place.run(line[2:])
            ran += 1
    check(ran >= 4, f"{ran} commands")


CASES = (blocks_are_what_setup_writes, commands_run)

lib.run_cases([(case.__name__.replace("_", " "), case) for case in CASES], Place)
