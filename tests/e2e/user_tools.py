#!/usr/bin/env python3
"""The tools, the name and the settings of whoever started the gate, in their commands."""

import json
import os
import shutil
import tempfile
import time

import lib
from lib import check

SCRIPT = "#!/bin/sh\necho {}\n"
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Place:
    """A home outside of /tmp with tools in it, each of which says what it is."""

    def __init__(self, form):
        self.form = form
        own = lib.pathlib.Path(tempfile.mkdtemp(dir=form.base)).name
        self.state = form.folder(f"{own}-state", 0o700)
        self.workspace = form.folder(f"{own}-ws")
        self.base = lib.pathlib.Path(tempfile.mkdtemp(dir="/home" if lib.AM_ROOT else os.path.expanduser("~"), prefix="sg-home-"))
        self.base.chmod(0o755)
        form.own(self.base)

    def tool(self, path, text=None, mode=0o755):
        file = self.base / path
        folder = file.parent
        made = []
        while not folder.exists():
            made.append(folder)
            folder = folder.parent
        for folder in reversed(made):
            folder.mkdir(mode=0o755)
            self.form.own(folder)
        self.form.write(file, text or SCRIPT.format(path))
        file.chmod(mode)
        return file

    def run(self, *argv, path=(), env=None):
        """`path`: folders of the home, or absolute ones."""
        folders = [f if str(f).startswith("/") else f"{self.base}/{f}" for f in path]
        variables = {"HOME": str(self.base), "PATH": ":".join([*map(str, folders), SYSTEM]), **(env or {})}
        return self.form.run(self.state, "run", "--workspace", self.workspace, *argv, env=variables)

    def text(self, *argv, **more):
        done = self.run(*argv, **more)
        check(done.returncode == 0, done)
        return done.stdout.decode()


def with_home(case):
    def run(form):
        place = Place(form)
        try:
            case(place)
        finally:
            shutil.rmtree(place.base)

    return run


@with_home
def shown(place):
    """What a manager of tools needs comes along, and nothing else of the home."""
    place.tool(".cargo/bin/cargo-x", "#!/bin/sh\ncat $RUSTUP_HOME/toolchains/x\n")
    place.tool(".cargo/credentials.toml", "secret")
    place.tool(".rustup/toolchains/x", "toolchain\n", 0o644)
    place.tool(".local/bin/tool-x")
    place.tool(".local/lib/python3/x", "lib\n", 0o644)
    place.tool(".local/share/keyrings/x", "secret")
    place.tool(".nvm/versions/node/v1/bin/node-x", "#!/bin/sh\ncat ${0%/bin/*}/lib/x\n")
    place.tool(".nvm/versions/node/v1/lib/x", "of the library\n", 0o644)
    place.tool(".nvm/alias/default", "v1")
    place.tool("go/bin/go-x")
    place.tool("notes", "secret")
    path = (".cargo/bin", ".local/bin", ".nvm/versions/node/v1/bin", "go/bin", "none", "", "/usr/local/go/bin")
    look = f"cargo-x; tool-x; node-x; go-x; echo $PATH; cd {place.base}; find . -type f | sort; touch go/bin/y .local/bin/y"
    done = place.run("--", "sh", "-c", look, path=path)
    said = done.stdout.decode().splitlines()
    check(said[:4] == ["toolchain", ".local/bin/tool-x", "of the library", "go/bin/go-x"], done)
    folders = [f"{place.base}/{f}" for f in path[:4]]
    check(said[4].split(":")[:4] == folders and said[4].endswith(SYSTEM), said[4])
    check(not [line for line in said[5:] if "secret" in line or "notes" in line or "alias" in line or "credentials" in line or "keyrings" in line], said)
    check(done.stderr.decode().count("Read-only file system") == 2, done)


@with_home
def homes(place):
    """The home and what is private in it are never shown whole, however HOME and PATH spell them."""
    for name in (".ssh/x", ".local/share/keyrings/x", "lib/x", ".local/lib/x", "notes/x"):
        place.tool(f"u/{name}", "secret")
    for name in ("bin", ".local/bin"):
        place.tool(f"u/{name}/tool-{len(name)}")
    home = place.base / "u"
    link = place.form.link(place.base / "h", home)
    inner = place.form.link(home / "l", ".local")
    look = ("--", "sh", "-c", f"tool-3; tool-10; cat {home}/.ssh/x {home}/.local/share/keyrings/x {link}/.ssh/x {link}/.local/share/keyrings/x {inner}/share/keyrings/x 2>/dev/null; true")
    spelled = [(a, b) for a in (home, link, f"{home}/", f"{place.base}//u") for b in (home, link)]
    for name, on_path in spelled:
        text = place.text(*look, path=(f"{on_path}/bin", f"{on_path}/.local/bin"), env={"HOME": str(name)})
        check(text.splitlines() == ["u/bin/tool-3", "u/.local/bin/tool-10"], (name, on_path, text))
    for name in (home, link, place.base / "none", "", "/"):
        for on_path in (f"{home}/l/bin", str(home), str(link), f"{home}/bin", f"{link}/.local/bin", f"{home}/../u/.local/bin"):
            text = place.text(*look, path=(on_path,), env={"HOME": str(name)})
            check("secret" not in text, (name, on_path, text))


@with_home
def left_out(place):
    """What an agent or others could change, and what is switched off."""
    place.tool("bin/tool-x")
    open_folder = place.tool("open/tool-x").parent
    open_folder.chmod(0o777)
    place.form.write(place.workspace / "tool-x", SCRIPT.format("workspace")).chmod(0o755)
    link = place.form.link(place.base / "to-workspace", place.workspace)
    around = str(place.workspace.parent)
    path = ("open", str(place.workspace), str(link), around, "/tmp", ".", place.form.base)
    done = place.run("--", "sh", "-c", "echo $PATH; tool-x", path=path)
    check(done.stdout.decode() == SYSTEM + "\n" and done.returncode == 127, done)
    check(place.text("--", "tool-x", path=("bin",)) == "bin/tool-x\n", "shown")
    config = place.form.write(place.state / "c.json", json.dumps({"commands": {"userTools": False}}))
    config.chmod(0o600)
    done = place.run("--config", config, "--", "sh", "-c", "echo $PATH; tool-x", path=("bin",))
    check(done.stdout.decode() == SYSTEM + "\n" and done.returncode == 127, done)
    # The workspace's own settings may switch it off, too late to hide what is there but never on.
    other = place.tool("workspace/sandgate.json", json.dumps({"commands": {"userTools": True}}), 0o644).parent
    done = place.run("--config", config, "--workspace", other, "--", "tool-x", path=("bin",))
    check(done.returncode == 127, done)


@with_home
def identity(place):
    """Name and address for commits, beneath what a repository says itself, and nothing else of the configuration."""
    place.tool(".gitconfig", '[user]\n\tname = "A \\"P\\" Person"\n\temail = a@b.example\n[alias]\n\tst = status\n[core]\n\tpager = false\n', 0o600)
    commit = "cd $(mktemp -d); git init -q r; cd r; touch a; git add a; {} git commit -qsm one; git log -1 --format='%an|%ae|%cn|%b' | cat"
    check(place.text("--", "sh", "-c", commit.format("")).split("\n")[0] == 'A "P" Person|a@b.example|A "P" Person|Signed-off-by: A "P" Person <a@b.example>', "who")
    own = "git config user.name Own;"
    text = place.text("--", "sh", "-c", commit.format(own))
    check(text.startswith("Own|a@b.example|Own|"), text)
    text = place.text("--", "sh", "-c", "git config -l; cat ~/.gitconfig 2>&1; echo; echo x 2>&1 > $GIT_CONFIG_SYSTEM; true")
    check("alias" not in text and "pager" not in text, text)
    place.tool("other", "[user]\n\temail = other@b\n", 0o600)
    text = place.text("--", "git", "config", "user.email", env={"GIT_CONFIG_GLOBAL": str(place.base / "other")})
    check(text == "other@b\n", text)
    config = place.form.write(place.state / "g.json", json.dumps({"commands": {"gitIdentity": False}}))
    config.chmod(0o600)
    done = place.run("--config", config, "--", "git", "config", "user.name")
    check(done.stdout == b"", done)


@with_home
def no_network(place):
    """Package managers do not try again where nothing can come of it."""
    names = ("npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY")
    look = ["sh", "-c", "; ".join(f"echo ${name}" for name in names)]
    check(place.text("--", *look).split() == ["0", "0", "0"], "set")
    check(place.text("--env", "PIP_RETRIES=5", "--", *look).split() == ["0", "5", "0"], "one's own counts")
    ask = "import urllib.request; urllib.request.urlopen('http://nothing.example')"
    began = time.monotonic()
    done = place.run("--", "/usr/bin/python3", "-c", ask)
    check(done.returncode == 1 and b"the sandbox has no network" in done.stderr, done)
    check(time.monotonic() - began < lib.SECONDS / 2, "it waits")
    check(b"no network" not in place.run("--quiet", "--", "/usr/bin/python3", "-c", ask).stderr, "--quiet")
    check(b"no network" not in place.run("--", "sh", "-c", "echo EAI_AGAIN; true").stderr, "one that succeeds")
    long = "for i in $(seq 3000); do echo EAI_AGAIN $i; done; seq 2000; exit 1"
    check(b"no network" not in place.run("--", "bash", "-c", long).stderr, "long before its end")
    call = json.dumps({"argv": ["/usr/bin/python3", "-c", ask]})
    done = place.form.run(place.state, "call", "run_command", call, "--workspace", place.workspace)
    check("no network" in json.loads(done.stdout)["result"]["hint"], done)


CASES = [
    ("tools on PATH", shown),
    ("homes by other names", homes),
    ("tools that are left out", left_out),
    ("who commits", identity),
    ("no network", no_network),
]

if __name__ == "__main__":
    lib.run_cases(CASES)
