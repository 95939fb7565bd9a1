#include "gate/places.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cell/own_path.h"
#include "session/agent_link.h"

void places_done(struct places *m)
{
    free(m->base);
    free(m->command_base);
    free(m->named);
    for (size_t i = 0; i < m->count; i++)
        free(m->hosts[i]);
    for (size_t i = 0; i < m->n_commands; i++)
        free(m->command_hosts[i]);
}

static int add_mount(struct places *m, const char *name, const char *inside, const char *host,
                     bool writable, struct err *err)
{
    if (agent_link_check(m->state_fd, host, err) < 0)
        return -1;
    char *real = realpath(host, NULL);
    if (!real)
        return err_set(err, ERR_NOT_FOUND, "folder `%s` for %s: %s", host, name, strerror(errno));
    m->hosts[m->count] = real;
    m->roots[m->count++] = (struct root){name, inside, real, writable, {0}};
    return 0;
}

/* The absolute path that `folder` was asked for by, as a shell says it; NULL where that is its real one. */
static char *asked_for(const char *folder, const char *real)
{
    const char *here = getenv("PWD");
    if (folder[0] != '/' && (!here || here[0] != '/'))
        return NULL;
    FREE_AT_END char *path = folder[0] == '/' ? mem_dup(folder) : mem_format("%s/%s", here, folder);
    path_tidy(path);
    FREE_AT_END char *leads_to = realpath(path, NULL);
    if (!leads_to || strcmp(leads_to, real) != 0 || path_rest(path, real) ||
        strlen(path) > OWN_PATH_MAX)
        return NULL;
    return TAKE_PTR(path);
}

/* What lies at `/workspace`, or in it, has that name for itself. */
static bool is_second_name_free(const struct places *m, const char *real,
                                const struct config *config)
{
    const struct str *shown;
    size_t count = 0;
    bool taken = path_rest(real, OWN_PATH_WORKSPACE) ||
                 (m->named && path_rest(m->named, OWN_PATH_WORKSPACE));
    config_list(config, "commands.show", &shown, &count);
    for (size_t i = 0; i < count; i++)
        taken |= path_rest(shown[i].p, OWN_PATH_WORKSPACE) != NULL;
    return !taken;
}

/* At its own path, where the cell has nothing there. */
static int add_workspace(struct places *m, const char *host, bool writable,
                         const struct config *config, struct err *err)
{
    if (add_mount(m, "workspace", OWN_PATH_WORKSPACE, host, writable, err) < 0)
        return -1;
    struct root *root = &m->roots[m->count - 1];
    m->named = asked_for(host, root->host);
    root->also[0] = m->named;
    if (!own_path_is_free(root->host))
        return 0;
    root->inside = root->host;
    if (is_second_name_free(m, root->host, config))
        root->also[1] = OWN_PATH_WORKSPACE;
    return 0;
}

/* The folders of the `filesystem` tool, each at its own path. */
static int add_allowed(struct places *m, const struct str *allowed, size_t count, bool writable,
                       struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = allowed[i].p;
        if (path[0] == '/' && agent_link_check(m->state_fd, path, err) < 0)
            return -1;
        FREE_AT_END char *real = realpath(path, NULL);
        if (!real) {
            log_warning("tools.filesystem.allowedDirectories: %s: %s", path, strerror(errno));
            continue;
        }
        bool covered = false;
        for (size_t k = 0; k < m->count; k++)
            covered |= path_beneath((struct str){real, strlen(real)}, m->roots[k].host);
        if (covered)
            continue;
        if (m->count == FOLDERS_MAX)
            return err_field(err, "tools.filesystem.allowedDirectories",
                             "tools.filesystem.allowedDirectories has more than %d folders",
                             FOLDERS_MAX);
        if (path[0] != '/' || add_mount(m, path, path, real, writable, err) < 0)
            return err_field(err, "tools.filesystem.allowedDirectories",
                             "tools.filesystem.allowedDirectories: `%s` is not an absolute path",
                             path);
    }
    return 0;
}

/* Where none of the folders exists, `filesystem` refuses every path (system_filesystem.c). A cell needs a folder all
 * the same, and the workspace's own settings are to count. */
static int add_workspace_unused(struct places *m, struct err *err)
{
    return m->count ? 0 : add_mount(m, m->base, m->base, m->base, false, err);
}

/* Where the workspace lies in one of the folders, that one is the first, and its own settings count. */
static void find_settings(struct places *m)
{
    for (size_t i = 0; i < m->count; i++) {
        const char *rest = path_rest(m->base, m->roots[i].host);
        if (!rest)
            continue;
        struct root first = m->roots[i];
        char *host = m->hosts[i];
        m->roots[i] = m->roots[0];
        m->hosts[i] = m->hosts[0];
        m->roots[0] = first;
        m->hosts[0] = host;
        m->settings = *rest ? rest : ".";
        return;
    }
}

static int choose_allowed(const struct gate_options *o, const struct config *config,
                          struct places *m, struct err *err)
{
    const struct str *allowed;
    size_t count;
    const char *workspace = o->workspace ? o->workspace : ".";
    bool writable = !config_bool(config, "tools.filesystem.readOnly");
    if (!config_list(config, "tools.filesystem.allowedDirectories", &allowed, &count)) {
        m->settings = ".";
        return add_workspace(m, workspace, writable, config, err);
    }
    if (agent_link_check(m->state_fd, workspace, err) < 0)
        return -1;
    m->base = realpath(workspace, NULL);
    if (!m->base)
        return err_set(err, ERR_NOT_FOUND, "folder `%s` for the workspace: %s", workspace,
                       strerror(errno));
    if (add_allowed(m, allowed, count, writable, err) < 0 || add_workspace_unused(m, err) < 0)
        return -1;
    find_settings(m);
    return 0;
}

static int choose_for_files(const struct gate_options *o, const struct config *config,
                            struct places *m, struct err *err)
{
    if (o->dialect->id == DIALECT_SYSTEM)
        return choose_allowed(o, config, m, err);
    m->settings = ".";
    if (o->dialect->id != DIALECT_TOOLHOST)
        return add_workspace(m, o->workspace ? o->workspace : ".", true, config, err);
    const char *project = o->project ? o->project : o->workspace ? o->workspace : ".";
    if (add_mount(m, "@project", "/project", project, true, err) < 0)
        return -1;
    if (o->pkg && add_mount(m, "@pkg", "/pkg", o->pkg, false, err) < 0)
        return -1;
    /* Last, because its logs are what the session protects. */
    return o->state ? add_mount(m, "@state", "/state", o->state, true, err) : 0;
}

static int add_for_commands(struct places *m, const char *name, const char *inside,
                            const char *host, bool writable, struct err *err)
{
    if (m->n_commands == FOLDERS_MAX)
        return err_field(err, "tools.bash.allowedDirectories",
                         "tools.bash.allowedDirectories has more than %d folders", FOLDERS_MAX);
    char *real = mem_dup(host);
    m->command_hosts[m->n_commands] = real;
    m->commands[m->n_commands++] = (struct root){name, inside, real, writable, {0}};
    return 0;
}

/* The one that file tools have. */
static int add_first_for_commands(struct places *m, struct err *err)
{
    const struct root *first = &m->roots[0];
    if (add_for_commands(m, first->name, first->inside, first->host, first->writable, err) < 0)
        return -1;
    memcpy(m->commands[0].also, first->also, sizeof first->also);
    return 0;
}

static int add_allowed_for_commands(struct places *m, const struct str *allowed, size_t count,
                                    struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = allowed[i].p;
        if (path[0] == '/' && agent_link_check(m->state_fd, path, err) < 0)
            return -1;
        FREE_AT_END char *real = path[0] == '/' ? realpath(path, NULL) : NULL;
        if (!real)
            log_warning("tools.bash.allowedDirectories: %s: %s", path,
                        path[0] == '/' ? strerror(errno) : "is not an absolute path");
        else if (add_for_commands(m, path, path, real, true, err) < 0)
            return -1;
    }
    return 0;
}

/* The folders of the `bash` tool: its own list, or the workspace. */
static int choose_for_bash(const struct gate_options *o, const struct config *config,
                           struct places *m, struct err *err)
{
    const struct str *allowed;
    size_t count;
    bool listed = config_list(config, "tools.bash.allowedDirectories", &allowed, &count);
    if (!listed && !m->base)
        return add_first_for_commands(m, err);
    m->command_base = realpath(o->workspace ? o->workspace : ".", NULL);
    if (!m->command_base)
        return err_set(err, ERR_NOT_FOUND, "folder for the workspace: %s", strerror(errno));
    if (listed)
        return add_allowed_for_commands(m, allowed, count, err);
    return add_for_commands(m, m->command_base, m->command_base, m->command_base, true, err);
}

/* What the command line names besides the workspace. */
static int add_extra_for_commands(const struct gate_extra *extra, struct places *m, struct err *err)
{
    for (size_t i = 0; extra && i < extra->n_rw; i++) {
        const char *path = extra->rw[i];
        if (agent_link_check(m->state_fd, path, err) < 0)
            return -1;
        FREE_AT_END char *real = realpath(path, NULL);
        if (!real)
            return err_set(err, ERR_NOT_FOUND, "--rw: %s: %s", path, strerror(errno));
        if (!own_path_is_free(real))
            return err_set(err, ERR_INVALID_ARGUMENTS,
                           "--rw: %s is a place of the machine or of the sandbox, or contains one",
                           path);
        for (size_t k = 0; k < m->n_commands; k++) {
            if (path_meets(real, m->commands[k].host))
                return err_set(err, ERR_INVALID_ARGUMENTS,
                               "--rw: %s and %s overlap: name folders beside each other", path,
                               m->commands[k].host);
        }
        if (add_for_commands(m, path, real, real, true, err) < 0)
            return -1;
        m->commands[m->n_commands - 1].inside = m->command_hosts[m->n_commands - 1];
    }
    return 0;
}

int places_choose(const struct gate_options *o, const struct config *config, struct places *m,
                  struct err *err)
{
    if (choose_for_files(o, config, m, err) < 0)
        return -1;
    if (o->dialect->id == DIALECT_TOOLHOST)
        return 0;
    if (o->dialect->id == DIALECT_SYSTEM)
        return choose_for_bash(o, config, m, err);
    return add_first_for_commands(m, err) < 0 ? -1 : add_extra_for_commands(o->extra, m, err);
}
