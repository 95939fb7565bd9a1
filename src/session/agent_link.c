#include "session/agent_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "session/make_spec.h"
#include "session/way.h"

struct search {
    int stores;
    char found[PATH_MAX]; /* the workspace with the link; "": none */
};

/* Any user's: the name ends with which folder it is. */
static bool has_store(int stores, const char *suffix)
{
    DIR *dir = fd_list(stores);
    bool found = !dir;
    int error = 0;
    for (struct dirent *d; dir && !found && (d = fd_list_next(dir, &error));) {
        size_t n = strlen(d->d_name);
        size_t m = strlen(suffix);
        found = strncmp(d->d_name, "root.", 5) == 0 && n > m &&
                strcmp(d->d_name + n - m, suffix) == 0;
    }
    found |= error != 0;
    if (dir)
        closedir(dir);
    return found;
}

static bool is_workspace(const struct search *s, const char *folder)
{
    char suffix[MAKE_SPEC_ROOT_MAX];
    return make_spec_root_suffix(folder, suffix) && has_store(s->stores, suffix);
}

/* A link in this folder is followed. */
static void find_workspace_around(void *arg, const char *folder)
{
    struct search *s = arg;
    char around[PATH_MAX];
    if (s->found[0] || snprintf(around, sizeof around, "%s", folder) >= (int)sizeof around)
        return;
    for (char *slash; around[0]; *slash = '\0') {
        if (is_workspace(s, around)) {
            memcpy(s->found, around, sizeof around);
            return;
        }
        slash = strrchr(around, '/');
        if (!slash)
            return;
    }
}

int agent_link_check(int state_fd, const char *path, struct err *err)
{
    struct search s = {.stores = -1};
    char here[PATH_MAX];
    FD_AT_END int stores = state_fd < 0 ? -1
                                        : openat(state_fd, MAKE_SPEC_STORES,
                                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (stores < 0)
        return 0;
    if (path[0] != '/' && !getcwd(here, sizeof here))
        return err_file_failed(err, "the working directory");
    FREE_AT_END char *whole = path[0] == '/' ? mem_dup(path) : mem_format("%s/%s", here, path);
    s.stores = stores;
    bool told = way_each_link(whole, find_workspace_around, &s);
    if (!told && !s.found[0] && access(whole, F_OK) == 0)
        return err_set(err, ERR_PERMISSION_DENIED,
                       "the links on the way to `%.200s` cannot be followed: name the folder "
                       "itself",
                       path);
    if (!s.found[0])
        return 0;
    FREE_AT_END char *real = realpath(whole, NULL);
    err_set(err, ERR_PERMISSION_DENIED,
            "the folder `%.200s` is reached through a link in %.200s, where an agent works that "
            "could have made it: if this is meant, name the folder itself: %.400s",
            path, s.found, real ? real : "");
    return err_reason(err, "agent_link");
}
