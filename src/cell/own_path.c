#include "cell/own_path.h"

#include <string.h>

#include "cell/plan.h"

/* The cell has something of its own there. */
static const char *const own[] = {
    "/proc",     "/sys",     "/dev",      "/tmp",      PLAN_HOME,   "/run",
    PLAN_PASSWD, PLAN_GROUP, PLAN_GITCONFIG, PLAN_DENIED, PLAN_POINTS, PLAN_HIDDEN, SPEC_STORE,
};
/* Folders in these are nobody's else. */
static const char *const open_to_others[] = {"/tmp", PLAN_HOME,  "/run",
                                             "/opt", "/usr/src", "/usr/local/src"};

static bool is_below(const char *path, const char *folder)
{
    const char *rest = path_rest(path, folder);
    return rest && *rest;
}

static bool is_open_to_others(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(open_to_others); i++) {
        if (is_below(path, open_to_others[i]))
            return true;
    }
    return false;
}

bool own_path_is_free(const char *path)
{
    bool in_one = false;
    bool around = strlen(path) > OWN_PATH_MAX;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        in_one |= is_below(path, own[i]);
        around |= path_rest(own[i], path) != NULL;
    }
    /* An agent that writes there would choose what programs of the machine do. */
    for (const char *const *at = plan_system_paths; *at; at++) {
        in_one |= is_below(path, *at);
        around |= path_rest(*at, path) != NULL;
    }
    return !around && (!in_one || is_open_to_others(path));
}

bool own_path_is_linked(const struct cell_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (path_meets(spec->roots[i].inside, name))
            return false;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (path_meets(spec->shown[i], name))
            return false;
    }
    return own_path_is_free(name);
}
