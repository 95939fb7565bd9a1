#include "work/yaml_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json.h"
#include "base/utf8.h"

/* A value of the JSON parser's depth stands at most three levels down. */
_Static_assert(JSON_DEPTH_MAX + 3 < YAML_DEPTH_MAX, "what is written must be readable again");

static bool is_yaml_word(struct str text, const char *const *words)
{
    for (; *words; words++) {
        if (strlen(*words) == text.n && strncasecmp(*words, text.p, text.n) == 0)
            return true;
    }
    return false;
}

/* In YAML 1.1 or in readers that stretch it. */
static bool is_special_word(struct str text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",       "on", "off",
                                        "y",    "n",    "nan",   "inf", "infinity", NULL};
    return is_yaml_word(text, words);
}

/* Integers of any base, floats, `1:30` in base 60, dates and times: all made of these. */
static bool may_be_number(struct str text)
{
    if (!isdigit((unsigned char)text.p[0]))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!isxdigit((unsigned char)text.p[i]) && !strchr("xXoO_:.+-tTzZ ", text.p[i]))
            return false;
    }
    return true;
}

/* Code points that are written as an escape: controls, other line breaks, and what YAML calls not printable. */
static bool needs_escape(const char *p, size_t n, unsigned *ret_code)
{
    unsigned char c = (unsigned char)p[0];
    unsigned code = c;
    if (n == 2)
        code = (c & 0x1fu) << 6 | (p[1] & 0x3fu);
    else if (n == 3)
        code = (c & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    else if (n == 4)
        return false;
    *ret_code = code;
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 ||
           code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static bool all_printable(struct str text)
{
    for (size_t i = 0; i < text.n;) {
        unsigned code;
        size_t n = utf8_sequence(text.p + i, text.n - i);
        if (n == 0 || needs_escape(text.p + i, n, &code))
            return false;
        i += n;
    }
    return true;
}

/* May it stand without quotes? Rather too seldom. */
static bool is_safe_plain(struct str text, bool in_flow)
{
    if (text.n == 0 || text.p[text.n - 1] == ' ' || text.p[text.n - 1] == ':')
        return false;
    unsigned char first = (unsigned char)text.p[0];
    if (!isalnum(first) && !strchr("_/($", first) && first < 0x80)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char next = (char)(i + 1 < text.n ? text.p[i + 1] : '\0');
        if ((text.p[i] == ':' && strchr(" ,[]{}", next)) || (text.p[i] == ' ' && next == '#'))
            return false;
        if (in_flow && strchr(",[]{}", text.p[i]))
            return false;
    }
    return all_printable(text) && !is_special_word(text) && !may_be_number(text);
}

static void write_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.n;) {
        unsigned code = 0;
        size_t n = utf8_sequence(text.p + i, text.n - i);
        if (n == 0) { /* not from our JSON parser */
            buf_add_text(out, "\\ufffd");
            n = utf8_broken(text.p + i, text.n - i);
        } else if (text.p[i] == '\n') {
            buf_add_text(out, "\\n");
        } else if (text.p[i] == '\t') {
            buf_add_text(out, "\\t");
        } else if (needs_escape(text.p + i, n, &code)) {
            buf_addf(out, "\\u%04x", code);
        } else {
            if (text.p[i] == '"' || text.p[i] == '\\')
                buf_add_char(out, '\\');
            buf_add(out, text.p + i, n);
        }
        i += n;
    }
    buf_add_char(out, '"');
}

void yaml_write_string(struct buf *out, struct str text, bool in_flow)
{
    if (is_safe_plain(text, in_flow))
        buf_add(out, text.p, text.n);
    else
        write_quoted(out, text);
}

/* YAML 1.1 takes a float only with a point, and its exponent only with a sign. */
static void write_yaml_real(struct buf *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t mantissa = strcspn(text, "e");
    buf_add(out, text, mantissa);
    if (!memchr(text, '.', mantissa))
        buf_add_text(out, ".0");
    buf_add_text(out, text + mantissa);
}

static void write_mapping(struct buf *out, yyjson_val *object)
{
    size_t index;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    buf_add_char(out, '{');
    yyjson_obj_foreach(object, index, max, key, value) {
        if (index)
            buf_add_text(out, ", ");
        yaml_write_string(out, json_str(key), true);
        buf_add_text(out, ": ");
        yaml_write(out, value, true);
    }
    buf_add_char(out, '}');
}

static void write_sequence(struct buf *out, yyjson_val *array)
{
    size_t index;
    size_t max;
    yyjson_val *value;
    buf_add_char(out, '[');
    yyjson_arr_foreach(array, index, max, value) {
        if (index)
            buf_add_text(out, ", ");
        yaml_write(out, value, true);
    }
    buf_add_char(out, ']');
}

void yaml_write(struct buf *out, yyjson_val *value, bool in_flow)
{
    if (yyjson_is_str(value))
        yaml_write_string(out, json_str(value), in_flow);
    else if (yyjson_is_bool(value))
        buf_add_text(out, yyjson_get_bool(value) ? "true" : "false");
    else if (yyjson_is_uint(value))
        buf_addf(out, "%llu", (unsigned long long)yyjson_get_uint(value));
    else if (yyjson_is_sint(value))
        buf_addf(out, "%lld", (long long)yyjson_get_sint(value));
    else if (yyjson_is_real(value))
        write_yaml_real(out, yyjson_get_real(value));
    else if (yyjson_is_obj(value))
        write_mapping(out, value);
    else if (yyjson_is_arr(value))
        write_sequence(out, value);
    else
        buf_add_text(out, "null");
}

bool yaml_can_write_key(struct str key)
{
    BUF_AT_END struct buf text = BUF_INIT(YAML_KEY_MAX);
    yaml_write_string(&text, key, true);
    return !text.failed;
}

static bool can_write(yyjson_val *value, unsigned depth)
{
    size_t index;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    if (depth > JSON_DEPTH_MAX)
        return false;
    if (yyjson_is_arr(value)) {
        yyjson_arr_foreach(value, index, max, item) {
            if (!can_write(item, depth + 1))
                return false;
        }
    } else if (yyjson_is_obj(value)) {
        yyjson_obj_foreach(value, index, max, key, item) {
            if (!yaml_can_write_key(json_str(key)) || !can_write(item, depth + 1))
                return false;
        }
    }
    return true;
}

bool yaml_can_write(yyjson_val *value)
{
    return can_write(value, 0);
}

static bool is_plain_null(struct str text)
{
    return text.n == 0 || str_is(text, "~") || str_is(text, "null") || str_is(text, "Null") ||
           str_is(text, "NULL");
}

static bool is_core_bool(struct str text)
{
    return str_is(text, "true") || str_is(text, "True") || str_is(text, "TRUE") ||
           str_is(text, "false") || str_is(text, "False") || str_is(text, "FALSE");
}

static size_t count_digits(struct str text, size_t at, const char *digits)
{
    size_t n = 0;
    while (at + n < text.n && text.p[at + n] && strchr(digits, text.p[at + n]))
        n++;
    return n;
}

/* The core schema of YAML 1.2: [-+]? digits, 0o…, 0x…, floats, .inf and .nan. */
static bool is_core_number(struct str text)
{
    static const char decimal[] = "0123456789";
    static const char *const names[] = {".inf", ".nan", NULL};
    size_t at = 0;
    if (text.n > 2 && text.p[0] == '0' && (text.p[1] == 'o' || text.p[1] == 'x')) {
        const char *digits = text.p[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
        return count_digits(text, 2, digits) == text.n - 2;
    }
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        at++;
    if (is_yaml_word((struct str){text.p + at, text.n - at}, names))
        return true;
    size_t whole = count_digits(text, at, decimal);
    size_t part = 0;
    at += whole;
    if (at < text.n && text.p[at] == '.') {
        part = count_digits(text, at + 1, decimal);
        at += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (at < text.n && (text.p[at] == 'e' || text.p[at] == 'E')) {
        at++;
        if (at < text.n && (text.p[at] == '-' || text.p[at] == '+'))
            at++;
        size_t exponent = count_digits(text, at, decimal);
        if (!exponent)
            return false;
        at += exponent;
    }
    return at == text.n;
}

bool yaml_is_nothing(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && node->style == YAML_PLAIN && !node->tag.p &&
           is_plain_null(node->text);
}

bool yaml_is_string(const struct yaml_node *node)
{
    if (node->kind != YAML_SCALAR)
        return false;
    if (node->tag.p)
        return str_is(node->tag, "!") || str_is(node->tag, "!!str");
    if (node->style != YAML_PLAIN)
        return true;
    return !is_plain_null(node->text) && !is_core_bool(node->text) && !is_core_number(node->text);
}

static bool number_reads_as(struct str text, yyjson_val *value)
{
    char copy[64];
    char *end;
    if (!is_core_number(text) || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (yyjson_is_real(value))
        return strpbrk(copy, ".") && strtod(copy, &end) == yyjson_get_real(value);
    errno = 0;
    if (yyjson_is_uint(value))
        return strtoull(copy, &end, 10) == yyjson_get_uint(value) && !*end && !errno;
    return strtoll(copy, &end, 10) == yyjson_get_sint(value) && !*end && !errno;
}

static bool scalar_reads_as(const struct yaml_node *node, yyjson_val *value)
{
    if (yyjson_is_str(value))
        return yaml_is_string(node) && str_equal(node->text, json_str(value));
    if (node->style != YAML_PLAIN)
        return false;
    if (yyjson_is_bool(value))
        return str_is(node->text, yyjson_get_bool(value) ? "true" : "false");
    if (yyjson_is_num(value))
        return number_reads_as(node->text, value);
    return yyjson_is_null(value) && str_is(node->text, "null");
}

static bool mapping_reads_as(const struct yaml_tree *tree, uint32_t index, yyjson_val *object)
{
    size_t i;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    uint32_t at = index + 1;
    if (tree->nodes[index].children != 2 * yyjson_obj_size(object))
        return false;
    yyjson_obj_foreach(object, i, max, key, value) {
        if (!yaml_reads_as(tree, at, key) || !yaml_reads_as(tree, at + 1, value))
            return false;
        at += 1 + tree->nodes[at + 1].size;
    }
    return true;
}

static bool sequence_reads_as(const struct yaml_tree *tree, uint32_t index, yyjson_val *array)
{
    size_t i;
    size_t max;
    yyjson_val *value;
    uint32_t at = index + 1;
    if (tree->nodes[index].children != yyjson_arr_size(array))
        return false;
    yyjson_arr_foreach(array, i, max, value) {
        if (!yaml_reads_as(tree, at, value))
            return false;
        at += tree->nodes[at].size;
    }
    return true;
}

bool yaml_reads_as(const struct yaml_tree *tree, uint32_t index, yyjson_val *value)
{
    const struct yaml_node *node = &tree->nodes[index];
    if (node->tag.p || node->anchor.p)
        return false;
    if (yyjson_is_obj(value))
        return node->kind == YAML_MAPPING && mapping_reads_as(tree, index, value);
    if (yyjson_is_arr(value))
        return node->kind == YAML_SEQUENCE && sequence_reads_as(tree, index, value);
    return node->kind == YAML_SCALAR && scalar_reads_as(node, value);
}
