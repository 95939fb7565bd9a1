#!/usr/bin/env python3
"""Who the cell is: never root, and files get the owners and modes that people expect.

A root gate's cell runs as the workspace's owner, or, where that is root, as a user of its own through a mapping that
leaves root's name on the files.
"""

import contextlib
import os
import shutil
import stat

import lib
from lib import Gate, check

OWNER = 1000
OTHER = 1001
SPARE = 65527  # the default of cell.uid


class Place:
    """A workspace with an owner, and a gate for it."""

    def __init__(self, form, name, owner):
        self.owner = owner
        self.folder = form.folder(name)
        if lib.AM_ROOT:
            os.chown(self.folder, owner, owner)
        self.gate = Gate(form, workspace=self.folder)

    def path(self, name):
        return self.folder / name

    def put(self, name, text, mode, uid=None, gid=None):
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        if lib.AM_ROOT:
            os.chown(path, self.owner if uid is None else uid, self.owner if gid is None else gid)
        path.chmod(mode)
        return path

    def owners(self, name):
        st = os.stat(self.path(name), follow_symlinks=False)
        return st.st_uid, st.st_gid

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)


def check_cell_uid(gate, uid):
    for pid in gate.cell():
        status = lib.status(pid)
        for field in ("Uid", "Gid"):
            check(set(status[field].split()) == {str(uid)}, f"{field} of {pid}: {status[field]}, expected {uid}")


def ownership(case, place, cell_uid):
    gate = place.gate
    with case(f"the cell runs as {cell_uid}"):
        gate.ok("list_files")
        check_cell_uid(gate, cell_uid)
    with case("a new file and new folders belong to the workspace's owner"):
        gate.ok("write_file", path="new", content="x")
        gate.ok("write_file", path="made/on/the-way", content="x")
        for name in ("new", "made", "made/on", "made/on/the-way"):
            check(place.owners(name) == (place.owner, place.owner), f"{name} belongs to {place.owners(name)}")
        modes = place.mode("new"), place.mode("made")
        check(modes == (0o644, 0o755), f"modes {modes[0]:o} and {modes[1]:o}")
    with case("a file that is replaced or added to keeps owner and mode"):
        for mode in (0o600, 0o640, 0o755, 0o777):
            place.put("kept", "old", mode)
            gate.ok("write_file", path="kept", content="new")
            gate.ok("write_file", path="kept", content="er", append=True)
            check(place.path("kept").read_text(encoding="ascii") == "newer", "not written")
            check(place.mode("kept") == mode, f"{mode:o} became {place.mode('kept'):o}")
            check(place.owners("kept") == (place.owner, place.owner), f"{place.owners('kept')}")


def special_bits(case, place):
    for mode in (0o4755, 0o2755, 0o6777, 0o1644):
        with case(f"a file of mode {mode:o} that is replaced loses its special bits"):
            place.put("special", "old", mode)
            check(place.mode("special") == mode, f"the test could not set it: {place.mode('special'):o}")
            place.gate.ok("write_file", path="special", content="new")
            check(place.mode("special") == mode & 0o777, f"it has mode {place.mode('special'):o}")
    with case("a folder's group bit gives no file one"):
        folder = place.path("grouped")
        folder.mkdir()
        if lib.AM_ROOT:
            os.chown(folder, place.owner, place.owner)
        folder.chmod(0o2777)
        place.gate.ok("write_file", path="grouped/file", content="x")
        check(place.mode("grouped/file") == 0o644, f"it has mode {place.mode('grouped/file'):o}")


def closed_files(case, place, owners):
    """Files of others: whatever the machine's root may do, the cell may not."""
    own = place.owner, place.owner
    for mode, (uid, gid) in ((0o600, owners), (0o640, owners), (0, own)):
        with case(f"a file of {uid}:{gid}, mode {mode:04o}, can be neither read nor replaced"):
            place.put("closed", "root:$6$hash:19000:0:99999:7:::\n", mode, uid, gid)
            error = place.gate.refused("PERMISSION_DENIED", "read_file", path="closed")
            check("$6$" not in str(error), "the content is in the error")
            place.gate.refused("PERMISSION_DENIED", "write_file", path="closed", content="x")
            place.gate.refused("PERMISSION_DENIED", "write_file", path="closed", content="x", append=True)
            check(place.path("closed").stat().st_size == 32, "it was changed")
            check(place.owners("closed") == (uid, gid) and place.mode("closed") == mode, "owner or mode changed")
            place.path("closed").unlink()
    with case("a folder of another, closed, can be neither listed nor written in"):
        folder = place.path("closed-folder")
        folder.mkdir()
        (folder / "inner").write_text("secret", encoding="ascii")
        os.chown(folder, *owners)
        folder.chmod(0o700)
        for name, more in (("list_files", ""), ("read_file", "/inner"), ("stat", "/inner")):
            place.gate.refused("PERMISSION_DENIED", name, path=f"closed-folder{more}")
        place.gate.refused("PERMISSION_DENIED", "write_file", path="closed-folder/new", content="x")
        shutil.rmtree(folder)


@contextlib.contextmanager
def placed(tap, form, name, owner):
    place = Place(form, name, owner)

    def case(text):
        return tap.case(f"{form.name} gate, workspace of {owner}: {text}")

    try:
        yield case, place
    finally:
        place.gate.end()


def as_root(tap, form):
    with placed(tap, form, "of-root", 0) as (case, place):
        ownership(case, place, SPARE)
        special_bits(case, place)
        closed_files(case, place, (OWNER, OWNER))
    with placed(tap, form, "of-owner", OWNER) as (case, place):
        ownership(case, place, OWNER)
        special_bits(case, place)
        closed_files(case, place, (0, 0))
        closed_files(case, place, (OTHER, OTHER))
        with case("the machine's root group gives no right"):
            place.put("of-group", "secret", 0o640, OTHER, 0)
            place.gate.refused("PERMISSION_DENIED", "read_file", path="of-group")
    with tap.case("root gate, workspace of 1000:0: the cell is not in root's group, and new files still are"):
        folder = form.folder("of-roots-group")
        os.chown(folder, OWNER, 0)
        with Gate(form, workspace=folder) as gate:
            gate.ok("write_file", path="new", content="x")
            for pid in gate.cell():
                check("0" not in lib.status(pid)["Gid"].split(), "it is")
            check((os.stat(folder / "new").st_uid, os.stat(folder / "new").st_gid) == (OWNER, 0), "other owners")
    with tap.case("root gate: cell.uid of the configuration is who a cell becomes for root's folders"):
        folder = form.folder("configured")
        config = form.write(form.base / "config.json", '{"cell":{"uid":60123}}')
        with Gate(form, "--config", config, workspace=folder) as gate:
            gate.ok("write_file", path="new", content="x")
            check_cell_uid(gate, 60123)
            check(os.stat(folder / "new").st_uid == 0, "the file is not root's")
    with tap.case("root gate: three mounts of three owners keep their owners"):
        three_mounts(form)


def three_mounts(form):
    owners = {"project": OWNER, "pkg": OTHER, "state": 0}
    folders = {name: form.folder(f"mounts/{name}") for name in owners}
    for name, owner in owners.items():
        os.chown(folders[name], owner, owner)
    form.write(folders["pkg"] / "file", "of the package")
    options = [word for name, folder in folders.items() for word in (f"--{name}", folder)]
    with Gate(form, "--dialect", "toolhost", *options) as gate:
        gate.ok("fs.write", path="@project/made", content="x")
        gate.ok("fs.write", path="@state/made", content="x")
        check(gate.ok("fs.read", path="@pkg/file")["content"] == "of the package", "not read")
        check_cell_uid(gate, OWNER)
        for name in ("project", "state"):
            st = os.stat(folders[name] / "made")
            check(st.st_uid == owners[name], f"@{name}/made belongs to {st.st_uid}")
        st = os.stat(folders["state"] / "logs/execution.jsonl")
        check(st.st_uid == 0, f"the run's log belongs to {st.st_uid}")


def as_user(tap, form):
    with placed(tap, form, "own", form.uid) as (case, place):
        ownership(case, place, form.uid)
        special_bits(case, place)
        if lib.AM_ROOT:
            closed_files(case, place, (0, 0))
            closed_files(case, place, (OWNER, OWNER))
    if lib.AM_ROOT:
        with placed(tap, form, "of-someone-else", OWNER) as (case, place):
            with case("it is read, but not written"):
                place.put("readable", "text", 0o644)
                check(place.gate.ok("read_file", path="readable")["content"] == "text", "not read")
                place.gate.refused("PERMISSION_DENIED", "write_file", path="readable", content="x")
                place.gate.refused("PERMISSION_DENIED", "write_file", path="new", content="x")
                check_cell_uid(place.gate, form.uid)


def main():
    tap = lib.Tap()
    for form in lib.forms():
        (as_root if form.is_root else as_user)(tap, form)
    tap.done()


if __name__ == "__main__":
    main()
