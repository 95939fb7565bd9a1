#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cell/mechanisms.h"

static char *read_threats(void)
{
    static char text[256 << 10];
    FILE *file = fopen(SOURCE_DIR "/docs/THREATS.md", "re");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    return text;
}

static void test_documented(void **state)
{
    (void)state;
    BUF_AT_END struct buf table = BUF_INIT(1 << 16);
    buf_add_text(&table, "<!-- mechanisms:begin -->\n");
    mechanisms_write_markdown(&table);
    buf_add_text(&table, "<!-- mechanisms:end -->\n");
    const char *begin = strstr(read_threats(), "<!-- mechanisms:begin -->");
    assert_non_null(begin);
    if (strncmp(begin, buf_text(&table), table.len) != 0)
        fail_msg("docs/THREATS.md has another table; this one holds:\n%s", buf_text(&table));
}

static void test_landlock_steps_documented(void **state)
{
    (void)state;
    const char *page = read_threats();
    for (const struct landlock_step *step = landlock_steps; step->abi; step++) {
        FREE_AT_END char *first = mem_copy(step->what, strcspn(step->what, " "));
        FREE_AT_END char *since = mem_format("(%s)", step->since);
        assert_non_null(strstr(page, first));
        assert_non_null(strstr(page, since));
    }
}

static void give_all(struct findings *f)
{
    *f = (struct findings){0};
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++)
        f->of[m] = (struct finding){.state = FINDING_YES};
    f->of[MECHANISM_LANDLOCK].version = 5;
    f->of[MECHANISM_CGROUP_MEMORY].means = MEANS_CGROUP2;
    f->of[MECHANISM_CGROUP_PROCESSES].means = MEANS_CGROUP1;
}

/* Nothing that a cell needs may be missing, and nothing that a full one needs for that; all else may. */
static void test_tier(void **state)
{
    (void)state;
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        struct findings f;
        give_all(&f);
        assert_int_equal(findings_tier(&f).id, TIER_FULL);
        f.of[m].state = FINDING_NO;
        enum need need = mechanism_rows[m].need;
        assert_int_equal(findings_tier(&f).id, need == NEED_CELL   ? TIER_NONE
                                               : need == NEED_FULL ? TIER_LANDLOCK
                                                                   : TIER_FULL);
        assert_int_equal(findings_missing(&f, need), m);
        f.of[m].state = FINDING_UNNEEDED;
        assert_int_equal(findings_tier(&f).id, TIER_FULL);
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct findings f;
    give_all(&f);
    struct tier tier = findings_tier(&f);
    assert_int_equal(tier.landlock, 5);
    assert_int_equal(tier.memory, MEANS_CGROUP2);
    assert_int_equal(tier.process_count, MEANS_CGROUP1);
    assert_int_equal(tier.cpu, MEANS_NONE);
    f.of[MECHANISM_MOUNTS].state = FINDING_NO;
    tier = findings_tier(&f);
    assert_int_equal(tier.files, MEANS_LANDLOCK);
    assert_int_equal(tier.memory, MEANS_NONE);
}

/* Namespaces that others use up say nothing about the machine; a setting does. */
static void test_passing(void **state)
{
    (void)state;
    static const struct finding rows[] = {{.error = ENOSPC},
                                          {.error = EUSERS},
                                          {.error = ENOSPC, .fix = "sysctl x"},
                                          {.error = EPERM}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(finding_may_pass(&rows[i]), i < 2);
}

static bool reads_back(const struct findings *f, struct findings *ret)
{
    BUF_AT_END struct buf text = BUF_INIT(1 << 16);
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_out j = {.out = &text};
    findings_write(f, &j);
    assert_int_equal(json_parse(text.data, text.len, text.len, JSON_STRICT, &doc, NULL), 0);
    return findings_read(yyjson_doc_get_root(doc), ret);
}

static void test_read_back(void **state)
{
    (void)state;
    struct findings f;
    struct findings back;
    give_all(&f);
    f.of[MECHANISM_PROC] = (struct finding){
        .error = 1, .cause = "\"covered\" \xc3\xa4", .fix = "run this"};
    f.of[MECHANISM_IDMAP].state = FINDING_UNNEEDED;
    assert_true(reads_back(&f, &back));
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        assert_int_equal(back.of[m].state, f.of[m].state);
        assert_int_equal(back.of[m].error, f.of[m].error);
        assert_int_equal(back.of[m].version, f.of[m].version);
        assert_int_equal(back.of[m].means, f.of[m].means);
        assert_string_equal(back.of[m].cause, f.of[m].cause);
        assert_string_equal(back.of[m].fix, f.of[m].fix);
    }
}

static void test_cause(void **state)
{
    (void)state;
    static const struct {
        const char *cause;
        const char *fix;
        const char *text;
    } rows[] = {
        {"user namespaces are off", "sysctl x", "user namespaces are off; run: sysctl x"},
        {"it is too old", "", "it is too old"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        BUF_AT_END struct buf out = BUF_INIT(1024);
        struct finding f = {0};
        snprintf(f.cause, sizeof f.cause, "%s", rows[i].cause);
        snprintf(f.fix, sizeof f.fix, "%s", rows[i].fix);
        finding_write_cause(&f, &out);
        assert_string_equal(buf_text(&out), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented), cmocka_unit_test(test_landlock_steps_documented),
        cmocka_unit_test(test_tier),       cmocka_unit_test(test_limits),
        cmocka_unit_test(test_read_back),  cmocka_unit_test(test_cause),
        cmocka_unit_test(test_passing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
