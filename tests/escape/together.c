/* Commands that outlive their call, and two that run at the same time. */
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attempts.h"

/* --- staying */

static void ignore_signals(void)
{
    for (int number = 1; number <= 64; number++)
        signal(number, SIG_IGN);
}

static void stay(int how)
{
    if (how & 1)
        setsid();
    if (fork() != 0)
        _exit(0);
    if (how & 2)
        ignore_signals();
    if (how & 4)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fork() == 0 && (how & 8))
        raise(SIGSTOP);
    for (;;)
        pause();
}

/* All of them hold a lock on the file that is named; with standard output open, too. */
static enum outcome outlive(const struct attempt *a)
{
    (void)a;
    int fd = open(argument(0), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return NOT_TRIED;
    for (int how = 0; how < 16; how++) {
        pid_t pid = fork();
        if (pid == 0)
            stay(how);
        waitpid(pid, NULL, 0);
    }
    printf("they stay\n");
    return STOPPED;
}

/* Until it is killed: nothing asks it to. */
static enum outcome ignore_the_end(const struct attempt *a)
{
    (void)a;
    int fd = open(argument(0), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return NOT_TRIED;
    ignore_signals();
    fork();
    for (;;)
        pause();
}

/* --- saying what one is not asked */

/* A result as the first process writes it, into everything that can be written to. */
static enum outcome forge(const struct attempt *a)
{
    (void)a;
    char frame[4096];
    int file = open(argument(0), O_RDONLY | O_CLOEXEC);
    ssize_t n = read(file, frame, sizeof frame);
    close(file);
    for (int fd = 0; fd < 1024 && n > 0; fd++)
        (void)!write(fd, frame, (size_t)n);
    exit(n > 0 ? 7 : NOT_TRIED);
}

static enum outcome flood(const struct attempt *a)
{
    (void)a;
    static char block[65536];
    memset(block, 'x', sizeof block);
    for (size_t i = 0; i < (10u << 20) / sizeof block; i++) {
        if (write(STDOUT_FILENO, block, sizeof block) < 0 ||
            write(STDERR_FILENO, block, sizeof block) < 0)
            return NOT_TRIED;
    }
    return STOPPED;
}

/* What one process may have, three times, while the first process, who adds it up, is kept from doing so. Ends by
 * itself long after it should have been ended. */
static enum outcome have_more(const struct attempt *a)
{
    (void)a;
    const size_t bytes = 40u << 20;
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0);
            for (;;)
                pause();
        }
    }
    const struct rlimit few = {3, 3};
    if (strcmp(argument(0), "blind") == 0)
        prlimit(1, RLIMIT_NOFILE, &few, NULL);
    if (strcmp(argument(0), "busy") == 0 && fork() == 0) {
        for (;;)
            mount("none", "/tmp", "tmpfs", 0, NULL);
    }
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 300; i++) {
        if (waitpid(-1, NULL, WNOHANG) > 0)
            return judge(
                -1, "one was ended"); /* by its group of the kernel, which counts without looking */
        nanosleep(&moment, NULL);
    }
    return judge(0, "having more than is allowed");
}

/* --- descriptors from one command to another */

static struct sockaddr_un named(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    return address;
}

/* Gives its standard output to whoever listens, and ends. */
static enum outcome hand_over(const struct attempt *a)
{
    (void)a;
    struct sockaddr_un address = named(argument(0));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (void *)&address, sizeof address) < 0)
        return NOT_TRIED;
    char byte = 0;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    const int out = STDOUT_FILENO;
    memcpy(CMSG_DATA(&control.head), &out, sizeof out);
    if (sendmsg(fd, &message, 0) < 0)
        return NOT_TRIED;
    /* Taken by now: the answer says so. */
    return read(fd, &byte, 1) == 1 ? STOPPED : NOT_TRIED;
}

/* Takes it, holds it until the second file is there, then writes. */
static enum outcome take_over(const struct attempt *a)
{
    (void)a;
    struct sockaddr_un address = named(argument(0));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (void *)&address, sizeof address) < 0 || listen(listener, 1) < 0)
        return NOT_TRIED;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    char byte;
    struct iovec part = {&byte, 1};
    char room[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) < 0 || !CMSG_FIRSTHDR(&message))
        return NOT_TRIED;
    int taken;
    memcpy(&taken, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof taken);
    if (write(fd, "x", 1) != 1)
        return NOT_TRIED;
    wait_for_file(argument(1));
    signal(SIGPIPE, SIG_IGN);
    return judge(write(taken, "forged", 6), "writing behind its end");
}

/* --- two at the same time */

#define KEY 0x5a17
#define PORT 7171
#define NAME "sandgate-neighbour"

static struct sockaddr_un abstract(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, NAME, sizeof NAME);
    return address;
}

static const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                            .sin_port = __builtin_bswap16(PORT),
                                            .sin_addr = {__builtin_bswap32(INADDR_LOOPBACK)}};

static int listen_at(int family, const void *address, size_t n)
{
    int one = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    return bind(fd, address, (socklen_t)n) < 0 || listen(fd, 16) < 0 ? -1 : fd;
}

static int connect_to(int family, const void *address, size_t n)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, address, (socklen_t)n);
}

static enum outcome look_for_files(const struct attempt *a)
{
    (void)a;
    return both(try_open("/tmp/neighbour", O_RDONLY), try_open("/dev/shm/neighbour", O_RDONLY));
}

static enum outcome look_for_memory(const struct attempt *a)
{
    (void)a;
    enum outcome worst = judge(shmget(KEY, 0, 0), "shared memory");
    worst = both(worst, judge(semget(KEY, 0, 0), "semaphores"));
    worst = both(worst, judge(msgget(KEY, 0), "a message queue"));
    return both(worst, judge(mq_open("/neighbour", O_RDWR), "a POSIX message queue"));
}

static enum outcome look_for_name(const struct attempt *a)
{
    (void)a;
    struct sockaddr_un name = abstract();
    return judge(connect_to(AF_UNIX, &name, sizeof name), "an abstract socket");
}

/* The cell's commands share one loopback and one home: this is how it is meant. */
static enum outcome look_for_port(const struct attempt *a)
{
    (void)a;
    return judge(connect_to(AF_INET, &loopback, sizeof loopback), "a port of the loopback");
}

/* Has one of everything, finds it itself, says so by a file, and stays until another is there. */
static enum outcome neighbour(const struct attempt *a)
{
    struct sockaddr_un name = abstract();
    /* Landlock, which knows no rule for where these are, refuses it to all who are locked. */
    judge(mq_open("/neighbour", O_RDWR | O_CREAT, 0666, NULL), "a POSIX message queue");
    if (try_open("/tmp/neighbour", O_RDWR | O_CREAT) != THROUGH ||
        shmget(KEY, 4096, IPC_CREAT | 0666) < 0 || semget(KEY, 1, IPC_CREAT | 0666) < 0 ||
        msgget(KEY, IPC_CREAT | 0666) < 0 || listen_at(AF_UNIX, &name, sizeof name) < 0 ||
        listen_at(AF_INET, &loopback, sizeof loopback) < 0)
        return NOT_TRIED;
    if (look_for_files(a) != THROUGH || look_for_memory(a) != THROUGH ||
        look_for_name(a) != THROUGH || look_for_port(a) != THROUGH ||
        try_open(argument(0), O_WRONLY | O_CREAT) != THROUGH)
        return NOT_TRIED;
    wait_for_file(argument(1));
    return STOPPED;
}

/* Shared memory of the machine under a key. */
static enum outcome look_for_key(const struct attempt *a)
{
    (void)a;
    key_t key = (key_t)strtol(argument(0), NULL, 10);
    return judge(shmget(key, 0, 0), "shared memory");
}

#define WITH_ARGUMENT(name_, run_)                                                                 \
    {                                                                                              \
        .name = name_, .run = run_, .argument = true                                               \
    }

const struct attempt together_attempts[] = {
    WITH_ARGUMENT("outlive", outlive),
    WITH_ARGUMENT("ignore-the-end", ignore_the_end),
    WITH_ARGUMENT("forge", forge),
    {.name = "flood", .run = flood},
    WITH_ARGUMENT("have-more", have_more),
    WITH_ARGUMENT("hand-over", hand_over),
    WITH_ARGUMENT("take-over", take_over),
    WITH_ARGUMENT("neighbour", neighbour),
    WITH_ARGUMENT("neighbour-files", look_for_files),
    WITH_ARGUMENT("neighbour-memory", look_for_memory),
    WITH_ARGUMENT("neighbour-name", look_for_name),
    WITH_ARGUMENT("neighbour-port", look_for_port),
    WITH_ARGUMENT("memory-of-host", look_for_key),
    {0},
};
