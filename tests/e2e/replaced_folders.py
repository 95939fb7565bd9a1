#!/usr/bin/env python3
"""A command replaces a folder of its workspace by a link to a folder of the host. Neither commands.show nor a session whose
workspace that folder was follows the link.
"""

import json
import shlex
import subprocess

import lib
import ran
from lib import check

SECRET = "of the host alone"


def host_folder(place, name):
    """A folder outside of the workspace, with a file in it."""
    folder = place.form.folder(name, 0o755)
    place.form.write(folder / "f", SECRET)
    return folder


def shown(form):
    """a folder of commands.show in the workspace is not followed when it has become a link"""
    workspace = form.folder("show-ws")
    for number, way in enumerate(("{ws}/tools", "{base}/l{number}")):
        link = form.base / f"l{number}"
        with form.acting():
            link.symlink_to(workspace / "tools")
        path = way.format(ws=workspace, base=form.base, number=number)
        place = ran.Place(form, f"show{number}", {"approval": {"default": "approve"}, "commands": {"show": [path]}}, workspace)
        host = host_folder(place, f"shown-private{number}")
        place.put("tools/x")
        with place.gate() as gate:
            check(gate.call("run_command", command=f"mv tools t{number}; ln -s {host} tools")["ok"], "the link cannot be made")
        with place.gate() as gate:
            answer = gate.call("run_command", command=f"cat {shlex.quote(path)}/f {host}/f")
        check(SECRET not in json.dumps(answer), f"{path}: {lib.short(answer)}")
        with form.acting():
            (workspace / "tools").unlink()


def session(form):
    """a session whose workspace was replaced by a link, or by another folder, is refused"""
    for number, replace in enumerate(("ln -s {host} sub", "mkdir sub; cp -r {keep} sub/f")):
        place = ran.Place(form, f"session{number}", {"approval": {"default": "approve"}})
        host = host_folder(place, f"session-private{number}")
        place.put("sub/x")
        made = form.run(place.home, "session", "create", "--workspace", place.workspace / "sub")
        name = made.stdout.decode().strip()

        def call(name=name, place=place):
            return json.loads(form.run(place.home, "call", "read_file", '{"path":"f"}', *place.options, "--session", name).stdout)

        check(call()["error"]["code"] == "NOT_FOUND", lib.short(call()))
        with place.gate() as gate:
            gate.call("run_command", command="mv sub old; " + replace.format(host=host, keep="old/x"))
        answer = call()
        check(not answer["ok"] and answer["error"]["details"]["reason"] == "workspace_replaced", lib.short(answer))


def unnamed(form):
    """a gate is not started in a folder that is reached through a link which an agent can have made"""
    place = ran.Place(form, "unnamed", {"approval": {"default": "approve"}})
    host = host_folder(place, "unnamed-private")
    inner = place.put("a/sub/x").parent
    outside = form.base / "way"
    with form.acting():
        outside.symlink_to(inner)

    def call(workspace, cwd="/", more=()):
        words = ["call", "read_file", '{"path":"f"}', *place.options, *more, "--workspace", workspace]
        done = subprocess.run([form.binary, *map(str, words)], cwd=cwd, env=lib.environment(place.home), capture_output=True, check=False, **form.identity())
        return done.stdout.decode() + done.stderr.decode()

    # A link of the user's own, in a folder where no agent works.
    check("NOT_FOUND" in call(outside) and "NOT_FOUND" in call(inner), call(outside))
    with place.gate() as gate:
        check(gate.call("run_command", command=f"mv a/sub a/old; ln -s {host} a/sub; ln -s .. a/up")["ok"], "the links cannot be made")
    for workspace, cwd in ((inner, "/"), ("sub", inner.parent), (f"{inner}/.", "/"), (outside, "/"), (place.workspace / "a/up/a/sub", "/")):
        said = call(workspace, cwd)
        check(SECRET not in said and "through a link in" in said and str(place.workspace) in said, said)
    # The way to the outer folder itself, and to the private one, has no such link.
    check("NOT_FOUND" in call(place.workspace) and SECRET in call(host), call(host))


ran.main(shown, session, unnamed)
