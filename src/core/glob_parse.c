#include "core/glob_program.h"

#include <string.h>

#include "base/mem.h"

/* As much of the text as a message shows. */
#define SHOWN 24

struct brace {
    size_t at;
    uint32_t split; /* where the alternative begins; leads to the next one */
    uint32_t jumps; /* the last alternative's end; each leads to the one before until the close */
};

struct parser {
    struct glob_source *out;
    struct str text;
    size_t at;
    struct err *err;
    struct brace braces[GLOB_NESTING_MAX];
    size_t depth;
};

int glob_fail(struct err *err, struct str text, size_t at, const char *what)
{
    size_t n = text.n - at > SHOWN ? utf8_cut(text.p + at, SHOWN) : text.n - at;
    return err_set(err, ERR_INVALID_PATTERN, "the pattern is wrong at byte %zu, `%.*s`: %s", at + 1,
                   (int)n, text.p + at, what);
}

static struct glob_instr *add_instr(struct parser *p, enum glob_op op)
{
    struct glob_instr *instr = &p->out->instrs[p->out->count++];
    *instr = (struct glob_instr){.op = op, .at = (uint16_t)p->at};
    if (op != GLOB_CHAR && op != GLOB_END)
        p->out->tail = 0;
    return instr;
}

static void add_star(struct parser *p)
{
    size_t run = 1;
    while (p->at + run < p->text.n && p->text.p[p->at + run] == '*')
        run++;
    if (run == 2)
        add_instr(p, GLOB_WHOLE);
    add_instr(p, GLOB_STAR);
    p->out->tail = p->out->count; /* until a brace ends, at the latest */
    p->at += run;
}

static void add_character(struct parser *p)
{
    size_t length;
    uint32_t c = glob_character(p->out->bytes, p->text.p + p->at, p->text.n - p->at, &length);
    add_instr(p, c == '/' ? GLOB_SLASH : GLOB_CHAR)->value = c;
    p->at += length;
}

static int add_escaped_char(struct parser *p)
{
    if (p->at + 1 == p->text.n)
        return glob_fail(p->err, p->text, p->at,
                         "nothing follows the backslash; write two for one");
    p->at++;
    add_character(p);
    return 0;
}

static int open_brace(struct parser *p)
{
    if (p->depth == GLOB_NESTING_MAX)
        return glob_fail(p->err, p->text, p->at, "braces are nested more than 16 deep");
    p->braces[p->depth++] = (struct brace){.at = p->at, .split = p->out->count};
    add_instr(p, GLOB_SPLIT);
    p->at++;
    return 0;
}

static void next_alternative(struct parser *p)
{
    struct brace *brace = &p->braces[p->depth - 1];
    uint32_t jump = p->out->count;
    add_instr(p, GLOB_JUMP)->value = brace->jumps;
    brace->jumps = jump;
    p->out->instrs[brace->split].value = p->out->count;
    brace->split = p->out->count;
    add_instr(p, GLOB_SPLIT);
    p->at++;
}

static int close_brace(struct parser *p)
{
    if (p->depth == 0)
        return glob_fail(p->err, p->text, p->at,
                         "no `{` before this; write `\\}` for the character");
    uint32_t jump = p->braces[--p->depth].jumps;
    while (jump) {
        struct glob_instr *instr = &p->out->instrs[jump];
        jump = instr->value;
        instr->value = p->out->count;
    }
    p->out->tail = 0;
    p->at++;
    return 0;
}

/* One end of a range; `at` is moved behind it. False at the end of the text. */
static bool read_range_end(const struct parser *p, size_t *at, uint32_t *ret)
{
    struct str text = p->text;
    size_t length;
    size_t i = *at;
    if (i < text.n && text.p[i] == '\\')
        i++;
    if (i >= text.n)
        return false;
    *ret = glob_character(p->out->bytes, text.p + i, text.n - i, &length);
    *at = i + length;
    return true;
}

static bool is_named_class(struct str rest)
{
    return rest.n > 1 && rest.p[1] == ':' && memmem(rest.p + 2, rest.n - 2, ":]", 2);
}

static int read_range(struct parser *p, size_t *at, struct glob_range *ret)
{
    struct str text = p->text;
    size_t from = *at;
    if (text.p[from] == '[' && is_named_class((struct str){text.p + from, text.n - from}))
        return glob_fail(p->err, text, from,
                         "named classes are not known; write ranges, `[a-z0-9]`");
    if (!read_range_end(p, at, &ret->low))
        return glob_fail(p->err, text, p->at, "no `]` closes this; write `\\[` for the character");
    ret->high = ret->low;
    if (*at + 1 >= text.n || text.p[*at] != '-' || text.p[*at + 1] == ']')
        return 0;
    ++*at;
    if (!read_range_end(p, at, &ret->high))
        return glob_fail(p->err, text, p->at, "no `]` closes this; write `\\[` for the character");
    return ret->high >= ret->low
               ? 0
               : glob_fail(p->err, text, from, "this range ends before it begins");
}

static int add_set(struct parser *p)
{
    struct str text = p->text;
    size_t at = p->at + 1;
    bool negated = at < text.n && (text.p[at] == '!' || text.p[at] == '^');
    at += negated;
    struct glob_instr *instr = add_instr(p, GLOB_SET);
    instr->negated = negated;
    instr->value = p->out->range_count;
    for (size_t first = at; at == first || at >= text.n || text.p[at] != ']';) {
        if (at >= text.n)
            return glob_fail(p->err, text, p->at,
                             "no `]` closes this; write `\\[` for the character");
        if (read_range(p, &at, &p->out->ranges[p->out->range_count++]) < 0)
            return -1;
    }
    instr->count = p->out->range_count - instr->value;
    p->at = at + 1;
    return 0;
}

static int parse_next_char(struct parser *p)
{
    switch (p->text.p[p->at]) {
    case '*':
        add_star(p);
        return 0;
    case '?':
        add_instr(p, GLOB_ANY);
        p->at++;
        return 0;
    case '[':
        return add_set(p);
    case '{':
        return open_brace(p);
    case '}':
        return close_brace(p);
    case '\\':
        return add_escaped_char(p);
    case ',':
        if (p->depth) {
            next_alternative(p);
            return 0;
        }
    }
    add_character(p);
    return 0;
}

static int check_glob_text(struct str text, struct err *err)
{
    if (text.n == 0)
        return err_set(err, ERR_INVALID_PATTERN, "the pattern is empty");
    if (text.n > GLOB_TEXT_MAX)
        return err_set(err, ERR_INVALID_PATTERN, "the pattern is %zu bytes long, at most %d",
                       text.n, GLOB_TEXT_MAX);
    const char *nul = memchr(text.p, '\0', text.n);
    return nul ? err_set(err, ERR_INVALID_PATTERN, "the pattern has a NUL at byte %zu",
                         (size_t)(nul - text.p) + 1)
               : 0;
}

int glob_parse(struct str text, struct glob_source *ret, struct err *err)
{
    if (check_glob_text(text, err) < 0)
        return -1;
    /* A comma in braces makes two instructions, nothing makes more. */
    ret->text = text;
    ret->instrs = mem_grow(NULL, 2 * text.n + GLOB_LEAD + 1, sizeof *ret->instrs);
    ret->ranges = mem_grow(NULL, text.n, sizeof *ret->ranges);
    struct parser p = {.out = ret, .text = text, .err = err};
    add_instr(&p, GLOB_WHOLE);
    add_instr(&p, GLOB_STAR);
    add_instr(&p, GLOB_SLASH);
    while (p.at < text.n) {
        if (parse_next_char(&p) < 0)
            return -1;
    }
    if (p.depth)
        return glob_fail(err, text, p.braces[p.depth - 1].at,
                         "no `}` closes this; write `\\{` for the character");
    p.at = text.n - 1;
    add_instr(&p, GLOB_END);
    return 0;
}

void glob_source_done(struct glob_source *source)
{
    free(source->instrs);
    free(source->ranges);
    *source = (struct glob_source){0};
}
