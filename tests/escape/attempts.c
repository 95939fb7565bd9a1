#include "attempts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct attempt *const tables[] = {
    mount_attempts,    namespace_attempts, file_attempts,   mode_attempts,   process_attempts,
    together_attempts, network_attempts,   kernel_attempts, rights_attempts,
};
/* Set in a bare run, whose root is nobody outside. */
#define BARE "ATTEMPTS_BARE"
#define TABLES (sizeof tables / sizeof *tables)

static char **arguments;
static int n_arguments;

const char *argument(unsigned i)
{
    if ((int)i >= n_arguments) {
        fprintf(stderr, "argument %u is missing\n", i + 1);
        exit(NOT_TRIED);
    }
    return arguments[i];
}

enum outcome judge(long result, const char *what)
{
    printf("%s: %s\n", what, result < 0 ? strerror(errno) : "it worked");
    return result < 0 ? STOPPED : THROUGH;
}

enum outcome judge_absent(long result, const char *what)
{
    bool absent = result < 0 && errno == ENOSYS;
    judge(result, what);
    return absent ? STOPPED : THROUGH;
}

enum outcome both(enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}

enum outcome try_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
    enum outcome outcome = judge(fd, path);
    if (fd >= 0)
        close(fd);
    return outcome;
}

static enum outcome outcome_of(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return NOT_TRIED;
    if (!WIFSIGNALED(status))
        return (enum outcome)WEXITSTATUS(status);
    printf("ended by signal %d\n", WTERMSIG(status));
    return STOPPED;
}

static enum outcome run(const struct attempt *a)
{
    if (a->run)
        return a->run(a);
    return judge(
        syscall(a->call, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4], a->args[5]),
        a->name);
}

enum outcome in_child(enum outcome (*child)(const struct attempt *attempt),
                      const struct attempt *attempt)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        enum outcome outcome = child(attempt);
        fflush(stdout);
        _exit((int)outcome);
    }
    return outcome_of(pid);
}

void wait_for_file(const char *path)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    while (access(path, F_OK) < 0)
        nanosleep(&pause, NULL);
}

static const struct attempt *find(const char *name)
{
    for (size_t t = 0; t < TABLES; t++) {
        for (const struct attempt *a = tables[t]; a->name; a++) {
            if (strcmp(a->name, name) == 0)
                return a;
        }
    }
    return NULL;
}

static void list(void)
{
    for (size_t t = 0; t < TABLES; t++) {
        for (const struct attempt *a = tables[t]; a->name; a++)
            printf("%s %s %s\n", a->name, a->violation ? a->violation : "-",
                   a->argument ? "argument"
                   : a->bare   ? "bare"
                               : "-");
    }
}

static enum outcome try_all(void)
{
    enum outcome worst = STOPPED;
    for (size_t t = 0; t < TABLES; t++) {
        for (const struct attempt *a = tables[t]; a->name; a++) {
            if (a->argument || a->alone)
                continue;
            enum outcome outcome = in_child(run, a);
            printf("%s %s\n", outcome == STOPPED ? "stopped" : "NOT STOPPED", a->name);
            worst = both(worst, outcome);
        }
    }
    return worst;
}

static int put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

/* New namespaces with this user as their root, and a /proc for them. */
static int be_bare(void)
{
    char uids[32];
    char gids[32];
    snprintf(uids, sizeof uids, "0 %u 1", (unsigned)geteuid());
    snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
        return -1;
    if (put("/proc/self/setgroups", "deny") < 0 || put("/proc/self/uid_map", uids) < 0 ||
        put("/proc/self/gid_map", gids) < 0)
        return -1;
    setenv(BARE, "1", 1);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* The first process of the pid namespace waits; the attempt is its child, as in a cell. */
static enum outcome bare_first(const struct attempt *a)
{
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return NOT_TRIED;
    return in_child(run, a);
}

static const struct attempt *find_or_end(const char *name)
{
    const struct attempt *found = find(name);
    if (found)
        return found;
    fprintf(stderr, "there is no attempt %s\n", name);
    exit(NOT_TRIED);
}

/* In a cell nobody is, and outside root's attempts would do what they try. */
static void refuse_root(void)
{
    if (getuid() != 0 || getenv(BARE))
        return;
    fprintf(stderr, "not as root\n");
    exit(NOT_TRIED);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        list();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "all") == 0) {
        refuse_root();
        return (int)try_all();
    }
    bool bare = argc > 2 && strcmp(argv[1], "bare") == 0;
    if (argc < 2 + bare) {
        fprintf(stderr, "usage: attempts [bare] NAME [ARGUMENT...] | all | list\n");
        return NOT_TRIED;
    }
    refuse_root();
    const struct attempt *a = find_or_end(argv[1 + bare]);
    arguments = argv + 2 + bare;
    n_arguments = argc - 2 - bare;
    if (!bare)
        return (int)run(a);
    if (be_bare() < 0) {
        perror("new namespaces");
        return NOT_TRIED;
    }
    return (int)in_child(bare_first, a);
}
