"""A project with an overlay session, for tests."""

import json
import os
import time

from lib import check


class Place:
    """A project and a state folder of its own for one case."""

    def __init__(self, form, name):
        self.form = form
        self.home = form.folder(f"{name}-home", 0o700)
        self.project = form.folder(f"{name}-project")
        self.write("a.txt", "alpha\n")
        self.write("sub/b.txt", "beta\n")

    def write(self, path, content):
        at = self.project / path
        with self.form.acting():
            at.parent.mkdir(parents=True, exist_ok=True)
        return self.form.write(at, content)

    def run(self, *argv, env=None):
        return self.form.run(self.home, *argv, env=env)

    def create(self, *options, env=None):
        # What was changed up to 20 ms before a session begins counts as changed after that: times of files are not finer.
        time.sleep(0.03)
        made = self.run("session", "create", "--workspace", self.project, *options, env=env)
        check(made.returncode == 0, made.stderr)
        return made.stdout.decode().strip()

    def call(self, session, tool, arguments, *options, env=None):
        done = self.run("call", tool, json.dumps(arguments), "--session", session, *options, env=env)
        check(done.stdout, done.stderr.decode())
        return json.loads(done.stdout)

    def ok(self, session, tool, *options, **arguments):
        answer = self.call(session, tool, arguments, *options)
        check(answer["ok"], answer)
        return answer["result"]

    def sh(self, session, text, *options):
        return self.ok(session, "run_command", *options, command=text)

    def diff(self, session, *options):
        done = self.run("session", "diff", session, *options)
        check(done.returncode == 0, done.stderr)
        return done.stdout

    def changes(self, session):
        return {one["path"]: one for one in json.loads(self.diff(session, "--json"))}

    def folder(self, session):
        return self.home / "sandgate" / "sessions" / session

    def commit(self, session, *options):
        """What was taken over, as JSON."""
        done = self.run("session", "commit", session, "--json", *options)
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, session, *options):
        """What a commit that is refused says."""
        done = self.run("session", "commit", session, "--json", *options)
        check(done.returncode != 0, done.stdout)
        return done.stderr.decode(), json.loads(done.stdout) if done.stdout else {}


def tree(folder):
    """What is in a folder: type, mode, owner and content of each entry."""
    found = {}
    for path in sorted(folder.rglob("*")):
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (st.st_mode, st.st_uid, st.st_ino, st.st_mtime_ns, content)
    return found
