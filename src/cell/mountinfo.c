#include "cell/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/path.h"

#define MOUNTINFO_MAX (8u << 20)

void mountinfo_unescape(char *text)
{
    char *out = text;
    for (const char *at = text; *at; out++) {
        bool octal = at[0] == '\\' && at[1] && at[2] && at[3];
        *out = octal ? (char)(((at[1] & 3) << 6) | ((at[2] & 7) << 3) | (at[3] & 7)) : *at;
        at += octal ? 4 : 1;
    }
    *out = '\0';
}

static bool read_mountinfo_fields(char *text, struct mountinfo_line *ret)
{
    char *next = text;
    char *field[5];
    for (size_t i = 0; i < ARRAY_LEN(field); i++) {
        field[i] = strsep(&next, " ");
        if (!field[i])
            return false;
    }
    char *dash = next ? strstr(next, "- ") : NULL;
    char *system = dash ? dash + 2 : field[4] + strlen(field[4]);
    *ret = (struct mountinfo_line){strtoull(field[0], NULL, 10), field[2], field[3], field[4],
                                   system};
    mountinfo_unescape(ret->root);
    mountinfo_unescape(ret->point);
    return true;
}

static int read_mountinfo_file(int proc, struct buf *text)
{
    FD_AT_END int fd = proc < 0 ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
                                : openat(proc, "mountinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        if (buf_reserve(text, 4096) < 0)
            return -E2BIG;
        n = read(fd, text->data + text->len, text->cap - text->len);
        text->len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        return -errno;
    return buf_add_char(text, '\0') < 0 ? -E2BIG : 0;
}

int mountinfo_read(int proc, struct mountinfo *ret)
{
    *ret = (struct mountinfo){.text = BUF_INIT(MOUNTINFO_MAX)};
    int r = read_mountinfo_file(proc, &ret->text);
    if (r < 0)
        return r;
    char *next = ret->text.data;
    for (char *at; (at = strsep(&next, "\n"));) {
        struct mountinfo_line line;
        if (!read_mountinfo_fields(at, &line))
            continue;
        ret->all = mem_grow(ret->all, ret->n + 1, sizeof *ret->all);
        ret->all[ret->n++] = line;
    }
    return 0;
}

void mountinfo_done(struct mountinfo *info)
{
    free(info->all);
    buf_done(&info->text);
    *info = (struct mountinfo){0};
}

/* By its number: the place does not tell, because a mount may lie over others and over what is mounted in them. */
int mountinfo_of(const struct mountinfo *info, const char *path, const struct mountinfo_line **ret)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) < 0)
        return -errno;
    for (size_t i = 0; i < info->n; i++) {
        if (info->all[i].id == st.stx_mnt_id) {
            *ret = &info->all[i];
            return 0;
        }
    }
    return -ESTALE;
}

static char *joined_path(const char *folder, const char *rest)
{
    return *rest ? mem_format("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, rest)
                 : mem_dup(folder);
}

/* The path within the file system. NULL: the number has become that of a mount elsewhere, since the mounts were read. */
static char *path_inside(const struct mountinfo_line *own, const char *path)
{
    const char *rest = path_rest(path, own->point);
    return rest ? joined_path(own->root, rest) : NULL;
}

/* Another mount may lie over it. */
static bool is_same_mounted_file(const char *path, const char *other)
{
    struct stat a;
    struct stat b;
    return stat(path, &a) == 0 && lstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int mountinfo_names(const struct mountinfo *info, const char *path,
                    void (*each)(void *arg, const char *other), void *arg)
{
    const struct mountinfo_line *own;
    int r = mountinfo_of(info, path, &own);
    if (r < 0)
        return r;
    FREE_AT_END char *inside = path_inside(own, path);
    if (!inside)
        return -ESTALE;
    for (size_t i = 0; i < info->n; i++) {
        const struct mountinfo_line *line = &info->all[i];
        const char *rest = strcmp(line->device, own->device) == 0 ? path_rest(inside, line->root)
                                                                  : NULL;
        FREE_AT_END char *other = rest ? joined_path(line->point, rest) : NULL;
        if (other && strcmp(other, path) != 0 && is_same_mounted_file(path, other))
            each(arg, other);
    }
    return 0;
}

int mountinfo_parts(const struct mountinfo *info, const char *path,
                    void (*each)(void *arg, const char *other), void *arg)
{
    const struct mountinfo_line *own;
    int r = mountinfo_of(info, path, &own);
    if (r < 0)
        return r;
    FREE_AT_END char *inside = path_inside(own, path);
    if (!inside)
        return -ESTALE;
    for (size_t i = 0; i < info->n; i++) {
        const struct mountinfo_line *line = &info->all[i];
        const char *rest = strcmp(line->device, own->device) == 0 ? path_rest(line->root, inside)
                                                                  : NULL;
        FREE_AT_END char *part = rest && *rest ? joined_path(path, rest) : NULL;
        if (part && !path_rest(line->point, path) && is_same_mounted_file(part, line->point))
            each(arg, line->point);
    }
    return 0;
}
