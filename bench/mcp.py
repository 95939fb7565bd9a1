#!/usr/bin/env python3
"""File tools over MCP: `sandgate mcp` against its peers, interleaved in one run. All of them speak the same protocol
to the same client; each answer is checked."""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import files
from files import FIRST_WORD, LAST_WORD
from report import TARGET_HEADER, describe_machine, number, show, table

BEGIN, END = "<!-- mcp:begin -->", "<!-- mcp:end -->"
BUSY_BEGIN, BUSY_END = "<!-- mcp-busy:begin -->", "<!-- mcp-busy:end -->"
ENTRIES = 1000
FOLDERS, FILES_EACH = 200, 100
TITLES = {"sandgate": "`sandgate mcp`", "rust": files.TITLES["rust"], "npm": files.TITLES["npm"]}
PEERS = ("rust", "npm")


@dataclass(frozen=True)
class Case:
    title: str
    work: str
    depth: int
    calls: int


CASES = {
    "1k": Case("1 KB read, one at a time", "f1k.txt", 1, 20000),
    "1k64": Case("1 KB read, 64 in flight", "f1k.txt", 64, 100000),
    "1m": Case("1 MB read, one at a time", "f1m.txt", 1, 400),
    "write": Case("1 KB write, one at a time", "write", 1, 4000),
    "list": Case("list of 1,000 entries with sizes, one at a time", "list", 1, 2000),
    "names": Case("list of 1,000 entries, names and types alone, one at a time", "names", 1, 2000),
    "glob": Case("`**/*.md` over 20,000 files, one at a time", "glob", 1, 20),
}


@dataclass(frozen=True)
class Work:
    """What one server is asked for, and what its answer must hold."""

    tool: str
    arguments: dict
    expected: tuple
    min_bytes: int = 0


@dataclass(frozen=True)
class Server:
    command: list
    works: dict
    version: str = ""


def make_workspace(folder):
    files.make_workspace(folder)
    (folder / "written").mkdir(mode=0o755)
    entries = folder / "entries"
    entries.mkdir(mode=0o755)
    for entry in range(ENTRIES):
        (entries / f"entry-{entry:04}.txt").write_text("x")
    for number in range(FOLDERS):
        inner = folder / "tree" / f"group-{number // 20:02}" / f"folder-{number:03}"
        inner.mkdir(mode=0o755, parents=True)
        for entry in range(FILES_EACH):
            (inner / f"file-{entry:02}.{'md' if entry == 50 else 'txt'}").write_text("x")


def make_works(path, reads, lists, read_options, globs):
    """`path` writes a name as the server wants it; globs: the tool and its arguments."""
    ends = (FIRST_WORD, LAST_WORD)
    # Room for a large answer is asked for only where there is one: it is kept free for every call in flight.
    works = {name: Work(reads, {"path": path(name), **(read_options if size > 100000 else {})}, ends, size)
             for name, size in files.SIZES.items()}
    names = ("entry-0000.txt", f"entry-{ENTRIES - 1:04}.txt")
    works["list"] = Work(lists[0], {"path": path("entries")}, names)
    works["names"] = Work(lists[1][0], {"path": path("entries"), **lists[1][1]}, names)
    found = ("group-00/folder-000/file-50.md", "group-09/folder-199/file-50.md")
    works["glob"] = Work(globs[0], {"path": path("tree"), **globs[1]}, found)
    content = files.make_text(files.SIZES["f1k.txt"])
    works["write"] = Work("write_file", {"path": path("written/file"), "content": content}, ("written/file",))
    return works


def make_servers(names, sandgate, workspace):
    (rust_version, rust), (npm_version, npm) = (files.find_peers()[name] for name in PEERS)
    peer_works = make_works(lambda name: str(workspace / name), "read_text_file",
                            ("list_directory_with_sizes", ("list_directory", {})), {},
                            ("search_files", {"pattern": "**/*.md"}))
    own_works = make_works(str, "read_file", ("list_files", ("list_files", {"names_only": True})), {"max_bytes": 2000000},
                           ("list_files", {"recursive": True, "glob": "**/*.md"}))
    every = {
        "sandgate": Server([sandgate, "mcp", "--host", "--structured", "--workspace", workspace], own_works),
        "rust": Server([rust, "--allow-write", workspace], peer_works, rust_version),
        "npm": Server(["node", npm, workspace], peer_works, npm_version),
    }
    return {name: every[name] for name in every if name in names}


def run_case(folder, environment, server, case, calls):
    work = server.works[case.work]
    command = [folder / "client", "--protocol", "mcp", "--tool", work.tool]
    command += ["--arguments", json.dumps(work.arguments, separators=(",", ":"))]
    command += ["--calls", str(calls), "--warmup", str(max(calls // 10, 1))]
    command += ["--depth", str(case.depth), "--min-bytes", str(work.min_bytes)]
    for text in work.expected:
        command += ["--expect", text]
    return files.run_json_lines([*command, "--", *server.command], environment)[0]


def run_or_fail(folder, environment, server, case, calls, title, name):
    """A peer may be unable to do the work: then it has no sample, and the table says so."""
    try:
        sample = run_case(folder, environment, server, case, calls)
    except SystemExit as error:
        if name == "sandgate":
            raise
        print(f"{title} FAILS: {str(error)[-300:]}", file=sys.stderr)
        return None
    files.show_progress(title, sample)
    return sample


def run_rounds(folder, environment, servers, rounds, divisor):
    samples = {(server, case): [] for server in servers for case in CASES}
    for round_number in range(1, rounds + 1):
        for case_name, case in CASES.items():
            for name, server in servers.items():
                title = f"round {round_number}: {case.title}: {name}"
                sample = run_or_fail(folder, environment, server, case, case.calls // divisor, title, name)
                samples[name, case_name].append(sample)
    return samples


def all_samples(samples, server, field):
    return [sample[field] for case in CASES for sample in samples[server, case] if sample]


def value_rows(samples, servers):
    def row(title, values):
        return [title, *("fails" if value is None else number(value) for value in map(values, servers))]

    def median(values):
        return statistics.median(values) if values else None

    for case_name, case in CASES.items():
        fields = {"calls a second": "rate", "CPU us a call": "cpu_us"}
        if case.depth == 1:
            fields["p50 us"] = "p50_us"
        for label, field in fields.items():
            yield row(f"{case.title}: {label}",
                      lambda s, c=case_name, f=field: median([x[f] for x in samples[s, c] if x]))
    for label, field in (("start to initialize, ms", "handshake_ms"), ("start to first reply, ms", "first_reply_ms")):
        yield row(label, lambda s, f=field: statistics.median(all_samples(samples, s, f)))
    yield row("most memory after load, MB", lambda s: max(all_samples(samples, s, "memory_bytes")) / 1e6)


def ratios(samples, case, field, peer):
    """Round by round: what else runs on the machine changes between rounds, less within one."""
    pairs = zip(samples["sandgate", case], samples[peer, case])
    return [ours[field] / theirs[field] for ours, theirs in pairs if theirs]


def ratio_rows(samples, peers):
    def text(values):
        if not values:
            return "it fails"
        spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
        return f"{statistics.median(values):.2f}x{spread}"

    for case_name, case in CASES.items():
        for label, field in (("rate", "rate"), ("CPU", "cpu_us")):
            yield [f"{case.title}: {label}", *(text(ratios(samples, case_name, field, peer)) for peer in peers)]
    first = next(iter(CASES))
    yield ["start to initialize: time", *(text(ratios(samples, first, "handshake_ms", peer)) for peer in peers)]


# What is to be reached: case, peer, how many times its rate.
TARGETS = [("1k", "rust", 2), ("1k", "npm", 5), ("1k64", "rust", 4), ("1k64", "npm", 10)]
TARGETS += [(case, peer, 1) for case in ("1m", "write", "list", "names", "glob")
            for peer in PEERS]
HANDSHAKE_MS = 12


def target_rows(samples):
    start = statistics.median(all_samples(samples, "sandgate", "handshake_ms"))
    yield ["start to initialize", f"< {HANDSHAKE_MS} ms", f"{start:.1f} ms", "yes" if start < HANDSHAKE_MS else "no"]
    for case, peer, least in TARGETS:
        values = ratios(samples, case, "rate", peer)
        sign = ">=" if least > 1 else ">"
        title = f"{CASES[case].title}: rate / {peer}"
        if not values:
            yield [title, f"{sign} {least}x", "the peer fails", "no number"]
            continue
        measured = statistics.median(values)
        met = measured >= least if least > 1 else measured > least
        yield [title, f"{sign} {least}x", f"{measured:.2f}x", "yes" if met else "no"]


def render(samples, servers, rounds, targets=True, busy=0):
    titles = [f"{TITLES[name]} {servers[name].version}".strip() for name in servers]
    lines = [
        f"Medians of {rounds} interleaved rounds; {describe_machine()}"
        + (f"; {busy} spinning processes beside it." if busy else "."),
        "CPU and memory are those of the whole process tree.",
        "",
        *table(["over MCP", *titles], value_rows(samples, servers)),
    ]
    peers = [name for name in PEERS if name in servers]
    if "sandgate" in servers and peers:
        header = ["Sandgate against a peer, median over rounds", *(TITLES[name] for name in peers)]
        lines += ["", *table(header, ratio_rows(samples, peers))]
    if targets and len(servers) == len(TITLES):
        lines += ["", *table(TARGET_HEADER, target_rows(samples))]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sandgate", type=Path, default=Path(os.environ.get("SANDGATE", "build/sandgate")),
        help="the program to measure (%(default)s)")
    add("--only", default=",".join(TITLES), help="comma-separated servers (%(default)s)")
    add("--cases", default=",".join(CASES), help="comma-separated (%(default)s); a part is not written to a page")
    add("--rounds", type=int, help="interleaved rounds (5; 2 with --quick)")
    add("--quick", action="store_true", help="fewer rounds, a tenth of the calls")
    add("--busy", type=int, default=0, metavar="N", help="keep so many cores busy meanwhile, by as many spinning processes")
    add("--one-core", action="store_true", help="keep client and server on one core: steadier")
    add("--markdown", type=Path, metavar="FILE",
        help=f"rewrite FILE between {BEGIN} and {END}, with --busy between {BUSY_BEGIN} and {BUSY_END}")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if set(options.only) - set(TITLES):
        parser.error("--only takes " + ", ".join(TITLES))
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


def main():
    options = parse_arguments()
    whole = set(options.cases.split(",")) == set(CASES)
    for name in set(CASES) - set(options.cases.split(",")):
        del CASES[name]
    # One of the peers opens every file it passes.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sandgate = options.sandgate.resolve()
    if "sandgate" in options.only and not os.access(sandgate, os.X_OK):
        sys.exit(f"mcp.py: {options.sandgate} is not there: build it, or name it with --sandgate")
    with tempfile.TemporaryDirectory(prefix="sandgate-bench-") as name:
        folder = Path(name)
        make_workspace(folder / "workspace")
        files.compile_programs(folder)
        servers = make_servers(options.only, sandgate, folder / "workspace")
        environment = files.make_environment(folder)
        files.warn_if_busy()
        if options.one_core:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        with files.Load(options.busy):
            samples = run_rounds(folder, environment, servers, options.rounds, 10 if options.quick else 1)
    text = render(samples, servers, options.rounds, whole, options.busy)
    marks = (BUSY_BEGIN, BUSY_END) if options.busy else (BEGIN, END)
    show(text, options.markdown if options.busy or whole else None, marks)


if __name__ == "__main__":
    main()
