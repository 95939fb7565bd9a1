/* One test out of JSON. */
#include <rure.h>
#include <string.h>

#include "base/mem.h"
#include "core/path.h"
#include "policy/condition.h"
#include "policy/domain.h"
#include "policy/subcommand.h"

#define ITEMS_MAX 1024
#define PROGRAM_TEXT_MAX 512
/* What one compiled expression may take, and what it may build while it runs. */
#define REGEX_COMPILED_MAX (512u << 10)
#define REGEX_CACHE_MAX (1u << 20)

const char *const test_names[] = {"equals",  "in",     "glob",    "regex",  "less",
                                  "greater", "atMost", "atLeast", "exists", "beneath",
                                  "program", "domain", NULL};

static int refuse_test_value(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID_ARGUMENTS, "%s", what);
}

static bool is_scalar(yyjson_val *val)
{
    return yyjson_is_str(val) || yyjson_is_num(val) || yyjson_is_bool(val);
}

/* Calls `read` for a text, or for each of a list of them. */
static int each_text(struct test *test, yyjson_val *value,
                     int (*read)(struct test *test, struct str text, struct err *err),
                     struct err *err)
{
    if (yyjson_is_str(value))
        return read(test, json_str(value), err);
    size_t idx;
    size_t max;
    yyjson_val *item;
    size_t n = yyjson_arr_size(value);
    if (!yyjson_is_arr(value) || n == 0 || n > ITEMS_MAX)
        return refuse_test_value(err, "must be a text, or a list of 1 to 1024 of them");
    yyjson_arr_foreach(value, idx, max, item) {
        if (!yyjson_is_str(item))
            return refuse_test_value(err, "must be a text, or a list of texts only");
        if (read(test, json_str(item), err) < 0)
            return -1;
    }
    return 0;
}

/* Blanks that are none to a shell, and marks that show nothing, in UTF-8: U+2000 to 200F, 2028 to 202F, 2060 to 206F. */
static bool is_hidden_mark(const unsigned char p[3])
{
    if (p[0] != 0xe2)
        return false;
    return (p[1] == 0x80 && (p[2] <= 0x8f || (p[2] >= 0xa8 && p[2] <= 0xaf))) ||
           (p[1] == 0x81 && p[2] >= 0xa0 && p[2] <= 0xaf);
}

static bool has_hidden(struct str text)
{
    static const char *const others[] = {"\xc2\xa0", "\xc2\xad", "\xe3\x80\x80", "\xef\xbb\xbf"};
    const unsigned char *p = (const unsigned char *)text.p;
    for (size_t i = 0; i < text.n; i++) {
        if (p[i] < ' ' || p[i] == 0x7f || (i + 2 < text.n && is_hidden_mark(p + i)))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (text.n && memmem(text.p, text.n, others[i], strlen(others[i])))
            return true;
    }
    return false;
}

/* They are compared letter by letter. */
static const char *path_fault(struct str text)
{
    if (text.n && memchr(text.p, '*', text.n))
        return "is a path, not a pattern: name the folder with `beneath`, or use `glob`";
    if (text.n && (text.p[0] == '$' || (text.p[0] == '~' && (text.n == 1 || text.p[1] == '/'))))
        return "is not read by a shell: write the whole path, or one from the workspace";
    if (text.n && (text.p[0] == ' ' || text.p[text.n - 1] == ' ' || has_hidden(text)))
        return "has blanks at its ends, or characters that are not seen";
    return NULL;
}

static int add_test_path(struct test *test, struct str text, struct err *err)
{
    struct rule_path path;
    const char *fault = path_fault(text);
    if (fault)
        return refuse_test_value(err, fault);
    if (rule_path_read(&path, text, err) < 0)
        return -1;
    test->paths = mem_grow(test->paths, test->n_paths + 1, sizeof *test->paths);
    test->paths[test->n_paths++] = path;
    return 0;
}

static int check_test_list(yyjson_val *value, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    size_t n = yyjson_arr_size(value);
    if (!yyjson_is_arr(value) || n == 0 || n > ITEMS_MAX)
        return refuse_test_value(err, "must be a list of 1 to 1024 values");
    yyjson_arr_foreach(value, idx, max, item) {
        if (!is_scalar(item))
            return refuse_test_value(err, "must be a list of texts, numbers, true or false");
    }
    return 0;
}

static int read_equals(struct test *test, yyjson_val *value, struct err *err)
{
    test->value = value;
    if (test->field.kind == FIELD_PATH) {
        if (!yyjson_is_str(value))
            return refuse_test_value(err, "must be a path");
        return add_test_path(test, json_str(value), err);
    }
    if (yyjson_is_arr(value) && yyjson_arr_size(value) == 0)
        return 0;
    if (yyjson_is_arr(value))
        return check_test_list(value, err);
    return is_scalar(value) ? 0 : refuse_test_value(err, "must be a text, a number, true or false");
}

static int read_in(struct test *test, yyjson_val *value, struct err *err)
{
    test->value = value;
    if (check_test_list(value, err) < 0)
        return -1;
    return test->field.kind == FIELD_PATH ? each_text(test, value, add_test_path, err) : 0;
}

static int read_glob(struct test *test, yyjson_val *value, struct err *err)
{
    if (!yyjson_is_str(value))
        return refuse_test_value(err, "must be a pattern such as \"*.md\"");
    struct str text = json_str(value);
    if (text.n == 0)
        return refuse_test_value(
            err, "matches nothing: for a text that is empty write {\"equals\": \"\"}");
    if (test->field.kind == FIELD_PATH && text.n > 1 && text.p[text.n - 1] == '/')
        return refuse_test_value(
            err, "never matches, since no path ends in `/`: for all in a folder write "
                 "\"src/**\"");
    if (test->field.kind == FIELD_PATH)
        return path_glob_read(&test->path_glob, text, err);
    FREE_AT_END char *copy = mem_copy(text.p, text.n);
    for (size_t i = 0; i < text.n; i++) {
        if (copy[i] == '/')
            copy[i] = TEST_SLASH;
    }
    test->glob = glob_compile_lean((struct str){copy, text.n}, err);
    return test->glob ? 0 : -1;
}

static int refuse_regex(rure_error *error, struct err *err)
{
    const char *message = rure_error_message(error);
    if (strstr(message, "size limit"))
        return refuse_test_value(
            err, "the expression gets too large when it is compiled: shorten it, or lower "
                 "the counts of its repetitions");
    /* Several lines, the last of which says what is wrong. */
    const char *what = strstr(message, "error: ");
    for (const char *next = what; next; next = strstr(next + 1, "error: "))
        what = next;
    what = what ? what + strlen("error: ") : message;
    return err_set(err, ERR_INVALID_ARGUMENTS, "not a valid regular expression: %.*s",
                   (int)strcspn(what, "\n"), what);
}

/* `^` and `$` mean the ends of the whole text: with those of lines, `^git status$` would be true of any longer
 * command that has such a line. */
static int read_regex(struct test *test, yyjson_val *value, struct err *err)
{
    if (!yyjson_is_str(value))
        return refuse_test_value(err, "must be a regular expression");
    struct str text = json_str(value);
    rure_options *options = rure_options_new();
    rure_error *error = rure_error_new();
    rure_options_size_limit(options, REGEX_COMPILED_MAX);
    rure_options_dfa_size_limit(options, REGEX_CACHE_MAX);
    test->regex = rure_compile((const uint8_t *)text.p, text.n, RURE_FLAG_UNICODE, options, error);
    int r = test->regex ? 0 : refuse_regex(error, err);
    rure_error_free(error);
    rure_options_free(options);
    return r;
}

/* A rule about anything else is about nothing: no command has such a program. */
static bool may_name_program(struct str words)
{
    const char *blank = memchr(words.p, ' ', words.n);
    size_t first = blank ? (size_t)(blank - words.p) : words.n;
    bool divided = first > 1 && memchr(words.p, ':', first);
    for (size_t i = 0; i < words.n; i++) {
        bool option = words.p[i] == '-' && (i == 0 || words.p[i - 1] == ' ');
        if (option || words.p[i] == ',' || strchr(COMMAND_NAME_NEVER, words.p[i]))
            return false;
    }
    return !divided && !has_hidden(words);
}

/* A rule about words that are not looked at would never hold. */
static int check_subcommand(struct program_rule *rule, struct err *err)
{
    const struct program *program = program_find((struct str){rule->name, strlen(rule->name)});
    struct str first = {rule->subcommand, strcspn(rule->subcommand, " ")};
    const char *second = rule->subcommand[first.n] ? rule->subcommand + first.n + 1 : NULL;
    const char *third = second ? strchr(second, ' ') : NULL;
    rule->target = program_has_targets(program);
    if (!program)
        return err_set(
            err, ERR_INVALID_ARGUMENTS,
            "`%.60s` has no subcommands that rules know: name the program alone, \"%.60s\"",
            rule->name, rule->program);
    if (second && rule->target)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "name each target by itself: \"%.60s %.*s\", \"%.60s %.60s\"", rule->program,
                       (int)first.n, first.p, rule->program, second);
    if (third || (second && program_words_max(program, first) < 2))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "what follows the subcommand is not looked at: name \"%.60s %.*s\"",
                       rule->program,
                       (int)(third && program_words_max(program, first) == 2
                                 ? (size_t)(third - rule->subcommand)
                                 : first.n),
                       rule->subcommand);
    return 0;
}

static int add_test_program(struct test *test, struct str text, struct err *err)
{
    BUF_AT_END struct buf words = BUF_INIT(PROGRAM_TEXT_MAX);
    for (size_t i = 0; i < text.n && i < PROGRAM_TEXT_MAX; i++) {
        if (text.p[i] != ' ')
            buf_add_char(&words, text.p[i]);
        else if (words.len && i + 1 < text.n && text.p[i + 1] != ' ')
            buf_add_char(&words, ' ');
    }
    if (words.len == 0 || text.n >= PROGRAM_TEXT_MAX || memchr(text.p, '\0', text.n))
        return refuse_test_value(err,
                                 "must be a program such as \"git\", or one with its subcommand");
    if (!may_name_program(buf_str(&words)))
        return refuse_test_value(
            err, "must be a program such as \"git\", or one with its subcommand, \"git push\": "
                 "no options, patterns or quotes, and a list for several");
    const char *blank = memchr(words.data, ' ', words.len);
    size_t n = blank ? (size_t)(blank - words.data) : words.len;
    size_t rest = blank ? n + 1 : n;
    struct program_rule rule = {
        .program = mem_copy(words.data, n),
        .subcommand = mem_copy(words.data + rest, words.len - rest),
    };
    rule.name = path_name(rule.program);
    test->programs = mem_grow(test->programs, test->n_programs + 1, sizeof *test->programs);
    struct program_rule *added = &test->programs[test->n_programs++];
    *added = rule;
    if (!*rule.name)
        return refuse_test_value(err, "must be a program, not a folder");
    return *rule.subcommand ? check_subcommand(added, err) : 0;
}

static int read_program(struct test *test, yyjson_val *value, struct err *err)
{
    if (test->field.kind != FIELD_COMMAND)
        return refuse_test_value(
            err, "no program is started with this argument: use the one that is a command");
    return each_text(test, value, add_test_program, err);
}

int test_read_options(struct test *test, yyjson_val *value, struct err *err)
{
    bool any = yyjson_equals_str(value, "any");
    if (!any && !yyjson_equals_str(value, "known"))
        return refuse_test_value(err,
                                 "must be \"any\" or \"known\"; leave it out for the usual check");
    test->options = any ? COMMAND_OPTIONS_ANY : COMMAND_OPTIONS_KNOWN;
    return 0;
}

static int add_domain(struct test *test, struct str text, struct err *err)
{
    char domain[DOMAIN_MAX];
    if (domain_read(text, domain, err) < 0)
        return refuse_test_value(
            err, "must be a domain such as \"example.com\"; its subdomains are meant too");
    test->domains = mem_grow(test->domains, test->n_domains + 1, sizeof *test->domains);
    test->domains[test->n_domains++] = mem_dup(domain);
    return 0;
}

int test_read(struct test *test, yyjson_val *value, struct err *err)
{
    switch (test->kind) {
    case TEST_EQUALS:
        return read_equals(test, value, err);
    case TEST_IN:
        return read_in(test, value, err);
    case TEST_GLOB:
        return read_glob(test, value, err);
    case TEST_REGEX:
        return read_regex(test, value, err);
    case TEST_LESS:
    case TEST_GREATER:
    case TEST_AT_MOST:
    case TEST_AT_LEAST:
        test->value = value;
        return yyjson_is_num(value) ? 0 : refuse_test_value(err, "must be a number");
    case TEST_EXISTS:
        test->value = value;
        return yyjson_is_bool(value) ? 0 : refuse_test_value(err, "must be true or false");
    case TEST_BENEATH:
        return each_text(test, value, add_test_path, err);
    case TEST_PROGRAM:
        return read_program(test, value, err);
    case TEST_DOMAIN:
        return each_text(test, value, add_domain, err);
    case TEST_COUNT:
        break;
    }
    return -1;
}

void test_done(struct test *test)
{
    free(test->field.name);
    for (size_t i = 0; i < test->n_paths; i++)
        rule_path_done(&test->paths[i]);
    free(test->paths);
    for (size_t i = 0; i < test->n_programs; i++) {
        free(test->programs[i].program);
        free(test->programs[i].subcommand);
    }
    free(test->programs);
    for (size_t i = 0; i < test->n_domains; i++)
        free(test->domains[i]);
    free(test->domains);
    glob_free(test->glob);
    path_glob_done(&test->path_glob);
    if (test->regex)
        rure_free(test->regex);
}
