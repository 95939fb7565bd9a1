#!/usr/bin/env python3
"""What finding and covering guarded files costs a command: in an empty folder, in one with many guarded files, and in a large
one after a rest and by a new gate, in turn, in one run."""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

import commands
import files
from commands import TRUE, Way
from report import Target, describe_machine, number, publish, table, target_table

BEGIN, END = "<!-- guards:begin -->", "<!-- guards:end -->"
GUARDED = 1000
FOLDERS = (20, 29, 28)  # in one another: 16,840 in all
FILES_EACH = 5
REST_MS = 10000


def make_guarded(folder):
    for index in range(GUARDED):
        at = folder / f"d{index}"
        at.mkdir(parents=True)
        (at / ".env").write_text("x\n")


def make_large(folder):
    """No guarded file at all: only the looking costs."""
    for a in range(FOLDERS[0]):
        for b in range(FOLDERS[1]):
            for c in range(FOLDERS[2]):
                at = folder / f"a{a}" / f"b{b}" / f"c{c}"
                at.mkdir(parents=True)
                for index in range(FILES_EACH if c < 22 else FILES_EACH - 1):
                    (at / f"f{index}.c").touch()


def make_workspaces(folder, large):
    folder.chmod(0o755)
    places = {name: folder / name for name in ("empty", "guarded", "large")}
    for place in places.values():
        place.mkdir()
    make_guarded(places["guarded"])
    if large:
        make_large(places["large"])
    for place in places.values():
        place.chmod(0o777)
    return places


def make_ways(sandgate, places):
    ways = {}
    for name, in_a_row in (("warm", commands.IN_A_ROW), ("rested", f"1,{REST_MS}")):
        for place, path in places.items():
            if (name, place) != ("rested", "guarded") and (name, place) != ("warm", "large"):
                ways[f"{name}_{place}"] = Way(f"{name}, {place} folder", "warm", [sandgate, "stdio", "--workspace", path], in_a_row)
    for place in ("empty", "large"):
        ways[f"run_{place}"] = Way(f"`sandgate run`, {place} folder", "spawn",
                                   [sandgate, "run", "--workspace", places[place], "--", TRUE], 3)
    return ways


class Results(commands.Results):
    def differences(self, way, other):
        return [(statistics.median(times[way]) - statistics.median(times[other])) / 1e3 for times in self.rounds]


TARGETS = {
    ("warm_guarded", "warm_empty"): Target(f"{GUARDED:,} guarded files / none, warm", "x", "<=", 1.5, Results.ratios),
    ("rested_large", "rested_empty"): Target(f"large folder / empty, after {REST_MS // 1000} s of rest", "x", "<=", 1.5,
                                             Results.ratios),
    ("run_large", "run_empty"): Target("`sandgate run`, large folder - empty", "ms", "<=", 30, Results.differences),
}


def render(results, judged, rounds):
    rows = []
    for name, way in results.ways.items():
        times = results.all_times(name)
        rows.append([way.title, *(number(commands.percentile(times, p) / 1e3) for p in (10, 50, 90)), str(len(times))])
    lines = [
        f"{rounds} rounds, all in turn; {describe_machine()}. A ratio is that of the medians of a round, and of those the "
        "median.",
        "",
        *table([f"`{TRUE}`", "p10 ms", "p50 ms", "p90 ms", "runs"], rows),
        "",
        *target_table(judged),
    ]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--rounds", type=int, default=5, help="rounds of everything (%(default)s)")
    add("--turns", type=int, default=3, help="turns in each round (%(default)s)")
    add("--only", help="comma-separated beginnings of ways (warm, rested, run); a part is not written to a page")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help="rewrite its part of FILE")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    if options.only:
        options.markdown = None
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        folder = Path(folder)
        files.compile_programs(folder, {"commands": ["commands.c"]})
        environment = files.make_environment(folder)
        ways = make_ways(options.sandgate, make_workspaces(folder, options.only != "warm"))
        if options.only:
            ways = {name: way for name, way in ways.items() if name.startswith(tuple(options.only.split(",")))}
        files.warn_if_busy()
        results = Results(ways)
        for round_number in range(1, options.rounds + 1):
            times = commands.run_ways(folder, environment, ways, options.turns)
            results.rounds.append(times)
            medians = ", ".join(f"{name} {number(statistics.median(values))}" for name, values in times.items())
            print(f"round {round_number}: us: {medians}", file=sys.stderr)
    judged = [(target, target.values(results, *names)) for names, target in TARGETS.items() if set(names) <= set(ways)]
    text = render(results, judged, options.rounds)
    return publish(text, options, (BEGIN, END), judged)


if __name__ == "__main__":
    sys.exit(main())
