#include "cell/process_groups.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/mem.h"

/* Those that are not over. */
static pid_t *groups;
static size_t n_groups;

void process_groups_add(pid_t group)
{
    groups = mem_grow(groups, n_groups + 1, sizeof *groups);
    groups[n_groups++] = group;
}

void process_groups_reap(void)
{
    for (size_t i = 0; i < n_groups;) {
        pid_t r = waitpid(-groups[i], NULL, WNOHANG);
        if (r < 0 && errno == ECHILD)
            groups[i] = groups[--n_groups];
        else if (r <= 0)
            i++;
    }
}

bool process_group_is_over(pid_t group)
{
    for (size_t i = 0; i < n_groups; i++) {
        if (groups[i] == group)
            return false;
    }
    return true;
}

/* A group's number is ours until all of it is waited for, so this cannot hit a stranger. */
void process_group_kill(pid_t group)
{
    if (!process_group_is_over(group))
        kill(-group, SIGKILL);
}
