/* Tests that never hold for an argument, because its values are of another kind. */
#include <math.h>
#include <rure.h>
#include <string.h>

#include "policy/condition.h"

static bool is_choice(const struct arg *arg, yyjson_val *value)
{
    for (size_t i = 0; arg->choices && arg->choices[i]; i++) {
        bool same = arg->flags & ARG_ANY_CASE
                        ? strcasecmp(yyjson_get_str(value), arg->choices[i]) == 0
                        : yyjson_equals_str(value, arg->choices[i]);
        if (same)
            return true;
    }
    return false;
}

/* Calls with other numbers are refused before any rule is asked. */
static bool is_possible(const struct arg *arg, double number)
{
    return number >= (double)arg->min && (arg->max == 0 || number <= (double)arg->max) &&
           number == floor(number);
}

static const char *number_fault(const struct arg *arg, yyjson_val *value)
{
    double number = yyjson_get_num(value);
    if (!yyjson_is_num(value))
        return "is a number: write one, without quotes";
    if (number != floor(number))
        return "is a whole number";
    return is_possible(arg, number) ? NULL : "never is that number: see `sandgate tools`";
}

static const char *bound_fault(enum test_kind kind, const struct arg *arg, yyjson_val *value)
{
    static const char beyond[] = "has no number on that side: see `sandgate tools`";
    double bound = yyjson_get_num(value);
    double least = (double)arg->min;
    double most = arg->max ? (double)arg->max : INFINITY;
    if (!yyjson_is_num(value))
        return NULL;
    bool none = kind == TEST_LESS      ? bound <= least
                : kind == TEST_AT_MOST ? bound < least
                : kind == TEST_GREATER ? bound >= most
                                       : bound > most;
    return none ? beyond : NULL;
}

/* One value that the argument shall be equal to. One that nothing is equal to is refused by test_read. */
static const char *value_fault(const struct arg *arg, yyjson_val *value)
{
    if (yyjson_is_null(value) || yyjson_is_ctn(value))
        return NULL;
    if (arg->type == ARG_INT)
        return number_fault(arg, value);
    if (arg->type == ARG_BOOL)
        return yyjson_is_bool(value) ? NULL : "is true or false: write that, without quotes";
    if (!yyjson_is_str(value))
        return "is a text: write one, in quotes";
    return arg->type != ARG_CHOICE || is_choice(arg, value) ? NULL
                                                            : "never is that: see `sandgate tools`";
}

static const char *values_fault(const struct arg *arg, yyjson_val *value)
{
    if (!yyjson_is_arr(value))
        return value_fault(arg, value);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(value, idx, max, item) {
        const char *fault = value_fault(arg, item);
        if (fault)
            return fault;
    }
    return NULL;
}

const char *test_kind_fault(enum test_kind kind, const struct arg *arg, yyjson_val *value)
{
    unsigned use = arg_use(arg);
    if (kind == TEST_EXISTS || kind == TEST_PROGRAM)
        return NULL;
    if (arg->type == ARG_LIST && arg->n_items == 1)
        arg = arg->items;
    if (arg->type == ARG_OBJECT || arg->type == ARG_OBJECTS)
        return "has parts: name one behind a dot, or use {\"exists\": true}";
    bool number = arg->type == ARG_INT;
    switch (kind) {
    case TEST_EQUALS:
    case TEST_IN:
        return use & ARG_ANY_PATH ? NULL : values_fault(arg, value);
    case TEST_GLOB:
    case TEST_REGEX:
        return number                  ? "is a number: use equals, less, greater, atMost or atLeast"
               : arg->type == ARG_BOOL ? "is true or false: use equals"
                                       : NULL;
    case TEST_BENEATH:
        return use & ARG_ANY_PATH      ? NULL
               : use & ARG_ANY_COMMAND ? "is a command, not a path: use program"
                                       : "is not a path: use equals, in, glob or regex";
    case TEST_DOMAIN:
        return use & (ARG_URL | ARG_DOMAIN) ? NULL
               : use & ARG_ANY_PATH         ? "is a path, not an address: use beneath or glob"
                                            : "is not an address: use equals, in, glob or regex";
    default:
        return number ? bound_fault(kind, arg, value)
                      : "is not a number: use equals, in, glob or regex";
    }
}

const char *test_variable_fault(enum test_kind kind, const struct field *field, yyjson_val *value)
{
    static const struct arg text = {.name = "env", .type = ARG_STRING};
    struct str name = field->parts[1];
    if (field->n_parts > 2)
        return "is a text: a variable has no parts, and none with a dot in its name can be named";
    if (memchr(name.p, '=', name.n))
        return "is no name that a variable can have";
    return test_kind_fault(kind, &text, value);
}

bool test_fits_choice(const struct test *test, const struct arg *arg)
{
    for (size_t i = 0; arg->choices && arg->choices[i]; i++) {
        struct str choice = {arg->choices[i], strlen(arg->choices[i])};
        if (test->kind == TEST_GLOB
                ? glob_match(test->glob, choice)
                : rure_is_match(test->regex, (const uint8_t *)choice.p, choice.n, 0))
            return true;
    }
    return false;
}
