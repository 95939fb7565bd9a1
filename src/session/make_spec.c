#include "session/make_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cell/plan.h"
#include "session/layer.h"
#include "session/way.h"

/* A folder of the last root that stays read-only has to be so by every name it has in the cell. */
static char *protected_in(const struct session_options *o, size_t i)
{
    const char *rest = path_rest(o->roots[o->n_roots - 1].host, o->roots[i].host);
    if (!o->protect || !rest)
        return NULL;
    return *rest ? mem_format("%s/%s", rest, o->protect) : mem_dup(o->protect);
}

static void hide_workplace(const struct workplace *at, struct cell_spec *spec)
{
    for (size_t i = 0; i < at->n_roots + at->n_command_roots; i++) {
        const struct root *root = i < at->n_roots ? &at->roots[i]
                                                  : &at->command_roots[i - at->n_roots];
        if (root->writable)
            spec_hide(spec, root->host);
    }
}

/* The state holds the log, sockets of sessions and approvals. Of a folder that only file tools have, nothing is covered
 * for commands: no folder of commands.show shows it. */
static int hide_from_commands(const struct session_options *o, struct cell_spec *spec,
                              struct err *err)
{
    char link[64];
    char state[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", o->state_fd);
    ssize_t n = readlink(link, state, sizeof state - 1);
    if (n <= 0)
        return err_file_failed(err, "the state folder");
    state[n] = '\0';
    spec_hide(spec, state);
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (!spec->roots[i].commands)
            spec_hide_in_shown(spec, spec->roots[i].host);
    }
    if (o->settings_folder)
        spec_hide_in_shown(spec, o->settings_folder);
    if (o->hidden)
        hide_workplace(o->hidden, spec);
    /* Where a place of the machine shows it, it would be seen as it is. */
    if (spec->layer.host)
        spec_hide(spec, spec->roots[0].host);
    return 0;
}

/* A command could put a link to any folder of the host in the place of a folder of its own, and the next gate would show
 * that. */
static bool leads_through_root(const struct cell_spec *spec, const char *shown)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (!way_leads_through(shown, spec->roots[i].host))
            continue;
        log_warning("commands.show: %s lies in %s, which commands have: it is not shown by itself",
                    shown, spec->roots[i].host);
        return true;
    }
    return false;
}

/* /tmp is made anew for each command, around folders. */
static bool is_file_shown(const struct session_options *o, const char *named, const char *real)
{
    const char *why = NULL;
    if (path_rest(named, "/tmp"))
        why = "in /tmp only folders can be shown";
    else if ((o->state && path_rest(real, o->state)) ||
             (o->settings_folder && path_rest(real, o->settings_folder)))
        why = "it is Sandgate's own";
    if (why)
        log_warning("commands.show: %s is not shown: %s", named, why);
    return !why;
}

static int add_shown(const struct session_options *o, struct cell_spec *ret, const char *named,
                     struct err *err)
{
    struct stat st;
    FREE_AT_END char *real = realpath(named, NULL);
    if (!real || stat(real, &st) < 0) {
        log_warning("commands.show: %s: %s", named, strerror(errno));
        return 0;
    }
    if (strcmp(real, "/") == 0) {
        log_warning("commands.show: %s is the whole machine and is not shown: name folders "
                    "in it",
                    named);
        return 0;
    }
    if (path_rest(PLAN_PASSWD, named)) {
        log_warning("commands.show: %s is a place of the sandbox's own and is not shown: name "
                    "folders in it",
                    named);
        return 0;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        log_warning("commands.show: %s is neither a folder nor a file, and not shown", named);
        return 0;
    }
    bool is_file = S_ISREG(st.st_mode);
    if ((is_file && !is_file_shown(o, named, real)) || leads_through_root(ret, named))
        return 0;
    return spec_add_shown(ret, named, is_file, err);
}

/* The cell's part that is for commands. */
static int add_commands(const struct session_options *o, struct cell_spec *ret, struct err *err)
{
    const struct str *shown;
    size_t count;
    ret->commands = true;
    ret->home_bytes = (uint64_t)config_int(o->config, "commands.homeSize");
    ret->tmp_bytes = (uint64_t)config_int(o->config, "commands.tmpSize");
    ret->gitconfig = mem_dup(o->gitconfig);
    if (spec_add_command_roots(ret, o->command_roots, o->n_command_roots, err) < 0)
        return -1;
    if (!config_list(o->config, "commands.show", &shown, &count))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        if (add_shown(o, ret, shown[i].p, err) < 0)
            return -1;
    }
    return hide_from_commands(o, ret, err);
}

#define STORES MAKE_SPEC_STORES
/* Half a hash is enough to tell workspaces apart. */
#define STORE_ID_MAX (HASH_HEX / 2)

/* A link in the folder of stores: from which folder the workspace is to the name of its store. */
#define ROOT_NAME_MAX (MAKE_SPEC_ROOT_MAX + 16)

bool make_spec_root_suffix(const char *folder, char suffix[MAKE_SPEC_ROOT_MAX])
{
    struct statx st;
    if (statx(AT_FDCWD, folder, 0, STATX_INO | STATX_BTIME, &st) < 0 ||
        !(st.stx_mask & STATX_BTIME))
        return false;
    snprintf(suffix, MAKE_SPEC_ROOT_MAX, ".%llx.%llx.%x", (unsigned long long)st.stx_ino,
             (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
    return true;
}

static bool root_name(const struct cell_spec *spec, char name[ROOT_NAME_MAX])
{
    char suffix[MAKE_SPEC_ROOT_MAX];
    if (!make_spec_root_suffix(spec->roots[0].host, suffix))
        return false;
    snprintf(name, ROOT_NAME_MAX, "root.%u%s", spec->uid, suffix);
    return true;
}

static bool is_store_id(const char *id, size_t n)
{
    return n == STORE_ID_MAX && strspn(id, "0123456789abcdef") == n;
}

/* The store that the workspace had under another path. */
static bool find_renamed(int stores, const struct cell_spec *spec, char id[STORE_ID_MAX + 1])
{
    char name[ROOT_NAME_MAX];
    char text[STORE_ID_MAX + 2] = "";
    struct stat st;
    ssize_t n = root_name(spec, name) ? readlinkat(stores, name, text, sizeof text - 1) : -1;
    if (n < 0 || !is_store_id(text, (size_t)n) ||
        fstatat(stores, text, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return false;
    memcpy(id, text, STORE_ID_MAX + 1);
    return true;
}

/* Where that fails, the store is found by the path. */
static void note_root(int stores, const struct cell_spec *spec, const char *id)
{
    char name[ROOT_NAME_MAX];
    if (root_name(spec, name) && symlinkat(id, stores, name) < 0 && errno != EEXIST)
        log_warning("the store of %s cannot be found again if that folder is renamed: %s",
                    spec->roots[0].host, strerror(errno));
}

/* A workspace is known by which folder it is, or else by its path, and by the user who works in it: a store belongs to that
 * user. */
static void store_id(int stores, const struct cell_spec *spec, char id[STORE_ID_MAX + 1])
{
    if (find_renamed(stores, spec, id))
        return;
    char hex[HASH_HEX + 1];
    FREE_AT_END char *text = mem_format("%u:%s", spec->uid, spec->roots[0].host);
    hash_hex(text, strlen(text), hex);
    memcpy(id, hex, STORE_ID_MAX);
    id[STORE_ID_MAX] = '\0';
}

static int make_store(int stores, const char *id, const struct cell_spec *spec)
{
    if (mkdirat(stores, id, 0700) < 0 && errno != EEXIST)
        return -1;
    FD_AT_END int fd = openat(stores, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return geteuid() == 0 ? fchown(fd, spec->uid, spec->gid) : 0;
}

static int stores_unusable(const struct session_options *o, struct err *err)
{
    return err_set(err, err_code_for_file(errno),
                   "the folder `" STORES
                   "` in the state folder %s cannot be opened (%s), so nothing "
                   "runs: check the permissions of the folder",
                   o->state, strerror(errno));
}

/* Where the cell keeps what it has to remember of this workspace. */
static int add_store(const struct session_options *o, struct cell_spec *spec, struct err *err)
{
    char id[STORE_ID_MAX + 1];
    if (mkdirat(o->state_fd, STORES, 0700) < 0 && errno != EEXIST)
        return stores_unusable(o, err);
    FD_AT_END int stores = openat(o->state_fd, STORES,
                                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (stores < 0)
        return stores_unusable(o, err);
    store_id(stores, spec, id);
    if (make_store(stores, id, spec) < 0)
        return stores_unusable(o, err);
    note_root(stores, spec, id);
    FREE_AT_END char *path = mem_format("%s/" STORES "/%s", o->state, id);
    return spec_add_store(spec, path, err);
}

/* What an earlier session's commands moved stays secret for tools, too. False: there was none. What cannot be looked at
 * may be one. */
static bool had_store(const struct session_options *o, const struct cell_spec *spec)
{
    struct stat st;
    char id[STORE_ID_MAX + 1];
    FD_AT_END int stores = openat(o->state_fd, STORES,
                                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (stores < 0)
        return errno != ENOENT;
    store_id(stores, spec, id);
    return fstatat(stores, id, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

int make_spec(const struct session_options *options, struct cell_spec *ret, struct err *err)
{
    for (size_t i = 0; i < options->n_roots; i++) {
        FREE_AT_END char *protect = protected_in(options, i);
        if (spec_add_root(ret, &options->roots[i], protect, err) < 0)
            return -1;
    }
    spec_choose_owner(ret, geteuid(), getegid(), (uint32_t)config_int(options->config, "cell.uid"));
    if (options->layer && layer_add(options->layer, ret, err) < 0)
        return -1;
    if (options->commands && add_commands(options, ret, err) < 0)
        return -1;
    mode_t mask = umask(022);
    umask(mask);
    ret->umask = mask;
    /* One more, which hears of cancels. */
    ret->threads = options->once
                       ? 2
                       : (uint32_t)config_int(options->config, "limits.workerThreads") + 1;
    ret->system = options->show_system;
    ret->commits = options->commits;
    /* What is known of the project's files is of no use for those of an overlay, and what is made there stays. */
    if (options->layer)
        return 0;
    if (!options->state || !(options->commands || had_store(options, ret)))
        return 0;
    return add_store(options, ret, err);
}
