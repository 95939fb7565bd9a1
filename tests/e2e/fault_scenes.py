"""What gates do while one of their system calls fails: each scene makes requests and says what is true if they succeed.

A scene is a function of a Run (faults.py). `run.ask` makes a call and waits for the answer; its `truth` is looked at only
when the answer is ok, and may raise. Files named in `run.versions` must at the end have one of the contents given there.
"""

import json
import pathlib
import signal

import lib
from lib import Gate, check, wait_until

LONG = "".join(f"line {i} of a long file\n" for i in range(20000))
SCENES = {}


def scene(function):
    SCENES[function.__name__] = function
    return function


def is_file(path, content):
    found = path.read_text(encoding="utf-8")
    check(found == content, f"{path.name} has {len(found)} bytes that are not the {len(content)} that were acknowledged")


@scene
def read(run):
    run.write("a.txt", "text\n")
    run.write("long", LONG)
    run.start()
    run.ask("read_file", {"path": "a.txt"}, lambda r: check(r["content"] == "text\n", f"{r}"))
    run.ask("read_file", {"path": "long", "max_bytes": 1 << 20}, lambda r: check(r["content"] == LONG, "not the file"))
    run.ask("stat", {"path": "a.txt"}, lambda r: check(r["size"] == 5, f"{r}"))


@scene
def write(run):
    run.write("old", "before\n")
    run.versions = {"old": ["before\n", "after\n"], "d/new": [None, "new\n"], "long": [None, LONG]}
    run.start()
    for name, content in (("old", "after\n"), ("d/new", "new\n"), ("long", LONG)):
        path = run.workspace / name
        run.ask("write_file", {"path": name, "content": content}, lambda _, p=path, c=content: is_file(p, c))
    run.ask("make_directory", {"path": "e/f"}, lambda _: check((run.workspace / "e/f").is_dir(), "no folder"))


@scene
def append(run):
    run.write("log", "one\n")
    run.versions = {"log": ["one\n", "one\ntwo\n"]}
    run.start()
    log = run.workspace / "log"
    run.ask("write_file", {"path": "log", "content": "two\n", "append": True}, lambda _: is_file(log, "one\ntwo\n"))


@scene
def edit(run):
    run.write("a.txt", "alpha beta\n")
    run.write("note.md", "---\ntitle: old\n---\ntext\n")
    run.versions = {
        "a.txt": ["alpha beta\n", "alpha gamma\n"],
        "note.md": ["---\ntitle: old\n---\ntext\n", "---\ntitle: new\n---\ntext\n"],
    }
    run.start()
    edits = [{"old_text": "beta", "new_text": "gamma"}]
    run.ask("edit_file", {"path": "a.txt", "edits": edits}, lambda _: is_file(run.workspace / "a.txt", "alpha gamma\n"))
    truth = run.versions["note.md"][1]
    run.ask("update_frontmatter", {"path": "note.md", "update": {"title": "new"}},
            lambda _: is_file(run.workspace / "note.md", truth))


def make_tree(run, top):
    for i in range(4):
        for j in range(3):
            run.write(f"{top}/d{i}/f{j}", f"needle {i} {j}\n")


@scene
def list_recursive(run):
    make_tree(run, "tree")
    run.start()
    run.ask("list_files", {"path": "tree", "recursive": True},
            lambda r: check(len(r["entries"]) == 16 or r["truncated"], f"{len(r['entries'])} of 16 entries, said to be all"))


@scene
def search(run):
    make_tree(run, "tree")
    run.start()
    run.ask("search", {"pattern": "needle [12]"},
            lambda r: check(len(r["matches"]) == 6 or incomplete(r), f"{len(r['matches'])} of 6 matches, said to be all"))


def incomplete(result):
    """An answer may say that it could not look everywhere."""
    return result["truncated"] or result["stats"]["skipped"]["unreadable"]


@scene
def delete_recursive(run):
    make_tree(run, "tree")
    run.start()
    run.ask("delete", {"path": "tree", "recursive": True},
            lambda _: check(not (run.workspace / "tree").exists(), "it is still there"))


@scene
def move(run):
    run.write("a.txt", "text\n")
    run.start()

    def moved(_):
        is_file(run.workspace / "b.txt", "text\n")
        check(not (run.workspace / "a.txt").exists(), "it is still there")

    run.ask("move", {"from": "a.txt", "to": "b.txt"}, moved)
    run.after = lambda: check((run.workspace / "a.txt").exists() != (run.workspace / "b.txt").exists(), "the file is gone")


def ran(code, stdout):
    def truth(result):
        check(result.get("exit_code") == code and result["stdout"] == stdout, f"{result}")

    return truth


@scene
def command(run):
    run.start()
    made = run.ask("run_command", {"command": "echo out; echo made > made; seq 20000 | tail -1"}, ran(0, "out\n20000\n"))
    run.ask("run_command", {"command": "cat made"}, made["ok"] and ran(0, "made\n"))


@scene
def denied_program(run):
    """No failure leaves a denied program where it can be started."""
    run.write("way", "#!/bin/sh\ntouch made\n").chmod(0o755)
    rule = {"toolName": "run_command", "action": "deny", "condition": {"command": {"program": "touch"}}}
    run.configure({"approval": {"default": "approve", "rules": [rule]}})
    run.start()
    run.ask("run_command", {"command": "./way"}, ran(126, ""))
    run.ask("run_command", {"command": "./way"}, ran(126, ""))
    run.after = lambda: check(not (run.workspace / "made").exists(), "a denied program was started")


@scene
def failing_command(run):
    run.start()
    run.ask("run_command", {"command": "echo no; exit 3"}, ran(3, "no\n"))
    run.ask("run_command", {"command": "./nothing"})


def said_started(gate, call_id):
    return any(e["id"] == call_id and e["event"] == "output" for e in gate.events) or gate.answered(call_id)


@scene
def stopped_command(run):
    run.start()
    call = run.send("run_command", {"command": "echo started; sleep 600"})
    run.until(lambda: said_started(run.gate, call))
    run.line({"cancel": call})
    run.wait(call)


@scene
def cancel(run):
    make_tree(run, "tree")
    run.start()
    calls = [run.send("search", {"pattern": "needle"}), run.send("read_file", {"path": "tree/d1/f1"})]
    for call in calls:
        run.line({"cancel": call})
    for call in calls:
        run.wait(call)


def decide(run, verb, request, call):
    """Says it once more where the gate says that it could not be kept."""

    def complaints():
        return [e for e in run.gate.events if e["event"] == "error" and e["requestId"] == request]

    run.line({verb: request})
    run.until(lambda: complaints() or run.gate.answered(call))
    if not run.gate.answered(call):
        run.line({verb: request})


@scene
def approval(run):
    run.configure({"approval": {"rules": [{"toolName": "write_file", "action": "prompt"}]}})
    run.versions = {"asked": [None, "yes\n"], "denied": [None]}
    run.start("--approver")
    for verb, name, truth in (("approve", "asked", lambda _: is_file(run.workspace / "asked", "yes\n")),
                              ("deny", "denied", lambda _: check(False, "it was denied"))):
        call = run.send("write_file", {"path": name, "content": "yes\n"}, truth)
        asked = lambda: [e for e in run.gate.events if e["event"] == "approval" and e["id"] == call]  # noqa: B023
        run.until(lambda: asked() or run.gate.answered(call))  # noqa: B023
        if asked():
            decide(run, verb, asked()[0]["requestId"], call)
        run.wait(call)


@scene
def hook(run):
    program = run.outside("hook/hook", "#!/bin/sh\necho '{\"decision\":\"allow\"}'\n")
    program.chmod(0o755)
    run.configure({"hooks": [{"event": "tool:before", "toolName": "write_file", "command": [str(program)]}]})
    run.versions = {"a.txt": [None, "text\n"]}
    run.start()
    run.ask("write_file", {"path": "a.txt", "content": "text\n"}, lambda _: is_file(run.workspace / "a.txt", "text\n"))


@scene
def toolhost(run):
    state = run.folder("toolhost-state")
    run.versions = {"a.txt": [None, "text\n"]}
    run.first_read = ("fs.read", {"path": "@project/ready"})
    run.start("--dialect", "toolhost", "--project", run.workspace, "--state", state, workspace=None)
    log = state / "logs" / "execution.jsonl"

    def written(_):
        is_file(run.workspace / "a.txt", "text\n")
        check(log.exists() and "fs.write" in log.read_text(encoding="utf-8"), "no line in execution.jsonl")

    run.ask("fs.write", {"path": "@project/a.txt", "content": "text\n"}, written)


@scene
def rotation(run):
    run.write("a.txt", "text\n")
    run.configure({"audit": {"maxBytes": 65536, "sync": "always"}})
    run.start()
    for i in range(12):
        run.ask("stat", {"path": "/".join([f"{i:03}" + "n" * 200] * 19)})
    run.ask("read_file", {"path": "a.txt"}, lambda r: check(r["content"] == "text\n", f"{r}"))


@scene
def start_after_kill(run):
    run.write("a.txt", "text\n")
    before = Gate(run.form, workspace=run.workspace, state=run.home, binary=run.binary)
    before.ok("read_file", path="a.txt")
    before.send("write_file", path="a.txt", content=LONG * 20)
    before.send("run_command", command="sleep 600")
    wait_until(lambda: list(run.home.glob("sandgate/sweep/*")) or before.answers or before.read(), "it is written")
    before.kill(signal.SIGKILL)
    before.wait_exit()
    wait_until(lambda: not lib.running(run.binary), "all of it is gone")
    before.end()
    run.versions = {"a.txt": ["text\n", LONG * 20, "after\n"]}
    run.start()
    run.ask("write_file", {"path": "a.txt", "content": "after\n"}, lambda _: is_file(run.workspace / "a.txt", "after\n"))


def make_session(run):
    made = run.run("session", "create", "--workspace", run.workspace)
    check(made.returncode == 0, f"{made.stderr}")
    run.write("a.txt", "text\n")
    return made.stdout.decode().strip()


@scene
def session_owner(run):
    session = make_session(run)
    run.start("--session", session, workspace=None)
    run.ask("read_file", {"path": "a.txt"}, lambda r: check(r["content"] == "text\n", f"{r}"))
    done = run.run("call", "read_file", json.dumps({"path": "a.txt"}), "--session", session)
    check(done.returncode != 0 or json.loads(done.stdout)["result"]["content"] == "text\n", f"{done.stdout}")
    check(done.stdout or done.stderr, f"the guest ended with {done.returncode} and said nothing")


@scene
def session_guest(run):
    session = make_session(run)
    owner = Gate(run.form, "--session", session, state=run.home, binary=run.binary)
    run.others.append(owner)
    owner.ok("read_file", path="a.txt")
    run.versions = {"b.txt": [None, "text\n"]}
    run.start("--session", session, workspace=None)
    run.ask("write_file", {"path": "b.txt", "content": "text\n"}, lambda _: is_file(run.workspace / "b.txt", "text\n"))
    owner.ok("read_file", path="a.txt")


def content_of(path: pathlib.Path):
    return path.read_text(encoding="utf-8") if path.exists() else None
