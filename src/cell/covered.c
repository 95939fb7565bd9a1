#include "cell/covered.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"

#define ROOM_MIN 64

void covered_init(struct covered *c)
{
    *c = (struct covered){0};
}

void covered_done(struct covered *c)
{
    free(c->slots);
    covered_init(c);
}

static struct covered_one *find(const struct covered *c, uint64_t mount)
{
    size_t at = (size_t)(mount * 0x9e3779b97f4a7c15u >> 20) & (c->room - 1);
    while (c->slots[at].mount && c->slots[at].mount != mount)
        at = (at + 1) & (c->room - 1);
    return &c->slots[at];
}

static void make_room(struct covered *c)
{
    struct covered old = *c;
    if (2 * (c->count + 1) <= c->room)
        return;
    c->room = old.room ? 2 * old.room : ROOM_MIN;
    c->slots = mem_zero(c->room * sizeof *c->slots);
    for (size_t i = 0; i < old.room; i++) {
        if (old.slots[i].mount)
            *find(c, old.slots[i].mount) = old.slots[i];
    }
    free(old.slots);
}

/* Numbers of mounts that are gone are used again: what was noted last holds. */
void covered_note(struct covered *c, int mount, const struct op_identity *id)
{
    struct statx st;
    if (!c || statx(mount, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || st.stx_mnt_id == 0)
        return;
    make_room(c);
    struct covered_one *one = find(c, st.stx_mnt_id);
    c->count += one->mount == 0;
    *one = (struct covered_one){st.stx_mnt_id, *id};
}

struct op_identity covered_identity(const struct covered *c, int fd)
{
    struct statx st;
    const unsigned mask = STATX_INO | STATX_BTIME | STATX_MNT_ID;
    if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, mask, &st) < 0)
        return (struct op_identity){0};
    if (c && c->room && st.stx_attributes & STATX_ATTR_MOUNT_ROOT) {
        const struct covered_one *one = find(c, st.stx_mnt_id);
        if (one->mount)
            return one->id;
    }
    uint64_t born = (uint64_t)st.stx_btime.tv_sec * 1000000000u + (uint64_t)st.stx_btime.tv_nsec;
    return (struct op_identity){st.stx_ino, st.stx_mask & STATX_BTIME ? (int64_t)born : 0};
}
