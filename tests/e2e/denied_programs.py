#!/usr/bin/env python3
"""A program that a rule denies does not start, however it is started. Prints TAP."""
# timeout: 400

import contextlib
import json
import os
import pathlib
import shutil

import lib
from denied_ways import WAYS
from lib import Gate, check

LEAST = 100  # of the ways must work here where nothing is denied: else little is shown
UNSET = {"SANDGATE_APPROVAL_DEFAULT": None}


def rules(*denied, tool="run_command", more=()):
    return [*more, {"toolName": tool, "action": "deny", "condition": {"command": {"program": list(denied)}}},
            {"toolName": tool, "action": "approve"}]


class Place:
    def __init__(self, form, name, config):
        self.form = form
        self.workspace = form.folder(f"{name}/ws")
        self.home = form.folder(f"{name}/home", 0o700)
        self.config = form.write(form.base / name / "config.json", json.dumps(config))

    def gate(self, *options, dialect="native"):
        return Gate(self.form, "--config", self.config, "--dialect", dialect, *options, workspace=self.workspace,
                    state=self.home, env=UNSET)

    def script(self, text):
        """Put into a file, which no rule about texts looks into. It works in a new folder."""
        path = self.form.write(self.workspace / "way", f"#!/bin/bash\nexec < /dev/null; rm -rf d; mkdir d; cd d\n{text}\n")
        path.chmod(0o755)
        return "./way"

    def made(self):
        return (self.workspace / "d/made").exists()

    def run(self, *words):
        return self.form.run(self.home, *words, "--config", self.config, "--workspace", self.workspace, env=UNSET)


def approving(*denied, **more):
    return {"approval": {"default": "approve", "rules": rules(*denied, **more)}}


def run_all(place, gate):
    """Each way in a folder of its own, from a file, which no rule about texts looks into. Those that made the file."""
    for number, text in enumerate(WAYS.values()):
        place.form.write(place.form.folder(f"{place.workspace}/{number}") / "way", text)
    gate.ok("run_command", seconds=150, timeout_ms=120000, command=place.script(
        f"cd ..; for n in $(seq 0 {len(WAYS) - 1}); do (cd $n; timeout 5 bash ./way > log 2>&1 < /dev/null); done"))
    return [name for number, name in enumerate(WAYS) if (place.workspace / f"{number}/made").exists()]


def ways(form):
    """of all ways to start a denied program none does"""
    free = Place(form, "free", {"approval": {"default": "approve"}})
    with free.gate() as gate:
        works = run_all(free, gate)
    check(len(works) >= LEAST, f"only {len(works)} ways work without the rule; not {sorted(set(WAYS) - set(works))}")
    place = Place(form, "denied", approving("touch"))
    with place.gate() as gate:
        through = run_all(place, gate)
        check(not through, f"these got through: {through}")
        for name in works:
            answer = gate.call("run_command", command=f"mkdir -p d; cd d\n{WAYS[name]}", timeout_ms=5000)
            check(not place.made(), f"{name} got through as a line: {lib.short(answer)}")


def says(form):
    """who starts it reads the rule's name, and the answer has it among the violations"""
    place = Place(form, "says", approving("ls", "touch"))
    with place.gate() as gate:
        result = gate.ok("run_command", command=place.script("touch made; echo status $?; env touch x"))
        check(result["stdout"] == "status 126\n" and result["exit_code"] == 126, result)
        line = "sandgate: touch is denied by the rule approval.rules[0]\n"
        check(result["stderr"] == line * 2, result)
        check({"call": "denied:touch", "count": 2} in result["violations"], result)
        result = gate.ok("run_command", command="echo hello; cat way | wc -l")
        check(result["stdout"].startswith("hello\n") and not result.get("violations"), result)


def stays(form):
    """a command cannot take the stub away or replace it"""
    place = Place(form, "stays", approving("touch"))
    tries = ["umount /usr/bin/touch", "umount -l /usr/bin/touch", "unshare -rm sh -c 'umount /usr/bin/touch; touch made'",
             "unshare -m umount /usr/bin/touch", "mount --bind /usr/bin/true /usr/bin/touch", "rm -f /usr/bin/touch",
             "chmod 777 /usr/bin/touch /var/denied /var/denied/*", "mv /usr/bin/touch /usr/bin/x", "umount /var/denied",
             "cp /bin/true /usr/bin/touch", "echo x > /var/denied/0", "ln -f /bin/true /usr/bin/touch",
             "mount -o remount,rw /usr/bin/touch", "mount -t tmpfs x /usr/bin", "chroot / touch made"]
    with place.gate() as gate:
        for text in tries:
            gate.call("run_command", command=place.script(f"({text}) 2>/dev/null; touch made"))
            check(not place.made(), text)
        gate.ok("write_file", path="a", content="x")
        check((place.workspace / "a").read_text() == "x", "file tools go on")


def others(form):
    """other programs, another list and a workspace's own rule"""
    place = Place(form, "others", approving("python3"))
    with place.gate() as gate:
        script = place.script("python3 -c 1; echo $?; $(readlink -f /usr/bin/python3) -c 1; echo $?; touch made; echo $?")
        if shutil.which("python3", path="/usr/bin"):
            result = gate.ok("run_command", command=script)
            check(result["stdout"] == "126\n126\n0\n", f"what the name leads to is denied too: {result}")
    form.write(place.workspace / "sandgate.json", json.dumps({"approval": {"rules": rules("touch")[:1]}}))
    with place.gate() as gate:
        gate.call("run_command", command=place.script("touch made"))
        check(not place.made(), "the workspace's own denial holds at exec")


def alternatives(form):
    """a name that is a link by the machine's choice: what it leads to is denied"""
    place = Place(form, "alternatives", approving("awk"))
    with place.gate() as gate:
        result = gate.ok("run_command", command=place.script("awk 1; echo $?; $(readlink -f /usr/bin/awk) 1; echo $?"))
        check(result["stdout"] == "126\n126\n", result)


def families(form):
    """what one package calls its program besides, and links to its file, are denied with it"""
    place = Place(form, "families", {})
    tools = form.folder("families/tools/bin")
    package = form.folder("families/tools/lib/node_modules/npm/bin")
    for path in (tools.parent.parent, tools.parent, tools, *list(package.parents)[:4], package):
        path.chmod(0o755)
    for name, file in (("npm", "npm-cli.js"), ("npx", "npx-cli.js")):
        form.write(package / file, f"#!/bin/sh\necho {name} ran\n").chmod(0o755)
        os.symlink(f"../lib/node_modules/npm/bin/{file}", tools / name)
    os.symlink("../lib/node_modules/npm/bin/npm-cli.js", tools / "other")
    form.write(tools / "npmx", "#!/bin/sh\necho npmx ran\n").chmod(0o755)
    config = {**approving("npm"), "commands": {"show": [str(tools.parent)], "path": [str(tools)]}}
    form.write(place.config, json.dumps(config))
    with place.gate() as gate:
        result = gate.ok("run_command", command=place.script("npm; npx; other; npmx"))
        check(result["stdout"] == "npmx ran\n", result)
        error = gate.refused("POLICY_DENIED", "run_command", command="npx x")
        check("approval.rules[0]" in error["message"], error)


def many_in_one(form):
    """a file that is other programs too is not covered, and its other names work"""
    place = Place(form, "many", {})
    tools = form.folder("many/tools/bin")
    for path in (tools.parent.parent, tools.parent, tools):
        path.chmod(0o755)
    many = form.write(tools / "many", "#!/bin/sh\necho ran ${0##*/}\n")
    many.chmod(0o755)
    for name in ("one", "two"):
        os.symlink("many", tools / name)
    form.write(tools / "single", "#!/bin/sh\necho single ran\n").chmod(0o755)
    os.link(many, tools / "hard")
    config = {**approving("one", "single", "hard"), "commands": {"show": [str(tools.parent)], "path": [str(tools)]}}
    form.write(place.config, json.dumps(config))
    with place.gate() as gate:
        result = gate.ok("run_command", command=place.script("one; two; many; single; hard"))
        check("ran two\nran many\n" in result["stdout"], f"other programs of the file still run: {result}")
        check("single ran" not in result["stdout"], f"a program in a shown folder is covered: {result}")


def replaced(form):
    """a program that is replaced on the host stays denied, in a command that runs too"""
    place = Place(form, "replaced", {})
    tools = form.folder("replaced/tools")
    form.write(tools / "single", "#!/bin/sh\necho single ran\n").chmod(0o755)
    config = {**approving("single"), "commands": {"show": [str(tools)], "path": [str(tools)]}}
    form.write(place.config, json.dumps(config))
    with place.gate() as gate:
        running = gate.send("run_command", command=place.script(
            f"echo > began; until [ -e go ] && head -c 4 {tools}/single | grep -q ELF; do sleep 0.01; done; single"))
        lib.wait_until(lambda: (place.workspace / "d/began").exists(), "it begins")
        form.write(tools / "new", "#!/bin/sh\necho another ran\n").chmod(0o755)
        os.rename(tools / "new", tools / "single")
        form.write(place.workspace / "again", "#!/bin/sh\nsingle\n").chmod(0o755)
        result = gate.ok("run_command", command="./again")
        check("ran" not in result["stdout"] and "approval.rules[0]" in result["stderr"], result)
        form.write(place.workspace / "d/go", "")
        answer = gate.wait(running)
        check(answer.get("ok"), answer)
        result = answer["result"]
        check("ran" not in result["stdout"] and "approval.rules[0]" in result["stderr"], result)


def earlier(form):
    """a program that an earlier rule may allow is not denied at exec; one that it does not name is"""
    more = [{"toolName": "run_command", "action": "approve", "condition": {"command": {"program": ["touch", "make"]}}}]
    place = Place(form, "earlier", approving("touch", "mkdir", more=more))
    with place.gate() as gate:
        gate.ok("run_command", command="touch made")
        check((place.workspace / "made").exists(), "the earlier rule allows it")
        form.write(place.workspace / "Makefile", "all:\n\tmkdir folder\n")
        gate.call("run_command", command="make")
        check(not (place.workspace / "folder").exists(), "what is approved does not start what is denied")


def subcommands(form):
    """a rule about a subcommand leaves the program alone"""
    place = Place(form, "subcommands", approving("git push"))
    with place.gate() as gate:
        result = gate.ok("run_command", command=place.script("git --version"))
        check(result["stdout"].startswith("git version"), result)


def the_shell(form):
    """lines are run by bash, which is never covered for them"""
    place = Place(form, "shell", approving("bash", "touch"))
    with place.gate() as gate:
        result = gate.ok("run_command", command="echo it runs")
        check(result["stdout"] == "it runs\n", result)


def system_lists(form):
    """deniedCommands of the system dialect hold at exec"""
    place = Place(form, "system", {"approval": {"default": "approve"}, "tools": {"bash": {"deniedCommands": ["touch", "bash"]}}})
    with place.gate(dialect="system") as gate:
        for args in (["env", "touch", "made"], ["sh", "-c", "touch made"], ["xargs", "-a", "words", "touch"],
                     ["python3", "-c", "import os; os.system('touch made')"], ["env", "bash", "-c", "echo > made"]):
            form.write(place.workspace / "words", "made")
            result = gate.call("bash", command=args[0], args=args[1:])
            check(not (place.workspace / "made").exists(), f"{args}: {result}")
            check("is denied by the rule tools.bash.deniedCommands[" in result["stderr"], result)


def sidecar_list(form):
    """the sidecar's own list holds at exec"""
    place = Place(form, "sidecar", {"approval": {"default": "approve"}})
    with place.gate(dialect="sidecar") as gate:
        form.write(place.workspace / "x", "x")
        result = gate.call("run_command", command=place.script("dd if=../x of=made 2>&1; true"))
        check(not place.made() and "blocked:dd" in json.dumps(result), result)


def guests(form):
    """calls of two dialects in one session: each has the denials of its own, also while the other's run"""
    place = Place(form, "guests", {"approval": {"default": "approve"}})
    made = form.run(place.home, "session", "create", "--workspace", place.workspace, env=UNSET)
    session = made.stdout.decode().strip()
    form.write(place.workspace / "copy", "#!/bin/sh\ndd if=copy of=$1 status=none\n").chmod(0o755)
    form.write(place.workspace / "later", "#!/bin/sh\necho > began; until [ -e go ]; do sleep 0.01; done\n./copy native-3\n").chmod(0o755)
    options = ("--session", session, "--config", place.config)
    with contextlib.ExitStack() as stack:
        owner = stack.enter_context(Gate(form, *options, state=place.home, env=UNSET))
        running = owner.send("run_command", command="./later")
        lib.wait_until(lambda: (place.workspace / "began").exists(), "it begins")
        guest = stack.enter_context(Gate(form, *options, "--dialect", "sidecar", state=place.home, env=UNSET))
        for number in range(3):
            owner.ok("run_command", command=f"./copy native-{number}")
            check((place.workspace / f"native-{number}").exists(), "the native dialect denies nothing")
            result = guest.call("run_command", command=f"./copy sidecar-{number}")
            check(not (place.workspace / f"sidecar-{number}").exists(), f"the sidecar's list holds: {result}")
        form.write(place.workspace / "go", "")
        owner.wait(running)
        check((place.workspace / "native-3").exists(), "a command keeps the list that it began with")


class Shared:
    """A session that several gates are in, with programs in a folder of its own."""

    def __init__(self, form, name, programs=(), **config):
        self.tools = form.folder(f"{name}/tools")
        shown = {"commands": {"show": [str(self.tools)], "path": [str(self.tools)]}}
        self.place = Place(form, name, {"approval": {"default": "approve"}, **shown, **config})
        for program in programs:
            self.install(program)
        made = form.run(self.place.home, "session", "create", "--workspace", self.place.workspace, env=UNSET)
        self.session = made.stdout.decode().strip()

    def gate(self, dialect):
        return Gate(self.place.form, "--session", self.session, "--config", self.place.config, "--dialect", dialect,
                    state=self.place.home, env=UNSET)

    def install(self, program):
        """In the place of the one that is there, as a package manager does it."""
        self.place.form.write(self.tools / "new", f"#!/bin/sh\necho {program} ran\n").chmod(0o755)
        os.rename(self.tools / "new", self.tools / program)

    def write(self, name, text):
        self.place.form.write(self.place.workspace / name, text).chmod(0o755)

    def wait_for(self, name):
        lib.wait_until(lambda: (self.place.workspace / name).exists(), f"there is {name}")

    def covered(self, program):
        """A condition for a shell: the program's file is a stub, and not the script that was installed."""
        return f"head -c 4 {self.tools}/{program} | grep -q ELF"


def guests_guarded(form):
    """a command goes on when files are guarded anew while another dialect's list is current"""
    shared = Shared(form, "guarded", files={"secret": ["sec*"]})
    shared.write("later", "#!/bin/sh\necho > began; until [ -e go ] && ! grep -q hidden sec; do sleep 0.01; done\n"
                          "dd if=later of=made status=none\n")
    with shared.gate("native") as owner, shared.gate("sidecar") as guest:
        running = owner.send("run_command", command="./later")
        shared.wait_for("began")
        guest.call("run_command", command="true")
        shared.write("sec", "hidden")
        guest.call("run_command", command="true")
        shared.write("go", "")
        answer = owner.wait(running)
        check(answer.get("ok") and answer["result"]["exit_code"] == 0, answer)
        check((shared.place.workspace / "made").exists(), "the native dialect denies nothing")


def guests_replaced(form):
    """a program that is replaced stays denied to a command whose list is not the current one"""
    shared = Shared(form, "guests-replaced", ["dd"])
    shared.write("later", "#!/bin/sh\n" + "".join(
        f"echo > began-{n}; until [ -e go-{n} ] && {shared.covered('dd')}; do sleep 0.01; done; dd > out-{n} 2>&1\n"
        for n in range(3)))
    with shared.gate("native") as owner, shared.gate("sidecar") as guest:
        running = guest.send("run_command", command="./later")
        shared.wait_for("began-0")
        check(owner.ok("run_command", command="dd")["stdout"] == "dd ran\n", "the native dialect denies nothing")
        for n in range(3):
            shared.wait_for(f"began-{n}")
            shared.install("dd")
            shared.write(f"go-{n}", "")
        guest.wait(running)
        for n in range(3):
            text = (shared.place.workspace / f"out-{n}").read_text()
            check(text.startswith("sandgate: dd is denied"), text)
        check(owner.ok("run_command", command="dd")["stdout"] == "dd ran\n", "the native dialect still denies nothing")


def guests_numbers(form):
    """a program that is covered again is denied by the rule of the command's own list"""
    shared = Shared(form, "numbers", ["sudo", "shutdown"],
                    approval={"default": "approve", "rules": rules("shutdown", "sudo")})  # the sidecar's have another order
    shared.write("try", "#!/bin/sh\nshutdown\n")
    shared.write("later", f"#!/bin/sh\necho > began; until [ -e go ] && {shared.covered('shutdown')}; do sleep 0.01; done\n./try\n")
    with shared.gate("native") as owner, shared.gate("sidecar") as guest:
        running = owner.send("run_command", command="./later")
        shared.wait_for("began")
        result = guest.call("run_command", command="./try")
        check("shutdown is denied by the rule blocked:shutdown" in json.dumps(result), result)
        shared.install("shutdown")
        shared.write("go", "")
        result = owner.wait(running)["result"]
        check(result["stderr"] == "sandgate: shutdown is denied by the rule approval.rules[0]\n", result)
        check({"call": "denied:shutdown", "count": 1} in result["violations"], result)


def removed(form):
    """a program that was removed on the host is denied when it is back, and where its name leads then"""
    shared = Shared(form, "removed", ["single"], approval={"default": "approve", "rules": rules("single", "name")})
    folder = form.folder("removed/tools/versions")
    for version in ("name-1", "name-2"):
        form.write(folder / version, "#!/bin/sh\necho a version ran\n").chmod(0o755)
    os.symlink("versions/name-1", shared.tools / "name")
    shared.write("try", "#!/bin/sh\nsingle; name\n")

    with shared.gate("native") as gate:
        def check_denied(count, text):
            result = gate.ok("run_command", command="./try")
            check("ran" not in result["stdout"] and result["stderr"].count("approval.rules[0]") == count, (text, result))

        check_denied(2, "both are there")
        os.symlink("versions/name-2", shared.tools / "new")
        os.rename(shared.tools / "new", shared.tools / "name")
        os.remove(folder / "name-1")
        check_denied(2, "a name leads to another file")
        os.remove(shared.tools / "single")
        check_denied(1, "one is removed")
        shared.install("single")
        check_denied(2, "it is back")


def explained(form):
    """`policy explain` says whether a denial holds at exec"""
    place = Place(form, "explained", approving("touch", "git push", "bash", "nowhere-installed"))
    done = place.run("policy", "explain", "run_command", '{"command": "touch x"}', "--json")
    steps = json.loads(done.stdout)["steps"]
    told = {step["why"].split(":")[0]: step for step in steps if "exec" in step["outcome"]}
    check(told["touch"]["outcome"] == "holds at exec" and "/touch" in told["touch"]["why"], steps)
    check(told["git"]["outcome"] == "not at exec" and "uses" in told["git"]["why"], steps)
    check(told["bash"]["outcome"] == "not at exec" and "command lines" in told["bash"]["why"], steps)
    check(told["nowhere-installed"]["outcome"] == "not at exec" and "understood" in told["nowhere-installed"]["why"], steps)
    place = Place(form, "explained-own", approving("./run.sh", "/workspace/run.sh"))
    form.write(place.workspace / "run.sh", "#!/bin/sh\n").chmod(0o755)
    done = place.run("policy", "explain", "run_command", '{"command": "./run.sh"}', "--json")
    told = [step for step in json.loads(done.stdout)["steps"] if "exec" in step["outcome"]]
    check(told and all(step["outcome"] == "not at exec" for step in told), told)


def bind(source, target):
    lib.kernel(lib.libc.mount(os.fsencode(source), os.fsencode(target), None, lib.MS_BIND | lib.MS_REC, None), f"binding {target}")


def starts(gate, path):
    """Whether a program starts by this path, which no rule about texts can read."""
    code = f"import os; os.execv({os.path.dirname(path) + '/'!r} + {os.path.basename(path)[::-1]!r}[::-1], ['x', '--version'])"
    result = gate.ok("run_command", argv=["python3", "-c", code])
    check("is denied by" in result["stderr"] or result["exit_code"] == 0, (path, result))
    return result["exit_code"] == 0


def in_mounts(form, case):
    """In a process whose mounts are its own."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            lib.own_mounts()
            case(form)
            status = 0
        except BaseException as error:  # noqa: B902
            print(f"# {error!r}", flush=True)
        finally:
            os._exit(status)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, case.__name__)


def two_mounts(form):
    shown = form.folder("two/shown")
    config = approving("touch")
    place = Place(form, "two", {**config, "commands": {"show": [str(shown)]}})
    bind("/usr", shown)
    bind("/usr/bin", "/usr/local/sbin")
    system = ("/usr/local/sbin/touch", "/usr/bin/touch", "/bin/touch")
    with place.gate() as gate:
        for path in (f"{shown}/bin/touch", *system):
            check(not starts(gate, path), f"{path} started")
        check(starts(gate, f"{shown}/bin/true"), "what is not denied")
    # What is mounted in the workspace is covered where it is shown besides.
    bind("/usr/bin/touch", form.write(form.base / "two/ws/one-file", ""))
    with place.gate() as gate:
        for path in (*system, "/workspace/one-file"):
            check(not starts(gate, path), f"{path} started")
        shown_too = gate.ok("run_command", argv=["cat", f"{shown}/bin/touch"])
        check(shown_too["exit_code"] == 1 and "Permission denied" in shown_too["stderr"], shown_too)


def mounted_twice(form):
    """a denied program is covered at every path that a mount gives it"""
    if lib.AM_ROOT:
        in_mounts(form, two_mounts)


def system_is_workspace(form):
    place = Place(form, "inside", approving("mytool"))
    with lib.tmpfs(form, "/usr/local", "16m"):
        tool = form.write(form.folder("/usr/local/bin") / "mytool", "#!/bin/sh\necho ran\n")
        tool.chmod(0o755)
        place.workspace = pathlib.Path("/usr/local")
        with place.gate() as gate:
            check(not starts(gate, "/workspace/bin/mytool"), "started")


def in_the_workspace(form):
    """folders of programs that lie in the workspace are searched under its name"""
    if lib.AM_ROOT:
        in_mounts(form, system_is_workspace)


def hooks_and_run(form):
    """`sandgate run` is bound as well"""
    place = Place(form, "typed", approving("touch"))
    done = form.run(place.home, "run", "--config", place.config, "--workspace", place.workspace, "--",
                    place.script("touch made"), env=UNSET)
    check(not place.made() and b"approval.rules[0]" in done.stderr, done)


def read_by_a_shell(form):
    """`sandgate run`: what comes over a pipe may be commands that are denied"""
    place = Place(form, "piped", approving("git version"))

    def run(*words):
        return form.run(place.home, "run", "--config", place.config, "--workspace", place.workspace, "--", *words,
                        stdin=b"git version\n", env=UNSET)

    for words in (["bash"], ["bash", "-s"], ["bash", "/dev/stdin"]):
        done = run(*words)
        check(done.returncode == 3 and done.stdout == b"" and b"approval.rules[0]" in done.stderr, done)
    for words in (["cat"], ["bash", "-c", "cat"]):
        check(run(*words).stdout == b"git version\n", words)


CASES = [ways, says, stays, others, alternatives, families, many_in_one, replaced, earlier, subcommands, the_shell, system_lists,
         sidecar_list, guests, guests_guarded, guests_replaced, guests_numbers, removed, explained, mounted_twice, in_the_workspace, hooks_and_run,
         read_by_a_shell]

if __name__ == "__main__":
    lib.run_cases([(case.__doc__, case) for case in CASES])
