#!/usr/bin/env python3
"""Commands and tools see the workspace at the path that it has on the host, and by its second name /workspace: what was
made on the host with absolute paths works inside, nothing around the workspace is seen, and what is covered is covered
under every name.
"""

import json
import os
import shutil
import subprocess

import lib
import ran
from lib import Gate, check, short
from ran import PYTHON, Place, output

SECRET = "KEY=only the user knows"


def on_host(form, folder, *argv):
    """A program of the user's."""
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=lib.SECONDS,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"},
                          **form.identity())
    check(done.returncode == 0, f"{argv}: {done.stderr}")
    return done.stdout


def names(form):
    """pwd, PWD, HOME, `cd`, cwd, tools and records, by each name."""
    place = Place(form, "names")
    real = str(place.workspace)
    place.put("d/e/f", "found\n")
    with place.gate() as gate:
        check(output(gate, "pwd; pwd -P; echo $PWD $HOME $TMPDIR") == f"{real}\n{real}\n{real} /home/agent /tmp\n", "root")
        check(output(gate, "readlink /workspace") == f"{real}\n", "the second name")
        for cwd in ("d/e", f"{real}/d/e", "/workspace/d/e"):
            check(output(gate, "pwd", cwd=cwd) == f"{real}/d/e\n", cwd)
        for folder in (real, "/workspace", f"{real}/d/..", "/workspace/d/../."):
            check(output(gate, f"cd {folder} && pwd -P && cat d/e/f") == f"{real}\nfound\n", folder)
            check(gate.ok("read_file", path=f"{folder}/d/e/f")["content"] == "found\n", folder)
        gate.ok("write_file", path=f"{real}/new", content="x")
        output(gate, "rm /workspace/new; echo y > $PWD/more")
    check((place.workspace / "more").read_text() == "y\n", "commands write there")
    done = place.run("--", "sh", "-c", "pwd; cd d && pwd")
    check(done.stdout.decode() == f"{real}\n{real}/d\n", f"sandgate run: {done}")
    cwds = [r["command"]["cwd"] for r in lib.audit_records(gate.state) if "cwd" in (r.get("command") or {})]
    check(f"{real}/d/e" in cwds and not any("/workspace" in cwd for cwd in cwds), f"records: {cwds}")


def nothing_around(form):
    """of the folders around it commands see the way to it, and cannot change that"""
    place = Place(form, "around")
    (form.folder("around-sibling") / "told").write_text("outside", encoding="ascii")
    way = list(place.workspace.parents)[:-2]
    with place.gate() as gate:
        below = place.workspace
        for folder in way:
            check(output(gate, f"ls -A {folder}") == f"{below.name}\n", f"{folder} has more")
            below = folder
        seen = gate.call("run_command", command=f"cat ../around-sibling/told {form.base}/around-sibling/told; ls -A ..")
        check("outside" not in seen["result"]["stdout"], short(seen))
        for folder in way:
            line = f"mv {folder} /tmp/other; mkdir {folder}/new; rmdir {folder}; ln -s / {folder}/link; touch {folder}/x"
            left = output(gate, f"( {line} ) 2>/dev/null; ls -A {folder}; cd {place.workspace} && pwd")
            check(left.splitlines()[-1] == str(place.workspace) and len(left.splitlines()) == 2, f"{folder}: {left!r}")
        output(gate, "ln -sfn /etc /workspace 2>/dev/null; rm -f /workspace; cd /workspace && pwd -P")


def made_on_the_host(form):
    """a virtual environment, a build tree and scripts that the host made run"""
    place = Place(form, "made")
    at = place.workspace
    on_host(form, at, PYTHON, "-m", "venv", "--without-pip", f"{at}/.venv")
    place.put(".venv/bin/tool", f"#!{at}/.venv/bin/python\nimport sys; print(sys.prefix)\n").chmod(0o755)
    place.put("src/main.in", "text\n")
    place.put("build/Makefile", f"{at}/build/main: {at}/src/main.in\n\tcp {at}/src/main.in {at}/build/main\n")
    with place.gate() as gate:
        check(output(gate, ".venv/bin/python -c 'import sys; print(sys.prefix)'") == f"{at}/.venv\n", "its python")
        check(output(gate, ".venv/bin/tool") == f"{at}/.venv\n", "a script that it installed")
        check(output(gate, ". .venv/bin/activate && command -v python") == f"{at}/.venv/bin/python\n", "activate")
        output(gate, "make -C build")
        check("up to date" in on_host(form, at, "make", "-C", f"{at}/build", f"{at}/build/main"), "one tree for both")


def cmake_tree(form):
    """a tree that cmake configured on the host is built inside"""
    if not shutil.which("cmake", path="/usr/local/bin:/usr/bin:/bin"):
        return
    place = Place(form, "cmake")
    place.put("CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\n"
              "add_custom_target(all_of_it ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/in ${CMAKE_BINARY_DIR}/out)\n")
    place.put("in", "text\n")
    on_host(form, place.workspace, "cmake", "-B", "build", ".")
    with place.gate() as gate:
        output(gate, "cmake --build build && cmp in build/out")


# A folder of commands.show keeps its owner, also where a root gate's own folders are shown as the agent's.
TRUSTED = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
GIT = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org")


def git_worktrees(form):
    """git reads a worktree: its absolute paths lead where they led"""
    place = Place(form, "worktrees")
    at = place.workspace
    place.put("main/a", "a\n")
    for argv in (("init", "-q", "main"), ("-C", "main", "add", "a"), ("-C", "main", "commit", "-qm", "first"),
                 ("-C", "main", "worktree", "add", "-q", f"{at}/tree")):
        on_host(form, at, *GIT, *argv)
    with place.gate() as gate:
        check(output(gate, "git -C tree log --format=%s && git -C tree status --porcelain") == "first\n", "in the workspace")
    config = {"commands": {"show": [str(at / "main/.git")]}}
    tree = Place(form, "worktree", config, workspace=at / "tree")
    with tree.gate() as gate:
        check(output(gate, "git log --format=%s && git status --porcelain && cat a",
                     env=TRUSTED) == "first\na\n", "of a repository outside")


def through_links(form):
    """a workspace that is given by a link has the paths through that, too"""
    place = Place(form, "linked")
    at = place.workspace
    place.put("d/f", "found\n")
    link = form.link(form.base / "linked-link", at)
    folder = form.folder("linked-folder")
    way = form.link(form.base / "linked-way", form.base)
    for given in (link, way / at.name):
        with Gate(form, workspace=given, state=place.home) as gate:
            check(output(gate, f"pwd; cat {given}/d/f /workspace/d/f; cd {given}/d && pwd -P")
                  == f"{at}\nfound\nfound\n{at}/d\n", f"{given}")
            check(output(gate, "pwd", cwd=f"{given}/d") == f"{at}/d\n", f"{given}: cwd")
            for name in (given, at, "/workspace"):
                check(gate.ok("read_file", path=f"{name}/d/f")["content"] == "found\n", f"{name}")
            gate.refused("PATH_OUTSIDE_WORKSPACE", "read_file", path=f"{folder}/x")
    # Relative to a folder where the shell came by a link.
    done = subprocess.run([form.binary, "run", "--", "sh", "-c", f"pwd; cat {link}/d/f"], cwd=link, capture_output=True,
                          text=True, check=False, timeout=lib.SECONDS,
                          env=lib.environment(place.home, {"PWD": str(link)}), **form.identity())
    check(done.stdout == f"{at}\nfound\n", f"{done}")
    # One that leads elsewhere is no name of it.
    done = subprocess.run([form.binary, "run", "--", "sh", "-c", f"ls -d {folder}"], cwd=link, capture_output=True,
                          text=True, check=False, timeout=lib.SECONDS,
                          env=lib.environment(place.home, {"PWD": str(folder)}), **form.identity())
    check(done.returncode != 0 and "No such file" in done.stderr, f"{done}")


def links_in_it(form):
    """links to absolute paths in it lead for commands where they lead for tools"""
    place = Place(form, "inner")
    at = place.workspace
    place.put("d/f", "found\n")
    for name, target in (("real", at / "d/f"), ("second", "/workspace/d/f"), ("folder", at / "d")):
        form.link(at / name, target)
    with place.gate() as gate:
        check(output(gate, "cat real second folder/f") == 3 * "found\n", "commands")
        for path in ("real", "second", "folder/f"):
            check(gate.ok("read_file", path=path)["content"] == "found\n", path)


# --- what is covered


WAYS = ("{at}/{path}", "/workspace/{path}", "{path}", "sub/../{path}", "{at}/../{name}/{path}", "/workspace/../workspace/{path}",
        "/proc/self/cwd/{path}", "/proc/self/root{at}/{path}", "/proc/self/root/workspace/{path}", "//workspace//{path}",
        "{link}/{path}", "/dev/fd/9/{path}")


def ways(place, link, path):
    return [way.format(at=place.workspace, name=place.workspace.name, link=link, path=path) for way in WAYS]


def covered(form):
    """secret and protected files are covered under every name"""
    place = Place(form, "covered")
    at = place.workspace
    link = form.link(form.base / "covered-link", at)
    place.put(".env", SECRET)
    place.put("in/.env", SECRET)
    place.put("sub/x")
    on_host(form, at, *GIT, "init", "-q", ".")
    place.put(".git/hooks/post-commit", "#!/bin/sh\n")
    with Gate(form, workspace=link, state=place.home) as gate:
        for way in [*ways(place, link, ".env"), *ways(place, link, "in/.env")]:
            seen = gate.call("run_command", command=f"exec 9<.; cat {way}; ln {way} hard; cp {way} copy; cat hard copy; true")
            check("KEY" not in json.dumps(seen), f"{way}: {short(seen)}")
        for way in ways(place, link, ".git/hooks/post-commit") + ways(place, link, ".git/config"):
            output(gate, f"exec 9<.; ( echo evil >> {way}; rm -f {way}; ln -sf /tmp/x {way}; mv {way} away ) 2>/dev/null; true")
        for line in ("mv .git away", "mv /workspace/.git away", "mv in away; cat away/.env", f"mv {at}/in /workspace/away",
                     f"mv {at} {at}2", "mv /workspace /away", "cd ..; mv * /tmp", "mkdir o; mv .env o/; mv in/.env o/"):
            seen = gate.call("run_command", command=f"{line}; cat away/.env */.env .env 2>/dev/null; true")
            check("KEY" not in json.dumps(seen), f"{line}: {short(seen)}")
        gate.refused("SECRET_PATH POLICY_DENIED PERMISSION_DENIED PROTECTED_PATH", "read_file", path=f"{link}/.env")
    check((at / ".git/hooks/post-commit").read_text() == "#!/bin/sh\n", "the hook")
    check("evil" not in (at / ".git/config").read_text() and (at / ".env").read_text() == SECRET, "as they were")


# Where a folder cannot be renamed, mv copies it and then removes what it can: nothing is saved before it has ended.
MOVED = """
for way in {ways}; do mv $way /tmp/moved; mv /tmp/moved/* /tmp; mkdir -p {at}; ln -sfn /tmp/moved {at}; done 2>/dev/null
: > up
until [ -e saved ]; do sleep 0.05; done
i=0
while cat .env {at}/.env /workspace/.env >/dev/null 2>&1 && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
cat .env {at}/.env /workspace/.env /proc/self/cwd/.env
true
"""


def way_is_fixed(form):
    """a secret that is saved when a command has moved the folders on the way, as far as it could, is covered"""
    place = Place(form, "fixed", workspace=form.folder("fixed-a/b/ws"))
    at = place.workspace
    place.put(".env", "KEY=old")
    with place.gate() as gate:
        line = MOVED.format(at=at, ways=" ".join(str(p) for p in list(at.parents)[:-2]))
        call = gate.send("run_command", command=line, timeout_ms=120000)
        lib.wait_until(lambda: (at / "up").exists(), "it runs")
        place.put(".env.new", SECRET)
        os.rename(at / ".env.new", at / ".env")
        place.put("saved")
        value = ran.ended(gate.wait(call, 2 * lib.SECONDS))
        check("KEY" not in value["stdout"], short(value))
        check(value["stderr"].count("ermission denied") == 4, short(value))


ran.main(names, nothing_around, made_on_the_host, cmake_tree, git_worktrees, through_links, links_in_it, covered,
         way_is_fixed)
