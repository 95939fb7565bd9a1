#!/usr/bin/env python3
"""Guarded names that a command removes and makes again, moves, or reaches through links of its own: told or taken away,
never silent. And a link that a command makes hides nothing from later commands.
"""

import os
import time

import lib
import ran
from lib import check
from ran import Place, bash

SECRET = "KEY=only the user knows"


class Project(Place):
    def link(self, path, target):
        self.form.link(self.workspace / path, target)

    def there(self, path):
        return os.path.lexists(self.workspace / path)


def told(gate, line):
    value = gate.call("run_command", command=line)["result"]
    return {v["call"] for v in value["violations"]}, value


def cannot_write(gate, place, path):
    before = (place.workspace / path).read_text()
    for line in (f"echo evil > {path}", f"rm {path}", f"mv {path} away"):
        _, value = told(gate, line)
        check(value["exit_code"] != 0, f"`{line}` succeeded")
    check((place.workspace / path).read_text() == before, f"{path} has changed")


WAYS = {  # a link that a command makes, and what programs would find through it
    ".cargo": "config.toml",
    ".github": "copilot-instructions.md",
    ".config": "mise/config.toml",
    ".yarn": "plugins/x.cjs",
    ".hg": "hgrc",
}


def made_ways(form):
    """a link that stands for a folder on the way to a protected name is taken away at a root, and told elsewhere"""
    for number, (link, name) in enumerate(WAYS.items()):
        place = Project(form, f"way{number}")
        folder = os.path.dirname(f"p/{name}")
        place.put("repo/.git/HEAD")
        with place.gate() as gate:
            what, value = told(gate, f"mkdir -p {folder} d; echo evil > p/{name}; ln -s p {link}; ln -s ../p d/{link}; "
                                     f"ln -s ../p repo/{link}; ln -s $PWD/p repo/a")
            check(value["exit_code"] == 0, lib.short(value))
            for path in (link, f"repo/{link}"):
                check(f"quarantined:{path}" in what and not place.there(path), f"{path}: {what}")
            check(f"created:d/{link}" in what and place.there(f"d/{link}"), f"{what}")
            cannot_write(gate, place, f"p/{name}")
            cannot_write(gate, place, f"d/{link}/{name}")
            check(told(gate, "true")[0] == set(), "told twice")
            bash(gate, "echo fine > p/other")
        with place.gate() as gate:
            cannot_write(gate, place, f"p/{name}")
        # Without the link it is a file like others.
        os.unlink(place.workspace / "d" / link)
        with place.gate() as gate:
            bash(gate, f"echo fine > p/{name}")


def moved_ways(form):
    """so is one that a command moves there, or that leads further by other links"""
    place = Project(form, "moved")
    place.put("p/config.toml")
    place.put("e/keep")
    place.link("e/.cargo", "../p")
    with place.gate() as gate:
        what, _ = told(gate, "mv e f")
        check(what == set(), f"the folder around it has moved: {what}")
        what, _ = told(gate, "mv f/.cargo .cargo")
        check("quarantined:.cargo" in what and not place.there(".cargo"), f"{what}")
        what, _ = told(gate, "mkdir q c; ln -s ../q c/fish; ln -s c .config; echo evil > q/config.fish")
        check("quarantined:.config" in what and not place.there(".config"), f"{what}")


def ways_that_were_there(form):
    """what the user's own links stand for is covered, and what is made there is told"""
    place = Project(form, "before")
    for path in ("p/config.toml", "p/deep/x", "deep/m/x", "src/a.c", "config"):
        place.put(path)
    place.put("k/config", SECRET + "\n")
    for link, target in ((".cargo", "way"), ("way", "p"), (".kube", "k"), ("sub.txt", "p"), (".config", "deep"),
                         ("deep/mise", "m"), (".bundle", ".")):
        place.link(link, target)
    for _ in range(2):
        with place.gate() as gate:
            for path in ("p/config.toml", ".cargo/config.toml", "deep/m/x", "config"):
                cannot_write(gate, place, path)
            for path in ("k/config", ".kube/config"):
                check(SECRET not in bash(gate, f"cat {path}; true")["stdout"], path)
            bash(gate, "echo fine > p/deep/x; echo fine > src/a.c; mv src s; mv s src")
    with place.gate() as gate:
        bash(gate, "true")
        what, _ = told(gate, "echo evil > p/config")
        check(what == {"created:p/config"}, f"{what}")
        cannot_write(gate, place, "p/config")
        # The link can be removed by a command: what it led to stays as it was.
        bash(gate, "rm .kube .cargo")
        cannot_write(gate, place, "p/config.toml")
        check(SECRET not in bash(gate, "cat k/config; true")["stdout"], "the link is gone, and the secret is told")
    with place.gate() as gate:
        check(SECRET not in bash(gate, "cat k/config; true")["stdout"], "in the next gate")
        cannot_write(gate, place, "p/config.toml")


REMADE = (
    "ln -s ../evil {0}",
    "echo evil > {0}",
    "mkdir {0}; echo evil > {0}/tasks.json",
    "ln -s ../good {0}",
    "mv ../other/{0} {0}",
    "ln -P ../other/{0} {0}",
)


def remade_links(form):
    """a protected link, which no mount can cover, is new when it comes back, whatever it is then"""
    for number, again in enumerate(REMADE):
        place = Project(form, f"again{number}")
        place.put("good/x")
        place.put("evil/tasks.json", "evil\n")
        place.put("a/keep")
        place.put("repo/.git/HEAD")
        place.put("other/keep")
        for name in ("a/.vscode", "repo/.vscode", "other/.vscode"):
            place.link(name, "../good")
        place.link(".vscode", "good")
        with place.gate() as gate:
            bash(gate, "true")
            for folder, word in (("a", "created"), ("repo", "quarantined")):
                what, value = told(gate, f"cd {folder}; rm .vscode; {again.format('.vscode')}")
                # Where the command takes long, what it has made is covered before it goes on.
                done = value["exit_code"] == 0 or "Read-only file system" in value["stderr"]
                check(done and f"{word}:{folder}/.vscode" in what, f"{again}: {lib.short(value)}")
                told(gate, "ln -sfn ../good other/.vscode")
            what, value = told(gate, "rm .vscode; ln -s evil .vscode")
            check("quarantined:.vscode" in what and not place.there(".vscode"), f"{lib.short(value)}")
            cannot_write(gate, place, "good/x")


def links_on_the_way(form):
    """a link that a guarded one leads through is replaced: what is reached then is told and covered"""
    for number, (first, second) in enumerate(((".vscode", "tasks.json"), (".cargo", "config.toml"), ("d/.cursorrules", ""))):
        place = Project(form, f"through{number}")
        end = f"/{second}" if second else "/file"
        for folder in ("good", "evil"):
            place.put(f"{folder}{end}")
        place.put("conf/deep/keep")
        place.put("d/keep")
        up = "../" if "/" in first else ""
        place.link(first, f"{up}conf/deep/l" + ("" if second else end))
        place.link("conf/deep/l", "../../good")
        with place.gate() as gate:
            cannot_write(gate, place, f"good{end}")
            bash(gate, f"echo evil > evil{end}")
            what, value = told(gate, "cd conf/deep; ln -sfn ../../evil l")
            check(value["exit_code"] == 0 and any(w.startswith("created:evil") for w in what), f"{first}: {lib.short(value)}")
            cannot_write(gate, place, f"evil{end}")
            what, value = told(gate, "mv conf old; mkdir -p conf/deep other; touch other/file other/tasks.json other/config.toml; "
                                     "ln -s ../../other conf/deep/l")
            check(any(w.startswith("created:other") for w in what), f"{first}: {lib.short(value)}")


def other_types(form):
    """what takes the place of a guarded file is new when it is of another type"""
    place = Project(form, "types")
    place.put("a/.envrc")
    with place.gate() as gate:
        call = gate.send("run_command", command="touch up; until mkdir a/.envrc 2>/dev/null; do :; done; echo evil > a/.envrc/x")
        lib.wait_until((place.workspace / "up").exists, "it runs")
        os.unlink(place.workspace / "a/.envrc")
        value = gate.wait(call)["result"]
        check("created:a/.envrc" in {v["call"] for v in value["violations"]}, f"{lib.short(value)}")


def removed_by_the_host(form):
    """what the host removes and the command makes again is told, also between two scans"""
    place = Project(form, "host")
    for name in (".envrc", "b/.envrc"):
        place.put(name)
        with place.gate() as gate:
            call = gate.send("run_command", command=f"touch up; until echo evil > {name} && [ -e {name} ]; do :; done 2>/dev/null")
            lib.wait_until((place.workspace / "up").exists, "it runs")
            os.unlink(place.workspace / name)
            value = gate.wait(call)["result"]
            what = {v["call"] for v in value["violations"]}
            check(what & {f"replaced:{name}", f"quarantined:{name}", f"created:{name}"}, f"{lib.short(value)}")
        os.unlink(place.workspace / "up")


def saved_by_the_host(form):
    """an editor's way to save while a command runs is told, and the file stays where it is"""
    place = Project(form, "saved")
    names = (".envrc", "d/.npmrc", "x.code-workspace")
    for name in (*names, ".env", ".git/config"):
        place.put(name, "old\n")
    with place.gate() as gate:
        bash(gate, "true")
        call = gate.send("run_command", command="touch up; while [ ! -e go ]; do sleep 0.02; done")
        lib.wait_until((place.workspace / "up").exists, "it runs")
        for name in (*names, ".env", ".git/config"):
            os.replace(place.put("saving", "new\n"), place.workspace / name)
        place.put("go")
        value = gate.wait(call)["result"]
        what = {v["call"] for v in value["violations"]}
        check(what == {f"replaced:{name}" for name in names}, f"{what}")
        for name in (*names, ".env", ".git/config"):
            check((place.workspace / name).read_text() == "new\n", f"{name} is not as it was saved")
        for name in names:
            cannot_write(gate, place, name)
        # Between two commands it is nobody's business.
        os.replace(place.put("saving", "newer\n"), place.workspace / ".envrc")
        check(told(gate, "true")[0] == set(), "told though no command ran")


def hidden_in_a_secret_folder(form):
    """a known file is not taken for gone because a command moved it into a folder that is not looked into"""
    place = Project(form, "hidden")
    place.put("lib/.git/HEAD")
    place.put("lib/.envrc", "good\n")
    place.put("app/.vscode/tasks.json", "good\n")
    with place.gate() as gate:
        what, _ = told(gate, "mkdir x.key; mv lib app x.key/; mkdir -p app/.vscode lib/.git; echo evil > app/.vscode/tasks.json; "
                             "touch lib/.git/HEAD; echo evil > lib/.envrc")
        check({"created:app/.vscode", "created:x.key", "quarantined:lib/.git", "created:lib/.envrc"} <= what, f"{what}")


HIDING = {".git": "git log --oneline", "src": "cat src/main.c", "src/main.c": "cat src/main.c", "own": "cat own/x"}


def secret_links(form):
    """a link with a secret name that a command makes is told, and hides nothing from later commands"""
    for number, (target, line) in enumerate(HIDING.items()):
        place = Project(form, f"hiding{number}")
        place.put("src/main.c")
        bash_in_repository = "git init -q . && git -c user.name=x -c user.email=x commit -q --allow-empty -m one"
        with place.gate() as gate:
            bash(gate, bash_in_repository)
            what, value = told(gate, f"mkdir -p s own; echo x > own/x; ln -s ../{target} s/.env; ln -s ../{target} s/a.key")
            check({"created:s/.env", "created:s/a.key"} <= what, f"{lib.short(value)}")
            for _ in range(3):
                bash(gate, line)
        with place.gate() as gate:
            bash(gate, line)
            bash(gate, "rm s/.env; ln -s ../.git s/.env")
            bash(gate, line)


def secret_links_of_the_user(form):
    """one that the user makes hides it, also between two commands of a gate"""
    place = Project(form, "user")
    place.put("one", SECRET)
    place.put("two", SECRET)
    place.put("more/x", SECRET)
    place.link(".env", "one")
    with place.gate() as gate:
        bash(gate, "true")
        place.link("a.key", "two")
        place.link("b.key", "more")
        # The clock of a file system is coarse: what is as old as a command may be the command's.
        lib.grow_older()
        bash(gate, "true")
        for line in ("cat one", "cat two", "cat more/x"):
            check(SECRET not in bash(gate, f"{line}; true")["stdout"], line)
        bash(gate, "rm .env a.key b.key")
        check(SECRET not in bash(gate, "cat one two more/x; true")["stdout"], "the links are gone")


def protected_links_below(form):
    """what a protected link of a command's making leads to is covered as long as the link is there"""
    place = Project(form, "below")
    place.put("src/main.c")
    with place.gate() as gate:
        what, _ = told(gate, "mkdir d; ln -s ../src d/.vscode")
        check("created:d/.vscode" in what, f"{what}")
        cannot_write(gate, place, "src/main.c")
    os.unlink(place.workspace / "d/.vscode")
    with place.gate() as gate:
        bash(gate, "echo fine > src/main.c")


def moved_to_an_exception(form):
    """what a command moves to where an exception from the rules holds is not changed there by tools either"""
    place = Project(form, "except")
    place.put("app/.vscode/tasks.json", "good\n")
    place.put("app/.envrc", "good\n")
    place.put("app/.github/workflows/x.yml", "good\n")
    place.put(".env.example", "KEY=\n")
    place.link(".env", ".env.example")
    place.put("node_modules/own/.vscode/tasks.json")
    with place.gate() as gate:
        bash(gate, "mv app node_modules/app")
    with place.gate() as gate:
        for path in ("node_modules/app/.vscode/tasks.json", "node_modules/app/.envrc", "node_modules/app/.vscode/new",
                     "node_modules/app/.github/workflows/x.yml"):
            error = gate.refused("PERMISSION_DENIED", "write_file", path=path, content="evil")
            check(error["details"]["reason"] == "protected", f"{error}")
        gate.refused("PERMISSION_DENIED", "move", **{"from": "node_modules/app/.envrc", "to": "x"})
        gate.refused("PERMISSION_DENIED", "delete", path="node_modules/app", recursive=True)
        gate.ok("move", **{"from": "node_modules/app", "to": "node_modules/b"})
        gate.refused("PERMISSION_DENIED", "delete", path="node_modules", recursive=True)
        gate.ok("move", **{"from": "node_modules/b", "to": "node_modules/app"})
        gate.ok("write_file", path="node_modules/own/.vscode/tasks.json", content="fine")
        gate.ok("read_file", path=".env.example")
        cannot_write(gate, place, "node_modules/app/.envrc")
        bash(gate, "mv node_modules/app app")
    check((place.workspace / "app/.vscode/tasks.json").read_text() == "good\n", "it has changed")


def moved_across_a_mount(form):
    """a secret that a tool would move into a folder which commands see through a mount of its own is not told"""
    place = Project(form, "across")
    for path in ("sub/.env", ".github/in/.env"):
        place.put(path, SECRET + "\n")
    look = "cat sub/.env .github/*/.env src/*/.env x/.env 2>/dev/null; true"
    with place.gate() as gate:
        call = gate.send("run_command", command=f"touch up; while [ ! -e go ]; do {look}; done")
        lib.wait_until((place.workspace / "up").exists, "it runs")
        for source, to in (("sub", ".github/sub"), (".github/in", "x")):
            error = gate.refused("PERMISSION_DENIED", "move", **{"from": source, "to": to})
            check(error["details"]["reason"] == "secret" and "files.secret" in error["message"], f"{error}")
            check(SECRET not in bash(gate, look)["stdout"], f"{source} to {to}")
        # The cover of what a link led to stays when the link is gone.
        bash(gate, "mkdir src e; ln -s ../src e/.vscode")
        bash(gate, "rm e/.vscode")
        bash(gate, "true")
        gate.refused("PERMISSION_DENIED", "move", **{"from": "sub", "to": "src/sub"})
        gate.ok("move", **{"from": "sub", "to": "x"})
        check(SECRET not in bash(gate, look)["stdout"], "an ordinary move")
        place.put("go")
        check(SECRET not in gate.wait(call)["result"]["stdout"], "the one that ran all the time")


def deleted_by_a_tool(form):
    """a folder with a protected file is not removed by a tool while a command waits to make it anew"""
    place = Project(form, "tool")
    place.put("d/.envrc", "good\n")
    with place.gate() as gate:
        call = gate.send("run_command", command="touch up; while [ ! -e go ]; do sleep 0.02; done; mkdir -p d; echo evil > d/.envrc")
        lib.wait_until((place.workspace / "up").exists, "it runs")
        error = gate.refused("PERMISSION_DENIED", "delete", path="d", recursive=True)
        check(error["details"]["reason"] == "protected" and "d/.envrc" in error["message"], f"{error}")
        place.put("go")
        check(gate.wait(call)["result"]["exit_code"] != 0, "it was written")
    check((place.workspace / "d/.envrc").read_text() == "good\n", "it has changed")


if __name__ == "__main__":
    ran.main(
        made_ways,
        moved_ways,
        ways_that_were_there,
        remade_links,
        links_on_the_way,
        other_types,
        removed_by_the_host,
        saved_by_the_host,
        hidden_in_a_secret_folder,
        secret_links,
        secret_links_of_the_user,
        protected_links_below,
        moved_to_an_exception,
        moved_across_a_mount,
        deleted_by_a_tool,
    )
