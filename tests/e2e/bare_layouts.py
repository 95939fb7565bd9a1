#!/usr/bin/env python3
"""File tools of two gates make the parts of a bare repository at the same moment, each a part that it may make alone. Git
must not take the folder for a repository when both were answered.
"""

import lib
import ran
from lib import check

ROUNDS = 4000 if lib.SOAK else 300
# What the two gates make in a folder that has `objects` and a file to be moved.
PAIRS = (
    (("write_file", {"path": "{}/HEAD", "content": "ref: refs/heads/main\n"}), ("make_directory", {"path": "{}/refs"})),
    (("write_file", {"path": "{}/refs/heads/main", "content": "x"}), ("move", {"from": "{}/part", "to": "{}/HEAD"})),
    (("write_file", {"path": "{}/commondir", "content": "../x"}), ("write_file", {"path": "{}/HEAD", "content": "ref: refs/heads/main\n"})),
)


def layout(folder):
    has = {name for name in ("HEAD", "objects", "refs", "commondir") if (folder / name).exists()}
    return "HEAD" in has and ("commondir" in has or {"objects", "refs"} <= has)


def fill(arguments, folder):
    return {key: value.format(folder) for key, value in arguments.items()}


def two_gates(form):
    """two gates that make the two parts that are missing do not make a repository"""
    place = ran.Place(form, "two", {"approval": {"default": "approve"}})
    made = 0
    with place.gate() as one, place.gate() as other:
        for number in range(ROUNDS):
            folder = f"f{number}"
            place.put(f"{folder}/objects/x")
            place.put(f"{folder}/part")
            first, second = PAIRS[number % len(PAIRS)]
            calls = [(gate, gate.send(tool, **fill(arguments, folder))) for gate, (tool, arguments) in ((one, first), (other, second))]
            answers = [gate.wait(call) for gate, call in calls]
            check(not layout(place.workspace / folder), f"{folder} is a repository: {lib.short(answers)}")
            for answer in answers:
                check(answer["ok"] or answer["error"]["code"] == "PERMISSION_DENIED", lib.short(answer))
            made += sum(answer["ok"] for answer in answers)
    check(made >= ROUNDS / 2, f"only {made} calls did something")


def alone(form):
    """each of these calls alone does what it says"""
    place = ran.Place(form, "alone", {"approval": {"default": "approve"}})
    with place.gate() as gate:
        for number, call in enumerate(call for pair in PAIRS for call in pair):
            tool, arguments = call
            place.put(f"a{number}/part")
            answer = gate.call(tool, **fill(arguments, f"a{number}"))
            check(answer["ok"], lib.short(answer))


ran.main(two_gates, alone)
