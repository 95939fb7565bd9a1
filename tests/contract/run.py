#!/usr/bin/python3
"""Runs the contract cases: a request goes in, the answer must be the expected one. Prints TAP.

    tests/contract/run.py [-v] [WORD...]    only cases whose file and name contain a word; -v shows every exchange

The cases are in cases/*.json, the shapes of all answers in schemas/*.json; README.md says how a case is written.
SANDGATE names the program. Each case has folders of its own, and what it does not name in `after` must be as before.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

# ruff: noqa: E402
from answers import DIALECTS, Tools, check_audit, check_records, expected_answers, pair_up, read_answer
from places import Places, check_after, make_all, snapshot
from program import SECONDS, Failed, Running, as_line, command_line, environment, request_of, talk
from values import dump, expand, mismatches, parse, shown
from wire import wire_of

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("SANDGATE") or str(HERE.parents[1] / "build" / "sandgate")
JOBS = 2 * len(os.sched_getaffinity(0))
KEYS = set(
    "name dialect format front files config agent mounts options env cwd id tool arguments lines answers together cut"
    " result error decision printed argv stdin stdout stderr status after then records records_lack audit audit_lacks"
    " beyond_schema".split()
)
# What people are told where nobody else is asked.
WAITS = re.compile(
    r"^sandgate: warning: a call waits for approval: .*; `sandgate approve (\w+)` or `sandgate deny \1`\n", re.M
)
ONCE = {"name", "files", "after", "then", "audit", "audit_lacks"}  # of a case, not of its further steps


def check_streams(case, out, status, err):
    default = 1 if case.get("front") == "call" and "error" in case else 0
    problems = [f"exit status: {p}" for p in mismatches(case.get("status", default), status)]
    if "stderr" not in case and "--approver" not in case.get("options", []):
        err = WAITS.sub("", err)
    problems += [f"standard error: {p}" for p in mismatches(case.get("stderr", ""), err)]
    if "argv" in case:
        problems += [f"standard output: {p}" for p in mismatches(case.get("stdout", ""), out)]
    return problems


def check_answers(case, places, tools, pairs):
    problems = []
    inner = []
    for line, wanted, raw in pairs:
        if "event" in wanted:
            problems += [f"event{p}" for p in mismatches(wanted, parse(raw.decode("utf-8")))]
            continue
        value, found = read_answer(case, tools, line, raw)
        problems += found + [f"answer{p}" for p in mismatches(wanted, value)]
        inner.append(wire_of(case).unwrap(value))
    return problems + check_records(case, places, inner)


def run_stdio(case, places, tools, running, exchange):
    lines = case["lines"] if "lines" in case else [request_of(case)]
    expected = expected_answers(case, len(lines))
    raw, status = talk(running, case, lines, expected)
    exchange += [f"< {shown(as_line(line).decode('utf-8', 'replace'))}" for line in lines]
    exchange += [f"> {shown(answer.decode('utf-8', 'replace'), 2000)}" for answer in raw]
    return check_answers(case, places, tools, pair_up(case, lines, expected, raw)), "", status


def run_call(case, places, tools, running, exchange):
    out, status = running.finish()
    exchange.append(f"> {shown(out.decode('utf-8', 'replace'), 2000)}")
    if out.count(b"\n") != 1 and case.get("dialect") != "runner":
        raise Failed("the output is not one line")
    pairs = pair_up(case, [request_of(case)], expected_answers(case, 1), [wire_of(case).bare(out)])
    return check_answers(case, places, tools, pairs), "", status


def run_argv(case, _places, _tools, running, exchange):
    out, status = running.finish(as_line(case.get("stdin", "")))
    exchange.append(f"> {shown(out.decode('utf-8', 'replace'), 2000)}")
    return [], out.decode("utf-8"), status


def run_program(case, places, tools, exchange):
    argv = command_line(case, places)
    exchange.append(f"$ sandgate {' '.join(argv)}")
    cwd = places.path(case["cwd"]) if "cwd" in case else places.root
    run = run_argv if "argv" in case else run_call if case.get("front") == "call" else run_stdio
    with tempfile.TemporaryFile(dir=places.root) as stderr:
        running = Running([PROGRAM, *argv], environment(case, places), cwd, stderr)
        try:
            problems, out, status = run(case, places, tools, running, exchange)
        finally:
            running.stop()
        stderr.seek(0)
        err = stderr.read().decode("utf-8", "replace")
    places.printed.append(out.strip())
    if err:
        exchange.append(f"2> {err.rstrip()}")
    return problems + check_streams(case, out, status, err)


def run_case(case, root, tools, exchange):
    unknown = set(case) - KEYS
    unknown |= {key for step in case.get("then", []) for key in step if key in ONCE or key not in KEYS}
    if unknown:
        return [f"the case has keys that mean nothing: {sorted(unknown)}"]
    root.mkdir()
    places = Places(root)
    try:
        return run_in(places, case, root, tools, exchange)
    finally:
        places.done()


def inherited(case):
    """What every step of a case has in common with the first."""
    return {key: case[key] for key in ("dialect", "format", "agent", "config", "env", "options") if key in case}


def write_config(root, case):
    if "config" in case:
        config = case["config"]
        (root / "config.json").write_text(config if isinstance(config, str) else dump(config))


def run_in(places, case, root, tools, exchange):
    case = {key: expand(value, places.names()) for key, value in case.items()}
    make_all(places, case.get("files", {}))
    before = snapshot(places)
    problems = []
    for step in [case, *({**inherited(case), **more} for more in case.get("then", []))]:
        step = expand(step, {f"PRINTED:{n}": text for n, text in enumerate(places.printed, 1)})
        write_config(root, step)
        try:
            problems += run_program(step, places, tools[step.get("dialect", "native")], exchange)
        except Failed as error:
            problems.append(str(error))
    return problems + check_audit(case, places) + check_after(places, before, case.get("after", {}))


# --- the whole run


def load_cases(words):
    cases = []
    for path in sorted((HERE / "cases").glob("*.json")):
        cases += [(f"{path.stem}: {case['name']}", case) for case in parse(path.read_text(encoding="utf-8"))]
    names = [name for name, _ in cases]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"case names that stand twice: {sorted(twice)}")
    return [(name, case) for name, case in cases if not words or any(word in name for word in words)]


def sandbox_here():
    """The tier that this machine allows, and why it cannot run any case, or nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o711)
        workspace = pathlib.Path(scratch, "workspace")
        workspace.mkdir()
        argv = [PROGRAM, "call", "list_files", "--workspace", str(workspace)]
        env = {**os.environ, "XDG_STATE_HOME": f"{scratch}/state"}
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, env=env, check=False)
    answer = parse(done.stdout.decode()) if done.stdout else {}
    error = answer.get("error", {})
    why = error["message"] if error.get("code") == "SANDBOX_UNAVAILABLE" else ""
    return answer.get("result", {}).get("tier", ""), why


def remove(root):
    for folder, below, _ in os.walk(root):
        for name in below:
            path = os.path.join(folder, name)
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                os.chmod(path, stat.S_IRWXU)
    shutil.rmtree(root, ignore_errors=True)


def timed(case, root, tools):
    """Problems and exchange; a case that cannot even be run is a failed case."""
    exchange = []
    started = time.monotonic()
    try:
        problems = run_case(case, root, tools, exchange)
    except Exception as error:  # noqa: BLE001
        problems = [f"{type(error).__name__}: {error}"]
    exchange.append(f"{time.monotonic() - started:.2f} s")
    return problems, exchange


def comment(texts):
    for text in texts:
        for line in text.splitlines():
            print("#  ", "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line))


def needs_more(tier, said):
    """Whether a case asked for a command where the sandbox has none, or for what one left."""
    words = ("file tools run in it, and no command does", "no answer has output_id")
    return tier == "landlock" and any(word in one for one in said for word in words)


def run_all(cases, tools, base, tier):
    failed = 0
    print(f"1..{len(cases)}")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        running = [pool.submit(timed, case, base / str(n), tools) for n, (_, case) in enumerate(cases)]
        for number, ((name, _), done) in enumerate(zip(cases, running), 1):
            problems, exchange = done.result()
            if problems and needs_more(tier, problems + exchange):
                print(f"ok {number} - {name.replace('#', '')} # SKIP no command runs in the tier landlock")
                continue
            failed += bool(problems)
            print(f"{'not ok' if problems else 'ok'} {number} - {name.replace('#', '')}")
            if problems or "-v" in sys.argv[1:]:
                comment(problems + exchange)
    return 1 if failed or not cases else 0


def main():
    words = [word for word in sys.argv[1:] if word != "-v"]
    os.umask(0o022)
    tier, why = sandbox_here()
    if why:
        print(f"1..0 # SKIP no sandbox here: {why}")
        return 0
    cases = load_cases(words)
    tools = {dialect: Tools(PROGRAM, dialect) for dialect in DIALECTS}
    base = pathlib.Path(tempfile.mkdtemp(prefix="contract-"))
    base.chmod(0o711)  # a gate run as root works as another user, who must get through
    try:
        return run_all(cases, tools, base, tier)
    finally:
        remove(base)


if __name__ == "__main__":
    sys.exit(main())
