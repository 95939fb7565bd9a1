#!/usr/bin/env python3
"""Every file and folder of the state folder, damaged in every way: whatever it is, the program ends with an answer, no
secret is readable, and what a command left behind when it was cut off is told or nothing runs.
"""

import os
import pathlib
import shutil
import stat
import subprocess

import lib
import ran
from lib import check, wait_until
from ran import Place

SECRET = "kept-from-commands"
CONFIG = {"files": {"secret": [".env", "*.key", "!open/"]}, "policy": {"rateLimits": {"*": {"maxCalls": 100000, "windowMs": 60000}}}}
# One moves a secret to where no rule names it; the other is cut off.
MOVE = "mkdir open && mv x open/"
EVIL = "git init -q . && git config core.fsmonitor /bin/false; echo x > .envrc; touch up; exec sleep {mark}"
SECRETS = (".env", "sub/.env", "x/a.key")
MOVED = SECRETS[2]
LOOK = "cat .env sub/.env x/a.key open/x/a.key; true"
OTHER_UID = 54399
ASIDE = "-aside"


class Damaged(Place):
    """A workspace whose state tells of a secret that was moved and of a command that was cut off."""

    def __init__(self, form):
        super().__init__(form, "damaged", CONFIG)
        for path in SECRETS:
            self.put(path, f"{SECRET} {path}\n")
        self.put("plain", "plain\n")
        mark = ran.mark()
        with self.gate() as gate:
            gate.ok("write_file", path="written", content="x")
            ran.bash(gate, MOVE)
            gate.send("run_command", command=EVIL.format(mark=mark))
            wait_until((self.workspace / "up").exists, "the command is under way")
            gate.kill()
            gate.wait_exit()
        wait_until(lambda: not ran.marked(mark), "the command is gone")
        self.state = self.home / "sandgate"
        self.good_state = form.base / "good-state"
        self.good_workspace = form.base / "good-workspace"
        copy(self.state, self.good_state)
        # An inode of its own would make the index one of another folder.
        self.made = [self.workspace / ".git", self.workspace / ".envrc"]
        self.good_workspace.mkdir()
        for path in self.made:
            os.rename(path, self.good_workspace / path.name)

    def entries(self):
        """All that is in the state folder, and the folder."""
        return sorted(p.relative_to(self.good_state) for p in [self.good_state, *self.good_state.rglob("*")])

    def restore(self):
        for path in (self.state, self.state.with_name(self.state.name + ASIDE)):
            make_removable(path)
            shutil.rmtree(path, ignore_errors=True)
        copy(self.good_state, self.state)
        for path in self.made:
            subprocess.run(["rm", "-rf", path], check=True)
            copy(self.good_workspace / path.name, path)


def copy(a, b):
    subprocess.run(["cp", "-a", "--no-target-directory", a, b], check=True)


def make_removable(folder):
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)


# --- damages; each takes a path, and says by False that it does not apply


def rewrite(change):
    def damage(path):
        if not path.is_file() or path.is_symlink():
            return False
        before = path.read_bytes()
        after = change(before)
        with open(path, "r+b") as file:
            file.write(after)
            file.truncate(len(after))
        return after != before

    return damage


def replace(make):
    def damage(path):
        aside = path.with_name(path.name + ASIDE)
        os.rename(path, aside)
        make(path, aside)
        if not path.is_symlink():
            owner = aside.lstat()
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
        return True

    return damage


def close(path):
    path.chmod(0)


def give_away(path):
    if not lib.AM_ROOT:
        return False
    os.chown(path, OTHER_UID, OTHER_UID, follow_symlinks=False)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


DAMAGES = {
    "emptied": rewrite(lambda bytes: b""),
    "cut": rewrite(lambda bytes: bytes[: len(bytes) // 2]),
    "zeroed": rewrite(lambda bytes: bytes_of(0, bytes)),
    "ones": rewrite(lambda bytes: bytes_of(255, bytes)),
    "a bit": rewrite(lambda bytes: bytes[:-1] + bytes_of(bytes[-1] ^ 1, b"x") if bytes else bytes),
    "longer": rewrite(lambda bytes: bytes + b"more\n" * 100),
    "a folder": replace(lambda path, aside: path.mkdir(mode=0o700)),
    "a file": replace(lambda path, aside: path.write_bytes(b"")),
    "a fifo": replace(lambda path, aside: os.mkfifo(path, 0o600)),
    "a link to it": replace(lambda path, aside: path.symlink_to(aside.name)),
    "a link to nothing": replace(lambda path, aside: path.symlink_to("nothing")),
    "a link to a device": replace(lambda path, aside: path.symlink_to("/dev/zero")),
    "closed": close,
    "another's": give_away,
    "gone": remove,
}


def bytes_of(value, like):
    return bytes([value]) * len(like)


# --- what is expected


def is_lost(place, path, damage):
    """A file that is gone, or a folder that is empty, is like one that never was: what it told nobody can know."""
    return damage == "gone" or (damage == "a folder" and (place.good_state / path).is_dir())


def check_ended(place, entry, damage, done):
    """What it said."""
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    what = f"{entry} {damage}: status {done.returncode}: {said[:600]} ... {said[600:][-600:]}"
    check(0 <= done.returncode < 128, f"it crashed: {what}")
    lost = is_lost(place, entry, damage)
    shown = [name for name in SECRETS if f"{SECRET} {name}" in said]
    check(shown == [] or (lost and shown == [MOVED]), f"a secret was read: {what}")
    check("Sanitizer" not in said and "broke the protocol" not in said, what)
    check(done.returncode == 0 or len(said) > 20, f"no message to act on: {what}")
    return said


def check_tool(place, entry, damage):
    """A tool does not read the secret that was moved."""
    done = place.form.run(place.home, "call", *place.options, "--workspace", place.workspace, "read_file",
                          '{"path": "open/x/a.key"}')
    check_ended(place, entry, damage, done)


def check_command(place, entry, damage):
    """Nor does a command, and what the last one left is told, or none starts."""
    done = place.run("--", "sh", "-c", LOOK)
    said = check_ended(place, entry, damage, done)
    told = done.returncode != 0 or "cut off" in said or is_lost(place, entry, damage)
    check(told, f"a command ran, and what the last one left was not told: {entry} {damage}: {said[:600]}")


def is_special(path):
    return stat.S_ISSOCK(path.lstat().st_mode)


def every_damage(form):
    """every entry of the state folder with every damage"""
    place = Damaged(form)
    place.restore()
    done = place.run("--", "sh", "-c", LOOK)
    check(done.returncode == 0 and b"cut off" in done.stderr, f"undamaged: {done}")
    check(SECRET.encode() not in done.stdout, f"undamaged: {done}")
    place.restore()
    check_tool(place, pathlib.PurePath("."), "undamaged")
    failures = []
    count = 0
    for entry in place.entries():
        for name, damage in DAMAGES.items():
            place.restore()
            path = place.state / entry
            if is_special(path) or damage(path) is False:
                continue
            count += 1
            try:
                if entry.parts[:1] == ("workspaces",):
                    check_tool(place, entry, name)
                check_command(place, entry, name)
            except subprocess.TimeoutExpired:
                failures.append(f"{entry} {name}: no answer")
            except AssertionError as error:
                failures.append(str(error))
    place.restore()
    check(count > 100, f"only {count} damages were tried")
    check(not failures, f"{len(failures)} of {count}:\n" + "\n".join(failures))


if __name__ == "__main__":
    ran.main(every_damage)
