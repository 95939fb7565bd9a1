#!/usr/bin/python3
"""The client library for C: installed, linked as its users link it, and used against gates real and false."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import lib
from lib import check, note, wait_until

REAL = """calls bad_arguments in_flight both_ways_full call_among_sends cancel timeout killed killed_before_sending
answers_outlive_the_gate close_in_flight wrong_program wrong_workspace which_options dialect session tools with_poll
without_standard_descriptors signals descriptors_are_closed_on_exec threads output output_cancels output_unheard
approve_once approve_session approve_always approve_refused approve_later approve_too_late approve_elsewhere approve_many
killed_while_asking nobody_is_asked""".split()

# Programs that take the place of a gate: what they do once they are started. `ask()` reads one call.
OK = 'print(\'{"id":"%d","result":{"ok":true}}\' % n, flush=True)'
FALSE = {
    "endless_words": f"""
for n in range(1, 6):
    ask()
    try: os.write(2, b"word " * 100000)
    except BlockingIOError: pass
    {OK}
""",
    "pieces": """
for n in (1, 2):
    ask()
    for c in '{"id":"%d","result":{"ok":true}}\\n' % n:
        sys.stdout.write(c); sys.stdout.flush()
""",
    "large": """
for n in (1, 2, 3):
    ask()
    print('{"id":"%d","result":{"a":"%s"}}' % (n, "x" * (20 << 20)), flush=True)
""",
    "too_large": 'ask(); print("x" * (4 << 20), flush=True)',
    "deaf": "time.sleep(60)",
    "last_words": """
ask()
for n in range(1, 2000): print("line", n, file=sys.stderr)
print("\\033[1mthe last straw", file=sys.stderr)
sys.stdout.write('{"id":"1","res'); sys.stdout.flush()
os._exit(7)
""",
    # As a shell tells of a program that was killed by signal 9.
    "high_status": "ask(); os._exit(137)",
    "nameless": """
for _ in range(3): ask()
for i, word in (('"3"', "three"), ("null", "nobody"), ('"1"', "one")):
    print('{"id":%s,"result":{"a":"%s"}}' % (i, word), flush=True)
""",
    "events": """
for n in (1, 2):
    ask()
    for i in ('"id":"%d",' % n, '"id":null,', "", '"id":"99",'):
        print('{%s"event":"news","of":{}}' % i)
        print('{%s"event":"output","stream":"stdout","data":"heard\\\\n"}' % i)
    print('{"id":"%d","event":"output","stream":"stderr","skipped":7,"data":"%s"}' % (n, "x" * 65536))
    print('{"id":"%d","result":{"ok":true}}' % n, flush=True)
""",
    # Each of the first lines lacks something; what is approved must be the one that is whole.
    "approval_events": r"""
ask()
whole = '"id":"99999999999999999999","tool":"t","summary":"s","detail":"a\\n\\u00e9","rule":"r","expiresAt":"2026-11-15T23:01:29.226Z"'
for line in (
    '"event":"approval"', '"event":"approval","requestId":null,' + whole, '"event":"approval","requestId":"",' + whole,
    '"event":"approval","requestId":"a b",' + whole, '"event":"approval","requestId":"' + "a" * 16 + '",' + whole,
    '"event":"approval","requestId":7,' + whole, '"event":"approval","requestId":["bad"],' + whole,
    '"event":"approval","requestId":"bad","requestId":"bad",' + whole, '"event":"approval","requestId":"bad",' + whole + ',"more":{}',
    '"event":"approval","requestId":"bad\\u0000",' + whole, '"event":"approval","requestId":"bad",' + whole[:-1],
    *('"event":"approval","requestId":"bad",' + whole.replace('"%s":' % name, '"%s":null,"_":' % name) for name in
      ("tool", "summary", "detail", "rule", "expiresAt")),
    '"event":"approval","requestId":"bad",' + whole.replace('"s"', '7'), '"event":"approved","requestId":"bad",' + whole,
    '"event":"approval_over","requestId":"bad","state":"approved","by":"me"', '"event":"error","requestId":null,"message":"x"',
    '"event":"error","requestId":"bad"', '"event":"error","requestId":"other","message":"of another"',
    '"event":"approval","requestId":"good","new":true,"n":-1.5e3,' + whole, '"event":"approval","requestId":"good",' + whole,
): print("{" + line + "}")
sys.stdout.flush()
said = ask().strip()
print('{"event":"approval_over","requestId":"good","state":"vanished","by":null}')
print('{"id":"1","result":{"said":%s}}' % said, flush=True)
ask()
""",
    "tools_timeout": "time.sleep(60)",
}
# What is no answer, and a part of what is said about it.
NO_ANSWERS = {
    "nonsense \\033[2J": "nonsense",
    "": "no answer",
    '{"id":"2","result":{}}': "not given",
    '{"id":1,"result":{}}': "no answer",
    '{"id":"1","result":{}': "no answer",
    "\\0\\0": "no answer",
}


def run(argv, **how):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=250, check=False, **how)
    check(done.returncode == 0, f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed:
    """What `meson install` puts into a tree, found as a user finds it."""

    def __init__(self, base):
        self.root = base / "tree"
        run(["meson", "install", "-C", lib.BUILD, "--no-rebuild", "--quiet", "--destdir", self.root])
        (found,) = self.root.rglob("sandgate.pc")
        self.libs = found.parent.parent
        self.prefix = self.libs.parent if (self.libs.parent / "include").is_dir() else self.libs.parent.parent
        # With the prefix /usr its folders would be left out, since compilers look there anyway.
        self.env = {**os.environ, "PKG_CONFIG_PATH": str(found.parent), "PKG_CONFIG_SYSROOT_DIR": str(self.root),
                    "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
        for path in self.root.rglob("*"):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
        self.flags = run(["pkg-config", "--cflags", "--libs", "sandgate"], env=self.env).split()
        self.static = [f for f in self.flags if f.startswith("-I")] + [self.libs / "libsandgate-client.a"]

    def check_files(self):
        wanted = ["bin/sandgate", "include/sandgate.h", "share/man/man3/libsandgate.3",
                  "share/doc/sandgate/examples/client.c"]
        for name in wanted:
            check((self.prefix / name).is_file(), f"{name} is not installed")
        for name in ["libsandgate-client.a", "libsandgate-client.so", "libsandgate-client.so.0"]:
            check((self.libs / name).is_file(), f"{name} is not installed")
        dynamic = run(["readelf", "-d", self.libs / "libsandgate-client.so"])
        check("[libsandgate-client.so.0]" in dynamic, dynamic)
        needed = [line for line in dynamic.splitlines() if "(NEEDED)" in line and "san.so" not in line]
        check(all("libc.so" in line or "ld-linux" in line for line in needed), needed)

    def check_symbols(self):
        header = (self.prefix / "include/sandgate.h").read_text()
        exported = {line.split()[-1] for line in run(["nm", "-D", "--defined-only",
                                                      self.libs / "libsandgate-client.so"]).splitlines()}
        exported = {name for name in exported if not name.startswith(("__asan", "__ubsan", "__odr_asan"))}
        check(exported and all(f" {name}(" in header or f"*{name}(" in header for name in exported), exported)
        declared = {word.split("(")[0].lstrip("*") for line in header.splitlines() if "SANDGATE_PUBLIC " in line
                    for word in line.split() if "(" in word and word.lstrip("*").startswith("sandgate_")}
        check(declared == exported, f"declared {declared}, exported {exported}")
        for line in run(["nm", "-g", "--defined-only", self.libs / "libsandgate-client.a"]).splitlines():
            check(len(line.split()) < 3 or line.split()[2].startswith("sandgate_"), f"in everybody's way: {line}")


def sources():
    return sorted((lib.ROOT / "clients/c").glob("*.c"))


def compilers():
    """Each with the words that make it compile C11 or C++17. Set-up sees to gcc's; others are a bonus."""
    for name, words in [("gcc", ["-std=c11"]), ("clang", ["-std=c11"]), ("g++", ["-x", "c++", "-std=c++17"]),
                        ("clang++", ["-x", "c++", "-std=c++17"])]:
        if shutil.which(name) or not name.startswith("clang"):
            yield name, words
        else:
            note(f"{name} is not here: gcc's has to do")


def build_example(installed, base, compiler, words):
    source = installed.prefix / "share/doc/sandgate/examples/client.c"
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    made = base / f"example-{compiler}"
    run([compiler, *words, *strict, source, "-x", "none", "-o", made, *installed.flags], env=installed.env)
    run([compiler, *words, *strict, source, "-x", "none", "-o", f"{made}-static", *installed.static])
    return [made, pathlib.Path(f"{made}-static")]


class Place:
    """A user's folders, and programs started there as that user."""

    def __init__(self, form, installed):
        self.form = form
        self.home = form.folder("home", 0o700)
        self.workspace = form.folder("ws")
        form.write(self.workspace / "a.txt", "alpha\n")
        form.write(self.workspace / "megabyte", "m" * (1 << 20))
        with open(form.write(self.workspace / "slow", ""), "r+b") as slow:
            slow.truncate(8 << 30)
        self.env = {**lib.environment(self.home), "SANDGATE": str(form.binary), "LD_LIBRARY_PATH": str(installed.libs)}

    def start(self, argv, **how):
        how = {"env": self.env, "cwd": "/", "stdout": subprocess.PIPE, "text": True, **how}
        return subprocess.Popen([str(a) for a in argv], **how, **self.form.identity())

    def run(self, *argv, gate=None):
        env = {**self.env, **({"SANDGATE": str(gate)} if gate else {})}
        with self.start(argv, env=env, stderr=subprocess.STDOUT) as process:
            said = process.communicate(timeout=120)[0]
        check(process.returncode == 0, f"{' '.join(map(str, argv[1:]))}: status {process.returncode}\n{said}")
        return said

    def more(self, name):
        if name in ("approve_too_late", "nobody_is_asked"):
            return [self.form.write(self.home / "hasty.json", '{"approval":{"timeoutMs":300}}')]
        if name != "session":
            return []
        made = self.form.run(self.home, "session", "create", "--workspace", self.workspace)
        check(made.returncode == 0, made.stderr)
        return [made.stdout.decode().strip()]

    def all_gone(self):
        wait_until(lambda: not lib.running(self.form.binary), "every gate and cell is gone")


def false_gate(base, name, code):
    path = base / f"gate-{name}"
    # Another user may not be allowed to start the Python that runs this.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    path.write_text(f"#!{python} -u\nimport os, sys, time\n"
                    f"def ask(): return sys.stdin.readline() or os._exit(0)\n{code}\n")
    path.chmod(0o755)
    return path


def left_alone(place, program, more):
    with place.start([program, "left_alone", place.workspace, *more]) as host:
        gate = int(host.stdout.readline())
        check(lib.alive(gate), "the gate runs")
        host.send_signal(signal.SIGKILL)
    wait_until(lambda: not lib.alive(gate), "the gate has ended with its host")
    place.all_gone()


def protocol_errors(place, base, program):
    for number, (text, part) in enumerate(NO_ANSWERS.items()):
        gate = false_gate(base, f"no-answer-{number}", f"ask()\nprint('{text}', flush=True)\nask()")
        place.run(program, "protocol_error", place.workspace, part, gate=gate)
    for number, i in enumerate(['"1"', "null"]):
        gate = false_gate(base, f"twice-{number}", f"ask()\nprint('{{\"id\":{i},\"result\":{{}}}}\\n' * 2)\nask()")
        place.run(program, "one_answer_too_many", place.workspace, gate=gate)


def examples(place, programs):
    for program in programs:
        said = place.run(program, place.workspace, "read_file", '{"path":"a.txt"}', "stat", '{"path":"none"}')
        lines = dict(line.split(" ", 1) for line in said.splitlines())
        check('"content":"alpha\\n"' in lines["1"] and "NOT_FOUND" in lines["2"], said)
        check(place.run(program, "--tools").startswith('[{"type":"function"'), "the tools are listed")


def cases(tap, place, base, program, kind):
    where = f"{kind}, {place.form.name}"
    for name in REAL:
        with tap.case(f"{where}: {name}"):
            place.run(program, name, place.workspace, *place.more(name))
            place.all_gone()
    for name, code in FALSE.items():
        with tap.case(f"{where}: {name}"):
            place.run(program, name, place.workspace, gate=false_gate(base, name, code))
    with tap.case(f"{where}: what is no answer"):
        protocol_errors(place, base, program)
    with tap.case(f"{where}: the gate ends when its host is killed"):
        left_alone(place, program, [])
    with tap.case(f"{where}: the gate ends when its host is killed during a call, after that call's time"):
        config = place.form.write(place.home / "short.json", '{"runtime":{"timeoutSecs":2}}')
        left_alone(place, program, [config])


def sanitized(base, kind):
    """The test with the library's sources."""
    made = base / f"clib-{kind.partition(',')[0]}"
    run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O1", f"-fsanitize={kind}", "-fno-sanitize-recover=all",
         "-I", lib.ROOT / "include", "-I", lib.ROOT / "src", lib.ROOT / "tests/e2e/clib.c", *sources(),
         "-pthread", "-o", made])
    return made


def main():
    tap = lib.Tap()
    forms = lib.forms()
    base = forms[0].base.parent
    installed = Installed(base)
    with tap.case("what is installed"):
        installed.check_files()
    with tap.case("the library defines what the header declares, and no other names"):
        installed.check_symbols()
    program = base / "clib"
    run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
         lib.ROOT / "tests/e2e/clib.c", "-o", program, *installed.flags], env=installed.env)
    places = [Place(form, installed) for form in forms]
    for compiler, words in compilers():
        with tap.case(f"the example with {compiler} {words[-1]}"):
            programs = build_example(installed, base, compiler, words)
            for place in places:
                examples(place, programs)
    for place in places:
        cases(tap, place, base, program, "installed")
    cases(tap, places[-1], base, sanitized(base, "address,undefined"), "ASan")
    with tap.case("TSan: threads"):
        places[-1].run(sanitized(base, "thread"), "threads", places[-1].workspace)
    tap.done()


if __name__ == "__main__":
    main()
