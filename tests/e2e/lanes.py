"""Machines that lack something, for programs that are started with one of these as `preexec_fn`: each changes only the
process that it runs in and what that starts. Linux on x86-64 and arm64."""

import ctypes
import errno
import fcntl
import os
import pathlib
import platform
import select
import socket
import struct
import sys

import lib

X86 = platform.machine() == "x86_64"
LANDLOCK = (444, 445, 446)
SECCOMP = 317 if X86 else 277
CLONE = 56 if X86 else 220
# unshare, setns, mount, umount2, pivot_root; open_tree to fspick; mount_setattr
REFUSED_BY_DOCKER = ((272, 308, 165, 166, 155) if X86 else (97, 268, 40, 39, 41)) + (428, 429, 430, 431, 432, 433, 442)
CLONE3 = 435
OPENAT2 = 437
NAMESPACE_FLAGS = 0x7E020000
NEW_LISTENER = 8
MASKED = "/proc/timer_list"

LD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO, USER_NOTIF = 0x7FFF0000, 0x00050000, 0x7FC00000
NOTIF_RECV, NOTIF_SEND, NOTIF_CONTINUE = 0xC0502100, 0xC0182101, 1
ARG0, ARG1 = 16, 24
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, sys_chroot, setfcap
KEPT_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31)
PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 4, 38, 22, 2


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.POINTER(Instruction))]


def refuse(calls, number):
    """Instructions, with the number of the call at hand."""
    found = []
    for call in calls:
        found += [(JEQ, 0, 1, call), (RET, 0, 0, ERRNO | number)]
    return found


def refuse_where(call, arg, bits, number):
    """The same for a call with one of these bits in an argument. Nothing can follow."""
    return [(JEQ, 0, 4, call), (LD, 0, 0, arg), (JSET, 0, 1, bits), (RET, 0, 0, ERRNO | number), (RET, 0, 0, ALLOW)]


def filtered(instructions):
    """A filter of system calls, from here on."""
    code = [(LD, 0, 0, 0), *instructions, (RET, 0, 0, ALLOW)]
    program = Program(len(code), (Instruction * len(code))(*(Instruction(*one) for one in code)))
    lib.kernel(lib.libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    lib.kernel(lib.libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0), "the filter")


def answer_for_old_landlock(listener, abi):
    """Until all that the filter holds have ended."""
    notice, answer = bytearray(80), struct.Struct("QqiI")
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while not poll.poll()[0][1] & select.POLLHUP:
        notice[:] = bytes(80)
        try:
            fcntl.ioctl(listener, NOTIF_RECV, notice)
            (call,), args = struct.unpack_from("Q", notice), struct.unpack_from("6Q", notice, 32)
            asks = args[0] == 0 and args[2] & 1
            reply = answer.pack(call, abi if asks else 0, 0, 0 if asks else NOTIF_CONTINUE)
            fcntl.ioctl(listener, NOTIF_SEND, bytearray(reply))
        except OSError as error:  # who asked has ended
            if error.errno not in (errno.ENOENT, errno.EINTR):
                raise
    os._exit(0)


def old_landlock(abi):
    """A kernel whose Landlock says that it is of this version."""

    def enter():
        docker_filter()
        ours, theirs = socket.socketpair()
        first = os.fork()
        if first == 0:
            if os.fork():
                os._exit(0)  # so that the gate has no child that it does not know
            ours.close()
            listener = socket.recv_fds(theirs, 1, 1)[1][0]
            os.dup2(listener, 0)
            os.closerange(1, 4096)
            answer_for_old_landlock(0, abi)
        os.waitpid(first, 0)
        code = [(LD, 0, 0, 0), (JEQ, 0, 1, LANDLOCK[0]), (RET, 0, 0, USER_NOTIF), (RET, 0, 0, ALLOW)]
        program = Program(len(code), (Instruction * len(code))(*(Instruction(*one) for one in code)))
        listener = lib.libc.syscall(SECCOMP, 1, NEW_LISTENER, ctypes.byref(program))
        assert listener >= 0, os.strerror(ctypes.get_errno())
        socket.send_fds(ours, [b"x"], [listener])
        os.close(listener)

    return enter


def docker_filter():
    """As Docker's default has it: no namespaces and no mounts."""
    filtered(
        refuse(REFUSED_BY_DOCKER, errno.EPERM)
        + refuse((CLONE3,), errno.ENOSYS)
        + refuse_where(CLONE, ARG0, NAMESPACE_FLAGS, errno.EPERM)
    )


def no_landlock():
    filtered(refuse(LANDLOCK, errno.ENOSYS))


def landlock_refused():
    filtered(refuse(LANDLOCK, errno.EPERM))


def listener_taken():
    """As in a sandbox that answers filtered calls itself."""
    filtered(refuse_where(SECCOMP, ARG1, NEW_LISTENER, errno.EBUSY))


def container_rights():
    """Of root, only the capabilities that Docker and podman leave."""
    for cap in range(64):
        if cap not in KEPT_CAPABILITIES and lib.libc.prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 and os.geteuid() == 0:
            lib.kernel(lib.libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "the bounding set")


def inside_a_cell():
    """As a command of Sandgate's own is filtered."""
    docker_filter()
    filtered(refuse((OPENAT2,), errno.ENOSYS))
    listener_taken()


def map_from_outside(parent, ready):
    """Root's part: all users of the machine."""
    os.read(ready, 1)
    for name in ("uid_map", "gid_map"):
        pathlib.Path(f"/proc/{parent}/{name}").write_bytes(b"0 0 65536")
    os._exit(0)


def enter_user_namespace(flags=0):
    """Who this is stays the same."""
    uid, gid, parent = os.geteuid(), os.getegid(), os.getpid()
    if uid == 0:
        ready, go = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(go)
            map_from_outside(parent, ready)
        lib.kernel(lib.libc.unshare(lib.CLONE_NEWUSER | flags), "unshare")
        os.close(ready)
        os.close(go)
        assert os.waitpid(child, 0)[1] == 0
        return
    lib.kernel(lib.libc.unshare(lib.CLONE_NEWUSER | flags), "unshare")
    # Who became another user may not write to its own files in /proc.
    lib.kernel(lib.libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "opening its files")
    # As bytes: the user may not be able to read Python's own files, where it has its encodings.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        pathlib.Path(f"/proc/self/{name}").write_bytes(text.encode())


def limit_namespaces(kind):
    """The setting is that of the namespace in which it is made."""
    enter_user_namespace()
    pathlib.Path(f"/proc/sys/user/max_{kind}_namespaces").write_bytes(b"0")


def take_namespaces(pid):
    """In the user namespace of a process that runs."""
    child = os.fork()
    if child == 0:
        space = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
        done = lib.libc.setns(space, lib.CLONE_NEWUSER) == 0
        done = done and pathlib.Path("/proc/sys/user/max_user_namespaces").write_bytes(b"0") > 0
        os._exit(not done)
    assert os.waitpid(child, 0)[1] == 0, "the limit could not be set"


def no_user_namespaces():
    limit_namespaces("user")


def no_network_namespaces():
    limit_namespaces("net")


def own_mounts():
    if os.geteuid() == 0:
        lib.kernel(lib.libc.unshare(lib.CLONE_NEWNS), "unshare")
    else:
        enter_user_namespace(lib.CLONE_NEWNS)
    lib.kernel(lib.libc.mount(None, b"/", None, lib.MS_REC | lib.MS_PRIVATE, None), "making the mounts private")


def no_cgroups():
    own_mounts()
    lib.kernel(lib.libc.mount(b"tmpfs", b"/sys/fs/cgroup", b"tmpfs", lib.MS_RDONLY, None), "covering the groups")


def masked_proc():
    """As in containers."""
    own_mounts()
    lib.kernel(lib.libc.mount(b"/dev/null", MASKED.encode(), None, lib.MS_BIND, None), "covering a part of /proc")


def main():
    """A program in a lane: `lanes.py no_user_namespaces PROGRAM...`."""
    globals()[sys.argv[1]]()
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
