#!/usr/bin/python3
"""A day of calls, told by the audit log as one types them: typed again into a real bash, in a copy of the folder, each does the
same, prints the same and ends the same."""
# timeout: 200

import json
import os
import re
import shutil
import signal
import subprocess

import lib
import ran
from audit_commands import Place, stop, tree
from lib import Gate, check

CONFIG = {
    "approval": {
        "rules": [
            # What a shell reads may be anything: the rule behind these would refuse it.
            {"toolName": "run_command", "action": "approve", "condition": {"argv": {"equals": ["bash"]}}},
            {"toolName": "run_command", "action": "approve", "condition": {"argv": {"equals": ["bash", "-s", "a b", "c"]}}},
            {"toolName": "run_command", "action": "deny", "condition": {"command": {"program": ["chmod", "git push"]}}},
            {"toolName": "run_command", "action": "prompt", "condition": {"command": {"program": ["tee", "install"]}}},
        ]
    }
}
ENV = {"WHERE": "here and\nthere", "API_NAME": "x"}
PY = "import sys\nfor n, line in enumerate(sys.stdin): print(n, line.strip()[::-1])\nsys.exit(5)\n"

# What is asked for, in order. `None`: it does not run.
DAY = [
    ({"command": "ls"}, 0),
    ({"command": "ls -1 src | sort -r"}, 0),
    ({"argv": ["ls", "-1", "src"]}, 0),
    ({"command": "pwd -P > /dev/null; cat README"}, 0),
    ({"command": "cat none"}, 1),
    ({"argv": ["cat", "none"]}, 1),
    ({"command": "false"}, 1),
    ({"argv": ["false"]}, 1),
    ({"command": "exit 42"}, 42),
    ({"command": "exit 256"}, 0),
    ({"command": "mkdir -p out/a out/b && touch out/a/1 'out/b/2 3'"}, 0),
    ({"command": "echo one > 1", "cwd": "out"}, 0),
    ({"command": "echo two >> 1", "cwd": "out"}, 0),
    ({"command": "cat 1 && cat < 1 | wc -l", "cwd": "out"}, 0),
    ({"argv": ["cp", "out/1", "it's $(a) \n \t name"]}, 0),
    ({"argv": ["mv", "it's $(a) \n \t name", "-n"]}, 1),
    ({"argv": ["mv", "--", "it's $(a) \n \t name", "-dash"]}, 0),
    ({"argv": ["rm", "./-dash"]}, 0),
    ({"argv": ["printf", "%s|", "", " ", "a b", "*", "?", "~", "$HOME", "`x`", "!!", "\\", "'", '"', "ä", "\u202e", "\x07", "-n", "a=b", "#x"]}, 0),
    ({"argv": ["echo", "-e", "a\\tb"]}, 0),
    ({"argv": ["env", "-i", "A=a b", "sh", "-c", 'echo "$A" "$0" "$@"', "zero", "one", "", "t w o"]}, 0),
    ({"argv": ["bash", "-c", "exit 7"]}, 7),
    ({"argv": ["sh", "-c", "kill -TERM $$"]}, 143),
    ({"command": "kill -9 $$"}, 137),
    ({"command": "kill -SEGV $$"}, 139),
    ({"command": "sleep 30", "timeout_ms": 1000}, "timeout"),
    ({"argv": ["sleep", "30"], "timeout_ms": 1000}, "timeout"),
    ({"command": "trap '' TERM; sleep 30 & wait; sleep 30", "timeout_ms": 1000}, "timeout"),
    ({"command": "sort", "stdin": "b\na\nc"}, 0),
    ({"argv": ["sort", "-u"], "stdin": "b\na\nb\n"}, 0),
    ({"command": "cat > in", "stdin": "x\ny'\"\\ \x01 $(no) `no` ä\ttab, no newline"}, 0),
    ({"argv": ["bash"], "stdin": "echo from input > said\nread -r line\nnext line\nexit 9\n"}, 9),
    ({"argv": ["bash", "-s", "a b", "c"], "stdin": "echo \"$1\" \"$2\"; exit 3"}, 3),
    ({"argv": [ran.PYTHON, "-c", PY], "stdin": "abc\ndef\n"}, 5),
    ({"argv": [ran.PYTHON, "-"], "stdin": "print('code')\nraise SystemExit(4)\n"}, 4),
    ({"command": "cat", "stdin": ""}, 0),
    ({"command": "read -r x; echo \"[$x]\""}, 0),
    ({"command": "echo \"$WHERE\" > env; printf '%s' \"$API_NAME\"", "env": ENV}, 0),
    ({"argv": ["sh", "-c", "test \"$WHERE\" = x"], "env": {"WHERE": "y"}}, 1),
    ({"command": "cat <<'E' > here\n$x `y` \\z\nE\nwc -l < here"}, 0),
    ({"command": "for f in src/*; do echo \"$f\"; done\n\n# a comment\nexit 6"}, 6),
    ({"command": "f() { return 11; }; f"}, 11),
    ({"command": "set -e; false; echo not here"}, 1),
    ({"command": "set -o pipefail; false | true"}, 1),
    ({"command": "no-such-command-here"}, 127),
    ({"command": "./README"}, 126),
    ({"argv": ["no-such-command-here"]}, None),
    ({"argv": ["ls"], "cwd": "none"}, None),
    ({"command": "true", "argv": ["x"]}, None),
    ({"command": "chmod 600 README"}, None),
    ({"command": "true && git push"}, None),
    ({"command": "echo approved | tee agreed"}, 0),
    ({"argv": ["tee", "agreed too"], "stdin": "text of it\n"}, 0),
    ({"argv": ["install", "README", "stolen"]}, None),
    ({"command": "(sleep 0.2; echo late) & echo soon; wait"}, 0),
    ({"command": "seq 1 20000", "max_output": 1000}, 0),
    ({"command": "seq 1 20000 >&2; seq 1 9; exit 2", "max_output": 100}, 2),
    ({"command": "head -c 3000 /dev/zero | tr '\\0' x > big; wc -c < big"}, 0),
    ({"command": "ln -s src link && cat link/a.txt", "cwd": "."}, 0),
    ({"command": "cat a.txt; basename \"$(pwd -P)\"", "cwd": "link"}, 0),
    ({"command": "printf 'a\\0b\\n' | od -c"}, 0),
    ({"command": "rm -r out/b && find . -type f | sort"}, 0),
    ({"command": "mkdir 'd i\tr'; cd 'd i\tr' && echo x > y && exit 12"}, 12),
    ({"command": "ls", "cwd": "d i\tr"}, 0),
]  # fmt: skip


def answer(gate):
    """Says yes to `tee` and no to `install`."""
    for event in [e for e in gate.events if e["event"] == "approval"]:
        gate.events.remove(event)
        word = "approve" if "tee" in event["summary"] else "deny"
        gate.send_raw(json.dumps({word: event["requestId"]}).encode() + b"\n")


def answered(gate, call):
    gate.pump(until=lambda: answer(gate) or any(a.get("id") == call for a in gate.answers))
    return gate.wait(call)


def whole_output(gate, result):
    """What it printed, the rest of it read afterwards."""
    text = result["stdout"]
    if not result["truncated"]:
        return text
    text, more = "", {"next_offset": 0, "truncated": True}
    while more["truncated"]:
        more = gate.ok("read_output", output_id=result["output_id"], offset=more["next_offset"], max_bytes=50000)
        text += more["content"]
    return text


def live(gate):
    """What each call printed; None where it did not run."""
    printed = []
    for arguments, _ in DAY:
        call = gate.send("run_command", **arguments)
        done = answered(gate, call)
        printed.append(whole_output(gate, done["result"]) if done["ok"] else None)
    return printed


LINE = re.compile(r"\S+  run_command +(?:bob) +(.*?)  +\d+ms  (.*)$")


def typed(place, record):
    """What the log says of a call, in the words of `audit show`: result, folder, and what was typed in it."""
    lines = place.audit("show", "--call", record["call"]).splitlines()
    shown = next(line for line in lines if "  run_command  " in line)  # questions come before it
    found = LINE.match(shown)
    check(found, shown)
    rest = re.sub(r"^(\((?:env|stdin|ran in)\b[^)]*\) )*", "", found[2])
    # The folder is a word of the shell as well.
    if "$ " not in rest:
        return found[1].strip(), None, rest
    folder, words = rest.split("$ ", 1)
    return found[1].strip(), folder, words


def replay(place, copy, folder, words, arguments, limit):
    """The same in a bash: (exit status, output)."""
    script = f"cd -- {copy}/\"$(realpath -ms --relative-to={place.workspace} -- {folder})\" && {words}"
    argv = ["bash", "-c", script] if limit is None else ["timeout", "-k", "1", str(limit), "bash", "-c", script]
    done = subprocess.run(argv, input=arguments.get("stdin", "").encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          env={**os.environ, **arguments.get("env", {})}, cwd="/", timeout=60)  # fmt: skip
    code = done.returncode
    return (128 - code if code < 0 else code), done.stdout.decode("utf-8", "replace")


def the_day(form):
    """each call of a day, typed again"""
    place = Place(form, "day", CONFIG)
    for path, text in (("README", "read me\n"), ("src/a.txt", "alpha\n"), ("src/b c.txt", "beta\n")):
        place.put(path, text)
    (place.workspace / "README").chmod(0o644)
    copy = form.base / "day-copy"
    before = form.base / "day-before"
    for folder in (copy, before):
        shutil.copytree(place.workspace, folder, symlinks=True)
    check(len(DAY) >= 60, len(DAY))
    with Gate(form, "--agent", "bob", "--approver", *place.options, workspace=place.workspace, state=place.home) as gate:
        printed = live(gate)
        stop(gate)
    calls = [(i, o) for i, o in place.calls() if (i or o)["tool"] == "run_command"]
    check(len(calls) == len(DAY) == len(printed), (len(calls), len(DAY)))
    for (arguments, expected), (intent, outcome), output in zip(DAY, calls, printed):
        result, folder, words = typed(place, outcome)
        end = outcome.get("end", {"by": "not_started"})
        ran_at_all = end["by"] != "not_started"
        check(ran_at_all == (expected is not None), f"{arguments}: {outcome}")
        if not ran_at_all:
            check(result not in ("ok", "exit 0"), f"{arguments}: {result}")
            continue
        check(intent["command"].get("env") == (list(arguments["env"]) if "env" in arguments else None), intent)
        stopped = expected == "timeout"
        told = {"exit": end.get("exitCode"), "signal": 128 + end.get("signal", 0), "timeout": "timeout"}[end["by"]]
        check(told == expected, f"{arguments}: {end}, not {expected}")
        shown = "ok" if told == 0 else "timeout" if stopped else f"signal {told - 128}" if end["by"] == "signal" else f"exit {told}"
        check(result == shown, f"{arguments}: {result!r}, not {shown}")
        code, again = replay(place, copy, folder, words, arguments, 1 if stopped else None)
        check(code in ((124, 137) if stopped else (expected,)), f"{words}: {code}, not {expected}")
        check(stopped or again == output, f"{words}: {lib.short(again)}, not {lib.short(output)}")
    check(tree(copy) == tree(place.workspace), f"{tree(copy)}\n{tree(place.workspace)}")
    as_a_script(form, place, before)
    place.whole()


def as_a_script(form, place, before):
    """All of it at once does the same, too."""
    path = form.write(form.base / "day.sh", place.audit("show", "--as", "sh"))
    # By the last command that has it each variable has one value.
    values = {name: value for arguments, _ in DAY for name, value in arguments.get("env", {}).items()}
    subprocess.run(["bash", str(path)], cwd="/", capture_output=True, timeout=100, check=False,
                   env={**os.environ, **values, "WORKSPACE": str(before)})  # fmt: skip
    found, expected = tree(before), tree(place.workspace)
    check({**found, "env": None} == {**expected, "env": None}, f"{found}\n{expected}")


def who_agreed(form):
    """the log says which of them were asked about, what was said and by whom"""
    place = Place(form, "asked", CONFIG)
    place.put("README", "x\n")
    with Gate(form, "--agent", "bob", "--approver", *place.options, workspace=place.workspace, state=place.home) as gate:
        for command in ("echo a | tee b", "install README b"):
            call = gate.send("run_command", command=command)
            answered(gate, call)
        gate.refused("POLICY_DENIED", "run_command", command="chmod 1 README")
        stop(gate)
    text = place.audit("show")
    check(re.search(r"approved.* by .*stdio --approver", text) and re.search(r"denied.* by .*stdio --approver", text), text)
    check(text.count("$ echo a | tee b") == 1 and "chmod 1 README" in text, text)
    failed = place.audit("show", "--failed")
    check("install README b" in failed and "chmod 1 README" in failed and "$ echo a" not in failed, failed)


def forged_columns(form):
    """a name, or a line, that imitates what stands behind it can be told from that"""
    place = Place(form, "forged")
    agent = "bob'  ok  5ms  /workspace$ true, session x"
    line = "true # [12 more bytes: --call 1]"
    with Gate(form, "--agent", agent, *place.options, workspace=place.workspace, state=place.home) as gate:
        gate.ok("run_command", command=line)
        gate.refused("UNKNOWN_TOOL", "stat  bob  ok", path="x")
        stop(gate)
    ran_line, refused_line = place.audit("show").splitlines()
    quoted = "  'bob\\'  ok  5ms  /workspace$ true, session x'  "
    check(quoted in ran_line and quoted in refused_line, ran_line)
    check("Z  'stat  bob  ok'  " in refused_line, refused_line)
    check(ran_line.endswith(f"$ /bin/bash -c '{line}'"), ran_line)
    check(f", agent{quoted[1:-2]}, call " in place.audit("show", "--as", "sh"), "the script")


def no_such_call(form):
    """an id that no call has is told from a call of which nothing is known"""
    place = Place(form, "no-such")
    with place.gate() as gate:
        gate.ok("stat", path=".")
        stop(gate)
    for more in ([], ["--json"], ["--as", "sh"]):
        done = form.run(place.home, "audit", "show", "--call", "99", *more)
        check(done.returncode != 0 and b"no record fits" in done.stderr, f"{more}: {done}")
    check(place.audit("show", "--call", "1") and not place.audit("show", "--tool", "nothing"), "what there is")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    ran.main(the_day, who_agreed, forged_columns, no_such_call)
