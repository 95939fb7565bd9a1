#!/usr/bin/env python3
"""What commands may not do: what the sandbox refuses is counted, protected files stay as they are and where they are,
secret ones are not read, sockets of the host are not reached.
"""

import os
import shutil
import socket
import subprocess

import lib
import ran
from lib import check
from ran import PYTHON, Place, bash, ended

SECRET = "KEY=only the user knows"
GIT = {f"GIT_{who}_{what}": "me@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository(Place):
    """A workspace with a repository, secrets at several depths, and what it looked like."""

    def __init__(self, form, name):
        super().__init__(form, name)
        for folder in ("sub", "sub/deep", "other", "other/.git", "other/.git/hooks"):
            form.folder(f"{name}-ws/{folder}")
        self.git("init", "-q")
        self.put("a.txt", "one\n")
        self.put(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)
        for path in ("other/.git/HEAD", "other/.git/config"):
            self.put(path, (self.workspace / path.removeprefix("other/")).read_text())
        for path in (".env", "sub/.env.local", "sub/deep/id_rsa"):
            self.put(path, SECRET + "\n")
        self.before = self.guarded()

    def put(self, path, text):
        return self.form.write(self.workspace / path, text)

    def git(self, *words):
        """On the host, as its user."""
        environment = {**lib.environment(self.home), **GIT}
        subprocess.run(["git", *words], cwd=self.workspace, env=environment, check=True, **self.form.identity())

    def guarded(self):
        """Contents and modes of everything that is protected or secret."""
        found = {}
        for name in (".env", "sub/.env.local", "sub/deep/id_rsa", ".git", "other/.git"):
            top = self.workspace / name
            for path in [top, *(sorted(top.rglob("*")) if top.is_dir() else [])]:
                text = path.read_bytes() if path.is_file() else None
                found[str(path.relative_to(self.workspace))] = (path.stat().st_mode, text)
        return found

    def check_same(self, what):
        now = self.guarded()
        changed = [name for name in {*now, *self.before} if now.get(name) != self.before.get(name)]
        check(not changed, f"{what}: changed {changed}")


def try_all(gate, place, lines, codes=range(1, 256)):
    for line in lines:
        value = gate.call("run_command", command=line)["result"]
        check(value["exit_code"] in codes, f"`{line}` succeeded: {lib.short(value)}")
        check(SECRET not in value["stdout"], f"`{line}` told the secret")
        place.check_same(line)


def counted(form):
    """what is refused is counted in the result"""
    ctypes = f"{PYTHON} -c 'import ctypes; c = ctypes.CDLL(None); [c.CALL for i in range(3)]'"
    with Place(form, "counted").gate() as gate:
        for line, name, count in (
            (ctypes.replace("CALL", "mount(0, 0, 0, 0, 0)"), "mount", 3),
            (ctypes.replace("CALL", "umount2(b\"/tmp\", 2)"), "umount2", 3),
            (ctypes.replace("CALL", "unshare(0x10000000)"), "unshare", 3),
            (ctypes.replace("CALL", "ptrace(16, 1, 0, 0)"), "ptrace", 3),
            (ctypes.replace("CALL", "setns(0, 0)"), "setns", 3),
            (f"{PYTHON} -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'", "socket:AF_PACKET", 1),
            (f"{PYTHON} -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'", "socket:SOCK_RAW", 1),
            ("cp /bin/true x; chmod u+s x", "chmod:setuid", 1),
            ("unshare -U true; unshare -n true", "unshare", 2),
        ):
            value = gate.call("run_command", command=line)["result"]
            found = {v["call"]: v["count"] for v in value["violations"]}
            check(found == {name: count}, f"{line}: {value}")
        check(bash(gate, "true")["violations"] == [], "each command's own")
        # Many kinds, many times: bounded, and the command goes on.
        value = bash(gate, ctypes.replace("CALL", "mount(0, 0, 0, 0, 0)").replace("range(3)", "range(5000)"))
        check(value["violations"] == [{"call": "mount", "count": 5000}], value)


def created(form):
    """protected files that were not there, below the root: made, and told"""
    place = Place(form, "created")
    made = place.workspace / "d" / ".envrc"
    with place.gate() as gate:
        value = bash(gate, "mkdir -p d/.vscode; echo x > d/.envrc; echo {} > d/.vscode/tasks.json")
        found = {v["call"] for v in value["violations"]}
        check(found == {"created:d/.envrc", "created:d/.vscode"}, value)
        check(made.read_text() == "x\n", "it is there")
        value = bash(gate, "cat d/.envrc")
        check(value["stdout"] == "x\n" and value["violations"] == [], f"told once: {value}")
        bash(gate, "echo y >> d/.envrc", code=1)
        bash(gate, "rm d/.envrc", code=1)
        check(made.read_text() == "x\n", "from then on it is protected")


CHANGES = [
    "echo x > .git/hooks/pre-commit",
    "echo x > .git/hooks/new",
    "echo x >> .git/config",
    ": > .git/config",
    "git config user.name x",
    "rm -f .git/config",
    "rm -rf .git/hooks",
    "mv .git/config x",
    "mv .git/hooks x",
    "mv .git x",
    "rm -rf .git/hooks/pre-commit",
    "rmdir .git/hooks",
    "chmod 777 .git/config",
    "chmod 000 .git/hooks/pre-commit",
    "touch -d 2001-01-01 .git/config",
    "cp /etc/hostname .git/config",
    "ln -sf /etc/hostname .git/config",
    "ln .git/config linked && echo x >> linked",
    "echo x > new; mv -f new .git/config",
    "echo x > new; mv -f new .git/hooks/pre-commit",
    "mkdir d; mv -T d .git/hooks",
    "ln -s .git g; echo x >> g/config",
    "cd .git/hooks && echo x > new",
    "echo x >> other/.git/config",
    "echo x > other/.git/hooks/new",
    "mv other/.git other/x",
    f"{PYTHON} -c 'import os; os.truncate(\".git/config\", 0)'",
    f"{PYTHON} -c 'import os; os.setxattr(\".git/config\", \"user.x\", b\"x\")'",
]
EXCHANGE = "import ctypes, sys; a, b = map(str.encode, sys.argv[1:])\n"
EXCHANGE += "sys.exit(1 if ctypes.CDLL(None).renameat2(-100, a, -100, b, 2) else 0)"
CHANGES += [f"{PYTHON} -c '{EXCHANGE}' {pair}" for pair in (".git/config a.txt", ".git sub", ".git/hooks sub")]


def protected(form):
    """protected files, and the folders on the way to them, cannot be changed, renamed, replaced or removed"""
    place = Repository(form, "protected")
    with place.gate() as gate:
        try_all(gate, place, CHANGES)
        check(bash(gate, "cat .git/config .git/hooks/pre-commit")["stdout"].endswith("exit 0\n"), "they can be read")


READS = [
    "cat .env",
    "cat sub/.env.local sub/deep/id_rsa",
    "cat ./sub/../.env",
    "cp .env copy && cat copy",
    "mv .env x && cat x",
    "ln .env linked && cat linked",
    "ln -s .env l; cat l",
    "tar c .env sub | grep -a KEY",
    "grep -r only . 2>/dev/null",
    "cat /proc/self/cwd/.env",
    "cat /proc/self/root/workspace/.env",
    "mv sub moved; cat moved/.env.local; mv moved sub; exit 1",
    "chmod 644 .env && cat .env",
    "rm -f .env",
    "echo x > .env",
    f"{PYTHON} -c 'import mmap; f = open(\".env\"); print(mmap.mmap(f.fileno(), 0, prot=1)[:])'",
]


def secret(form):
    """secret files, at any depth, cannot be read, changed, moved or removed"""
    place = Repository(form, "secret")
    place.put(".env.example", "KEY=\n")
    with place.gate() as gate:
        try_all(gate, place, READS)
        check(bash(gate, "cat .env.example")["stdout"] == "KEY=\n", "an example is none")
        check(".env\n" in bash(gate, "ls -A")["stdout"], "that it exists is seen")


def moved_around(form):
    """a folder that a command moves takes the guards of what is in it along, wherever to"""
    place = Repository(form, "moved")
    with place.gate() as gate:
        bash(gate, "mkdir -p node_modules a/b/c/d/e/f/g/h/i/j")
        at = "sub", "other"
        for folder in ("x", "node_modules", "a/b/c/d/e/f/g/h/i/j", "."):
            to = f"{folder}/1", f"{folder}/2"
            bash(gate, f"mkdir -p {folder}; mv {at[0]} {to[0]}; mv {at[1]} {to[1]}")
            for _ in range(4):  # the first ones may have been made before
                value = bash(gate, f"cat {to[0]}/.env.local; echo x > {to[1]}/.git/hooks/new", code=1)
                check(SECRET not in value["stdout"], f"{folder}: the secret is told")
                check(not (place.workspace / to[1] / ".git/hooks/new").exists(), f"{folder}: a hook is made")
            at = to
        gate.ok("move", **{"from": "1", "to": "node_modules/3"})
        for _ in range(4):
            check(SECRET not in bash(gate, "cat node_modules/3/.env.local", code=1)["stdout"], "moved by a tool")


def sockets(form):
    """a socket of the host in the workspace cannot be connected to; a command's own can"""
    place = Place(form, "sockets")
    form.folder("sockets-ws/run")
    server = socket.socket(socket.AF_UNIX)
    os.chdir(place.workspace)  # the path may be too long for a socket's
    server.bind("run/host")
    os.chdir("/")
    os.chmod(place.workspace / "run/host", 0o777)
    form.own(place.workspace / "run/host")
    server.listen()
    server.setblocking(False)
    connect = f"{PYTHON} -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])'"
    with place.gate() as gate:
        for line in (f"{connect} run/host", f"mv run/host x; {connect} x", f"ln run/host x; {connect} x"):
            bash(gate, line, code=1)
        for line in (f"mv run moved; {connect} moved/host", f"{connect} moved/host"):
            bash(gate, line, code=1)
        own = "s = socket.socket(socket.AF_UNIX); s.bind(\"own\"); s.listen(); c = socket.socket(socket.AF_UNIX)"
        own += "; c.connect(\"own\"); a, b = socket.socketpair(); a.send(b\"x\")"
        bash(gate, f"{PYTHON} -c 'import socket; {own}'")
    try:
        server.accept()
        raise AssertionError("somebody connected")
    except BlockingIOError:
        pass
    finally:
        server.close()


def repository_is_read(form):
    """git reads a repository: status, diff, log; it changes nothing there, and says so"""
    if not shutil.which("git", path="/usr/local/bin:/usr/bin:/bin"):
        lib.note("no git among the system's programs")
        return
    place = Repository(form, "reads")
    place.put(".gitignore", ".env*\nid_rsa\nother\nsub\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "one")
    place.before = place.guarded()
    with place.gate() as gate:
        check(bash(gate, "git log --oneline | wc -l")["stdout"] == "1\n", "log")
        bash(gate, "echo two >> a.txt")
        check(bash(gate, "git status --short")["stdout"] == " M a.txt\n", "status")
        check("+two" in bash(gate, "git diff")["stdout"], "diff")
        lines = ("git add a.txt", "git commit -qam two", "git stash", "git tag v1", "git checkout -qb side", "git gc -q",
                 "git update-ref refs/heads/x HEAD", "echo x > .git/HEAD", "echo x > .git/index", "rm .git/index",
                 "ln -sf /etc/passwd .git/COMMIT_EDITMSG", "touch .git/new", "mkdir .git/refs/new")
        try_all(gate, place, lines)
    place.git("fsck", "--no-progress")


def replaced_by_the_host(form):
    """the host replaces what is guarded between two commands: the next one finds it guarded again"""
    place = Repository(form, "replaced")
    with place.gate() as gate:
        bash(gate, "true")
        for number in range(5):
            for path in (".git/config", ".git/hooks/pre-commit", ".env", "other/.git/config"):
                text = f"{SECRET} {number}\n" if path == ".env" else f"# {number}\n"
                os.replace(place.put("fresh", text), place.workspace / path)
            place.before = place.guarded()
            lines = ("echo x >> .git/config", "echo x >> .git/hooks/pre-commit", "cat .env", "mv .git x")
            try_all(gate, place, (*lines, "echo x >> other/.git/config"))
            check(bash(gate, "cat .git/config")["stdout"] == f"# {number}\n", "and reads the new one")
        # A whole repository, as a clone anew would.
        shutil.rmtree(place.workspace / ".git")
        place.git("init", "-q")
        place.before = place.guarded()
        try_all(gate, place, ("echo x >> .git/config", "mv .git x", "echo x > .git/hooks/new"))


def replaced_while_it_runs(form):
    """the host's git changes the configuration while a command runs: nobody is in the other's way"""
    place = Repository(form, "while")
    with place.gate() as gate:
        call = gate.send("run_command", command="echo up > up; while [ ! -e go ]; do sleep 0.02; done; cat .git/config")
        lib.wait_until((place.workspace / "up").exists, "it runs")
        place.git("config", "user.name", "somebody")
        place.put("go", "")
        check("somebody" in ended(gate.wait(call))["stdout"], "it sees the new one")


def appears(form):
    """a secret that appears between two commands is not read by the next one"""
    place = Place(form, "appears")
    form.folder("appears-ws/sub")
    with place.gate() as gate:
        bash(gate, "true")
        for path in (".env", "sub/.env"):
            form.write(place.workspace / path, SECRET)
            check(SECRET not in bash(gate, f"cat {path}", code=1)["stdout"], path)


if __name__ == "__main__":
    ran.main(
        counted,
        created,
        protected,
        secret,
        moved_around,
        sockets,
        repository_is_read,
        replaced_by_the_host,
        replaced_while_it_runs,
        appears,
    )
