/* Conditions out of JSON. Everything that can be wrong with them is found here. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/spelling.h"
#include "policy/condition.h"

#define WHERE_MAX 4096

struct reader {
    struct condition *condition;
    const struct condition_place *place;
    struct buf where; /* of the value at hand */
    size_t nodes;
    unsigned depth;
    struct err *err;
};

static int read_condition_object(struct reader *r, yyjson_val *object, struct node *ret);

static int PRINTF_LIKE(2, 3) fail_condition(struct reader *r, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const char *where = buf_text(&r->where);
    where = where ? where : r->place->where;
    return err_field(r->err, where, "%.180s: %s", where, what);
}

static size_t enter_condition_key(struct reader *r, struct str name)
{
    size_t before = r->where.len;
    buf_add_char(&r->where, '.');
    /* What someone else wrote goes into messages. */
    for (size_t i = 0; i < name.n && i < 80; i++)
        buf_add_char(&r->where, (char)(isprint((unsigned char)name.p[i]) ? name.p[i] : '?'));
    return before;
}

static int unknown_test(struct reader *r, struct str name)
{
    const char *best = NULL;
    size_t least = spelling_close(name.n) + 1;
    char known[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < TEST_COUNT; i++) {
        size_t d = spelling_distance(name, (struct str){test_names[i], strlen(test_names[i])});
        if (d < least) {
            least = d;
            best = test_names[i];
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 test_names[i]);
    }
    return best ? fail_condition(r, "unknown test; did you mean %s?", best)
                : fail_condition(r, "unknown test; there are %s", known);
}

static int find_test(struct str name)
{
    for (int i = 0; i < TEST_COUNT; i++) {
        if (str_is(name, test_names[i]))
            return i;
    }
    return -1;
}

static int count_node(struct reader *r)
{
    return ++r->nodes > CONDITION_NODES_MAX
               ? fail_condition(r, "the condition has more than %d parts", CONDITION_NODES_MAX)
               : 0;
}

static struct node *add_condition_part(struct node *node)
{
    node->parts = mem_grow(node->parts, node->n_parts + 1, sizeof *node->parts);
    struct node *part = &node->parts[node->n_parts++];
    *part = (struct node){.kind = NODE_ALL};
    return part;
}

static void list_arguments(const struct tool *tool, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < tool->args.count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 tool->args.args[i].name);
}

static void read_kind(const struct arg *arg, struct field *field)
{
    unsigned use = arg ? arg_use(arg) : ARG_PLAIN;
    field->kind = use & ARG_ANY_PATH      ? FIELD_PATH
                  : use & ARG_ANY_COMMAND ? FIELD_COMMAND
                  : use & ARG_DOMAIN      ? FIELD_DOMAIN
                                          : FIELD_PLAIN;
    field->shell = use & ARG_SHELL;
    field->folder = use & ARG_FOLDER;
}

/* Of a tool that is not known, only the test says what the argument has to be. */
static void guess_kind(enum test_kind test, struct field *field)
{
    field->kind = test == TEST_BENEATH   ? FIELD_PATH
                  : test == TEST_PROGRAM ? FIELD_COMMAND
                                         : FIELD_PLAIN;
}

static int refuse_two_kinds(struct reader *r, const struct tool *a, const struct tool *b)
{
    return fail_condition(
        r, "`%.60s` and `%.60s` take different things by this name: write a rule for each", a->name,
        b->name);
}

static int refuse_unknown_argument(struct reader *r, const struct tool *meant)
{
    char known[160] = "";
    list_arguments(meant, known, sizeof known);
    return fail_condition(r, "no tool that the rule is about has this argument; `%s` takes %s",
                          meant->name, known);
}

static bool is_variable(const struct tool *tool, const struct field *field)
{
    const struct arg *arg = tool_argument(tool, field->parts[0]);
    return arg && arg->use & ARG_ENV && field->n_parts > 1;
}

/* Finds what the tools that are meant take by this name. */
static int check_known_argument(struct reader *r, enum test_kind test, yyjson_val *value,
                                struct field *field)
{
    const char *fault = NULL;
    const struct tool *meant = NULL;
    const struct tool *taking = NULL;
    for (size_t i = 0; r->place->tools && r->place->tools[i]; i++) {
        const struct tool *tool = r->place->tools[i];
        const struct arg *arg;
        meant = meant ? meant : tool;
        if (!tool_takes(tool, field, &arg))
            continue;
        if (arg && arg->use & ARG_BASE64)
            return fail_condition(r, "a test of `%s` sees this one too: use that", arg[-1].name);
        struct field other = *field;
        read_kind(arg, &other);
        if (taking && other.kind != field->kind)
            return refuse_two_kinds(r, taking, tool);
        /* One tool that it can hold for is enough. */
        if (!taking || fault)
            fault = arg                        ? test_kind_fault(test, arg, value)
                    : is_variable(tool, field) ? test_variable_fault(test, field, value)
                                               : NULL;
        other.shell |= field->shell;
        *field = other;
        taking = tool;
    }
    if (!meant)
        guess_kind(test, field);
    if (fault)
        return fail_condition(r, "this test can never hold: `%.60s` %s", field->name, fault);
    return meant && !taking ? refuse_unknown_argument(r, meant) : 0;
}

static int read_field(struct reader *r, struct str name, struct field *ret)
{
    struct field field = {.kind = FIELD_PLAIN};
    if (name.n == 0 || name.n > 256 || memchr(name.p, '\0', name.n))
        return fail_condition(r, "an argument's name has 1 to 256 bytes");
    char *copy = mem_copy(name.p, name.n);
    const char *at = copy;
    const char *dot;
    do {
        dot = strchr(at, '.');
        size_t n = dot ? (size_t)(dot - at) : strlen(at);
        if (n == 0 || field.n_parts == FIELD_PARTS_MAX) {
            free(copy);
            return fail_condition(r, "a dotted name has at most %d parts, none of them empty",
                                  FIELD_PARTS_MAX);
        }
        field.parts[field.n_parts++] = (struct str){at, n};
        at += n + (dot != NULL);
    } while (dot);
    field.name = copy;
    *ret = field;
    return 0;
}

/* Tools that take anything else by this name leave it open. */
static int check_choices(struct reader *r, const struct test *test)
{
    bool taken = false;
    if (test->kind != TEST_GLOB && test->kind != TEST_REGEX)
        return 0;
    for (size_t i = 0; r->place->tools && r->place->tools[i]; i++) {
        const struct arg *arg;
        if (!tool_takes(r->place->tools[i], &test->field, &arg))
            continue;
        if (!arg || arg->type != ARG_CHOICE || arg->flags & ARG_ANY_CASE ||
            test_fits_choice(test, arg))
            return 0;
        taken = true;
    }
    return taken ? fail_condition(
                       r, "this test can never hold: `%.60s` never is that: see `sandgate tools`",
                       test->field.name)
                 : 0;
}

static int add_test(struct reader *r, struct str name, enum test_kind kind, yyjson_val *value,
                    struct node *all)
{
    if (count_node(r) < 0)
        return -1;
    struct node *part = add_condition_part(all);
    part->kind = NODE_TEST;
    part->test = mem_zero(sizeof *part->test);
    part->test->kind = kind;
    if (read_field(r, name, &part->test->field) < 0 ||
        check_known_argument(r, kind, value, &part->test->field) < 0)
        return -1;
    r->condition->n_regexes += kind == TEST_REGEX;
    struct err why;
    if (test_read(part->test, value, &why) < 0)
        return fail_condition(r, "%.280s", why.message);
    return check_choices(r, part->test);
}

/* `options` is no test of its own: it belongs to the `program` beside it. */
static int read_options(struct reader *r, yyjson_val *value, struct node *all, size_t from)
{
    struct err why;
    for (size_t i = from; value && i < all->n_parts; i++) {
        struct test *test = all->parts[i].test;
        if (test->kind != TEST_PROGRAM)
            continue;
        size_t before = enter_condition_key(r, STR("options"));
        if (test_read_options(test, value, &why) < 0)
            return fail_condition(r, "%.280s", why.message);
        r->where.len = before;
        return 0;
    }
    return value ? fail_condition(r, "`options` is about `program`, which is missing here") : 0;
}

/* The tests of one argument, of which no value could pass all. */
static int check_together(struct reader *r, yyjson_val *tests)
{
    yyjson_val *exists = yyjson_obj_get(tests, "exists");
    double least = -INFINITY;
    double most = INFINITY;
    bool open[2] = {false, false}; /* least and most: they are not among the values themselves */
    /* Of two that are the same number, the stricter one comes first. */
    static const struct {
        const char *name;
        bool below;
        bool strict;
    } bounds[] = {{"less", true, true},
                  {"atMost", true, false},
                  {"greater", false, true},
                  {"atLeast", false, false}};
    if (yyjson_is_false(exists) && yyjson_obj_size(tests) > 1)
        return fail_condition(r,
                              "`exists` is false, and no other test holds for what is not given");
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        yyjson_val *value = yyjson_obj_get(tests, bounds[i].name);
        if (!yyjson_is_num(value))
            continue;
        double bound = yyjson_get_num(value);
        bool below = bounds[i].below;
        if (below ? bound >= most : bound <= least)
            continue;
        *(below ? &most : &least) = bound;
        open[below] = bounds[i].strict;
    }
    /* The numbers of all tools are whole. */
    if (r->place->tools && r->place->tools[0]) {
        least = open[0] ? floor(least) + 1 : ceil(least);
        most = open[1] ? ceil(most) - 1 : floor(most);
        open[0] = open[1] = false;
    }
    yyjson_val *equals = yyjson_obj_get(tests, "equals");
    double same = yyjson_get_num(equals);
    bool out = yyjson_is_num(equals) && (open[0] ? same <= least : same < least);
    out |= yyjson_is_num(equals) && (open[1] ? same >= most : same > most);
    bool none = out || least > most || ((open[0] || open[1]) && !(least < most));
    return none ? fail_condition(r, "no number is both above and below these") : 0;
}

static int read_tests(struct reader *r, struct str name, yyjson_val *tests, struct node *all)
{
    size_t from = all->n_parts;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    if (yyjson_obj_size(tests) == 0)
        return fail_condition(r,
                              "there is no test; {\"exists\": true} asks only whether it is given");
    yyjson_obj_foreach(tests, idx, max, key, value) {
        struct str word = json_str(key);
        if (str_is(word, "options"))
            continue;
        size_t before = enter_condition_key(r, word);
        int kind = find_test(word);
        if (kind < 0)
            return unknown_test(r, word);
        if (add_test(r, name, (enum test_kind)kind, value, all) < 0)
            return -1;
        r->where.len = before;
    }
    if (check_together(r, tests) < 0)
        return -1;
    return read_options(r, yyjson_obj_get(tests, "options"), all, from);
}

static int read_argument(struct reader *r, struct str name, yyjson_val *value, struct node *all)
{
    if (yyjson_is_obj(value))
        return read_tests(r, name, value, all);
    if (yyjson_is_arr(value))
        return fail_condition(r,
                              "must be a value or an object with tests; for one of several values, "
                              "{\"in\": [...]}");
    return add_test(r, name, TEST_EQUALS, value, all);
}

static int read_condition_parts(struct reader *r, yyjson_val *value, struct node *node)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!yyjson_is_arr(value) || yyjson_arr_size(value) == 0)
        return fail_condition(r, "must be a list of conditions with at least one in it");
    size_t before = r->where.len;
    yyjson_arr_foreach(value, idx, max, item) {
        buf_addf(&r->where, "[%zu]", idx);
        if (read_condition_object(r, item, add_condition_part(node)) < 0)
            return -1;
        r->where.len = before;
    }
    return 0;
}

static int read_condition_member(struct reader *r, struct str name, yyjson_val *value,
                                 struct node *all)
{
    bool any = str_is(name, "any");
    if (!any && !str_is(name, "all") && !str_is(name, "not"))
        return read_argument(r, name, value, all);
    struct node *part = add_condition_part(all);
    part->kind = any ? NODE_ANY : str_is(name, "not") ? NODE_NOT : NODE_ALL;
    if (part->kind == NODE_NOT)
        return read_condition_object(r, value, add_condition_part(part));
    return read_condition_parts(r, value, part);
}

static int read_condition_object(struct reader *r, yyjson_val *object, struct node *ret)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    ret->kind = NODE_ALL;
    if (!yyjson_is_obj(object) || yyjson_obj_size(object) == 0)
        return fail_condition(r, "must be an object with at least one argument in it");
    if (count_node(r) < 0)
        return -1;
    if (r->depth == CONDITION_DEPTH_MAX)
        return fail_condition(r, "conditions are at most %d deep", CONDITION_DEPTH_MAX);
    r->depth++;
    yyjson_obj_foreach(object, idx, max, key, value) {
        size_t before = enter_condition_key(r, json_str(key));
        if (read_condition_member(r, json_str(key), value, ret) < 0)
            return -1;
        r->where.len = before;
    }
    r->depth--;
    return 0;
}

/* --- where commands begin */

static bool says_folder(const struct node *node)
{
    if (node->kind == NODE_TEST)
        return node->test->field.folder && node->test->kind != TEST_EXISTS;
    for (size_t i = 0; node->kind == NODE_ALL && i < node->n_parts; i++) {
        if (says_folder(&node->parts[i]))
            return true;
    }
    return false;
}

static void note_folder(struct node *node)
{
    if (node->kind == NODE_TEST)
        node->test->own_folder = true;
    for (size_t i = 0; i < node->n_parts; i++)
        note_folder(&node->parts[i]);
}

struct condition *condition_new(struct str json, const struct condition_place *place,
                                struct err *err)
{
    struct json_error why;
    struct condition *condition = mem_zero(sizeof *condition);
    struct reader reader = {
        .condition = condition, .place = place, .where = BUF_INIT(WHERE_MAX), .err = err};
    buf_add_text(&reader.where, place->where);
    int r = -1;
    if (json_parse(json.p, json.n, CONDITION_TEXT_MAX, JSON_STRICT, &condition->doc, &why) < 0)
        fail_condition(&reader, "%.200s", why.what);
    else
        r = read_condition_object(&reader, yyjson_doc_get_root(condition->doc), &condition->root);
    buf_done(&reader.where);
    if (r == 0 && says_folder(&condition->root))
        note_folder(&condition->root);
    if (r == 0)
        return condition;
    condition_free(condition);
    return NULL;
}

static void node_done(struct node *node)
{
    for (size_t i = 0; i < node->n_parts; i++)
        node_done(&node->parts[i]);
    free(node->parts);
    if (node->test)
        test_done(node->test);
    free(node->test);
}

void condition_free(struct condition *condition)
{
    if (!condition)
        return;
    node_done(&condition->root);
    yyjson_doc_free(condition->doc);
    free(condition);
}
