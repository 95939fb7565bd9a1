#!/usr/bin/env python3
"""`sandgate quarantine`: what was taken out of a workspace is listed, put back as it was, or removed. Nothing is overwritten,
no id leads elsewhere, and each entry is restored once.
"""

import json
import os
import stat
import subprocess
import time

import lib
import ran
from lib import check
from cut_off import Cut
from made import whats

MAKE = (
    "mkdir -p .vscode/deep; echo tasks > .vscode/tasks.json; chmod 640 .vscode/tasks.json; touch -d '2001-02-03 04:05:06' .vscode/tasks.json; "
    "ln -s ../target .vscode/deep/link; touch -hd '2002-03-04 05:06:07' .vscode/deep/link; echo run > .envrc; chmod 755 .envrc; chmod 750 .vscode/deep; ln -s elsewhere .cargo; touch -hd '2003-04-05 06:07:08' .cargo; "
    "git init -q lib; git -C lib config core.fsmonitor x"
)
PATHS = {".vscode", ".envrc", ".cargo", "lib/.git"}


class Kept(Cut):
    def __init__(self, form, name):
        super().__init__(form, name)
        with self.gate() as gate:
            value = gate.call("run_command", command=MAKE)["result"]
            check({f"quarantined:{path}" for path in PATHS} <= set(whats(value)), whats(value))
            self.said = gate.said()

    def quarantine(self, *words, status=0):
        done = self.form.run(self.home, "quarantine", *words)
        check(done.returncode == status, f"{words}: {done}")
        return done.stdout.decode() if status == 0 else done.stderr.decode()

    def entries(self):
        return {entry.get("path"): entry for entry in json.loads(self.quarantine("list", "--json"))}

    def ids(self):
        return {path: entry["id"] for path, entry in self.entries().items()}


def replaced(form):
    """nothing is restored into another folder, or to where a link leads, that stands in the place of the workspace"""
    for link in (True, False):
        place = Kept(form, f"replaced-{link}")
        kept = place.workspace.with_name(place.workspace.name + "-kept")
        other = place.workspace.with_name(place.workspace.name + "-other")
        with form.acting():
            place.workspace.rename(kept)
            other.mkdir()
            if link:
                place.workspace.symlink_to(other)
            else:
                other.rename(place.workspace)
        (note,) = place.store().glob(f"*.quarantine/{place.ids()['.envrc']}")
        kept_note = note.read_text()
        taken = json.loads(kept_note) | {"inode": str(place.workspace.stat().st_ino)}
        # A number is given again when its folder is gone.
        for text in (kept_note, json.dumps(taken)):
            note.write_text(text)
            error = place.quarantine("restore", place.ids()[".envrc"], status=1)
            check("another folder" in error and not os.path.lexists(place.workspace / ".envrc"), error)
        note.write_text(kept_note)
        with form.acting():
            if link:
                place.workspace.unlink()
            else:
                place.workspace.rmdir()
            kept.rename(place.workspace)
        place.quarantine("restore", place.ids()[".envrc"])
        check((place.workspace / ".envrc").exists(), "it is restored when its folder is back")


def told(form):
    """the warning names the id with which it is restored, and the list has the same"""
    place = Kept(form, "told")
    entries = place.entries()
    check(set(entries) == PATHS, entries)
    for path, entry in entries.items():
        check(f"sandgate quarantine restore {entry['id']}" in place.said, place.said)
        check(entry["workspace"] == str(place.workspace) and entry["time"].endswith("Z"), entry)
        check(os.path.lexists(os.path.join(entry["content"], os.path.basename(path))), entry)
        check(f"{entry['id']}  {entry['time']}  {place.workspace}/{path}\n" in place.quarantine("list"), entry)


def restored(form):
    """what is restored has its content, modes, times and links again, belongs to the user, and is no longer in quarantine"""
    place = Kept(form, "restored")
    owner = place.workspace.stat().st_uid
    for path, name in place.ids().items():
        said = place.quarantine("restore", name)
        check(said.startswith("restored: ") and said.rstrip().endswith(f"{place.workspace}/{path}"), said)
        check(os.lstat(place.workspace / path).st_uid == owner, f"{path} belongs to somebody else")
        check("no entry" in place.quarantine("restore", name, status=1), "restored twice")
    tasks = (place.workspace / ".vscode/tasks.json").stat()
    check(stat.S_IMODE(tasks.st_mode) == 0o640 and tasks.st_mtime < 1e9, tasks)
    check((place.workspace / ".vscode/tasks.json").read_text() == "tasks\n", "its content")
    check(stat.S_IMODE((place.workspace / ".vscode/deep").stat().st_mode) == 0o750, "the folder's mode")
    check(stat.S_IMODE((place.workspace / ".envrc").stat().st_mode) == 0o755, "the program's mode")
    check(os.readlink(place.workspace / ".vscode/deep/link") == "../target", "the link in a folder")
    check(os.readlink(place.workspace / ".cargo") == "elsewhere", "the link")
    for link, year in ((".vscode/deep/link", 2002), (".cargo", 2003)):
        check(time.gmtime((place.workspace / link).lstat().st_mtime).tm_year == year, f"the time of the link {link}")
    check("fsmonitor" in (place.workspace / "lib/.git/config").read_text(), "the repository")
    check(place.entries() == {} and place.kept() == [], f"{place.entries()} {place.kept()}")
    check(not [p for p in place.workspace.rglob("sandgate-*")], "something is left in the workspace")
    with place.gate() as gate:
        value = gate.call("run_command", command="true")["result"]
        check(whats(value) == [], f"what the user restored was taken for a command's: {whats(value)}")


def renamed(form):
    """what cannot be copied is renamed in its folder and leaves no entry; a read-only folder is moved and comes back as such"""
    make = "mkdir -p .vscode/deep; echo x > .vscode/deep/f; echo y > .vscode/g; "
    for number, (how, mode) in enumerate((
        ("chmod 555 .vscode/deep", 0o555),
        ("chmod 000 .vscode/deep", 0o700),  # opened while it was looked for
        ("chmod 000 .vscode/g", None),
        ("mv old .vscode/z", None),
        ("truncate -s 300M .vscode/g; chmod 555 .vscode/deep", None),
    )):
        moved = mode is not None
        place = Kept(form, f"renamed{number}")
        for entry in place.ids().values():
            place.quarantine("remove", entry)
        place.put("old", "x\n")
        lib.grow_older()
        with place.gate() as gate:
            told = whats(gate.call("run_command", command=make + how)["result"])
            check("quarantined:.vscode" in told, f"{how}: {told}")
            check(moved or "renamed to" in gate.said(), f"{how}: {gate.said()}")
        kept = {p.name for p in place.store().glob("*/quarantine/*")}
        check(set(place.ids()) == ({".vscode"} if moved else set()), f"{how}: {place.entries()}")
        check(len(kept) == moved, f"{how}: in the store: {kept}")
        aside = list(place.workspace.glob("sandgate-quarantine-*"))
        check(len(aside) == (not moved), f"{how}: {aside}")
        if moved:
            place.quarantine("restore", place.ids()[".vscode"])
            back = stat.S_IMODE((place.workspace / ".vscode/deep").stat().st_mode)
            check(back == mode and (place.workspace / ".vscode/deep/f").read_text() == "x\n", f"{back:o}")


def closed(form):
    """a folder that was closed to its owner comes back as it was opened to be looked into"""
    for mode in (0o000, 0o111, 0o300):
        place = Cut(form, f"closed{mode:o}")
        with place.gate() as gate:
            told = whats(gate.call("run_command", command=f"mkdir .vscode; echo x > .vscode/f; chmod {mode:o} .vscode")["result"])
            check({"opened:.vscode", "quarantined:.vscode"} <= set(told), told)
        (entry,) = json.loads(form.run(place.home, "quarantine", "list", "--json").stdout)
        done = form.run(place.home, "quarantine", "restore", entry["id"])
        back = stat.S_IMODE((place.workspace / ".vscode").stat().st_mode)
        check(done.returncode == 0 and back == mode | 0o700, f"{mode:o}: {back:o} {done}")


def bare_head(form):
    """of a folder that looks like a repository its HEAD is restored"""
    for number, folder in enumerate(("sub/", "")):
        place = Cut(form, f"bare{number}")
        with place.gate() as gate:
            gate.call("run_command", command=f"mkdir -p sub; cd ./{folder}; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; printf '[core]\\nfsmonitor = x\\n' > config")
        (entry,) = json.loads(form.run(place.home, "quarantine", "list", "--json").stdout)
        check(entry["path"] == f"{folder}HEAD", entry)
        check(form.run(place.home, "quarantine", "restore", entry["id"]).returncode == 0, "not restored")
        check((place.workspace / entry["path"]).read_text() == "ref: refs/heads/x\n", "its content")


def refused(form):
    """nothing is overwritten, and nothing is written through links or into folders that are gone"""
    place = Kept(form, "refused")
    ids = place.ids()
    place.put(".envrc", "mine\n")
    check("exists" in place.quarantine("restore", ids[".envrc"], status=1), "it was restored")
    check((place.workspace / ".envrc").read_text() == "mine\n", "the user's own was overwritten")
    form.link(place.workspace / ".cargo", "/nowhere")
    check("exists" in place.quarantine("restore", ids[".cargo"], status=1), "it was restored")
    subprocess.run(["rm", "-rf", place.workspace / "lib"], check=True)
    place.quarantine("restore", ids["lib/.git"], status=1)
    outside = form.folder("refused-outside")
    form.link(place.workspace / "lib", outside)
    place.quarantine("restore", ids["lib/.git"], status=1)
    check(not list(outside.iterdir()), "written through a link")
    check(set(place.ids()) == PATHS, "an entry is gone")
    check(not list(place.workspace.glob("sandgate-*")), "something is left in the workspace")


def bad_ids(form):
    """ids that are none are refused and lead nowhere"""
    place = Kept(form, "bad")
    name = place.ids()[".envrc"]
    for bad in ("", ".", "..", "/", "../x", f"../{name}", f"{name}/", f"./{name}", f"{name}x", name[:-1], name.upper(), "x" * 5000, "a\nb", "*",
                "aaaaaaaaaaaa"):
        for verb in ("restore", "remove"):
            check("no entry" in place.quarantine(verb, bad, status=1), f"{verb} {bad!r}")
    for words in ((), ("restore",), ("remove",), ("list", name), ("restore", name, name), ("other",), ("restore", name, "--all")):
        place.quarantine(*words, status=2)
    check(set(place.ids()) == PATHS, "an entry is gone")


def removed(form):
    """an entry that is removed is gone, whatever the modes in it are"""
    place = Kept(form, "removed")
    for path, name in place.ids().items():
        for folder in place.store().rglob(f"quarantine/{name}/*"):
            if folder.is_dir() and not folder.is_symlink():
                folder.chmod(0)
        check(place.quarantine("remove", name).startswith("removed: "), path)
    check(place.entries() == {} and place.kept() == [], f"{place.entries()} {place.kept()}")


def vanished(form):
    """content or a note that somebody removed or damaged is an error, not a crash"""
    place = Kept(form, "vanished")
    ids = place.ids()
    gone = next(place.store().rglob(f"quarantine/{ids['.envrc']}"))
    subprocess.run(["rm", "-rf", gone], check=True)
    check("nothing is kept" in place.quarantine("restore", ids[".envrc"], status=1), "it was restored")
    place.quarantine("remove", ids[".envrc"])
    note = next(place.store().glob(f"*.quarantine/{ids['.cargo']}"))
    for text in ("", "x", "{}", '{"folder":1,"path":2,"time":3}', '{"folder":"/","path":"/etc/x","time":"x"}', '{"folder":"x","path":"y","time":"z"}', "[" * 100000):
        note.write_text(text)
        check("not known where" in place.quarantine("restore", ids[".cargo"], status=1), text[:60])
    note.write_text(json.dumps({"folder": str(place.workspace), "path": "../.cargo", "time": "x"}))
    place.quarantine("restore", ids[".cargo"], status=1)
    check(not (place.workspace.parent / ".cargo").exists(), "written outside of the workspace")
    note.unlink()
    os.mkfifo(note)
    check("not known where" in place.quarantine("restore", ids[".cargo"], status=1), "a FIFO")
    note.unlink()
    check("not known where" in place.quarantine("restore", ids[".cargo"], status=1), "no note")
    check(set(place.ids()) == {".vscode", "lib/.git", None}, place.ids())
    check(f"{ids['.cargo']}  -  {place.entries()[None]['content']}  (not known where it was)\n" in place.quarantine("list"), "the list")
    place.quarantine("remove", ids[".cargo"])
    check(set(place.ids()) == {".vscode", "lib/.git"}, place.ids())


def together(form):
    """of several that restore the same entry at once one does"""
    place = Kept(form, "together")
    for name in place.ids().values():
        environment = lib.environment(place.home)
        processes = [subprocess.Popen([str(form.binary), "quarantine", "restore", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=environment, **form.identity()) for _ in range(6)]
        said = [process.communicate(timeout=lib.SECONDS) for process in processes]
        check(sorted(process.returncode for process in processes) == [0, 1, 1, 1, 1, 1], said)
    check((place.workspace / ".vscode/tasks.json").read_text() == "tasks\n", "its content")
    check(not list(place.workspace.glob("sandgate-*")), "something is left in the workspace")


def others(form):
    """the state of another user is not touched"""
    place = Kept(form, "others")
    name = place.ids()[".envrc"]
    (place.home / "sandgate").chmod(0o755)
    for verb in ("list",), ("restore", name), ("remove", name):
        place.quarantine(*verb, status=2)
    (place.home / "sandgate").chmod(0o700)
    check(set(place.ids()) == PATHS, "an entry is gone")


if __name__ == "__main__":
    ran.main(replaced, told, restored, renamed, closed, bare_head, refused, bad_ids, removed, vanished, together, others)
