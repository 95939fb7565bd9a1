#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/config_store.h"
#include "core/guard.h"

#define TEXT_MAX 4096

bool config_value_set_number(const struct config_row *row, int64_t number,
                             struct config_value *ret_value)
{
    if (number < row->min || number > row->max)
        return false;
    ret_value->number = number;
    return true;
}

/* The digits that `text` starts with; how many there were, or 0 when there are none or too many. */
static size_t take_digits(struct str text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t n = 0;
    for (; n < text.n && text.p[n] >= '0' && text.p[n] <= '9'; n++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.p[n] - '0', &number))
            return 0;
    }
    *ret_number = number;
    return n;
}

static bool parse_int(const struct config_row *row, struct str text, struct config_value *ret_value)
{
    int64_t number;
    size_t n = take_digits(text, &number);
    return n && n == text.n && config_value_set_number(row, number, ret_value);
}

static bool parse_size(const struct config_row *row, struct str text,
                       struct config_value *ret_value)
{
    static const char units[] = "bkmgt";
    int64_t number;
    size_t n = take_digits(text, &number);
    if (n == 0 || text.n - n > 1)
        return false;
    if (text.n > n) {
        /* Setting this bit makes a letter small and nothing else a letter of ours. */
        const char *unit = memchr(units, text.p[n] | 0x20, sizeof units - 1);
        if (!unit || __builtin_mul_overflow(number, (int64_t)1 << 10 * (unit - units), &number))
            return false;
    }
    return config_value_set_number(row, number, ret_value);
}

static bool is_either_word(struct str text, const char *a, const char *b)
{
    return (text.n == strlen(a) && memcmp(text.p, a, text.n) == 0) ||
           (text.n == strlen(b) && memcmp(text.p, b, text.n) == 0);
}

static bool parse_bool(struct str text, struct config_value *ret_value)
{
    ret_value->number = is_either_word(text, "true", "1");
    return ret_value->number || is_either_word(text, "false", "0");
}

static bool parse_enum(const struct config_row *row, struct str text,
                       struct config_value *ret_value)
{
    int index = config_choice(row, text);
    if (index < 0)
        return false;
    struct str choice = config_choice_at(row, index);
    ret_value->text = mem_copy(choice.p, choice.n);
    return true;
}

static bool parse_string(const struct config_row *row, struct str text,
                         struct config_value *ret_value)
{
    struct err err;
    if (text.n == 0 || text.n > TEXT_MAX || memchr(text.p, '\0', text.n))
        return false;
    if (row->patterns && guard_check(text, &err) < 0)
        return false;
    if (row->program && text.p[0] != '/')
        return false;
    ret_value->text = mem_copy(text.p, text.n);
    return true;
}

bool config_value_from_text(const struct config_row *row, struct str text,
                            struct config_value *ret_value)
{
    switch (row->type) {
    case CONFIG_INT:
        return parse_int(row, text, ret_value);
    case CONFIG_SIZE:
        return parse_size(row, text, ret_value);
    case CONFIG_BOOL:
        return parse_bool(text, ret_value);
    case CONFIG_ENUM:
        return parse_enum(row, text, ret_value);
    case CONFIG_STRING:
        return parse_string(row, text, ret_value);
    case CONFIG_CORES:
    case CONFIG_LIST:
    case CONFIG_RAW:
        break;
    }
    return false;
}

struct config_row config_item_row(const struct config_row *list)
{
    struct config_row item = *list;
    item.type = list->choices ? CONFIG_ENUM : CONFIG_STRING;
    return item;
}

void config_expected(const struct config_row *row, char *out, size_t size)
{
    char choices[128];
    config_choices_text(row, choices, sizeof choices);
    switch (row->type) {
    case CONFIG_INT:
        snprintf(out, size, "a whole number from %lld to %lld", (long long)row->min,
                 (long long)row->max);
        break;
    case CONFIG_SIZE:
        snprintf(out, size, "a size from %lld to %lld bytes, as a number or like \"512m\"",
                 (long long)row->min, (long long)row->max);
        break;
    case CONFIG_CORES:
        snprintf(out, size, "a number of cores from %g to %g", (double)row->min / 1000,
                 (double)row->max / 1000);
        break;
    case CONFIG_BOOL:
        snprintf(out, size, "true or false");
        break;
    case CONFIG_ENUM:
        snprintf(out, size, "one of %s", choices);
        break;
    case CONFIG_STRING:
        if (row->patterns)
            snprintf(out, size, "a pattern for paths, like \".git/hooks\" or \"*.key\"");
        else if (row->program)
            snprintf(out, size, "the absolute path of a program");
        else
            snprintf(out, size, "text of 1 to %d bytes without NUL", TEXT_MAX);
        break;
    case CONFIG_LIST:
        if (row->program)
            snprintf(out, size, "a list of a program's absolute path and its arguments");
        else
            snprintf(out, size, "a list of at most %d texts", CONFIG_ITEMS_MAX);
        break;
    case CONFIG_RAW:
        snprintf(out, size, "an object");
        break;
    }
}

void config_show(char out[CONFIG_SHOW_MAX], struct str text)
{
    size_t n = 0;
    for (; n < text.n && n < CONFIG_SHOW_MAX - 4; n++) {
        out[n] = text.p[n];
        if (out[n] < ' ' || out[n] > '~')
            out[n] = '?';
    }
    snprintf(out + n, CONFIG_SHOW_MAX - n, "%s", n < text.n ? "..." : "");
}
