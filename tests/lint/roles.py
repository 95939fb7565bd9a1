#!/usr/bin/env python3
"""Every process that is locked is locked as a role: a row of the table in src/cell/lock.c. Prints TAP."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import checks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
TABLE = SRC / "cell/lock.c"
ROLE = re.compile(r"\bROLE_\w+")
# What a process is locked with. Leaves adds to the lock of a command, and a rule of its own cannot take any away. Probe locks
# processes that try just that and end.
LOCKS = {
    re.compile(r"\b(?:SECCOMP_SET_MODE_FILTER|PR_SET_SECCOMP)\b"): {"cell/lock.c", "cell/probe.c"},
    re.compile(r"\b(?:landlock_restrict|landlock_stay_connected)\("): {
        "cell/lock.c",
        "cell/landlock.c",
        "cell/probe.c",
    },
    re.compile(r"\bSYS_landlock_restrict_self\b"): {"cell/landlock.c", "cell/leaves.c"},
}


def text(path):
    return path.read_text(encoding="utf-8")


def roles():
    return ROLE.findall(re.search(r"enum role \{(.*?)\}", text(SRC / "cell/lock.h"), re.S)[1])


def rows():
    table = re.search(r"\} locks\[\] = \{(.*?)^\};", text(TABLE), re.M | re.S)[1]
    return re.findall(r"\[(ROLE_\w+)\] = \{(.*?)\},", table, re.S)


def odd_rows():
    named = [name for name, _ in rows()]
    filters = [re.findall(r"PROGRAM\(filter_(\w+)\)", row) for _, row in rows()]
    if sorted(named) != sorted(roles()) or len(named) < 2:
        yield f"roles are {roles()}, and rows {named}"
    for name, found in zip(named, filters):
        if len(found) != 1:
            yield f"{name} has the filters {found}, and it has to be one"
    made = set(re.findall(r"'filter_(\w+)\.h'", text(SRC / "cell/meson.build"))) - {"reported"}
    if {f for found in filters for f in found} != made:
        yield f"filters are {sorted(made)}, and rows have {filters}"


def unlocked():
    used = [r for path in SRC.rglob("*.c") for r in re.findall(r"(?:\block_as\(|\.lock = )(ROLE_\w+)", text(path))]
    for role in roles():
        if used.count(role) != 1:
            yield f"{used.count(role)} processes are locked as {role}"


def other_locks():
    for path in sorted(SRC.rglob("*.c")):
        where = path.relative_to(SRC).as_posix()
        for word, allowed in LOCKS.items():
            if where not in allowed and word.search(text(path)):
                yield f"src/{where}: {word.pattern}"


def main():
    found = [
        ("each role has a row with a filter, and each filter a role", odd_rows()),
        ("each role locks one process", unlocked()),
        ("nothing else locks a process", other_locks()),
    ]
    return checks.run(found)


if __name__ == "__main__":
    sys.exit(main())
