#!/usr/bin/env python3
"""What the rules, the counters and the log cost: added to a call, by the number of rules, and with many calls at once.
Everything in one run, in turn. The programs that link Sandgate's own library are built beside --sandgate."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import files
from report import Target, describe_machine, number, publish, table, target_table

BEGIN, END = "<!-- policy:begin -->", "<!-- policy:end -->"
ALL_RULES = [{"toolName": "read_file", "action": "deny", "condition": {"path": f"secret/{n}"}} for n in range(2000)]
RULES = ALL_RULES[:20]
STARTS = 30
CONFIGS = {
    "20 rules": {"approval": {"rules": RULES, "default": "approve"}},
    "20 rules, a rate and a budget": {
        "approval": {"rules": RULES, "default": "approve"},
        "policy": {"rateLimits": {"read_file": {"maxCalls": 100000, "windowMs": 1000}},
                   "budgets": [{"unit": "calls", "limit": 10**12}]},
    },
}


class Results:
    def __init__(self):
        self.added = []
        self.judged = []
        self.many = {name: [] for name in CONFIGS}
        self.starts = []

    def medians(self, rounds):
        return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def worst_ratio(results):
    return [max(scene["ratio"] for scene in one.values()) for one in results.judged]


TARGETS = [
    Target("policy and log add, `batch`, p50", " us", "<=", 30,
           lambda r: [one["batch"] - one["plain"] for one in r.added]),
    Target("the same with a rate and a budget", " us", "<=", 30,
           lambda r: [one["charged"] - one["plain"] for one in r.added]),
    Target("`always`, a call that reads / a bare write and fdatasync, p50", "x", "<=", 2,
           lambda r: [one["always"] / one["sync"] for one in r.added]),
    Target("the same for a call that changes something", "x", "<=", 2,
           lambda r: [one["always_writes"] / one["sync"] for one in r.added]),
    Target("2,000 rules / 20, the worst kind of rule", "x", "<=", 2, worst_ratio),
    Target("start and one call with 2,000 rules / 20, p50", "x", "<=", 1.5,
           lambda r: [one[2000] / one[20] for one in r.starts]),
    Target("calls a second over stdio, 64 in flight, 20 rules", "", ">=", 15000,
           lambda r: [one["rate"] for one in r.many["20 rules"]]),
    Target("the same with a rate and a budget", "", ">=", 15000,
           lambda r: [one["rate"] for one in r.many["20 rules, a rate and a budget"]]),
]


def run_many(folder, environment, options, workspace, config, calls):
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="ascii")
    path.chmod(0o600)
    command = [folder / "client", "--protocol", "sandgate", "--tool", "read_file"]
    command += ["--arguments", '{"path":"f1k.txt"}', "--calls", str(calls), "--warmup", str(calls // 10)]
    command += ["--depth", "64", "--min-bytes", "1000", "--"]
    command += [options.sandgate, "stdio", "--workspace", workspace, "--config", path]
    return files.run_json_lines(command, environment)[0]


def run_starts(folder, environment, options, workspace):
    """Milliseconds that `sandgate call` takes, the two in turn."""
    commands = {}
    for count in (20, 2000):
        path = folder / f"rules{count}.json"
        path.write_text(json.dumps({"approval": {"rules": ALL_RULES[:count], "default": "approve"}}), encoding="ascii")
        path.chmod(0o600)
        commands[count] = [options.sandgate, "call", "stat", '{"path":"f1k.txt"}', "--workspace", workspace, "--config", path]
    times = {count: [] for count in commands}
    for _ in range(STARTS):
        for count, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            times[count].append(1000 * (time.perf_counter() - begin))
    return {count: statistics.median(all_times) for count, all_times in times.items()}


def measure(options, folder):
    results = Results()
    programs = files.build_beside(options.sandgate, ["bench_added", "bench_policy"])
    files.compile_programs(folder)
    environment = files.make_environment(folder)
    workspace = folder / "workspace"
    files.make_workspace(workspace)
    files.warn_if_busy()
    for round_number in range(1, options.rounds + 1):
        state = folder / f"state{round_number}"
        state.mkdir()
        results.added += files.run_json_lines([programs[0], state, str(options.calls)], environment)
        results.judged += files.run_json_lines([programs[1]], environment)
        results.starts.append(run_starts(folder, environment, options, workspace))
        for name, config in CONFIGS.items():
            results.many[name].append(run_many(folder, environment, options, workspace, config, 10 * options.calls))
        print(f"round {round_number}: {results.added[-1]}", file=sys.stderr)
    return results


def render(results, judged, rounds):
    added = results.medians(results.added)
    scenes = results.judged[0].keys()
    ns = {s: [statistics.median(one[s][f"ns_{n}"] for one in results.judged) for n in (20, 2000)] for s in scenes}
    rows = [[name, number(added[key]), number(added[key] - added["plain"])] for name, key in (
        ("neither rules nor log", "plain"), ("20 rules, log in `batch`", "batch"),
        ("and a rate and a budget", "charged"), ("20 rules, log in `always`", "always"),
        ("the same, a call that changes something", "always_writes"))]
    lines = [
        f"Medians of {rounds} rounds; {describe_machine()}.",
        "",
        *table(["a call without a cell", "p50 us", "more"], rows),
        "",
        *table(["one judgement, ns", "20 rules", "2,000 rules"],
               [[scene.replace("_", " "), number(few), number(many)] for scene, (few, many) in ns.items()]),
        "",
        *table(["start and one call, ms", "20 rules", "2,000 rules"],
               [["`sandgate call stat`", *(number(statistics.median(one[n] for one in results.starts)) for n in (20, 2000))]]),
        "",
        *target_table(judged),
    ]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")))
    add("--rounds", type=int, default=5)
    add("--calls", type=int, default=2000, help="of each kind in a round (%(default)s)")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {BEGIN} and {END}")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    return options


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        results = measure(options, Path(folder))
    judged = [(target, target.values(results)) for target in TARGETS]
    text = render(results, judged, options.rounds)
    return publish(text, options, (BEGIN, END), judged)


if __name__ == "__main__":
    sys.exit(main())
