#include "work/git_has.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/beneath.h"
#include "work/git_files.h"
#include "work/git_text.h"

#define NAMES_MAX ((size_t)1 << 20)
#define PACKS "objects/pack"
#define FANOUT 256
#define HEADER 8 /* a mark and the version, 2 */

static bool is_loose(int git, struct str id)
{
    char path[sizeof "objects/" + GIT_SHA256_HEX + 1];
    struct stat st;
    snprintf(path, sizeof path, "objects/%.2s/%.*s", id.p, (int)id.n - 2, id.p + 2);
    return git_file_stat(git, path, &st) == 0 && S_ISREG(st.st_mode);
}

static int object_id_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void to_bytes(struct str id, unsigned char bytes[GIT_SHA256_HEX / 2])
{
    for (size_t i = 0; i < id.n / 2; i++)
        bytes[i] = (unsigned char)(object_id_digit(id.p[2 * i]) << 4 |
                                   object_id_digit(id.p[2 * i + 1]));
}

/* How many names begin with a byte up to this one. */
static bool read_count(int fd, int byte, uint32_t *ret)
{
    *ret = 0;
    if (byte < 0)
        return true;
    bool whole = pread(fd, ret, sizeof *ret, HEADER + (off_t)byte * 4) == sizeof *ret;
    *ret = be32toh(*ret);
    return whole;
}

/* The names stand sorted behind the counts. */
static bool is_in_index(int fd, const unsigned char *id, size_t n)
{
    static const char mark[HEADER] = {'\377', 't', 'O', 'c', 0, 0, 0, 2};
    char head[HEADER];
    unsigned char name[GIT_SHA256_HEX / 2];
    uint32_t low;
    uint32_t high;
    if (pread(fd, head, sizeof head, 0) != HEADER || memcmp(head, mark, HEADER) != 0 ||
        !read_count(fd, id[0] - 1, &low) || !read_count(fd, id[0], &high))
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        off_t at = HEADER + FANOUT * 4 + (off_t)middle * (off_t)n;
        if (pread(fd, name, n, at) != (ssize_t)n)
            return false;
        int order = memcmp(name, id, n);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool is_pack_index(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".idx") == 0;
}

static bool is_packed(int git, struct str id)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    unsigned char bytes[GIT_SHA256_HEX / 2];
    struct stat st;
    FD_AT_END int dir = beneath_open_child(git, PACKS);
    bool found = false;
    to_bytes(id, bytes);
    if (dir < 0 || git_file_list(dir, &names) < 0)
        return false;
    for (size_t at = 0; !found && at < names.len; at += strlen(names.data + at) + 1) {
        const char *name = names.data + at;
        FD_AT_END int fd = is_pack_index(name) ? git_file_open(dir, name, &st) : -1;
        found = fd >= 0 && is_in_index(fd, bytes, id.n / 2);
    }
    return found;
}

bool git_has_object(int git, struct str id)
{
    return is_loose(git, id) || is_packed(git, id);
}
