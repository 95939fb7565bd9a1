#!/usr/bin/env python3
"""The tools that projects are built and tested with run in a cell as they do outside it: without a network, with what a
project needs already in its folder.

Programs are those of the system; one that lies in a home is used where the gate may read it there. The project is that
of tests/sdk/toolchains, in five languages.
"""
# timeout: 1200

import functools
import json
import os
import pathlib
import shutil
import subprocess

import lib
from lib import Gate, check, short

PROJECT = lib.ROOT / "tests/sdk/toolchains"
# What the PATH of commands has; and where programs of the system lie besides.
PATH = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
MORE = ["/usr/local/go/bin", "/usr/lib/go/bin", *os.environ.get("PATH", "").split(":")]
SYSTEM = ("/usr/", "/bin/", "/sbin/", "/opt/", "/nix/store/")
# A compiler that starts with empty caches, on a busy machine.
COMMAND_SECONDS = 400
GIT_ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

CHANGES = """set -eux
git config --global user.name Agent
git config --global user.email agent@example.org
git init -q --initial-branch=main new
cd new
printf 'one\\ntwo\\n' >text
git add text
git commit -q -m first
git switch -q -c side
echo side >other
git add other
git commit -q -m second
git switch -q main
echo three >>text
git diff --exit-code && exit 1
git stash -q
git diff --exit-code
git stash pop -q
git commit -q -a -m third
git merge -q -m merged side
test "$(git log --format=%s --topo-order -n 1)" = merged
git gc -q
git fsck --strict
git branch -d side
git status --porcelain
"""


def is_of_system(path):
    return os.path.realpath(path).startswith(SYSTEM)


@functools.lru_cache
def find(program):
    """The folder where a cell shows a program of the system."""
    for folder in [*PATH, *MORE]:
        path = os.path.join(folder, program)
        if is_of_system(folder) and os.access(path, os.X_OK) and is_of_system(path):
            return folder
    return None


class Suite:
    def __init__(self, tap, form, sdk):
        self.tap = tap
        self.form = form
        self.sdk = sdk
        self.folder = self.make_project()
        if find("git"):
            self.make_repository()
        found = {find(name) for name in ("node", "npm", "go", "cargo", "rustc")} - {None, *PATH}
        self.config = self.write_config("config", path=sorted(found))
        self.gate = Gate(form, "--config", self.config, workspace=self.folder)

    def write_config(self, name, **commands):
        """`show` and `path`: lists of folders."""
        return self.form.write(self.form.base / f"{name}.json", json.dumps({"commands": commands}))

    def make_project(self):
        folder = self.form.base / "project"
        shutil.copytree(PROJECT, folder)
        shutil.copytree(self.sdk["npm"] / "node_modules", folder / "node_modules", symlinks=True)
        shutil.copytree(self.sdk["crates"], folder / "crates")
        shutil.copytree(self.sdk["python"], folder / "site")
        (folder / ".cargo").mkdir()
        (folder / ".cargo/config.toml").write_text(
            '[source.crates-io]\nreplace-with = "crates"\n[source.crates]\ndirectory = "crates"\n', encoding="ascii"
        )
        for above, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                self.form.own(pathlib.Path(above, name))
        return folder

    def make_repository(self):
        """As the operator has one; before the gate starts, which then knows what is in it."""
        folder = self.form.folder("project/old")
        for words in ("init -q", "config user.name Owner", "config user.email owner@example.org"):
            subprocess.run(["git", *words.split()], cwd=folder, env=GIT_ENV, check=True, **self.form.identity())

    def case(self, name):
        return self.tap.case(f"{self.form.name}: {name}")

    def run(self, command, gate=None, made=(), **more):
        """What a command that must succeed printed, standard error behind the rest. `made` is told of it."""
        result = (gate or self.gate).call(
            "run_command", COMMAND_SECONDS, command=command, timeout_ms=(COMMAND_SECONDS - 10) * 1000, **more
        )
        check(result.get("ok") is True, f"{command}: {short(result)}")
        answer = result["result"]
        text = answer["stdout"] + answer["stderr"]
        check(
            answer["exit_code"] == 0 and [v["call"] for v in answer.get("violations", [])] == list(made),
            f"{command}: exit code {answer['exit_code']}, {answer.get('violations')}\n{text[-4000:]}",
        )
        return text

    def system_case(self, name, programs, test):
        lacking = [program for program in programs if not find(program)]
        if lacking:
            self.tap.count += 1
            print(f"ok {self.tap.count} - {self.form.name}: {name} # SKIP the system has no {' '.join(lacking)}")
            return
        with self.case(name):
            test(self)


# --- with programs of the system


def who(suite):
    said = suite.run("whoami && id -un && id -gn && echo ~ ~agent && getent passwd $(id -u)")
    check(said.split()[:5] == ["agent", "agent", "agent", "/home/agent", "/home/agent"], said)
    said = suite.run("! echo agent:x:0:0::/:/bin/sh >>/etc/passwd && ! chmod u+w /etc/passwd && ! rm /etc/group")
    check("denied" in said and "Read-only" in said, said)


def node(suite):
    said = suite.run("npm test")
    check("pass 5" in said and "fail 0" in said, said)


def rust(suite):
    said = suite.run("cargo test --offline --locked")
    check("3 passed; 0 failed" in said and "Doc-tests small" in said and "1 passed; 0 failed" in said, said)
    said = suite.run("cargo run --offline 2>&1 || true")
    check("a bin target must be available" in said, said)


def go(suite):
    said = suite.run("go test -v ./... && go vet ./...", cwd="go")
    check(said.count("--- PASS: ") == 3 and "\nok" in said, said)


def python(suite):
    suite.run(f"{find('python3')}/python3 -m venv --without-pip .venv && mv site/* .venv/lib/python3*/site-packages/")
    said = suite.run(".venv/bin/python -m pytest -q python")
    check("6 passed" in said, said)


def make(suite):
    said = suite.run("make -j2 test", cwd="c")
    check("C says 42" in said and "C++ says 42" in said, said)
    said = suite.run("make test", cwd="c")
    check("-O2" not in said, f"make does not know what is new: {said}")


def sanitizer(suite):
    """It looks for leaks by tracing itself, which is refused; the answer says how to go on."""
    suite.run("gcc -fsanitize=address -o checked plain.c -lm -pthread", cwd="c")
    result = suite.gate.ok("run_command", command="./checked", cwd="c")
    if suite.run("ulimit -d") != "unlimited\n":
        # No control group counts its memory. It reserves terabytes, which nobody can tell from using them.
        check("failed to allocate" in result["stderr"], short(result))
        return
    check(result["exit_code"] != 0 and "ASAN_OPTIONS=detect_leaks=0" in result["hint"], short(result))
    check([v["call"] for v in result["violations"]] == ["ptrace"], short(result))
    check("C says 42" in suite.run("./checked", cwd="c", env={"ASAN_OPTIONS": "detect_leaks=0"}), "it does not run")


def git(suite):
    said = suite.run(CHANGES, made=["created:new/.git"])
    check("error" not in said and "+ git status --porcelain" in said.splitlines()[-1], said)


def git_of_others(suite):
    """Its settings count, and no command changes them."""
    line = "echo text >text && git add text && git commit -q -m first && git switch -q -c side"
    done = suite.form.run(
        suite.gate.home, "run", "--git", "--workspace", suite.folder, "--cwd", "old", "--config", suite.config,
        "--", "sh", "-c", line,
    )
    check(done.returncode == 0, f"{done.returncode}: {done.stdout + done.stderr}")
    check(suite.run("git log -n 1 --format=%an", cwd="old") == "Owner\n", "its settings do not count")
    said = suite.run("! git config user.name Other && ! touch .git/hooks/pre-commit", cwd="old")
    check("Read-only" in said and b"Owner" in (suite.folder / "old/.git/config").read_bytes(), said)


def from_terminal(suite):
    done = suite.form.run(
        suite.gate.home, "run", "--workspace", suite.folder, "--config", suite.config, "--", "npm", "test"
    )
    said = done.stdout.decode() + done.stderr.decode()
    check(done.returncode == 0 and "pass 5" in said, f"{done.returncode}: {said}")


# --- with programs that lie in a home


def shown_tool(suite):
    """A made-up one: whatever this machine has."""
    folder = suite.form.folder("home/tools/bin")
    tool = suite.form.write(folder / "measure", "#!/bin/sh\necho measured with $(cat $(dirname $0)/../scale)\n")
    tool.chmod(0o755)
    suite.form.write(folder.parent / "scale", "metres\n")
    suite.form.write(folder.parent.parent / "private", "secret\n")
    config = suite.write_config("shown", show=[str(folder.parent)], path=[str(folder)])
    with Gate(suite.form, "--config", config, workspace=suite.folder) as gate:
        check(suite.run("measure", gate) == "measured with metres\n", "the tool does not run")
        said = suite.run(f"! touch {folder}/new && ! cat {folder.parent.parent}/private", gate)
        check("Read-only" in said and "No such file" in said, said)


def may_read(form, path):
    """Whether a gate of this form gets to a folder, and the cell's user may look into it."""
    if not form.is_root:
        test = ["test", "-x", path, "-a", "-r", path]
        return subprocess.run(test, check=False, **form.identity()).returncode == 0
    return os.path.isdir(path) and os.stat(path).st_mode & 0o005 == 0o005


def rustup(suite, home):
    config = suite.write_config(
        "rustup", show=[str(home / ".cargo/bin"), str(home / ".rustup")], path=[str(home / ".cargo/bin")]
    )
    with Gate(suite.form, "--config", config, workspace=suite.folder) as gate:
        env = {"RUSTUP_HOME": str(home / ".rustup"), "CARGO_TARGET_DIR": "/tmp/target"}
        said = suite.run("command -v cargo && rustc --print sysroot && cargo test --offline --locked", gate, env=env)
        check(str(home / ".rustup/toolchains") in said and "3 passed; 0 failed" in said, said)


def versions(suite, home, program, argument):
    """Of pyenv and nvm: the folder of a version is enough."""
    prefix = sorted(home.glob(f"{program[0]}/*/bin/{program[1]}"))[-1].parents[1]
    config = suite.write_config("versions", show=[str(prefix)], path=[str(prefix / "bin")])
    with Gate(suite.form, "--config", config, workspace=suite.folder) as gate:
        said = suite.run(f"command -v {program[1]} && {program[1]} {argument}", gate)
        check(str(prefix) in said.splitlines()[0] and said.splitlines()[1] == "42", said)


def from_homes(suite):
    home = pathlib.Path.home()
    with suite.case("a tool in a home that commands are shown"):
        shown_tool(suite)
    if (home / ".cargo/bin/rustup").exists() and may_read(suite.form, home / ".rustup/toolchains"):
        with suite.case("rustup in a home"):
            rustup(suite, home)
    for name, program, argument in [
        ("pyenv", (".pyenv/versions", "python3"), "-c 'import json, sqlite3; print(6 * 7)'"),
        ("nvm", (".nvm/versions/node", "node"), "-p 6*7"),
    ]:
        if any(home.glob(f"{program[0]}/*/bin/{program[1]}")) and may_read(suite.form, home / program[0]):
            with suite.case(f"{name} in a home"):
                versions(suite, home, program, argument)


def main():
    sdk, why = lib.install_sdk("toolchains")
    if not sdk:
        print(f"1..0 # SKIP {why}")
        return
    tap = lib.Tap()
    for form in lib.forms():
        suite = Suite(tap, form, sdk)
        with suite.gate:
            suite.system_case("commands have a user with a name", [], who)
            suite.system_case("npm test", ["node", "npm"], node)
            suite.system_case("npm test, by `sandgate run`", ["node", "npm"], from_terminal)
            suite.system_case("cargo test", ["cargo", "rustc"], rust)
            suite.system_case("go test", ["go"], go)
            suite.system_case("pytest in a venv", ["python3"], python)
            suite.system_case("make with gcc and g++", ["make", "gcc", "g++"], make)
            suite.system_case("AddressSanitizer", ["gcc"], sanitizer)
            suite.system_case("git: commit, branch, stash, diff, merge", ["git"], git)
            suite.system_case("git in a repository of the operator's", ["git"], git_of_others)
            from_homes(suite)
    tap.done()


if __name__ == "__main__":
    main()
