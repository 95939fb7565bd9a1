#include "cell/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cell/limits_parts.h"

/* Some 800 bytes a mount on machines full of containers. */
#define MOUNTS_MAX (8u << 20)
#define CGROUPS_MAX (64u << 10)
/* Groups that wait to be used again; each holds up to eight descriptors. */
#define HELD_MAX ((uint64_t)64 << 20)
#define FREE_MAX 16
#define GROUP_FILES 10
/* For the trees, and what is read to find them. */
#define FIND_FILES 7
#define CLOSE_TRIES 500
#define CLOSE_PAUSE_NS 1000000

static void read_limits_text(const char *path, struct buf *text)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : 1;
    while (n > 0 && buf_reserve(text, 4096) == 0) {
        n = read(fd, text->data + text->len, text->cap - text->len);
        if (n > 0)
            text->len += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
}

static void find_trees(struct limits *l, const char *mounts_file, const char *cgroup_file)
{
    BUF_AT_END struct buf mounts = BUF_INIT(MOUNTS_MAX);
    BUF_AT_END struct buf cgroups = BUF_INIT(CGROUPS_MAX);
    FREE_AT_END struct limits_places *places = mem_zero(sizeof *places);
    char first[LIMIT_NAME_MAX];
    unsigned missing = LIMIT_ALL;
    read_limits_text(mounts_file, &mounts);
    read_limits_text(cgroup_file, &cgroups);
    limits_find(buf_str(&mounts), buf_str(&cgroups), places);
    snprintf(first, sizeof first, "%.100s1", l->prefix);
    for (size_t i = 0; i < places->count && missing; i++) {
        struct limits_tree *t = &l->trees[l->n_trees];
        if (!limits_tree_open(t, &places->place[i], missing, first))
            continue;
        missing &= ~t->kinds;
        l->n_trees++;
        limits_sweep(t);
    }
}

static struct limit_group *make_limit_group(struct limits *l)
{
    l->was_short = l->n_trees && !fd_has_room(GROUP_FILES);
    struct limit_group *g = l->n_trees && !l->was_short ? limit_group_new(l, ++l->made) : NULL;
    if (!g)
        return NULL;
    g->next = l->groups;
    l->groups = g;
    return g;
}

int limits_open_from(struct limits **ret, const char *tag, const char *mounts_file,
                     const char *cgroup_file)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (!*tag || tag[strspn(tag, plain)])
        return -EINVAL;
    /* What cannot be opened would count as not there, for as long as the gate lives. */
    if (!fd_has_room(FIND_FILES))
        return -EMFILE;
    struct limits *l = mem_zero(sizeof *l);
    if (limits_prefix(l->prefix, tag))
        find_trees(l, mounts_file, cgroup_file);
    /* It was made to try; now it is the first that is free. */
    make_limit_group(l);
    *ret = l;
    return 0;
}

int limits_open(struct limits **ret, const char *tag)
{
    return limits_open_from(ret, tag, "/proc/self/mountinfo", "/proc/self/cgroup");
}

const char *limits_mechanism(const struct limits *l)
{
    const char *found = "rlimit";
    for (size_t i = 0; i < l->n_trees; i++) {
        if (l->trees[i].v2)
            return "cgroup2";
        found = "cgroup1";
    }
    return found;
}

bool limits_is_empty(const struct limits *l)
{
    return l->n_trees == 0;
}

bool limits_by_group(const struct limits *l, enum limit_kind kind)
{
    for (size_t i = 0; i < l->n_trees; i++) {
        if (l->trees[i].kinds & LIMIT_BIT(kind))
            return true;
    }
    return false;
}

static void drop_limit_group(struct limits *l, struct limit_group *g)
{
    struct limit_group **at = &l->groups;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    limit_group_remove(g);
    limit_group_free(g);
}

/* One that is free, rather one that needs no settings written. */
static struct limit_group *find_free(struct limits *l, const struct limits_want *want)
{
    struct limit_group *any = NULL;
    for (struct limit_group *g = l->groups; g; g = g->next) {
        if (g->state != GROUP_FREE)
            continue;
        any = g;
        if (g->has.memory == want->memory && g->has.processes == want->processes &&
            g->has.cpu_millis == want->cpu_millis && g->processes_known)
            break;
    }
    return any;
}

static size_t count_free(const struct limits *l)
{
    size_t n = 0;
    for (const struct limit_group *g = l->groups; g; g = g->next)
        n += g->state == GROUP_FREE;
    return n;
}

/* Those in which something still ran when they came back. */
static void look_at_ending(struct limits *l)
{
    struct limit_group *next;
    for (struct limit_group *g = l->groups; g; g = next) {
        next = g->next;
        if (g->state != GROUP_ENDING && g->state != GROUP_LEFT)
            continue;
        /* What a command left in its session's home still counts here, and would count for the next one. */
        if (limit_group_empty(g) && (limit_group_holds(g, HELD_MAX) || count_free(l) >= FREE_MAX))
            drop_limit_group(l, g);
        else if (limit_group_empty(g))
            g->state = GROUP_FREE;
        else if (g->state == GROUP_ENDING)
            limit_group_kill(g);
    }
}

struct limit_group *limits_take(struct limits *l, const struct limits_want *want)
{
    look_at_ending(l);
    struct limit_group *g = find_free(l, want);
    if (g && limit_group_begin(g, want) < 0) {
        /* Somebody removed it, or it cannot get as small as this. */
        drop_limit_group(l, g);
        g = NULL;
    }
    if (!g) {
        g = make_limit_group(l);
        if (g && limit_group_begin(g, want) < 0) {
            drop_limit_group(l, g);
            g = NULL;
        }
    }
    if (g)
        g->state = GROUP_TAKEN;
    return g;
}

bool limits_was_short(const struct limits *l)
{
    return l->was_short;
}

bool limits_in_use(const struct limits *l)
{
    return l->groups;
}

void limits_drop_spare(struct limits *l)
{
    look_at_ending(l);
    struct limit_group *next;
    for (struct limit_group *g = l->groups; g; g = next) {
        next = g->next;
        if (g->state == GROUP_FREE)
            drop_limit_group(l, g);
    }
}

void limits_give_back(struct limits *l, struct limit_group *g)
{
    if (!g)
        return;
    if (!limit_group_empty(g)) {
        g->state = GROUP_ENDING;
        limit_group_kill(g);
        return;
    }
    if (count_free(l) < FREE_MAX)
        g->state = GROUP_FREE;
    else
        drop_limit_group(l, g);
}

void limits_leave(struct limits *l, struct limit_group *g)
{
    if (!g)
        return;
    (void)l;
    g->state = GROUP_LEFT;
}

void limits_close(struct limits *l)
{
    if (!l)
        return;
    for (int i = 0; i < CLOSE_TRIES && l->groups; i++) {
        struct limit_group *next;
        for (struct limit_group *g = l->groups; g; g = next) {
            next = g->next;
            if (limit_group_remove(g) == -EBUSY)
                limit_group_kill(g);
            else
                drop_limit_group(l, g);
        }
        if (l->groups)
            nanosleep(&(struct timespec){.tv_nsec = CLOSE_PAUSE_NS}, NULL);
    }
    while (l->groups)
        drop_limit_group(l, l->groups);
    for (size_t i = 0; i < l->n_trees; i++)
        fd_closep(&l->trees[i].dir);
    free(l);
}
