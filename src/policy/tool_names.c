#include "policy/tool_names.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/spelling.h"
#include "policy/tool_pattern.h"

#define EXPANSIONS_MAX 256
#define SHOWN_MAX 60

/* --- names */

static bool is_name_of(const struct tool *tool, const char *text)
{
    return strcmp(tool->name, text) == 0 || (tool->alias && strcmp(tool->alias, text) == 0);
}

static bool is_known_name(const struct tool *const *tools, const char *text)
{
    for (size_t i = 0; tools[i]; i++) {
        if (is_name_of(tools[i], text))
            return true;
    }
    return false;
}

static void try_name(const char *name, struct str text, const char **best, size_t *least)
{
    size_t distance = name ? spelling_distance(text, (struct str){name, strlen(name)}) : *least;
    if (distance < *least) {
        *least = distance;
        *best = name;
    }
}

/* NULL: none is like it. */
static const char *nearest_name(const struct tool *const *tools, const char *text)
{
    const char *best = NULL;
    size_t least = spelling_close(strlen(text)) + 1;
    for (size_t i = 0; tools[i]; i++) {
        try_name(tools[i]->name, (struct str){text, strlen(text)}, &best, &least);
        try_name(tools[i]->alias, (struct str){text, strlen(text)}, &best, &least);
    }
    return best;
}

/* Names come from a file that may hold anything. */
static void show_tool_name(const char *text, char out[SHOWN_MAX + 1])
{
    size_t n = 0;
    for (; text[n] && n < SHOWN_MAX; n++)
        out[n] = text[n] >= ' ' && text[n] < 0x7f ? text[n] : '?';
    out[n] = '\0';
}

static int refuse_tool_name(const struct tool *const *tools, const char *text, const char *field,
                            const char *way, struct err *err)
{
    char shown[SHOWN_MAX + 1];
    const char *meant = nearest_name(tools, text);
    bool pattern = glob_is_pattern((struct str){text, strlen(text)});
    show_tool_name(text, shown);
    return err_field(err, field, "%.120s: no tool %s `%s`%s%s%s (%s)", field,
                     pattern ? "matches" : "is called", shown, meant ? "; did you mean `" : "",
                     meant ? meant : "", meant ? "`?" : "", way);
}

/* --- globs */

/* Where the first `{` stands that begins alternatives, and the `}` that ends them; false: there is none. */
static bool find_braces(const char *text, size_t *ret_open, size_t *ret_close)
{
    size_t depth = 0;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1]) {
            i++;
        } else if (text[i] == '{') {
            if (depth++ == 0)
                *ret_open = i;
        } else if (text[i] == '}' && depth && --depth == 0) {
            *ret_close = i;
            return true;
        }
    }
    return false;
}

/* Up to the next comma between alternatives, or to the end. */
static size_t alternative_length(const char *text, size_t n)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '{')
            depth++;
        else if (text[i] == '}' && depth)
            depth--;
        else if (text[i] == ',' && depth == 0)
            return i;
    }
    return n;
}

struct expansion {
    const struct tool *const *tools;
    size_t count;
    char *missing; /* the first that means no tool */
};

static bool matches_any(const struct tool *const *tools, const char *text)
{
    struct tool_pattern pattern;
    struct err ignored;
    bool found = false;
    if (tool_pattern_read(&pattern, text, "", &ignored) < 0)
        return false;
    for (size_t i = 0; tools[i] && !found; i++)
        found = tool_pattern_matches(&pattern, tools[i], tools[i]->name);
    tool_pattern_done(&pattern);
    return found;
}

/* As deep as braces may be nested, and as long as there are not too many. */
static void expand(struct expansion *e, const char *text)
{
    size_t open = 0;
    size_t close = 0;
    if (e->missing || e->count > EXPANSIONS_MAX)
        return;
    if (!find_braces(text, &open, &close)) {
        e->count++;
        if (!matches_any(e->tools, text))
            e->missing = mem_dup(text);
        return;
    }
    for (size_t at = open + 1; at <= close;) {
        size_t n = alternative_length(text + at, close - at);
        FREE_AT_END char *one = mem_format("%.*s%.*s%s", (int)open, text, (int)n, text + at,
                                           text + close + 1);
        expand(e, one);
        at += n + 1;
    }
}

static int check_glob(const struct tool *const *tools, const char *text, const char *field,
                      const char *way, struct err *err)
{
    struct expansion e = {.tools = tools};
    expand(&e, text);
    FREE_AT_END char *missing = e.missing;
    if (!missing && !matches_any(tools, text))
        missing = mem_dup(text);
    return missing ? refuse_tool_name(tools, missing, field, way, err) : 0;
}

int tool_names_check(const struct tool *const *tools, const char *text, const char *field,
                     struct err *err)
{
    static const char way[] = "if a manifest may bring it, set \"optional\": true";
    if (strcmp(text, "*") == 0 || is_known_name(tools, text))
        return 0;
    if (glob_is_pattern((struct str){text, strlen(text)}))
        return check_glob(tools, text, field, way, err);
    return refuse_tool_name(tools, text, field, way, err);
}

/* --- maps */

struct map_check {
    const struct tool *const *tools;
    const struct config *config;
    const char *map;
    struct err *err;
};

/* `name?` in a map whose values are no objects. */
static int check_switch(void *arg, const char *name)
{
    struct map_check *check = arg;
    size_t n = strlen(name);
    if (strcmp(name, "*") == 0 || is_known_name(check->tools, name))
        return 0;
    FREE_AT_END char *field = mem_format("%s.%s", check->map, name);
    if (n < 2 || name[n - 1] != '?')
        return refuse_tool_name(check->tools, name, field,
                                "if a manifest may bring it, put `?` behind its name", check->err);
    FREE_AT_END char *bare = mem_copy(name, n - 1);
    FREE_AT_END char *other = mem_format("%s.%s", check->map, bare);
    if (config_is_set(check->config, other))
        return err_field(check->err, field, "%.120s: the tool is named twice, with `?` and without",
                         field);
    return 0;
}

/* Without a number of calls there is no limit. */
static int check_rate_limit(const struct map_check *check, const char *name)
{
    FREE_AT_END char *field = mem_format("%s.%s", check->map, name);
    FREE_AT_END char *calls = mem_format("%s.maxCalls", field);
    if (config_is_set(check->config, calls) ||
        config_is_set(check->config, "policy.rateLimits.*.maxCalls"))
        return 0;
    return err_field(check->err, field, "%.120s: set `maxCalls`, without which nothing is limited",
                     field);
}

static int check_limit(void *arg, const char *name)
{
    struct map_check *check = arg;
    FREE_AT_END char *optional = mem_format("%s.%s.optional", check->map, name);
    if (strcmp(check->map, "policy.rateLimits") == 0 && check_rate_limit(check, name) < 0)
        return -1;
    if (strcmp(name, "*") == 0 || is_known_name(check->tools, name) ||
        config_bool(check->config, optional))
        return 0;
    FREE_AT_END char *field = mem_format("%s.%s", check->map, name);
    return refuse_tool_name(check->tools, name, field,
                            "if a manifest may bring it, set \"optional\": true", check->err);
}

int tool_names_check_maps(const struct tool *const *tools, const struct config *config,
                          struct err *err)
{
    static const struct {
        const char *map;
        int (*check)(void *arg, const char *name);
    } maps[] = {
        {"policy.enabled", check_switch},
        {"policy.rateLimits", check_limit},
        {"policy.resourceLimits", check_limit},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(maps); i++) {
        struct map_check check = {tools, config, maps[i].map, err};
        r = config_keys(config, maps[i].map, maps[i].check, &check);
    }
    return r;
}
