#!/usr/bin/env python3
"""File operations at their edges: what is refused leaves nothing, mounts are not crossed, large files are not read for
nothing, nothing is hidden, and settings that cannot be read stop everything."""

import fcntl
import json
import os
import signal
import subprocess

import lib
from lib import Gate, check

GIB = 1 << 30


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


# --- nothing is left


def refused_writes(form):
    folder = form.folder("refused")
    form.write(folder / "there", "x")
    long = "n" * 256
    config = form.write(form.base / "refused.json", json.dumps({"files": {"maxWriteBytes": 10}}))
    with Gate(form, "--config", config, workspace=folder) as gate:
        for path in ("foo/..", "foo/bar/..", "foo/bar/../..", "foo/./..", f"foo/{long}", f"foo/{long}/x", f"{long}/x",
                     "foo/.git/hooks/x", "foo/bar/.env", "there/foo/x", "/workspace/foo/.."):
            for tool, arguments in (("write_file", {"path": path, "content": "x"}),
                                    ("write_file", {"path": path, "content": "x", "append": True}),
                                    ("write_file", {"path": path, "content": "x", "create_only": True}),
                                    ("move", {"from": "there", "to": path}),
                                    ("make_directory", {"path": path + "/.git/hooks"})):
                result = gate.call(tool, **arguments)
                check(names(folder) == ["there"], f"{tool} {path} left {names(folder)}: {lib.short(result)}")
                check(not result["ok"], f"{tool} {path} was done")
        digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        gate.refused("PRECONDITION_FAILED", "write_file", path="a/b/c", content="x", if_match_sha256=digest)
        gate.refused("TOO_LARGE", "write_file", path="a/b/c", content="x" * 11)
        gate.refused("NOT_FOUND", "move", **{"from": "none", "to": "a/b/c"})
        gate.refused("NOT_FOUND", "edit_file", path="a/b/c", edits=[{"old_text": "a", "new_text": "b"}])
        gate.refused("ALREADY_EXISTS", "write_file", path="a/../there", content="x", create_only=True)
        check(names(folder) == ["there"], f"left: {names(folder)}")
        gate.ok("write_file", path="a/b/../c", content="x")
        check(names(folder) == ["a", "a/c", "there"], f"{names(folder)}")
        # A slash at the end is dropped, as everywhere.
        gate.ok("write_file", path="new/dir/", content="x")
        check((folder / "new/dir").is_file(), "not written")


def disk_is_full(form):
    folder = form.folder("full")
    with lib.tmpfs(form, folder, "256k"), Gate(form, workspace=folder) as gate:
        gate.refused("DISK_FULL", "write_file", path="a/b/c", content="x" * 1_000_000)
        check(names(folder) == [], f"left: {names(folder)}")


def side_by_side(form):
    """Calls that fail and remove their folders do not take those of calls that succeed."""
    folder = form.folder("beside")
    form.write(folder / "there", "x")
    config = form.write(form.base / "beside.json", json.dumps({"files": {"maxWriteBytes": 1000}}))
    with Gate(form, "--config", config, workspace=folder) as gate:
        good, bad = [], []
        for i in range(300):
            good.append(gate.send("write_file", path=f"d{i // 10}/e/{i}", content="x"))
            bad.append(gate.send("move", **{"from": "there", "to": f"d{i // 10}/e/{'n' * 240}{'m' * 20}"}))
            bad.append(gate.send("make_directory", path=f"d{i // 10}/e/f/{'n' * 256}"))
        for call in good:
            result = gate.wait(call)
            check(result["ok"], f"{lib.short(result)}")
        for call in bad:
            lib.expect_error(gate.wait(call), "INVALID_ARGUMENTS")
        check(all((folder / f"d{i // 10}/e/{i}").exists() for i in range(300)), "something is missing")


# --- mounts


def mounts(form):
    folder = form.folder("mounts")
    for name in ("d", "d/e", "d/e/mnt", "file", "file/e"):
        form.folder(f"mounts/{name}")
    form.write(folder / "d/a", "kept")
    form.write(folder / "d/e/b", "kept")
    form.write(folder / "file/e/on", "")
    form.write(folder / "file/e/z", "kept")
    form.write(folder / "file/a", "kept")
    source = form.write(form.base / "mounted-file", "elsewhere")
    with lib.tmpfs(form, folder / "d/e/mnt", "64k") as uid:
        (folder / "d/e/mnt/data").write_text("elsewhere")
        if lib.AM_ROOT:
            os.chown(folder / "d/e/mnt/data", uid, uid)
        lib.kernel(lib.libc.mount(os.fsencode(source), os.fsencode(folder / "file/e/on"), None, lib.MS_BIND, None), "bind")
        before = names(folder)
        try:
            with Gate(form, workspace=folder) as gate:
                check(gate.ok("read_file", path="d/e/mnt/data")["content"] == "elsewhere", "the mount is not there")
                for path in ("d", "d/e", "d/e/mnt", "file", "file/e", "file/e/on"):
                    error = gate.refused("READ_ONLY", "delete", path=path, recursive=True)
                    check(names(folder) == before, f"delete {path} removed {set(before) - set(names(folder))}")
                    check("mount" in error["message"] or "kept in its place" in error["message"], f"{error}")
                # A move takes nothing away: what is mounted stays as it is, wherever it then is.
                gate.call("move", **{"from": "d", "to": "moved"})
                gate.call("move", **{"from": "moved", "to": "d"})
                check((folder / "d/e/mnt/data").read_text() == "elsewhere", "what is mounted changed")
        finally:
            lib.libc.umount2(os.fsencode(folder / "file/e/on"), 2)
    with Gate(form, workspace=folder) as gate:
        gate.ok("delete", path="d", recursive=True)
        gate.ok("delete", path="file", recursive=True)
    check(names(folder) == [], f"left: {names(folder)}")


def kernel_files(form):
    """The machine's /proc is mounted in the workspace: commands run, and see nothing of it."""
    folder = form.folder("kernel")
    proc = form.folder("kernel/proc")
    if form.is_root:  # procfs knows no mapping of owners, which a folder of root's would need
        os.chown(folder, lib.PLAIN_UID, lib.PLAIN_UID)
    lib.kernel(lib.libc.mount(b"proc", os.fsencode(proc), b"proc", 0, None), "mounting procfs")
    try:
        with Gate(form, workspace=folder) as gate:
            for _ in range(2):
                value = gate.ok("run_command", command="echo x >f; cat f; cat proc/version; ls proc; true")
                check(value["stdout"] == "x\n" and "Permission denied" in value["stderr"], value)
    finally:
        lib.libc.umount2(os.fsencode(proc), 2)


# --- owners


def third_owner(form):
    """Files of someone whom the cell does not know: no permission, never an internal error."""
    for owner in (0, 1000) if form.is_root else (form.uid,):
        folder = form.folder(f"owned{owner}", 0o777)
        os.chown(folder, owner, owner)
        for name in ("file", "file2", "d/a", "d/e/a"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        for path in folder.rglob("*"):
            os.chown(path, 1234, 1234)
            path.chmod(0o777 if path.is_dir() else 0o666)
        before, refused = names(folder), {}
        with Gate(form, workspace=folder) as gate:
            calls = [
                ("write_file", {"path": "file", "content": "y"}),
                ("write_file", {"path": "file", "content": "y", "append": True}),
                ("edit_file", {"path": "file", "edits": [{"old_text": "x", "new_text": "y"}]}),
                ("delete", {"path": "file"}),
                ("delete", {"path": "d", "recursive": True}),
                ("move", {"from": "file", "to": "other"}),
                ("move", {"from": "file", "to": "file2", "overwrite": True}),
                ("move", {"from": "d", "to": "e"}),
                ("write_file", {"path": "d/new", "content": "y"}),
                ("make_directory", {"path": "d/new"}),
                ("update_frontmatter", {"path": "file", "update": {"a": {"set": 1}}}),
                ("read_file", {"path": "file"}),
                ("search", {"pattern": "x"}),
                ("list_files", {"recursive": True}),
            ]
            for tool, arguments in calls:
                result = gate.call(tool, **arguments)
                if not result["ok"]:
                    # Where the write is allowed, what follows finds another file.
                    lib.expect_error(result, "PERMISSION_DENIED INVALID_FRONTMATTER NO_MATCH NOT_FOUND ALREADY_EXISTS")
                    refused[tool] = result["error"]["code"]
                    check(names(folder) == before, f"{tool} failed and left {names(folder)}")
                before = names(folder)
        if form.is_root and owner == 0:  # through a mapping of owners, in which 1234 is nobody
            changes = {"write_file", "edit_file", "delete", "move", "make_directory"}
            check(changes <= {t for t, code in refused.items() if code == "PERMISSION_DENIED"}, f"{refused}")


# --- nothing is hidden


def temporary_names(form):
    folder = form.folder("hidden")
    for name in (".sgt-", ".sgt-x", ".sgt-0123abcd-1-0", "d/.sgt-0123abcd-1-d0"):
        (folder / name).mkdir(parents=True)
        form.write(folder / name / "inside", "needle")
    form.write(folder / ".sgt-0123abcd-1-1", "needle")
    for path in folder.rglob("*"):
        form.own(path)
    form.own(folder / "d")
    with Gate(form, workspace=folder) as gate:
        gate.ok("write_file", path=".sgt-new/a", content="needle")
        gate.ok("write_file", path=".sgt-0123abcd-2-0", content="needle")
        listed = [e["path"] for e in gate.ok("list_files", recursive=True, hidden=True)["entries"]]
        check(sorted(listed) == names(folder), f"listed {listed}, there is {names(folder)}")
        found = gate.ok("search", pattern="needle", hidden=True, mode="files")["matches"]
        files = sorted(n for n in names(folder) if (folder / n).is_file())
        check(sorted(m["path"] for m in found) == files, f"found {found}")
        # Our own are not seen while calls write.
        ids = []
        for i in range(200):
            gate.send("write_file", f"w{i}", path="written", content="x" * 20000, append=i % 2 == 0)
            ids.append(gate.send("list_files", hidden=True))
        for i, call in enumerate(ids):
            shown = [e["path"] for e in gate.wait(call)["result"]["entries"]]
            check(set(shown) <= {*names(folder)}, f"a temporary name was listed: {shown}")
            check(gate.wait(f"w{i}")["ok"], "not written")


# --- reading what is asked for


def large_reads(form):
    folder = form.folder("large")
    text = form.write(folder / "text", "first\nsecond\n" + "x" * 9000 + "\n")
    os.truncate(text, 64 * GIB)
    os.truncate(form.write(folder / "zeros", ""), 64 * GIB)
    form.write(folder / "medium", "0123456789abcde\n" * (1 << 20))
    form.write(folder / "more", "0123456789abcde\n" * ((1 << 20) + 1))
    with Gate(form, workspace=folder) as gate:
        got = gate.ok("read_file", path="text", start_line=1, end_line=1)
        check(got["content"] == "first\n" and got["bytes"] == 64 * GIB and not got["truncated"], lib.short(got))
        check("sha256" not in got and "total_lines" not in got and "hash" in got["hint"], lib.short(got))
        got = gate.ok("read_file", path="text", start_line=2, end_line=2)
        check(got["content"] == "second\n" and got["end_line"] == 2, lib.short(got))
        got = gate.ok("read_file", path="zeros", max_bytes=10)
        check(got["content"] == "\0" * 10 and got["truncated"], lib.short(got))
        got = gate.ok("read_file", path="medium", max_bytes=16)
        check(got["total_lines"] == 1 << 20 and "sha256" not in got, lib.short(got))
        got = gate.ok("read_file", path="more", start_line=1 << 20, end_line=(1 << 20) + 5)
        check(got["total_lines"] == (1 << 20) + 1 and "sha256" not in got, lib.short(got))
        check(got["content"] == "0123456789abcde\n" * 2 and got["start_line"] == 1 << 20, lib.short(got))
        got = gate.ok("read_file", path="more", max_bytes=16, hash=True)
        check(got["total_lines"] == (1 << 20) + 1 and len(got["sha256"]) == 64, lib.short(got))
    with Gate(form, "--dialect", "runner", workspace=folder) as gate:
        check(gate.call("read_file", path="text", start_line=2, end_line=2) == "second\n", "runner, a line")
        cut = gate.call("read_file", path="zeros")
        check(f"of {64 * GIB} bytes" in cut[-200:], f"runner: {cut[-200:]!r}")
    with Gate(form, "--dialect", "sidecar", workspace=folder) as gate:
        got = gate.call("read_file", path="zeros")
        check(got["success"] and got["output"]["binary"] and got["output"]["size"] == 64 * GIB, lib.short(got))
        # Text for more than 8 KB, so it is no binary file.
        got = gate.call("read_file", path="text", start_line=1, end_line=2)
        check(got["output"]["content"] == "1\tfirst\n2\tsecond" and got["output"]["lines"] == 2, lib.short(got))
        got = gate.call("read_file", path="text")
        check(got["error"]["code"] == "FILE_TOO_LARGE", lib.short(got))
        got = gate.call("read_file", path="more", start_line=3, end_line=3)
        check(got["output"]["total_lines"] == (1 << 20) + 1, lib.short(got))
    with Gate(form, "--dialect", "system", workspace=folder) as gate:
        got = gate.call("filesystem", operation="read", path="zeros")
        check(got["error"]["code"] == "TOO_LARGE", lib.short(got))


# --- settings


def settings(form):
    def dangling(path):
        form.link(path, "nowhere")

    def loop(path):
        form.link(path, "sandgate.json")

    def through(path):
        form.link(path, "gone/sandgate.json")

    def outside(path):
        form.link(path, "/etc/hostname")

    def fifo(path):
        os.mkfifo(path)

    def folder(path):
        path.mkdir()

    def unreadable(path):
        form.write(path, "{}").chmod(0)

    for make in (dangling, loop, through, outside, fifo, folder, unreadable):
        place = form.folder(f"settings-{make.__name__}")
        form.write(place / "good", "good\n")
        make(place / "sandgate.json")
        form.own(place / "sandgate.json")
        with Gate(form, workspace=place) as gate:
            for tool, arguments in (("read_file", {"path": "good"}), ("run_command", {"command": "true"}),
                                    ("time.now", {}), ("write_file", {"path": "x", "content": "x"})):
                error = gate.refused("POLICY_DENIED", tool, **arguments)
                check("sandgate.json" in error["message"], f"{make.__name__}: {error}")
            check(not (place / "x").exists(), "it was written")
    place = form.folder("settings-link")
    form.write(place / "good", "good\n")
    form.write(place / "real.json", '{"policy":{"enabled":{"write_file":false}}}')
    form.link(place / "sandgate.json", "real.json")
    with Gate(form, workspace=place) as gate:
        gate.ok("read_file", path="good")
        gate.refused("POLICY_DENIED", "write_file", path="x", content="x")


def operator_settings(form):
    place = form.folder("operator")
    home = form.folder("operator-home")
    for link, target in (("sandgate/config.json", "nowhere"), ("sandgate", "nowhere")):
        config = form.folder(f"operator-config-{len(link)}")
        if "/" in link:
            form.folder(f"operator-config-{len(link)}/sandgate")
        form.link(config / link, target)
        done = form.run(home, "call", "list_files", "{}", "--workspace", place, env={"XDG_CONFIG_HOME": str(config)})
        check(done.returncode != 0 and b"configuration" in done.stdout + done.stderr, f"{link}: {done}")


def strange_umask(form):
    """A umask that takes all rights away: the state folder can be used, now and later."""
    home = form.folder("umask-top") / "home"
    workspace = form.folder("umask-ws")
    for umask in (0o777, 0o777, 0o022):
        done = subprocess.run(
            [str(form.binary), "call", "write_file", '{"path":"f","content":"x"}', "--workspace", str(workspace)],
            env=lib.environment(home), umask=umask, capture_output=True, check=False, timeout=lib.SECONDS, cwd="/",
            **form.identity(),
        )
        check(done.returncode == 0 and json.loads(done.stdout)["ok"], f"with {umask:o}: {done.stdout} {done.stderr}")
    check((workspace / "f").stat().st_mode & 0o777 == 0o600, oct((workspace / "f").stat().st_mode))


def leased(form):
    """A search that meets a file which another program holds a lease on names that file."""
    folder = form.folder("leased")
    form.folder("leased/sub")
    path = form.write(folder / "sub/held", "needle\n")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # that somebody wants to open it
    try:
        with open(path, "r+b") as file, Gate(form, workspace=folder) as gate:
            with form.acting():
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            for where in ({}, {"path": "sub"}):
                error = gate.refused("SESSION_BUSY", "search", pattern="needle", **where)
                check("`sub/held`" in error["message"], error)
            error = gate.refused("SESSION_BUSY", "read_file", path="sub/held")
            check("`sub/held`" in error["message"], error)
    finally:
        signal.signal(signal.SIGIO, before)


def answered_ids(form):
    """An id comes back as it was."""
    workspace = form.folder("ids-ws")
    ids = [b"-0", b"0", b"-1", b"18446744073709551615", b'"-0"']
    lines = b"".join(b'{"id":%s,"tool_call":{"name":"time.now","arguments":{}}}\n' % i for i in ids)
    done = form.run(form.folder("ids-home", 0o700), "stdio", "--workspace", workspace, stdin=lines)
    answers = done.stdout.splitlines()
    check([a.split(b",")[0] for a in answers] == [b'{"id":' + i for i in ids], done.stdout)


CASES = [
    ("a call that is refused makes no folder", refused_writes),
    ("nor does one on a full disk", disk_is_full),
    ("calls that fail beside calls that succeed", side_by_side),
    ("what is mounted is not deleted", mounts),
    ("a view of the kernel's in the workspace", kernel_files),
    ("files of an owner whom the cell does not know", third_owner),
    ("names like temporary ones are shown", temporary_names),
    ("reads of large files", large_reads),
    ("settings of the workspace that cannot be read", settings),
    ("a configuration that is a link to nothing", operator_settings),
    ("a umask without rights for the owner", strange_umask),
    ("files with a lease", leased),
    ("ids of calls", answered_ids),
]


def main():
    lib.own_mounts()
    # Only root can give files away.
    lib.run_cases([c for c in CASES if lib.AM_ROOT or c[1] is not third_owner])


if __name__ == "__main__":
    main()
