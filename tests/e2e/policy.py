#!/usr/bin/env python3
"""What the rules let through: approvals, budgets, rates, capabilities, through the real program. Prints TAP."""

import json
import os
import sqlite3
import time

import lib
from boundary import in_a_child
from lib import Gate, check, expect_error

# The configuration that operators of this dialect have, word for word.
EXAMPLE = {
    "tools": {
        "bash": {
            "enabled": True,
            "allowedCommands": ["ls", "cat", "grep", "git"],
            "deniedCommands": ["rm", "sudo"],
            "allowedDirectories": ["/home/user/projects"],
            "timeoutMs": 30000,
        },
        "filesystem": {
            "enabled": True,
            "allowedDirectories": ["/home/user/projects", "/tmp"],
            "readOnly": False,
            "maxFileSize": 10485760,
        },
        "http": {
            "enabled": True,
            "allowedDomains": ["api.github.com", "docs.solana.com"],
            "blockedDomains": ["localhost", "127.0.0.1"],
            "timeoutMs": 30000,
        },
        "browser": {"enabled": True, "mode": "simple", "allowedDomains": ["*"]},
        "sandbox": {"enabled": False, "image": "agenc/sandbox:latest", "networkMode": "none", "memoryLimit": "512m"},
    },
    "approval": {
        "rules": [
            {"toolName": "bash", "action": "prompt"},
            {"toolName": "filesystem", "action": "budget", "budgetLimit": 100, "budgetPeriod": "daily"},
            {"toolName": "http", "action": "approve"},
        ]
    },
    "policy": {
        "rateLimits": {
            "bash": {"maxCalls": 10, "windowMs": 60000},
            "filesystem": {"maxCalls": 50, "windowMs": 60000},
        }
    },
}


UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}


class Place:
    def __init__(self, form, name, config, workspace=None):
        self.form = form
        self.workspace = workspace or form.folder(f"{name}/ws")
        self.home = form.folder(f"{name}/home", 0o700)
        self.config = form.write(form.base / name / "config.json", json.dumps(config))

    def gate(self, *options, dialect="native", env=None):
        return Gate(self.form, "--config", self.config, "--dialect", dialect, *options, workspace=self.workspace,
                    state=self.home, env={**UNSET, **(env or {})})

    def run(self, *words):
        return self.form.run(self.home, *words, "--config", self.config, "--workspace", self.workspace, env=UNSET)

    def explain(self, *words):
        done = self.run("policy", "explain", *words, "--json")
        check(done.returncode == 0, done.stderr.decode())
        return json.loads(done.stdout)

    def change(self, sql):
        with self.form.acting():
            connection = sqlite3.connect(f"file:{self.home}/sandgate/state.db?mode=rw", uri=True, timeout=10)
            with connection:
                found = connection.execute(sql).fetchall()
            connection.close()
        return found


def question(gate, number=0):
    gate.pump(until=lambda: len([e for e in gate.events if e["event"] == "approval"]) > number)
    return [e for e in gate.events if e["event"] == "approval"][number]


def decide(gate, word, request):
    gate.send_raw(json.dumps({word: request["requestId"]}).encode() + b"\n")


# --- the example


def example(form):
    """the example configuration, word for word: bash asks, filesystem stops at call 101, rates hold"""
    lib.own_mounts()
    with lib.tmpfs(form, "/home", "8m") as uid:
        workspace = lib.pathlib.Path("/home/user/projects")
        workspace.mkdir(parents=True)
        for folder in (workspace.parent, workspace):
            os.chown(folder, uid, -1) if lib.AM_ROOT else None
        place = Place(form, "/home/operator", EXAMPLE, workspace)
        with place.gate("--approver", dialect="system") as gate:
            asks(gate, workspace)
            counts(place, gate)
        explains(place)


def asks(gate, workspace):
    (workspace / "seen.txt").write_text("x", encoding="ascii")
    first = gate.send("bash", command="ls")
    asked = question(gate)
    check(asked["tool"] == "bash" and asked["id"] == first and "ls" in asked["summary"], asked)
    decide(gate, "deny", asked)
    result = gate.wait(first)
    check(result["success"] is False and result["error"]["code"] == "APPROVAL_DENIED", result)
    check(result["decision"] == {"approved": False, "requiresPrompt": True, "requestId": asked["requestId"],
                                 "message": result["error"]["message"]}, result)
    second = gate.send("bash", command="ls")
    decide(gate, "approve", question(gate, 1))
    result = gate.wait(second)
    check(result["success"] and result["stdout"] == "seen.txt\n", result)
    result = gate.wait(gate.send("bash", command="rm", args=["seen.txt"]))
    check(result["error"]["code"] == "COMMAND_BLOCKED", f"nobody is asked about what the lists deny: {result}")


def counts(place, gate):
    def stat():
        return gate.call("filesystem", operation="stat", path="seen.txt")

    for _ in range(50):
        check(stat()["success"], "the first 50")
    limited = stat()
    check(limited["error"]["code"] == "RATE_LIMITED", limited)
    check(0 < limited["decision"]["retryAfter"] <= 60000 and limited["decision"]["allowed"] is False, limited)
    place.change("UPDATE rate_call SET at_ms = at_ms - 60000")
    for number in range(50):
        check(stat()["success"], f"call {51 + number}")
    place.change("UPDATE rate_call SET at_ms = at_ms - 60000")
    stopped = stat()
    check(stopped["error"]["code"] == "BUDGET_EXCEEDED", stopped)
    tomorrow = time.strftime("%Y-%m-%dT00:00:00", time.gmtime(time.time() + 86400))
    check(tomorrow in stopped["error"]["message"], f"the time of the reset: {stopped}")
    check("approval.rules[1]" in stopped["error"]["message"], f"the rule: {stopped}")
    check(0 < stopped["decision"]["retryAfter"] <= 86400000, stopped)


def explains(place):
    http = place.explain("http", '{"method":"GET","url":"https://api.github.com/x"}', "--dialect", "system")
    check(http["available"] is True and http["verdict"] == "allow", http)
    check(any(s["rule"].startswith("approval.rules[2]") and s["outcome"] == "allows" for s in http["steps"]), http)
    other = place.explain("http", '{"method":"GET","url":"https://other.example/x"}', "--dialect", "system")
    denied = other["steps"][-1]
    check(other["verdict"] == "deny" and denied["rule"] == "tools.http.allowedDomains", other)
    browser = place.explain("browser", '{"url":"https://example.com/"}', "--dialect", "system")
    check(browser["verdict"] in ("ask", "deny") and browser["steps"], browser)
    bash = place.explain("bash", '{"command":"ls"}', "--dialect", "system")
    check(bash["verdict"] == "ask" and bash["rule"].startswith("approval.rules[0]"), bash)
    check(bash["approval"]["requiresPrompt"] is True and bash["policy"]["allowed"] is True, bash)
    files = place.explain("filesystem", '{"operation":"stat","path":"."}', "--dialect", "system")
    check(files["verdict"] == "deny" and "BUDGET" not in files["message"], files)


# --- limits


def results(gate, count, name, **args):
    sent = [gate.send(name, **args) for _ in range(count)]
    return [gate.wait(one) for one in sent]


def exact_over_two_gates(form):
    """64 calls at once through each of two gates: a limit is never passed by one, nor missed by one"""
    limit = 150
    config = {"approval": {"default": "approve"},
              "policy": {"budgets": [{"toolName": "stat", "unit": "calls", "limit": limit}],
                         "rateLimits": {"write_file": {"maxCalls": limit, "windowMs": 600000}}}}
    place = Place(form, "two", config)
    with place.gate() as one, place.gate() as two:
        for tool, args, code in (("stat", {"path": "."}, "BUDGET_EXCEEDED"),
                                 ("write_file", {"path": "f", "content": "x"}, "RATE_LIMITED")):
            sent = []
            for _ in range(4):
                sent += [(gate, gate.send(tool, **args)) for gate in (one, two) for _ in range(64)]
            answers = [gate.wait(call) for gate, call in sent]
            good = sum(answer["ok"] for answer in answers)
            check(good == limit, f"{tool}: {good} of {len(answers)} ran, {limit} were allowed")
            for answer in answers:
                if not answer["ok"]:
                    error = expect_error(answer, code)
                    check(error["retry_after_ms"] > 0 and error["retryable"], error)


def retry_after_is_exact(form):
    """a call that is sent when it was told to runs, one that comes before does not"""
    config = {"policy": {"rateLimits": {"stat": {"maxCalls": 3, "windowMs": 700}}}}
    place = Place(form, "retry", config)
    with place.gate() as gate:
        for _ in range(5):
            for _ in range(3):
                result = gate.call("stat", path=".")
                while not result["ok"]:
                    time.sleep(expect_error(result, "RATE_LIMITED")["retry_after_ms"] / 1000)
                    before, result = result, gate.call("stat", path=".")
                    check(result["ok"], f"told to wait {before['error']['retry_after_ms']} ms, then {result}")
            error = gate.refused("RATE_LIMITED", "stat", path=".")
            check(error["retry_after_ms"] <= 700, error)
            time.sleep(max(0, error["retry_after_ms"] - 60) / 1000)


def bytes_and_seconds(form):
    """budgets of bytes written and of seconds, for each session and agent apart"""
    config = {"approval": {"default": "approve"}, "policy": {"budgets": [
        {"unit": "bytesWritten", "limit": 1000, "per": "agent", "toolName": "write_file"},
        {"unit": "seconds", "limit": 2, "toolName": "run_command", "per": "session"}]}}
    place = Place(form, "bytes", config)
    with place.gate("--agent", "a") as gate:
        gate.ok("write_file", path="f", content="x" * 600)
        error = gate.refused("BUDGET_EXCEEDED", "write_file", path="f", content="y" * 401)
        check("policy.budgets[0]" in error["message"], error)
        gate.ok("write_file", path="f", content="z" * 400)
        gate.refused("BUDGET_EXCEEDED", "write_file", path="f", content="y")
        check((place.workspace / "f").read_text() == "z" * 400, "what is refused is not written")
    with place.gate("--agent", "b") as gate:
        gate.ok("write_file", path="f", content="x" * 1000)
        begin = time.monotonic()
        gate.ok("run_command", command="sleep 0.5")
        result = gate.ok("run_command", command="sleep 30")
        check(result["ended_by"] == "timeout", f"it had what was left: {result}")
        check(time.monotonic() - begin < 10, "the budget's end was its end")
        gate.refused("BUDGET_EXCEEDED", "run_command", command="true")


def reading_is_not_writing(form):
    """what a budget of bytes written does not count"""
    config = {"approval": {"default": "approve"}, "policy": {"budgets": [{"unit": "bytesWritten", "limit": 1000}]}}
    place = Place(form, "reading", config)
    (place.workspace / "big").write_text("a" * 5000)
    with place.gate() as gate:
        gate.ok("time.now")
        gate.ok("read_file", path="big")
        gate.ok("search", pattern="a")
        gate.ok("edit_file", path="big", edits=[{"old_text": "a" * 5000, "new_text": "b"}], dry_run=True)
        gate.ok("write_file", path="f", content="x" * 1000)
        gate.refused("BUDGET_EXCEEDED", "write_file", path="f", content="y")


def commands_write_what_is_left(form):
    """a command cannot write more than a budget has left"""
    config = {"approval": {"default": "approve"}, "policy": {"budgets": [{"unit": "bytesWritten", "limit": 100000}]}}
    place = Place(form, "left", config)
    with place.gate() as gate:
        gate.call("run_command", command="head -c 50000000 /dev/zero > big; sleep 1")
        check((place.workspace / "big").stat().st_size <= 100000, "it wrote more than the budget")
        gate.refused("BUDGET_EXCEEDED", "write_file", path="f", content="y")


def where_commands_run(form):
    """a rule about where a command runs is about that folder, not about a link's name"""
    rules = [{"toolName": "run_command", "action": "approve", "condition": {"cwd": {"beneath": "src"}}}]
    place = Place(form, "where", {"approval": {"default": "deny", "rules": rules}})
    form.own((place.workspace / "src").mkdir() or place.workspace / "src")
    form.own((place.workspace / "other").mkdir() or place.workspace / "other")
    form.link(place.workspace / "src/link", "../other")
    with place.gate() as gate:
        check(gate.ok("run_command", command="pwd -P", cwd="./src/")["stdout"] == f"{place.workspace}/src\n", "where it runs")
        gate.refused("PERMISSION_DENIED", "run_command", command="touch here", cwd="src/link")
        gate.refused("POLICY_DENIED", "run_command", command="true")
    check(not (place.workspace / "other/here").exists(), "it ran elsewhere")


def spent_by(place):
    try:
        return place.change("SELECT coalesce(sum(spent), 0) FROM budget")[0][0]
    except sqlite3.OperationalError:  # it is just being made
        return 0


def spent_is_spent(form):
    """a gate that dies gives nothing back"""
    config = {"approval": {"default": "approve"}, "policy": {"budgets": [
        {"unit": "calls", "limit": 5, "toolName": "run_command"}]}}
    place = Place(form, "spent", config)
    for number in range(5):
        with place.gate() as gate:
            gate.send("run_command", command="touch \"made-$$-$RANDOM\"; sleep 30")
            lib.wait_until(lambda before=number: spent_by(place) > before, "it was counted")
            time.sleep(0.05)
            gate.kill()
            gate.wait_exit()
    check(spent_by(place) == 5, f"{spent_by(place)} of 5")
    with place.gate() as gate:
        gate.refused("BUDGET_EXCEEDED", "run_command", command="true")


# --- who may what


def capabilities(form):
    """what an agent was not granted it does not get, by whatever name a path has"""
    config = {"approval": {"default": "approve"}, "agents": {
        "reader": {"capabilities": {"filesystem": {"read": ["src/**"], "write": []}, "command": False}},
        "writer": {"capabilities": {"filesystem": {"write": ["out/*.txt"]}}}}}
    place = Place(form, "capabilities", config)
    for folder in ("src", "out", "secret"):
        (place.workspace / folder).mkdir()
        form.own(place.workspace / folder)
    form.write(place.workspace / "src/a.txt", "a")
    form.write(place.workspace / "secret/s.txt", "s")
    (place.workspace / "src/link").symlink_to("../secret/s.txt")
    with place.gate("--agent", "reader") as gate:
        gate.ok("read_file", path="src/a.txt")
        gate.ok("search", pattern="a", path="src")
        gate.refused("POLICY_DENIED", "read_file", path="src/../secret/s.txt")
        for tool, args in (("read_file", {"path": "secret/s.txt"}),
                           ("write_file", {"path": "src/b", "content": ""}), ("search", {"pattern": "s"}),
                           ("list_files", {"path": ".", "recursive": True}), ("run_command", {"command": "true"}),
                           ("delete", {"path": "src/a.txt"})):
            error = gate.refused("CAPABILITY_DENIED", tool, **args)
            check("reader" in error["message"] and "capabilities" in error["message"], error)
        error = gate.refused("PERMISSION_DENIED", "read_file", path="src/link")
        check(error["details"]["reason"] == "other_path" and "secret/s.txt" in error["message"], error)
    with place.gate("--agent", "writer") as gate:
        gate.ok("write_file", path="out/a.txt", content="x")
        gate.refused("CAPABILITY_DENIED", "write_file", path="out/a.sh", content="x")
        gate.refused("CAPABILITY_DENIED", "move", **{"from": "out/a.txt", "to": "src/a.txt"})
        error = gate.refused("CAPABILITY_DENIED", "run_command", command="true")
        check("path" in error["message"], error)
    with place.gate("--agent", "another") as gate:
        gate.ok("read_file", path="secret/s.txt")


def rules_with_conditions(form):
    """the first rule that matches decides, and each refusal names it"""
    rules = [
        {"toolName": "run_command", "action": "deny", "condition": {"command": {"program": ["rm", "git push"]}}},
        {"toolName": "run_command", "action": "approve", "condition": {"command": {"program": ["git", "echo"]}}},
        {"toolName": "write_*", "action": "deny", "condition": {"path": {"beneath": "locked"}}},
        {"toolName": "write_file", "action": "approve", "condition": {"path": {"glob": "**/*.txt"}}},
        {"toolName": "*", "action": "approve", "condition": {"path": {"exists": True}}},
    ]
    place = Place(form, "conditions", {"approval": {"rules": rules, "default": "deny"}})
    (place.workspace / "locked").mkdir()
    form.own(place.workspace / "locked")
    (place.workspace / "way").symlink_to("locked")
    with place.gate() as gate:
        gate.ok("run_command", command="echo one | git --version")
        for command in ("rm x", "echo a && rm x", "git push", "FOO=1 git push", "sh -c 'rm x'"):
            error = gate.refused("POLICY_DENIED", "run_command", command=command)
            check("approval.rules[0]" in error["message"], f"{command}: {error}")
        for command in ("ls", "$CMD", "echo $(ls)"):
            error = gate.refused("POLICY_DENIED", "run_command", command=command)
        gate.ok("write_file", path="a.txt", content="x")
        error = gate.refused("POLICY_DENIED", "write_file", path="locked/a.txt", content="x")
        check("approval.rules[2]" in error["message"], error)
        error = gate.refused("PERMISSION_DENIED", "write_file", path="way/a.txt", content="x")
        check(error["details"]["reason"] == "other_path", error)
        check(not list((place.workspace / "locked").iterdir()), "something was written")


def options_of_programs(form):
    """an approved program does no more than it does by itself, unless the rule says so"""
    def rule(*programs, **more):
        return {"toolName": "run_command", "action": "approve", "condition": {"command": {"program": programs, **more}}}
    place = Place(form, "options", {"approval": {"rules": [rule("sort", "sed", "ls"), rule("shuf", options="any")], "default": "deny"}})
    form.write(place.workspace / "a", "b\na\n")
    with place.gate() as gate:
        check(gate.ok("run_command", command="sort a | sed -n 1p")["stdout"] == "a\n", "not sorted")
        for command in ("sort -o made a", "sort --outp=made a", "sed 'w made' a", "sed '1e touch made' a", "ls; sort -romade a"):
            gate.refused("POLICY_DENIED", "run_command", command=command)
        check(not (place.workspace / "made").exists(), "something was written")
        gate.ok("run_command", command="shuf -o made a")
        check((place.workspace / "made").exists(), "any option was approved")
    steps = place.explain("run_command", '{"command": "sort -o made a"}')
    check("`-o` of `sort` writes a file" in json.dumps(steps), steps)


def workspace_tightens(form):
    """a workspace's own rule that asks is kept from the first call on, and cannot loosen"""
    place = Place(form, "tightens", {"approval": {"default": "approve"}})
    own = {"approval": {"rules": [{"toolName": "write_file", "action": "prompt"},
                                  {"toolName": "stat", "action": "approve"}]},
           "policy": {"budgets": [{"unit": "calls", "limit": 2, "toolName": "stat"}]}}
    form.write(place.workspace / "sandgate.json", json.dumps(own))
    with place.gate("--approver") as gate:
        call = gate.send("write_file", path="a", content="x")
        asked = question(gate)
        check(not (place.workspace / "a").exists(), "it did not wait")
        decide(gate, "approve", asked)
        check(gate.wait(call)["ok"], "it runs then")
        gate.ok("stat", path="a")
        gate.ok("stat", path="a")
        gate.refused("BUDGET_EXCEEDED", "stat", path="a")


MISSPELT = {
    "approval.rules[1].toolName": {"approval": {"rules": [{"toolName": "stat", "action": "deny"},
                                                          {"toolName": "bassh", "action": "deny"}]}},
    "approval.rules[0].toolName": {"approval": {"rules": [{"toolName": "{bash,serach}", "action": "deny"}]}},
    "policy.budgets[0].toolName": {"policy": {"budgets": [{"toolName": "bas", "unit": "calls", "limit": 1}]}},
    "policy.rateLimits.bashh": {"policy": {"rateLimits": {"bashh": {"maxCalls": 1}}}},
    "policy.resourceLimits.Bash": {"policy": {"resourceLimits": {"Bash": {"maxDuration": 1}}}},
    "policy.enabled.bah": {"policy": {"enabled": {"bah": False}}},
    "hooks[0].toolName": {"hooks": [{"event": "tool:after", "toolName": "bash*h", "command": ["/bin/true"]}]},
}
PROMISES = {"TOOL_ALLOW_DIRECT_NETWORK": "1", "MODEL_BASE_URL": "http://127.0.0.1:1",
            "MODEL_PROVIDER": "ollama", "WORKSPACE_FS_MODE": "agentfs"}


def misspelt_and_promised(form):
    """a tool that no dialect has and a setting with nothing behind it: nothing starts, and the message says where"""
    for number, (field, config) in enumerate(MISSPELT.items()):
        place = Place(form, f"misspelt{number}", {"approval": {"default": "approve"}, **config})
        done = place.run("call", "write_file", '{"path": "a", "content": "x"}')
        check(done.returncode == 2 and field in done.stderr.decode(), f"{field}: {done}")
        check(not (place.workspace / "a").exists(), field)
    place = Place(form, "promised", {"approval": {"default": "approve"}})
    for name, value in PROMISES.items():
        done = form.run(place.home, "call", "write_file", '{"path": "a", "content": "x"}', "--config", place.config,
                        "--workspace", place.workspace, env={**UNSET, name: value})
        check(done.returncode == 2 and name in done.stderr.decode(), f"{name}: {done}")
        check(not (place.workspace / "a").exists(), name)
    done = place.run("call", "write_file", '{"path": "a", "content": "x"}')
    check(done.returncode == 0 and (place.workspace / "a").exists(), done)


def nothing_set(form):
    """without any configuration reading runs, and everything that changes something asks"""
    place = Place(form, "nothing", {"approval": {"timeoutMs": 300}})
    form.write(place.workspace / "a", "x")
    with place.gate() as gate:
        gate.ok("read_file", path="a")
        gate.ok("search", pattern="x")
        for tool, args in (("write_file", {"path": "b", "content": ""}), ("delete", {"path": "a"}),
                           ("run_command", {"command": "touch b"}), ("make_directory", {"path": "b"})):
            error = gate.refused("APPROVAL_TIMEOUT", tool, **args)
            check("sandgate approve" in error["message"] and error["details"]["request_id"], error)
    check(sorted(p.name for p in place.workspace.iterdir()) == ["a"], "something ran")
    done = place.run("call", "write_file", '{"path":"b","content":""}')
    check(done.returncode == 4, f"exit status {done.returncode}")
    done = form.run(place.home, "run", "--config", place.config, "--workspace", place.workspace, "--", "touch", "b",
                    env=UNSET)
    check(done.returncode == 0 and (place.workspace / "b").exists(), "who types a command himself is not asked")


# What the rules for files refuse, whatever anyone answers.
REFUSED = [
    ("read_file", {"path": ".env"}, "PERMISSION_DENIED"),
    ("read_file", {"path": "out"}, "SYMLINK_OUTSIDE_WORKSPACE"),
    ("read_file", {"path": "../x"}, "PATH_OUTSIDE_WORKSPACE"),
    ("search", {"pattern": "x", "path": ".env"}, "PERMISSION_DENIED"),
    ("search", {"pattern": "x", "path": "outside"}, "SYMLINK_OUTSIDE_WORKSPACE"),
    ("list_files", {"path": "outside"}, "SYMLINK_OUTSIDE_WORKSPACE"),
    ("stat", {"path": "out"}, "SYMLINK_OUTSIDE_WORKSPACE"),
    ("write_file", {"path": ".envrc", "content": "x"}, "PERMISSION_DENIED"),
    ("write_file", {"path": "out", "content": "x"}, "SYMLINK_OUTSIDE_WORKSPACE"),
    ("make_directory", {"path": ".git/x"}, "PERMISSION_DENIED"),
    ("move", {"from": "a", "to": ".envrc"}, "PERMISSION_DENIED"),
    ("move", {"from": ".env", "to": "e"}, "PERMISSION_DENIED"),
    ("delete", {"path": ".env"}, "PERMISSION_DENIED"),
    ("run_command", {"command": "ls", "cwd": "outside"}, "SYMLINK_OUTSIDE_WORKSPACE"),
]
ALLOWED = {"read_file": {"path": "a"}, "search": {"pattern": "x", "path": "a"}, "list_files": {"path": "."}, "stat": {"path": "a"},
           "write_file": {"path": "b", "content": "x"}, "make_directory": {"path": "d"}, "move": {"from": "a", "to": "c"},
           "delete": {"path": "a"}, "run_command": {"command": "true"}}  # fmt: skip


def fill_for_refusals(place):
    for name in ("a", ".env"):
        place.form.write(place.workspace / name, "x\n")
    place.form.link(place.workspace / "out", "/etc/hostname")
    place.form.link(place.workspace / "outside", "/etc")


def refused_and_not_asked(form):
    """nobody is asked about what the rules for files refuse; of what only fails, someone is"""
    place = Place(form, "not-asked", {"approval": {"default": "prompt", "timeoutMs": 300}})
    fill_for_refusals(place)
    with place.gate() as gate:
        for tool, args, code in REFUSED:
            gate.refused(code, tool, **args)
        gate.refused("APPROVAL_TIMEOUT", "read_file", path="not-there")
        gate.refused("APPROVAL_TIMEOUT", "read_file", path="a")


def refused_and_not_charged(form):
    """what the rules for files refuse costs nothing"""
    tools = sorted(ALLOWED)
    budgets = [{"toolName": tool, "unit": "calls", "limit": 1} for tool in tools]
    for number, tool in enumerate(tools):
        place = Place(form, f"not-charged{number}", {"approval": {"default": "approve"}, "policy": {"budgets": budgets}})
        fill_for_refusals(place)
        with place.gate() as gate:
            for _ in range(2):
                for name, args, code in REFUSED:
                    if name == tool:
                        gate.refused(code, name, **args)
            gate.ok(tool, **ALLOWED[tool])
            gate.refused("BUDGET_EXCEEDED", tool, **ALLOWED[tool])


CASES = [refused_and_not_asked, refused_and_not_charged, in_a_child(example), exact_over_two_gates, retry_after_is_exact, bytes_and_seconds,
         reading_is_not_writing, commands_write_what_is_left, where_commands_run, spent_is_spent, capabilities, rules_with_conditions, options_of_programs,
         workspace_tightens,
         misspelt_and_promised, nothing_set]


if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
