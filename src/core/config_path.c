#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/str.h"
#include "core/config_table.h"

static bool is_path_index(const char *text, size_t n)
{
    if (n < 3 || text[0] != '[' || text[n - 1] != ']')
        return false;
    for (size_t i = 1; i + 1 < n; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* A map's key may hold dots (`fs.read` is a tool): it is whatever lies between the fixed parts. */
static bool pattern_matches(const char *pattern, const char *path)
{
    size_t before = strcspn(pattern, "*[");
    if (pattern[before] == '\0')
        return strcmp(pattern, path) == 0;
    bool map = pattern[before] == '*';
    const char *after = pattern + before + (map ? 1 : 2);
    size_t after_len = strlen(after);
    size_t len = strlen(path);
    if (len < before + after_len || strncmp(pattern, path, before) != 0)
        return false;
    size_t middle = len - before - after_len;
    return strcmp(path + before + middle, after) == 0 &&
           (map || is_path_index(path + before, middle));
}

const struct config_row *config_row_find(const char *path)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (pattern_matches(rows[i].path, path))
            return &rows[i];
    }
    return NULL;
}

const struct config_row *config_row_at(const char *pattern)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].path, pattern) == 0)
            return &rows[i];
    }
    return NULL;
}

/* What follows `pattern` in the next row that goes through it, or NULL behind the last. */
static const char *next_beneath(const char *pattern, const char *follows, size_t *row)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    size_t len = strlen(pattern);
    size_t follows_len = strlen(follows);
    while (*row < count) {
        const char *path = rows[(*row)++].path;
        if (strncmp(path, pattern, len) == 0 && strncmp(path + len, follows, follows_len) == 0)
            return path + len + follows_len;
    }
    return NULL;
}

bool config_is_section(const char *pattern)
{
    size_t row = 0;
    return next_beneath(pattern, ".", &row) != NULL;
}

const struct config_row *config_array_rows(const char *pattern, size_t *ret_count)
{
    size_t count;
    size_t row = 0;
    if (!next_beneath(pattern, "[].", &row))
        return NULL;
    const struct config_row *first = config_rows(&count) + row - 1;
    for (*ret_count = 1; next_beneath(pattern, "[].", &row);)
        ++*ret_count;
    return first;
}

bool config_is_array(const char *pattern)
{
    size_t row = 0;
    return next_beneath(pattern, "[].", &row) != NULL;
}

/* The next name directly below a pattern; rows that share one stand together in the table. */
static struct str next_name_below(const char *pattern, size_t *row, struct str last)
{
    const char *rest;
    while ((rest = next_beneath(pattern, *pattern ? "." : "", row))) {
        struct str name = {rest, strcspn(rest, ".[")};
        if (name.n != last.n || memcmp(name.p, last.p, name.n) != 0)
            return name;
    }
    return (struct str){0};
}

struct str config_nearest(const char *pattern, struct str name)
{
    struct str best = {0};
    size_t best_distance = spelling_close(name.n);
    size_t row = 0;
    for (struct str at = next_name_below(pattern, &row, STR("")); at.p;
         at = next_name_below(pattern, &row, at)) {
        size_t distance = spelling_distance(name, at);
        if (distance < best_distance || (!best.p && distance == best_distance && at.n > distance)) {
            best = at;
            best_distance = distance;
        }
    }
    return best;
}

void config_list_names(const char *pattern, char *out, size_t size)
{
    size_t used = 0;
    size_t row = 0;
    *out = '\0';
    for (struct str at = next_name_below(pattern, &row, STR("")); at.p;
         at = next_name_below(pattern, &row, at)) {
        if (used + at.n + 3 > size)
            return;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? ", " : "", (int)at.n,
                                 at.p);
    }
}

struct str config_choice_at(const struct config_row *row, int index)
{
    const char *at = row->choices;
    for (int i = 0; at && i < index; i++) {
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    return (struct str){at, at ? strcspn(at, "|") : 0};
}

int config_choice(const struct config_row *row, struct str word)
{
    size_t name = row->alias ? strcspn(row->alias, "=") : 0;
    if (row->alias && str_equal(word, (struct str){row->alias, name}))
        word = (struct str){row->alias + name + 1, strlen(row->alias + name + 1)};
    struct str choice;
    for (int i = 0; (choice = config_choice_at(row, i)).p; i++) {
        if (str_equal(word, choice))
            return i;
    }
    return -1;
}

void config_choices_text(const struct config_row *row, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = row->choices; at && *at && used + 3 < size; at++) {
        if (*at != '|') {
            out[used++] = *at;
            continue;
        }
        out[used++] = ',';
        out[used++] = ' ';
    }
    out[used] = '\0';
}
