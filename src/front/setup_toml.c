/* Adding to a TOML file of another program, in blocks between marks: what is outside of them keeps each of its bytes.
 *
 * A key or a table that stands there twice makes a file that its program cannot read. So the names are read, and only they:
 * values are walked over. What cannot be told counts as a conflict. */
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"
#include "front/setup_parts.h"

#define BEGIN "# sandgate setup: begin\n"
#define END "# sandgate setup: end\n"
#define NAME_BYTES_MAX 512

/* --- names */

struct toml_name {
    bool table;
    bool of_array;
    size_t in;                 /* a key's: how much of the path is its table's */
    char path[NAME_BYTES_MAX]; /* parts, each with a line break behind it, which no name has */
};

struct toml_reader {
    struct str rest;
    char table[NAME_BYTES_MAX];
};

static bool add_to_path(char path[NAME_BYTES_MAX], struct str part)
{
    size_t n = strlen(path);
    if (part.n + 2 > NAME_BYTES_MAX - n)
        return false;
    memcpy(path + n, part.p, part.n);
    memcpy(path + n + part.n, "\n", 2);
    return true;
}

static char next_char(const struct toml_reader *r)
{
    return *(r->rest.n ? r->rest.p : "");
}

static void skip_chars(struct toml_reader *r, const char *which)
{
    while (r->rest.n && r->rest.p[0] && strchr(which, r->rest.p[0]))
        r->rest = str_behind(r->rest, 1);
}

static void skip_to_line_end(struct toml_reader *r)
{
    while (r->rest.n && r->rest.p[0] != '\n')
        r->rest = str_behind(r->rest, 1);
}

static bool is_bare(char c)
{
    char small = ascii_lower(c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* One part of a name. An escape in it could be any letter. */
static bool read_toml_part(struct toml_reader *r, char path[NAME_BYTES_MAX])
{
    char quote = next_char(r);
    size_t n = 0;
    if (quote != '"' && quote != '\'') {
        while (n < r->rest.n && is_bare(r->rest.p[n]))
            n++;
        struct str part = {r->rest.p, n};
        r->rest = str_behind(r->rest, n);
        return n > 0 && add_to_path(path, part);
    }
    r->rest = str_behind(r->rest, 1);
    while (n < r->rest.n && r->rest.p[n] != quote && r->rest.p[n] != '\n' && r->rest.p[n] != '\\')
        n++;
    struct str part = {r->rest.p, n};
    if (n == r->rest.n || r->rest.p[n] != quote)
        return false;
    r->rest = str_behind(r->rest, n + 1);
    return add_to_path(path, part);
}

static bool read_dotted(struct toml_reader *r, char path[NAME_BYTES_MAX])
{
    for (;;) {
        skip_chars(r, " \t");
        if (!read_toml_part(r, path))
            return false;
        skip_chars(r, " \t");
        if (next_char(r) != '.')
            return true;
        r->rest = str_behind(r->rest, 1);
    }
}

/* --- values */

static bool skip_long_string(struct toml_reader *r, char quote)
{
    size_t run = 0;
    for (r->rest = str_behind(r->rest, 3); r->rest.n; r->rest = str_behind(r->rest, 1)) {
        char c = next_char(r);
        /* Up to two quotes may stand before the three that end it. */
        if (run >= 3 && c != quote)
            return true;
        run = c == quote ? run + 1 : 0;
        if (c == '\\' && quote == '"' && r->rest.n > 1)
            r->rest = str_behind(r->rest, 1);
    }
    return run >= 3;
}

static bool skip_toml_string(struct toml_reader *r)
{
    char quote = next_char(r);
    if (r->rest.n >= 3 && r->rest.p[1] == quote && r->rest.p[2] == quote)
        return skip_long_string(r, quote);
    for (r->rest = str_behind(r->rest, 1); r->rest.n; r->rest = str_behind(r->rest, 1)) {
        char c = next_char(r);
        if (c == '\n')
            return false;
        if (c == quote) {
            r->rest = str_behind(r->rest, 1);
            return true;
        }
        if (c == '\\' && quote == '"' && r->rest.n > 1)
            r->rest = str_behind(r->rest, 1);
    }
    return false;
}

/* To the end of its last line. */
static bool skip_toml_value(struct toml_reader *r)
{
    int depth = 0;
    while (r->rest.n) {
        char c = next_char(r);
        if (c == '\n' && depth == 0)
            return true;
        if (c == '"' || c == '\'') {
            if (!skip_toml_string(r))
                return false;
            continue;
        }
        if (c == '#') {
            skip_to_line_end(r);
            continue;
        }
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        if (depth < 0)
            return false;
        r->rest = str_behind(r->rest, 1);
    }
    return depth == 0;
}

static bool read_header(struct toml_reader *r, struct toml_name *ret)
{
    r->rest = str_behind(r->rest, 1);
    ret->table = true;
    ret->of_array = next_char(r) == '[';
    if (ret->of_array)
        r->rest = str_behind(r->rest, 1);
    for (int closing = read_dotted(r, ret->path) ? 1 + ret->of_array : -1; closing; closing--) {
        if (closing < 0 || next_char(r) != ']')
            return false;
        r->rest = str_behind(r->rest, 1);
    }
    memcpy(r->table, ret->path, sizeof r->table);
    skip_chars(r, " \t\r");
    if (next_char(r) == '#')
        skip_to_line_end(r);
    return r->rest.n == 0 || next_char(r) == '\n';
}

/* 1: a name, 0: the end, -1: it cannot be told. */
static int next_name(struct toml_reader *r, struct toml_name *ret)
{
    *ret = (struct toml_name){0};
    for (;;) {
        skip_chars(r, " \t\r\n");
        if (next_char(r) != '#')
            break;
        skip_to_line_end(r);
    }
    if (r->rest.n == 0)
        return 0;
    if (next_char(r) == '[')
        return read_header(r, ret) ? 1 : -1;
    memcpy(ret->path, r->table, sizeof r->table);
    ret->in = strlen(r->table);
    if (!read_dotted(r, ret->path) || next_char(r) != '=')
        return -1;
    return skip_toml_value(r) ? 1 : -1;
}

/* --- conflicts */

static bool begins_toml_path(const char *path, const char *with)
{
    return strncmp(path, with, strlen(with)) == 0;
}

/* A server's, which a repository could give an environment; others have tables of their users within them. */
static bool is_wholly_ours(const struct toml_name *ours)
{
    const char *second = ours->table ? strchr(ours->path, '\n') + 1 : "";
    return *second != '\0';
}

/* A table may stand beside one that is within it, and a list of tables has many; nothing else may have both names. */
static bool names_collide(const struct toml_name *a /* theirs */, const struct toml_name *b)
{
    if (a->of_array && b->of_array && strcmp(a->path, b->path) == 0)
        return false;
    if (a->table && b->table && !a->of_array && !b->of_array)
        return is_wholly_ours(b) ? begins_toml_path(a->path, b->path)
                                 : strcmp(a->path, b->path) == 0;
    /* A key of a table that is within ours. */
    if (b->table && a->in > strlen(b->path))
        return false;
    return begins_toml_path(a->path, b->path) || begins_toml_path(b->path, a->path);
}

static void show_toml_path(const char *path, struct buf *out)
{
    for (; *path; path++) {
        if (*path != '\n')
            buf_add_char(out, *path);
        else if (path[1])
            buf_add_char(out, '.');
    }
}

static int refuse_name(const struct toml_name *name, struct err *err)
{
    BUF_AT_END struct buf shown = BUF_INIT(NAME_BYTES_MAX);
    show_toml_path(name->path, &shown);
    return err_set(err, ERR_CONFLICT, "it has `%.100s` already", buf_text(&shown));
}

/* A member of a table of ours is found by the table. */
static int check_against(const struct toml_name *theirs, struct str ours, struct err *err)
{
    struct toml_reader r = {.rest = ours};
    struct toml_name name;
    while (next_name(&r, &name) > 0) {
        bool inner = !name.table && r.table[0];
        if (!inner && names_collide(theirs, &name))
            return refuse_name(theirs, err);
    }
    return 0;
}

static int check_toml_names(struct str theirs, struct str head, struct str tables, struct err *err)
{
    struct toml_reader r = {.rest = theirs};
    struct toml_name name;
    int got;
    while ((got = next_name(&r, &name)) > 0) {
        if (check_against(&name, head, err) < 0 || check_against(&name, tables, err) < 0)
            return -1;
    }
    return got == 0 ? 0
                    : err_set(err, ERR_CONFLICT,
                              "not all of its names can be read; the last was "
                              "before byte %zu",
                              theirs.n - r.rest.n);
}

/* --- blocks */

/* Where a line of this text begins, from `from` on; `text.n`: nowhere. The last one may lack its line break. */
static size_t find_line(struct str text, size_t from, const char *line)
{
    size_t n = strlen(line) - 1;
    for (size_t at = from; at + n <= text.n; at++) {
        bool ends = at + n == text.n || text.p[at + n] == '\n';
        if (ends && (at == 0 || text.p[at - 1] == '\n') && memcmp(text.p + at, line, n) == 0)
            return at;
    }
    return text.n;
}

/* What is outside of the blocks, without the empty line that parts each from the rest. Behind the last block a table has
 * to begin: a key there would belong to ours. */
static int cut_blocks(struct str old, struct buf *ret, struct err *err)
{
    size_t at = 0;
    for (;;) {
        size_t begin = find_line(old, at, BEGIN);
        bool blank = begin < old.n && begin > at + 1 && memcmp(old.p + begin - 2, "\n\n", 2) == 0;
        buf_add(ret, old.p + at, begin - at - blank);
        if (begin == old.n)
            return ret->failed ? err_set(err, ERR_INTERNAL, "not enough memory") : 0;
        size_t end = find_line(old, begin, END);
        if (end == old.n)
            return err_set(err, ERR_CONFLICT, "a block of ours has no end");
        at = end + strlen(END);
        if (at > old.n)
            at = old.n;
        if (begin == 0 && at < old.n && old.p[at] == '\n')
            at++;
        struct toml_reader r = {.rest = str_behind(old, at)};
        struct toml_name name;
        if (begin > 0 && next_name(&r, &name) > 0 && !name.table)
            return err_set(err, ERR_CONFLICT, "there are keys behind the block of ours");
    }
}

static void add_block(struct buf *ret, struct str text)
{
    buf_add_text(ret, BEGIN);
    buf_add(ret, text.p, text.n);
    buf_add_text(ret, END);
}

int setup_merge_toml(struct str old, struct str head, struct str tables, struct buf *ret,
                     bool *ret_same, struct err *err)
{
    BUF_AT_END struct buf rest = BUF_INIT(SETUP_BYTES_MAX);
    if (cut_blocks(old, &rest, err) < 0 || check_toml_names(buf_str(&rest), head, tables, err) < 0)
        return -1;
    if (head.n)
        add_block(ret, head);
    if (rest.len) {
        if (head.n)
            buf_add_char(ret, '\n');
        buf_add(ret, rest.data, rest.len);
        if (rest.data[rest.len - 1] != '\n')
            buf_add_char(ret, '\n');
    }
    if (tables.n) {
        if (ret->len)
            buf_add_char(ret, '\n');
        add_block(ret, tables);
    }
    *ret_same = str_equal(old, buf_str(ret));
    return ret->failed ? err_set(err, ERR_INTERNAL, "not enough memory") : 0;
}
