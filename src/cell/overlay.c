#include "cell/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/failed.h"
#include "cell/mountinfo.h"

/* In the new root, which is the working directory, until the overlay is mounted: overlayfs takes no folder that is not
 * mounted. */
#define LOWER ".lower"
#define LAYER ".layer"

/* Paths may hold what has a meaning among a mount's options, descriptors do not. */
int overlay_mount(int lower, int layer, int target)
{
    char options[256];
    char at[64];
    FD_AT_END int upper = fd_open_beneath(layer, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    FD_AT_END int work = fd_open_beneath(layer, "work", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (upper < 0 || work < 0)
        return -1;
    snprintf(options, sizeof options,
             "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,"
             "userxattr,index=off,metacopy=off,redirect_dir=nofollow",
             lower, upper, work);
    snprintf(at, sizeof at, "/proc/self/fd/%d", target);
    return mount("overlay", at, "overlay", MS_NOSUID | MS_NODEV, options);
}

static int attach_for_overlay(int tree, const char *at, int *ret_fd, struct err *err)
{
    if (mkdir(at, 0700) < 0 || move_mount(tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return cell_failed_at(err, "mounting", at);
    *ret_fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? cell_failed_at(err, "opening", at) : 0;
}

static int detach_after_overlay(const char *at, struct err *err)
{
    return umount2(at, MNT_DETACH) < 0 || rmdir(at) < 0 ? cell_failed_at(err, "leaving", at) : 0;
}

static int refuse_mounts_within(const struct mountinfo *all, const struct mountinfo_line *base,
                                const char *host, struct err *err)
{
    for (size_t i = 0; i < all->n; i++) {
        const char *rest = path_rest(all->all[i].point, base->point);
        if (!rest || !*rest)
            continue;
        err_set(err, ERR_SANDBOX_UNAVAILABLE,
                "an overlay over %.200s would show what lies beneath the mount `%.200s` in it: "
                "unmount that, or create the session without --overlay",
                host, rest);
        return err_reason(err, "overlay_mounts");
    }
    return 0;
}

/* Looked at where it is attached: the copy that was taken does not change any more. */
static int look_at_base(const char *host, struct overlay_base *ret, struct err *err)
{
    struct mountinfo all;
    const struct mountinfo_line *base = NULL;
    int r = mountinfo_read(-1, &all);
    if (r == 0)
        r = mountinfo_of(&all, LOWER, &base);
    errno = -r;
    if (r < 0)
        r = cell_failed_at(err, "finding the mounts in", host);
    else
        r = refuse_mounts_within(&all, base, host, err);
    if (r == 0)
        *ret = (struct overlay_base){mem_dup(base->device), mem_dup(base->root)};
    mountinfo_done(&all);
    return r;
}

static int overlay_failed(const char *host, struct err *err)
{
    int error = errno;
    err_set(err, err_code_for(error, ERR_SANDBOX_UNAVAILABLE),
            "an overlay over %.200s cannot be mounted: %s. Changes lie in Sandgate's state folder, "
            "which has to be on a file system that can hold an overlay (ext4, xfs, btrfs, tmpfs): "
            "set XDG_STATE_HOME to a folder on one",
            host, strerror(error));
    return err_reason(err, "overlay_refused");
}

int overlay_apply(struct mounting *m, const struct step *step, struct err *err)
{
    const char *host = m->spec->roots[0].host;
    FD_AT_END int lower = -1;
    FD_AT_END int layer = -1;
    if (attach_for_overlay(m->slots[step->slot], LOWER, &lower, err) < 0 ||
        look_at_base(host, &m->base, err) < 0 ||
        attach_for_overlay(m->slots[step->layer], LAYER, &layer, err) < 0)
        return -1;
    FD_AT_END int target = open(step->to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (target < 0)
        return cell_failed_at(err, "opening", step->to);
    if (overlay_mount(lower, layer, target) < 0)
        return overlay_failed(host, err);
    return detach_after_overlay(LAYER, err) < 0 ? -1 : detach_after_overlay(LOWER, err);
}

void overlay_base_done(struct overlay_base *base)
{
    free(base->device);
    free(base->root);
    *base = (struct overlay_base){NULL, NULL};
}
