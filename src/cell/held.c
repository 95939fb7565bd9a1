#include "cell/held.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/netlink_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
/* Linux 5.7; missing in older headers. */
#define REQ_PROTOCOL 3

/* --- System V objects */

/* The kernel's own part of a queued message, a semaphore (with what undoes it), and of any object. */
#define MESSAGE_BYTES 128
#define SEMAPHORE_BYTES 128
#define OBJECT_BYTES 2048
#define COLUMNS_MAX 16

struct ipc_file {
    const char *path;
    struct {
        unsigned column;
        uint64_t bytes; /* for each one that it counts */
    } sums[2];
    bool undone; /* the second sum is for what each process has to undo */
};

/* The first line has names of columns, which have no digits and so count nothing. */
static const struct ipc_file ipc_files[] = {
    {"sysvipc/shm", {{14, 1}, {15, 1}}},
    {"sysvipc/msg", {{3, 1}, {4, MESSAGE_BYTES}}},
    {"sysvipc/sem", {{3, SEMAPHORE_BYTES}, {3, 0}}, .undone = true},
};

static uint64_t of_line(const struct ipc_file *file, const char *line)
{
    uint64_t column[COLUMNS_MAX] = {0};
    for (size_t n = 0; n < COLUMNS_MAX && *line; n++) {
        char *end;
        column[n] = strtoull(line, &end, 10);
        if (end == line)
            break;
        line = end;
    }
    uint64_t sum = OBJECT_BYTES;
    for (size_t i = 0; i < ARRAY_LEN(file->sums); i++)
        sum += column[file->sums[i].column] * file->sums[i].bytes;
    return sum;
}

static uint64_t of_file(int proc_fd, const struct ipc_file *file)
{
    char text[8192];
    size_t have = 0;
    uint64_t sum = 0;
    FD_AT_END int fd = openat(proc_fd, file->path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, text + have, sizeof text - 1 - have)) > 0;) {
        have += (size_t)n;
        text[have] = 0;
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            sum += of_line(file, line);
        }
        have = strlen(line);
        memmove(text, line, have);
    }
    /* The line with the names. */
    return sum > OBJECT_BYTES ? sum - OBJECT_BYTES : 0;
}

/* What a process is to undo at its end (SEM_UNDO): two bytes for each semaphore of a set, told nowhere. */
#define UNDO_BYTES 2

uint64_t held_by_ipc(int proc_fd, uint32_t processes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(ipc_files); i++) {
        struct ipc_file file = ipc_files[i];
        if (file.undone)
            file.sums[1].bytes = (uint64_t)processes * UNDO_BYTES;
        sum += of_file(proc_fd, &file);
    }
    return sum;
}

/* --- sockets */

/* A socket with empty buffers. */
#define SOCKET_BYTES 2048
/* What a unix socket may have sent that was not read yet: the usual net.core.wmem_default. */
#define UNREAD_BYTES 212992u
/* Some 60 lines of at most 170 bytes. */
#define PROTOCOLS_MAX 16384

struct ask_netlink {
    struct nlmsghdr head;
    struct netlink_diag_req req;
};

struct ask_unix {
    struct nlmsghdr head;
    struct unix_diag_req req;
};

struct ask_inet {
    struct nlmsghdr head;
    struct inet_diag_req_v2 req;
    struct rtattr attr;
    uint32_t protocol;
};

struct question {
    struct nlmsghdr *ask;
    size_t fixed;  /* bytes of an answer before its attributes */
    unsigned type; /* of the attribute that tells */
};

int held_open(void)
{
    struct timeval wait = {.tv_sec = 1};
    FD_AT_END int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* What a queue holds is charged to the sender (unix), the receiver (netlink) or to both ends (internet). */
static uint64_t of_buffers(const struct rtattr *attr)
{
    uint32_t v[SK_MEMINFO_VARS] = {0};
    size_t n = RTA_PAYLOAD(attr);
    memcpy(v, RTA_DATA(attr), n < sizeof v ? n : sizeof v);
    uint64_t out = v[SK_MEMINFO_WMEM_ALLOC] > v[SK_MEMINFO_WMEM_QUEUED] ? v[SK_MEMINFO_WMEM_ALLOC]
                                                                        : v[SK_MEMINFO_WMEM_QUEUED];
    return out + v[SK_MEMINFO_RMEM_ALLOC] + v[SK_MEMINFO_FWD_ALLOC] + v[SK_MEMINFO_BACKLOG] +
           v[SK_MEMINFO_OPTMEM];
}

static uint64_t of_socket(const struct nlmsghdr *m, size_t fixed, unsigned type)
{
    uint64_t sum = SOCKET_BYTES;
    if (m->nlmsg_len < NLMSG_LENGTH(fixed))
        return sum;
    size_t left = m->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(fixed));
    const struct rtattr *attr = (const void *)((const char *)NLMSG_DATA(m) + NLMSG_ALIGN(fixed));
    for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
        if (attr->rta_type == type)
            sum += of_buffers(attr);
    }
    return sum;
}

/* What became of a question. */
enum dump {
    DUMP_DONE,
    DUMP_ENOUGH,  /* the rest does not matter */
    DUMP_REFUSED, /* the kernel does not tell about this kind of socket */
    DUMP_LOST,    /* no answer, or not its end */
};

/* An answer that was not read to its end goes on with each read, and keeps the kernel from giving another. */
static void skip_old_answer(int fd)
{
    char bytes[32768];
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);)
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
}

struct count {
    uint64_t bytes;
    uint64_t sockets;
};

/* Of one message of the answer. DUMP_LOST: it goes on. */
static enum dump take_socket_dump(const char *bytes, size_t left, const struct question *q,
                                  struct count *sum)
{
    const struct nlmsghdr *m = (const void *)bytes;
    for (; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
        if (m->nlmsg_seq != q->ask->nlmsg_seq)
            continue;
        if (m->nlmsg_type == NLMSG_DONE)
            return DUMP_DONE;
        if (m->nlmsg_type == NLMSG_ERROR)
            return DUMP_REFUSED;
        sum->bytes += of_socket(m, q->fixed, q->type);
        sum->sockets++;
    }
    return DUMP_LOST;
}

static enum dump dump(int fd, const struct question *q, uint64_t enough, struct count *sum)
{
    static uint32_t number;
    _Alignas(struct nlmsghdr) char bytes[32768];
    enum dump result = DUMP_LOST;
    q->ask->nlmsg_seq = ++number;
    skip_old_answer(fd);
    if (send(fd, q->ask, q->ask->nlmsg_len, 0) < 0)
        return DUMP_LOST;
    while (result == DUMP_LOST) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return DUMP_LOST;
        result = take_socket_dump(bytes, (size_t)n, q, sum);
        if (enough && sum->bytes > enough)
            return DUMP_ENOUGH;
    }
    return result;
}

static enum dump dump_unix(int fd, uint64_t enough, struct count *sum)
{
    struct ask_unix ask = {
        .head = {.nlmsg_len = sizeof ask,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = AF_UNIX,
                .udiag_states = UINT32_MAX,
                .udiag_show = UDIAG_SHOW_MEMINFO},
    };
    const struct question q = {&ask.head, sizeof(struct unix_diag_msg), UNIX_DIAG_MEMINFO};
    return dump(fd, &q, enough, sum);
}

static enum dump dump_inet(int fd, uint8_t family, uint32_t protocol, uint64_t enough,
                           struct count *sum)
{
    struct ask_inet ask = {
        .head = {.nlmsg_len = sizeof ask,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = family,
                .sdiag_protocol = (uint8_t)protocol,
                .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                .idiag_states = UINT32_MAX},
        /* One byte is too little for the last of them. */
        .attr = {RTA_LENGTH(sizeof ask.protocol), REQ_PROTOCOL},
        .protocol = protocol,
    };
    const struct question q = {&ask.head, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO};
    return dump(fd, &q, enough, sum);
}

static enum dump dump_netlink(int fd, uint64_t enough, struct count *sum)
{
    struct ask_netlink ask = {
        .head = {.nlmsg_len = sizeof ask,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = AF_NETLINK,
                .sdiag_protocol = NDIAG_PROTO_ALL,
                .ndiag_show = NDIAG_SHOW_MEMINFO},
    };
    const struct question q = {&ask.head, sizeof(struct netlink_diag_msg), NETLINK_DIAG_MEMINFO};
    return dump(fd, &q, enough, sum);
}

/* A kind that cannot be made here needs no counting. The filter lets these calls pass, or it would wait for itself. */
static bool is_known_to_kernel(uint8_t family, uint32_t protocol)
{
    int type = protocol == IPPROTO_UDP ? SOCK_DGRAM : SOCK_STREAM;
    FD_AT_END int fd = socket(family, type | SOCK_CLOEXEC, (int)protocol);
    return fd >= 0 || err_is_shortage(errno);
}

static bool dump_all_inet(int fd, uint64_t enough, struct count *sum)
{
    static const uint32_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_MPTCP};
    static const uint8_t families[] = {AF_INET, AF_INET6};
    bool complete = true;
    for (size_t i = 0; i < ARRAY_LEN(protocols) * ARRAY_LEN(families); i++) {
        uint8_t family = families[i % 2];
        uint32_t protocol = protocols[i / 2];
        enum dump result = dump_inet(fd, family, protocol, enough, sum);
        if (result == DUMP_ENOUGH)
            return true;
        complete &= result == DUMP_DONE ||
                    (result == DUMP_REFUSED && !is_known_to_kernel(family, protocol));
    }
    return complete;
}

/* Unix sockets of this network namespace that exist, closed ones with unread data included. Lines of the file are
 * "UNIX 1152 17 ...": name, size, number. */
static bool count_unix(int proc_fd, uint64_t *ret)
{
    char text[PROTOCOLS_MAX];
    FD_AT_END int fd = openat(proc_fd, "self/net/protocols", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text - 1);
    *ret = 0;
    if (n <= 0)
        return false;
    text[n] = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "UNIX", 4) != 0)
            continue;
        char *end;
        const char *size = line + strcspn(line, " ");
        (void)strtoull(size, &end, 10);
        *ret += strtoull(end, NULL, 10);
    }
    return true;
}

/* What waits to be read is charged to the socket that sent it. When that is closed, sock_diag does not list it any
 * more, and nobody tells how much it is; but it exists until all is read, and so is missing in the list. */
static bool dump_all_unix(int fd, int proc_fd, uint64_t enough, struct count *sum, bool *ret_enough)
{
    uint64_t existing;
    bool known = count_unix(proc_fd, &existing);
    enum dump result = dump_unix(fd, enough, sum);
    if (result == DUMP_DONE && existing > sum->sockets)
        sum->bytes += (existing - sum->sockets) * UNREAD_BYTES;
    *ret_enough = result == DUMP_ENOUGH || (enough && sum->bytes > enough);
    return *ret_enough || (known && result == DUMP_DONE);
}

bool held_by_sockets(int fd, int proc_fd, uint64_t enough, uint64_t *ret_bytes)
{
    struct count sum = {0};
    bool over;
    *ret_bytes = 0;
    if (fd < 0)
        return false;
    bool complete = dump_all_unix(fd, proc_fd, enough, &sum, &over);
    if (!over) {
        enum dump result = dump_netlink(fd, enough, &sum);
        over = result == DUMP_ENOUGH;
        complete &= over || result == DUMP_DONE;
    }
    if (!over)
        complete &= dump_all_inet(fd, enough, &sum);
    *ret_bytes = sum.bytes;
    return complete || (enough && sum.bytes > enough);
}
