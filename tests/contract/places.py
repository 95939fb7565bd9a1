"""The folders a case works in: made from its `files`, compared with its `after`."""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import socket
import stat
import tempfile

from values import as_bytes, mismatches, rule_of, shown

# In a case file a path that begins with none of these is relative to the workspace.
FOLDERS = {
    "@project": "workspace",
    "@pkg": "pkg",
    "@state": "state",
    "@outside": "outside",
    "@evil": "workspace-evil",
    "@tmp": None,  # in /tmp itself, wherever the others are
}
LOG = "state/logs"
HASHED = 1 << 24  # larger files are sparse ones: size and time tell a change


class Places:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.tmp = None
        self.printed = []  # by each command line of the case
        for name in [*filter(None, FOLDERS.values()), "home"]:
            (self.root / name).mkdir()
        (self.root / "xdg").mkdir(mode=0o700)

    def done(self):
        if self.tmp:
            shutil.rmtree(self.tmp)

    def folder(self, name):
        if name != "@tmp":
            return str(self.root / FOLDERS[name])
        if not self.tmp:
            self.tmp = tempfile.mkdtemp(prefix="sandgate-contract-", dir="/tmp")
            os.chmod(self.tmp, 0o755)
        return self.tmp

    def folders(self):
        return [self.folder(name) for name in FOLDERS if name != "@tmp" or self.tmp]

    def names(self):
        return {
            "WORKSPACE": self.folder("@project"),
            "PKG": self.folder("@pkg"),
            "STATE": self.folder("@state"),
            "OUTSIDE": self.folder("@outside"),
            "CASE": str(self.root),
            "TMP": lambda: self.folder("@tmp"),
            "NAME255": "n" * 255,
            "DEEP200": "/".join(["d"] * 200),
            "DEEP300": "/".join(["d"] * 300),
        }

    def path(self, name):
        first, _, rest = name.partition("/")
        folder = pathlib.Path(self.folder(first if first in FOLDERS else "@project"))
        return folder / (rest if first in FOLDERS else name)


# --- making files


def make_socket(path):
    # A socket's address is at most 108 bytes long: go there by a descriptor.
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def content_of(spec):
    if isinstance(spec, (str, bytes)):
        return as_bytes(spec)
    if "base64" in spec:
        return base64.b64decode(spec["base64"])
    if "json" in spec:
        return json.dumps(spec["json"]).encode()
    return as_bytes(spec.get("text", ""))


def make(path, spec):
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = spec if isinstance(spec, dict) else {}
    if "symlink" in kind:
        path.symlink_to(kind["symlink"])
        return
    if "fifo" in kind:
        os.mkfifo(path)
    elif "socket" in kind:
        make_socket(path)
    elif "directory" in kind:
        path.mkdir(exist_ok=True)
    elif "size" in kind:
        with open(path, "wb") as file:
            file.truncate(kind["size"])
    elif "files" in kind:  # many at once: a pattern with {n} and a count
        path.mkdir(exist_ok=True)
        for n in range(kind["count"]):
            (path / kind["files"].replace("{n}", f"{n:04}")).write_bytes(content_of(kind))
    else:
        path.write_bytes(content_of(spec))
    if "mtime" in kind:
        os.utime(path, (kind["mtime"], kind["mtime"]))
    if "mode" in kind:
        path.chmod(int(kind["mode"], 8))


def make_all(places, files):
    for name, spec in files.items():
        make(places.path(name), spec)


# --- looking at them afterwards


def seen(path):
    st = os.lstat(path)
    if stat.S_ISLNK(st.st_mode):
        return ("symlink", os.readlink(path))
    content = ""
    if stat.S_ISREG(st.st_mode) and st.st_size > HASHED:
        content = f"{st.st_size} bytes of {st.st_mtime_ns}"
    elif stat.S_ISREG(st.st_mode) and st.st_mode & 0o400:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return (stat.filemode(st.st_mode), content)


def snapshot(places):
    """Everything in the places but the run's own log."""
    found = {}
    log = places.root / LOG
    for start in places.folders():
        for folder, below, files in os.walk(start):
            for entry in below + files:
                path = pathlib.Path(folder, entry)
                if path != log and log not in path.parents:
                    found[str(path)] = seen(path)
    return found


def check_one(path, expected):
    if isinstance(expected, dict) and not rule_of(expected):
        if "symlink" in expected:
            target = os.readlink(path) if path.is_symlink() else "no link"
            return mismatches(expected["symlink"], target)
        if "directory" in expected:
            return [] if path.is_dir() else ["is no folder"]
        problems = []
        if "mode" in expected:
            problems += mismatches(expected["mode"], f"{stat.S_IMODE(os.lstat(path).st_mode):04o}")
        wanted = {key: expected[key] for key in ("text", "base64") if key in expected}
        if wanted and path.read_bytes() != content_of(wanted):
            problems.append(f"holds {shown(path.read_bytes().decode('utf-8', 'replace'))}")
        return problems
    if rule_of(expected) == "$absent":
        return ["is there"] if os.path.lexists(path) else []
    actual = path.read_bytes()
    if isinstance(expected, (str, bytes)):
        return [] if actual == as_bytes(expected) else [f"holds {shown(actual.decode('utf-8', 'replace'))}"]
    return mismatches(expected, actual.decode())


def check_after(places, before, after):
    """`after` names every path that may have changed; folders made on the way to one are allowed."""
    problems = []
    allowed = set()
    for name, expected in after.items():
        path = places.path(name)
        if rule_of(expected) == "$absent" or os.path.lexists(path):
            problems += [f"afterwards {name} {problem}" for problem in check_one(path, expected)]
        else:
            problems.append(f"afterwards {name} is not there")
        allowed |= {str(path), *(str(parent) for parent in path.parents)}
    now = snapshot(places)
    for path in sorted({*before, *now}):
        if before.get(path) != now.get(path) and path not in allowed:
            problems.append(f"{path} changed: {before.get(path)} -> {now.get(path)}")
    return problems
