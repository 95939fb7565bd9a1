#include "policy/condition.h"

#include <stdio.h>
#include <string.h>

#include "policy/facts_variables.h"
#include "policy/tool_pattern.h"

static enum condition_result judge_node(const struct node *node, struct facts *facts);

/* One that does not hold decides, whatever could not be told of the others; so does one that holds in `judge_any`. */
static enum condition_result judge_all_parts(const struct node *node, struct facts *facts)
{
    enum condition_result result = CONDITION_YES;
    for (size_t i = 0; i < node->n_parts; i++) {
        enum condition_result part = judge_node(&node->parts[i], facts);
        if (part == CONDITION_NO)
            return CONDITION_NO;
        if (part == CONDITION_ERROR || (part == CONDITION_PARTLY && result == CONDITION_YES))
            result = part;
    }
    return result;
}

static enum condition_result judge_any(const struct node *node, struct facts *facts)
{
    enum condition_result result = CONDITION_NO;
    for (size_t i = 0; i < node->n_parts; i++) {
        enum condition_result part = judge_node(&node->parts[i], facts);
        if (part == CONDITION_YES)
            return CONDITION_YES;
        if (part == CONDITION_ERROR || (part == CONDITION_PARTLY && result == CONDITION_NO))
            result = part;
    }
    return result;
}

static enum condition_result judge_not(const struct node *node, struct facts *facts)
{
    enum condition_result part = judge_node(&node->parts[0], facts);
    if (part == CONDITION_YES)
        return CONDITION_NO;
    return part == CONDITION_NO ? CONDITION_YES : part;
}

static enum condition_result judge_node(const struct node *node, struct facts *facts)
{
    switch (node->kind) {
    case NODE_ALL:
        return judge_all_parts(node, facts);
    case NODE_ANY:
        return judge_any(node, facts);
    case NODE_NOT:
        return judge_not(node, facts);
    case NODE_TEST:
        break;
    }
    return test_judge(node->test, facts);
}

typedef bool (*test_is_fn)(const struct test *test, const struct facts *facts);

static bool has_test(const struct node *node, const struct facts *facts, test_is_fn is)
{
    bool found = node->kind == NODE_TEST && is(node->test, facts);
    for (size_t i = 0; !found && i < node->n_parts; i++)
        found = has_test(&node->parts[i], facts, is);
    return found;
}

/* One about programs takes no other variables than harmless ones by itself. */
static bool is_about_text(const struct test *test, const struct facts *facts)
{
    (void)facts;
    return test->field.kind == FIELD_COMMAND && test->kind != TEST_PROGRAM &&
           test->kind != TEST_EXISTS;
}

static bool is_about_variables(const struct test *test, const struct facts *facts)
{
    const struct arg *arg = tool_argument(facts->tool, test->field.parts[0]);
    return arg && arg->use & ARG_ENV;
}

/* The text of a command says less where the call sets variables that decide what its programs start. */
static bool leaves_variables_open(const struct node *root, struct facts *facts)
{
    if (!facts->tool || !has_test(root, facts, is_about_text) ||
        has_test(root, facts, is_about_variables))
        return false;
    struct str name = facts_deciding_variable(facts);
    if (name.n)
        snprintf(facts->partly, sizeof facts->partly,
                 "the call sets `%.*s`, which decides what programs start",
                 name.n > 60 ? 60 : (int)name.n, name.p);
    return name.n > 0;
}

enum condition_result condition_judge(const struct condition *condition, struct facts *facts)
{
    enum condition_result result = judge_node(&condition->root, facts);
    if (result == CONDITION_YES && leaves_variables_open(&condition->root, facts))
        return CONDITION_PARTLY;
    return result;
}

static bool all_text(const struct test *test)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (test->kind == TEST_EQUALS)
        return yyjson_is_str(test->value);
    yyjson_arr_foreach(test->value, idx, max, item) {
        if (!yyjson_is_str(item))
            return false;
    }
    return true;
}

static bool relative_paths(const struct test *test)
{
    for (size_t i = 0; i < test->n_paths; i++) {
        if (test->paths[i].absolute)
            return false;
    }
    return true;
}

static bool is_key(const struct test *test)
{
    if (test->kind == TEST_PROGRAM)
        return true;
    if (test->kind == TEST_BENEATH)
        return test->field.kind == FIELD_PATH && test->field.n_parts == 1 && relative_paths(test);
    return (test->kind == TEST_EQUALS || test->kind == TEST_IN) && test->field.n_parts == 1 &&
           all_text(test) && relative_paths(test);
}

const struct test *condition_key(const struct condition *condition)
{
    const struct node *root = &condition->root;
    for (size_t i = 0; i < root->n_parts; i++) {
        const struct node *part = &root->parts[i];
        if (part->kind == NODE_TEST && is_key(part->test))
            return part->test;
    }
    return NULL;
}
