#!/usr/bin/env python3
"""What the gate executes or believes cannot be changed by an agent: programs, scripts and files of the operator's that
are reached through a folder of the session are refused at the start, by whatever name, and what the anchor of the audit
log looks up by a name is not taken from there."""

import itertools
import json
import os
import subprocess

import lib
import ran
from lib import check
from ran import Place

numbers = itertools.count()
WHY = "where an agent could change it"
OWN = "is Sandgate's own"


class Setting:
    """A workspace with a program in it, and a folder outside with another."""

    def __init__(self, form, name):
        self.form = form
        self.workspace = form.folder(f"{name}-ws")
        self.outside = form.folder(f"{name}-outside")
        self.inner = self.program(self.workspace / "program")
        self.outer = self.program(self.outside / "program")

    def program(self, path, text="#!/bin/sh\nexec cat > /dev/null\n"):
        self.form.write(path, text).chmod(0o755)
        return path

    def link(self, path, target):
        return self.form.link(path, target)

    def start(self, config, env=None, options=()):
        """One call; what was said and whether it worked."""
        place = Place(self.form, f"reach-{next(numbers)}", config, workspace=self.workspace)
        home = place.home
        given = options or place.options
        argv = [self.form.binary, "call", *given, "--workspace", self.workspace, "stat", '{"path":"."}']
        done = subprocess.run(
            [str(word) for word in argv], cwd=self.workspace, env=lib.environment(home, env), capture_output=True,
            timeout=lib.SECONDS, check=False, stdin=subprocess.DEVNULL, **self.form.identity(),
        )
        return done.returncode == 0, (done.stdout + done.stderr).decode()

    def refused(self, field, config, **more):
        worked, said = self.start(config, **more)
        check(not worked and field in said and WHY in said, f"{config}: {said}")

    def accepted(self, config, **more):
        worked, said = self.start(config, **more)
        check(worked, f"{config}: {said}")


def commands(at):
    """Commands that run something of the workspace's."""
    ws, out = at.workspace, at.outside
    (ws / "folder").mkdir()
    at.form.own(ws / "folder")
    at.program(ws / "folder/program")
    return {
        "the program": [at.inner],
        "by dots": [f"{out}/../{ws.name}/program"],
        "a link to it": [at.link(out / "to-program", at.inner)],
        "a link to a link": [at.link(out / "to-link", out / "to-program")],
        "a folder that is a link": [at.link(out / "to-folder", ws / "folder") / "program"],
        "a link that stands in it": [at.link(ws / "away", at.outer)],
        "a folder on the way stands in it": [at.link(ws / "away-folder", out) / "program"],
        "a relative link": [at.link(out / "relative", f"../{ws.name}/program")],
        "a script": ["/bin/sh", at.inner],
        "a script behind an option": ["/usr/bin/env", f"FILE={at.inner}"],
        "in a text": ["/bin/sh", "-c", f"exec {at.inner} --all"],
        "missing yet": ["/bin/sh", ws / "later"],
        "a folder of modules behind a letter": ["/usr/bin/perl", f"-I{ws}/lib", "-e", "1"],
        "a folder behind an option": ["/usr/bin/make", f"--directory={ws}"],
        "a folder behind an option, by a link": ["/usr/bin/make", f"-C{at.link(out / 'to-workspace', ws)}"],
        "relative to the root": ["/bin/sh", str(at.inner)[1:]],
        "relative behind a letter": ["/usr/bin/make", f"-f{str(at.inner)[1:]}"],
        "relative by dots": ["/bin/sh", f"../..{at.inner}"],
        "a list": ["/usr/bin/env", f"PATH=/usr/bin:{ws}:/bin", "tool"],
        "a list that ends with a link": ["/usr/bin/env", f"PATH=/usr/bin:{out}/to-workspace", "tool"],
        "an assignment in a text": ["/bin/sh", "-c", f"PATH={out}/to-workspace tool"],
        "an assignment before others": ["/bin/bash", "-ec", f"X={out}/to-workspace; exec $X/program"],
        "cd in a text": ["/bin/sh", "-c", f"cd {out}/to-workspace; ./program"],
        "cd with &&": ["/bin/sh", "-c", f"cd {ws}&&./program"],
        "in a substitution": ["/bin/sh", "-c", f"exec $(echo {out}/to-workspace)/program"],
        "with quotes within": ["/bin/sh", "-c", f"exec {str(ws)[:-2]}'{str(ws)[-2:]}'/program"],
        "a text in a text": ["/bin/sh", "-c", f"sh -c 'cd {out}/to-workspace && ./program'"],
        "a pattern": ["/bin/sh", "-c", f"exec {ws.parent}/*/program"],
        "a brace": ["/bin/bash", "-c", f"exec {ws.parent}/{{{ws.name},x}}/program"],
        "python's path": [ran.PYTHON, "-c", f"import sys; sys.path.insert(0, '{out}/to-workspace'); import tool"],
        "an interpreter": [at.program(out / "script", f"#!{at.inner}\n")],
        "an interpreter's script": [at.program(out / "script-2", f"#!/bin/sh {at.inner}\n")],
        "an interpreter of an interpreter": [at.program(out / "script-3", f"#!{out}/script\n")],
    }


def anchors(form):
    """audit.anchor: nothing of it is reached through the workspace"""
    at = Setting(form, "anchors")
    for name, words in commands(at).items():
        check(words, name)
        at.refused("audit.anchor", {"audit": {"anchor": list(map(str, words))}})
    for words in (
        [str(at.outer)],
        ["/bin/sh", "-c", "exec cat > /dev/null"],
        ["/bin/sh", "-c", f"cd {at.outside} && exec ./program"],
        ["/bin/sh", "-c", "cat >/dev/null; echo ssh host 'cd logs && cat >> *'"],
        [str(at.outer), "host", "cd logs && cat >> anchors", "print('/*', ~x) if a else b"],
        ["/bin/sh", "-c", f"set -e; test -d {at.outside}/; exec {at.outside}/program --name='a b' --to=https://host/x:80"],
        [str(at.outer), f"-I{at.outside}/lib", f"--opt={at.outside}", "s/a/b/", "it's", "lib/x:lib/y"],
    ):
        at.accepted({"audit": {"anchor": words}})


def not_understood(form):
    """audit.anchor: a text of a shell that cannot be followed is refused, and says why"""
    at = Setting(form, "unclear")
    for text in ("cd sub; ./x", 'cd "$DIR" && ./x', "exec ~root/x", "env sh -ec 'cd sub; ./x'", "exec cat >/dev/null 'open"):
        worked, said = at.start({"audit": {"anchor": ["/bin/sh", "-c", text]}})
        check(not worked and "audit.anchor" in said and "cannot be told" in said, f"{text}: {said}")


def homes(form):
    """audit.anchor: the home is a path like any other"""
    at = Setting(form, "homes")
    name = at.workspace.name
    for text in (f"exec $HOME/{name}/program", f"exec ${{HOME}}/{name}/program", f"~/{name}/program", f"cd ~/{name}; ./x"):
        at.refused("audit.anchor", {"audit": {"anchor": ["/bin/sh", "-c", text]}}, env={"HOME": str(at.workspace.parent)})
    at.refused("audit.anchor", {"audit": {"anchor": ["/bin/sh", "-c", "cd; ./x"]}}, env={"HOME": str(at.workspace)})


def owners(form):
    """programs that others could change are refused, at the start and when they are run"""
    at = Setting(form, "owners")
    folder = form.folder("owners-open")
    program = at.program(folder / "program")
    link = at.link(at.outside / "to-open", program)
    script = at.program(at.outside / "by-open", f"#!{program}\n")
    cases = {"the file": (program, 0o775), "its folder": (folder, 0o777), "a group": (folder, 0o775), "sticky": (folder, 0o1777)}
    for name, (path, mode) in cases.items():
        path.chmod(mode)
        for word in (program, link, script):
            for config in ({"audit": {"anchor": [str(word)]}}, {"hooks": [{"event": "tool:before", "command": [str(word)]}]}):
                worked, said = at.start(config)
                wanted = f"`{path}` (mode {mode:04o}, "
                check(not worked and "could change it" in said and wanted in said, f"{name}, {word}: {said}")
                check(f": chmod go-w {path}" in said, f"{name}, {word}: {said}")
        path.chmod(0o755)
    at.accepted({"audit": {"anchor": [str(link)]}})
    if form.is_root:
        os.chown(program, 61234, 61234)
        worked, said = at.start({"audit": {"anchor": [str(program)]}})
        check(not worked and "belongs to another user" in said, said)
        os.chown(program, 0, 0)
    place = Place(form, "owners-later", {"audit": {"anchor": [str(program)], "anchorMs": 100}}, workspace=at.workspace)
    with place.gate() as gate:
        gate.ok("stat", path=".")
        program.chmod(0o777)
        lib.wait_until(lambda: gate.call("stat", path=".") and "is not started" in gate.said(), "the anchor is refused")


def run_as_named(form):
    """audit.anchor: a program and a script know their names, and inherit nothing"""
    at = Setting(form, "named")
    seen = at.outside / "seen"
    script = at.program(at.outside / "named", f"#!/bin/sh\necho \"$0\" > {seen}\nls /proc/self/fd | wc -l >> {seen}\ncat >/dev/null\n")
    at.accepted({"audit": {"anchor": [str(script)]}})
    check(seen.read_text().split() == [str(script), "4"], seen.read_text())
    at.accepted({"audit": {"anchor": ["/bin/sh", "-c", f"echo \"$0\" > {seen}; ls /proc/self/fd | wc -l >> {seen}; cat >/dev/null"]}})
    check(seen.read_text().split() == ["/bin/sh", "4"], seen.read_text())


def hooks(form):
    """hooks: the same for their commands"""
    at = Setting(form, "hooks")
    for name, words in commands(at).items():
        check(words, name)
        at.refused("hooks[0].command", {"hooks": [{"event": "tool:before", "command": list(map(str, words))}]})


def files(form):
    """files that decide: the configuration, what people approved, the state and files.excludesFile"""
    at = Setting(form, "files")
    form.write(at.workspace / "excludes", "*.o\n")
    at.refused("files.excludesFile", {"files": {"excludesFile": str(at.workspace / "excludes")}})
    link = at.link(at.outside / "excludes", at.workspace / "excludes")
    at.refused("files.excludesFile", {"files": {"excludesFile": str(link)}})
    at.refused("network.caFile", {"network": {"caFile": str(form.write(at.workspace / "ca.pem", ""))}})
    inner = form.write(at.workspace / "config.json", "{}")
    outer = form.write(at.outside / "config.json", "{}")
    for path in (inner, outer):
        path.chmod(0o600)
    for path in (at.link(at.outside / "linked.json", inner), at.link(at.workspace / "linked.json", outer)):
        at.refused(OWN, None, options=["--config", path])
        at.refused(OWN, None, env={"SANDGATE_CONFIG": str(path)})
    at.refused(OWN, None, options=["--config", "linked.json"])
    for name in ("config.json", "approved.json"):
        home = form.folder(f"config-{name}")
        folder = form.folder(f"config-{name}/sandgate")
        at.link(folder / name, inner)
        at.refused(OWN, None, env={"XDG_CONFIG_HOME": str(home)})
    state = form.folder("moved-state", 0o700)
    at.link(at.workspace / "state", state)
    at.refused(OWN, None, env={"XDG_STATE_HOME": str(at.workspace / "state")})
    at.accepted(None, options=["--config", outer])


def mounted(form):
    """a mount of the workspace elsewhere is the workspace"""
    at = Setting(form, "mounted")
    point = form.folder("mounted-point")
    lib.kernel(lib.libc.mount(os.fsencode(at.workspace), os.fsencode(point), None, lib.MS_BIND, None), "mounting")
    try:
        at.refused("audit.anchor", {"audit": {"anchor": [str(point / "program")]}})
    finally:
        lib.libc.umount2(os.fsencode(point), 2)


def looked_up(form):
    """audit.anchor: what it looks up in its PATH, home or working directory is not the workspace's"""
    at = Setting(form, "lookup")
    seen = at.outside / "seen"
    evil = f"#!/bin/sh\necho evil >> {seen}\n"
    for name in ("cat", "tool"):
        at.program(at.workspace / name, evil)
    form.write(at.workspace / "json.py", f"open({str(seen)!r}, 'a').write('evil')\n")
    form.write(at.workspace / ".profile", f"echo evil >> {seen}\n")
    env = {"PATH": f"{at.workspace}:.::/usr/bin:/bin", "HOME": str(at.workspace)}
    by_name = at.program(at.outside / "by-name", f"#!/bin/sh\ncat >> {seen}\n")
    anchors = {
        "PATH": [by_name],
        "env": [at.program(at.outside / "by-env", f"#!/usr/bin/env -S sh\ncat >> {seen}\n")],
        "the working directory": [
            ran.PYTHON, "-c", f"import json, sys; open({str(seen)!r}, 'a').write(sys.stdin.read())"
        ],
        "the home": ["/bin/sh", "-l", "-c", f"cat >> {seen}"],
    }
    for name, words in anchors.items():
        form.write(seen, "")
        at.accepted({"audit": {"anchor": list(map(str, words))}}, env=env)
        lines = seen.read_text().splitlines()
        check(lines and all("hash" in json.loads(line) for line in lines if line != "evil"), f"{name}: {lines}")
        check("evil" not in lines, f"{name}: it ran what an agent wrote: {lines}")


def hooks_in_shown(form):
    """hooks: a folder of commands.show does not show them the workspace, whose programs would answer for them"""
    around = form.folder("shown-hooks")
    at = Setting(form, "shown-hooks/in")
    at.program(at.workspace / "judge", "#!/bin/sh\necho '{\"decision\":\"allow\"}'\n")
    hook = at.program(form.folder("hook-program") / "hook", f"#!/bin/sh\n{at.workspace}/judge || {{ echo no judge >&2; exit 2; }}\n")
    config = {
        "commands": {"show": [str(around)]},
        "hooks": [{"event": "tool:before", "command": [str(hook)]}],
    }
    worked, said = at.start(config)
    check(not worked and "no judge" in said, said)


def paths_of_commands(form):
    """commands.path: no folder that an agent writes in, by any name, and none that depends on where a command works"""
    at = Setting(form, "search-path")
    form.folder("search-path/ws/bin")
    os.symlink(at.workspace / "bin", form.base / "search-link")
    for path in ("bin", ".", "", "/usr/bin:bin", "/workspace", "/workspace/bin", "/workspace/../workspace/bin", at.workspace,
                 at.workspace / "bin", form.base / "search-link"):
        worked, said = at.start({"commands": {"path": [str(path)]}})
        check(not worked and "commands.path" in said, f"{path}: {said}")
    at.accepted({"commands": {"path": ["/usr/games", str(form.base / "missing")]}})


if __name__ == "__main__":
    lib.own_mounts()
    ran.main(anchors, not_understood, homes, owners, run_as_named, hooks, files, mounted, looked_up, hooks_in_shown, paths_of_commands)
