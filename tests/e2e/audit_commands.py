#!/usr/bin/python3
"""What the audit log says of commands: the same in all dialects and ways in, as one types it, and as a script that does
the same again."""
import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess

import lib
import ran
from lib import Gate, check

SECRET = "hunter2" + "correcthorse"
LIMIT = 64 << 10


class Place(ran.Place):
    def records(self, *argv):
        done = self.audit("show", "--json", *argv)
        return [json.loads(line) for line in done.splitlines()]

    def audit(self, *argv):
        done = self.form.run(self.home, "audit", *argv)
        check(done.returncode == 0 and done.stderr == b"", f"{argv}: {done.returncode} {done.stderr}")
        return done.stdout.decode()

    def calls(self):
        """(intent or None, last record) of each call, in the order of their ends."""
        intents, ended = {}, []
        for record in self.records("--kind", "call.*"):
            if record["kind"] == "call.intent":
                intents[record["call"]] = record
            else:
                ended.append((intents.get(record["call"]), record))
        return ended

    def whole(self):
        check(self.audit("verify").startswith("whole"), "the log is as it was written")


def stop(gate):
    gate.close_input()
    gate.wait_exit()


# --- the same fields everywhere

SCRIPT = "echo $((40 + 2)) > out; exit 3"
# By dialect and tool: the arguments for a script in a folder, and whether a shell is asked for.
COMMAND_TOOLS = [
    ("native", "run_command", lambda line, folder: {"command": line, "cwd": folder}, True),
    ("native", "run_command", lambda line, folder: {"argv": ["/bin/bash", "-c", line], "cwd": folder}, False),
    ("sidecar", "run_command", lambda line, folder: {"command": line, "cwd": folder}, True),
    ("system", "bash", lambda line, folder: {"command": "/bin/bash", "args": ["-c", line], "cwd": folder}, False),
    ("runner", "shell", lambda line, folder: {"command": line, "working_directory": folder}, True),
]


def check_record(intent, outcome, place, shell):
    expected = {
        "argv": ["/bin/bash", "-c", SCRIPT],
        "cwd": f"{place.workspace}/sub dir",
        "folder": f"{place.workspace}/sub dir",
        "workspace": str(place.workspace),
        "network": "none",
    }
    if shell:
        expected["shell"] = True
    check(intent["command"] == expected, f"{intent['command']}, not {expected}")
    check(not {"command", "argv", "args"} & set(intent["input"]), f"said twice: {intent['input']}")
    end = outcome["end"]
    check((end["by"], end["exitCode"]) == ("exit", 3), end)
    check(set(end) == {"by", "exitCode", "cpuMs", "peakMemory"} and outcome["ok"] is True, outcome)
    check(isinstance(outcome["durationMs"], int), outcome)


def all_dialects(form):
    """the tools of all dialects that run commands write the same fields"""
    config = {"commands": {"allowChaining": True}}
    rows = {f.stem for f in (lib.ROOT / "src/tools").glob("*.c") if ".runner = RUN_COMMAND" in f.read_text()}
    check(rows == {f"{dialect}_{tool}" for dialect, tool, _, _ in COMMAND_TOOLS}, rows)
    for number, (dialect, tool, arguments, shell) in enumerate(COMMAND_TOOLS):
        place = Place(form, f"dialect-{number}", config if dialect == "sidecar" else None)
        place.put("sub dir/a", "a\n")
        options = [*place.options, "--dialect", dialect]
        with Gate(form, *options, workspace=place.workspace, state=place.home) as gate:
            gate.call(tool, **arguments(SCRIPT, "sub dir"))
            stop(gate)
        ((intent, outcome),) = place.calls()
        check((intent["dialect"], intent["tool"]) == (dialect, tool), intent)
        check_record(intent, outcome, place, shell)
        check((place.workspace / "sub dir/out").read_text() == "42\n", "it ran")


class Mcp(Gate):
    command = "mcp"

    def ask(self, call_id, method, params):
        line = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
        self.pump(json.dumps(line).encode() + b"\n")
        self.pump(until=lambda: any(a.get("id") == call_id for a in self.answers))


def by_stdio(place, arguments):
    with place.gate() as gate:
        gate.call("run_command", **arguments)
        stop(gate)


def by_mcp(place, arguments):
    with Mcp(place.form, workspace=place.workspace, state=place.home) as gate:
        gate.ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                   "clientInfo": {"name": "t", "version": "1"}})  # fmt: skip
        gate.pump(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        gate.ask(2, "tools/call", {"name": "run_command", "arguments": arguments})
        stop(gate)


def by_call(place, arguments):
    done = place.form.run(place.home, "call", "run_command", json.dumps(arguments), "--workspace", place.workspace)
    check(done.returncode == 0, done)


def by_guest(place, arguments):
    made = place.form.run(place.home, "session", "create", "--workspace", place.workspace)
    session = made.stdout.decode().split()[0]
    with Gate(place.form, "--session", session, state=place.home) as owner:
        owner.ok("stat", path=".")
        done = place.form.run(place.home, "call", "run_command", json.dumps(arguments), "--session", session)
        check(done.returncode == 0, done)
        stop(owner)


def by_run(place, arguments):
    done = place.run("--cwd", arguments["cwd"], "--", "/bin/bash", "-c", arguments["command"])
    check(done.returncode == 3, done)


def all_ways_in(form):
    """stdio, mcp, call, run and a guest of a session write the same fields"""
    for way in (by_stdio, by_mcp, by_call, by_guest, by_run):
        place = Place(form, way.__name__)
        place.put("sub dir/a", "a\n")
        way(place, {"command": SCRIPT, "cwd": "sub dir"})
        intent, outcome = next((i, o) for i, o in place.calls() if i and i["tool"] == "run_command")
        if way is by_run:
            check(intent["command"].pop("stdin") == {"inherited": True}, "the input of the terminal")
        check_record(intent, outcome, place, way is not by_run)
        check(len(place.audit("show", "--failed").splitlines()) == 1, "exit 3 is a failure")


def hooks_too(form):
    """a hook's program is recorded with its command, its end and what it decided"""
    folder = form.folder("recorded-hook")
    texts = ("exit 0", "echo no >&2; exit 2", "kill -9 $$", "sleep 20")
    hooks = []
    for number, text in enumerate(texts):
        path = form.write(folder / f"hook-{number}", f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        hooks.append({"event": "tool:before", "command": [str(path), "a b"], "toolName": ("stat", "delete", "move", "search")[number],
                      "timeoutMs": 1000 if number == 3 else 20000})  # fmt: skip
    hooks.append({"event": "tool:after", "command": hooks[0]["command"], "toolName": "stat"})
    place = Place(form, "hooked", {"hooks": hooks})
    with place.gate() as gate:
        gate.ok("stat", path=".")
        gate.refused("POLICY_DENIED", "delete", path=SECRET)
        gate.refused("POLICY_DENIED", "move", **{"from": "a", "to": "b"})
        gate.refused("POLICY_DENIED", "search", pattern="x")
        stop(gate)
    seen = {}
    for record in place.records("--kind", "hook.ran"):
        end = record["end"]
        seen[record["hook"]] = (record["event"], end["by"], end.get("exitCode", end.get("signal")), record.get("decision"))
        number = int(record["hook"][6:-1])
        check(record["command"]["argv"] == hooks[number]["command"], record)
        check(set(record["command"]["stdin"]) == {"bytes"} and SECRET not in json.dumps(record), record)
        check(isinstance(record["durationMs"], int) and record["call"], record)
    check(seen["hooks[0]"] == ("tool:before", "exit", 0, "allow"), seen)
    check(seen["hooks[1]"] == ("tool:before", "exit", 2, "deny"), seen)
    check(seen["hooks[2]"] == ("tool:before", "signal", 9, "deny"), seen)
    check(seen["hooks[3]"][:2] == ("tool:before", "timeout"), seen)
    check(seen["hooks[4]"] == ("tool:after", "exit", 0, None), seen)
    place.whole()


# --- ends


def ends(form):
    """however a command ends, its record and what is shown say so, and --failed finds it"""
    place = Place(form, "ends", {"commands": {"memory": 64 << 20, "fileSize": 1 << 20}})
    rows = [
        ("true", {}, "exit", "ok"),
        ("exit 1", {}, "exit", "exit 1"),
        ("exit 255", {}, "exit", "exit 255"),
        ("kill -9 $$", {}, "signal", "signal 9"),
        ("kill -TERM $$", {}, "signal", "signal 15"),
        ("sleep 20", {"timeout_ms": 1000}, "timeout", "timeout"),
        ("exec head -c 2M /dev/zero > big", {}, "file_size_limit", "file_size_limit"),
        (f"exec {ran.PYTHON} -c 'x = bytearray(300 << 20)'", {}, None, None),
    ]
    with place.gate() as gate:
        for line, more, _, _ in rows:
            gate.ok("run_command", command=line, **more)
        gate.refused("NOT_FOUND", "run_command", argv=["no-such-program"])
        gate.refused("NOT_FOUND", "run_command", command="true", cwd="none")
        call = gate.send("run_command", command="echo on; sleep 20")
        gate.pump(until=lambda: any(e.get("id") == call for e in gate.events))
        gate.send_raw(json.dumps({"cancel": call}).encode() + b"\n")
        check(gate.wait(call)["error"]["code"] == "CANCELLED", "it was cancelled")
        stop(gate)
    calls = place.calls()
    lines = place.audit("show").splitlines()
    failed = place.audit("show", "--failed").splitlines()
    check(len(calls) == len(lines) == len(rows) + 3, lines)
    for (intent, outcome), line, (text, _, by, shown) in zip(calls, lines, rows):
        check(intent["command"]["argv"][2] == text, intent)
        check(by is None or outcome["end"]["by"] == by, outcome)
        check(shown is None or re.search(rf"  {shown}  ", line), line)
        check(f"{place.workspace}$ {text}" in line and re.search(r"\d+ms", line), line)
        check((line in failed) == (shown != "ok"), f"--failed: {line}")
    check([o["end"]["by"] for _, o in calls[len(rows) :]] == ["not_started", "not_started", "cancelled"], calls)
    check([o["code"] for _, o in calls[len(rows) :]] == ["NOT_FOUND", "NOT_FOUND", "CANCELLED"], calls)
    check(set(lines[len(rows) :]) <= set(failed), failed)
    otel = place.audit("show", "--as", "otel", "--tool", "run_command").splitlines()[1]
    check('"sandgate.end.exit_code","value":{"intValue":"1"}' in otel and '"WARN"' in otel, otel)
    check('"sandgate.command.argv"' in otel and '"sandgate.command.folder"' in otel, otel)
    journal = place.audit("show", "--as", "journald", "--tool", "run_command").split("\n\n")[1]
    check("SANDGATE_END_EXIT_CODE=1\n" in journal and f"\nSANDGATE_COMMAND_CWD={place.workspace}\n" in journal, journal)
    check("MESSAGE=run_command: exit 1\n" in journal, journal)


# --- secrets


def secrets(form):
    """no secret of a command's words, input or variables is in any field or any form of the log"""
    place = Place(form, "secrets")
    env = {"MY_TOKEN": SECRET, "PLAIN": f"x{SECRET}"}
    calls = [
        {"command": f"curl --token {SECRET} -u me:{SECRET} http://127.0.0.1:1/; exit 0"},
        {"argv": ["true", "--password", f"{SECRET} two words", f"--secret={SECRET} and more"]},
        {"argv": ["true", "-H", f"Authorization: Bearer {SECRET}", "last"]},
        {"argv": ["sh", "-c", f"PASSWORD={SECRET} true; true last"]},
        {"command": "cat >/dev/null", "stdin": f"a\nPASSWORD={SECRET}\n", "env": env},
        {"argv": ["no-such", f"TOKEN={SECRET}"], "cwd": "none", "env": env, "stdin": f"TOKEN={SECRET}"},
    ]
    with place.gate() as gate:
        for arguments in calls:
            gate.call("run_command", **arguments)
        gate.call("run_command", command=3, env=env, stdin=f"token={SECRET}")
        stop(gate)
    place.run("--", "true", f"--password={SECRET}", "--token", f"{SECRET} x")
    raw = b"".join(file.read_bytes() for file in (place.home / "sandgate/audit").glob("*.jsonl")).decode()
    forms = [raw] + [place.audit("show", *more) for more in (["--as", "sh"], ["--as", "otel"], ["--as", "journald"], [])]
    forms += [place.audit("show", "--call", str(n)) for n in range(1, len(calls) + 2)]
    for text in forms:
        check(SECRET not in text and "two words" not in text and "and more" not in text, text)
        for hidden in (SECRET, f"a\nPASSWORD={SECRET}\n", f"token={SECRET}", json.dumps(env, separators=(",", ":"))):
            check(hashlib.sha256(hidden.encode()).hexdigest() not in text, f"the hash of {hidden}")
    found = [intent["command"] for intent, _ in place.calls() if intent]
    check(found[2]["argv"] == ["true", "-H", "Authorization: Bearer [redacted]", "last"], found[2])
    check(found[3]["argv"][2] == "PASSWORD=[redacted] true; true last", found[3])
    check(found[4]["env"] == ["MY_TOKEN", "PLAIN"], found[4])
    text = "a\nPASSWORD=[redacted]\n"
    check(found[4]["stdin"] == {"bytes": len(f"a\nPASSWORD={SECRET}\n"), "text": text,
                                "sha256": hashlib.sha256(text.encode()).hexdigest()}, found[4])  # fmt: skip
    script = place.audit("show", "--as", "sh")
    check(not [line for line in script.splitlines() if "[redacted]" in line and line[0] != "#"], script)


# --- long ones


def long_texts(form):
    """a command of 60 KiB is recorded whole; a longer one says how long it was, with a hash; a dead gate is recovered"""
    place = Place(form, "long", {"audit": {"maxBytes": 1 << 20}})
    line = "true '" + "\x01\x1b\"ä" * 10000 + "'; exit 4"
    check(49000 < len(line.encode()) < 62000, "near the limit of a command")
    refused = "true " + "x" * 200000
    reading = "PASSWORD=" + SECRET + "\n" + "ab\n" * 100000
    with place.gate() as gate:
        gate.ok("run_command", command=line)
        gate.refused("INVALID_ARGUMENTS", "run_command", command=refused)
        gate.refused("INVALID_ARGUMENTS", "run_command", argv=["true", *["y" * 100] * 2000])
        check(gate.ok("run_command", command="wc -c", stdin=reading)["stdout"].strip() == str(len(reading)), "all of it")
        for _ in range(8):
            gate.ok("run_command", command=line)
        call = gate.send("run_command", command=f"{line[:-8]}; echo on; sleep 20")
        gate.pump(until=lambda: any(e.get("id") == call for e in gate.events))
        gate.kill()
        gate.process.wait()
    with place.gate() as gate:
        gate.ok("stat", path=".")
        stop(gate)
    place.whole()
    check(len(list((place.home / "sandgate/audit").glob("*.jsonl"))) > 1, "it was rotated")
    calls = place.calls()
    check(calls[0][0]["command"]["argv"][2] == line, "whole")
    cut = calls[1][1]["command"]["argv"][2]
    check(cut["bytes"] == len(refused) and refused.startswith(cut["cut"]) and len(cut["cut"]) > LIMIT - 100, "cut")
    check(cut["sha256"] == hashlib.sha256(refused.encode()).hexdigest(), cut["sha256"])
    *words, rest = calls[2][1]["command"]["argv"]
    check(len(words) + rest["words"] == 2001 and sum(map(len, (w for w in words if isinstance(w, str)))) <= LIMIT, rest)
    stdin = calls[3][0]["command"]["stdin"]
    hidden = reading.replace(SECRET, "[redacted]")
    check(stdin["bytes"] == len(reading) and hidden.startswith(stdin["cut"]) and len(stdin["cut"]) == LIMIT, "input")
    check(stdin["sha256"] == hashlib.sha256(hidden.encode()).hexdigest(), "of what is shown")
    check(sum(o["kind"] == "call.interrupted" for _, o in calls) == 1, "the call of the gate that died")
    shown = place.audit("show").splitlines()[0]
    mark = re.search(r"\[(\d+) more bytes: --call (\S+)\]$", shown)
    check(mark and len(shown) < 400 and int(mark[1]) > 49000, shown)
    whole = place.audit("show", "--call", mark[2]).splitlines()[0]
    check(read_back(whole.split("$ ", 1)[1]) == ["/bin/bash", "-c", line], "read back")


# --- as one types it

HOSTILE = [
    "", " ", "a b", "'", '"', "\\", "\\n", "$x", "$(id)", "`id`", "!!", "*", "?", "[a]", "{a,b}", "~", "#", ";", "&&",
    "\n", "a\nb\n", "\t", "\r", "\x1b[2J", "\x07", "\x7f", "\u202e", "\u200b", "\u0301", "ä", "日本", "🙂", "it's \n ok",
    "          ", "-n", "--", "a=b", "\x01\x02\x1f", "\u0085", "\ufeff", "\\x41", "$'x'", "if", "%s", "a'b\"c\\d`e$f",
]  # fmt: skip


def read_back(words):
    """The words that bash makes of a text."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
    return done.stdout.decode().split("\0")[:-1]


def as_typed(form):
    """what is shown of a command is what bash reads back as the same words, in one line without control characters"""
    place = Place(form, "typed")
    place.put("it's a \n dir/a")
    with place.gate() as gate:
        gate.ok("run_command", argv=["true", *HOSTILE], cwd="it's a \n dir")
        gate.ok("run_command", command="true 'a  b' | cat")
        gate.ok("run_command", command="true \\\n  x; # \x1b[31m")
        for word in ("A=b", "if", "./x\ty"):
            gate.call("run_command", argv=[word, "x"])
        stop(gate)
    lines = [place.audit("show", "--call", str(n)).splitlines()[0] for n in range(1, 7)]
    for line in lines + place.audit("show").splitlines():
        check(not re.search("[\x00-\x1f\x7f-\x9f\u200b\u202e\ufeff]", line), repr(line))
    where, words = lines[0].split("ms  ", 1)[1].split("$ true", 1)
    check(read_back(where) == [f"{place.workspace}/it's a \n dir"], where)
    check(read_back("true" + words) == ["true", *HOSTILE], words)
    check(lines[1].endswith(f"{place.workspace}$ true 'a  b' | cat"), lines[1])
    check(read_back(lines[2].split("$ ", 1)[1]) == ["/bin/bash", "-c", "true \\\n  x; # \x1b[31m"], lines[2])
    for line, word in zip(lines[3:], ("A=b", "if", "./x\ty")):
        check(read_back(line.split("$ ", 1)[1]) == [word, "x"], line)
        check(line.split("$ ", 1)[1][0] in "'$", f"neither an assignment nor a keyword: {line}")


# --- a script


def tree(folder):
    return {
        str(p.relative_to(folder)): base64.b64encode(p.read_bytes()).decode() if p.is_file() else None
        for p in sorted(folder.rglob("*"))
    }


def script(form):
    """the script of a day's commands does the same to a copy of the folder, with the same exit codes"""
    place = Place(form, "script")
    place.put("src dir/a.txt", "alpha\n")
    copy = form.base / "script-copy"
    shutil.copytree(place.workspace, copy)
    with Gate(form, "--agent", "bob\n\x1b[31m", workspace=place.workspace, state=place.home) as gate:
        for arguments in (
            {"command": "echo one > 1; exit 3"},
            {"command": "cat a.txt a.txt > 'b c'\nprintf '%s' \"$(wc -l < 'b c')\" > n", "cwd": "src dir"},
            {"argv": ["cp", "1", "it's $(a) \n name"]},
            {"argv": ["echo", "-e", "a\\tb"]},
            {"argv": ["false"]},
            {"command": "cat > in", "stdin": "x\ny'\"\\ \x01 no newline"},
            {"command": "read -r x; echo \"[$x]\" > none"},
            {"command": "kill -9 $$"},
            {"command": "sleep 20", "timeout_ms": 1000},
            {"argv": ["bash", "-c", "echo $0 $# \"$@\" > args", "zero", "", "a  b", "*"]},
            {"command": "true", "argv": ["x"]},
            {"argv": ["no-such-program"]},
            {"command": "echo $WHERE > env", "env": {"WHERE": "here"}},
            {"command": "rm 1; mkdir -p d/e && mv 'src dir' d/e/"},
        ):
            gate.call("run_command", **arguments)
        gate.ok("write_file", path="made by\ta tool", content="text")
        stop(gate)
    (place.workspace / "made by\ta tool").unlink()
    text = place.audit("show", "--as", "sh")
    commands = [line for line in text.splitlines() if line.startswith(("(", "printf"))]
    expected = []
    for _, outcome in place.calls():
        end = outcome.get("end", {"by": "not_started"})
        if end["by"] != "not_started":
            expected.append({"exit": end.get("exitCode"), "signal": 128 + end.get("signal", 0), "timeout": 124}[end["by"]])
    check(len(commands) == len(expected) == 12, text)
    comments = [line for line in text.splitlines() if line.startswith("# 20")]
    check(len(comments) == 15 and all("agent bob" in line for line in comments), text)
    check(re.search(r"# \S+ run_command: exit 3, \d+ ms, agent bob\\n\\e\[31m, call \S+\n\(", text), text)
    check("# did not run: no-such-program" in text and re.search(r"# \S+ write_file: ok.*\n#   {\"path\"", text), text)
    check("\x1b" not in text, text)
    # Each command is one line: its status is the next one's to print.
    plain = "".join(
        f"{line}\n" + ('printf "%s " $? >&3\n' if line in commands else "") for line in text.splitlines()
    )
    path = form.write(form.base / "script.sh", plain)
    done = subprocess.run(["bash", "-c", 'exec 3>&1 >/dev/null 2>&1; . "$0"', str(path)], cwd="/", capture_output=True,
                          env={**os.environ, "WORKSPACE": str(copy), "WHERE": "here"}, timeout=60, check=False)  # fmt: skip
    check([int(code) for code in done.stdout.split()] == expected, f"{done.stdout}, not {expected}")
    check(tree(copy) == tree(place.workspace), f"{tree(copy)}\n{tree(place.workspace)}")
    # Without the variable its command is not another one.
    (copy / "env").unlink()
    subprocess.run(["bash", str(path)], cwd="/", capture_output=True, timeout=60, check=False,
                   env={"PATH": os.environ["PATH"], "WORKSPACE": str(copy)})  # fmt: skip
    check(not (copy / "env").exists(), "it did not run")


def script_of_damage(form):
    """records that someone else wrote cannot make a line of the script"""
    place = Place(form, "damage")
    place.audit("show")
    logs = form.folder(place.home / "sandgate/audit", 0o700)
    head = {"ts": "2024-05-01T12:00:00.001Z", "seq": 1, "kind": "call.refused", "gate": "g"}
    command = {"argv": ["touch", "x"], "cwd": ".", "folder": "/tmp", "workspace": "/tmp"}
    bad = "x\ntouch /tmp/owned\n"
    end = {"by": "exit", "exitCode": 0}
    rows = [
        {**head, "tool": bad, "agent": bad, "session": bad, "call": bad, "input": {bad: bad}},
        {**head, "kind": "call.outcome", "call": bad, "command": {**command, "argv": [1, bad, {"cut": bad}]}, "end": end},
        {**head, "kind": "call.outcome", "call": bad, "command": {**command, "env": ["A}\ntouch x"]}, "end": end},
        {**head, "kind": "call.outcome", "call": bad, "command": {**command, "folder": "/etc"}, "end": end},
        {**head, "kind": "call.outcome", "call": bad, "command": {**command, "argv": ["true", bad]}, "end": {"by": bad}},
        {**head, "kind": "call.outcome", "call": bad, "command": command, "end": {"by": 3, "exitCode": bad}},
        {**head, "kind": "call.outcome", "command": {**command, "argv": ["rm", "x\0y"]}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "argv": ["rm\0y", "x"]}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "argv": ["rm", {"base64": "eAB5"}]}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "folder": "/tmp/a\0b"}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "folder": "/tmp\0b", "workspace": "/tmp\0b"}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "argv": []}, "end": end},
        {**head, "kind": "call.outcome", "command": {**command, "stdin": {"bytes": 3, "text": "a\0b"}}, "end": end},
    ]
    form.write(logs / "009.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    for more in ([], ["--as", "sh"], ["--as", "otel"], ["--as", "journald"], ["--call", bad], ["--failed"]):
        text = place.audit("show", *more)
        if "sh" in more:
            loose = [line for line in text.splitlines() if line and line[0] not in "#("]
            check(loose == ["unset CDPATH", "IFS=", "set -f"], loose)
            check("# its standard input has a NUL: touch x" in text, text)
            check(text.count("# it has a NUL: ") == 5 and "# not recorded as a whole: \n" in text, text)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    ran.main(all_dialects, all_ways_in, hooks_too, ends, secrets, long_texts, as_typed, script, script_of_damage)
