#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cell/probe_parts.h"

#define TEXT_MAX (256u << 10)

/* --- what the machine says of itself */

/* "" where there is no such file. */
static const char *read_whole(const char *path, char *out, size_t size)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : fd_read_upto(fd, out, size - 1);
    out[n < 0 ? 0 : n] = '\0';
    return out;
}

/* Of a file that holds one; -1: there is none. */
static long read_sysctl(const char *path)
{
    char text[32];
    return read_whole(path, text, sizeof text)[0] ? strtol(text, NULL, 10) : -1;
}

/* Whether a system call filter holds this process. */
static bool is_under_filter(void)
{
    char text[8192];
    const char *at = strstr(read_whole("/proc/self/status", text, sizeof text), "\nSeccomp:");
    return at && strtol(at + sizeof "\nSeccomp:" - 1, NULL, 10) == 2;
}

/* "6.12.3" as 6012. */
static unsigned long read_version(const char *text)
{
    char *end;
    unsigned long major = strtoul(text, &end, 10);
    return major * 1000 + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0);
}

static bool is_kernel_before(const char *since)
{
    struct utsname name;
    return *since && uname(&name) == 0 && read_version(name.release) < read_version(since);
}

static bool is_in_docker(void)
{
    return access("/.dockerenv", F_OK) == 0;
}

static bool is_in_podman(void)
{
    return access("/run/.containerenv", F_OK) == 0;
}

/* --- saying it */

static void PRINTF_LIKE(2, 3) say_cause(struct finding *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->cause, sizeof f->cause, fmt, ap);
    va_end(ap);
}

static void say_fix(struct finding *f, const char *fix)
{
    static const char sudo[] = "sudo ";
    bool root = geteuid() == 0 && strncmp(fix, sudo, sizeof sudo - 1) == 0;
    snprintf(f->fix, sizeof f->fix, "%s", root ? fix + sizeof sudo - 1 : fix);
}

static void blame_filter(struct finding *f, const char *title)
{
    say_cause(f, "a system call filter refuses this (%s), as that of a container does: %s", title,
              strerror(f->error));
    if (is_in_docker())
        say_fix(f, "docker run --security-opt seccomp=unconfined "
                   "--security-opt systempaths=unconfined ...");
    else if (is_in_podman())
        say_fix(f, "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL ...");
}

/* --- namespaces */

/* A setting that refuses namespaces while it has this value. */
struct refusal {
    const char *setting; /* as sysctl names it */
    const char *path;
    long value;
    const char *what;
    const char *fix;
};

static const struct refusal limits_of_namespaces[] = {
#define LIMIT_ROW(kind, what)                                                                      \
    {                                                                                              \
        "user.max_" kind "_namespaces", "/proc/sys/user/max_" kind "_namespaces", 0,               \
            what " namespaces are switched off",                                                   \
            "sudo sysctl -w user.max_" kind "_namespaces=15000"                                    \
    }
    LIMIT_ROW("user", "user"),           LIMIT_ROW("mnt", "mount"), LIMIT_ROW("pid", "process"),
    LIMIT_ROW("net", "network"),         LIMIT_ROW("ipc", "ipc"),   LIMIT_ROW("uts", "host name"),
    LIMIT_ROW("cgroup", "control group")
#undef LIMIT_ROW
};

static const struct refusal restrictions[] = {
    {"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", 0,
     "user namespaces are switched off for users",
     "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
    {"kernel.apparmor_restrict_unprivileged_userns",
     "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
     "AppArmor lets no program without a profile use user namespaces",
     "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
};

static bool blame_setting(struct finding *f, const struct refusal *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (read_sysctl(rows[i].path) != rows[i].value)
            continue;
        say_cause(f, "%s (%s is %ld)", rows[i].what, rows[i].setting, rows[i].value);
        say_fix(f, rows[i].fix);
        return true;
    }
    return false;
}

static void explain_namespaces(struct finding *f, const char *title)
{
    if (f->error == ENOSPC || f->error == EUSERS) {
        if (!blame_setting(f, limits_of_namespaces, ARRAY_LEN(limits_of_namespaces)))
            say_cause(f, "the limit of namespaces is reached (user.max_user_namespaces and the "
                         "like, here or outside of this container)");
        return;
    }
    if (geteuid() != 0 && blame_setting(f, restrictions, ARRAY_LEN(restrictions)))
        return;
    if (is_under_filter())
        blame_filter(f, title);
    else if (f->error == EINVAL || f->error == ENOSYS)
        say_cause(f, "the kernel was built without %s", title);
    else
        say_cause(f, "%s are refused: %s", title, strerror(f->error));
}

/* The first mount that covers a part of /proc, where containers hide what is the host's. */
static bool find_masked_proc(char path[64])
{
    static char text[TEXT_MAX];
    char point[64];
    char *next;
    read_whole("/proc/self/mountinfo", text, sizeof text);
    for (char *line = text; line && *line; line = next) {
        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        if (sscanf(line, "%*s %*s %*s %*s %63s", point) == 1 && strncmp(point, "/proc/", 6) == 0 &&
            strncmp(point, "/proc/sys/fs/", 13) != 0) {
            snprintf(path, 64, "%s", point);
            return true;
        }
    }
    return false;
}

static void explain_proc(struct finding *f, const char *title)
{
    char path[64];
    if (f->error != EPERM || !find_masked_proc(path)) {
        explain_namespaces(f, title);
        return;
    }
    say_cause(f, "a part of /proc is covered (%s), as in a container; no new /proc can be mounted",
              path);
    if (is_in_podman())
        say_fix(f, "podman run --security-opt unmask=ALL ...");
    else if (is_in_docker())
        say_fix(f, "docker run --security-opt systempaths=unconfined ...");
}

/* --- others */

static void explain_landlock(struct finding *f)
{
    char modules[512];
    read_whole("/sys/kernel/security/lsm", modules, sizeof modules);
    bool on = strstr(modules, "landlock");
    if (f->error == EOPNOTSUPP) {
        modules[strcspn(modules, "\n")] = '\0';
        say_cause(f,
                  "Landlock was left out when the kernel booted; it needs the boot option "
                  "lsm=landlock,%.120s",
                  *modules ? modules : "...");
    } else if (is_under_filter()) {
        blame_filter(f, on || f->error != ENOSYS
                            ? "Landlock"
                            : "Landlock, unless the kernel was built without it");
    } else if (f->error == ENOSYS) {
        say_cause(f, "the kernel was built without Landlock");
    } else {
        say_cause(f, "Landlock is refused: %s", strerror(f->error));
    }
}

static void explain_notify(struct finding *f, const char *title)
{
    if (f->error == EBUSY)
        say_cause(f, "a sandbox around this process answers filtered calls already");
    else if (is_under_filter())
        blame_filter(f, title);
    else
        say_cause(f, "%s are refused: %s", title, strerror(f->error));
}

static void explain_root_mounts(struct finding *f)
{
    if (f->error == EPERM)
        say_cause(f,
                  "root lacks the right to mount here (CAP_SYS_ADMIN), as in a container; a gate "
                  "of another user needs none");
    else
        say_cause(f, "root cannot take a copy of a mount: %s", strerror(f->error));
}

static void explain_idmap(struct finding *f)
{
    if (f->error == EINVAL)
        say_cause(f, "the file system of this folder does not know owner mapping");
    else
        say_cause(f, "owner mapping is refused: %s", strerror(f->error));
}

static void explain_cgroup(struct finding *f)
{
    if (f->error != ENOENT) {
        say_cause(f, "control groups cannot be looked for: %s", strerror(f->error));
        return;
    }
    say_cause(f, "no control group that limits this can be made here%s",
              geteuid() ? ": none was given to this user"
                        : ": none is mounted that can be written");
    if (geteuid() != 0 && access("/run/systemd/system", F_OK) == 0)
        say_fix(f, "systemd-run --user --scope -p Delegate=yes sandgate ...");
}

static void explain_call(struct finding *f, const char *title)
{
    if (is_under_filter())
        blame_filter(f, title);
    else
        say_cause(f, "%s: %s", title, strerror(f->error));
}

/* What is done in a namespace fails where there is none, for the same reason. */
static bool follows_from_namespaces(enum mechanism m, struct findings *f)
{
    const struct finding *before =
        &f->of[m == MECHANISM_NAMESPACES ? MECHANISM_USER_NAMESPACES : MECHANISM_NAMESPACES];
    bool inside = m == MECHANISM_NAMESPACES || m == MECHANISM_MOUNTS || m == MECHANISM_PROC ||
                  m == MECHANISM_OVERLAY;
    if (!inside || before->state != FINDING_NO)
        return false;
    memcpy(f->of[m].cause, before->cause, sizeof before->cause);
    memcpy(f->of[m].fix, before->fix, sizeof before->fix);
    return true;
}

void probe_explain(enum mechanism m, struct findings *findings)
{
    struct finding *f = &findings->of[m];
    const struct mechanism_row *row = &mechanism_rows[m];
    if (follows_from_namespaces(m, findings))
        return;
    if (is_kernel_before(row->since)) {
        say_cause(f, "the kernel is older than Linux %s", row->since);
        return;
    }
    switch (m) {
    case MECHANISM_USER_NAMESPACES:
    case MECHANISM_NAMESPACES:
    case MECHANISM_MOUNTS:
    case MECHANISM_OVERLAY:
        explain_namespaces(f, row->title);
        return;
    case MECHANISM_PROC:
        explain_proc(f, row->title);
        return;
    case MECHANISM_LANDLOCK:
        explain_landlock(f);
        return;
    case MECHANISM_SECCOMP:
    case MECHANISM_SECCOMP_NOTIFY:
        explain_notify(f, row->title);
        return;
    case MECHANISM_ROOT_MOUNTS:
        explain_root_mounts(f);
        return;
    case MECHANISM_IDMAP:
        explain_idmap(f);
        return;
    case MECHANISM_CGROUP_MEMORY:
    case MECHANISM_CGROUP_PROCESSES:
    case MECHANISM_CGROUP_CPU:
        explain_cgroup(f);
        return;
    default:
        explain_call(f, row->title);
    }
}
