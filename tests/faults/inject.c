/* Runs a gate and makes one system call of one of its processes fail.
 *
 *   inject --log FILE [--fail ROLE CALL N ERRNO] -- PROGRAM ARGUMENTS...
 *
 * It traces the program and everything that it starts, so neither the filter of a worker nor its being undumpable stands
 * in the way. Roles:
 *   gate      the program itself, with its threads
 *   spawn     a child of the gate before its exec
 *   helper    `sandgate-cell`
 *   launcher  what the helper starts
 *   worker    what the launcher starts, with its threads
 *   first     a command's first process, in a pid namespace of its own
 *   command   its child before its exec; programs that are none of ours are let go
 * The N-th call (from 1) of that name in that role is not made and gives ERRNO, a number; `close` is made all the same, as
 * the kernel does. ERRNO 0: the process is killed there instead. The log gets a line for each kind of call, "calls ROLE CALL COUNT", and "failed ROLE CALL PID" or
 * "died ROLE SIGNAL" when that happens. Exits as the program did. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

#define CALLS 512

enum role { GATE, SPAWN, HELPER, HOLDER, LAUNCHER, WORKER, FIRST, COMMAND, OTHER, ROLES };

static const char *const role_names[ROLES] = {
    [GATE] = "gate",     [SPAWN] = "spawn",       [HELPER] = "helper",
    [HOLDER] = "holder", [LAUNCHER] = "launcher", [WORKER] = "worker",
    [FIRST] = "first",   [COMMAND] = "command",   [OTHER] = "other",
};

struct tracee {
    pid_t pid;
    enum role role;
    bool known;   /* its parent's clone was seen, or it is the program */
    bool stopped; /* and waits to be known */
    bool in_call;
    bool failing;
    bool alone;          /* let go */
    unsigned long flags; /* of its last clone */
};

static struct tracee *tracees;
static size_t n_tracees;
static unsigned counts[ROLES][CALLS];
static FILE *log_file;

static struct {
    enum role role;
    int call;
    unsigned nth;
    int error;
} wanted = {.call = -1};

static struct tracee *find(pid_t pid)
{
    for (size_t i = 0; i < n_tracees; i++) {
        if (tracees[i].pid == pid)
            return &tracees[i];
    }
    struct tracee *grown = realloc(tracees, (n_tracees + 1) * sizeof *tracees);
    if (!grown)
        abort();
    tracees = grown;
    tracees[n_tracees] = (struct tracee){.pid = pid, .role = OTHER};
    return &tracees[n_tracees++];
}

static void forget(struct tracee *t)
{
    *t = tracees[--n_tracees];
}

static void go_on(struct tracee *t, int signal)
{
    if (t->alone)
        ptrace(PTRACE_DETACH, t->pid, 0, (long)signal);
    else
        ptrace(PTRACE_SYSCALL, t->pid, 0, (long)signal);
}

/* --- who is who */

static unsigned long clone_flags(pid_t pid, const struct user_regs_struct *regs)
{
    if (regs->orig_rax == SYS_clone)
        return regs->rdi;
    if (regs->orig_rax == SYS_vfork)
        return CLONE_VM | CLONE_VFORK;
    if (regs->orig_rax != SYS_clone3)
        return 0;
    errno = 0;
    long flags = ptrace(PTRACE_PEEKDATA, pid, (void *)regs->rdi, 0);
    return errno ? 0 : (unsigned long)flags;
}

static enum role role_of_child(const struct tracee *parent)
{
    if (parent->flags & CLONE_THREAD)
        return parent->role;
    switch (parent->role) {
    case GATE:
        return SPAWN;
    case HELPER:
        return parent->flags & CLONE_PARENT ? LAUNCHER : HOLDER;
    case LAUNCHER:
        return parent->flags & CLONE_NEWPID ? FIRST : WORKER;
    case FIRST:
        return COMMAND;
    default:
        return OTHER;
    }
}

static void take_child(struct tracee *parent)
{
    unsigned long pid;
    if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid) < 0)
        return;
    enum role role = role_of_child(parent);
    struct tracee *child = find((pid_t)pid); /* `parent` may have moved */
    child->role = role;
    child->known = true;
    child->alone = role == OTHER;
    if (child->stopped)
        go_on(child, 0);
    child->stopped = false;
}

static bool is_cell(pid_t pid)
{
    char path[64];
    char name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    if (file) {
        (void)!fread(name, 1, sizeof name - 1, file);
        fclose(file);
    }
    return strcmp(name, "sandgate-cell") == 0;
}

/* Of the programs that are started only the cell is ours. */
static void take_exec(struct tracee *t)
{
    if (t->role == SPAWN && is_cell(t->pid))
        t->role = HELPER;
    else if (t->role != GATE)
        t->alone = true;
}

/* --- calls */

static bool is_eventfd(pid_t pid, unsigned long fd)
{
    char path[64];
    char target[32] = "";
    snprintf(path, sizeof path, "/proc/%d/fd/%lu", (int)pid, fd);
    return readlink(path, target, sizeof target - 1) > 0 &&
           strcmp(target, "anon_inode:[eventfd]") == 0;
}

/* To wake others never fails: EAGAIN says that they were woken already. */
static bool wakes(pid_t pid, const struct user_regs_struct *regs)
{
    unsigned long op = regs->rsi & FUTEX_CMD_MASK;
    return regs->orig_rax == SYS_write   ? is_eventfd(pid, regs->rdi)
           : regs->orig_rax == SYS_futex ? op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET
                                         : false;
}

static void enter(struct tracee *t, struct user_regs_struct *regs)
{
    unsigned call = (unsigned)regs->orig_rax;
    t->flags = clone_flags(t->pid, regs);
    if (call >= CALLS || wakes(t->pid, regs))
        return;
    counts[t->role][call]++;
    if ((int)call != wanted.call || t->role != wanted.role || counts[t->role][call] != wanted.nth)
        return;
    if (wanted.error == 0) {
        fprintf(log_file, "killed %s %d\n", role_names[t->role], (int)t->pid);
        fflush(log_file);
        kill(t->pid, SIGKILL);
        return;
    }
    t->failing = true;
    /* Every filter lets this one pass. */
    if (call != SYS_close) {
        regs->orig_rax = SYS_getpid;
        ptrace(PTRACE_SETREGS, t->pid, 0, regs);
    }
}

static void leave(struct tracee *t, struct user_regs_struct *regs)
{
    if (!t->failing)
        return;
    t->failing = false;
    regs->rax = (unsigned long)-wanted.error;
    ptrace(PTRACE_SETREGS, t->pid, 0, regs);
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, wanted.call);
    fprintf(log_file, "failed %s %s %d\n", role_names[t->role], name, (int)t->pid);
    fflush(log_file);
    free(name);
}

static void take_call(struct tracee *t)
{
    struct user_regs_struct regs;
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) < 0 ||
        ptrace(PTRACE_GETREGS, t->pid, 0, &regs) < 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        enter(t, &regs);
    else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        leave(t, &regs);
}

/* --- stops */

static void take_stop(struct tracee *t, int status)
{
    pid_t pid = t->pid;
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    if (!t->known) { /* the child came before its parent's event */
        t->stopped = true;
        return;
    }
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
        take_child(t);
    else if (event == PTRACE_EVENT_EXEC)
        take_exec(t);
    else if (signal == (SIGTRAP | 0x80))
        take_call(t);
    bool delivered = event == 0 && signal != (SIGTRAP | 0x80);
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
        ptrace(PTRACE_LISTEN, pid, 0, 0);
    else
        go_on(find(pid), delivered ? signal : 0);
    t = find(pid);
    if (t->alone)
        forget(t);
}

static void take_end(struct tracee *t, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        fprintf(log_file, "died %s %d\n", role_names[t->role], WTERMSIG(status));
    forget(t);
}

static int trace(pid_t program)
{
    int result = 0;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
        if (pid < 0)
            continue;
        struct tracee *t = find(pid);
        if (WIFSTOPPED(status)) {
            take_stop(t, status);
            continue;
        }
        if (pid == program)
            result = status;
        take_end(t, status);
    }
    return result;
}

/* --- */

static pid_t start(char **argv)
{
    int ready[2];
    if (pipe(ready) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ready[1]);
        (void)!read(ready[0], &byte, 1);
        close(ready[0]);
        execv(argv[0], argv);
        _exit(127);
    }
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, options) < 0 ||
        ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0) {
        perror("inject");
        return -1;
    }
    *find(pid) = (struct tracee){.pid = pid, .role = GATE, .known = true};
    close(ready[1]);
    close(ready[0]);
    return pid;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: inject --log FILE [--fail ROLE CALL N ERRNO] -- PROGRAM ARGUMENTS...\n");
    return 2;
}

static int want(char **argv)
{
    wanted.role = ROLES;
    for (enum role role = 0; role < ROLES; role++) {
        if (strcmp(argv[0], role_names[role]) == 0)
            wanted.role = role;
    }
    wanted.call = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, argv[1]);
    wanted.nth = (unsigned)strtoul(argv[2], NULL, 10);
    wanted.error = (int)strtol(argv[3], NULL, 10);
    return wanted.role == ROLES || wanted.call < 0 || !wanted.nth || wanted.error < 0 ? -1 : 0;
}

static void tell_counts(void)
{
    for (int role = 0; role < ROLES; role++) {
        for (int call = 0; call < CALLS; call++) {
            char *name = counts[role][call]
                             ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, call)
                             : NULL;
            if (name)
                fprintf(log_file, "calls %s %s %u\n", role_names[role], name, counts[role][call]);
            free(name);
        }
    }
}

int main(int argc, char **argv)
{
    int at = 3;
    if (argc < 5 || strcmp(argv[1], "--log") != 0)
        return usage();
    if (strcmp(argv[at], "--fail") == 0) {
        if (argc < at + 7 || want(argv + at + 1) < 0)
            return usage();
        at += 5;
    }
    if (strcmp(argv[at], "--") != 0 || !(log_file = fopen(argv[2], "we")))
        return usage();
    pid_t program = start(argv + at + 1);
    if (program < 0)
        return 2;
    /* The ends of its pipes are the program's alone. */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    int status = trace(program);
    tell_counts();
    fclose(log_file);
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#else

int main(void)
{
    fputs("inject: not for this machine\n", stderr);
    return 2;
}

#endif
