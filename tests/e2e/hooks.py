#!/usr/bin/env python3
"""Hooks: programs of the operator's that are asked before calls and told of them afterwards. They run in a cell of
their own, and whatever one does but answer denies the call.
"""

import itertools
import json
import os
import signal
import socket
import time

import lib
import ran
from lib import check, wait_until
from ran import PYTHON, Place

numbers = itertools.count()
ALLOW = '{"decision":"allow"}'


def program(form, text, mode=0o755):
    """A program in a folder of its own; bash, unless its first line says otherwise."""
    folder = form.folder(f"hook-{next(numbers)}")
    path = form.write(folder / "hook", text if text.startswith("#!") else f"#!/bin/bash\n{text}\n")
    path.chmod(mode)
    return path


def python(form, text):
    return program(form, f"#!{PYTHON}\nimport json, os, sys\n{text}\n")


def hook(path, *args, event="tool:before", **more):
    return {"event": event, "command": [str(path), *args], **more}


def place(form, name, *hooks, **config):
    return Place(form, f"{name}-{next(numbers)}", {"hooks": list(hooks), **config})


def denied(gate, *words, tool="write_file", seconds=lib.SECONDS, **args):
    """The call is denied by a hook, for a reason with these words in it."""
    if tool == "write_file":
        args = {"path": "file", "content": "text", **args}
    error = gate.refused("POLICY_DENIED", tool, seconds=seconds, **args)
    for word in words:
        check(word in error["message"], f"no {word!r} in {error['message']!r}")
    check(error["details"]["reason"] == "denied_by_hook", error)
    check(not (gate.workspace / "file").exists(), "nothing was written")
    return error["message"]


def decides(form):
    """a hook allows, denies with JSON, or denies with exit code 2; the answer names it and its reason"""
    check_path = python(
        form,
        "call = json.load(sys.stdin)\n"
        "text = call['arguments']['content']\n"
        "if text == 'quiet': sys.exit(0)\n"
        "if text == 'two':\n"
        "    print('on stderr', file=sys.stderr)\n"
        "    sys.exit(2)\n"
        "print(json.dumps({'decision': 'allow' if text == 'good' else 'deny', 'reason': f'{text} is\\n\\x1b[31mbad'}))",
    )
    at = place(form, "decides", hook(check_path, toolName="{delete,write_*}"))
    with ran.leaves_nothing(form) as gates, at.gate() as gate:
        gates.add(gate)
        message = denied(gate, "hooks[0]", "text is [31mbad")
        check("\x1b" not in message and "failed" not in message, message)
        denied(gate, "hooks[0]: on stderr", content="two")
        for text in ("good", "quiet"):
            gate.ok("write_file", path=text, content=text)
            check((gate.workspace / text).read_text() == text, "it was written")
        check(gate.ok("read_file", path="good")["content"] == "good", "a tool that no hook is about")
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")


def is_told(form):
    """a hook is told all about the call; long contents are cut, and it is told which"""
    tell = python(
        form,
        "call = json.load(sys.stdin)\n"
        "content = call['arguments'].pop('content')\n"
        "print(json.dumps({'decision': 'deny', 'reason': ' '.join([str(len(content)), content[-1:],"
        " json.dumps(call.get('cut')), call['event'], call['tool'], call['dialect'], str(call['agent']),"
        " call['workspace'], json.dumps(call['arguments']), str(len(call['call']) > 10), sys.argv[1]])}))",
    )
    at = place(form, "told", hook(tell, "a word", toolName="write_file"))
    with at.gate() as gate:
        rest = f'tool:before write_file native None {gate.workspace} {{"path": "file"}} True a word'
        denied(gate, f"4 t null {rest}")
        denied(gate, f"65536 x null {rest}", content="x" * 65536)
        cut = '[{"at": "/content", "bytes": 200002}]'
        denied(gate, f"65535 x {cut} {rest}", content="x" * 65535 + "ä" + "y" * 134465)


FAILURES = {
    "exit code 1: on stderr": "echo on stderr >&2; exit 1",
    "exit code 127": "no-such-program",
    "signal 11": "kill -SEGV $$",
    "signal 9": "kill -9 $$",
    "is no JSON": "echo yes",
    "`decision` must be": """echo '{"decision":"yes"}'""",
    "no object with": """echo '{"reason":"x"}'""",
    "a field `other`": """echo '{"decision":"allow","other":1}'""",
    "more than 65536 bytes": "head -c 70000 /dev/zero",
    "printed more": "yes",
}


def fails_closed(form):
    """a hook that fails in any way denies, and says how"""
    for words, text in FAILURES.items():
        at = place(form, "fails", hook(program(form, text)))
        with at.gate() as gate:
            denied(gate, "hooks[0] failed: ", words)
            denied(gate, "hooks[0] failed: ", words)


def late(form):
    """a hook that does not end in time denies, is killed with all that it started, and other calls do not wait"""
    mark = ran.mark()
    deaf = program(form, f"trap '' TERM; sleep {mark} & while :; do sleep {mark}; done")
    at = place(form, "late", hook(deaf, timeoutMs=1000, toolName="write_file"))
    with ran.leaves_nothing(form) as gates, at.gate() as gate:
        gates.add(gate)
        began = time.monotonic()
        call = gate.send("write_file", path="file", content="text")
        gate.ok("stat", path=".")
        check(not gate.answers, "a call that no hook is about does not wait")
        error = lib.expect_error(gate.wait(call), "POLICY_DENIED")
        took = time.monotonic() - began
        check("hooks[0] failed: it did not end within 1000 ms" in error["message"], error)
        check(took >= 1, f"{took:.2f} s")
        wait_until(lambda: not ran.marked(mark), "all of it gone")
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")


def own_cell(form):
    """a hook sees its own folder, read-only, but no workspace, no network, no variable and no process of the host"""
    listener = socket.create_server(("127.0.0.1", 0))
    secret = form.write(form.base / f"secret-{next(numbers)}", "secret")
    look = python(
        form,
        "import socket\n"
        "def fails(what, *args):\n"
        "    try: what(*args)\n"
        "    except OSError as error: return error.strerror or 'failed'\n"
        "    return 'DONE'\n"
        "call = json.load(sys.stdin)\n"
        "found = [os.listdir('.'), os.path.exists(call['workspace']), os.path.exists(sys.argv[1]),\n"
        "  fails(open, '/hooks/x', 'w'), fails(open, __file__ + 'x', 'w'), os.environ.get('SECRET'),\n"
        "  fails(socket.create_connection, ('127.0.0.1', int(sys.argv[2])), 1),\n"
        "  sum(p.isdigit() for p in os.listdir('/proc')) < 4, 'hook' in os.listdir(os.path.dirname(__file__))]\n"
        "print(json.dumps({'decision': 'deny', 'reason': json.dumps(found)}))",
    )
    at = place(form, "cell", hook(look, str(secret), str(listener.getsockname()[1])))
    with listener, at.gate(env={"SECRET": "x"}) as gate:
        form.write(gate.workspace / "there", "text")
        message = denied(gate, "hooks[0]: ")
        found = json.loads(message.partition("hooks[0]: ")[2])
        expected = [[], False, False, "Read-only file system", "Read-only file system", None]
        check(found[:6] == expected, found)
        check(found[6] != "DONE" and found[7:] == [True, True], found)


def several(form):
    """several hooks: asked in order up to the first that denies; deny goes before ask, ask before allow"""
    count = program(form, f"echo $1 >> ~/asked; echo '{ALLOW}'")
    show = program(form, """printf '{"decision":"deny","reason":"%s"}' "$(tr '\\n' ' ' < ~/asked)" """)
    deny = program(form, "echo x >> ~/asked; echo no >&2; exit 2")
    only = {"toolName": "write_file"}
    at = place(
        form,
        "several",
        hook(count, "1", **only),
        hook(count, "2", toolName="read_file"),
        hook(count, "3", **only),
        hook(deny, **only),
        hook(count, "5", **only),
        hook(show, toolName="stat"),
    )
    with at.gate() as gate:
        denied(gate, "hooks[3]: no")
        denied(gate, "hooks[5]: 1 3 x", tool="stat", path=".")
    ask = program(form, """echo '{"decision":"ask","reason":"look at it"}'""")
    allow = program(form, f"echo '{ALLOW}'")
    at = place(form, "asks", hook(allow), hook(ask), hook(allow), approval={"timeoutMs": 200})
    with at.gate() as gate:
        error = gate.refused(
            "POLICY_DENIED APPROVAL_DENIED APPROVAL_TIMEOUT", "write_file", path="file", content="text"
        )
        check("hooks[1]" in error["message"], error)
        check(not (gate.workspace / "file").exists(), "nothing was written")


def after(form):
    """tool:after: told how a call ended, also one that failed; the answer does not wait, and a failure is only told"""
    told = python(
        form,
        "import time\n"
        "call = json.load(sys.stdin)\n"
        # Until the answers have come: if they waited for it, it would be ended by its time limit and tell nothing.
        "while not os.path.exists(os.path.expanduser('~/go')): time.sleep(0.01)\n"
        "took = isinstance(call['durationMs'], int)\n"
        "open(os.path.expanduser('~/told'), 'a').write(f\"{call['tool']} {call['ok']} {call['code']} {took}; \")",
    )
    show = program(form, """touch ~/go; printf '{"decision":"deny","reason":"told %s"}' "$(cat ~/told)" """)
    bad = program(form, "echo broken >&2; exit 1")
    at = place(
        form,
        "after",
        hook(told, event="tool:after", toolName="*_file"),
        hook(show, toolName="stat"),
        hook(bad, event="tool:after", toolName="write_file"),
    )
    with ran.leaves_nothing(form) as gates, at.gate() as gate:
        gates.add(gate)
        gate.ok("list_files", path=".")
        gate.ok("write_file", path="new", content="text")
        gate.refused("NOT_FOUND", "read_file", path="missing")

        def shown():
            message = gate.refused("POLICY_DENIED", "stat", path=".")["message"]
            return "write_file True None True;" in message and "read_file False NOT_FOUND True;" in message

        wait_until(shown, "both were told")
        wait_until(lambda: "hooks[2] failed: exit code 1: broken" in gate.said(), "the failure is told")
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")


def refused_at_start(form):
    """programs that are missing, cannot be run, or could be changed by someone else are refused at the start"""
    fine = program(form, f"echo '{ALLOW}'")
    open_folder = program(form, "true")
    open_folder.parent.chmod(0o777)
    inside = form.folder(f"open-{next(numbers)}")
    inside_program = form.write(inside / "hook", "#!/bin/bash\n")
    inside_program.chmod(0o755)
    cases = [
        (form.base / "missing", "No such file"),
        (program(form, "true", 0o644), "chmod +x"),
        (program(form, "true", 0o777), "go-w"),
        (program(form, "true", 0o775), "go-w"),
        (open_folder, "go-w"),
        (form.base, "can"),
        ("hook", "path"),
    ]
    for path, words in cases:
        at = place(form, "start", hook(fine), hook(path))
        done = form.run(at.home, "call", *at.options, "--workspace", at.workspace, "stat", '{"path":"."}')
        said = done.stdout.decode() + done.stderr.decode()
        check(done.returncode != 0 and "hooks[1].command" in said and words in said, f"{path}: {said}")
    # Where an agent can write it, it would be the agent's.
    for words in ((inside_program,), ("/bin/bash", str(inside_program))):
        at = Place(form, f"start-{next(numbers)}", {"hooks": [hook(*words)]}, workspace=inside)
        done = form.run(at.home, "call", *at.options, "--workspace", at.workspace, "stat", '{"path":"."}')
        said = done.stdout.decode() + done.stderr.decode()
        check(done.returncode != 0 and "hooks[0]" in said and "an agent could change" in said, said)


def cell_dies(form):
    """the cell of hooks dies: the call that waits is denied, the next is asked about in a new cell"""
    mark = ran.mark()
    waits = python(
        form,
        "call = json.load(sys.stdin)\n"
        f"if call['arguments']['content'] == 'wait': os.execv('/bin/sleep', ['sleep', '{mark}'])\n"
        f"print('{ALLOW}')",
    )
    at = place(form, "dies", hook(waits, timeoutMs=10000, toolName="write_file"))
    with ran.leaves_nothing(form) as gates, at.gate() as gate:
        gates.add(gate)
        for _ in range(3):
            call = gate.send("write_file", path="file", content="wait")
            (pid, _), *_ = wait_until(lambda: ran.marked(mark), "the hook runs")
            while int(lib.status(pid)["PPid"]) != gate.pid:
                pid = int(lib.status(pid)["PPid"])
            os.kill(pid, signal.SIGKILL)
            error = lib.expect_error(gate.wait(call), "POLICY_DENIED")
            check("hooks[0] failed: " in error["message"] and "cell" in error["message"], error)
            gate.ok("write_file", path="other", content="go")
        check(not (gate.workspace / "file").exists(), "nothing was written")
        # Whoever asked goes away: so does the hook.
        gate.send("write_file", path="file", content="wait")
        wait_until(lambda: ran.marked(mark), "the hook runs")
        gate.kill(signal.SIGTERM)
        gate.wait_exit()
        wait_until(lambda: not ran.marked(mark), "the hook is gone", 3)


def program_changes(form):
    """a program that is gone or broken later on denies; one that is put right is asked again"""
    path = program(form, f"echo '{ALLOW}'")
    at = place(form, "changes", hook(path, toolName="write_file"))
    with at.gate() as gate:
        gate.ok("write_file", path="first", content="text")
        text = path.read_text()
        path.unlink()
        denied(gate, "hooks[0] failed: ", str(path))
        form.write(path, text)
        denied(gate, "hooks[0] failed: ", str(path))
        path.chmod(0o755)
        gate.ok("write_file", path="second", content="text")


def many(form):
    """many calls at once are all asked about; more than can wait are denied, none is let through"""
    slow = python(
        form,
        "import time\n"
        "call = json.load(sys.stdin)\n"
        "time.sleep(0.02)\n"
        "odd = int(call['arguments']['content']) % 2\n"
        "print(json.dumps({'decision': 'allow' if odd else 'deny', 'reason': 'even'}))",
    )
    at = place(form, "many", hook(slow, timeoutMs=20000, toolName="write_file"))
    with ran.leaves_nothing(form) as gates, at.gate() as gate:
        gates.add(gate)
        calls = {i: gate.send("write_file", path=f"f{i}", content=str(i)) for i in range(600)}
        full = 0
        for i, call in calls.items():
            result = gate.wait(call, 60)
            written = (gate.workspace / f"f{i}").exists()
            check(written == result["ok"], f"{i}: {lib.short(result)}")
            if "too many" in json.dumps(result):
                full += 1
            else:
                check(result["ok"] == bool(i % 2), f"{i}: {lib.short(result)}")
        check(full < 600 - 200, f"{full} were turned away")
        gate.ok("write_file", path="last", content="1")
        gate.close_input()
        check(gate.wait_exit() == 0, "exit status")


if __name__ == "__main__":
    ran.main(
        decides,
        is_told,
        fails_closed,
        late,
        own_cell,
        several,
        after,
        refused_at_start,
        cell_dies,
        program_changes,
        many,
    )
