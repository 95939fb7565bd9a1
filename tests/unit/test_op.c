#include <cmocka.h>

#include "core/op.h"
#include "core/path.h"
#include "json_text.h"
#include "random.h"

#define BODY_MAX (1u << 20)

static struct op_entry random_entry(char room[PATH_NAME_MAX])
{
    size_t n = random_below(8) ? 1 + random_below(20) : PATH_NAME_MAX;
    for (size_t i = 0; i < n; i++) {
        do
            room[i] = (char)random_next();
        while (room[i] == '/' || room[i] == '\0');
    }
    room[0] = room[0] == '.' ? 'x' : room[0];
    return (struct op_entry){
        .type = (enum file_type)random_below(4),
        .size = random_below(5)   ? (int64_t)(random_next() >> 1)
                : random_below(2) ? 0
                                  : INT64_MAX,
        .mtime_ms = (int64_t)random_next(),
        .name = {room, n},
    };
}

static void entries_come_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(500); round++) {
        static char rooms[50][PATH_NAME_MAX];
        struct op_entry sent[50];
        size_t count = random_below(51);
        BUF_AT_END struct buf body = BUF_INIT(BODY_MAX);
        for (size_t i = 0; i < count; i++) {
            sent[i] = random_entry(rooms[i]);
            op_entry_add(&body, &sent[i]);
        }
        struct str rest = buf_str(&body);
        struct op_entry got;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(op_entry_next(&rest, &got), 1);
            assert_int_equal(got.type, sent[i].type);
            assert_true(got.size == sent[i].size && got.mtime_ms == sent[i].mtime_ms);
            assert_int_equal(got.name.n, sent[i].name.n);
            assert_memory_equal(got.name.p, sent[i].name.p, got.name.n);
        }
        assert_int_equal(op_entry_next(&rest, &got), 0);
    }
}

/* One entry as bytes, to be spoiled. */
static void pack(struct buf *body, const char *name, size_t n, int64_t size, unsigned type)
{
    struct op_entry entry = {(enum file_type)type, size, 5, {name, n}};
    buf_reset(body, SIZE_MAX);
    op_entry_add(body, &entry);
}

static int first_of(const struct buf *body)
{
    struct str rest = buf_str(body);
    struct op_entry entry;
    return op_entry_next(&rest, &entry);
}

static void a_cut_entry_is_refused(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1000);
    pack(&body, "name", 4, 7, TYPE_FILE);
    assert_int_equal(first_of(&body), 1);
    while (--body.len > 0)
        assert_int_equal(first_of(&body), -1);
}

static void what_a_folder_cannot_hold_is_refused(void **state)
{
    (void)state;
    static const struct str names[] = {{"", 0},      {"/", 1},    {"/a", 2},   {"a/", 2},
                                       {"a//b", 4},  {"a\0b", 3}, {"\0", 1},   {"a/\0", 3},
                                       {"a/./b", 5}, {"../a", 4}, {"a/..", 4}, {"a/../b", 6}};
    char long_name[PATH_NAME_MAX + 1];
    BUF_AT_END struct buf body = BUF_INIT(1000);
    memset(long_name, 'x', sizeof long_name);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        pack(&body, names[i].p, names[i].n, 7, TYPE_FILE);
        assert_int_equal(first_of(&body), -1);
    }
    pack(&body, long_name, sizeof long_name, 7, TYPE_FILE);
    assert_int_equal(first_of(&body), -1);
    pack(&body, "a", 1, -1, TYPE_FILE);
    assert_int_equal(first_of(&body), -1);
    pack(&body, "a", 1, 1, TYPE_OTHER + 1);
    assert_int_equal(first_of(&body), -1);
    pack(&body, "a", 1, 1, 255);
    assert_int_equal(first_of(&body), -1);
}

/* The entries of a recursive listing are named by the way to them. */
static void names_may_have_folders_before_them(void **state)
{
    (void)state;
    static const char *const names[] = {"a/b", "a/b/c", ".a/..b/...", "a b/\xff"};
    char long_path[PATH_TEXT_MAX + 1];
    BUF_AT_END struct buf body = BUF_INIT(10000);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        pack(&body, names[i], strlen(names[i]), 7, TYPE_FILE);
        assert_int_equal(first_of(&body), 1);
    }
    for (size_t i = 0; i < sizeof long_path; i++)
        long_path[i] = i % 100 == 99 ? '/' : 'x';
    pack(&body, long_path, PATH_TEXT_MAX - 1, 7, TYPE_FILE);
    assert_int_equal(first_of(&body), 1);
    pack(&body, long_path, PATH_TEXT_MAX, 7, TYPE_FILE);
    assert_int_equal(first_of(&body), -1);
}

/* `.` and `..` are in every folder and never in a listing. */
static void a_listing_does_not_point_up(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1000);
    pack(&body, ".", 1, 1, TYPE_DIRECTORY);
    assert_int_equal(first_of(&body), -1);
    pack(&body, "..", 2, 1, TYPE_DIRECTORY);
    assert_int_equal(first_of(&body), -1);
    pack(&body, "...", 3, 1, TYPE_DIRECTORY);
    assert_int_equal(first_of(&body), 1);
}

static void random_bytes_stay_in_bounds(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(100000); round++) {
        BUF_AT_END struct buf body = BUF_INIT(1000);
        char room[PATH_NAME_MAX];
        for (size_t i = random_below(4); i > 0; i--) {
            struct op_entry entry = random_entry(room);
            op_entry_add(&body, &entry);
        }
        for (size_t i = random_below(4); i > 0 && body.len; i--)
            body.data[random_below(body.len)] = (char)random_next();
        body.len -= body.len ? random_below(2) : 0;
        struct str rest = buf_str(&body);
        const char *end = rest.p + rest.n;
        struct op_entry entry;
        while (op_entry_next(&rest, &entry) > 0) {
            assert_in_range(entry.name.n, 1, PATH_TEXT_MAX - 1);
            assert_null(memchr(entry.name.p, '\0', entry.name.n));
            assert_true(entry.type <= TYPE_OTHER && entry.size >= 0);
            assert_ptr_equal(entry.name.p + entry.name.n, rest.p);
            assert_ptr_equal(rest.p + rest.n, end);
        }
    }
}

static struct op_edit random_edit(char room[64])
{
    random_bytes(room, 64);
    return (struct op_edit){
        {room, random_below(33)}, {room + 32, random_below(33)}, random_below(2)};
}

static void assert_same_text(struct str a, struct str b)
{
    assert_int_equal(a.n, b.n);
    if (a.n)
        assert_memory_equal(a.p, b.p, a.n);
}

static void edits_come_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(500); round++) {
        static char rooms[20][64];
        struct op_edit sent[20];
        size_t count = random_below(21);
        BUF_AT_END struct buf body = BUF_INIT(BODY_MAX);
        for (size_t i = 0; i < count; i++) {
            sent[i] = random_edit(rooms[i]);
            op_edit_add(&body, &sent[i]);
        }
        struct str rest = buf_str(&body);
        struct op_edit got;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(op_edit_next(&rest, &got), 1);
            assert_same_text(got.old_text, sent[i].old_text);
            assert_same_text(got.new_text, sent[i].new_text);
            assert_int_equal(got.all, sent[i].all);
        }
        assert_int_equal(op_edit_next(&rest, &got), 0);
    }
}

static void a_cut_edit_is_refused(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1000);
    op_edit_add(&body, &(struct op_edit){STR("old"), STR("newer"), true});
    for (size_t n = 1; n < body.len; n++) {
        struct str rest = {body.data, n};
        struct op_edit got;
        assert_int_equal(op_edit_next(&rest, &got), -1);
    }
}

/* Lengths that together go around are no way out of the body. */
static void random_edits_stay_in_bounds(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(100000); round++) {
        BUF_AT_END struct buf body = BUF_INIT(1000);
        char room[64];
        for (size_t i = random_below(4); i > 0; i--) {
            struct op_edit edit = random_edit(room);
            op_edit_add(&body, &edit);
        }
        for (size_t i = random_below(4); i > 0 && body.len; i--)
            body.data[random_below(body.len)] = (char)(random_below(2) ? 0xff : random_next());
        if (body.len >= 16 && random_below(4) == 0)
            memset(body.data, 0xff, random_below(17));
        struct str rest = buf_str(&body);
        const char *end = rest.p + rest.n;
        struct op_edit got;
        for (const char *at = rest.p; op_edit_next(&rest, &got) > 0; at = rest.p) {
            assert_true(got.old_text.p > at && got.old_text.p + got.old_text.n == got.new_text.p);
            assert_ptr_equal(got.new_text.p + got.new_text.n, rest.p);
            assert_ptr_equal(rest.p + rest.n, end);
        }
    }
}

static void operations_have_names_of_their_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < OP_COUNT; i++) {
        assert_true(op_table[i].name && op_table[i].name[0]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(op_table[i].name, op_table[k].name);
        assert_true(op_table[i].request.size <= sizeof(union op_request));
        assert_true(op_table[i].reply.size <= sizeof(union op_reply));
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(a_cut_entry_is_refused),
        cmocka_unit_test(what_a_folder_cannot_hold_is_refused),
        cmocka_unit_test(names_may_have_folders_before_them),
        cmocka_unit_test(a_listing_does_not_point_up),
        cmocka_unit_test(random_bytes_stay_in_bounds),
        cmocka_unit_test(edits_come_back),
        cmocka_unit_test(a_cut_edit_is_refused),
        cmocka_unit_test(random_edits_stay_in_bounds),
        cmocka_unit_test(operations_have_names_of_their_own),
    };
    return cmocka_run_group_tests_name("op", tests, set_up, NULL);
}
