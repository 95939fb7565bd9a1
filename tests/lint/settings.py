#!/usr/bin/env python3
"""Every setting of the table in src/core/config_table.c is read somewhere, or says itself what holds of it. Prints TAP."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
TABLE = SRC / "core" / "config_table.c"
ROW = re.compile(r'^    \{"((?:[a-z]\w*)(?:\.\w+|\.\*|\[\])+)",(.*?)\},\n', re.M | re.S)
# The table speaks of them itself: core/config_promises.c refuses other values, or tells that nothing comes of them.
DECLARED = re.compile(r"\.(?:only|idle) =")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def rows():
    return [(path, bool(DECLARED.search(rest))) for path, rest in ROW.findall(TABLE.read_text(encoding="utf-8"))]


def literals():
    """The texts of each source file but the configuration's own."""
    found = {}
    for path in sorted(SRC.rglob("*.[ch]")):
        if path != TABLE:
            found[path] = set(LITERAL.findall(path.read_text(encoding="utf-8")))
    return found


def names_of(path):
    """Sets of texts; a file that has all texts of one of them reads the setting."""
    if "[]." in path:
        return [set(path.split("[]."))]
    if path.startswith("agents.*."):
        return [{path.removeprefix("agents.*.")}]
    if ".*." in path:
        before, _, behind = path.partition(".*.")
        return [{before, behind}, {before.removeprefix("policy."), behind}, {before, f"%s.%s.{behind}"}]
    if path.endswith(".*"):
        return [{path.removesuffix("*") + "%s"}, {path.removesuffix("*") + "%s%s"}]
    return [{path}, {path.removeprefix("policy.")}]


def is_read(path, files):
    return any(names <= texts for names in names_of(path) for texts in files.values())


def unread():
    files = literals()
    for path, declared in rows():
        if not declared and not is_read(path, files):
            yield f"{path} is in the table and nothing reads it"


def found_rows():
    paths = [path for path, _ in rows()]
    count = len(re.findall(r'^    \{"', TABLE.read_text(encoding="utf-8"), re.M))
    if len(paths) != count or count < 100:
        yield f"{len(paths)} of {count} rows were understood"


def main():
    checks = [("the table is understood", list(found_rows())), ("every setting is read", list(unread()))]
    print(f"1..{len(checks)}")
    for number, (name, problems) in enumerate(checks, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if any(problems for _, problems in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
