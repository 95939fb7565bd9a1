#include "broken/broken.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/frame.h"
#include "cell/launcher.h"

#define PREFIX "__probe__/"

static void say_result(struct buf *out, long r)
{
    if (r < 0)
        buf_addf(out, "errno %d", errno);
    else
        buf_addf(out, "returned %ld", r);
}

/* --- system calls that have no place in a worker */

#define P(pointer) ((long)(uintptr_t)(pointer))
#define EXEC_PAGE (PROT_READ | PROT_WRITE | PROT_EXEC)
static char page[4096] __attribute__((aligned(4096)));
static char *const no_words[] = {NULL};

struct forbidden {
    const char *name;
    long number;
    long args[6];
};

static const struct forbidden forbidden[] = {
    {"socket-tcp", SYS_socket, {AF_INET, SOCK_STREAM}},
    {"socket-udp", SYS_socket, {AF_INET, SOCK_DGRAM}},
    {"socket-unix", SYS_socket, {AF_UNIX, SOCK_STREAM}},
    {"socket-netlink", SYS_socket, {AF_NETLINK, SOCK_RAW}},
    {"socket-packet", SYS_socket, {AF_PACKET, SOCK_RAW}},
    {"madvise-remove", SYS_madvise, {P(page), sizeof page, MADV_REMOVE}},
    {"madvise-remove-wide", SYS_madvise, {P(page), sizeof page, 1L << 32 | MADV_REMOVE}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(page)}},
    {"connect", SYS_connect, {4, P("\1\0\0abstract"), 11}},
    {"bind", SYS_bind, {4, P("\1\0\0abstract"), 11}},
    {"accept4", SYS_accept4, {4}},
    {"sendto", SYS_sendto, {4, P(page), 1, 0, P("\1\0\0abstract"), 11}},
    {"fork", SYS_clone, {SIGCHLD}},
    {"vfork", SYS_clone, {CLONE_VFORK | SIGCHLD}},
    {"clone-user", SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
    {"clone3", SYS_clone3, {P(page), 64}},
    {"execve", SYS_execve, {P("/bin/sh"), P(no_words), P(no_words)}},
    {"execveat", SYS_execveat, {AT_FDCWD, P("/bin/sh"), P(no_words), P(no_words)}},
    {"unshare-user", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare-mount", SYS_unshare, {CLONE_NEWNS}},
    {"setns", SYS_setns, {0, CLONE_NEWNS}},
    {"mount", SYS_mount, {P("t"), P("/"), P("tmpfs")}},
    {"umount2", SYS_umount2, {P("/")}},
    {"pivot_root", SYS_pivot_root, {P("."), P(".")}},
    {"chroot", SYS_chroot, {P("/")}},
    {"chdir", SYS_chdir, {P("/")}},
    {"open_tree", SYS_open_tree, {AT_FDCWD, P("/"), 1}},
    {"move_mount", SYS_move_mount, {0, P(""), AT_FDCWD, P("/"), 4}},
    {"fsopen", SYS_fsopen, {P("tmpfs")}},
    {"mount_setattr", SYS_mount_setattr, {AT_FDCWD, P("/"), 0, P(page), 32}},
    {"kill-first", SYS_kill, {1, 0}},
    {"kill-all", SYS_kill, {-1, SIGKILL}},
    {"tkill-first", SYS_tkill, {1, SIGKILL}},
    {"ptrace-first", SYS_ptrace, {16, 1}},
    {"process_vm_readv", SYS_process_vm_readv, {1, P(page), 1, P(page), 1}},
    {"pidfd_open", SYS_pidfd_open, {1}},
    {"pidfd_getfd", SYS_pidfd_getfd, {0, 0}},
    {"kcmp", SYS_kcmp, {1, 1}},
    {"bpf", SYS_bpf, {0, P(page), 64}},
    {"perf_event_open", SYS_perf_event_open, {P(page), 0, -1, -1}},
    {"io_uring_setup", SYS_io_uring_setup, {1, P(page)}},
    {"userfaultfd", SYS_userfaultfd, {1}},
    {"keyctl", SYS_keyctl, {0, -3}},
    {"add_key", SYS_add_key, {P("user"), P("x"), P("x"), 1, -3}},
    {"memfd_create", SYS_memfd_create, {P("x")}},
    {"mknodat", SYS_mknodat, {AT_FDCWD, P("x"), S_IFCHR, 0x103}},
    {"linkat", SYS_linkat, {AT_FDCWD, P("x"), AT_FDCWD, P("y")}},
    {"symlinkat", SYS_symlinkat, {P("x"), AT_FDCWD, P("y")}},
    {"fchmodat", SYS_fchmodat, {AT_FDCWD, P("x"), 04755}},
    {"fchownat", SYS_fchownat, {AT_FDCWD, P("x"), 0, 0}},
    {"fchown", SYS_fchown, {0, 0, 0}},
    {"setxattr", SYS_setxattr, {P("x"), P("user.x"), P("x"), 1}},
    {"truncate", SYS_truncate, {P("x")}},
    {"openat", SYS_openat, {AT_FDCWD, P("/etc/passwd")}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, P(page)}},
    {"ioctl", SYS_ioctl, {0, 0x5412, P("x")}},
    {"setuid", SYS_setuid, {0}},
    {"setresuid", SYS_setresuid, {0, 0, 0}},
    {"setgroups", SYS_setgroups, {0}},
    {"capset", SYS_capset, {P(page), P(page)}},
    {"prctl-dumpable", SYS_prctl, {4, 1}},
    {"seccomp", SYS_seccomp, {1, 0, P(page)}},
    {"personality", SYS_personality, {0x0040000}},
    {"prlimit64", SYS_prlimit64, {1, 7, 0, P(page)}},
    {"init_module", SYS_init_module, {P(page), 1, P("")}},
    {"kexec_load", SYS_kexec_load, {0}},
    {"reboot", SYS_reboot, {0xfee1dead, 672274793, 0}},
    {"swapon", SYS_swapon, {P("/x")}},
    {"sethostname", SYS_sethostname, {P("x"), 1}},
    {"settimeofday", SYS_settimeofday, {P(page), 0}},
    {"shmget", SYS_shmget, {1, 4096, 01666}},
    {"msgget", SYS_msgget, {1, 01666}},
    {"fanotify_init", SYS_fanotify_init, {0}},
    {"mmap-executable", SYS_mmap, {0, 4096, EXEC_PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
    {"mprotect-executable", SYS_mprotect, {P(page), sizeof page, EXEC_PAGE}},
    {"fcntl-flags", SYS_fcntl, {5, F_SETFL, 0}},
    {"fcntl-flags-wide", SYS_fcntl, {5, 1L << 32 | F_SETFL, 0}},
    {"fcntl-lease", SYS_fcntl, {3, F_SETLEASE, F_WRLCK}},
    {"fcntl-owner", SYS_fcntl, {4, F_SETOWN, 1}},
    {"fcntl-signal", SYS_fcntl, {4, F_SETSIG, SIGKILL}},
    {"fcntl-lock", SYS_fcntl, {3, F_SETLK, P(page)}},
    {"signal-first", SYS_tgkill, {1, 1, SIGKILL}},
#ifdef __x86_64__
    {"open", SYS_open, {P("/etc/passwd")}},
    {"other-abi-x32", 0x40000000 | SYS_getpid, {0}},
#endif
};

static void list_calls(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
        buf_addf(out, "%s\n", forbidden[i].name);
}

static void make_call(const char *name, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        const struct forbidden *f = &forbidden[i];
        const long *a = f->args;
        if (strcmp(f->name, name) != 0)
            continue;
        long r = syscall(f->number, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (r == 0 && f->number == SYS_clone)
            _exit(0);
        say_result(out, r);
    }
#ifdef __x86_64__
    if (strcmp(name, "other-abi-i386") == 0) {
        long r = 20; /* getpid */
        __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
        say_result(out, r);
    }
#endif
}

/* --- files that are not its own; only with calls that the filter lets through */

static int open_plain(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = mode};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static void read_at(int dir, const char *path, struct buf *out)
{
    char text[200];
    FD_AT_END int fd = open_plain(dir, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) {
        say_result(out, fd);
        return;
    }
    ssize_t n = read(fd, text, sizeof text);
    buf_add_text(out, "opened: ");
    buf_add(out, text, n > 0 ? (size_t)n : 0);
}

static void create(int dir, const char *path, struct buf *out)
{
    FD_AT_END int fd = open_plain(dir, path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    say_result(out, fd);
}

static void rename_to(int root, const char *path, struct buf *out)
{
    FD_AT_END int fd = open_plain(root, "probe-moves", O_WRONLY | O_CREAT, 0666);
    say_result(out, fd < 0 ? 0 : renameat2(root, "probe-moves", AT_FDCWD, path, 0));
}

/* `file/read/etc/passwd` and so on; the path is the machine's. */
static void reach_file(struct work *w, const char *what, struct buf *out)
{
    const char *path = strchr(what, '/');
    char up[PATH_TEXT_MAX];
    int root = w->roots[0].fd;
    struct stat st;
    if (!path)
        return;
    snprintf(up, sizeof up, "../../../../../..%s", path);
    if (strncmp(what, "read/", 5) == 0)
        read_at(AT_FDCWD, path, out);
    else if (strncmp(what, "up/", 3) == 0)
        read_at(root, up, out);
    else if (strncmp(what, "create/", 7) == 0)
        create(AT_FDCWD, path, out);
    else if (strncmp(what, "mkdir/", 6) == 0)
        say_result(out, mkdirat(AT_FDCWD, path, 0777));
    else if (strncmp(what, "unlink/", 7) == 0)
        say_result(out, unlinkat(AT_FDCWD, path, 0));
    else if (strncmp(what, "rename/", 7) == 0)
        rename_to(root, path, out);
    else if (strncmp(what, "stat/", 5) == 0)
        say_result(out, fstatat(AT_FDCWD, path, &st, 0));
}

/* A file that whoever starts it runs as its owner, who may be the machine's root. */
static void make_setuid(struct work *w, const char *how, struct buf *out)
{
    bool create_so = strcmp(how, "create") == 0;
    FD_AT_END int fd = open_plain(w->roots[0].fd, "probe-setuid", O_RDWR | O_CREAT | O_EXCL,
                                  create_so ? 06755 : 0755);
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) < 0)
        say_result(out, -1);
    else if (!create_so)
        say_result(out, fchmod(fd, 06755));
}

static void list_descriptors(struct buf *out)
{
    for (int fd = 0; fd < 4096; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0)
            buf_addf(out, "%d %s\n", fd,
                     S_ISSOCK(st.st_mode)  ? "socket"
                     : S_ISDIR(st.st_mode) ? "folder"
                     : S_ISCHR(st.st_mode) ? "device"
                     : st.st_mode & S_IFMT ? "other"
                                           : "event");
    }
}

/* --- bytes that the gate must not be harmed by: a test loads them, then has them sent */

static char loaded[512u << 10];
static size_t n_loaded;
static bool has_loaded; /* a new worker is asked to clean up at the same path */

static void load(struct str bytes)
{
    has_loaded = true;
    n_loaded = bytes.n < sizeof loaded ? bytes.n : sizeof loaded;
    memcpy(loaded, bytes.p, n_loaded);
}

/* The call's token goes where a frame has its own, combined with what stands there. */
static void play(int fd, uint64_t token, unsigned long times)
{
    FREE_AT_END char *message = mem_copy(loaded, n_loaded);
    struct iovec part = {message, n_loaded};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_loaded >= 16) {
        uint64_t said;
        memcpy(&said, message + 8, sizeof said);
        said ^= token;
        memcpy(message + 8, &said, sizeof said);
    }
    for (unsigned long i = 0; i < times; i++) {
        if (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
            break;
    }
}

/* Descriptors with every frame: the gate must not collect them. */
static void send_descriptors(int fd, uint64_t token)
{
    struct frame frame = {.type = FRAME_CHUNK, .token = token};
    for (int i = 0; i < 2000; i++)
        frame_send(fd, &frame, fd);
}

/* --- more than its share */

/* Until nothing more goes in; the gate calls for help by the same way. */
static void call_for_help(struct buf *out)
{
    long count = 0;
    while (send(CELL_HELP_SEND_FD, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        count++;
    say_result(out, count);
}

static void use_memory(struct buf *out)
{
    const size_t megabyte = 1u << 20;
    for (unsigned mb = 0;; mb++) {
        char *p = mmap(NULL, megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            buf_addf(out, "errno %d after %u MB", errno, mb);
            return;
        }
    }
}

/* --- memory that the gate reads from */

static atomic_bool changed_enough;

static void *change(void *arg)
{
    static const char kinds[] = "a\"\\\1\xff\xe2\x82\xac\n";
    char *shelf = arg;
    for (size_t kind = 0; !atomic_load(&changed_enough); kind = (kind + 1) % (sizeof kinds - 1)) {
        for (size_t i = 0; i < 8 * FRAME_BODY_MAX; i++)
            shelf[i] = kinds[(kind + i % 3) % (sizeof kinds - 1)];
    }
    return NULL;
}

static void shelve_and_change(struct work *w)
{
    pthread_t thread;
    work_take_shelf(w);
    if (!w->shelf) {
        buf_add_text(&w->body, "no shelf");
        return;
    }
    atomic_store(&changed_enough, false);
    if (pthread_create(&thread, NULL, change, w->shelf) != 0)
        return;
    for (size_t i = 0; i < 8; i++)
        work_send_shelved(w, (struct str){w->shelf + i * FRAME_BODY_MAX, FRAME_BODY_MAX});
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 2000000}, NULL);
    atomic_store(&changed_enough, true);
    pthread_join(thread, NULL);
}

/* --- */

static void end_badly(int fd, const char *how)
{
    if (strcmp(how, "exit") == 0)
        _exit(7);
    if (strcmp(how, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "close") == 0)
        close(fd);
    while (strcmp(how, "spin") == 0)
        continue;
    for (;;)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = 1000}, NULL);
}

static void *count_up(void *count)
{
    ++*(volatile int *)count;
    return NULL;
}

/* What a sanitizer must see; without one this may do anything. */
static void do_undefined(const char *what)
{
    static int count;
    pthread_t other;
    volatile char *bytes = mem_zero(8);
    if (strcmp(what, "overflow") == 0)
        bytes[0] = bytes[8];
    if (strcmp(what, "shift") == 0)
        count = 1 << (bytes[0] + 40);
    if (strcmp(what, "race") == 0 && pthread_create(&other, NULL, count_up, &count) == 0) {
        count_up(&count);
        pthread_join(other, NULL);
    }
    free((char *)(uintptr_t)bytes);
}

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* What is answered in the body of a read. */
static void look_around(struct work *w, int gate_fd, uint64_t token, const char *probe)
{
    const char *rest;
    if ((rest = after(probe, "call/")))
        make_call(rest, &w->body);
    else if ((rest = after(probe, "file/")))
        reach_file(w, rest, &w->body);
    else if ((rest = after(probe, "setuid/")))
        make_setuid(w, rest, &w->body);
    else if (strcmp(probe, "calls") == 0)
        list_calls(&w->body);
    else if (strcmp(probe, "descriptors") == 0)
        list_descriptors(&w->body);
    else if (strcmp(probe, "send-descriptors") == 0)
        send_descriptors(gate_fd, token);
    else if (strcmp(probe, "call-for-help") == 0)
        call_for_help(&w->body);
    else if (strcmp(probe, "memory") == 0)
        use_memory(&w->body);
    else if (strcmp(probe, "shelf/change") == 0)
        shelve_and_change(w);
}

enum broken broken_serve(struct work *w, int gate_fd, uint64_t token,
                         const union op_request *request, struct str body, union op_reply *reply)
{
    /* All requests begin alike. */
    const char *probe = after(request->read.path.p, PREFIX);
    const char *rest;
    if (!probe) {
        struct stat st;
        if (fstatat(w->roots[0].fd, "__probe__", &st, 0) == 0 && S_ISREG(st.st_mode))
            raise(SIGSEGV);
        return BROKEN_NOT;
    }
    memset(w->sha256, '0', HASH_HEX);
    struct str hash = {w->sha256, HASH_HEX};
    if (strcmp(probe, "load") == 0) {
        load(body);
        reply->write = (struct op_write_reply){.bytes = (int64_t)body.n, .sha256 = hash};
        return BROKEN_ANSWER;
    }
    if ((rest = after(probe, "play/")) && !has_loaded)
        return BROKEN_NOT;
    if (rest) {
        play(gate_fd, token, strtoul(rest, NULL, 10));
        return BROKEN_SILENT;
    }
    if ((rest = after(probe, "end/")))
        end_badly(gate_fd, rest);
    if ((rest = after(probe, "undefined/")))
        do_undefined(rest);
    look_around(w, gate_fd, token, probe);
    reply->read = (struct op_read_reply){.size = (int64_t)w->body.len,
                                         .sha256 = hash,
                                         .total_lines = 1,
                                         .start_line = 1,
                                         .end_line = 1};
    return BROKEN_ANSWER;
}
