/* Which git indexes may be taken over, and what is left of them then. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "work/git_index.h"

static const struct {
    const char *path;
    bool ok;
} paths[] = {
    {"a", true},
    {"a/b.c", true},
    {".gitignore", true},
    {".github/x", true},
    {"git", true},
    {"...", true},
    {"a..b", true},
    {"x\\y", true},
    {".gitmodules", true},
    {"git~10", true},
    {"", false},
    {"/a", false},
    {"a/", false},
    {"a//b", false},
    {".", false},
    {"a/./b", false},
    {"..", false},
    {"../a", false},
    {"a/../b", false},
    {".git", false},
    {".git/x", false},
    {"a/.git/x", false},
    {".GIT/x", false},
    {".Git", false},
    {"git~1", false},
    {"GIT~1/x", false},
    {".git./x", false},
    {".git /x", false},
    {".git...", false},
    {".git::$DATA", false},
    {".git:x/y", false},
    {".git\\x", false},
    {"a\\.git\\x", false},
    {".g\xe2\x80\x8cit/x", false},
    {"\xef\xbb\xbf.git", false},
    {".git\xe2\x81\xaf", false},
    {"\xe2\x80\x8c", false},
};

static void test_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (git_index_path_ok((struct str){paths[i].path, strlen(paths[i].path)}, false) !=
            paths[i].ok)
            fail_msg("`%s` is %s", paths[i].path, paths[i].ok ? "refused" : "taken");
    }
    static const char *const links[] = {".gitmodules", ".GITMODULES", ".gitmodules.", "gitmod~1",
                                        "GI7EBA~1"};
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        assert_false(git_index_path_ok((struct str){links[i], strlen(links[i])}, true));
}

/* --- indexes, made here */

struct row {
    const char *name;
    uint32_t mode;
    unsigned stage;
    unsigned flags;
    unsigned more; /* flags, if `flags` says that there are */
};

static void put(struct buf *out, uint32_t value, unsigned bytes)
{
    while (bytes-- > 0)
        buf_add_char(out, (char)(value >> (8 * bytes)));
}

static void put_entry(struct buf *out, unsigned version, unsigned hex, const struct row *row,
                      const char *before)
{
    size_t begin = out->len;
    size_t n = strlen(row->name);
    for (int i = 0; i < 10; i++)
        put(out, i == 6 ? row->mode : 7, 4);
    for (unsigned i = 0; i < hex / 2; i++)
        buf_add_char(out, 'i');
    put(out, row->flags | row->stage << 12 | (uint32_t)(n < 0xfff ? n : 0xfff), 2);
    if (row->flags & 0x4000)
        put(out, row->more, 2);
    if (version == 4)
        put(out, (uint32_t)strlen(before), 1);
    buf_add(out, row->name, n + 1);
    while (version < 4 && (out->len - begin) % 8)
        buf_add_char(out, '\0');
}

static void seal(struct buf *out, unsigned hex)
{
    unsigned char sum[HASH_BYTES];
    if (hex == 40)
        sha1(out->data, out->len, sum);
    else
        hash_raw(out->data, out->len, sum);
    buf_add(out, sum, hex / 2);
}

static struct buf make(unsigned version, unsigned hex, const struct row *rows, size_t n,
                       const char *extension)
{
    struct buf out = BUF_INIT(1u << 20);
    const char *before = "";
    buf_add_text(&out, "DIRC");
    put(&out, version, 4);
    put(&out, (uint32_t)n, 4);
    for (size_t i = 0; i < n; i++) {
        put_entry(&out, version, hex, &rows[i], before);
        before = rows[i].name;
    }
    if (extension) {
        buf_add_text(&out, extension);
        put(&out, 4, 4);
        buf_add_text(&out, "data");
    }
    seal(&out, hex);
    return out;
}

#define FILE_MODE 0100644
#define LINK_MODE 0120000
#define MODULE_MODE 0160000

static const char *take(const struct row *rows, size_t n, const struct row *old_rows, size_t old_n)
{
    static const unsigned versions[] = {2, 3, 4};
    static const unsigned hexes[] = {40, 64};
    const char *first = NULL;
    for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
        for (size_t h = 0; h < ARRAY_LEN(hexes); h++) {
            BUF_AT_END struct buf index = make(versions[v], hexes[h], rows, n, NULL);
            BUF_AT_END struct buf old = make(2, hexes[h], old_rows, old_n, NULL);
            BUF_AT_END struct buf taken = BUF_INIT(1u << 20);
            const char *wrong = git_index_take(buf_str(&index), buf_str(&old), hexes[h], &taken);
            if (v + h == 0)
                first = wrong;
            /* All versions and both hashes are judged alike. */
            assert_ptr_equal(wrong, first);
            if (!wrong) {
                assert_int_equal(taken.len, index.len);
                assert_memory_equal(taken.data, index.data, taken.len);
            }
        }
    }
    return first;
}

#define TAKE(rows) take(rows, ARRAY_LEN(rows), NULL, 0)

static void test_taken(void **state)
{
    (void)state;
    static const struct row plain[] = {
        {"a", FILE_MODE, 0}, {"a-b", FILE_MODE, 0}, {"b/c", 0100755, 0}, {"l", LINK_MODE, 0}};
    static const struct row merge[] = {
        {"a", FILE_MODE, 1}, {"a", FILE_MODE, 2}, {"a", FILE_MODE, 3}, {"a/b", FILE_MODE, 2}};
    assert_null(TAKE(plain));
    assert_null(TAKE(merge));
    assert_null(take(plain, 0, NULL, 0));
}

static void test_refused(void **state)
{
    (void)state;
    static const struct row git[] = {{".git/hooks/x", FILE_MODE, 0}};
    static const struct row up[] = {{"../x", FILE_MODE, 0}};
    static const struct row order[] = {{"b", FILE_MODE, 0}, {"a", FILE_MODE, 0}};
    static const struct row twice[] = {{"a", FILE_MODE, 0}, {"a", FILE_MODE, 0}};
    static const struct row both[] = {
        {"a", LINK_MODE, 0}, {"a-x", FILE_MODE, 0}, {"a/b", FILE_MODE, 0}};
    static const struct row folder[] = {{"a", 040000, 0}};
    static const struct row device[] = {{"a", 0020000, 0}};
    assert_non_null(TAKE(git));
    assert_non_null(TAKE(up));
    assert_non_null(TAKE(order));
    assert_non_null(TAKE(twice));
    assert_non_null(TAKE(both));
    assert_non_null(TAKE(folder));
    assert_non_null(TAKE(device));
}

static const char *take_flags(unsigned version, unsigned hex, unsigned flags, unsigned more)
{
    const struct row rows[] = {{"a", FILE_MODE, 0, 0, 0}, {"b", FILE_MODE, 0, flags, more}};
    BUF_AT_END struct buf index = make(version, hex, rows, ARRAY_LEN(rows), NULL);
    BUF_AT_END struct buf taken = BUF_INIT(1u << 20);
    return git_index_take(buf_str(&index), STR(""), hex, &taken);
}

/* To be left alone; and of the second ones, to skip in the work tree and to add later. */
static void test_flags(void **state)
{
    (void)state;
    for (unsigned hex = 40; hex <= 64; hex += 24) {
        for (unsigned version = 2; version <= 4; version++) {
            assert_null(take_flags(version, hex, 0x8000, 0));
            for (unsigned bit = 0; bit < 16; bit++) {
                bool known = version > 2 && (bit == 13 || bit == 14);
                assert_int_equal(!take_flags(version, hex, 0x4000, 1u << bit), known);
                assert_int_equal(!take_flags(version, hex, 0xc000, 0x6000 | 1u << bit), known);
            }
            assert_int_equal(!take_flags(version, hex, 0x4000, 0), version > 2);
        }
    }
}

static void test_submodules(void **state)
{
    static const struct row old[] = {{"a", FILE_MODE, 0}, {"lib", MODULE_MODE, 0}};
    static const struct row same[] = {{"lib", MODULE_MODE, 0}};
    static const struct row other[] = {{"a", MODULE_MODE, 0}};
    (void)state;
    assert_null(take(same, 1, old, 2));
    assert_non_null(take(other, 1, old, 2));
    assert_non_null(take(same, 1, NULL, 0));
}

static void test_extensions(void **state)
{
    static const struct row rows[] = {{"a", FILE_MODE, 0}};
    static const struct {
        const char *name;
        bool taken; /* without it */
        bool stays; /* with it */
    } names[] = {
        {"TREE", true, true},    {"REUC", true, true},   {"IEOT", true, false},
        {"EOIE", true, false},   {"FSMN", true, false},  {"XXXX", true, false},
        {"link", false, false},  {"sdir", false, false}, {"xxxx", false, false},
        {"\1xxx", false, false},
    };
    (void)state;
    BUF_AT_END struct buf plain = make(2, 40, rows, 1, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        BUF_AT_END struct buf index = make(2, 40, rows, 1, names[i].name);
        BUF_AT_END struct buf taken = BUF_INIT(1u << 20);
        const char *wrong = git_index_take(buf_str(&index), STR(""), 40, &taken);
        assert_int_equal(!wrong, names[i].taken);
        assert_int_equal(!git_index_check(buf_str(&index), 40), names[i].stays);
        if (wrong)
            continue;
        assert_int_equal(taken.len, plain.len);
        assert_memory_equal(taken.data, plain.data, plain.len);
        assert_true(git_index_is_same(buf_str(&index), buf_str(&plain), 40));
    }
}

/* Cut anywhere, and with any byte changed, it is refused or read, never more. */
static void test_damaged(void **state)
{
    static const struct row rows[] = {{"a", FILE_MODE, 0}, {"b/c", LINK_MODE, 0}};
    (void)state;
    for (unsigned version = 2; version <= 4; version++) {
        BUF_AT_END struct buf index = make(version, 40, rows, 2, "TREE");
        for (size_t i = 0; i < index.len; i++) {
            BUF_AT_END struct buf taken = BUF_INIT(1u << 20);
            assert_non_null(git_index_take((struct str){index.data, i}, STR(""), 40, &taken));
            index.data[i] ^= 0x55;
            assert_non_null(git_index_take(buf_str(&index), STR(""), 40, &taken));
            index.data[i] ^= 0x55;
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),      cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_submodules),
        cmocka_unit_test(test_extensions), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
