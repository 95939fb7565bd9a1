#!/usr/bin/env python3
"""The clients: each is packaged, installed from its package, and run against real gates by its own tests."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import lib
from lib import check, note

CLIENTS = lib.ROOT / "clients"
NODE_TOOLS = lib.ROOT / ".deps/node/node_modules"
# Not one that only root can reach: plain users run it too.
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
RESULT = re.compile(r"(ok|not ok) \d+ - (.*)")


def run(argv, cwd, env, seconds=90, **more):
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        umask=0o022,
        check=False,
        **more,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def must(argv, cwd, env, **more):
    status, text = run(argv, cwd, env, **more)
    check(status == 0, f"{' '.join(map(str, argv))}: status {status}\n{text}")
    return text


class Packages:
    """Both packages, built and installed in a scratch folder."""

    def __init__(self):
        self.base = lib.scratch("clients-")
        home = self.base / "home"
        home.mkdir()
        self.env = {**lib.environment(home), "SANDGATE": str(lib.BINARY), "PYTHONDONTWRITEBYTECODE": "1"}
        self.env["npm_config_update_notifier"] = "false"
        self.fake_gate = self.base / "fake_gate.py"
        text = (CLIENTS / "fake_gate.py").read_text(encoding="utf-8").partition("\n")[2]
        self.fake_gate.write_text(f"#!{PYTHON} -S\n{text}", encoding="utf-8")
        self.fake_gate.chmod(0o755)
        self.venv = self.base / "venv"
        self.app = self.base / "app"

    def copy(self, name):
        kept = shutil.ignore_patterns("node_modules", "dist", "__pycache__")
        return pathlib.Path(shutil.copytree(CLIENTS / name, self.base / name, ignore=kept))

    def python(self):
        """A wheel, the same wheel by way of the source archive, and an installation; nothing is fetched."""
        source = self.copy("python")
        must([PYTHON, "-m", "venv", self.venv], self.base, self.env)
        pip = [self.venv / "bin/pip", "--disable-pip-version-check", "--no-cache-dir"]
        must([*pip, "wheel", "-q", "--no-index", "-w", self.base / "wheel", source], self.base, self.env)
        build = "import backend, sys; print(backend.build_sdist(sys.argv[1]))"
        archive = must([PYTHON, "-c", build, self.base], source, self.env).strip()
        again = self.base / "wheel-again"
        must([*pip, "wheel", "-q", "--no-index", "-w", again, self.base / archive], self.base, self.env)
        (wheel,), (other,) = (self.base / "wheel").iterdir(), again.iterdir()
        check(wheel.read_bytes() == other.read_bytes(), "the source archive gives another wheel")
        check("sandgate/py.typed" in zipfile.ZipFile(wheel).namelist(), "the types are not marked as such")
        must([*pip, "install", "-q", "--no-index", wheel], self.base, self.env)
        must([*pip, "check"], self.base, self.env)

    def typescript(self):
        """A package with compiled sources, installed into a program of its own without fetching anything."""
        check((NODE_TOOLS / ".bin/tsc").exists(), "the compiler is missing: run scripts/setup.sh test")
        source = self.copy("typescript")
        os.symlink(NODE_TOOLS, source / "node_modules")
        must(["npm", "pack", "--silent", "--pack-destination", self.base], source, self.env)
        (package,) = self.base.glob("sandgate-*.tgz")
        self.app.mkdir()
        (self.app / "package.json").write_text('{"private": true, "type": "module"}\n')
        must(["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", package], self.app, self.env)
        names = sorted(p.name for p in (self.app / "node_modules/sandgate").iterdir())
        check(names == ["README.md", "dist", "package.json"], f"the package holds {names}")
        for path in (source / "test").iterdir():
            shutil.copy(path, self.app)

    def consumer(self):
        """A program that uses the types compiles, and one that misuses them does not: without Node's types, which are not
        always there, and with them; with the library's own declarations checked as well."""
        roots = ["--typeRoots", NODE_TOOLS / "@types"]
        for target, types in (("es2022", []), ("es2018", []), ("es2022", ["--types", "node", *roots])):
            words = ["--strict", "--noEmit", "--module", "nodenext", "--target", target]
            must([NODE_TOOLS / ".bin/tsc", *words, *types, "consumer.ts"], self.app, self.env)

    def folders(self):
        """`npm install FOLDER` and `pip install FOLDER`: what was not built before works."""
        app = self.base / "by-folder"
        app.mkdir()
        shutil.rmtree(self.base / "typescript/dist")
        (app / "package.json").write_text('{"private": true, "type": "module"}\n')
        must(["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "../typescript"], app, self.env)
        said = must(["node", "-e", "import('sandgate').then(m => console.log(typeof m.Gate))"], app, self.env)
        check(said == "function\n", said)
        venv = self.base / "venv-folder"
        must([PYTHON, "-m", "venv", venv], self.base, self.env)
        must([venv / "bin/pip", "--disable-pip-version-check", "--no-cache-dir", "install", "-q", "--no-index",
              self.base / "python"], self.base, self.env)  # fmt: skip
        must([venv / "bin/python", "-c", "import sandgate; sandgate.Gate"], app, self.env)


def own_tests(packages, form):
    """The clients' own test programs, to be run as the form."""
    place = form.folder("tests", 0o711)
    home = form.folder("tests-home", 0o700)
    env = {
        **lib.environment(home),
        "SANDGATE": str(form.binary),
        "FAKE_GATE": str(packages.fake_gate),
        "TMPDIR": str(place),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    tests = packages.base / "python/tests"
    for name in ("test_gate", "test_async", "test_approvals"):
        argv = [packages.venv / "bin/python", "-W", "error", tests / f"{name}.py"]
        yield f"{form.name}: python {name}", argv, place, env, form
    for name in ("gate", "approvals"):
        argv = ["node", "--test", "--test-reporter=tap", packages.app / f"{name}.test.mjs"]
        yield f"{form.name}: node {name}", argv, place, env, form


def report(tap, name, status, text):
    """One case for each of the program's own, and one for its end."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if match := RESULT.match(line):
            with tap.case(f"{name}: {match[2]}"):
                rest = lines[at + 1 :]
                end = next((n for n, other in enumerate(rest) if RESULT.match(other)), len(rest))
                check(match[1] == "ok", "\n".join(rest[:end]))
    with tap.case(f"{name}: runs to its end"):
        check(status == 0 and any(map(RESULT.match, lines)), f"status {status}\n{text[-4000:]}")


def main():
    tap = lib.Tap()
    packages = Packages()
    with tap.case("the typed methods are those of the tools"):
        must([PYTHON, CLIENTS / "generate.py", "--check", "--program", lib.BINARY], lib.ROOT, packages.env)
    with tap.case("the Python package builds and installs"):
        packages.python()
    with tap.case("the npm package builds and installs"):
        packages.typescript()
    with tap.case("the npm package's types"):
        packages.consumer()
    with tap.case("both packages from their folders"):
        packages.folders()
    programs = [program for form in lib.forms() for program in own_tests(packages, form)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, argv, place, env, **form.identity()) for _, argv, place, env, form in programs]
        for (name, *_), one in zip(programs, runs):
            try:
                report(tap, name, *one.result())
            except (OSError, subprocess.TimeoutExpired) as error:
                with tap.case(f"{name}: runs"):
                    raise AssertionError(error)
    if tap.failed:
        note(f"node {run(['node', '--version'], '/', packages.env)[1].strip()}, {PYTHON}")
    tap.done()


main()
