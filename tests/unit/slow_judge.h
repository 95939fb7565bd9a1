/* Verdicts by a slow reading of the rules, one after the other, straight from their JSON. It shares nothing with the
 * real one but the JSON library, and knows only what test_judge_random makes: few tools, simple commands, paths
 * without links or odd characters. */
#ifndef SANDGATE_TESTS_SLOW_JUDGE_H
#define SANDGATE_TESTS_SLOW_JUDGE_H

#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "slow_glob.h"
#include "yyjson.h"

enum slow_answer { SLOW_NO, SLOW_PARTLY, SLOW_YES, SLOW_ERROR };
enum { SLOW_READS = 1, SLOW_WRITES = 2, SLOW_RUNS = 4, SLOW_REACHES = 8 };

struct slow_tool {
    const char *dialect;
    const char *name;
    const char *alias;
    const char *paths[3]; /* arguments */
    bool optional;        /* the path is the workspace where it is left out */
    int needs;
    int tree; /* 1: always, 2: if `recursive` is true */
    bool lists;
    bool base64;       /* takes path_b64 */
    const char *takes; /* of the arguments that rules are about, a blank before and behind each */
};

static const struct slow_tool slow_tools[] = {
    {"native", "read_file", NULL, {"path"}, false, SLOW_READS, 0, false, true, " path "},
    {"native", "write_file", NULL, {"path"}, false, SLOW_WRITES, 0, false, true, " path "},
    {"native", "search", NULL, {"path"}, true, SLOW_READS, 1, false, true, " path "},
    {"native", "list_files", NULL, {"path"}, true, SLOW_READS, 2, true, true, " path recursive "},
    {"native", "delete", NULL, {"path"}, false, SLOW_WRITES, 2, false, true, " path recursive "},
    {"native",
     "move",
     NULL,
     {"from", "to"},
     false,
     SLOW_READS | SLOW_WRITES,
     1,
     false,
     true,
     " from to "},
    {"native",
     "run_command",
     NULL,
     {"cwd"},
     true,
     SLOW_READS | SLOW_WRITES | SLOW_RUNS,
     0,
     false,
     false,
     " command argv cwd timeout_ms env "},
    {"native", "time.now", "time_now", {NULL}, false, 0, 0, false, false, " "},
    {"toolhost", "fs.read", "fs_read", {"path"}, false, SLOW_READS, 0, false, false, " path "},
    {"toolhost", "fs.search", "fs_search", {"path"}, false, SLOW_READS, 1, false, false, " path "},
    {"system",
     "bash",
     NULL,
     {"cwd"},
     true,
     SLOW_READS | SLOW_WRITES | SLOW_RUNS,
     0,
     false,
     false,
     " command args cwd "},
    {"system",
     "filesystem",
     NULL,
     {"path"},
     false,
     SLOW_READS | SLOW_WRITES,
     0,
     false,
     false,
     " path operation "},
    {"system", "http", NULL, {NULL}, false, SLOW_REACHES, 0, false, false, " method url headers body "},
    {NULL, "other", NULL, {NULL}, false, SLOW_WRITES, 0, false, false, NULL},
};

struct slow_call {
    const struct slow_tool *tool;
    yyjson_val *arguments;
    const char *agent;
    bool own_hand;
    bool overlay;
    bool own_folder; /* the rule at hand says where commands begin */
};

struct slow_verdict {
    const char *kind; /* allow, ask, deny */
    char rule[96];
};

/* What a tool does not take is as if it were not there. */
static inline yyjson_val *slow_get(const struct slow_call *call, const char *name)
{
    char word[60];
    snprintf(word, sizeof word, " %s ", name);
    if (call->tool->takes && !strstr(call->tool->takes, word))
        return NULL;
    return yyjson_obj_get(call->arguments, name);
}

/* --- text */

static inline bool slow_glob_text(const char *pattern, const char *text, bool slashes)
{
    static struct slow_glob glob;
    char p[200];
    char t[400];
    snprintf(p, sizeof p, "%s", pattern);
    snprintf(t, sizeof t, "%s", text);
    for (char *at = p; !slashes && *at; at++)
        *at = *at == '/' ? '\xff' : *at;
    for (char *at = t; !slashes && *at; at++)
        *at = *at == '/' ? '\xff' : *at;
    slow_compile(&glob, (struct str){p, strlen(p)}, false);
    return !glob.bad && slow_match(&glob, (struct str){t, strlen(t)});
}

static inline bool slow_names(const char *pattern, const struct slow_tool *tool)
{
    return slow_glob_text(pattern, tool->name, true) ||
           (tool->alias && slow_glob_text(pattern, tool->alias, true));
}

/* --- paths: components in one line, each with a slash before it */

struct slow_path_text {
    char text[300];
    bool bad;
    bool missing;
};

static inline struct slow_path_text slow_components(const char *text)
{
    struct slow_path_text out = {""};
    char copy[300];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = NULL;
    for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
        out.bad |= strcmp(name, "..") == 0;
        if (strcmp(name, ".") == 0)
            continue;
        size_t n = strlen(out.text);
        snprintf(out.text + n, sizeof out.text - n, "/%s", name);
    }
    return out;
}

static inline bool slow_inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static inline struct slow_path_text slow_read_path(const struct slow_tool *tool, const char *text)
{
    struct slow_path_text path = slow_components(text);
    bool mounts = tool->dialect && strcmp(tool->dialect, "toolhost") == 0;
    if (mounts) {
        path.bad |= !slow_inside(path.text, "/@project") && !slow_inside(path.text, "/@state");
        path.bad |= text[0] == '/';
        return path;
    }
    if (text[0] != '/')
        return path;
    const char *host = "/home/u/p";
    const char *cell = "/workspace";
    const char *root = slow_inside(path.text, host) ? host : cell;
    path.bad |= !slow_inside(path.text, root);
    if (!path.bad)
        memmove(path.text, path.text + strlen(root), strlen(path.text + strlen(root)) + 1);
    return path;
}

/* The only one in base64 that is made. */
#define SLOW_ENCODED "c3JjL2tleQ=="
#define SLOW_DECODED "src/key"

static inline struct slow_path_text slow_argument_path(const struct slow_call *call,
                                                       const char *name)
{
    struct slow_path_text none = {"", false, true};
    bool has = false;
    for (int i = 0; i < 3 && call->tool->paths[i]; i++)
        has |= strcmp(call->tool->paths[i], name) == 0;
    char other[40];
    snprintf(other, sizeof other, "%s_b64", name);
    if (has && call->tool->base64 && yyjson_obj_get(call->arguments, other))
        return slow_read_path(call->tool, SLOW_DECODED);
    yyjson_val *val = slow_get(call, name);
    if (val)
        return slow_read_path(call->tool, yyjson_get_str(val));
    return has && call->tool->optional ? slow_components("") : none;
}

static inline bool slow_is_tree(const struct slow_call *call)
{
    return call->tool->tree == 1 ||
           (call->tool->tree == 2 && yyjson_get_bool(slow_get(call, "recursive")));
}

static inline bool slow_mounted(const struct slow_call *call)
{
    return call->tool->dialect && strcmp(call->tool->dialect, "toolhost") == 0;
}

/* Without the mount, for rules that name none. */
static inline const char *slow_without_mount(const char *path)
{
    const char *slash = *path ? strchr(path + 1, '/') : NULL;
    return slash ? slash : "";
}

static inline enum slow_answer slow_compare_paths(const struct slow_call *call, const char *path,
                                                  bool tree, const char *rule, bool beneath)
{
    struct slow_path_text wanted = slow_components(rule);
    bool loose = slow_mounted(call) && rule[0] != '@';
    if (loose)
        path = slow_without_mount(path);
    if (strcmp(path, wanted.text) == 0 || (beneath && slow_inside(path, wanted.text)))
        return loose ? SLOW_PARTLY : SLOW_YES;
    return tree && slow_inside(wanted.text, path) ? SLOW_PARTLY : SLOW_NO;
}

/* Whether the pattern is of all that lies beneath, `deep`, or directly in a folder that has the path. */
static inline bool slow_covers(const char *pattern, const char *path, bool direct)
{
    char folder[200];
    size_t n = strlen(pattern);
    if (strcmp(pattern, "**") == 0 || (direct && strcmp(pattern, "*") == 0 && !*path))
        return true;
    if (n > 2 && direct && strcmp(pattern + n - 2, "/*") == 0) {
        snprintf(folder, sizeof folder, "%.*s", (int)n - 2, pattern);
        return *path && slow_glob_text(folder, path + 1, true);
    }
    if (n < 4 || strcmp(pattern + n - 3, "/**") != 0)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)n - 3, pattern);
    char at[300];
    snprintf(at, sizeof at, "%s", path);
    for (; *at; *strrchr(at, '/') = '\0') {
        if (slow_glob_text(folder, at + 1, true))
            return true;
    }
    return false;
}

/* Whether something beneath matches: every path of a few names is tried. */
static inline bool slow_touches(const char *pattern, const char *path, int depth)
{
    static const char *const names[] = {"a", "b", "src", "key", "@project", "@state", "x.md"};
    for (size_t i = 0; depth > 0 && i < sizeof names / sizeof *names; i++) {
        char next[300];
        snprintf(next, sizeof next, "%.200s/%s", path, names[i]);
        if (slow_glob_text(pattern, next + 1, true) || slow_touches(pattern, next, depth - 1))
            return true;
    }
    return false;
}

static inline enum slow_answer slow_glob_path(const struct slow_call *call, const char *path,
                                              bool tree, const char *pattern)
{
    bool match = *path && slow_glob_text(pattern, path + 1, true);
    if (tree ? slow_covers(pattern, path, false) : match)
        return SLOW_YES;
    if (tree && (match || slow_touches(pattern, path, 3)))
        return SLOW_PARTLY;
    if (!slow_mounted(call))
        return SLOW_NO;
    const char *rest = slow_without_mount(path);
    bool loose = (*rest && slow_glob_text(pattern, rest + 1, true)) ||
                 (tree && slow_touches(pattern, rest, 3));
    return loose ? SLOW_PARTLY : SLOW_NO;
}

static inline bool slow_regex(const char *expression, const char *text)
{
    regex_t regex;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static inline enum slow_answer slow_path_test(const struct slow_call *call, const char *field,
                                              const char *test, yyjson_val *value)
{
    struct slow_path_text path = slow_argument_path(call, field);
    bool tree = slow_is_tree(call) && strcmp(field, "cwd") != 0;
    if (path.missing)
        return SLOW_NO;
    if (path.bad)
        return SLOW_ERROR;
    if (strcmp(test, "glob") == 0)
        return slow_glob_path(call, path.text, tree, yyjson_get_str(value));
    if (strcmp(test, "regex") == 0) {
        if (slow_regex(yyjson_get_str(value), *path.text ? path.text + 1 : "."))
            return SLOW_YES;
        return tree ? SLOW_PARTLY : SLOW_NO;
    }
    enum slow_answer best = SLOW_NO;
    bool beneath = strcmp(test, "beneath") == 0;
    for (size_t i = 0; i < (yyjson_is_arr(value) ? yyjson_arr_size(value) : 1); i++) {
        yyjson_val *one = yyjson_is_arr(value) ? yyjson_arr_get(value, i) : value;
        enum slow_answer answer = slow_compare_paths(call, path.text, tree, yyjson_get_str(one),
                                                     beneath);
        best = answer > best ? answer : best;
    }
    return best;
}

/* --- commands: words with blanks between; `;`, `&&` and `|` stand alone, `>` makes it write */

struct slow_program {
    char name[40]; /* "": not known */
    char sub[40];
    bool exact;
};

struct slow_line {
    struct slow_program programs[24];
    int n;
    char starters[12][40];
    int n_starters;
    bool whole;
    bool missing;
    bool bad;
    bool more_than_words; /* variables, a program that starts others, a redirection */
};

static inline bool slow_joins(const char *word)
{
    return strcmp(word, ";") == 0 || strcmp(word, "&&") == 0 || strcmp(word, "|") == 0;
}

static inline void slow_one_command(struct slow_line *line, char **words, int n)
{
    struct slow_program program = {.exact = true};
    int i = 0;
    for (int k = 0; k < n; k++) {
        if (strcmp(words[k], ">") == 0) {
            line->whole = false;
            line->more_than_words = true;
            n = k;
        }
    }
    if (i < n && strcmp(words[i], "A=1") == 0) {
        program.exact = false;
        line->more_than_words = true;
        i++;
        if (i == n)
            line->whole = false;
    }
    if (i < n && strcmp(words[i], "sudo") == 0) {
        program.exact = false;
        line->more_than_words = true;
        snprintf(line->starters[line->n_starters++], 40, "sudo");
        i++;
    }
    if (i >= n)
        return;
    bool known = words[i][0] != '$';
    program.exact &= known;
    snprintf(program.name, sizeof program.name, "%s", known ? words[i] : "");
    const char *base = strrchr(words[i], '/') ? strrchr(words[i], '/') + 1 : words[i];
    bool git = strcmp(base, "git") == 0;
    bool npm = strcmp(base, "npm") == 0;
    if ((git || npm) && known && i + 1 < n) {
        if (words[i + 1][0] == '$')
            program.exact = false;
        else if (npm && strcmp(words[i + 1], "run") == 0 && i + 2 < n)
            snprintf(program.sub, sizeof program.sub, "run %.30s", words[i + 2]);
        else
            snprintf(program.sub, sizeof program.sub, "%s", words[i + 1]);
    }
    int first = i + 1;
    for (i = first; strcmp(base, "make") == 0 && i < n; i++) {
        struct slow_program target = program;
        target.exact &= words[i][0] != '$';
        snprintf(target.sub, sizeof target.sub, "%s", words[i][0] == '$' ? "" : words[i]);
        /* A variable may set a variable of make, for all targets alike. */
        for (int k = first; k < n; k++)
            target.exact &= words[k][0] != '$';
        line->programs[line->n++] = target;
    }
    if (strcmp(base, "make") != 0 || i == first)
        line->programs[line->n++] = program;
}

/* On a line that is more than plain words a program without a subcommand may have been given one. */
static inline void slow_any_subcommand(struct slow_line *line)
{
    for (int i = 0; i < line->n && line->more_than_words; i++)
        line->programs[i].exact &= line->programs[i].sub[0] != '\0';
}

static inline struct slow_line slow_read_line(const struct slow_call *call)
{
    struct slow_line line = {.whole = true};
    char copy[400] = "";
    char *words[40];
    int n = 0;
    yyjson_val *text = slow_get(call, "command");
    yyjson_val *argv = slow_get(call, "argv");
    yyjson_val *args = slow_get(call, "args");
    bool bash = strcmp(call->tool->name, "bash") == 0;
    line.missing = !text && !argv;
    if (bash || argv) {
        if (bash && text)
            words[n++] = (char *)(uintptr_t)yyjson_get_str(text);
        yyjson_val *list = bash ? args : argv;
        for (size_t i = 0; i < yyjson_arr_size(list); i++)
            words[n++] = (char *)(uintptr_t)yyjson_get_str(yyjson_arr_get(list, i));
        struct slow_program program = {.exact = true};
        if (n)
            snprintf(program.name, sizeof program.name, "%s", words[0]);
        if (n > 1 && strcmp(words[0], "git") == 0)
            snprintf(program.sub, sizeof program.sub, "%s", words[1]);
        if (n)
            line.programs[line.n++] = program;
        return line;
    }
    snprintf(copy, sizeof copy, "%s", text ? yyjson_get_str(text) : "");
    line.bad = strchr(copy, '"') != NULL;
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest);; word = strtok_r(NULL, " ", &rest)) {
        if (word && !slow_joins(word)) {
            words[n++] = word;
            continue;
        }
        slow_one_command(&line, words, n);
        n = 0;
        if (!word)
            break;
    }
    slow_any_subcommand(&line);
    line.whole &= yyjson_obj_size(slow_get(call, "env")) == 0;
    return line;
}

static inline bool slow_words_begin(const char *words, const char *first)
{
    size_t n = strlen(first);
    return n == 0 || (strncmp(words, first, n) == 0 && (words[n] == ' ' || words[n] == '\0'));
}

/* Of git what is approved is only what it does in its folder. */
static inline bool slow_elsewhere(const struct slow_call *call, const char *name)
{
    struct slow_path_text path = slow_argument_path(call, "cwd");
    return strcmp(name, "git") == 0 && !call->own_folder && !path.missing &&
           (path.bad || path.text[0]);
}

static inline bool slow_says_folder(yyjson_val *condition)
{
    bool says = false;
    yyjson_obj_iter iter = yyjson_obj_iter_with(condition);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        yyjson_val *val = yyjson_obj_iter_get_val(key);
        bool exists = yyjson_obj_size(val) == 1 && yyjson_obj_get(val, "exists");
        says |= yyjson_equals_str(key, "cwd") && !exists;
        for (size_t i = 0; yyjson_equals_str(key, "all") && i < yyjson_arr_size(val); i++)
            says |= slow_says_folder(yyjson_arr_get(val, i));
    }
    return says;
}

static inline enum slow_answer
slow_one_program(const struct slow_call *call, const struct slow_program *program, const char *rule)
{
    char name[60];
    snprintf(name, sizeof name, "%s", rule);
    char *sub = strchr(name, ' ');
    if (sub)
        *sub++ = '\0';
    else
        sub = name + strlen(name);
    if (!program->name[0])
        return SLOW_PARTLY;
    const char *base = strrchr(program->name, '/');
    if (strcmp(base ? base + 1 : program->name, "git-push") == 0)
        return strcmp(rule, "git push") == 0 ? SLOW_PARTLY : SLOW_NO;
    if (strcmp(base ? base + 1 : program->name, name) != 0)
        return SLOW_NO;
    /* An alias, or not. */
    if (strcmp(name, "git") == 0 && strcmp(program->sub, "x") == 0)
        return SLOW_PARTLY;
    if (slow_words_begin(program->sub, sub))
        return program->exact && !base && !slow_elsewhere(call, name) ? SLOW_YES : SLOW_PARTLY;
    if (slow_words_begin("run test", sub) && strcmp(rule, "npm") != 0 && strcmp(name, "npm") == 0 &&
        strcmp(program->sub, "test") == 0)
        return SLOW_PARTLY;
    return !program->exact && slow_words_begin(sub, program->sub) ? SLOW_PARTLY : SLOW_NO;
}

static inline enum slow_answer slow_programs(const struct slow_call *call, yyjson_val *value)
{
    struct slow_line line = slow_read_line(call);
    size_t rules = yyjson_is_arr(value) ? yyjson_arr_size(value) : 1;
    if (line.missing)
        return SLOW_NO;
    if (line.bad)
        return SLOW_ERROR;
    bool all = line.n > 0 && line.whole;
    bool some = false;
    for (size_t k = 0; k < rules; k++) {
        const char *rule = yyjson_get_str(yyjson_is_arr(value) ? yyjson_arr_get(value, k) : value);
        for (int i = 0; i < line.n_starters; i++)
            some |= slow_words_begin(rule, line.starters[i]);
    }
    for (int i = 0; i < line.n; i++) {
        enum slow_answer best = SLOW_NO;
        for (size_t k = 0; k < rules; k++) {
            const char *rule = yyjson_get_str(yyjson_is_arr(value) ? yyjson_arr_get(value, k)
                                                                   : value);
            enum slow_answer one = slow_one_program(call, &line.programs[i], rule);
            best = one > best ? one : best;
        }
        all &= best == SLOW_YES;
        some |= best != SLOW_NO;
    }
    return all ? SLOW_YES : some ? SLOW_PARTLY : SLOW_NO;
}

/* --- other tests */

static inline bool slow_same(yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_num(a) && yyjson_is_num(b))
        return yyjson_get_num(a) == yyjson_get_num(b);
    return yyjson_equals(a, b);
}

static inline bool slow_in_domain(const char *url, const char *domain, bool *bad)
{
    char host[200];
    const char *from = strstr(url, "://");
    *bad = !from || strchr(url, '\\');
    if (*bad)
        return false;
    snprintf(host, sizeof host, "%s", from + 3);
    host[strcspn(host, "/?#")] = '\0';
    char *at = strchr(host, '@');
    char *name = at ? at + 1 : host;
    name[strcspn(name, ":")] = '\0';
    size_t n = strlen(name);
    if (n && name[n - 1] == '.')
        name[--n] = '\0';
    size_t m = strlen(domain);
    return strcasecmp(name, domain) == 0 ||
           (n > m && name[n - m - 1] == '.' && strcasecmp(name + n - m, domain) == 0);
}

static inline enum slow_answer slow_value_test(const char *test, yyjson_val *wanted,
                                               yyjson_val *val)
{
    if (strcmp(test, "equals") == 0)
        return slow_same(wanted, val) ? SLOW_YES : SLOW_NO;
    if (strcmp(test, "in") == 0) {
        for (size_t i = 0; i < yyjson_arr_size(wanted); i++) {
            if (slow_same(yyjson_arr_get(wanted, i), val))
                return SLOW_YES;
        }
        return SLOW_NO;
    }
    if (strcmp(test, "glob") == 0 || strcmp(test, "regex") == 0 || strcmp(test, "domain") == 0) {
        bool bad = false;
        bool holds;
        if (!yyjson_is_str(val))
            return SLOW_ERROR;
        if (test[0] == 'g')
            holds = slow_glob_text(yyjson_get_str(wanted), yyjson_get_str(val), false);
        else if (test[0] == 'r')
            holds = slow_regex(yyjson_get_str(wanted), yyjson_get_str(val));
        else
            holds = slow_in_domain(yyjson_get_str(val), yyjson_get_str(wanted), &bad);
        return bad ? SLOW_ERROR : holds ? SLOW_YES : SLOW_NO;
    }
    if (!yyjson_is_num(val))
        return SLOW_ERROR;
    double a = yyjson_get_num(val);
    double b = yyjson_get_num(wanted);
    bool holds = strcmp(test, "less") == 0      ? a < b
                 : strcmp(test, "greater") == 0 ? a > b
                 : strcmp(test, "atMost") == 0  ? a <= b
                                                : a >= b;
    return holds ? SLOW_YES : SLOW_NO;
}

/* What the few arguments with one are when they are left out. */
static inline yyjson_val *slow_default(const struct slow_call *call, const char *field,
                                       yyjson_val *room)
{
    bool native = call->tool->dialect && strcmp(call->tool->dialect, "native") == 0;
    memset(room, 0, sizeof *room);
    if (native && strcmp(field, "recursive") == 0 && call->tool->tree == 2)
        yyjson_set_bool(room, false);
    else if (native && strcmp(field, "timeout_ms") == 0 && call->tool->needs & SLOW_RUNS)
        yyjson_set_sint(room, 60000);
    else
        return NULL;
    return room;
}

static inline enum slow_answer slow_test(const struct slow_call *call, const char *field,
                                         const char *test, yyjson_val *wanted)
{
    bool path = strcmp(field, "path") == 0 || strcmp(field, "from") == 0 ||
                strcmp(field, "to") == 0 || strcmp(field, "cwd") == 0;
    yyjson_val *val = slow_get(call, field);
    if (strcmp(test, "exists") == 0) {
        bool given = val || (path && call->tool->base64 && !strcmp(field, "path") &&
                             yyjson_obj_get(call->arguments, "path_b64"));
        return given == yyjson_get_bool(wanted) ? SLOW_YES : SLOW_NO;
    }
    if (strcmp(test, "program") == 0)
        return slow_programs(call, wanted);
    if (path)
        return slow_path_test(call, field, test, wanted);
    yyjson_val room;
    yyjson_val *argv = slow_get(call, "argv");
    if (!val && argv && strcmp(field, "command") == 0) {
        char joined[400] = "";
        for (size_t i = 0; i < yyjson_arr_size(argv); i++) {
            size_t n = strlen(joined);
            snprintf(joined + n, sizeof joined - n, "%s%s", i ? " " : "",
                     yyjson_get_str(yyjson_arr_get(argv, i)));
        }
        memset(&room, 0, sizeof room);
        yyjson_set_str(&room, joined);
        enum slow_answer answer = slow_value_test(test, wanted, &room);
        return answer == SLOW_YES ? SLOW_PARTLY : answer;
    }
    if (!val)
        val = slow_default(call, field, &room);
    if (!val)
        return SLOW_NO;
    if (!yyjson_is_arr(val))
        return slow_value_test(test, wanted, val);
    size_t yes = 0;
    size_t no = 0;
    for (size_t i = 0; i < yyjson_arr_size(val); i++) {
        enum slow_answer one = slow_value_test(test, wanted, yyjson_arr_get(val, i));
        if (one == SLOW_ERROR)
            return one;
        yes += one == SLOW_YES;
        no += one == SLOW_NO;
    }
    return yes && !no ? SLOW_YES : yes ? SLOW_PARTLY : SLOW_NO;
}

/* All of several: one no is a no, then one error is an error. `turned`: any, by turning yes and no round. */
static inline enum slow_answer slow_turn(enum slow_answer answer)
{
    return answer == SLOW_YES ? SLOW_NO : answer == SLOW_NO ? SLOW_YES : answer;
}

static inline enum slow_answer slow_both(enum slow_answer a, enum slow_answer b)
{
    if (a == SLOW_NO || b == SLOW_NO)
        return SLOW_NO;
    if (a == SLOW_ERROR || b == SLOW_ERROR)
        return SLOW_ERROR;
    return a == SLOW_YES ? b : a;
}

static inline enum slow_answer slow_condition(const struct slow_call *call, yyjson_val *condition)
{
    enum slow_answer result = SLOW_YES;
    yyjson_obj_iter iter = yyjson_obj_iter_with(condition);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        const char *name = yyjson_get_str(key);
        yyjson_val *val = yyjson_obj_iter_get_val(key);
        enum slow_answer one = SLOW_YES;
        if (strcmp(name, "not") == 0) {
            one = slow_turn(slow_condition(call, val));
        } else if (strcmp(name, "all") == 0) {
            for (size_t i = 0; i < yyjson_arr_size(val); i++)
                one = slow_both(one, slow_condition(call, yyjson_arr_get(val, i)));
        } else if (strcmp(name, "any") == 0) {
            for (size_t i = 0; i < yyjson_arr_size(val); i++)
                one = slow_both(one, slow_turn(slow_condition(call, yyjson_arr_get(val, i))));
            one = slow_turn(one);
        } else if (yyjson_is_obj(val)) {
            yyjson_obj_iter tests = yyjson_obj_iter_with(val);
            for (yyjson_val *test; (test = yyjson_obj_iter_next(&tests));)
                one = slow_both(one, slow_test(call, name, yyjson_get_str(test),
                                               yyjson_obj_iter_get_val(test)));
        } else {
            one = slow_test(call, name, "equals", val);
        }
        result = slow_both(result, one);
    }
    return result;
}

/* --- what is granted */

static inline yyjson_val *slow_granted(yyjson_val *config, const char *agent, const char *pointer,
                                       const char **ret_whose)
{
    char own[100];
    char all[100];
    snprintf(own, sizeof own, "/agents/%s/capabilities/%s", agent ? agent : "-", pointer);
    snprintf(all, sizeof all, "/policy/capabilities/%s", pointer);
    yyjson_val *val = yyjson_ptr_get(config, own);
    *ret_whose = val ? "agents" : "policy";
    return val ? val : yyjson_ptr_get(config, all);
}

static inline int slow_needs(const struct slow_call *call, bool *lists)
{
    *lists = call->tool->lists;
    if (strcmp(call->tool->name, "filesystem") != 0)
        return call->tool->needs;
    const char *operation = yyjson_get_str(slow_get(call, "operation"));
    *lists = strcmp(operation, "list") == 0;
    return strcmp(operation, "write") == 0 || strcmp(operation, "delete") == 0 ? SLOW_WRITES
                                                                               : SLOW_READS;
}

static inline bool slow_grant_covers(const struct slow_call *call, yyjson_val *list,
                                     const char *path, bool tree, bool lists, bool reads)
{
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        const char *grant = yyjson_get_str(yyjson_arr_get(list, i));
        if (!strchr(grant, '*')) {
            if (slow_compare_paths(call, path, false, grant, true) == SLOW_YES)
                return true;
            continue;
        }
        bool match = *path && slow_glob_text(grant, path + 1, true);
        if (tree || lists ? slow_covers(grant, path, !tree)
                          : match || (reads && slow_covers(grant, path, false)))
            return true;
    }
    return false;
}

/* The rule that denies, or "". */
static inline void slow_check_files(const struct slow_call *call, yyjson_val *config, bool reads,
                                    bool lists, char rule[96])
{
    const char *field = reads ? "filesystem/read" : "filesystem/write";
    const char *dotted = reads ? "capabilities.filesystem.read" : "capabilities.filesystem.write";
    const char *whose;
    yyjson_val *list = slow_granted(config, call->agent, field, &whose);
    struct slow_path_text root = slow_components("");
    bool covered = true;
    bool bad = false;
    int seen = 0;
    if (!list)
        return;
    if (call->tool->needs & SLOW_RUNS)
        covered = slow_grant_covers(call, list, root.text, true, false, false);
    for (int i = 0; i < 3 && call->tool->paths[i] && !(call->tool->needs & SLOW_RUNS); i++) {
        struct slow_path_text path = slow_argument_path(call, call->tool->paths[i]);
        /* What is moved is read, where it goes to is not. */
        if (path.missing || !covered || bad || (reads && strcmp(call->tool->paths[i], "to") == 0))
            continue;
        seen++;
        bad = path.bad;
        if (!bad)
            covered = slow_grant_covers(call, list, path.text, slow_is_tree(call), lists, reads);
    }
    bad |= seen == 0 && !(call->tool->needs & SLOW_RUNS);
    if (bad)
        snprintf(rule, 96, "policy.%s", dotted);
    else if (!covered && strcmp(whose, "agents") == 0)
        snprintf(rule, 96, "agents.%s.%s", call->agent, dotted);
    else if (!covered)
        snprintf(rule, 96, "policy.%s", dotted);
}

static inline void slow_check_url(const struct slow_call *call, yyjson_val *config, char rule[96])
{
    const char *whose;
    yyjson_val *list = slow_granted(config, call->agent, "network", &whose);
    yyjson_val *url = slow_get(call, "url");
    bool covered = false;
    bool bad = false;
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        const char *domain = yyjson_get_str(yyjson_arr_get(list, i));
        covered |= slow_in_domain(yyjson_get_str(url), domain, &bad);
    }
    slow_in_domain(yyjson_get_str(url), "x", &bad);
    if (!bad && covered)
        return;
    if (!bad && list && strcmp(whose, "agents") == 0)
        snprintf(rule, 96, "agents.%s.capabilities.network", call->agent);
    else
        snprintf(rule, 96, "policy.capabilities.network");
}

static inline void slow_check_grants(const struct slow_call *call, yyjson_val *config,
                                     char rule[96])
{
    bool lists;
    int needs = slow_needs(call, &lists);
    const char *whose;
    yyjson_val *command = slow_granted(config, call->agent, "command", &whose);
    bool known = call->tool->dialect;
    if (needs & SLOW_RUNS && command && !yyjson_get_bool(command)) {
        yyjson_val *all = yyjson_ptr_get(config, "/policy/capabilities/command");
        if (!all || yyjson_get_bool(all))
            snprintf(rule, 96, "agents.%s.capabilities.command", call->agent);
        else
            snprintf(rule, 96, "policy.capabilities.command");
    }
    if (!*rule && known && needs & SLOW_READS)
        slow_check_files(call, config, true, lists, rule);
    if (!*rule && known && needs & SLOW_WRITES)
        slow_check_files(call, config, false, lists, rule);
    if (!*rule && needs & SLOW_REACHES)
        slow_check_url(call, config, rule);
}

/* --- the verdict */

static inline void slow_decide(const struct slow_call *call, yyjson_val *config,
                               struct slow_verdict *ret)
{
    yyjson_val *rules = yyjson_ptr_get(config, "/approval/rules");
    for (size_t i = 0; i < yyjson_arr_size(rules); i++) {
        yyjson_val *rule = yyjson_arr_get(rules, i);
        const char *action = yyjson_get_str(yyjson_obj_get(rule, "action"));
        yyjson_val *condition = yyjson_obj_get(rule, "condition");
        if (!slow_names(yyjson_get_str(yyjson_obj_get(rule, "toolName")), call->tool))
            continue;
        struct slow_call own = *call;
        own.own_folder = slow_says_folder(condition);
        enum slow_answer holds = condition ? slow_condition(&own, condition) : SLOW_YES;
        if (holds == SLOW_NO || (holds == SLOW_PARTLY && strcmp(action, "approve") == 0))
            continue;
        snprintf(ret->rule, sizeof ret->rule, "approval.rules[%zu]", i);
        ret->kind = holds == SLOW_ERROR || strcmp(action, "deny") == 0 ? "deny"
                    : strcmp(action, "prompt") == 0                    ? "ask"
                                                                       : "allow";
        return;
    }
    bool lists;
    yyjson_val *otherwise = yyjson_ptr_get(config, "/approval/default");
    const char *action = yyjson_get_str(otherwise);
    const char *dialect = call->tool->dialect ? call->tool->dialect : "";
    bool plain = strcmp(dialect, "sidecar") == 0 || strcmp(dialect, "toolhost") == 0 ||
                 strcmp(dialect, "runner") == 0;
    bool quiet = !(slow_needs(call, &lists) & ~SLOW_READS) || call->own_hand || plain;
    snprintf(ret->rule, sizeof ret->rule, "approval.default");
    if (call->overlay && *dialect && !(slow_needs(call, &lists) & SLOW_REACHES)) {
        yyjson_val *layered = yyjson_ptr_get(config, "/approval/inOverlay");
        if (layered || !otherwise)
            snprintf(ret->rule, sizeof ret->rule, "approval.inOverlay");
        otherwise = layered ? layered : otherwise;
        action = yyjson_get_str(otherwise);
        quiet = true;
    }
    ret->kind = !otherwise                       ? (quiet ? "allow" : "ask")
                : strcmp(action, "approve") == 0 ? "allow"
                : strcmp(action, "prompt") == 0  ? "ask"
                                                 : "deny";
}

static inline struct slow_verdict slow_judge(const struct slow_call *call, yyjson_val *config)
{
    struct slow_verdict verdict = {.kind = "deny"};
    yyjson_val *switches = yyjson_ptr_get(config, "/policy/enabled");
    const char *names[] = {call->tool->alias, call->tool->name};
    for (int i = 0; i < 2; i++) {
        yyjson_val *on = names[i] ? yyjson_obj_get(switches, names[i]) : NULL;
        if (on && !yyjson_get_bool(on))
            snprintf(verdict.rule, sizeof verdict.rule, "policy.enabled.%s", names[i]);
    }
    if (verdict.rule[0])
        return verdict;
    slow_check_grants(call, config, verdict.rule);
    if (!verdict.rule[0])
        slow_decide(call, config, &verdict);
    return verdict;
}

#endif
