/* Rows of command lines and the rule that refuses each. */
#ifndef SANDGATE_TESTS_COMMAND_ROW_H
#define SANDGATE_TESTS_COMMAND_ROW_H

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policy/command_rules.h"

static inline struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

struct row {
    const char *text;
    const char *rule; /* NULL: it passes */
};

static inline void check_row(const struct row *row, bool allow_chaining)
{
    struct command_rules rules = command_rules_sidecar;
    struct err err = {.code = ERR_COUNT};
    rules.allow_chaining = allow_chaining;
    int done = command_check(text_str(row->text), &rules, &err);
    if (!row->rule) {
        if (done != 0)
            fail_msg("%s: refused: %s", row->text, err.message);
        assert_int_equal(err.code, ERR_COUNT);
        return;
    }
    if (done == 0)
        fail_msg("%s: passes, but %s refuses it", row->text, row->rule);
    if (strcmp(err.reason, row->rule) != 0)
        fail_msg("%s: by %s (%s), not %s", row->text, err.reason, err.message, row->rule);
    assert_int_equal(err.code, ERR_COMMAND_BLOCKED);
    assert_non_null(strstr(err.message, row->rule));
    if (strncmp(row->rule, "chaining:", 9) == 0)
        assert_non_null(strstr(err.message, "make separate calls"));
}

#endif
