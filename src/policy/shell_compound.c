/* Reserved words: they decide where a command begins. */
#include "policy/shell_parts.h"

/* A bare word of the text, as reserved words must be; it is not consumed. */
static bool next_is(const struct shell_parser *p, const char *text)
{
    size_t n = strlen(text);
    if (p->text.n - p->at < n || memcmp(p->text.p + p->at, text, n) != 0)
        return false;
    char behind = shell_peek(p, n);
    return !behind || shell_is_meta(behind);
}

/* `case WORD in` */
static int read_case(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    size_t at = p->at;
    if (shell_need_word(p, at, "`case` needs a word behind it") < 0 || shell_pass_word(p) < 0)
        return -1;
    shell_skip_blanks(p, true);
    if (!next_is(p, "in"))
        return shell_fail(p, at, "`case` needs `in` behind its word");
    p->at += 2;
    l->cases++;
    l->pattern = true;
    return 0;
}

/* `a | b)`, with or without a `(` before it, or `esac`. */
int shell_read_pattern(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    shell_skip_blanks(p, true);
    size_t at = p->at;
    l->join = SHELL_COMPOUND;
    l->pattern = false;
    if (next_is(p, "esac")) {
        p->at += 4;
        l->cases--;
        l->join = SHELL_SEQUENCE;
        return 0;
    }
    for (;;) {
        shell_skip_blanks(p, false);
        char c = shell_peek(p, 0);
        if (p->at == p->text.n)
            return shell_fail(p, at, "a `)` must follow this pattern of `case`");
        if (c == '(' || c == ')' || c == '|') {
            p->at++;
            if (c == ')')
                return 0;
        } else if (shell_is_meta(c) && !shell_at_process(p)) {
            return shell_fail(p, p->at, "this cannot stand in a pattern of `case`; quote it");
        } else if (shell_pass_word(p) < 0) {
            return -1;
        }
    }
}

/* `for x in a b` and `for ((;;))`, up to what comes before `do`. */
static int read_for(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    shell_skip_blanks(p, false);
    size_t at = p->at;
    shell_mark(p, SHELL_COMPOUND, at);
    if (shell_is_arithmetic(p, at))
        return shell_skip_arithmetic(p);
    if (shell_need_word(p, at, "`for` needs a name behind it") < 0 || shell_pass_word(p) < 0)
        return -1;
    size_t behind = p->at;
    shell_skip_blanks(p, true);
    if (!next_is(p, "in")) {
        p->at = behind;
        return 0;
    }
    p->at += 2;
    for (;;) {
        shell_skip_blanks(p, false);
        if (p->at == p->text.n || (shell_is_meta(shell_peek(p, 0)) && !shell_at_process(p)))
            return 0;
        if (shell_pass_word(p) < 0)
            return -1;
    }
}

/* `function NAME` with or without `()`. */
static int read_function(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    size_t at = p->at;
    if (shell_need_word(p, at, "`function` needs a name behind it") < 0 || shell_pass_word(p) < 0)
        return -1;
    shell_skip_blanks(p, false);
    if (shell_peek(p, 0) != '(' || shell_is_arithmetic(p, p->at))
        return 0;
    size_t open = p->at++;
    shell_skip_blanks(p, false);
    if (shell_peek(p, 0) == ')')
        p->at++;
    else
        p->at = open;
    return 0;
}

/* `[[ ... ]]`: operators in it join no commands. */
static int read_conditional(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    size_t at = p->at - 2;
    shell_add_word(l, (struct shell_word){.text = STR("[[")}, at);
    for (;;) {
        struct shell_word word;
        shell_skip_blanks(p, true);
        if (p->at == p->text.n)
            return shell_fail(p, at, "no `]]` closes this `[[`");
        if (shell_is_meta(shell_peek(p, 0)) && !shell_at_process(p)) {
            p->at++;
            continue;
        }
        if (shell_read_word(p, &word) < 0)
            return -1;
        shell_add_word(l, word, at);
        if (word.flags == 0 && shell_word_is(&word, "]]"))
            break;
    }
    shell_end_command(l);
    return 0;
}

static int read_coproc(struct shell_list *l)
{
    shell_mark(l->p, SHELL_BACKGROUND, l->p->at);
    l->join = SHELL_BACKGROUND;
    l->coproc = true;
    return 0;
}

/* Behind then, else, elif and do another command comes, with or without a `;` in between. */
static int read_then(struct shell_list *l)
{
    shell_mark(l->p, SHELL_COMPOUND, l->p->at);
    l->join = SHELL_COMPOUND;
    return 0;
}

static int read_esac(struct shell_list *l)
{
    if (l->cases)
        l->cases--;
    return 0;
}

static int read_nothing(struct shell_list *l)
{
    (void)l;
    return 0;
}

static const struct shell_reserved reserved[] = {
    {"!", read_nothing},      {"{", read_nothing},     {"}", read_nothing},
    {"if", read_nothing},     {"fi", read_nothing},    {"while", read_nothing},
    {"until", read_nothing},  {"done", read_nothing},  {"then", read_then},
    {"else", read_then},      {"elif", read_then},     {"do", read_then},
    {"case", read_case},      {"esac", read_esac},     {"for", read_for},
    {"select", read_for},     {"coproc", read_coproc}, {"function", read_function},
    {"[[", read_conditional},
};

const struct shell_reserved *shell_find_reserved(const struct shell_word *word)
{
    for (size_t i = 0; word->flags == 0 && i < ARRAY_LEN(reserved); i++) {
        if (shell_word_is(word, reserved[i].word))
            return &reserved[i];
    }
    return NULL;
}
