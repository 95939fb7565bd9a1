#!/usr/bin/env python3
"""Searches and recursive lists: a warm gate against ripgrep started for each, in turn, in one run. Both use two threads
and obey the same ignore files; what they find is compared before anything is measured."""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import files
from report import COMPARE, TARGET_HEADER, describe_machine, number, show, table

BEGIN, END = "<!-- search:begin -->", "<!-- search:end -->"
CHOICES_BEGIN, CHOICES_END = "<!-- choices:begin -->", "<!-- choices:end -->"
HERE = Path(__file__).resolve().parent
PROGRAMS = {"turns": ["turns.c", "tree.c"]}
THREADS = 2
RG = ["-j", str(THREADS), "--no-config", "--no-require-git", "--color", "never"]
FIRST = 50
# The engine's tables get too large for it: what is left takes seconds for the large tree.
SLOW = r"(?:[a-z_]{1,60}[^a-z]{1,60}){1,40}\x7f"
DEADLINE_SECONDS = 1


@dataclass(frozen=True)
class Query:
    title: str
    pattern: str
    arguments: dict = field(default_factory=dict)
    flags: tuple = ()


QUERIES = {
    "rare": Query("rare word", "shrink_slab_memcg"),
    "common": Query("common word", "return"),
    "case": Query("ignore case", "error", {"ignore_case": True}, ("-i",)),
    "class": Query(r"`\w+_init\(`", r"\w+_init\("),
    "five": Query("five words", "mutex_lock|spin_lock|rcu_read_lock|down_read|write_lock"),
    "none": Query("no match", "zzqqxxyy"),
    "inner": Query("`[A-Z]+_RESUME`", "[A-Z]+_RESUME"),
    "greek": Query(r"`\p{Greek}`", r"\p{Greek}"),
}
# Choices in which every branch has some fixed text, with sets before, between and behind it.
CHOICES = {
    "two": Query(r"`\w+_init\(\|\w+_exit\(`", r"\w+_init\(|\w+_exit\("),
    "three": Query("three signatures", r"\bdef \w+_from_\w+\(|function \w+From\w+\(|\w+_from_\w+\(struct"),
    "nested": Query(r"`\w+_(?:init\|exit\|get_\w+)\(`", r"\w+_(?:init|exit|get_\w+)\("),
    "optional": Query("optional parts", r"(?:static )?\w+_init(?:iali[sz]e)?\(|class \w+(?:Error|Exception)?Handler\b"),
    "folded": Query("ignore case", r"\w+_failed\(|[a-z]+error:\s|\d+ timeouts?\b", {"ignore_case": True}, ("-i",)),
    "edges": Query("edges and anchors", r"^#\s*include\s+.sys/\w+|\bgetattr\(\w+, \w+\)$|\bTODO\(\w+\)"),
}
CHOICE_TREES = {"large": "Linux", "headers": "C headers", "python": "Python"}
SMALL = {"small": Query("rare word", "shrink_slab_memcg"), "small_common": Query("common word", "return")}


@dataclass(frozen=True)
class Case:
    title: str
    tree: str
    dialect: str
    tool: str
    arguments: dict
    peer: list  # command; {tree} is put in


def search_case(title, tree, query):
    arguments = {"pattern": query.pattern, "mode": "count", "max_results": 10000, **query.arguments}
    peer = ["{rg}", *RG, "-c", *query.flags, "--", query.pattern, "{tree}"]
    return Case(f"{title}: {query.title}", tree, "native", "search", arguments, peer)


def make_cases():
    cases = {name: search_case("90 MB", "large", query) for name, query in QUERIES.items()}
    cases |= {name: search_case("3,000 files", "small", query) for name, query in SMALL.items()}
    cases["list"] = Case(
        "3,000 files: recursive list", "small", "runner", "list_files",
        {"path": ".", "recursive": True, "max_results": 100000}, ["{rg}", *RG, "--no-ignore", "--files", "{tree}"])
    shell = shlex.join(["{rg}", *RG, "-n", "return", "{tree}"]) + f" | head -n {FIRST}"
    cases["first"] = Case(
        f"90 MB: first {FIRST} lines with a common word", "large", "native", "search",
        {"pattern": "return", "max_results": FIRST}, ["sh", "-c", shell.replace("'{rg}'", "{rg}").replace("'{tree}'", "{tree}")])
    return cases


def make_choices():
    return {f"{name}_{tree}": search_case(title, tree, query)
            for tree, title in CHOICE_TREES.items() for name, query in CHOICES.items()}


@dataclass(frozen=True)
class Target:
    title: str
    better: str
    limit: float
    value: float
    unit: str = "x"

    def met(self):
        return COMPARE[self.better](self.value, self.limit)


def find_trees():
    output = subprocess.check_output([HERE / "trees.sh"], text=True)
    lines = [line.split(" ", 2) for line in output.splitlines()]
    return {name: (version, Path(path)) for name, version, path in lines}


def peer_command(case, trees):
    places = {"rg": str(trees["rg"][1]), "tree": str(trees[case.tree][1])}
    return [word.replace("{rg}", places["rg"]).replace("{tree}", places["tree"]) for word in case.peer]


def gate_command(options, case, trees):
    return [options.sandgate, "stdio", "--dialect", case.dialect, "--workspace", trees[case.tree][1]]


def request_of(case):
    call = {"id": "1", "tool_call": {"name": case.tool, "arguments": case.arguments}}
    return json.dumps(call, separators=(",", ":"))


def compare_finds(options, case, trees, environment):
    """The same files and counts, the same paths, or as many lines: else there is nothing to compare."""
    done = subprocess.run(gate_command(options, case, trees), input=request_of(case) + "\n", env=environment,
                          capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)["result"]
    theirs = subprocess.run(peer_command(case, trees), capture_output=True, text=True, check=False).stdout.splitlines()
    prefix = f"{trees[case.tree][1]}/"
    theirs = [line.removeprefix(prefix) for line in theirs]
    if case.tool == "list_files":
        tree = trees[case.tree][1]
        ours = [line for line in result.splitlines() if not line.endswith("/") and not (tree / line).is_symlink()]
    elif case.arguments.get("mode") == "count":
        ours = [f"{match['path']}:{match['count']}" for match in result["result"]["matches"]]
    else:
        ours, theirs = len(result["result"]["matches"]), len(theirs)
    if (sorted(ours) != sorted(theirs)) if isinstance(ours, list) else (ours != theirs):
        files.fail(f"{case.title}: the two do not find the same")


def run_case(folder, environment, options, case, trees, runs):
    expected = '"id":"1"' if case.dialect == "runner" else '"ok":true'
    command = [folder / "turns", "--runs", str(runs), "--request", request_of(case), "--expect", expected, "--"]
    command += [*gate_command(options, case, trees), "::", *peer_command(case, trees)]
    return files.run_json_lines(command, environment)[0]


def ratio(sample):
    return statistics.median(a / b for a, b in zip(sample["gate_us"], sample["peer_us"]))


class Gate:
    """A gate in which a search runs until it is stopped."""

    def __init__(self, options, environment, tree):
        command = [options.sandgate, "stdio", "--workspace", tree]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("warm", "stat", {"path": "."})
        self.answer("warm")

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, name, tool, arguments):
        self.send({"id": name, "tool_call": {"name": tool, "arguments": arguments}})

    def answer(self, name):
        answer = json.loads(self.process.stdout.readline())
        if answer["id"] != name:
            files.fail(f"an answer to {answer['id']}, not to {name}")
        return answer["result"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def time_to_stop(gate, stop, code):
    """Milliseconds from the moment a slow search is to stop until its answer is there."""
    gate.ask("slow", "search", {"pattern": SLOW, "mode": "count", "max_results": 10000})
    due = stop(gate)
    result = gate.answer("slow")
    if result["ok"] or result["error"]["code"] != code:
        files.fail(f"the slow search was not stopped: {str(result)[:300]}")
    return (time.monotonic() - due) * 1e3


def cancel(gate):
    time.sleep(0.1)
    gate.send({"cancel": "slow"})
    return time.monotonic()


def wait_for_deadline(_):
    return time.monotonic() + DEADLINE_SECONDS


def run_stops(options, environment, tree, runs):
    environment = {**environment, "TOOL_TIMEOUT_SECS": str(DEADLINE_SECONDS)}
    gate = Gate(options, environment, tree)
    stops = {
        "cancel to answer": [time_to_stop(gate, cancel, "CANCELLED") for _ in range(runs)],
        "deadline to answer": [time_to_stop(gate, wait_for_deadline, "TIMEOUT") for _ in range(runs // 5 + 1)],
    }
    gate.end()
    return stops


def make_targets(samples, stops):
    ratios = {name: ratio(sample) for name, sample in samples.items()}
    large = [ratios[name] for name in QUERIES]
    peak = max(sample["gate_peak"] / sample["peer_peak"] for name, sample in samples.items() if name in QUERIES)
    return [
        Target("90 MB, median of the eight: wall / rg", "<=", 0.85, statistics.median(large)),
        Target("90 MB, worst of the eight: wall / rg", "<=", 1.1, max(large)),
        Target("3,000 files, slower of the two: wall / rg", "<=", 0.6, max(ratios[name] for name in SMALL)),
        Target("recursive list: wall / `rg --files`", "<=", 0.4, ratios["list"]),
        Target(f"first {FIRST} lines: wall / `rg \\| head`", "<=", 0.5, ratios["first"]),
        Target("peak memory, gate and cell / rg", "<", 3, peak),
        *(Target(f"slow pattern over 90 MB, {name}, worst", "<=", 50, max(times), " ms") for name, times in stops.items()),
    ]


def make_choice_targets(samples):
    cpu = [sample["gate_cpu_us"] / sample["peer_cpu_us"] for sample in samples.values()]
    return [
        Target("choices on three trees, worst: wall / rg", "<=", 1, max(map(ratio, samples.values()))),
        Target("choices on three trees, worst: CPU / rg", "<=", 1, max(cpu)),
    ]


def sample_row(case, sample):
    ours, theirs = (statistics.median(sample[key]) / 1e3 for key in ("gate_us", "peer_us"))
    cpu = [sample[key] / 1e3 for key in ("gate_cpu_us", "peer_cpu_us")]
    memory = [f"{sample[key] / 1e6:.0f}" for key in ("gate_peak", "peer_peak")]
    return [case.title, number(ours), number(theirs), f"{ratio(sample):.2f}", *map(number, cpu),
            f"{cpu[0] / cpu[1]:.2f}", *memory]


def render(cases, samples, targets, runs, version):
    rows = [sample_row(case, samples[name]) for name, case in cases.items() if name in samples]
    header = ["", "Sandgate ms", "rg ms", "ratio", "CPU ms", "rg CPU ms", "CPU ratio", "Sandgate peak MB", "rg peak MB"]
    lines = [
        f"Medians of {runs} rounds, one of each in turn; npm `@vscode/ripgrep` {version}, {THREADS} threads; "
        f"{describe_machine()}.",
        "A call to a warm gate, from request to the end of the answer, against ripgrep from start to exit, warm cache. The",
        "ratio is the median over rounds. CPU is user and system time, on average. Peaks are of the gate with its cell, and",
        "of ripgrep.",
        "",
        *table(header, rows),
    ]
    if targets:
        rows = [[t.title, f"{t.better} {t.limit:g}{t.unit}", f"{t.value:.2f}{t.unit}", "yes" if t.met() else "no"]
                for t in targets]
        lines += ["", *table(TARGET_HEADER, rows)]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--runs", type=int, default=25, help="rounds of each case (%(default)s)")
    add("--cases", help="comma-separated; targets are judged only with all of them")
    add("--choices", action="store_true",
        help=f"choices on three trees in place of the others; for the page between {CHOICES_BEGIN} and {CHOICES_END}")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {BEGIN} and {END}")
    options = parser.parse_args()
    options.sandgate = options.sandgate.resolve()
    return options


def main():
    options = parse_arguments()
    every = make_choices() if options.choices else make_cases()
    names = options.cases.split(",") if options.cases else list(every)
    trees = find_trees()
    samples = {}
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        folder = Path(folder)
        files.compile_programs(folder, PROGRAMS)
        environment = files.make_environment(folder)
        files.warn_if_busy()
        for name in names:
            compare_finds(options, every[name], trees, environment)
            samples[name] = run_case(folder, environment, options, every[name], trees, options.runs)
            print(f"{every[name].title}: {ratio(samples[name]):.2f} of rg", file=sys.stderr)
        stops = {} if options.choices else run_stops(options, environment, trees["large"][1], options.runs)
    targets = []
    if len(samples) == len(every):
        targets = make_choice_targets(samples) if options.choices else make_targets(samples, stops)
    text = render(every, samples, targets, options.runs, trees["rg"][0])
    marks = (CHOICES_BEGIN, CHOICES_END) if options.choices else (BEGIN, END)
    show(text, options.markdown if targets else None, marks)
    return 1 if options.check and not all(target.met() for target in targets) else 0


if __name__ == "__main__":
    sys.exit(main())
