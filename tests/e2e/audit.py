#!/usr/bin/python3
"""What a person and other programs read of the audit log and the sums, after real calls."""
import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import lib
from lib import Gate, check, note, wait_until

SECRET = "hunter2" + "correcthorse"
KEY = "ghp" + "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Place:
    """A workspace and a state folder of its own for one case."""

    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.workspace = form.folder(f"{name}-ws")
        self.logs = self.home / "sandgate" / "audit"
        form.write(self.workspace / "a.txt", "alpha\n")

    def run(self, *argv, status=0):
        done = self.form.run(self.home, *argv)
        check(done.returncode == status, f"{argv}: {done.returncode} {done.stderr.decode()}")
        return done

    def audit(self, *argv):
        done = self.run("audit", *argv)
        check(done.stderr == b"", done.stderr)
        return done.stdout.decode()

    def records(self, *argv):
        return [json.loads(line) for line in self.audit("show", "--json", *argv).splitlines()]

    @contextlib.contextmanager
    def gate(self, *options):
        """One that ends as it should: with a record of its end and its sums kept."""
        with Gate(self.form, *options, workspace=self.workspace, state=self.home) as gate:
            yield gate
            if not gate.closed:
                gate.close_input()
                gate.wait_exit()

    def some_calls(self):
        """Two that succeed, one that fails, one that is refused before it begins."""
        with self.gate("--agent", "bob") as gate:
            gate.ok("read_file", path="a.txt")
            gate.ok("write_file", path="b.txt", content="beta")
            gate.refused("NOT_FOUND", "read_file", path="none")
            gate.refused("UNKNOWN_TOOL", "no_such_tool")

    def write_log(self, name, *records):
        if not self.logs.exists():
            self.run("audit", "show")
            self.form.folder(self.logs)
        text = "".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in records)
        return self.form.write(self.logs / name, text)


def unchained(place, *argv):
    """The sequence numbers of the records that are marked, and how many lines of text are."""
    done = place.form.run(place.home, "audit", "show", "--json", *argv)
    marked = []
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record.get("unchained") is True:
            marked.append((record["kind"], record["seq"]))
    return marked


def forged(place):
    """a record that does not fit into the chain is marked in every form, and no other is"""
    place.some_calls()
    (file,) = place.logs.glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    check(unchained(place) == [] and "NOT-IN-CHAIN" not in place.audit("show"), "a whole log is marked")
    at = next(i for i, line in enumerate(lines) if b'"code":"NOT_FOUND"' in line)
    record = json.loads(lines[at])
    mine = ("call.outcome", record["seq"])
    added = lines[at].replace(b'"code":"NOT_FOUND"', b'"code":"TIMEOUT","unchained":false')
    changed = lines[at].replace(b'"code":"NOT_FOUND"', b'"code":"TIMEOUT"')
    follower = json.loads(lines[at + 1])
    cases = [
        ("added", [*lines[: at + 1], added, *lines[at + 1 :]], [mine]),
        ("changed", [*lines[:at], changed, *lines[at + 1 :]], [mine]),
        ("without a hash", [*lines[:at], json.dumps({**record, "hash": "x"}).encode() + b"\n", *lines[at + 1 :]], [mine, (follower["kind"], follower["seq"])]),
        ("repeated", [*lines, lines[at]], [mine]),
        ("removed", [*lines[:at], *lines[at + 1 :]], [(follower["kind"], follower["seq"])]),
        ("the first", [lines[0].replace(b'"version":"', b'"version":"9'), *lines[1:]], [("gate.start", 1)]),
    ]
    for name, damaged, expected in cases:
        file.write_bytes(b"".join(damaged))
        check(unchained(place) == expected, f"{name}: {unchained(place)}")
        check(place.form.run(place.home, "audit", "verify").returncode != 0, f"{name}: it is said to be whole")
        if name in ("added", "changed"):
            for form, mark in (("text", "NOT-IN-CHAIN"), ("sh", "# NOT-IN-CHAIN"), ("otel", "sandgate.unchained"), ("journald", "SANDGATE_UNCHAINED=true")):
                said = place.audit("show", "--as", form)
                check(said.count(mark) >= 1, f"{name} as {form}: {said}")
            text = place.audit("show")
            marked = [line for line in text.splitlines() if "NOT-IN-CHAIN" in line]
            check(len(marked) == 1 and "TIMEOUT" in marked[0], f"{name}: {text}")
            check(unchained(place, "--last", "1") == [] and unchained(place, "--since", "1h") == expected, name)
    file.write_bytes(b"".join(lines))
    check(unchained(place) == [], "as it was")


def words(text):
    """The columns of each line."""
    return [re.split(r"\s{2,}", line, maxsplit=5) for line in text.splitlines()]


def one_line_a_call(place):
    check(place.audit("show") == "", "an empty log")
    place.some_calls()
    lines = words(place.audit("show"))
    seen = [(tool, who, result, value) for _, tool, who, result, _, value in lines]
    check(
        seen
        == [
            ("read_file", "bob", "ok", '{"path":"a.txt"}'),
            ("write_file", "bob", "ok", lines[1][5]),
            ("read_file", "bob", "NOT_FOUND", '{"path":"none"}'),
            ("no_such_tool", "bob", "UNKNOWN_TOOL", "{}"),
        ],
        lines,
    )
    check("beta" not in lines[1][5] and "sha256" in lines[1][5], lines[1])
    check(all(re.fullmatch(r"\d+ms", line[4]) for line in lines), lines)
    check(lines == sorted(lines, key=lambda line: line[0]), "by time")


def filters(place):
    place.some_calls()
    with place.gate("--agent", "eve") as gate:
        gate.ok("stat", path="a.txt")
    everything = place.records()
    raw = b"".join(file.read_bytes() for file in sorted(place.logs.glob("*.jsonl")))
    check(place.audit("show", "--json").encode() == raw, "the records as they are")
    gate_id = everything[-1]["gate"]
    call = next(r["call"] for r in everything if r.get("code") == "NOT_FOUND")

    def tools(*argv):
        lines = place.audit("show", *argv).splitlines()
        # What else there is to tell of one call is set in.
        return [line[1] for line in words("\n".join(line for line in lines if line[0] != " "))]

    check(tools("--agent", "eve") == ["stat"], tools("--agent", "eve"))
    check(tools("--gate", gate_id[:6]) == ["stat"], "by gate")
    check(tools("--tool", "*_file") == ["read_file", "write_file", "read_file"], "by tool")
    check(tools("--failed") == ["read_file", "no_such_tool"], "failed")
    check(tools("--code", "NOT_FOUND") == ["read_file"], "by code")
    check(tools("--call", call) == ["read_file"], "by call")
    check(tools("--last", "2") == ["no_such_tool", "stat"], "the last")
    check(tools("--since", "1h", "--until", "2099-01-01") == tools(), "since")
    check(tools("--until", "1h") == [], "until")
    check([r["kind"] for r in place.records("--kind", "gate.*")] == ["gate.start", "gate.stop"] * 2, "by kind")
    # A record without a tool belongs to its call.
    check({r["kind"] for r in place.records("--tool", "stat")} == {"call.intent", "call.outcome"}, "joined")
    for wrong in (["--since", "soon"], ["--as", "xml"], ["--last", "x"], ["--tool", "[a"], ["--nope"]):
        place.run("audit", "show", *wrong, status=2)
    place.run("audit", status=2)
    check(b"show" in place.run("audit", "--help").stdout, "help")


def secrets_stay_out(place):
    with place.gate() as gate:
        gate.call("run_command", command=f"curl --token {SECRET} -H 'Authorization: Bearer {SECRET}' {KEY}; true")
        gate.call("read_file", path=f"https://u:{SECRET}@h/{KEY}")
        gate.call(f"tool_{KEY}")
        gate.call("read_file", path="a.txt", **{f"password={SECRET}": 1})
    everything = b"".join(file.read_bytes() for file in place.logs.glob("*"))
    for line in everything.splitlines():
        check(SECRET.encode() not in line and KEY.encode() not in line, line)
    check(everything.count(b"[redacted]") >= 5, everything)
    runs = place.form.folder("secret-runs")
    project = ("--project", place.workspace, "--state", runs)
    name = json.dumps({"path": f"@project/{KEY}"})
    done = place.form.run(place.home, "call", "fs.read", name, "--dialect", "toolhost", *project, "--run", "r1")
    check(done.returncode == 1, done)
    line = (runs / "r1" / "logs" / "execution.jsonl").read_text()
    check(KEY not in line and "[redacted]" in line and json.loads(line)["output"]["ok"] is False, line)


def nothing_reaches_the_terminal(place):
    bad = "\x1b]0;x\x07\u202e\u200b\x9b\r\n\u2028"
    with place.gate() as gate:
        gate.call("read_file", path=bad)
        gate.call("x" + bad)
    text = place.audit("show")
    check(len(text.splitlines()) == 2 and not set(text) & set(bad) - {"\n", "x", "0", ";", "]"}, repr(text))
    check("\x1b" not in text, "colours only on a terminal")


def output_that_cannot_be_written(place):
    """A message and a status, whatever is printed."""
    place.some_calls()
    place.run("session", "create", "--workspace", place.workspace)
    for argv in (["audit", "show"], ["audit", "show", "--json", "--kind", "*"], ["audit", "show", "--as", "otel"],
                 ["audit", "show", "--as", "journald"], ["audit", "verify"], ["audit", "--help"], ["stats"],
                 ["session", "list"], ["tools"], ["approvals", "--help"], ["run", "--help"], ["stdio", "--help"],
                 ["call", "stat", '{"path":"."}', "--workspace", place.workspace],
                 ["policy", "explain", "stat", '{"path":"."}', "--workspace", place.workspace], ["--version"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([str(place.form.binary), *map(str, argv)], stdout=full, stderr=subprocess.PIPE, cwd="/",
                                  env=lib.environment(place.home), timeout=lib.SECONDS, check=False,
                                  **place.form.identity())
        check(done.returncode == 1, f"{argv}: status {done.returncode}")
        check(b"No space left" in done.stderr, f"{argv}: {done.stderr}")


def damaged_lines_are_left_out(place):
    place.some_calls()
    place.write_log("007.jsonl", "no json\n", "{}\n", '{"ts":', "\n")
    done = place.run("audit", "show")
    check(len(done.stdout.splitlines()) == 4, done.stdout)
    check(b"3 lines" in done.stderr, done.stderr)


def journal_entries(data):
    """The export format, read as its description says."""
    entries, fields = [], {}
    while data:
        line, _, data = data.partition(b"\n")
        if not line:
            entries.append(fields)
            fields = {}
        elif b"=" in line:
            name, _, value = line.partition(b"=")
            fields[name.decode()] = value
        else:
            (size,) = struct.unpack("<Q", data[:8])
            fields[line.decode()] = data[8 : 8 + size]
            check(data[8 + size : 9 + size] == b"\n", "a line break behind the value")
            data = data[9 + size :]
    check(not fields, "the last entry ends")
    return entries


def for_the_journal(place):
    place.some_calls()
    place.write_log(
        "009.jsonl",
        {"ts": "2024-05-01T12:00:00.001Z", "seq": 1, "kind": "call.refused", "gate": "g", "call": "c", "tool": "t",
         "agent": "a\nb", "ok": False, "code": "INTERNAL", "message": "x\ny", "expiresMs": 3},
    )  # fmt: skip
    entries = journal_entries(place.run("audit", "show", "--as", "journald").stdout)
    first = entries[0]
    check(first["__REALTIME_TIMESTAMP"] == b"1714564800001000" and first["SANDGATE_AGENT"] == b"a\nb", first)
    check(first["PRIORITY"] == b"3" and first["SANDGATE_EXPIRES_MS"] == b"3" and b"\n" not in first["MESSAGE"], first)
    call = next(e for e in entries if e.get("SANDGATE_CODE") == b"NOT_FOUND")
    check(call["SANDGATE_TOOL"] == b"read_file" and call["PRIORITY"] == b"4", call)
    check(call["SYSLOG_IDENTIFIER"] == b"sandgate" and call["SANDGATE_INPUT"] == b'{"path":"none"}', call)
    check(all(re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) for e in entries for name in e), entries)


def for_opentelemetry(place):
    place.some_calls()
    records = []
    for line in place.audit("show", "--as", "otel").splitlines():
        (resource,) = json.loads(line)["resourceLogs"]
        (scope,) = resource["scopeLogs"]
        check({"service.name", "service.instance.id"} <= {a["key"] for a in resource["resource"]["attributes"]}, line)
        records += scope["logRecords"]
    calls = []
    for record in records:
        at = {a["key"]: next(iter(a["value"].values())) for a in record["attributes"]}
        check(abs(int(record["timeUnixNano"]) / 1e9 - time.time()) < 600, record)
        check("traceId" not in record and "spanId" not in record, "no invented ids")
        if "gen_ai.tool.name" in at:
            calls.append((at["gen_ai.tool.name"], at.get("error.type"), record["severityText"]))
            check(at["gen_ai.agent.id"] == "bob" and isinstance(at["sandgate.duration_ms"], str), at)
    check(
        calls
        == [
            ("read_file", None, "INFO"),
            ("write_file", None, "INFO"),
            ("read_file", "NOT_FOUND", "WARN"),
            ("no_such_tool", "UNKNOWN_TOOL", "WARN"),
        ],
        calls,
    )


class Tail:
    """A running `sandgate audit tail`."""

    def __init__(self, place, *argv):
        self.process = subprocess.Popen(
            [str(place.form.binary), "audit", "tail", *argv],
            stdout=subprocess.PIPE,
            env=lib.environment(place.home),
            **place.form.identity(),
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def wait(self, count):
        def read():
            self.text += (self.process.stdout.read() or b"").decode()
            return len(self.text.splitlines()) >= count

        wait_until(read, f"{count} lines; there are {self.text!r}")
        check(len(self.text.splitlines()) == count, self.text)
        return [line[1] for line in words(self.text)]


def tail_follows(place):
    with Tail(place, "--last", "2") as early, place.gate() as gate:
        gate.ok("read_file", path="a.txt")
        check(early.wait(1) == ["read_file"], "a log that did not exist")
        with Tail(place, "--last", "1") as tail, place.gate() as second:
            tail.wait(1)
            second.ok("stat", path="a.txt")
            check(tail.wait(2) == ["read_file", "stat"], "another gate's file")
            gate.ok("list_files", path=".")
            check(tail.wait(3)[2] == "list_files", "the first one's")
            second.close_input()
            second.wait_exit()
            name = next(n for n in sorted(place.logs.glob("*.jsonl")) if '"gate.stop"' in n.read_text())
            name.rename(place.logs / f"{name.name[:3]}.20240501T120000.000Z.jsonl")
            with place.gate() as third:
                third.ok("make_directory", path="d")
                check(tail.wait(4)[3] == "make_directory", "through rotation")
            tail.process.send_signal(signal.SIGINT)
            check(tail.process.wait(lib.SECONDS) in (0, -signal.SIGINT), "ends when interrupted")
        early.wait(4)
        early.process.stdout.close()
        check(early.process.wait(lib.SECONDS) is not None, "ends when nobody reads")
        early.process.stdout = open(os.devnull, "rb")


def long_logs_take_little_memory(place):
    place.some_calls()
    size, record = 48 << 20, {"ts": "2024-05-01T12:00:00.000Z", "seq": 1, "kind": "call.refused", "gate": "g",
                              "tool": "t", "ok": False, "code": "INTERNAL", "input": {"path": "x" * 200}}  # fmt: skip
    line = json.dumps(record) + "\n"
    # In pieces: what this process holds would count as the child's.
    with place.write_log("005.jsonl").open("w") as file:
        for _ in range(size // len(line)):
            file.write(line)
    for argv, least in ((("show", "--json"), size - len(line)), (("show", "--last", "3"), 1)):
        with tempfile.TemporaryFile() as out:
            start = time.monotonic()
            child = subprocess.Popen(
                [str(place.form.binary), "audit", *argv], stdout=out, env=lib.environment(place.home),
                **place.form.identity(),
            )  # fmt: skip
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
            note(f"{argv}: {time.monotonic() - start:.2f} s, {usage.ru_maxrss // 1024} MB")
            check(status == 0 and out.tell() >= 0 and os.fstat(out.fileno()).st_size >= least, argv)
            check(usage.ru_maxrss < 40 * 1024, f"{argv}: {usage.ru_maxrss} KB at the peak")


SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\}))?)*)\})? (\S+)'
)


def exposition(text):
    """The text format: families in one piece, HELP and TYPE once and first, no sample twice, whole histograms."""
    check(text.endswith("\n"), "ends with a line break")
    types, helps, samples, family = {}, set(), {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            check(what in ("HELP", "TYPE"), line)
            check(name not in (helps if what == "HELP" else types), f"twice: {line}")
            if what == "HELP":
                helps.add(name)
            else:
                check(rest in ("counter", "gauge", "histogram"), line)
                types[name], family = rest, name
            continue
        found = SAMPLE.fullmatch(line)
        check(found, f"no sample: {line}")
        name, labels, value = found.groups()
        base = re.sub("_(bucket|sum|count)$", "", name) if types.get(family) == "histogram" else name
        check(base == family and family in helps, f"not in its family: {line}")
        check((name, labels) not in samples, f"twice: {line}")
        samples[name, labels] = float(value)
    return types, samples


def with_client(text):
    """The same read by Prometheus' own client; False where it cannot be installed."""
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
        wanted = lib.ROOT / "tests/sdk/prometheus/requirements.txt"
        done = subprocess.run(
            [*install, "--require-hashes", "--target", folder, "-r", str(wanted)],
            capture_output=True, timeout=100, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return False
        sys.path.insert(0, folder)
        try:
            from prometheus_client.parser import text_string_to_metric_families

            return {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}
        finally:
            sys.path.remove(folder)


def sums(place):
    types, samples = exposition(place.run("stats").stdout.decode())
    check(samples["sandgate_approvals_waiting", None] == 0 and types["sandgate_calls_total"] == "counter", samples)
    for _ in range(2):
        place.some_calls()
    with place.gate() as gate:
        gate.ok("run_command", command="exit 3")
    text = place.run("stats").stdout.decode()
    types, samples = exposition(text)
    calls = {labels: value for (name, labels), value in samples.items() if name == "sandgate_calls_total"}
    check(calls['tool="read_file",dialect="native",code="ok"'] == 2, calls)
    check(calls['tool="read_file",dialect="native",code="NOT_FOUND"'] == 2, calls)
    check(calls['tool="unknown",dialect="native",code="UNKNOWN_TOOL"'] == 2, calls)
    check(samples["sandgate_bytes_total", 'direction="written"'] == 8, samples)
    check(samples["sandgate_bytes_total", 'direction="read"'] >= 12, samples)
    check(samples["sandgate_commands_total", 'ended_by="exit"'] == 1, samples)
    duration = "sandgate_call_duration_seconds"
    buckets = [v for (name, labels), v in samples.items() if name == f"{duration}_bucket" and '"read_file"' in labels]
    check(buckets, text)
    check(buckets == sorted(buckets) and buckets[-1] == samples[f"{duration}_count", 'tool="read_file"'] == 4, buckets)
    as_json = json.loads(place.run("stats", "--json").stdout)["metrics"]
    total = next(m for m in as_json if m["name"] == "sandgate_calls_total")
    check(sum(s["value"] for s in total["samples"]) == sum(calls.values()) == 9, total)
    check(total["samples"][0]["labels"]["dialect"] == "native", total)
    read = with_client(text)
    note("read by prometheus_client too" if read else "prometheus_client cannot be installed here")
    check(read is False or read["sandgate_build_info"] == 1, read)


CASES = [
    one_line_a_call,
    filters,
    forged,
    secrets_stay_out,
    nothing_reaches_the_terminal,
    output_that_cannot_be_written,
    damaged_lines_are_left_out,
    for_the_journal,
    for_opentelemetry,
    tail_follows,
    long_logs_take_little_memory,
    sums,
]


def in_its_place(case):
    return case.__name__.replace("_", " "), lambda form: case(Place(form, case.__name__))


lib.run_cases([in_its_place(case) for case in CASES])
