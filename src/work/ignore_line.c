#include "work/ignore_line.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

struct reader {
    struct ignore_line *out;
    struct str text; /* without `!`, the slashes at both ends and what is trimmed */
    size_t at;
    size_t component; /* where in out->pattern the component at hand begins */
    unsigned stars;
    bool star_first;
    bool star_last;
    bool other; /* sets, `?`, stars over folders */
    bool never; /* nothing can match */
};

static void add_to_ignore_pattern(struct reader *r, const char *text, size_t n)
{
    struct ignore_line *out = r->out;
    if (n > sizeof out->pattern - out->pattern_n) {
        r->never = true;
        return;
    }
    memcpy(out->pattern + out->pattern_n, text, n);
    out->pattern_n += n;
}

static void add_plain_character(struct reader *r, char c)
{
    r->out->plain[r->out->plain_n++] = c;
    r->star_last = false;
    if (strchr("{},*?[]\\", c))
        add_to_ignore_pattern(r, "\\", 1);
    add_to_ignore_pattern(r, &c, 1);
}

/* Paths have no component that is empty or dots, but core/glob.h would pass over one in a pattern. */
static void end_component(struct reader *r)
{
    const char *p = r->out->pattern + r->component;
    size_t n = r->out->pattern_n - r->component;
    if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
        r->never = true;
}

static void add_slash(struct reader *r)
{
    end_component(r);
    add_plain_character(r, '/');
    r->component = r->out->pattern_n;
}

static bool slash_is_next(const struct reader *r, bool *ret_escaped)
{
    struct str rest = {r->text.p + r->at, r->text.n - r->at};
    *ret_escaped = rest.n > 1 && rest.p[0] == '\\' && rest.p[1] == '/';
    return *ret_escaped || (rest.n && rest.p[0] == '/');
}

static void read_stars(struct reader *r)
{
    size_t from = r->at;
    while (r->at < r->text.n && r->text.p[r->at] == '*')
        r->at++;
    bool escaped;
    bool ends = slash_is_next(r, &escaped) || r->at == r->text.n;
    bool begins = from == 0 || r->text.p[from - 1] == '/';
    if (r->out->anchored && r->at - from > 1 && begins && ends) {
        /* Git lets two stars be no folder at all only before a plain slash. */
        add_to_ignore_pattern(r, escaped ? "*/**" : "**", escaped ? 4 : 2);
        r->other = true;
        return;
    }
    add_to_ignore_pattern(r, "*", 1);
    r->stars++;
    r->star_first |= r->out->plain_n == 0;
    r->star_last = true;
}

static void read_escaped(struct reader *r)
{
    if (r->at + 1 == r->text.n) {
        r->never = true;
        return;
    }
    char c = r->text.p[r->at + 1];
    r->at += 2;
    if (c == '/')
        add_slash(r);
    else
        add_plain_character(r, c);
}

/* Ranges of ASCII, ready to stand in a set of core/glob.h. */
static const struct {
    struct str name;
    struct str ranges;
} classes[] = {
    {STR_INIT("alnum"), STR_INIT("0-9A-Za-z")},
    {STR_INIT("alpha"), STR_INIT("A-Za-z")},
    {STR_INIT("blank"), STR_INIT(" \t")},
    {STR_INIT("cntrl"), STR_INIT("\x01-\x1f\x7f")},
    {STR_INIT("digit"), STR_INIT("0-9")},
    {STR_INIT("graph"), STR_INIT("\\!-~")},
    {STR_INIT("lower"), STR_INIT("a-z")},
    {STR_INIT("print"), STR_INIT(" -~")},
    {STR_INIT("punct"), STR_INIT("\\!-/:-@\\[-`{-~")},
    {STR_INIT("space"), STR_INIT(" \t-\r")},
    {STR_INIT("upper"), STR_INIT("A-Z")},
    {STR_INIT("xdigit"), STR_INIT("0-9A-Fa-f")},
};

static void add_class(struct reader *r, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (classes[i].name.n == name.n && memcmp(classes[i].name.p, name.p, name.n) == 0) {
            add_to_ignore_pattern(r, classes[i].ranges.p, classes[i].ranges.n);
            return;
        }
    }
    r->never = true;
}

/* Takes one character of a set, perhaps behind a backslash. Empty at the end of the text. */
static struct str take_member(struct reader *r)
{
    struct str text = r->text;
    if (r->at < text.n && text.p[r->at] == '\\')
        r->at++;
    if (r->at >= text.n)
        return (struct str){NULL, 0};
    size_t n = utf8_sequence(text.p + r->at, text.n - r->at);
    struct str member = {text.p + r->at, n ? n : 1};
    r->at += member.n;
    return member;
}

static void add_member(struct reader *r, struct str member)
{
    if (member.n == 1)
        add_to_ignore_pattern(r, "\\", 1);
    add_to_ignore_pattern(r, member.p, member.n);
}

/* The name in `[:name:]`; absent where this is no such thing and the bracket means itself. */
static struct str class_name(const struct reader *r)
{
    struct str none = {NULL, 0};
    struct str rest = {r->text.p + r->at, r->text.n - r->at};
    if (rest.n < 2 || rest.p[0] != '[' || rest.p[1] != ':')
        return none;
    const char *end = memchr(rest.p + 2, ']', rest.n - 2);
    if (!end || end == rest.p + 2 || end[-1] != ':')
        return none;
    return (struct str){rest.p + 2, (size_t)(end - rest.p) - 3};
}

/* A character, a range or a named class. True when it adds something to the set. */
static bool read_set_member(struct reader *r)
{
    struct str text = r->text;
    struct str name = class_name(r);
    if (name.p) {
        add_class(r, name);
        r->at += name.n + 4;
        return true;
    }
    struct str low = take_member(r);
    bool range = r->at + 1 < text.n && text.p[r->at] == '-' && text.p[r->at + 1] != ']';
    r->at += range;
    struct str high = range ? take_member(r) : low;
    if (!low.n || !high.n) {
        r->never = true;
        return false;
    }
    add_member(r, low);
    /* A range that ends before it begins is the first character alone. */
    if (low.n == 1 && high.n == 1 && (unsigned char)*high.p <= (unsigned char)*low.p)
        return true;
    add_to_ignore_pattern(r, "-", 1);
    add_member(r, high);
    return true;
}

static void read_set(struct reader *r)
{
    struct str text = r->text;
    r->other = true;
    r->at++;
    bool negated = r->at < text.n && (text.p[r->at] == '!' || text.p[r->at] == '^');
    r->at += negated;
    add_to_ignore_pattern(r, negated ? "[!" : "[", negated ? 2 : 1);
    do {
        if (r->at >= text.n || !read_set_member(r)) {
            r->never = true;
            return;
        }
    } while (r->at >= text.n || text.p[r->at] != ']');
    add_to_ignore_pattern(r, "]", 1);
    r->at++;
}

static void read_ignore_part(struct reader *r)
{
    switch (r->text.p[r->at]) {
    case '*':
        read_stars(r);
        return;
    case '?':
        add_to_ignore_pattern(r, "?", 1);
        r->other = true;
        r->at++;
        return;
    case '[':
        read_set(r);
        return;
    case '\\':
        read_escaped(r);
        return;
    case '/':
        add_slash(r);
        r->at++;
        return;
    default:
        add_plain_character(r, r->text.p[r->at++]);
    }
}

static struct str without_spaces(struct str line)
{
    size_t end = 0;
    for (size_t i = 0; i < line.n; i++) {
        bool escaped = line.p[i] == '\\';
        i += escaped;
        if (escaped || line.p[i] != ' ')
            end = i < line.n ? i + 1 : line.n;
    }
    return (struct str){line.p, end};
}

/* What a line says before its pattern begins and behind where it ends. */
static struct str take_ignore_marks(struct str line, struct ignore_line *ret)
{
    const char *nul = line.n ? memchr(line.p, '\0', line.n) : NULL;
    if (nul)
        line.n = (size_t)(nul - line.p);
    line = without_spaces(line);
    ret->keep = line.n && line.p[0] == '!';
    line = str_behind(line, ret->keep);
    ret->folders = line.n && line.p[line.n - 1] == '/';
    line.n -= ret->folders;
    ret->anchored = line.n && memchr(line.p, '/', line.n);
    line = str_behind(line, line.n && line.p[0] == '/');
    /* Stars and a slash before a plain name say what the name alone does. */
    size_t stars = 0;
    while (stars < line.n && line.p[stars] == '*')
        stars++;
    if (stars > 1 && stars + 1 < line.n && line.p[stars] == '/' &&
        !memchr(line.p + stars + 1, '/', line.n - stars - 1)) {
        ret->anchored = false;
        line = str_behind(line, stars + 1);
    }
    return line;
}

static enum ignore_kind kind_of_ignore_line(const struct reader *r)
{
    if (r->other || r->stars > 1 || (r->stars && r->out->anchored))
        return IGNORE_GLOB;
    if (r->stars == 0)
        return r->out->anchored ? IGNORE_PATH : IGNORE_NAME;
    if (r->star_first)
        return IGNORE_SUFFIX;
    return r->star_last ? IGNORE_PREFIX : IGNORE_GLOB;
}

bool ignore_line_read(struct str line, struct ignore_line *ret)
{
    if (line.n == 0 || line.n > IGNORE_LINE_MAX || line.p[0] == '#')
        return false;
    struct reader r = {.out = ret};
    ret->plain_n = 0;
    ret->pattern_n = 0;
    r.text = take_ignore_marks(line, ret);
    while (r.at < r.text.n && !r.never)
        read_ignore_part(&r);
    end_component(&r);
    ret->kind = kind_of_ignore_line(&r);
    return !r.never;
}
