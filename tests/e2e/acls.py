#!/usr/bin/env python3
"""A file with an access control list that is replaced: the list is lost, and nobody may do more than before. The mask of the
list, which stood in the place of the group's bits, does not become the group's.
"""

import errno
import os
import stat
import struct

import lib
import ran
from lib import check
from ran import Place

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
SOMEBODY = 54399


def acl(*entries):
    """Pairs of a tag and permissions, or triples with an id."""
    packed = b"".join(struct.pack("<HHI", e[0], e[1], e[2] if len(e) > 2 else 0xFFFFFFFF) for e in entries)
    return struct.pack("<I", 2) + packed


# The list, the mode it gives, and the mode of a file that takes its place without it.
LISTS = [
    (acl((USER_OBJ, 6), (USER, 7, SOMEBODY), (GROUP_OBJ, 0), (MASK, 7), (OTHER, 0)), 0o670, 0o600),
    (acl((USER_OBJ, 6), (USER, 6, SOMEBODY), (GROUP_OBJ, 4), (MASK, 6), (OTHER, 4)), 0o664, 0o644),
    (acl((USER_OBJ, 6), (USER, 0, SOMEBODY), (GROUP_OBJ, 4), (MASK, 4), (OTHER, 4)), 0o644, 0o600),
    (acl((USER_OBJ, 7), (GROUP_OBJ, 5), (GROUP, 0, SOMEBODY), (MASK, 5), (OTHER, 5)), 0o755, 0o750),
    (acl((USER_OBJ, 6), (GROUP_OBJ, 7), (GROUP, 7, SOMEBODY), (MASK, 4), (OTHER, 4)), 0o644, 0o644),
    (acl((USER_OBJ, 6), (GROUP_OBJ, 4), (MASK, 4), (OTHER, 4)), 0o644, 0o644),
]

CHANGES = [
    ("write_file", {"content": "---\na: 2\n---\n"}),
    ("write_file", {"content": "more\n", "append": True}),
    ("edit_file", {"edits": [{"old_text": "a: 1", "new_text": "a: 2"}]}),
    ("update_frontmatter", {"update": {"a": {"set": 2}}}),
]


class Listed(Place):
    def put_with(self, path, value=None, mode=None):
        full = self.put(path, "---\na: 1\n---\n")
        if value:
            os.setxattr(full, ACCESS, value)
        if mode is not None:
            full.chmod(mode)
        return full


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def attribute(path, name=ACCESS):
    try:
        return os.getxattr(path, name)
    except OSError as error:
        check(error.errno == errno.ENODATA, error)
        return None


def has_lists(place):
    """Not every file system has them."""
    try:
        os.setxattr(place.put("probe"), ACCESS, LISTS[0][0])
        return True
    except OSError as error:
        check(error.errno == errno.EOPNOTSUPP, error)
        lib.note("no access control lists here: nothing is tried")
        return False


def never_wider(form):
    """no change of a file gives its group or others a right that they did not have"""
    place = Listed(form, "never")
    if not has_lists(place):
        return
    with place.gate() as gate:
        for number, (value, mode, without) in enumerate(LISTS):
            for turn, (tool, arguments) in enumerate(CHANGES):
                path = place.put_with(f"{number}-{turn}.md", value)
                check(mode_of(path) == mode, f"{mode_of(path):o}")
                gate.ok(tool, path=path.name, **arguments)
                check(attribute(path) is None, f"{tool}: the list is there")
                check(mode_of(path) == without, f"list {number}, {tool}: {mode:o} became {mode_of(path):o}, not {without:o}")


def without_lists(form):
    """without a list the mode stays as it is"""
    place = Listed(form, "without")
    with place.gate() as gate:
        for mode in (0o600, 0o640, 0o644, 0o664, 0o755, 0o666, 0o604):
            for turn, (tool, arguments) in enumerate(CHANGES):
                path = place.put_with(f"{mode:o}-{turn}.md", mode=mode)
                gate.ok(tool, path=path.name, **arguments)
                check(mode_of(path) == mode, f"{tool}: {mode:o} became {mode_of(path):o}")


def lists_of_folders(form):
    """a list that the new file has from its folder gives nobody more than the old file did, and stays where the old one had it"""
    place = Listed(form, "folders")
    if not has_lists(place):
        return
    given = acl((USER_OBJ, 7), (USER, 6, SOMEBODY), (GROUP_OBJ, 4), (MASK, 6), (OTHER, 0))
    old = place.put_with("d/old.md", mode=0o664)
    os.setxattr(place.workspace / "d", DEFAULT, given)
    same = place.put_with("d/same.md")
    same.chmod(0o660)
    before = attribute(same)
    check(before is not None, "the folder's list is not that of a new file")
    with place.gate() as gate:
        gate.ok("write_file", path="d/old.md", content="x")
        gate.ok("write_file", path="d/same.md", content="x")
    # The mask is in the place of the group's bits: with none in it, nobody has anything by the list.
    check(mode_of(old) == 0o604, f"{mode_of(old):o}")
    check(attribute(same) == before and mode_of(same) == 0o660, f"{mode_of(same):o} {attribute(same)}")


def restored(form):
    """nor does a file that comes back from quarantine"""
    place = Listed(form, "restored")
    if not has_lists(place):
        return
    os.setxattr(place.workspace, DEFAULT, acl((USER_OBJ, 7), (USER, 7, SOMEBODY), (GROUP_OBJ, 0), (MASK, 7), (OTHER, 0)))
    with place.gate() as gate:
        gate.ok("run_command", command="echo x > .envrc; chmod 670 .envrc")
    (kept,) = place.home.rglob("quarantine/*/.envrc")
    check(mode_of(kept) & 0o077 == 0, f"{mode_of(kept):o}")


if __name__ == "__main__":
    ran.main(never_wider, without_lists, lists_of_folders, restored)
