#!/usr/bin/env python3
"""A static function has a name of its own: a search finds it, and a stack trace tells which one it was. Prints TAP."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
# The line in which its body begins may be another one than that of its name.
FUNCTION = re.compile(r"^static (?:inline )?[^;{}=#]*?\b(\w+)\((?:[^;{}]*)\)\s*\n\{", re.M)
ATTRIBUTE = re.compile(r"\b[A-Z][A-Z_]+\([^()]*\)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def functions(path):
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    return FUNCTION.findall(ATTRIBUTE.sub("", text))


def main():
    files = collections.defaultdict(set)
    for path in sorted(SRC.rglob("*.[ch]")):
        for name in functions(path):
            files[name].add(str(path.relative_to(ROOT)))
    count = sum(len(where) for where in files.values())
    shared = {name: sorted(where) for name, where in files.items() if len(where) > 1}
    print("1..2")
    print(f"{'ok' if count > 3000 else 'not ok'} 1 - the static functions of src are found\n# {count}")
    print(f"{'not ok' if shared else 'ok'} 2 - no two files have a static function of the same name")
    for name, where in sorted(shared.items()):
        print(f"# {name}: {', '.join(where)}")
    return 1 if shared or count <= 3000 else 0


if __name__ == "__main__":
    sys.exit(main())
