/* The rule sets of the docs that approve commands by their programs. */
#ifndef SANDGATE_TESTS_DOC_RULES_H
#define SANDGATE_TESTS_DOC_RULES_H

#include <stdio.h>

#include "judge_parts.h"
#include "base/buf.h"

#define DOC_PROGRAMS_MAX 64

/* `names` are the programs that some rule approves, with their subcommands; NULL-ended. */
typedef void (*doc_rules_fn)(const struct policy *policy, const char *const *names);

struct doc_programs {
    char *all[DOC_PROGRAMS_MAX + 1];
    size_t n;
};

static inline void add_doc_program(struct doc_programs *programs, yyjson_val *program)
{
    const char *text = yyjson_get_str(program);
    if (!text)
        return;
    assert_true(programs->n < DOC_PROGRAMS_MAX);
    programs->all[programs->n++] = mem_dup(text);
}

static inline void find_doc_programs(yyjson_val *root, struct doc_programs *programs)
{
    yyjson_val *rule;
    yyjson_val *item;
    size_t i;
    size_t k;
    size_t max;
    yyjson_arr_foreach(yyjson_ptr_get(root, "/approval/rules"), i, max, rule) {
        yyjson_val *named = yyjson_ptr_get(rule, "/condition/command/program");
        size_t n;
        if (!yyjson_equals_str(yyjson_obj_get(rule, "action"), "approve"))
            continue;
        add_doc_program(programs, named);
        yyjson_arr_foreach(named, k, n, item)
            add_doc_program(programs, item);
    }
}

/* Number of rule sets in this text. */
static inline size_t check_doc_text(const char *page, doc_rules_fn check)
{
    size_t found = 0;
    for (const char *at = page; (at = strstr(at, "```json\n"));) {
        at += strlen("```json\n");
        const char *end = strstr(at, "```");
        assert_non_null(end);
        FREE_AT_END char *json = mem_copy(at, (size_t)(end - at));
        JSON_AT_END yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
        struct doc_programs programs = {.n = 0};
        find_doc_programs(yyjson_doc_get_root(doc), &programs);
        if (programs.n) {
            struct policy *policy = make_plain_policy(json);
            check(policy, (const char *const *)programs.all);
            policy_free(policy);
            found++;
        }
        for (size_t i = 0; i < programs.n; i++)
            free(programs.all[i]);
        at = end + 3;
    }
    return found;
}

static inline void read_doc(const char *name, struct buf *ret)
{
    char block[4096];
    FREE_AT_END char *path = mem_format("%s/%s", SOURCE_DIR, name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
        buf_add(ret, block, n);
    fclose(f);
    assert_false(ret->failed);
}

static inline void each_doc_rules(doc_rules_fn check)
{
    static const char *const pages[] = {"README.md", "docs/CONFIG.md", "docs/CLIENTS.md",
                                        "docs/TOOLS.md"};
    size_t found = 0;
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        BUF_AT_END struct buf page = BUF_INIT(1 << 20);
        read_doc(pages[i], &page);
        found += check_doc_text(buf_text(&page), check);
    }
    assert_true(found > 0);
}

#endif
