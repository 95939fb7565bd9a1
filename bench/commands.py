#!/usr/bin/env python3
"""Running a command: Sandgate against posix_spawn without a sandbox and against other sandboxes, in turn, in one run.
Each sandbox must first write into the workspace and fail to write elsewhere; what exits with an error ends the run."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import files
import soak
from report import Target, describe_machine, number, publish, show, table, target_table

BEGIN, END = "<!-- commands:begin -->", "<!-- commands:end -->"
SOAK_BEGIN, SOAK_END = "<!-- soak:begin -->", "<!-- soak:end -->"
PROGRAMS = {"commands": ["commands.c"], "storm": ["storm.c"], "client": ["client.c", "tree.c"]}
TRUE = "/bin/true"
ARGUMENTS = json.dumps({"argv": [TRUE]}, separators=(",", ":"))
REQUEST = '{"id":"1","tool_call":{"name":"run_command","arguments":%s}}' % ARGUMENTS
EXPECTED = '"exit_code":0'
RESIDENT_MB = 500
# No command is to pay for what another is denied.
DENY_RULE = {"toolName": "run_command", "action": "deny", "condition": {"command": {"program": "git"}}}
DEPTHS = (8, 16)
MANY = {"gate": "Sandgate", "spawn": "posix_spawn"}
# What the kernel asks for new namespaces alone; only root makes them without one for users as well.
if os.geteuid() == 0:
    MANY["namespaces"] = "posix_spawn in new pid, mount and ipc namespaces, nothing else"
SOAK_CALLS = 3000
# So many in a row in each turn: one after the other, so that what a run leaves to be done is paid for by the next of the
# same kind. Of those that take a tenth of a second and more there is one.
IN_A_ROW = 10
# What an agent does: a command, then it thinks. What the kernel had ready by then it has forgotten.
REST_MS = 100
RESTED = f"3,{REST_MS}"


@dataclass(frozen=True)
class Way:
    title: str
    kind: str
    command: list
    in_a_row: object = IN_A_ROW  # or so many and the milliseconds before each, as text


class Sandboxes:
    """Peers, as the words that stand before a command."""

    def __init__(self, folder, workspace):
        peers = files.find_peers()
        self.versions = {name: version for name, (version, _) in peers.items()}
        self.home = Path(peers["codex"][1]).parents[3] / "codex-home"  # codex refuses one beneath /tmp
        self.home.mkdir(exist_ok=True)
        settings = folder / "srt.json"
        settings.write_text(json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [str(workspace)], "denyWrite": []},
        }))
        codex = Path(peers["codex"][1])
        inner = [p for p in codex.resolve().parents[2].glob("codex-linux-*/vendor/*/bin/codex")]
        sandbox = ["sandbox", "-P", ":workspace", "-C", workspace, "--"]
        self.prefixes = {
            "bwrap": [peers["bwrap"][1], "--ro-bind", "/", "/", "--bind", workspace, workspace, "--unshare-all",
                      "--proc", "/proc", "--dev", "/dev", "--die-with-parent", "--new-session"],
            "codex": [codex, *sandbox],
            "codex_inner": [*inner[:1], *sandbox],
            "srt": [peers["srt"][1], "-s", settings],
        }

    def title(self, name):
        titles = {
            "bwrap": "bubblewrap {bwrap}",
            "codex": "`codex sandbox`, npm `@openai/codex` {codex}",
            "codex_inner": "the same without its launcher in Node",
            "srt": "`srt`, npm `@anthropic-ai/sandbox-runtime` {srt}",
        }
        return titles[name].format(**self.versions)

    def ways(self):
        for name, prefix in self.prefixes.items():
            yield name, Way(self.title(name), "spawn", [*prefix, TRUE], IN_A_ROW if name == "bwrap" else 1)


def has_run(sandgate):
    return subprocess.run([sandgate, "run", "--help"], capture_output=True, check=False).returncode == 0


def own_ways(sandgate, workspace):
    place = ["--workspace", workspace]
    yield "spawn", Way("posix_spawn, no sandbox", "spawn", [TRUE])
    yield "warm", Way("`sandgate stdio`, warm cell, call to answer", "warm", [sandgate, "stdio", *place])
    denied = workspace.parent / "denied.json"
    denied.write_text(json.dumps({"approval": {"default": "approve", "rules": [DENY_RULE]}}))
    denied.chmod(0o600)
    yield "denied", Way("the same with a rule that denies another program", "warm",
                        [sandgate, "stdio", *place, "--config", denied])
    yield "cell", Way("`sandgate stdio`, new cell, call to answer", "cell", [sandgate, "stdio", *place])
    yield "fresh", Way("`sandgate stdio`, start to first answer", "fresh", [sandgate, "stdio", *place])
    yield "spawn_rested", Way(f"posix_spawn, after {REST_MS} ms of rest", "spawn", [TRUE], RESTED)
    yield "warm_rested", Way(f"`sandgate stdio`, warm cell, after {REST_MS} ms of rest", "warm",
                             [sandgate, "stdio", *place], RESTED)
    call = [sandgate, "call", "run_command", ARGUMENTS, *place]
    yield "call", Way("`sandgate call run_command`, start to exit", "spawn", call)
    if has_run(sandgate):
        yield "run", Way("`sandgate run -- true`, start to exit", "spawn", [sandgate, "run", *place, "--", "true"])
    # A gate with more memory.
    for resident in files.build_beside(sandgate, ["resident"]):
        for name, megabytes in (("light", 0), ("heavy", RESIDENT_MB)):
            title = f"`sandgate stdio`, {megabytes} MB of other memory in it, call to answer"
            yield name, Way(title, "warm", [resident, str(megabytes), *place])


def check_confined(name, command, workspace, outside, environment):
    made, escaped = workspace / f"made-by-{name}", outside / f"made-by-{name}"
    script = f"touch {made.name} && if touch {escaped}; then exit 3; fi"
    done = subprocess.run([*command, "sh", "-c", script] if name != "srt" else [*command, "-c", script],
                          env=environment, cwd=workspace, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not made.exists() or escaped.exists():
        files.fail(f"{name} is no sandbox here: status {done.returncode}, {(done.stdout + done.stderr)[-500:]}")


def run_ways(folder, environment, ways, turns):
    words = [folder / "commands", "--turns", str(turns), "--request", REQUEST, "--expect", EXPECTED, "--"]
    for way in ways.values():
        words += [way.kind, str(way.in_a_row), *way.command, "::"]
    return dict(zip(ways, files.run_json_lines(words[:-1], environment)))


def run_many(folder, environment, sandgate, workspace, depth, calls):
    """Commands a second with so many at once: a gate, and as many processes that spawn, without and with namespaces."""
    client = [folder / "client", "--protocol", "sandgate", "--tool", "run_command", "--arguments", ARGUMENTS]
    client += ["--calls", str(calls), "--warmup", str(calls // 10), "--depth", str(depth), "--expect", EXPECTED]
    ours = files.run_json_lines([*client, "--", sandgate, "stdio", "--workspace", workspace], environment)[0]
    sample = {"gate": ours}
    for name in list(MANY)[1:]:
        sample[name] = files.run_json_lines([folder / "storm", name, str(depth), str(calls), TRUE], environment)[0]
    return sample


class Results:
    def __init__(self, ways):
        self.ways = ways
        self.rounds = []  # of each: name of way -> times
        self.many = {depth: [] for depth in DEPTHS}
        self.soak = None

    def ratios(self, way, other):
        """Round by round: what else runs on the machine changes between rounds, less within one."""
        return [statistics.median(times[way]) / statistics.median(times[other]) for times in self.rounds]

    def rate_ratios(self, depth):
        return [sample["gate"]["rate"] / sample["spawn"]["rate"] for sample in self.many[depth]]

    def all_times(self, way):
        return sorted(time for times in self.rounds for time in times[way])


def way_target(title, better, limit, way, other):
    return Target(title, "x", better, limit, lambda results: results.ratios(way, other)), (way, other)


def make_targets(ways):
    targets = [
        way_target("warm cell: call to answer / posix_spawn", "<=", 2.4, "warm", "spawn"),
        way_target("the same after a rest", "<=", 2.4, "warm_rested", "spawn_rested"),
        way_target("warm cell: a program denied / none", "<=", 1.1, "denied", "warm"),
        way_target("warm cell: bubblewrap / call to answer", ">=", 3, "bwrap", "warm"),
        way_target("warm cell: `codex sandbox` / call to answer", ">=", 25, "codex", "warm"),
        way_target("warm cell: `srt` / call to answer", ">=", 120, "srt", "warm"),
        way_target("new cell: call to first answer / posix_spawn", "<=", 5, "cell", "spawn"),
        way_target("new gate and new cell: start to first answer / posix_spawn", "<=", 5, "fresh", "spawn"),
        way_target("`sandgate run` / bubblewrap", "<=", 0.8, "run", "bwrap"),
        way_target(f"{RESIDENT_MB} MB in the gate / none", "<=", 1.2, "heavy", "light"),
    ]
    targets = [target for target, needed in targets if set(needed) <= set(ways)]
    targets += [Target(f"{depth} at once: commands a second / posix_spawn", "x", ">=", 0.5,
                       lambda results, depth=depth: results.rate_ratios(depth)) for depth in DEPTHS]
    return targets + [Target("kinds of things left behind", "", "<=", 0, lambda results: [len(results.soak.leaks())])]


def percentile(times, percent):
    return times[(len(times) - 1) * percent // 100]


def way_rows(results):
    for name, way in results.ways.items():
        times = results.all_times(name)
        cells = [number(percentile(times, percent) / 1e3) for percent in (10, 50, 90)]
        yield [way.title, *cells, f"{statistics.median(results.ratios(name, 'spawn')):.2f}x", str(len(times))]


def many_rows(results):
    for depth, samples in results.many.items():
        for name, title in MANY.items():
            values = [statistics.median(sample[name][field] for sample in samples) for field in ("rate", "cpu_us")]
            yield [f"{depth} at once: {title}", *map(number, values)]


def render(results, judged, rounds):
    header = [f"`{TRUE}`", "p10 ms", "p50 ms", "p90 ms", "p50 / posix_spawn", "runs"]
    lines = [
        f"{rounds} rounds, all in turn; {describe_machine()}. A ratio is that of the medians of a round, and of "
        "those the median.",
        "",
        *table(header, way_rows(results)),
        "",
        *table(["commands a second, all cores busy", "a second", "CPU us each"], many_rows(results)),
        "",
        *soak_lines(results.soak),
        "",
        *target_table(judged),
    ]
    return "\n".join(lines) + "\n"


def soak_lines(outcome):
    header = ["commands of all kinds, 16 at once", f"after {soak.WARM_UP}", f"after {outcome.calls:,} more"]
    return table(header, outcome.rows())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--rounds", type=int, help="rounds of everything (5; 1 with --quick)")
    add("--turns", type=int, help="turns in each round (20; 5 with --quick)")
    add("--quick", action="store_true", help="fewer of everything")
    add("--ways", help="comma-separated, of the first table only, and nothing else")
    add("--soak", type=int, metavar="N", help="only N commands, and what they leave behind")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help="rewrite its part of FILE")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.turns = options.turns or (5 if options.quick else 20)
    options.sandgate = options.sandgate.resolve()
    if not os.access(options.sandgate, os.X_OK):
        files.fail(f"{options.sandgate} is not there: build it, or name it with --sandgate")
    return options


def make_workspace(folder):
    # A gate started by root runs commands as another user.
    folder.chmod(0o755)
    workspace = folder / "workspace"
    workspace.mkdir()
    workspace.chmod(0o777)
    return workspace


def make_ways(options, folder, workspace, environment):
    sandboxes = Sandboxes(folder, workspace)
    environment["CODEX_HOME"] = str(sandboxes.home)
    ways = dict([*own_ways(options.sandgate, workspace), *sandboxes.ways()])
    checked = dict(sandboxes.prefixes)
    if "run" in ways:
        checked["run"] = [options.sandgate, "run", "--workspace", workspace, "--"]
    for name, prefix in checked.items():
        check_confined(name, prefix, workspace, sandboxes.home, environment)
    return ways


def pick_ways(ways, names):
    unknown = set(names) - set(ways)
    if unknown:
        files.fail(f"--ways takes {', '.join(ways)}")
    return {name: way for name, way in ways.items() if name in names or name == "spawn"}


def measure_ways(options, folder, ways, environment):
    results = Results(ways)
    for round_number in range(1, options.rounds + 1):
        times = run_ways(folder, environment, ways, options.turns)
        results.rounds.append(times)
        medians = ", ".join(f"{name} {number(statistics.median(values))}" for name, values in times.items())
        print(f"round {round_number}: us: {medians}", file=sys.stderr)
    return results


def measure_rest(options, results, folder, workspace, environment):
    calls = 400 if options.quick else 4000
    for _ in range(options.rounds):
        for depth in DEPTHS:
            sample = run_many(folder, environment, options.sandgate, workspace, depth, calls)
            results.many[depth].append(sample)
            rates = ", ".join(f"{name} {number(sample[name]['rate'])}" for name in MANY)
            print(f"{depth} at once, a second: {rates}", file=sys.stderr)
    calls = SOAK_CALLS // 10 if options.quick else SOAK_CALLS
    results.soak = soak.run(options.sandgate, environment, workspace, calls)


def run_soak(options, folder):
    environment = files.make_environment(folder)
    outcome = soak.run(options.sandgate, environment, make_workspace(folder), options.soak)
    text = "\n".join(soak_lines(outcome)) + "\n"
    show(text, options.markdown, (SOAK_BEGIN, SOAK_END))
    for leak in outcome.leaks():
        print(f"commands.py: not as before: {leak}", file=sys.stderr)
    return 1 if outcome.leaks() else 0


def run_all(options, folder):
    workspace = make_workspace(folder)
    files.compile_programs(folder, PROGRAMS)
    environment = files.make_environment(folder)
    ways = make_ways(options, folder, workspace, environment)
    files.warn_if_busy()
    if options.ways:
        results = measure_ways(options, folder, pick_ways(ways, options.ways.split(",")), environment)
        print("\n".join(table(["", "p10 ms", "p50 ms", "p90 ms", "p50 / posix_spawn", "runs"], way_rows(results))))
        return 0
    results = measure_ways(options, folder, ways, environment)
    measure_rest(options, results, folder, workspace, environment)
    judged = [(target, target.values(results)) for target in make_targets(ways)]
    text = render(results, judged, options.rounds)
    return publish(text, options, (BEGIN, END), judged)


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        folder = Path(folder)
        return run_soak(options, folder) if options.soak else run_all(options, folder)


if __name__ == "__main__":
    sys.exit(main())
