#!/usr/bin/env python3
"""Which folder of src may use which, and that what must be listed is listed. Prints TAP."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import checks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
# A folder may include its own headers and those of the folders before it.
ORDER = "base core store policy cell work session net tools dialect gate front roles".split()
# The C client is a library of its own: it uses only itself, and src does not use it.
CLIENT = ROOT / "clients/c"
PUBLIC = "sandgate.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def text(path):
    return path.read_text(encoding="utf-8", errors="replace")


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h"))


def bad_includes(folder):
    allowed = ORDER[: ORDER.index(folder) + 1]
    for path in sources(SRC / folder):
        for included in INCLUDE.findall(text(path)):
            top, slash, _ = included.partition("/")
            if not slash:
                yield f'{path.relative_to(ROOT)}: "{included}" must be written "folder/name.h"'
            elif top not in allowed:
                yield f'{path.relative_to(ROOT)}: "{included}": {folder} may not use {top}'


def bad_client_includes():
    own = {p.name for p in sources(CLIENT)}
    for path in sources(CLIENT):
        for included in INCLUDE.findall(text(path)):
            if included not in own | {PUBLIC}:
                yield f'{path.relative_to(ROOT)}: "{included}" does not belong to the client'


def unknown_folders():
    for path in sorted(SRC.iterdir()) if SRC.is_dir() else []:
        if path.is_dir() and path.name not in ORDER:
            yield f"src/{path.name} has no place in the order: {' '.join(ORDER)}"


def no_sources():
    for folder in (SRC, CLIENT):
        if not sources(folder):
            yield f"no C file found in {folder.relative_to(ROOT)}: nothing was checked"


def difference(files, listed, kind, where):
    for name in sorted(files - listed):
        yield f"{kind}/{name}.c is not in {where}"
    for name in sorted(listed - files):
        yield f"{where} names {name}, but there is no {kind}/{name}.c"


SHARED_BY_TOOLS = {"file", "manifest", "node_encoding", "run", "search", "show", "web", "web_answer"}


def unlisted_tools():
    files = {p.stem for p in (SRC / "tools").glob("*.c")} - SHARED_BY_TOOLS
    path = SRC / "tools" / "list.h"
    words = re.findall(r"^\s*TOOL\((\w+)\)", text(path), re.M) if path.exists() else []
    for name in sorted(set(w for w in words if words.count(w) > 1)):
        yield f"src/tools/list.h names {name} twice"
    yield from difference(files, set(words), "src/tools", "src/tools/list.h")


KINDS = re.compile(r"[=!]=\s*RUN_[A-Z]+|case\s+RUN_[A-Z]+")


def kinds_compared():
    """What a kind of runner is like stands in its rows: core/runner.c, and how its calls begin."""
    for path in sources(SRC):
        for number, line in enumerate(text(path).splitlines(), 1):
            if KINDS.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def operations_compared():
    """What an operation is like stands in its columns: core/op_list.h."""
    ids = "|".join(re.findall(r"^ *ROW\((\w+),", text(SRC / "core/op_list.h"), re.M))
    word = rf"(?:&?op_table\[|OP_(?:{ids})\b)"
    compared = re.compile(rf"[=!]=\s*{word}|case\s+{word}|OP_(?:{ids})\]?\s*[=!]=")
    if ids.count("|") < 10:
        yield "the rows of src/core/op_list.h were not understood"
    for path in sources(SRC):
        for number, line in enumerate(text(path).splitlines(), 1):
            if compared.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


RUNNERS = re.compile(r"(?:->|\.)runners\b(?!\s*=[^=])|_runners\[(?!RUN_COUNT)")
# The session's own rows tell it how a call begins that waited for its cell.
RUNNERS_USED = {"core/pipeline.c", "session/session_start.c"}


def runners_reached():
    """Every call goes to its runner through the pipeline, behind policy and record."""
    for path in sources(SRC):
        if path.relative_to(SRC).as_posix() in RUNNERS_USED:
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            if RUNNERS.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def unbuilt_unit_tests():
    files = {p.stem for p in (ROOT / "tests/unit").glob("*.c")}
    build = text(ROOT / "tests/unit/meson.build")
    block = re.search(r"unit_tests\s*=\s*\[(.*?)\]", build, re.S)
    code = re.sub(r"#.*", "", block[1]) if block else ""
    yield from difference(files, set(re.findall(r"'([^']+)'", code)), "tests/unit", "tests/unit/meson.build")


def main():
    found = [
        ("src and clients/c hold C files", no_sources()),
        ("every folder of src has its place in the order", unknown_folders()),
    ]
    found += [(f"{f} uses only itself and earlier folders", bad_includes(f)) for f in ORDER if (SRC / f).is_dir()]
    found += [("the C client uses only itself", bad_client_includes())]
    found += [
        ("every tool is in src/tools/list.h, and the other way round", unlisted_tools()),
        ("no code compares kinds of runners", kinds_compared()),
        ("no code compares operations", operations_compared()),
        ("only core/pipeline.c reaches a runner", runners_reached()),
        ("every unit test is built", unbuilt_unit_tests()),
    ]
    return checks.run(found)


if __name__ == "__main__":
    sys.exit(main())
