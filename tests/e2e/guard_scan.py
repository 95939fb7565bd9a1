#!/usr/bin/env python3
"""What one command does to a workspace does not show the next one, or the next gate, a secret, nor lets it change what is
protected: folders made unreadable, moved, copied, hidden among many; replaced on the host while a command runs.
"""

import os
import pathlib
import random
import shutil
import subprocess

import lib
import ran
from lib import check
from ran import Place, bash

SECRET = "KEY=only the user knows"
MANY = 1200
RULES = {"files": {"secret": [".env", ".env.*", "id_rsa", "*.key", "/config/token"]}}
SEQUENCES = 1000 if lib.SOAK else 60


class Guarded(Place):
    """A workspace with secrets and repositories, one of them found by a rule with several components."""

    def __init__(self, form, name):
        super().__init__(form, name, RULES)
        self.secrets = [".env", "sub/.env", "sub/deep/id_rsa", "config/token"]
        for path in self.secrets:
            self.put(path, SECRET + "\n")
        for top in (".git", "sub/.git"):
            for path, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n"), ("hooks/pre-commit", "#\n"),
                               ("objects/x", ""), ("refs/x", "")):
                self.put(f"{top}/{path}", text)
        self.put("a.txt", "one\n")

    def tell(self, gate, line, **more):
        answer = gate.call("run_command", command=line, **more)
        check(answer["ok"], f"{line}: {answer}")
        value = answer["result"]
        check(SECRET not in value["stdout"] + value["stderr"], f"`{line}` told the secret: {lib.short(value)}")
        return value

    def everything(self, gate):
        """Whatever a command can read, wherever it is."""
        return self.tell(gate, "chmod -R u+rwx . 2>/dev/null; grep -rs 'only the user' . | head -c 10000; "
                               "find . -type f -exec cat {} + 2>/dev/null | grep -a 'only the user'; true")


def next_gate(place, lines, then):
    """Each line by a command of one gate; then another gate."""
    with place.gate() as gate:
        for line in lines:
            place.tell(gate, line)
    with place.gate() as gate:
        return then(gate)


def unreadable(form):
    """a folder that cannot be read is covered as a whole, and cannot be made readable by the command"""
    for number, mode in enumerate(("000", "111", "444", "333")):
        place = Guarded(form, f"unreadable{number}")

        def look(gate, place=place):
            place.tell(gate, "chmod 755 sub; cat sub/.env")
            place.tell(gate, "chmod 755 sub; echo x > sub/.git/hooks/post-commit")
            place.everything(gate)

        next_gate(place, [f"chmod {mode} sub"], look)
        os.chmod(place.workspace / "sub", 0o755)
        check(not (place.workspace / "sub/.git/hooks/post-commit").exists(), "a hook was made")
        with place.gate() as gate:
            check(bash(gate, "ls sub")["stdout"] == "deep\n", "readable again, it is there again")


def unreadable_root(form):
    """where the workspace itself cannot be listed no command starts, and the message says what to do"""
    place = Guarded(form, "root")
    os.chmod(place.workspace, 0o111)
    with place.gate() as gate:
        for _ in range(2):
            error = gate.refused("PERMISSION_DENIED", "run_command", command="cat .env")
            check("chmod u+rx" in error["message"], error)
    done = place.run("--", "cat", ".env")
    check(done.returncode != 0 and SECRET.encode() not in done.stdout and b"chmod u+rx" in done.stderr, done)
    os.chmod(place.workspace, 0o755)
    with place.gate() as gate:
        place.tell(gate, "cat .env")
        bash(gate, "true")


def moved(form):
    """a folder with secrets stays covered in the next gate wherever a command has moved it"""
    moves = (
        ["mkdir node_modules; mv sub node_modules/"],
        ["mkdir -p 1/2/3/4/5/6/7/8/9/10; mv sub 1/2/3/4/5/6/7/8/9/10/"],
        ["mv config elsewhere", "mkdir config"],
        ["mkdir d; mv config d/; mv sub d/; mv d __pycache__"],
        ["mv sub old; cp -r old sub"],
        ["mkdir -p x/objects x/refs; touch x/HEAD; mv sub x/objects/"],
        ["mkdir -p x/.git/objects; mv sub x/.git/objects/; mv config x/.git/"],
        ["mv sub 's p\na'; mv config \"$(printf 'c\\\\303')\""],
    )
    for number, lines in enumerate(moves):
        place = Guarded(form, f"moved{number}")
        next_gate(place, lines, place.everything)
        found = [p for p in place.workspace.rglob("*") if p.is_file() and not p.is_symlink() and SECRET in p.read_text()]
        check(len(found) == len(place.secrets), f"secrets are gone: {found}")


def pinned(form):
    """the folders on the way to what a rule spells out stay where they are"""
    place = Guarded(form, "pinned")
    with place.gate() as gate:
        for line in ("mv config other", "rmdir config", "rm -rf config; ls config/token && exit 1"):
            check(place.tell(gate, line)["exit_code"] != 0, line)
        check((place.workspace / "config/token").read_text() == SECRET + "\n", "it is there")


def many(form):
    """all are covered, however many there are"""
    place = Guarded(form, "many")
    for number in range(MANY):
        place.put(f"d/{number:04d}/.env", SECRET)
    repositories = [f"r/{number:03d}" for number in range(300)]
    for repository in repositories:
        place.put(f"{repository}/.git/config", "[core]\n")
    with place.gate() as gate:
        check(bash(gate, "cat .env d/*/.env 2>/dev/null | wc -c; exit 0")["stdout"] == "0\n", "all are covered")
        bash(gate, "for r in r/*; do echo x >> $r/.git/config; done 2>/dev/null; true")
        changed = [r for r in repositories if (place.workspace / r / ".git/config").read_text() != "[core]\n"]
        check(not changed, f"{len(changed)} repositories were changed")
        place.everything(gate)


def links(form):
    """what a link with a secret name leads to is covered under its own name, and stays so when the link is gone"""
    place = Guarded(form, "links")
    place.put("data/plain.txt", SECRET)
    place.put("far/other.txt", SECRET)
    form.link(place.workspace / "sub/.env.local", "../data/plain.txt")
    form.link(place.workspace / "way", "far")
    form.link(place.workspace / "x.key", "way/other.txt")
    with place.gate() as gate:
        for path in ("data/plain.txt", "far/other.txt", "sub/.env.local", "x.key", "way/other.txt"):
            check(place.tell(gate, f"cat {path}")["exit_code"] != 0, path)
        bash(gate, "rm sub/.env.local x.key")
        place.everything(gate)
    with place.gate() as gate:
        place.everything(gate)


def git_directories(form):
    """a git directory is covered wherever it lies: where a .git file points, and by what it holds"""
    place = Guarded(form, "git")
    for path in ("meta/x/HEAD", "meta/x/hooks/a", "common/config", "bare/HEAD", "bare/objects/a", "bare/refs/a"):
        place.put(path, "x\n")
    place.put("meta/x/commondir", "../../common\n")
    place.put("tree/.git", "gitdir: ../meta/x\n")
    with place.gate() as gate:
        for line in ("echo y > meta/x/hooks/a", "touch meta/x/config", "echo y > common/config", "touch bare/config",
                     "echo y > tree/.git", "rm tree/.git", "mv tree/.git z", "mv meta/x z", "mv bare z", "rm -rf common",
                     "mkdir .git/new", "echo y > .git/index"):
            check(place.tell(gate, line)["exit_code"] != 0, line)
        check(bash(gate, "cat common/config bare/HEAD")["stdout"] == "x\nx\n", "they can be read")


def created(form):
    """what a command makes that is protected from then on is told, once"""
    place = Guarded(form, "created")
    with place.gate() as gate:
        for line, paths in (
            ("git init -q new", ["created:new/.git"]),
            ("git init -q --bare b", ["created:b"]),
            ("mkdir d; echo x > d/.envrc", ["created:d/.envrc"]),
            ("mkdir e; echo x > e/.envrc; git init -q e", ["created:e/.git", "quarantined:e/.envrc"]),
            ("mkdir -p f/.git/hooks; echo x > f/.git/hooks/post-commit", ["quarantined:f/.git"]),
            ("mkdir w; echo 'gitdir: ../m' > w/.git; mkdir m", ["quarantined:m", "quarantined:w/.git"]),
            ("mv new newer; mkdir y; touch y/z", []),
            ("echo x > y/.env", []),
            ("exit 1", []),
            ("git init -q k; kill -9 $$", ["created:k/.git"]),
        ):
            value = gate.call("run_command", command=line)["result"]
            found = sorted(v["call"] for v in value["violations"])
            check(found == sorted(paths), f"{line}: {value}")
        for line in ("echo x >> newer/.git/config", "touch b/config", "echo x > d/.envrc", "touch k/.git/x"):
            check(place.tell(gate, line)["exit_code"] != 0, line)


def replaced_while_it_runs(form):
    """a secret that is saved by renaming, or appears, while a command runs is covered for that command"""
    place = Guarded(form, "while")
    loop = "touch up; while [ ! -e go ]; do sleep 0.02; done; cat .env new/.env; echo x > .git/config; touch done"
    with place.gate() as gate:
        bash(gate, "true")
        call = gate.send("run_command", command=loop)
        lib.wait_until((place.workspace / "up").exists, "it runs")
        pid = ran.launcher(gate)
        commands = [p for p in lib.children(pid) if lib.children(p)]
        check(len(commands) == 1, commands)

        def covers():
            lines = pathlib.Path(f"/proc/{commands[0]}/mountinfo").read_text(encoding="utf-8").splitlines()
            return {line.split()[4] for line in lines}

        os.replace(place.put("fresh", SECRET), place.workspace / ".env")
        old = place.workspace / ".git"
        os.rename(old, place.workspace / "old-git")
        shutil.copytree(place.workspace / "old-git", old)
        for at in [old, *old.rglob("*")]:
            form.own(at)
        place.put("new/.env", SECRET)
        wanted = {f"{place.workspace}/{path}" for path in (".env", "new/.env", ".git")}
        lib.wait_until(lambda: wanted <= covers(), "they are covered", 10)
        place.put("go", "")
        value = gate.wait(call)
        check(SECRET not in str(value), value)
        check((place.workspace / "done").exists(), value)
        check((old / "config").read_text() == "[core]\n", "it could be changed")


def own_repository(form):
    """a command can make a repository and go on to work in it, whatever is scanned meanwhile"""
    place = Guarded(form, "own")
    with place.gate() as gate:
        bash(gate, "true")
        # Longer than scans beside it take.
        line = "git init -q n; mkdir d; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; touch n/.git/index d/.envrc || exit 1; rm n/.git/index; done"
        value = bash(gate, line)
        check(sorted(v["call"] for v in value["violations"]) == ["created:d/.envrc", "created:n/.git"], value)
        check(place.tell(gate, "touch n/.git/9")["exit_code"] != 0, "the next one cannot")


def damaged(form):
    """while an index is damaged no command starts; one that is gone is made anew"""
    place = Guarded(form, "damaged")
    next_gate(place, ["true"], place.everything)
    indices = [p for p in place.home.rglob("guards-*") if p.is_file()]
    check(len(indices) == 1, indices)
    whole = indices[0].read_bytes()
    for content in (b"", whole[:50], whole[:-1], whole + b"x", bytes(len(whole)), whole[::-1]):
        indices[0].write_bytes(content)
        with place.gate() as gate:
            error = gate.refused("PERMISSION_DENIED", "run_command", command="true")
            check(error["details"]["reason"] == "state_damaged" and str(indices[0]) in error["message"], error)
            gate.ok("stat", path="sub")
            indices[0].unlink()
            place.everything(gate)
            bash(gate, "true")


# --- at random

STEPS = [
    "chmod {mode} {dir}", "chmod -R {mode} {dir}", "mv {dir} {new}", "mv {dir} {other}/", "cp -r {dir} {new}", "cp -a {dir} {new}",
    "ln -s {dir} {new}", "ln {file} {new}", "ln -s {file} {new}", "mkdir -p {new}/{name}", "mkdir -p {new}/.git/objects",
    "mv {file} {new}", "mv {file} {other}/", "tar c {dir} | (mkdir -p {new} && tar x -C {new})", "rm -f {new}",
    "git init -q {new}", "git init -q --bare {new}", "git -C {dir} config user.name x", "git -C {dir} add -A",
    "echo x > {file}", "echo x >> {dir}/.git/config", "touch {dir}/.git/hooks/post-commit", "mv {dir}/.git {new}",
    "mkdir -p {new}/objects {new}/refs && touch {new}/HEAD && mv {dir} {new}/objects/", "rm -rf {other}/.git", "rmdir {dir}",
    "cd {dir} && mv ../{other} . ", "mv -T {dir} {other}", "ln -sfn {other} {dir}", "cat {dir}/* > {new}", "chmod {mode} .",
    "ln -s $PWD/{dir} {new}/.vscode", "ln -s {dir} .cargo", "ln -s {dir} {new}.key", "rm -f .cargo {new}.key {new}/.vscode",
]
FOLDERS = ["sub", "sub/deep", "config", "d", "e/f", "x", "y", "node_modules", ".git", "sub/.git", "."]
FILES = [".env", "sub/.env", "sub/deep/id_rsa", "config/token", "a.txt", ".git/config", "sub/.git/hooks/pre-commit"]


def sequence(source):
    lines = []
    for _ in range(source.randint(1, 6)):
        lines.append(source.choice(STEPS).format(
            mode=source.choice(["000", "111", "444", "700", "755", "500"]), dir=source.choice(FOLDERS),
            other=source.choice(FOLDERS), file=source.choice(FILES), name=source.choice(["a", "node_modules", "__pycache__"]),
            new=source.choice(["n1", "d/n2", "e/f/n3", "node_modules/n4", "x", "y", "1/2/3/4/5/6/7/8/9/n5"])))
    return "; ".join(f"({line})" for line in ["mkdir -p d e/f node_modules 1/2/3/4/5/6/7/8/9", *lines])


def by_a_tool(source, gate, folder):
    """One deletion or move of a folder, where that is possible."""
    names = [f"{folder}/{name}" for name in (*FOLDERS, "n1", "d/n2", "x/moved", "node_modules/n4")]
    if source.random() < 0.5:
        gate.call("delete", path=source.choice(names), recursive=True)
    else:
        gate.call("move", **{"from": source.choice(names), "to": source.choice(names)})


def protected_contents(top):
    """By what is in them, since folders around them may be moved."""
    found = []
    for at, folders, files in os.walk(top):
        for name in files:
            path = os.path.join(at, name)
            if not os.path.islink(path) and "/PROTECTED" in open(path, errors="replace").read():
                found.append(open(path).read())
    return sorted(found)


def at_random(form):
    """no sequence of commands opens a secret, or changes what is protected, for the next gate"""
    seed = lib.seed()
    lib.note(f"SANDGATE_SEED={seed}")
    source = random.Random(seed)
    batch = 10
    for number in range(0, SEQUENCES, batch):
        place = Place(form, f"random{number}", RULES)
        parts = []
        for k in range(batch):
            part = Guarded.__new__(Guarded)
            part.form, part.workspace = form, form.folder(f"random{number}-ws/p{k}")
            parts.append(part)
        # Each part is a folder of one workspace, so that one gate serves them all.
        whole = Guarded.__new__(Guarded)
        whole.form, whole.workspace, whole.home, whole.options = form, place.workspace, place.home, place.options
        for k in range(batch):
            for path in (".env", "sub/.env", "sub/deep/id_rsa"):
                whole.put(f"p{k}/{path}", SECRET + f" {k} {path}\n")
            for top in (".git", "sub/.git"):
                for path in ("HEAD", "config", "hooks/pre-commit", "objects/x", "refs/x"):
                    whole.put(f"p{k}/{top}/{path}", f"# {k}/{top}/{path}/PROTECTED\n")
            whole.put(f"p{k}/a.txt", "one\n")
        before = protected_contents(place.workspace)
        lines = [sequence(source) for _ in range(batch)]
        for repeat in range(2):
            with place.gate() as gate:
                for k, line in enumerate(lines):
                    whole.tell(gate, f"cd p{k} && {{ {line}; }} 2>/dev/null; true" if repeat == 0 else "true")
                    by_a_tool(source, gate, f"p{k}")
                whole.everything(gate)
        subprocess.run(["chmod", "-R", "u+rwX", place.workspace], check=True)
        after = protected_contents(place.workspace)
        check(all(after.count(text) >= before.count(text) for text in before), f"changed, SANDGATE_SEED={seed}: {lines}")
        shutil.rmtree(place.workspace)


if __name__ == "__main__":
    ran.main(unreadable, unreadable_root, moved, pinned, many, links, git_directories, created, replaced_while_it_runs, own_repository, damaged,
             at_random)
