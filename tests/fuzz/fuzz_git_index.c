/* Any bytes as a git index: the first picks the repository's hash, the rest is an index without its checksum, and behind
 * a line of dashes the one that is there already. What is taken over must read the same again, hold nothing but entries,
 * and no name that leads into a git directory, as a plain search through the bytes sees it. */
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/sha1.h"
#include "target.h"
#include "work/git_index.h"

#define DASHES "\n----\n"

static void seal(struct buf *index, unsigned hex)
{
    unsigned char sum[HASH_BYTES];
    if (hex == 40)
        sha1(index->data, index->len, sum);
    else
        hash_raw(index->data, index->len, sum);
    buf_add(index, sum, hex / 2);
}

/* Of versions 2 and 3, where each name stands whole at a known place. */
static void check_names(struct str index, unsigned hex)
{
    size_t at = 12;
    while (at + hex / 2 < index.n) {
        size_t fixed = 42 + hex / 2;
        must(at + fixed < index.n);
        fixed += index.p[at + fixed - 2] & 0x40 ? 2 : 0;
        const char *name = index.p + at + fixed;
        size_t n = strnlen(name, index.n - at - fixed);
        must(n > 0 && name[0] != '/' && name[n - 1] != '/');
        must(strncasecmp(name, ".git/", 5) != 0 && strncmp(name, "../", 3) != 0);
        must(!memmem(name, n, "/.git/", 6) && !memmem(name, n, "/../", 4));
        at += (fixed + n + 8) & ~(size_t)7;
    }
    must(at + hex / 2 == index.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned hex = data[0] & 1 ? 64 : 40;
    struct str bytes = {(const char *)data + 1, size - 1};
    const char *cut = bytes.n ? memmem(bytes.p, bytes.n, DASHES, strlen(DASHES)) : NULL;
    BUF_AT_END struct buf index = BUF_INIT(1u << 24);
    BUF_AT_END struct buf old = BUF_INIT(1u << 24);
    BUF_AT_END struct buf taken = BUF_INIT(1u << 24);
    BUF_AT_END struct buf again = BUF_INIT(1u << 24);
    buf_add(&index, bytes.p, cut ? (size_t)(cut - bytes.p) : bytes.n);
    if (cut)
        buf_add(&old, cut + strlen(DASHES), bytes.n - (size_t)(cut - bytes.p) - strlen(DASHES));
    seal(&index, hex);
    seal(&old, hex);
    if (git_index_take(buf_str(&index), buf_str(&old), hex, &taken))
        return 0;
    must(taken.len <= index.len && memcmp(taken.data, index.data, taken.len - hex / 2) == 0);
    must(git_index_is_same(buf_str(&index), buf_str(&taken), hex));
    must(!git_index_take(buf_str(&taken), buf_str(&old), hex, &again));
    must(again.len == taken.len && memcmp(again.data, taken.data, taken.len) == 0);
    /* With version 4 names stand there in parts. */
    if (taken.data[7] != 4)
        check_names(buf_str(&taken), hex);
    return 0;
}
