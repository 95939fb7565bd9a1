#!/usr/bin/env python3
"""Workspaces at paths where a cell has something of its own, or that are hard to write. The machine is made for the test,
with a root of its own, so that a workspace can be anywhere in it.
"""
# timeout: 300

import base64
import encodings.ascii  # while the machine's libraries are there
import json
import os
import pathlib
import shutil
import tempfile

import lib
from lib import Gate, check, short

assert encodings.ascii

SECRET = "KEY=only the user knows"
# Its own, which is the user's: what is made in them is gone with the test.
FOLDERS = ("home", "home/u", "home/agent", "opt", "run", "run/user", "root", "srv", "state", "tmp", "var", "var/www",
           "var/tmp", "var/hidden", "etc", "workspace")
SHOWN_OF_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "alternatives")
MS_MOVE = 8192


def copy_etc(into):
    for name in SHOWN_OF_ETC:
        source = pathlib.Path("/etc", name)
        if source.is_dir():
            shutil.copytree(source, into / name, symlinks=True)
        elif source.exists():
            shutil.copy(source, into / name)


def bind(source, target):
    target.mkdir(exist_ok=True)
    lib.kernel(lib.libc.mount(os.fsencode(source), os.fsencode(target), None, lib.MS_BIND | lib.MS_REC, None), f"binding {source}")


def make_machine(form):
    """Everything of the machine but its programs is empty, and belongs to the form's user."""
    root = lib.scratch("machine-")
    uid = form.uid or lib.PLAIN_UID
    options = f"size=64m,mode=755,uid={uid},gid={uid if lib.AM_ROOT else os.getegid()}"
    lib.kernel(lib.libc.mount(b"tmpfs", os.fsencode(root), b"tmpfs", 0, options.encode()), "mounting a tmpfs")
    for name in FOLDERS:
        (root / name).mkdir()
    for source in ("/usr", "/proc", "/dev"):
        bind(source, root / source[1:])
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), root / name)
    copy_etc(root / "etc")
    shutil.copy(form.binary, root / "sandgate")
    for name in ("usr/src", "usr/local"):
        lib.kernel(lib.libc.mount(b"tmpfs", os.fsencode(root / name), b"tmpfs", 0, options.encode()), f"a tmpfs on {name}")
    (root / "tmp").chmod(0o1777)
    for folder, _, files in os.walk(root):
        if folder.startswith((f"{root}/usr", f"{root}/proc", f"{root}/dev")):
            continue
        for name in ("", *files):
            if lib.AM_ROOT:
                os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)
    return root, uid


def enter_machine(root):
    os.chdir(root)
    lib.kernel(lib.libc.mount(os.fsencode(root), b"/", None, MS_MOVE, None), "moving the root")
    os.chroot(".")
    os.chdir("/")
    tempfile.tempdir = "/tmp"


class Machine:
    def __init__(self, form):
        root, self.uid = make_machine(form)
        enter_machine(root)
        form.base = pathlib.Path("/state")
        form.binary = pathlib.Path("/sandgate")
        self.form = form
        self.number = 0

    def give(self, path):
        if lib.AM_ROOT:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def workspace(self, path):
        """With a file, a secret and a folder beside it."""
        path = os.fsdecode(path)
        for folder in [*reversed(pathlib.Path(path).parents), pathlib.Path(path)]:
            if not folder.exists():
                folder.mkdir()
                self.give(folder)
        for name, text in (("f", "found\n"), (".env", SECRET)):
            os.makedirs(f"{path}/.w", exist_ok=True)
            pathlib.Path(path, name).write_text(text, encoding="ascii")
            self.give(f"{path}/{name}")
        os.rmdir(f"{path}/.w")
        return path

    def gate(self, path, show=(), **config):
        self.number += 1
        home = pathlib.Path(f"/state/{self.number}")
        home.mkdir(mode=0o700)
        self.form.own(home)
        file = self.form.write(home / "config.json", json.dumps({"commands": {"show": list(show)}, **config}))
        file.chmod(0o600)
        return Gate(self.form, "--config", file, workspace=path, state=home)


def run(gate, line, **more):
    result = gate.call("run_command", command=line, **more)
    check(result.get("ok") is True, f"{line}: {short(result)}; {gate.said()}")
    return result["result"]


def out(gate, line, **more):
    return run(gate, line, **more)["stdout"]


def where(gate):
    """The folder that a command is in, whatever its bytes are."""
    return base64.b64decode(out(gate, "pwd -P | tr -d '\\n' | base64 -w0; printf '' ")).replace(b"\n", b"")


def check_use(gate, path, seen_at, names):
    """Reading, writing, what is covered, twice: the second command has what the first one left."""
    raw = os.fsencode(seen_at)
    for _ in range(2):
        check(where(gate) == raw.replace(b"\n", b""), f"{path!r}: {where(gate)!r}")
        check(out(gate, "cat f; echo more > new; cat new; rm new; echo kept > kept") == "found\nmore\n", f"{path!r}")
        for name in names:
            seen = run(gate, 'cd "$AT" && pwd -P >&2; cat "$AT/f"; cat "$AT/.env" ./.env "$AT/../"*/.env', env={"AT": name})
            check(seen["stdout"] == "found\n", f"{path!r} by {name!r}: {short(seen)}")
    check(pathlib.Path(path, "kept").read_text(encoding="ascii") == "kept\n", "the user sees it")
    check(out(gate, "echo x > ~/own && echo y > /tmp/own && cat ~/own /tmp/own; rm ~/own") == "x\ny\n", "home and /tmp")
    for name in names:
        if name.isprintable():
            check(gate.ok("read_file", path=f"{name}/f")["content"] == "found\n", f"{path!r}: tools, by {name!r}")
            gate.refused("POLICY_DENIED SECRET_PATH PROTECTED_PATH PERMISSION_DENIED", "read_file", path=f"{name}/.env")


def only_the_way(gate, path):
    """No folder around it has more than the next one on the way."""
    parts = pathlib.Path(path)
    for folder, name in zip(parts.parents, (parts, *parts.parents)):
        if str(folder) not in ("/", "/tmp", "/var", "/home", "/home/agent", "/workspace", "/run"):
            listed = out(gate, 'ls -A "$AT"', env={"AT": str(folder)})
            check(listed == f"{name.name}\n", f"{path!r}: {folder} has {listed!r}")


# Each at its own path.
OWN = ("/home/u/p", "/home/agent/p", "/home/agent/.config/a/p", "/tmp/p", "/tmp/a/b/p", "/tmp/.config", "/run/user/7/p",
       "/var/www/p", "/var/tmp/p", "/root/p", "/srv", "/srv/of ours/it's \"p\" $HOME `id`", "/home/u/grüße-日本")
# In places of the machine, where commands see the rest too.
SHARED = ("/opt/p", "/opt/a/p", "/usr/src/p", "/usr/local/src/a/p")
# What the cell needs for itself: as /workspace alone.
CLASHES = ("/usr/local", "/usr/local/lib/p", "/usr/src", "/etc/p", "/tmp", "/home", "/home/agent", "/opt", "/var", "/var/hidden/p", "/dev/shm/p")


def own_paths(machine):
    """at its own path in homes, /tmp, /run, /var, and with a name that a shell has to quote"""
    for path in OWN:
        machine.workspace(path)
        with machine.gate(path) as gate:
            check_use(gate, path, path, (path, "/workspace"))
            only_the_way(gate, path)
            check(out(gate, "echo $HOME") == "/home/agent\n", path)
            line = "mv /home/agent/$P ~/away; mv /tmp/$P /tmp/away; cd /workspace && pwd -P"
            for part in ("p", "a", "a/b", ".config", ".config/a"):
                check(out(gate, line, env={"P": part}) == f"{path}\n", f"{path}: moving {part}")


def shared_paths(machine):
    """at its own path in a place of the machine: what is around it is the machine's, and is only read"""
    for path in SHARED:
        machine.workspace(path)
        with machine.gate(path) as gate:
            check_use(gate, path, path, (path, "/workspace"))
            check(out(gate, f"touch {path}/../new 2>/dev/null; ls {path}/..").split() == sorted(os.listdir(f"{path}/..")), path)


def clashes(machine):
    """what the cell has at that path stays, and the workspace is seen as /workspace"""
    for path in CLASHES:
        if path.startswith("/dev/shm") and not os.access("/dev/shm", os.W_OK):
            continue
        machine.workspace(path)
        with machine.gate(path) as gate:
            check_use(gate, path, "/workspace", ("/workspace",))
            check(gate.ok("read_file", path=f"{path}/f")["content"] == "found\n", path)
            check(out(gate, "pwd", cwd=path) == "/workspace\n", path)
            seen = run(gate, f"cat {path}/f {path}/.env; ls -A {path}")["stdout"]
            check("found" not in seen and "KEY" not in seen, f"{path}: {seen}")
            out(gate, f"id -un; ls /usr/bin/env /etc/passwd ~; test -w /tmp && test -w ~")
        for name in ("f", ".env", "kept"):
            os.unlink(f"{path}/{name}")
        if path == "/dev/shm/p":
            os.rmdir(path)


def hard_names(machine):
    """newlines, bytes that are no UTF-8, and long paths"""
    for name in (b"line\nbreak", b"\xff\xfe-\x80", b"back\\slash", b"-rf", b"tab\tend ", b"a:b,c=d"):
        path = machine.workspace(b"/srv/names/" + name)
        with machine.gate(path) as gate:
            check_use(gate, path, path, ("/workspace",))
    for length, inside in ((2048, None), (2049, "/workspace"), (3900, "/workspace")):
        path = "/srv/" + "/".join(["n" * 50] * (length // 51))
        path += "/" + "e" * (length - len(path) - 1)
        check(len(path) == length, f"{len(path)}")
        machine.workspace(path)
        with machine.gate(path) as gate:
            check_use(gate, path, inside or path, ("/workspace",))
            check(gate.ok("read_file", path=f"{path}/f")["content"] == "found\n", f"{length}")
    path = machine.workspace("/srv/" + "/".join(["d"] * 1000))
    with machine.gate(path) as gate:
        check_use(gate, path, path, (path, "/workspace"))


def second_name(machine):
    """what lies at /workspace, or in it, is what has that name"""
    for path in ("/workspace/p", "/workspace"):
        machine.workspace(path)
        with machine.gate(path) as gate:
            check_use(gate, path, path, (path,))
            check(out(gate, "ls -A /workspace").split() == (["p"] if path == "/workspace/p" else [".env", "f", "kept", "p"]), path)
            if path == "/workspace/p":
                gate.refused("PATH_OUTSIDE_WORKSPACE", "read_file", path="/workspace/f")
    for name in ("f", ".env", "kept"):
        os.unlink(f"/workspace/{name}")
    machine.workspace("/workspace/tools")
    machine.workspace("/home/u/q")
    with machine.gate("/home/u/q", ["/workspace/tools"]) as gate:
        check_use(gate, "/home/u/q", "/home/u/q", ("/home/u/q",))
        check(out(gate, "cat /workspace/tools/f; touch /workspace/tools/new; ls /workspace") == "found\ntools\n", "shown there")
        gate.refused("PATH_OUTSIDE_WORKSPACE", "read_file", path="/workspace/f")


def shown_folders(machine):
    """folders of commands.show around it, in it, beside it, and itself"""
    path = machine.workspace("/home/u/all/p")
    os.unlink(machine.workspace("/home/u/all/other") + "/.env")
    machine.workspace("/home/u/all/p/in")
    with machine.gate(path, ["/home/u/all"]) as gate:
        check_use(gate, path, path, (path, "/workspace"))
        check(out(gate, "cat ../other/f; touch ../new ../other/new; ls -A ..").split() == ["found", "other", "p"], "around it")
    for show in (path, f"{path}/in"):
        with machine.gate(path, [show]) as gate:
            check_use(gate, path, path, (path, "/workspace"))
            check(out(gate, "echo x > in/new; cat in/new; rm in/new; cat in/.env") == "x\n", show)
    with machine.gate(path, ["/home/u/all/other"]) as gate:
        check_use(gate, path, path, (path, "/workspace"))
        check(out(gate, "ls ..; touch ../new ../other/new; cat ../other/f") == "other\np\nfound\n", "beside it")
    machine.workspace("/home/agent/tools/deep/bin")
    machine.workspace("/home/agent/tools/q")
    with machine.gate("/home/agent/tools/q", ["/home/agent/tools/deep/bin"]) as gate:
        check_use(gate, "/home/agent/tools/q", "/home/agent/tools/q", ("/home/agent/tools/q", "/workspace"))
        moved = "mv ~/tools ~/t; mv ~/tools/deep ~/d; mv ~/tools/deep/bin ~/b; mv ~/tools/q ~/q; ls ~/tools/deep/bin ~/tools/q"
        check(out(gate, moved).count("\nf\n") == 2, "they stay where they are")


def refused(machine):
    """the machine's root, and what is no folder of files, are refused with a reason"""
    for path, word in (("/", "state"), ("/none", "No such file"), ("/sandgate", "Not a directory")):
        with machine.gate(path) as gate:
            status = gate.wait_exit()
            check(status != 0 and path in gate.said() and word.lower() in gate.said().lower(), f"{path}: {status}, {gate.said()}")


def own_home(machine):
    """a command that a rule approves by its program has a home without the workspace's settings"""
    path = machine.workspace("/tmp/.config")
    link = "/tmp/.link"
    os.symlink(path, link)
    rules = [{"toolName": "run_command", "action": "approve", "condition": {"command": {"program": "printenv"}}}]
    for given in (path, link):
        with machine.gate(given, approval={"default": "deny", "rules": rules}) as gate:
            home = out(gate, "printenv HOME")
            check(home == "/proc\n", f"{given}: {home}")


CASES = (own_paths, shared_paths, clashes, hard_names, second_name, shown_folders, refused, own_home)


def in_machine(form, tap):
    """In a process of its own, which changes its root."""
    lib.own_mounts()
    machine = Machine(form)
    for case in CASES:
        with tap.case(f"{form.name}: {case.__doc__}"):
            case(machine)
    os._exit(1 if tap.failed else 0)


def main():
    tap = lib.Tap()
    for form in lib.forms():
        pid = os.fork()
        if pid == 0:
            in_machine(form, tap)
        tap.failed += os.waitpid(pid, 0)[1] != 0
        tap.count += len(CASES)
    tap.done()


main()
