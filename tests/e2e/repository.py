"""What the tests of git directories share: a workspace that is a repository, looked at from outside as its user."""

import os
import subprocess

import lib
from lib import check
from ran import Place

WHO = {f"GIT_{who}_{what}": "me@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
GRANTED = {"approval": {"rules": [{"toolName": "run_command", "action": "approve", "grants": ["git"]}]}}


class Repository(Place):
    """`a` has a line for each of three commits on main; `b` is on the branch side, which began at the second."""

    def __init__(self, form, name, config=None):
        super().__init__(form, name, GRANTED if config is None else config)
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "me"), ("user.email", "me@example")):
            self.git("config", key, value)
        for word in ("one", "two", "three"):
            with self.form.acting(), open(self.workspace / "a", "a", encoding="ascii") as file:
                file.write(word + "\n")
            self.git("add", "a")
            self.git("commit", "-qm", word)
        self.git("checkout", "-q", "-b", "side", "main~1")
        self.put("b", "side\n")
        self.git("add", "b")
        self.git("commit", "-qm", "side")
        self.git("checkout", "-q", "main")

    def put(self, path, text):
        return self.form.write(self.workspace / path, text)

    def git(self, *words, cwd=None, codes=(0,), env=None):
        """On the host, as its user; what it printed."""
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.workspace,
            env={**lib.environment(self.home), **WHO, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            **self.form.identity(),
        )
        check(done.returncode in codes, f"git {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def seen(self):
        """What the repository is like, from outside."""
        return {
            "log": self.git("log", "--all", "--format=%H %d %s"),
            "status": self.git("status", "--porcelain", "--branch"),
            "refs": self.git("for-each-ref"),
            "stash": self.git("stash", "list", codes=(0, 128)),
        }

    def check_sound(self, what=""):
        self.git("fsck", "--strict", "--no-dangling")
        locks = [str(p) for p in (self.workspace / ".git").rglob("*.lock")]
        temps = [str(p) for p in (self.workspace / ".git").rglob(".sgt-*")]
        check(not locks and not temps, f"{what}: left behind: {locks} {temps}")

    def tree(self):
        """Every file of the git directory and what it holds; links by where they lead."""
        found = {}
        top = self.workspace / ".git"
        for path in sorted(top.rglob("*")):
            name = str(path.relative_to(top))
            if path.is_symlink():
                found[name] = os.readlink(path)
            elif path.is_file():
                found[name] = path.read_bytes()
        return found


SEEN = (
    "git log --all --format='%H %d %s'; echo ---; git status --porcelain --branch; echo ---; git for-each-ref; "
    "echo ---; git stash list"
)


def seen_inside(text):
    return dict(zip(("log", "status", "refs", "stash"), text.split("---\n")))
