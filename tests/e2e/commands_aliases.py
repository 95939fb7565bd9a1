#!/usr/bin/env python3
"""A folder of the session has one name for commands: what is covered in it cannot be read under another one, through a
folder of commands.show, a place of the machine, a link or a mount."""

import contextlib
import os

import lib
import ran
from lib import check, short
from ran import Place, bash

SECRET = "the key"


@contextlib.contextmanager
def bound(source, target):
    lib.kernel(lib.libc.mount(os.fsencode(source), os.fsencode(target), None, lib.MS_BIND, None), f"mount at {target}")
    try:
        yield
    finally:
        lib.libc.umount2(os.fsencode(target), 2)


def project(form, around):
    """A workspace with a secret in it and one in a folder, beside another file."""
    workspace = around / "project"
    for folder in (workspace, workspace / "sub"):
        folder.mkdir()
        form.own(folder)
        form.write(folder / ".env", SECRET)
        form.write(folder / "open", "open\n")
    form.write(around / "beside", "beside\n")
    return workspace


def check_hidden(gate, *names):
    """Secrets are in none of these folders; what is open in the workspace is read."""
    lines = "; ".join(f"cat {name}/.env {name}/sub/.env {name}/../.env" for name in names)
    value = bash(gate, f"cat sub/open; {lines}; grep -rs '{SECRET}' {' '.join(map(str, names))}; true")
    check(SECRET not in value["stdout"], short(value))
    check(value["stdout"].startswith("open\n"), short(value))
    value = bash(gate, "cat .env sub/.env", code=1)
    check(SECRET not in value["stdout"], short(value))


def showing(form, name, workspace, *shown):
    return Place(form, name, {"commands": {"show": [str(path) for path in shown]}}, workspace=workspace)


def folder_around(form):
    """show: a folder that contains the workspace shows what is beside it, not the workspace"""
    around = form.folder("around")
    workspace = project(form, around)
    with showing(form, "around-show", workspace, around).gate() as gate:
        check_hidden(gate, workspace)
        check(ran.output(gate, f"cat {around}/beside") == "beside\n", "what is beside it")
        bash(gate, "echo new > new; cat open")
    with showing(form, "above-show", workspace, around.parent).gate() as gate:
        check_hidden(gate, workspace)
        check(ran.output(gate, f"cat {around}/beside") == "beside\n", "what is beside it")


def folder_itself(form):
    """show: the workspace, a folder in it, and links to either are not shown"""
    around = form.folder("itself")
    workspace = project(form, around)
    links = [form.link(form.base / f"link-{path.name}", path) for path in (workspace, workspace / "sub")]
    to_around = form.link(form.base / "link-around", around)
    for number, shown in enumerate((workspace, workspace / "sub", *links)):
        with showing(form, f"itself-{number}", workspace, shown).gate() as gate:
            check_hidden(gate, shown, workspace)
    with showing(form, "itself-link", workspace, to_around).gate() as gate:
        check_hidden(gate, to_around / "project", workspace)
        check(ran.output(gate, f"cat {to_around}/beside") == "beside\n", "what is beside it")


def given_by_link(form):
    """show: the workspace is found by what it is, when it is given by a link"""
    around = form.folder("real")
    workspace = project(form, around)
    link = form.link(form.base / "link-workspace", workspace)
    with showing(form, "by-link", link, around).gate() as gate:
        check_hidden(gate, workspace)


def mounts(form):
    """show: the workspace, a part of it or a folder around it, mounted elsewhere"""
    around = form.folder("mounted")
    workspace = project(form, around)
    for number, source in enumerate((workspace, workspace / "sub", around)):
        shown = form.folder(f"shown-{number}")
        point = form.folder(f"shown-{number}/point")
        with bound(source, point), showing(form, f"mount-{number}", workspace, shown).gate() as gate:
            check_hidden(gate, point, point / "project")
            if source == around:
                check(ran.output(gate, f"cat {point}/beside") == "beside\n", "what is beside it")


def mounted_in_it(form):
    """show: what is mounted in the workspace is seen nowhere else, as a folder and as a file"""
    around = form.folder("inner")
    workspace = project(form, around)
    inner = form.folder("inner/project/m")
    shown = form.folder("inner-shown")
    points = [form.folder("inner-shown/whole"), form.folder("inner-shown/part")]
    with lib.tmpfs(form, inner, "1m"):
        (inner / "sub").mkdir()
        for folder in (inner, inner / "sub"):
            form.own(folder)
            form.write(folder / ".env", SECRET)
        form.write(inner / "open", "open\n")
        with bound(inner, points[0]), bound(inner / "sub", points[1]):
            with showing(form, "inner-mount", workspace, shown).gate() as gate:
                check_hidden(gate, *points)
                check(ran.output(gate, "cat m/open") == "open\n", "it is seen in the workspace")
                bash(gate, "cat m/.env", code=1)


def single_files(form):
    """show: a file of the workspace that is mounted elsewhere is not seen there, and commands run"""
    workspace = project(form, form.folder("single"))
    shown = form.folder("single-shown")
    form.write(shown / "beside", "beside\n")
    for name in (".env", "open"):
        target = form.write(shown / "point", "")
        with bound(workspace / name, target), showing(form, f"single-{name}", workspace, shown).gate() as gate:
            value = bash(gate, f"cat {shown}/beside {target}; true")
            check(value["stdout"] == "beside\n", short(value))


def overlays(form):
    """show: an overlay of the workspace, of a folder around it or in it does not show it"""
    around = form.folder("layers")
    workspace = project(form, around)
    shown, other = form.folder("layers-shown"), form.folder("layers-other")
    point = form.folder("layers-shown/point")
    form.write(other / "beside", "beside\n")
    for number, (layer, seen) in enumerate(((workspace, "."), (workspace / "sub", "."), (around, "project"))):
        options = f"lowerdir={other}:{layer}"
        lib.kernel(lib.libc.mount(b"overlay", os.fsencode(point), b"overlay", 0, options.encode()), "an overlay")
        try:
            with showing(form, f"layers-{number}", workspace, shown).gate() as gate:
                check_hidden(gate, point / seen)
                if layer == around:
                    check(ran.output(gate, f"cat {point}/beside") == "beside\n", "what is beside it")
        finally:
            lib.libc.umount2(os.fsencode(point), 2)


def whole_machine(form):
    """show: `/` is not shown, which is said, and commands run"""
    place = showing(form, "whole", form.folder("whole-ws"), "/")
    done = place.run("--", "sh", "-c", "echo ran")
    check(done.stdout == b"ran\n" and b"commands.show: / " in done.stderr, done)


def in_a_place(form):
    """a workspace below a place of the machine, which commands see, is not seen there"""
    opt = form.folder("opt")
    workspace = project(form, opt)
    with bound(opt, "/opt"):
        with Place(form, "place", workspace="/opt/project").gate() as gate:
            check_hidden(gate, "/opt/project")
            check(ran.output(gate, "cat /opt/beside") == "beside\n", "the place itself")
        with Place(form, "place-other", workspace=workspace).gate() as gate:
            check_hidden(gate, "/opt/project", workspace)
        with Place(form, "place-whole", workspace="/opt").gate() as gate:
            value = bash(gate, "cat project/open; cat /opt/project/.env /opt/project/open; true")
            check(value["stdout"] == "open\n", short(value))


def state(form):
    """show: Sandgate's state is not seen, in whatever is shown"""
    for number, part in enumerate((".", "home", "home/sandgate")):
        around = form.folder(f"state-{number}")
        workspace = form.folder(f"state-{number}/ws")
        place = showing(form, f"state-show-{number}", workspace, around / part)
        place.home = form.folder(f"state-{number}/home", 0o700)
        with place.gate() as gate:
            bash(gate, "true")
            check((place.home / "sandgate/state.db").exists(), "the state")
            value = bash(gate, f"find {around} -name 'state.db*' -o -name '*.jsonl' -o -name sessions; true")
            check(value["stdout"] == "", short(value))


def refused_at_start(place, *said):
    done = place.form.run(place.home, "run", *place.options, "--workspace", place.workspace, "true", env={"XDG_CONFIG_HOME": str(place.home)})
    text = (done.stdout + done.stderr).decode()
    check(done.returncode != 0 and all(str(part) in text for part in said), f"{said}: {done.returncode} {text}")


def state_by_another_name(form):
    """a mount by which the state or the configuration is seen elsewhere is refused at the start, with the setting named"""
    home = form.folder("own-home", 0o700)
    inner = form.folder("own-home/sandgate", 0o700)
    form.write(inner / "config.json", "{}").chmod(0o600)
    part = form.folder("own-home/sandgate/part", 0o700)
    around = form.folder("own-shown")
    point = form.folder("own-shown/point")
    workspace = form.folder("own-ws")
    for number, source in enumerate((home, inner, part, form.base)):
        with bound(source, point):
            for shown in (around, point, point / "sandgate", form.link(form.base / f"own-link{number}", around)):
                if source != home and shown == point / "sandgate":
                    continue
                place = showing(form, f"own-{number}-{shown.name}", workspace, shown)
                place.home = home
                refused_at_start(place, "commands.show", point)
            place = Place(form, f"own-in-{number}", workspace=around)
            place.home = home
            refused_at_start(place, "workspace", point)
    with bound(home, "/opt"):
        place = Place(form, "own-opt", workspace=workspace)
        place.home = home
        refused_at_start(place, "/opt")
    place = showing(form, "own-none", workspace, around)
    place.home = home
    check(place.run("true").returncode == 0, "it is refused where nothing is mounted")


def configuration(form):
    """show: the folder of the configuration is not seen"""
    around = form.folder("conf")
    form.folder("conf/sandgate", 0o700)
    form.write(around / "sandgate/config.json", "{}").chmod(0o600)
    form.write(around / "beside", "beside\n")
    place = showing(form, "conf-show", form.folder("conf-ws"), around)
    done = place.run("--", "sh", "-c", f"cat {around}/beside {around}/sandgate/*; true", env={"XDG_CONFIG_HOME": str(around)})
    check(done.stdout == b"beside\n", done)


def own_path(form):
    """the `bash` tool: a folder at its own path, in a shown one, is there and guarded"""
    around = form.folder("own")
    workspace = project(form, around)
    config = {"commands": {"show": [str(around)]}, "tools": {"bash": {"allowedDirectories": [str(workspace)]}}}
    place = Place(form, "own-path", config, workspace=workspace)
    place.options += ["--dialect", "system"]
    with place.gate() as gate:
        for line, expected in {
            f"cat {workspace}/open": "open\n",
            f"cat {around}/beside": "beside\n",
            f"echo new > {workspace}/new; cat {workspace}/new": "new\n",
            f"cat {workspace}/.env {workspace}/sub/.env; true": "",
        }.items():
            value = gate.call("bash", command="bash", args=["-c", line])
            check(value.get("stdout") == expected, f"{line}: {short(value)}")


def files_only(form):
    """show: a folder that only file tools have is not shown to commands"""
    around = form.folder("files")
    data, workspace = project(form, around), form.folder("files/ws")
    config = {
        "commands": {"show": [str(around)]},
        "tools": {"bash": {"allowedDirectories": [str(workspace)]}, "filesystem": {"allowedDirectories": [str(data)]}},
    }
    place = Place(form, "files-only", config, workspace=workspace)
    place.options += ["--dialect", "system"]
    with place.gate() as gate:
        value = gate.call("filesystem", operation="read", path=f"{data}/open")
        check(value.get("success") is True, short(value))
        value = gate.call("bash", command="bash", args=["-c", f"cat {around}/beside {data}/.env {data}/open; true"])
        check(value.get("stdout") == "beside\n", short(value))


if __name__ == "__main__":
    lib.own_mounts()
    ran.main(folder_around, folder_itself, given_by_link, mounts, mounted_in_it, single_files, overlays, whole_machine, in_a_place, state, state_by_another_name, configuration, own_path, files_only)
