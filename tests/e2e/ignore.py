#!/usr/bin/env python3
"""A list that obeys ignore files shows what git shows: trees and rules made at random, each both ways.

Left out, because they are other than git's on purpose (src/work/ignore.h): names beyond ASCII, where git counts bytes,
and two stars right behind plain characters.
"""
# timeout: 300

import os
import random
import re
import shutil
import subprocess

import lib
from lib import Gate, check

TREES = 20000 if lib.SOAK else 600
BATCH = 50
FILES = 30
NAMES = """a b c ab ba abc A foo bar foo.o bar.o foo.c a.o.c x.y.z .a .foo .o build lib src out #a !b [a] a{b,c} a*b a?b
    a\\b -a ^ ] a] 1 22 a-b""".split() + ["a b", "a ", " ", "a\tb", "a\nb"]
PIECES = """a b c o foo bar . .o .c * * * ? ** *** [ab] [a-c] [!a] [^b] [!a-z] []a] [a-] [[:alpha:]] [[:digit:]1]
    [[:punct:]] [[:upper:][:space:]] [z-a] [b-ac] [a\\]] [\\a-c] \\a \\* \\# \\! \\[ { } , {a,b} - ! # ^ ]""".split()
WHOLE = ["", "# a", "#a", "!", "/", "//", "/*", "*", "!*/", "**", "/**", "**/", "!a", "*/", "a//b", "./a"]
GARBAGE = "aabbco**??[]!-\\/./ #{},^:1"
# Plain characters and then two stars that stand for folders: git takes them for whole components.
FORGOTTEN = re.compile(r"^!?/?[^*?\[\\]*[^*?\[\\/]\*\*+(/|\\/|$)")


def component(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NAMES)
    if kind < 0.5:
        return "**"
    if kind < 0.6:
        return "*" + rng.choice([".o", ".c", "o", "b", ".y.z"])
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 3)))


def rule(rng):
    kind = rng.random()
    if kind < 0.08:
        return "".join(rng.choice(GARBAGE) for _ in range(rng.randint(1, 8)))
    if kind < 0.12:
        return rng.choice(WHOLE)
    text = "/".join(component(rng) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
    text = ("!" if rng.random() < 0.25 else "") + ("/" if rng.random() < 0.25 else "") + text
    return text + rng.choice(["", "", "", "/", "/", " ", "\\ ", "  ", "/**", "\r"])


def rules(rng, most=8):
    lines = [rule(rng) for _ in range(rng.randint(1, most))]
    lines = [line for line in lines if not FORGOTTEN.match(line.rstrip(" \r")) and "\n" not in line]
    return "\n".join(lines) + rng.choice(["\n", "\n", ""])


def make_tree(rng, folder):
    """Random names in random folders. The folders that were made, the first included."""
    folders = [folder]
    for _ in range(rng.randint(0, 8)):
        path = rng.choice(folders) / rng.choice(NAMES)
        if not path.exists():
            path.mkdir()
            folders.append(path)
    for _ in range(FILES):
        path = rng.choice(folders) / rng.choice(NAMES)
        if not path.exists() and not path.is_symlink():
            if rng.random() < 0.05:
                path.symlink_to("a")
            else:
                path.write_bytes(b"")
    return folders


def make(rng, folder):
    """What it was made of, to be shown where the two differ."""
    folders = make_tree(rng, folder)
    said = {}
    places = [folder / ".gitignore"] + [f / ".gitignore" for f in rng.sample(folders, min(len(folders), 2))]
    for place in places[: rng.choice([1, 1, 2, 3])]:
        said[place] = rules(rng)
    if rng.random() < 0.2:
        said[folder / ".git/info/exclude"] = rules(rng, 3)
    git(folder, "init", "-q", "--template=")
    (folder / ".git/info").mkdir()
    for place, text in said.items():
        place.write_bytes((b"\xef\xbb\xbf" if rng.random() < 0.05 else b"") + text.encode())
    return {str(place.relative_to(folder)): text for place, text in said.items()}


def git(folder, *argv):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    return subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, check=True, timeout=30).stdout


def from_git(folder):
    return {os.fsdecode(name) for name in git(folder, "ls-files", "-coz", "--exclude-standard").split(b"\0") if name}


def from_list(gate, name):
    result = gate.ok("list_files", path=name, recursive=True, hidden=True, ignore=True, max_results=100000)
    check(not result["truncated"], "the list is cut")
    shown = {e["path"] for e in result["entries"]}
    check(len(shown) == len(result["entries"]), "a path is there twice")
    return {e["path"].removeprefix(name + "/") for e in result["entries"] if e["type"] != "directory"}


def compare(gate, base, seed):
    rng = random.Random(seed)
    folder = base / f"t{seed}"
    folder.mkdir()
    said = make(rng, folder)
    expected, shown = from_git(folder), from_list(gate, folder.name)
    check(
        expected == shown,
        f"tree {seed}: {said}\nonly git: {sorted(expected - shown)}\nonly the list: {sorted(shown - expected)}",
    )
    shutil.rmtree(folder)
    return len(expected)


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP no git")
        return
    tap = lib.Tap()
    form = lib.forms()[-1]
    base = form.folder("ws")
    with Gate(form, workspace=base) as gate:
        for first in range(0, TREES, BATCH):
            with tap.case(f"trees {first} to {first + BATCH - 1}"):
                files = sum(compare(gate, base, seed) for seed in range(first, first + BATCH))
                check(files > BATCH, f"only {files} files were left in all trees: too few to tell anything")
    tap.done()


if __name__ == "__main__":
    main()
