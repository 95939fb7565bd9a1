#!/usr/bin/env python3
"""The user replaces a folder in which a secret lies while a command runs. The command enters the new one before it is
covered: once it is, the secret is not found from there either.
"""

import os

import lib
import ran
from lib import check
from ran import Place

OLD, NEW = "KEY=old", "KEY=only the user knows"
ROUNDS = 3
# Enters `way` as soon as it is the new one, waits until the secret is covered under its path, and looks from where it is.
ENTER = """
cd /workspace; : > up
until [ -e new ]; do cd /workspace/{way} 2>/dev/null; done
i=0
while cat /workspace/{secret} >/dev/null 2>&1 && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
cat {rest} /workspace/{secret}
true
"""


def replace_folder(place, number):
    """Another one that is no secret under the name it has first, in the place of the old one."""
    folder = place.workspace
    for path in ("new", "in/new", "in/deep/new"):
        place.put(f"next{number}/{path}")
    place.put(f"next{number}/in/deep/key", NEW)
    os.rename(folder / "box", folder / f"box{number}")
    os.rename(folder / f"next{number}", folder / "box")


def enter(form, name, way, rest):
    place = Place(form, name, {"files": {"secret": ["box/in/deep/key"]}})
    place.put("box/in/deep/key", OLD)
    line = ENTER.format(way=way, rest=rest, secret="box/in/deep/key")
    with place.gate() as gate:
        for number in range(ROUNDS):
            call = gate.send("run_command", command=line, timeout_ms=60000)
            lib.wait_until(lambda: (place.workspace / "up").exists(), "it runs")
            replace_folder(place, number)
            value = ran.ended(gate.wait(call))
            check("KEY" not in value["stdout"], f"round {number}: {lib.short(value)}")
            check(value["stderr"].count("ermission denied") == 2, f"round {number}: {lib.short(value)}")
            for path in ("up", "box/new", "box/in/new", "box/in/deep/new"):
                (place.workspace / path).unlink()


def around(form):
    """from the folder that was replaced"""
    enter(form, "around", "box", "in/deep/key")


def inner(form):
    """from one in it"""
    enter(form, "inner", "box/in", "deep/key")


def next_to_it(form):
    """from the one that it lies in"""
    enter(form, "next", "box/in/deep", "key")


ran.main(around, inner, next_to_it)
