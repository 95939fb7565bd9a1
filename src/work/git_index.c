#include "work/git_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "base/str.h"
#include "work/git_text.h"

#define HEADER 12
#define STAT_BYTES 40
#define MODE_AT 24
#define NAME_MAX_BYTES 4096
#define EXTENSION_HEADER 8
#define DEPTH_MAX 2048

enum { FLAG_EXTENDED = 0x4000, FLAG_STAGE = 0x3000, FLAG_LENGTH = 0x0fff };
/* Of the second flags, those to skip in the work tree and to add later. Git dies at any other. */
enum { MORE_FLAGS_KNOWN = 0x6000 };
enum { MODE_FILE = 0100644, MODE_PROGRAM = 0100755, MODE_LINK = 0120000, MODE_SUBMODULE = 0160000 };

struct reader {
    struct str bytes; /* without the checksum */
    size_t at;
    unsigned id_bytes;
    uint32_t version;
    uint32_t left; /* entries */
    char name[NAME_MAX_BYTES];
    size_t name_n;
};

struct entry {
    uint32_t mode;
    unsigned stage;
    struct str name; /* until the next one is read */
};

static uint32_t index_number_at(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void sum_git_index(struct str bytes, unsigned id_bytes, unsigned char *out)
{
    if (id_bytes == SHA1_BYTES)
        sha1(bytes.p, bytes.n, out);
    else
        hash_raw(bytes.p, bytes.n, out);
}

static bool has_git_index_checksum(struct str bytes, unsigned id_bytes)
{
    unsigned char sum[HASH_BYTES];
    static const unsigned char none[HASH_BYTES];
    const char *end = bytes.p + bytes.n - id_bytes;
    /* Git can be told to leave it out. */
    if (memcmp(end, none, id_bytes) == 0)
        return true;
    sum_git_index((struct str){bytes.p, bytes.n - id_bytes}, id_bytes, sum);
    return memcmp(end, sum, id_bytes) == 0;
}

static const char *open_index(struct reader *r, struct str bytes, unsigned hex)
{
    *r = (struct reader){.id_bytes = hex / 2, .at = HEADER};
    if (bytes.n < HEADER + r->id_bytes || memcmp(bytes.p, "DIRC", 4) != 0)
        return "it is no index";
    r->version = index_number_at(bytes.p + 4);
    r->left = index_number_at(bytes.p + 8);
    if (r->version < 2 || r->version > 4)
        return "its version is not known";
    if (!has_git_index_checksum(bytes, r->id_bytes))
        return "its checksum is wrong";
    r->bytes = (struct str){bytes.p, bytes.n - r->id_bytes};
    return NULL;
}

/* How many bytes of the name before stay; as git writes offsets in packs. */
static bool read_strip(struct reader *r, size_t *ret)
{
    uint64_t value = 0;
    for (int i = 0; i < 4 && r->at < r->bytes.n; i++) {
        unsigned char c = (unsigned char)r->bytes.p[r->at++];
        value = i ? (value + 1) << 7 | (c & 0x7f) : c & 0x7f;
        if (!(c & 0x80)) {
            *ret = (size_t)value;
            return value <= r->name_n;
        }
    }
    return false;
}

static bool read_index_entry_name(struct reader *r, unsigned flags, size_t begin)
{
    size_t strip = r->name_n;
    if (r->version == 4 && !read_strip(r, &strip))
        return false;
    size_t kept = r->name_n - strip;
    const char *from = r->bytes.p + r->at;
    const char *end = r->at < r->bytes.n ? memchr(from, '\0', r->bytes.n - r->at) : NULL;
    size_t n = end ? (size_t)(end - from) : 0;
    if (!end || kept + n == 0 || kept + n >= sizeof r->name)
        return false;
    memcpy(r->name + kept, from, n);
    r->name_n = kept + n;
    if ((flags & FLAG_LENGTH) != (r->name_n < FLAG_LENGTH ? r->name_n : FLAG_LENGTH))
        return false;
    r->at += n + 1;
    if (r->version == 4)
        return true;
    /* Each entry takes a multiple of eight bytes, with one to eight zeros at its end. */
    size_t length = (r->at - begin + 7) & ~(size_t)7;
    if (length > r->bytes.n - begin)
        return false;
    for (; r->at < begin + length; r->at++) {
        if (r->bytes.p[r->at] != '\0')
            return false;
    }
    return true;
}

/* 1: there is one; 0: that was the last; -1: it cannot be read. */
static int next_index_entry(struct reader *r, struct entry *ret)
{
    size_t begin = r->at;
    size_t fixed = STAT_BYTES + r->id_bytes + 2;
    if (r->left == 0)
        return 0;
    r->left--;
    if (r->bytes.n - r->at < fixed + 2)
        return -1;
    const char *at = r->bytes.p + r->at;
    unsigned flags = index_number_at(at + fixed - 4) & 0xffff;
    r->at += fixed;
    if (flags & FLAG_EXTENDED) {
        unsigned more = index_number_at(at + fixed - 2) & 0xffff;
        r->at += 2;
        if (r->version < 3 || more & ~(unsigned)MORE_FLAGS_KNOWN)
            return -1;
    }
    if (!read_index_entry_name(r, flags, begin))
        return -1;
    *ret = (struct entry){
        index_number_at(at + MODE_AT), (flags & FLAG_STAGE) >> 12, {r->name, r->name_n}};
    return 1;
}

/* What was seen so far, for rules about more than one entry. */
struct order {
    char name[NAME_MAX_BYTES];
    size_t name_n;
    unsigned stage;
    bool any;
    /* Lengths of those before that the last name begins with. */
    uint16_t before[DEPTH_MAX];
    size_t n_before;
};

static bool in_order(const struct order *o, const struct entry *e)
{
    if (!o->any)
        return true;
    int r = str_compare((struct str){o->name, o->name_n}, e->name);
    return r < 0 || (r == 0 && o->stage < e->stage && o->stage > 0);
}

/* Whether an entry before it is a file where this one needs a folder. */
static bool has_file_on_way(struct order *o, const struct entry *e)
{
    size_t common = 0;
    while (common < o->name_n && common < e->name.n && o->name[common] == e->name.p[common])
        common++;
    while (o->n_before && o->before[o->n_before - 1] > common)
        o->n_before--;
    for (size_t i = 0; i < o->n_before; i++) {
        if (o->before[i] < e->name.n && e->name.p[o->before[i]] == '/')
            return true;
    }
    return false;
}

static const char *check_entry_order(struct order *o, const struct entry *e)
{
    if (!in_order(o, e))
        return "its entries are out of order";
    if (has_file_on_way(o, e) && e->stage == 0)
        return "a path in it is a file and a folder";
    if (e->stage == 0) {
        if (o->n_before == DEPTH_MAX)
            return "its paths are too deep";
        o->before[o->n_before++] = (uint16_t)e->name.n;
    }
    memcpy(o->name, e->name.p, e->name.n);
    o->name_n = e->name.n;
    o->stage = e->stage;
    o->any = true;
    return NULL;
}

/* Names of submodules in the index that is there, a NUL behind each, in order. */
static void list_submodules(struct str old, unsigned hex, struct buf *out)
{
    struct reader *r = mem_zero(sizeof *r);
    struct entry e;
    if (!open_index(r, old, hex)) {
        while (next_index_entry(r, &e) > 0) {
            if (e.mode != MODE_SUBMODULE)
                continue;
            buf_add(out, e.name.p, e.name.n);
            buf_add_char(out, '\0');
        }
    }
    free(r);
}

static bool is_listed_submodule(const struct buf *names, struct str name)
{
    for (size_t at = 0; at < names->len;) {
        size_t n = strlen(names->data + at);
        if (n == name.n && memcmp(names->data + at, name.p, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

static const char *check_entry(const struct entry *e, const struct buf *submodules)
{
    bool known = e->mode == MODE_FILE || e->mode == MODE_PROGRAM || e->mode == MODE_LINK ||
                 e->mode == MODE_SUBMODULE;
    if (!known)
        return "an entry is of a kind that is not known";
    if (!git_index_path_ok(e->name, e->mode == MODE_LINK))
        return "a path in it leads into a git directory or out of the repository";
    if (e->mode == MODE_SUBMODULE && !is_listed_submodule(submodules, e->name))
        return "it has a new submodule";
    return NULL;
}

struct taking {
    struct reader reader;
    struct order order;
};

static const char *check_index_entries(struct taking *t, const struct buf *submodules)
{
    struct entry e;
    const char *wrong = NULL;
    int r = 0;
    while (!wrong && (r = next_index_entry(&t->reader, &e)) > 0) {
        wrong = check_entry(&e, submodules);
        if (!wrong)
            wrong = check_entry_order(&t->order, &e);
    }
    return wrong ? wrong : r < 0 ? "it cannot be read" : NULL;
}

/* What follows the entries: four letters, a length, bytes. One that begins with a small letter has a part in what the
 * entries are: without it they are not what the command saw. `known` NULL: any other may be there. */
static const char *check_extensions(const struct reader *r, const char *const *known)
{
    for (size_t at = r->at; at < r->bytes.n;) {
        const char *name = r->bytes.p + at;
        if (r->bytes.n - at < EXTENSION_HEADER ||
            index_number_at(name + 4) > r->bytes.n - at - EXTENSION_HEADER)
            return "an extension cannot be read";
        bool found = !known && name[0] >= 'A' && name[0] <= 'Z';
        for (const char *const *one = known; !found && one && *one; one++)
            found = memcmp(name, *one, 4) == 0;
        if (!found)
            return "it has an extension that may not be there";
        at += EXTENSION_HEADER + index_number_at(name + 4);
    }
    return NULL;
}

static const char *write_taken(const struct reader *r, struct buf *out)
{
    unsigned char sum[HASH_BYTES];
    struct str entries = {r->bytes.p, r->at};
    sum_git_index(entries, r->id_bytes, sum);
    buf_add(out, entries.p, entries.n);
    buf_add(out, sum, r->id_bytes);
    return out->failed ? "it is too large" : NULL;
}

static const char *check_and_take_index(struct str bytes, struct str old, unsigned hex,
                                        const char *const *known, struct buf *out)
{
    BUF_AT_END struct buf submodules = BUF_INIT(64u << 20);
    struct taking *t = mem_zero(sizeof *t);
    list_submodules(old, hex, &submodules);
    const char *wrong = submodules.failed ? "it has too many submodules"
                                          : open_index(&t->reader, bytes, hex);
    if (!wrong)
        wrong = check_index_entries(t, &submodules);
    if (!wrong)
        wrong = check_extensions(&t->reader, known);
    if (!wrong && out)
        wrong = write_taken(&t->reader, out);
    free(t);
    return wrong;
}

const char *git_index_take(struct str bytes, struct str old, unsigned hex, struct buf *out)
{
    return check_and_take_index(bytes, old, hex, NULL, out);
}

/* Trees that a commit would write, and what a resolved conflict was. */
const char *git_index_check(struct str bytes, unsigned hex)
{
    static const char *const known[] = {"TREE", "REUC", NULL};
    return check_and_take_index(bytes, bytes, hex, known, NULL);
}

/* Where its entries end; 0: it cannot be read. */
static size_t end_of_entries(struct str bytes, unsigned hex)
{
    struct reader *r = mem_zero(sizeof *r);
    struct entry e;
    int got = open_index(r, bytes, hex) ? -1 : 1;
    while (got > 0)
        got = next_index_entry(r, &e);
    size_t end = got == 0 ? r->at : 0;
    free(r);
    return end;
}

bool git_index_is_same(struct str a, struct str b, unsigned hex)
{
    size_t end = end_of_entries(a, hex);
    return end > 0 && end == end_of_entries(b, hex) && memcmp(a.p, b.p, end) == 0;
}
