#include "cell/violations.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "cell/space.h"

#define SEND_TRIES 4 /* a signal makes one fail */

static const struct {
    int nr;
    const char *name;
} calls[] = {
#include "cell/filter_reported.h"
};

struct word {
    uint32_t value;
    const char *text;
};

static const struct word families[] = {
    {AF_AX25, "AF_AX25"}, {AF_X25, "AF_X25"},         {AF_KEY, "AF_KEY"},
    {AF_RDS, "AF_RDS"},   {AF_PACKET, "AF_PACKET"},   {AF_NETLINK, "AF_NETLINK"},
    {AF_CAN, "AF_CAN"},   {AF_TIPC, "AF_TIPC"},       {AF_BLUETOOTH, "AF_BLUETOOTH"},
    {AF_ALG, "AF_ALG"},   {AF_NFC, "AF_NFC"},         {AF_VSOCK, "AF_VSOCK"},
    {AF_KCM, "AF_KCM"},   {AF_QIPCRTR, "AF_QIPCRTR"}, {44, "AF_XDP"},
    {43, "AF_SMC"},
};

static const struct word types[] = {
    {SOCK_RAW, "SOCK_RAW"},
    {SOCK_PACKET, "SOCK_PACKET"},
    {SOCK_SEQPACKET, "SOCK_SEQPACKET"},
    {SOCK_DCCP, "SOCK_DCCP"},
};

static const struct word terminal[] = {
    {TIOCSTI, "TIOCSTI"},
    {TIOCLINUX, "TIOCLINUX"},
    {TIOCSETD, "TIOCSETD"},
};

/* They allocate blocks of a disk, by an argument that lies in memory and is not counted. */
static const struct word allocating[] = {
    {FS_IOC_RESVSP, "FS_IOC_RESVSP"},
    {FS_IOC_RESVSP64, "FS_IOC_RESVSP64"},
    {FS_IOC_ZERO_RANGE, "FS_IOC_ZERO_RANGE"},
    {FS_IOC_FSSETXATTR, "FS_IOC_FSSETXATTR"},
};

static const char *word_for(const struct word *words, size_t n, uint32_t value, const char *other)
{
    for (size_t i = 0; i < n; i++) {
        if (words[i].value == value)
            return words[i].text;
    }
    return other;
}

/* What the call is answered with and counted as. */
struct refusal {
    int error;
    const char *name;
    const char *word; /* behind the name, or NULL */
};

static struct refusal refuse_family(const char *name, uint32_t family)
{
    const char *word = word_for(families, ARRAY_LEN(families), family, "family");
    return (struct refusal){EAFNOSUPPORT, name, word};
}

/* The errors are those of a kernel that was built without it: programs know them. */
static struct refusal refuse_socket(const char *name, const struct seccomp_data *data)
{
    uint32_t family = (uint32_t)data->args[0];
    uint32_t type = (uint32_t)data->args[1] & 0xf;
    if (family != AF_INET && family != AF_INET6)
        return refuse_family(name, family);
    if (type == SOCK_STREAM || type == SOCK_DGRAM)
        return (struct refusal){EPROTONOSUPPORT, name, "protocol"};
    const char *word = word_for(types, ARRAY_LEN(types), type, "type");
    bool raw = type == SOCK_RAW || type == SOCK_PACKET;
    return (struct refusal){raw ? EPERM : ESOCKTNOSUPPORT, name, word};
}

static struct refusal refuse_mode(const char *name, uint64_t mode)
{
    const char *word = mode & S_ISUID ? "setuid" : mode & S_ISGID ? "setgid" : "device";
    return (struct refusal){EPERM, name, word};
}

/* Which argument is the mode. Which of its forms of a call the C library uses is of no interest. */
static const struct {
    const char *name;
    unsigned mode;
    const char *known_as;
} with_mode[] = {
    {"chmod", 1, "chmod"},   {"fchmod", 1, "chmod"},  {"fchmodat", 2, "chmod"},
    {"open", 2, "open"},     {"openat", 3, "open"},   {"creat", 1, "open"},
    {"mkdir", 1, "mkdir"},   {"mkdirat", 2, "mkdir"}, {"mknod", 1, "mknod"},
    {"mknodat", 2, "mknod"},
};

static struct refusal refuse_ioctl(const char *name, uint32_t request)
{
    const char *word = word_for(allocating, ARRAY_LEN(allocating), request, NULL);
    if (word)
        return (struct refusal){EOPNOTSUPP, name, word};
    return (struct refusal){EPERM, name, word_for(terminal, ARRAY_LEN(terminal), request, NULL)};
}

static struct refusal refuse_clone(const char *name, uint64_t flags)
{
    bool files = (flags & (CLONE_THREAD | CLONE_FILES)) == CLONE_THREAD;
    return (struct refusal){EPERM, name, files ? "files" : "namespaces"};
}

/* What the judge did not allow. A program takes most of them for missing in an older kernel. */
static const struct {
    const char *name;
    int error;
} judged[] = {{"memfd_create", ENOSYS},
              {"vmsplice", ENOSYS},
              {"landlock_create_ruleset", ENOSYS},
              {"setsockopt", ENOPROTOOPT},
              {"fallocate", ENOSPC}};

static struct refusal refuse_named_call(const char *name, const struct seccomp_data *data)
{
    for (size_t i = 0; i < ARRAY_LEN(with_mode); i++) {
        if (strcmp(name, with_mode[i].name) == 0)
            return refuse_mode(with_mode[i].known_as, data->args[with_mode[i].mode]);
    }
    if (strcmp(name, "socket") == 0)
        return refuse_socket(name, data);
    if (strcmp(name, "socketpair") == 0)
        return refuse_family(name, (uint32_t)data->args[0]);
    if (strcmp(name, "ioctl") == 0)
        return refuse_ioctl(name, (uint32_t)data->args[1]);
    for (size_t i = 0; i < ARRAY_LEN(judged); i++) {
        if (strcmp(name, judged[i].name) == 0)
            return (struct refusal){judged[i].error, name, NULL};
    }
    /* As where the file system cannot. */
    if (strcmp(name, "renameat2") == 0)
        return (struct refusal){EINVAL, "rename", "whiteout"};
    if (strcmp(name, "clone") == 0)
        return refuse_clone(name, data->args[0]);
    if (strcmp(name, "prctl") == 0)
        return (struct refusal){EPERM, name, "PR_SET_MM"};
    return (struct refusal){EPERM, name, NULL};
}

static const char *call_name(int nr)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (calls[i].nr == nr)
            return calls[i].name;
    }
    return "unknown";
}

static void add_one_violation(uint32_t *count)
{
    if (*count < UINT32_MAX)
        ++*count;
}

/* Never longer than there is room for, and valid: what is written of it has at most six bytes for each of these. */
static void copy_violation_name(const char *name, char to[VIOLATION_NAME_MAX])
{
    static const char more[] = "…";
    size_t n = strlen(name);
    bool cut = n >= VIOLATION_NAME_MAX;
    if (cut)
        n = utf8_cut(name, VIOLATION_NAME_MAX - sizeof more);
    for (size_t i = 0; i < n;) {
        size_t length = utf8_sequence(name + i, n - i);
        memcpy(to + i, length ? name + i : "?", length ? length : 1);
        i += length ? length : 1;
    }
    memcpy(to + n, more, cut ? sizeof more : 0);
    to[cut ? n + sizeof more - 1 : n] = '\0';
}

void violations_count(struct violations *v, const char *full_name)
{
    char name[VIOLATION_NAME_MAX];
    copy_violation_name(full_name, name);
    uint32_t i = 0;
    while (i < v->n && strcmp(v->seen[i].call, name) != 0)
        i++;
    if (i == VIOLATIONS_MAX) {
        add_one_violation(&v->others);
        return;
    }
    if (i == v->n) {
        snprintf(v->seen[i].call, sizeof v->seen[i].call, "%s", name);
        v->n++;
    }
    add_one_violation(&v->seen[i].count);
}

static void count_refusal(struct violations *v, const struct refusal *refusal)
{
    char call[sizeof v->seen->call];
    const char *word = refusal->word;
    snprintf(call, sizeof call, "%s%s%s", refusal->name, word ? ":" : "", word ? word : "");
    violations_count(v, call);
}

/* True also for ENOENT: it may have died meanwhile, and there is nobody to tell. */
static bool send_answer(int listener, void *answer)
{
    for (int i = 0; i < SEND_TRIES; i++) {
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer) == 0 || errno == ENOENT)
            return true;
    }
    return false;
}

bool violations_take(int listener, struct violations *v, const struct violations_judge *judge)
{
    /* A later kernel's structures may be longer, and it wants zeros where it writes. */
    union {
        struct seccomp_notif call;
        char room[1024];
    } got;
    union {
        struct seccomp_notif_resp answer;
        char room[1024];
    } give;
    memset(&got, 0, sizeof got);
    memset(&give, 0, sizeof give);
    /* ENOENT: whoever called has died. After any other error poll tells of the call again. */
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got) < 0)
        return true;
    const char *name = call_name(got.call.data.nr);
    give.answer.id = got.call.id;
    if (judge && judge->allows(judge->self, name, &got.call.data)) {
        give.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        const char *denied = judge && judge->denied
                                 ? judge->denied(judge->self, name, &got.call.data)
                                 : NULL;
        struct refusal refusal = denied ? (struct refusal){EPERM, "denied", denied}
                                        : refuse_named_call(name, &got.call.data);
        count_refusal(v, &refusal);
        give.answer.error = -refusal.error;
    }
    return send_answer(listener, &give);
}

static void write_row(struct json_out *j, const char *call, uint32_t times)
{
    jo_open(j, '{');
    jo_ktext(j, "call", call);
    jo_kint(j, "count", times);
    jo_close(j, '}');
}

void violations_write(const struct violations *v, struct json_out *j)
{
    jo_open(j, '[');
    for (uint32_t i = 0; i < v->n && i < VIOLATIONS_MAX; i++)
        write_row(j, v->seen[i].call, v->seen[i].count);
    if (v->others > 0)
        write_row(j, "other", v->others);
    jo_close(j, ']');
}
