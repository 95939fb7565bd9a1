#!/usr/bin/env python3
"""File reads over stdio: Sandgate against its peers, interleaved in one run."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from report import Target, describe_machine, number, publish, table, target_table

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- files:begin -->", "<!-- files:end -->"
FIRST_WORD, LAST_WORD = "bench-begin", "bench-end"
LINE = "The quick brown fox jumps over the lazy dog, line after line.\n"
SIZES = {"f1k.txt": 1024, "f1m.txt": 1024 * 1024}
PROGRAMS = {"client": ["client.c", "tree.c"], "spawn": ["spawn.c"]}
TITLES = {
    "sandgate": "Sandgate",
    "rust": "crate `rust-mcp-filesystem`",
    "npm": "npm `@modelcontextprotocol/server-filesystem`",
}


@dataclass(frozen=True)
class Case:
    title: str
    file: str
    depth: int
    calls: int


CASES = {
    "1k": Case("1 KB, one at a time", "f1k.txt", 1, 20000),
    "1k64": Case("1 KB, 64 in flight", "f1k.txt", 64, 100000),
    "1m": Case("1 MB, one at a time", "f1m.txt", 1, 400),
}


@dataclass(frozen=True)
class Server:
    protocol: str
    tool: str
    command: list
    argument_sets: dict
    version: str = ""
    expected: tuple = ()


def ratio(case, field, peer):
    """Round by round: what else runs on the machine changes between rounds, less within one."""
    def values(results):
        pairs = zip(results.samples["sandgate", case], results.samples[peer, case])
        return [ours[field] / theirs[field] for ours, theirs in pairs]
    return values


def cold_ratio(results):
    return [results.cold["sandgate"]["p50_us"] / results.cold["bwrap"]["p50_us"]]


def memory(results):
    return [results.memory_mb("sandgate")]


TARGETS = [
    Target("1 KB, one at a time: CPU / rust", "x", "<=", 0.35, ratio("1k", "cpu_us", "rust")),
    Target("1 KB, 64 in flight: CPU / rust", "x", "<=", 0.35, ratio("1k64", "cpu_us", "rust")),
    Target("1 KB, one at a time: rate / rust", "x", ">=", 2, ratio("1k", "rate", "rust")),
    Target("1 KB, one at a time: rate / npm", "x", ">=", 5, ratio("1k", "rate", "npm")),
    Target("1 KB, 64 in flight: rate / rust", "x", ">=", 4, ratio("1k64", "rate", "rust")),
    Target("1 KB, 64 in flight: rate / npm", "x", ">=", 10, ratio("1k64", "rate", "npm")),
    Target("1 MB, one at a time: rate / rust", "x", ">", 1, ratio("1m", "rate", "rust")),
    Target("1 MB, one at a time: rate / npm", "x", ">", 1, ratio("1m", "rate", "npm")),
    Target("cold call / `bwrap cat`, p50", "x", "<=", 0.9, cold_ratio),
    Target("memory of gate and warm cell", " MB", "<", 25, memory),
]


class Results:
    def __init__(self, servers):
        self.servers = servers
        self.samples = {(server, case): [] for server in servers for case in CASES}
        self.cold = {}

    def median(self, server, case, field):
        return statistics.median(sample[field] for sample in self.samples[server, case])

    def memory_mb(self, server):
        return max(self.median(server, case, "memory_bytes") for case in CASES) / 1e6


def fail(message):
    sys.exit(f"files.py: {message}")


def compile_programs(folder, programs=None):
    compiler = os.environ.get("CC", "cc")
    flags = ["-std=c17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]
    for program, sources in (programs or PROGRAMS).items():
        paths = [HERE / source for source in sources]
        subprocess.run([compiler, *flags, "-o", folder / program, *paths], check=True)


def build_beside(sandgate, programs):
    """Programs of bench/ that link the library, made where `sandgate` was; none where that is not known."""
    build = sandgate.parent
    if not (build / "build.ninja").exists():
        return []
    names = [f"bench/{name}" for name in programs]
    subprocess.run(["ninja", "-C", build, "--quiet", *names], stdout=subprocess.DEVNULL, check=True)
    return [build / name for name in names]


def make_text(size):
    ends = len(FIRST_WORD) + len(LAST_WORD) + 3
    middle = (LINE * (size // len(LINE) + 1))[: size - ends]
    return f"{FIRST_WORD}\n{middle}\n{LAST_WORD}\n"


def make_workspace(folder):
    # A gate started by root reads as another user.
    folder.parent.chmod(0o755)
    folder.mkdir(mode=0o755)
    for name, size in SIZES.items():
        (folder / name).write_text(make_text(size))
        (folder / name).chmod(0o644)


def find_peers():
    output = subprocess.check_output([HERE / "peers.sh"], text=True)
    lines = [line.split(" ", 2) for line in output.splitlines()]
    return {name: (version, path) for name, version, path in lines}


def sandgate_server(binary, workspace):
    sets = {name: {"path": name} for name in SIZES}
    sets["f1m.txt"]["max_bytes"] = 2000000
    command = [binary, "stdio", "--workspace", workspace]
    return Server("sandgate", "read_file", command, sets, expected=('"ok":true',))


def peer_server(version, command, workspace):
    sets = {name: {"path": str(workspace / name)} for name in SIZES}
    return Server("mcp", "read_text_file", [*command, workspace], sets, version)


def make_servers(names, sandgate, workspace):
    peers = find_peers()
    (rust_version, rust), (npm_version, npm) = peers["rust"], peers["npm"]
    every = {
        "sandgate": sandgate_server(sandgate, workspace),
        "rust": peer_server(rust_version, [rust], workspace),
        "npm": peer_server(npm_version, ["node", npm], workspace),
    }
    return {name: every[name] for name in every if name in names}


def make_environment(folder):
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("SANDGATE_")}
    environment["SANDGATE_APPROVAL_DEFAULT"] = "approve"  # nobody is there to be asked
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        path = folder / variable.lower()
        path.mkdir()
        environment[variable] = str(path)
    return environment


def run_json_lines(command, environment):
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        fail(f"{Path(command[0]).name} failed:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_case(folder, environment, server, case, calls):
    command = [folder / "client", "--protocol", server.protocol, "--tool", server.tool]
    command += ["--arguments", json.dumps(server.argument_sets[case.file], separators=(",", ":"))]
    command += ["--calls", str(calls), "--warmup", str(max(calls // 10, 1))]
    command += ["--depth", str(case.depth), "--min-bytes", str(SIZES[case.file])]
    for text in (FIRST_WORD, LAST_WORD, *server.expected):
        command += ["--expect", text]
    return run_json_lines([*command, "--", *server.command], environment)[0]


def show_progress(title, sample):
    print(f"{title}: {sample['rate']:.0f}/s, CPU {sample['cpu_us']:.0f} us", file=sys.stderr)


def run_rounds(folder, environment, servers, rounds, divisor):
    results = Results(servers)
    for round_number in range(1, rounds + 1):
        for case_name, case in CASES.items():
            for name, server in servers.items():
                sample = run_case(folder, environment, server, case, case.calls // divisor)
                results.samples[name, case_name].append(sample)
                show_progress(f"round {round_number}: {case.title}: {name}", sample)
    return results


def run_cold(folder, environment, workspace, sandgate, runs):
    bwrap = ["bwrap", "--ro-bind", "/", "/", "--bind", workspace, workspace, "--unshare-all"]
    bwrap += ["--proc", "/proc", "--dev", "/dev", "--die-with-parent", "--new-session"]
    commands = {"bwrap": [*bwrap, "cat", workspace / "f1k.txt"]}
    if sandgate:
        call = ["call", "read_file", '{"path":"f1k.txt"}', "--workspace", workspace]
        commands["sandgate"] = [sandgate, *call]
    words = [folder / "spawn", "--runs", str(runs), "--expect", LAST_WORD, "--"]
    for command in commands.values():
        words += [*command, "::"]
    return dict(zip(commands, run_json_lines(words[:-1], environment)))


def server_rows(results):
    def row(title, case_name, field):
        values = (results.median(name, case_name, field) for name in results.servers)
        return [title, *map(number, values)]

    for case_name, case in CASES.items():
        fields = {"calls a second": "rate", "CPU us a call": "cpu_us"}
        if case.depth == 1:
            fields |= {"p50 us": "p50_us", "p99 us": "p99_us"}
        for label, field in fields.items():
            yield row(f"{case.title}: {label}", case_name, field)
    yield row("start to first reply, ms", "1k", "first_reply_ms")
    yield ["memory after load, MB", *(number(results.memory_mb(name)) for name in results.servers)]


def cold_rows(cold):
    titles = {"sandgate": "`sandgate call`, new gate, new cell", "bwrap": "`bwrap cat`"}
    for name in (name for name in titles if name in cold):
        yield [titles[name], number(cold[name]["p50_us"] / 1e3), number(cold[name]["p99_us"] / 1e3)]


def render(results, judged, rounds):
    machine = describe_machine()
    titles = [f"{TITLES[name]} {results.servers[name].version}".strip() for name in results.servers]
    lines = [
        f"Medians of {rounds} interleaved rounds; {machine}.",
        "CPU and memory are those of the whole process tree; a ratio is the median over rounds.",
        "",
        *table(["reads over stdio", *titles], server_rows(results)),
        "",
        *table(["cold read of 1 KB, start to exit", "p50 ms", "p99 ms"], cold_rows(results.cold)),
    ]
    if judged:
        lines += ["", *target_table(judged)]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--only", default=",".join(TITLES),
        help="comma-separated servers (%(default)s); targets are judged only with all of them")
    add("--rounds", type=int, help="interleaved rounds (5; 2 with --quick)")
    add("--quick", action="store_true", help="fewer rounds, a tenth of the calls")
    add("--one-core", action="store_true",
        help="keep client and server on one core: steadier, no cost of waking another core")
    add("--check", action="store_true", help="exit with 1 when a target is missed")
    add("--markdown", type=Path, metavar="FILE", help=f"rewrite FILE between {BEGIN} and {END}")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if set(options.only) - set(TITLES):
        parser.error("--only takes " + ", ".join(TITLES))
    if options.check and set(options.only) != set(TITLES):
        parser.error("--check needs every server")
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


class Load:
    """So many processes that do nothing but keep a core busy, at the priority of everybody else."""

    def __init__(self, count):
        loop = "while True: pass"
        self.processes = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def warn_if_busy():
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"files.py: load average {load:.1f}: ratios need a quiet machine", file=sys.stderr)


def measure(options, folder):
    sandgate = options.sandgate.resolve() if "sandgate" in options.only else None
    if sandgate and not os.access(sandgate, os.X_OK):
        fail(f"{options.sandgate} is not there: build it, or name it with --sandgate")
    workspace = folder / "workspace"
    make_workspace(workspace)
    compile_programs(folder)
    servers = make_servers(options.only, sandgate, workspace)
    environment = make_environment(folder)
    warn_if_busy()
    if options.one_core:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    divisor, cold_runs = (10, 200) if options.quick else (1, 400)
    results = run_rounds(folder, environment, servers, options.rounds, divisor)
    results.cold = run_cold(folder, environment, workspace, sandgate, cold_runs)
    return results


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as folder:
        results = measure(options, Path(folder))
    complete = len(results.servers) == len(TITLES)
    judged = [(target, target.values(results)) for target in TARGETS] if complete else []
    text = render(results, judged, options.rounds)
    return publish(text, options, (BEGIN, END), judged)


if __name__ == "__main__":
    sys.exit(main())
