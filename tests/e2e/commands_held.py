#!/usr/bin/env python3
"""Limits of commands hold for what no process's own numbers show: memory in kernel objects and sockets, space that is
allocated on a disk without being written, and processes that hide from whoever counts. With control groups (root) and
without (a plain user).
"""

import contextlib
import os
import pathlib

import lib
import ran
from lib import check, short
from ran import PYTHON, Place, bash

MIB = 1 << 20
LIMIT = 128
FILL = """
def fill(*sockets, bytes=bytes(60000)):
    for s in sockets:
        s.setblocking(False)
        try:
            while True:
                s.send(bytes)
        except OSError:
            pass
"""
IPC = "import ctypes\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\nc.shmdt.argtypes = [ctypes.c_void_p]\n"
UNIX = """
import socket
kept = []
for i in range(1500):
    pair = socket.socketpair(socket.AF_UNIX, socket.{kind})
    kept += pair
    fill(*pair)
"""

# Each takes several times the limit and then waits.
HOGS = {
    "System V segments, not attached": IPC
    + """
for i in range(6):
    at = c.shmat(c.shmget(0, ctypes.c_size_t(100 << 20), 0o1600), None, 0)
    ctypes.memset(at, 1, 100 << 20)
    c.shmdt(at)
""",
    "System V messages": IPC
    + """
message = ctypes.create_string_buffer(8200)
message[0] = b"\\1"
for i in range(31000):
    queue = c.msgget(0, 0o1600)
    for k in range(2):
        c.msgsnd(queue, message, 8192, 0o4000)
""",
    "small System V messages": IPC
    + """
message = ctypes.create_string_buffer(16)
message[0] = b"\\1"
for i in range(31000):
    queue = c.msgget(0, 0o1600)
    while c.msgsnd(queue, message, 1, 0o4000) == 0:
        pass
""",
    "semaphores": IPC + "for i in range(300): c.semget(0, 32000, 0o1600)\n",
    "unix streams": FILL + UNIX.format(kind="SOCK_STREAM"),
    "unix datagrams": FILL + UNIX.format(kind="SOCK_DGRAM"),
    "unix packets": FILL + UNIX.format(kind="SOCK_SEQPACKET"),
    "sockets that only a message holds": FILL
    + """
import socket
kept = []
for i in range(1500):
    pair, holder = socket.socketpair(), socket.socketpair()
    fill(*pair)
    socket.send_fds(holder[0], [b"x"], [s.fileno() for s in pair])
    kept += holder
    [s.close() for s in pair]
""",
    "unix streams whose sender is closed": FILL
    + """
import socket
kept = []
for i in range(3000):
    sender, receiver = socket.socketpair()
    fill(sender)
    kept.append(receiver)
""",
    "unix datagrams whose senders are closed": """
import contextlib, socket
kept = []
for i in range(300):
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(f"/tmp/{i}")
    kept.append(receiver)
    for k in range(10):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
            sender.sendto(bytes(150000), f"/tmp/{i}")
""",
    "answers in netlink sockets": """
import socket, struct
kept = []
ask = struct.pack("=IHHIIBBHiII", 32, 18, 1, 1, 0, 0, 0, 0, 1, 0, 0)  # RTM_GETLINK of interface 1
for i in range(3000):
    kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
    kept[-1].setblocking(False)
    try:
        for k in range(400):
            kept[-1].send(ask)
    except OSError:
        pass
""",
    "files in epoll sets": """
import os, select
files, sets = [os.eventfd(0) for i in range(2000)], []
for i in range(2000):
    sets.append(select.epoll())
    for f in files:
        sets[-1].register(f, 1)
""",
    "TCP": FILL
    + """
import socket
kept, server = [], socket.create_server(("127.0.0.1", 0), backlog=100)
for i in range(600):
    a = socket.create_connection(server.getsockname())
    kept += [a, server.accept()[0]]
    fill(*kept[-2:])
""",
    "UDP": """
import socket
kept, a = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    kept[-1].bind(("127.0.0.1", 0))
    for k in range(3):
        a.sendto(bytes(60000), kept[-1].getsockname())
""",
    "pipes": """
import os
for process in range(20):
    if os.fork() == 0:
        for i in range(4000):
            end = os.pipe()[1]
            os.set_blocking(end, False)
            try:
                while True:
                    os.write(end, bytes(4096))
            except OSError:
                pass
        break
""",
    "page tables": """
import mmap
m = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
for i in range(0, 1 << 40, 1 << 21): m[i]
""",
}
# With control groups the kernel ends one process after the other.
WATCHED = {
    "events of inotify that nobody reads": """
import ctypes, os
c = ctypes.CDLL(None)
for i in range(32):
    c.inotify_add_watch(c.inotify_init1(0), b"/tmp", 0x300)  # IN_CREATE, IN_DELETE
for i in range(9000):
    os.mknod(f"/tmp/{i:0255}")
    os.unlink(f"/tmp/{i:0255}")
""",
    "processes whose first thread has ended": """
import ctypes, os, threading, time
def hold():
    kept = bytes(1) * (48 << 20)
    time.sleep(30)
for i in range(8):
    if os.fork() == 0:
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)  # exit, of this thread
""",
}
# Without control groups these count, too. Each takes a little more than the limit.
WATCHED["empty files in /tmp"] = "import os\nfor i in range(160000): os.mknod(f'/tmp/{i}')"
WATCHED["mappings"] = """
import ctypes, os
c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
for i in range(16):
    if os.fork() == 0:
        for k in range(60000): c.mmap(None, ctypes.c_size_t(4096), k % 2, 0x22, -1, 0)
        break
"""
WATCHED["what processes undo at semaphores"] = IPC + """
import os
sets = [c.semget(0, 32000, 0o1600) for i in range(8)]
for i in range(250):
    if os.fork() == 0:
        for s in sets:
            c.semop(s, ctypes.byref((ctypes.c_short * 3)(0, 1, 0x1000)), 1)
        break
"""
MEMFD = """
import os
for i in range(9):
    fd = os.memfd_create("x")
    for k in range(100): os.write(fd, bytes(1 << 20))
"""


def python(gate, code):
    argv = [PYTHON, "-c", code + "\nimport time\ntime.sleep(30)"]
    result = gate.call("run_command", argv=argv, timeout_ms=150000, seconds=180)
    check(result.get("ok"), short(result))
    return result["result"]


def memory(form):
    """memory: kernel objects, socket buffers, pipes and page tables count, whoever holds them"""
    with Place(form, "held", {"commands": {"memory": f"{LIMIT}m", "openFiles": 10000}}).gate() as gate:
        for name, code in HOGS.items():
            value = python(gate, code)
            check(value["ended_by"] == "memory_limit", f"{name}: {short(value)}")
            check("commands.memory" in value["hint"], f"{name}: {short(value)}")
        value = bash(gate, f"{PYTHON} -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(9))'")
        check(value["stdout"] == "b'x'\n", f"what was held is free again: {short(value)}")


def memfd(form):
    """memory: a memfd counts, or cannot be had where nothing would count it"""
    with Place(form, "memfd", {"commands": {"memory": f"{LIMIT}m"}}).gate() as gate:
        bash(gate, "true")
        grouped = bool(ran.control_groups({gate.pid}))
        value = python(gate, MEMFD)
        if grouped:
            check(value["ended_by"] == "memory_limit", short(value))
            bash(gate, f"{PYTHON} -c 'import os; os.write(os.memfd_create(\"x\"), b\"x\")'")
        else:
            check(value["exit_code"] == 1 and "Function not implemented" in value["stderr"], short(value))
            check(value["violations"] == [{"call": "memfd_create", "count": 1}], short(value))


def refused(form):
    """memory: what nothing counts anywhere cannot be had"""
    calls = {
        # memfd_secret
        447: ("0", "Function not implemented", []),
        # clone of a thread with descriptors of its own: CLONE_VM, CLONE_SIGHAND, CLONE_THREAD
        56 if os.uname().machine == "x86_64" else 220: ("0x10900, 0, 0, 0, 0", "Operation not permitted", [{"call": "clone:files", "count": 1}]),
    }
    with Place(form, "refused").gate() as gate:
        for number, (arguments, error, violations) in calls.items():
            code = f"import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nr = c.syscall({number}, {arguments})\n"
            value = gate.call("run_command", argv=[PYTHON, "-c", code + "print(r, os.strerror(ctypes.get_errno()))"])["result"]
            check(value["stdout"] == f"-1 {error}\n", f"{number}: {short(value)}")
            check(value["violations"] == violations, f"{number}: {short(value)}")


ATTACH = """
import ctypes, os, socket
c = ctypes.CDLL(None, use_errno=True)
code = (ctypes.c_ushort * 4)(6, 0, 0, 0)  # BPF_RET
class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(1, ctypes.addressof(code))
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for option in (26, 51):
    r = c.setsockopt(s.fileno(), 1, option, ctypes.byref(program), ctypes.sizeof(program))
    print(option, r, os.strerror(ctypes.get_errno()) if r else "")
print(c.syscall(444, None, 0, 1) > 0)
"""


def uncounted(form):
    """memory: socket filters and Landlock rulesets cannot be had where nothing would count them"""
    with Place(form, "uncounted").gate() as gate:
        bash(gate, "true")
        value = gate.call("run_command", argv=[PYTHON, "-c", ATTACH])["result"]
        if ran.control_groups({gate.pid}):
            check(value["stdout"].startswith("26 0 \n") and value["stdout"].endswith("True\n"), short(value))
        else:
            missing = "Protocol not available"
            check(value["stdout"] == f"26 -1 {missing}\n51 -1 {missing}\nFalse\n", short(value))
            calls = {v["call"]: v["count"] for v in value["violations"]}
            check(calls == {"setsockopt": 2, "landlock_create_ruleset": 1}, short(value))


def forked(form):
    """memory: pages that processes share after a fork count once, for the limit and in peak_memory"""
    code = """
import os, time
kept = bytes(1) * (60 << 20)
for i in range(5):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
for i in range(5): os.wait()
"""
    with Place(form, "forked", {"commands": {"memory": f"{LIMIT}m"}}).gate() as gate:
        value = gate.call("run_command", argv=[PYTHON, "-c", code], seconds=40)["result"]
        check(value["ended_by"] == "exit", short(value))
        check(value["peak_memory"] < LIMIT * MIB, f"peak_memory: {value['peak_memory']}")


@contextlib.contextmanager
def no_groups():
    """Control groups are out of sight, as in most containers."""
    lib.kernel(lib.libc.mount(b"tmpfs", b"/sys/fs/cgroup", b"tmpfs", 0, None), "covering the control groups")
    try:
        yield
    finally:
        lib.libc.umount2(b"/sys/fs/cgroup", 2)


def ungrouped(form):
    """memory: the same for root where there are no control groups, and the answer says so"""
    config = {"commands": {"memory": f"{LIMIT}m", "openFiles": 10000}}
    with no_groups(), Place(form, "ungrouped", config).gate() as gate:
        value = bash(gate, "true")
        check(value["limits"] == "watched", short(value))
        check(value["weaker"] == ["memory:watched", "processes:watched"], short(value))
        names = ("System V segments, not attached", "unix streams", "pipes", "files in epoll sets")
        for name, code in {**{name: HOGS[name] for name in names}, **WATCHED}.items():
            value = python(gate, code)
            check(value["ended_by"] == "memory_limit", f"{name}: {short(value)}")
        value = python(gate, MEMFD)
        check(value["violations"] == [{"call": "memfd_create", "count": 1}], short(value))


def told(form):
    """limits: an answer says where memory and processes are only looked at"""
    with Place(form, "told").gate() as gate:
        value = bash(gate, "true")
        grouped = ran.control_groups({gate.pid})
        check(value.get("limits") == (None if grouped else "watched"), short(value))
        check(value.get("weaker") == (None if grouped else ["memory:watched", "processes:watched"]), short(value))
    with Place(form, "told-cpus", {"commands": {"cpus": 0.5}}).gate() as gate:
        value = bash(gate, "true")
        every = ["memory:watched", "processes:watched", "cpus:none"]
        check(value.get("weaker") == (None if ran.control_groups({gate.pid}) else every), short(value))


ALLOCATE = {
    "one file": "fallocate -l 480m f",
    "its size kept": "touch f; fallocate -n -l 480m f",
    "zeroes": "touch f; fallocate -z -l 480m f",
    "many files": "for i in {1..48}; do fallocate -l 10m f$i; done",
    "the same file": "for i in {1..48}; do fallocate -n -o $((i * 10))m -l 10m f; done",
    "the C library": f"{PYTHON} -c 'import os; os.posix_fallocate(os.open(\"f\", 66), 0, 480 << 20)'",
}


def space_in(folder):
    return sum(entry.stat().st_blocks * 512 for entry in folder.iterdir())


def empty(folder):
    for entry in folder.iterdir():
        entry.unlink()


def allocated(form):
    """diskWrites: space that is allocated without being written counts before it is taken"""
    place = Place(form, "allocated", {"commands": {"diskWrites": "20m"}})
    with place.gate() as gate:
        for name, line in ALLOCATE.items():
            value = gate.call("run_command", command=f"touch f; {line}; sleep 30")["result"]
            check(value["ended_by"] == "disk_limit", f"{name}: {short(value)}")
            check("commands.diskWrites" in value["hint"], f"{name}: {short(value)}")
            check(space_in(place.workspace) <= 20 * MIB, f"{name}: {space_in(place.workspace) / MIB:.0f} MiB")
            empty(place.workspace)
        # Giving back costs nothing.
        bash(gate, "fallocate -l 10m f; for i in {1..9}; do fallocate -p -l 10m f; done")
        bash(gate, "fallocate -l 10m f && head -c 5m /dev/zero > g")


TAKE_ALL = """
import ctypes, os
c, kept = ctypes.CDLL(None), []
while c.inotify_init1(0) >= 0:
    kept.append(1)
print(len(kept))
try:
    while len(kept) < 2000:
        kept += os.openpty()
except OSError:
    pass
print(sum(name.isdigit() for name in os.listdir("/dev/pts")))
"""


def shared(form):
    """what all processes of a user or the machine share: a command gets a part, and the others go on"""
    limit = int(pathlib.Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    with Place(form, "shared", {"commands": {"openFiles": 10000}}).gate() as gate:
        value = gate.call("run_command", argv=[PYTHON, "-c", TAKE_ALL])["result"]
        instances, terminals = map(int, value["stdout"].split())
        check(terminals == 256, short(value))
        read_only = os.statvfs("/proc/sys").f_flag & os.ST_RDONLY
        check(0 < instances <= (limit if read_only else min(32, limit // 4 * 3)), short(value))


REQUESTS = {"FS_IOC_RESVSP": 0x40305828, "FS_IOC_RESVSP64": 0x4030582A, "FS_IOC_ZERO_RANGE": 0x40305839}


def allocated_otherwise(form):
    """diskWrites: requests that allocate by another name are refused and told"""
    place = Place(form, "otherwise", {"commands": {"diskWrites": "20m"}})
    with place.gate() as gate:
        for name, number in REQUESTS.items():
            size = 'struct.pack("hhxxxxqqiI16x", 0, 0, 0, 480 << 20, 0, 0)'
            code = f"import fcntl, os, struct\nfcntl.ioctl(os.open('f', os.O_RDWR | os.O_CREAT), {number}, {size})"
            value = gate.call("run_command", argv=[PYTHON, "-c", code])["result"]
            check("Operation not supported" in value["stderr"], f"{name}: {short(value)}")
            check(value["violations"] == [{"call": f"ioctl:{name}", "count": 1}], f"{name}: {short(value)}")
            check(space_in(place.workspace) == 0, name)


WRITER = "import time\nf = open('x', 'wb')\nfor i in range(400): f.write(bytes(1 << 20)); time.sleep(0.02)"


def hidden(form):
    """diskWrites: who writes counts, orphaned, asked not to be dumpable, or from a program that cannot be read"""
    place = Place(form, "hidden", {"commands": {"diskWrites": "20m"}})
    with place.gate() as gate:
        orphans = "for i in {1..400}; do (setsid head -c 8m /dev/zero > o$i &); sleep 0.02; done; sleep 30"
        value = gate.call("run_command", command=orphans, seconds=40)["result"]
        check(value["ended_by"] == "disk_limit", short(value))
        empty(place.workspace)
        undumpable = f"import ctypes\nassert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0\n{WRITER}"
        value = gate.call("run_command", argv=[PYTHON, "-c", undumpable])["result"]
        check(value["ended_by"] == "disk_limit", short(value))
        empty(place.workspace)
        copy = f"cp {PYTHON} reader; chmod 111 reader; ./reader -c '{WRITER.replace(chr(39), chr(34))}'; echo $?; rm -f x"
        value = bash(gate, copy)
        check(value["stdout"] == "137\n", short(value))
        check({"call": "process:unreadable", "count": 1} in value["violations"], short(value))


if __name__ == "__main__":
    lib.own_mounts()
    ran.main(memory, memfd, refused, uncounted, forked, ungrouped, told, allocated, allocated_otherwise, shared, hidden)
