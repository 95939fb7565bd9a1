#include "cell/command_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/failed.h"
#include "cell/leaves.h"
#include "cell/lock.h"
#include "cell/own_path.h"
#include "cell/points.h"

/* Each holds what nobody reads, and the machine has 4,096 for all. */
#define TERMINALS_MAX "256"

/* Folders that only file tools have are not mounted here. */
static bool is_hidden_root(const struct cell_spec *spec, size_t root)
{
    return !spec->roots[root].commands;
}

int command_leave_store(const struct cell_spec *spec, struct err *err)
{
    /* Also where a layer in it is mounted: that holds what it needs of it. */
    return spec_store(spec) < ROOTS_MAX && umount2(SPEC_STORE, MNT_DETACH) < 0
               ? cell_failed(err, "leaving the store")
               : 0;
}

static bool hides_any(const struct cell_spec *spec)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (is_hidden_root(spec, i) && !spec->roots[i].store)
            return true;
    }
    return false;
}

/* The operator named the machine's own /tmp as a folder for commands. */
static bool has_own_tmp(const struct cell_spec *spec)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (!is_hidden_root(spec, i) && path_rest("/tmp", spec->roots[i].inside))
            return true;
    }
    return false;
}

/* A folder that was removed on the host cannot be moved, and nothing is in it. */
static void keep_in_tmp(struct mounts_kept *kept, const char *path)
{
    struct stat st;
    if (path_rest(path, "/tmp") && !(stat(path, &st) == 0 && st.st_nlink == 0))
        kept->path[kept->n++] = path;
}

static void add_links_in_tmp(const struct cell_spec *spec, const struct cell_root *root,
                             struct mounts_kept *kept)
{
    for (size_t i = 0; i < ROOT_ALSO; i++) {
        const char *name = root->also[i];
        if (!name || !path_rest(name, "/tmp") || !own_path_is_linked(spec, name))
            continue;
        kept->links[kept->n_links].name = name;
        kept->links[kept->n_links++].to = root->inside;
    }
}

/* A /tmp of its own, which would hide the folders that the operator named in the machine's. `old`: in the place of one
 * that was made so. */
static int make_tmp(const struct cell_spec *spec, bool old, struct err *err)
{
    struct mounts_kept kept = {.n = 0};
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (is_hidden_root(spec, i))
            continue;
        keep_in_tmp(&kept, spec->roots[i].inside);
        add_links_in_tmp(spec, &spec->roots[i], &kept);
    }
    for (size_t i = 0; i < spec->n_shown; i++)
        keep_in_tmp(&kept, spec->shown[i]);
    return mounts_scratch_around("/tmp", old, spec->tmp_bytes, "1777", &kept, err);
}

int command_mount_again(struct err *err)
{
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return cell_failed(err, "mounting /proc");
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=620,max=" TERMINALS_MAX) < 0)
        return cell_failed(err, "mounting /dev/pts");
    return 0;
}

int command_mount(const struct cell_spec *spec, int64_t points, struct err *err)
{
    if (!has_own_tmp(spec) && make_tmp(spec, false, err) < 0)
        return -1;
    if (points_use(spec, points, "/", err) < 0)
        return -1;
    return command_mount_again(err);
}

int command_unmount(const struct cell_spec *spec, int64_t points, struct err *err)
{
    if (umount2("/dev/pts", MNT_DETACH) < 0 || umount2("/proc", MNT_DETACH) < 0)
        return cell_failed(err, "unmounting what a command had");
    if (has_own_tmp(spec))
        return 0;
    /* Folders that lie in /tmp were moved without their points, which went with the old one. */
    return make_tmp(spec, true, err) < 0 ? -1 : points_use(spec, points, "/tmp", err);
}

struct rules {
    struct landlock_rule all[ROOTS_MAX + SHOWN_MAX + PLACES_MAX + 8];
    size_t n;
};

/* What is not there needs no rule. */
static void allow_view_path(struct rules *rules, const char *path, bool writable)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd >= 0)
        rules->all[rules->n++] = (struct landlock_rule){
            .folder = fd, .command = true, .writable = writable};
}

int command_lock(const struct cell_spec *spec, int *ret_listener, struct err *err)
{
    static struct rules rules;
    if (hides_any(spec)) {
        for (size_t i = 0; plan_system_paths[i]; i++)
            allow_view_path(&rules, plan_system_paths[i], false);
        for (size_t i = 0; i < spec->n_shown; i++)
            allow_view_path(&rules, spec->shown[i], false);
    } else {
        allow_view_path(&rules, "/", false);
    }
    static const char *const own[] = {"/tmp", PLAN_HOME, "/proc"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        allow_view_path(&rules, own[i], true);
    allow_view_path(&rules, "/dev", true);
    rules.all[rules.n - 1].devices = true;
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (!is_hidden_root(spec, i))
            allow_view_path(&rules, spec->roots[i].inside, spec->roots[i].writable);
    }
    leaves_prepare();
    int r = lock_as(ROLE_COMMAND, rules.all, rules.n, ret_listener, err);
    for (size_t i = 0; i < rules.n; i++)
        fd_closep(&rules.all[i].folder);
    return r;
}
