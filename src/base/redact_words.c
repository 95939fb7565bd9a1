/* Secrets in lists of words, whose ends are known whatever stands in them. */
#include "base/redact_parts.h"

/* How much of the words before one is looked at. */
#define BEFORE_MAX 256

/* What ends or joins words in a text, and may be part of a word in a list. */
static bool is_special(char c)
{
    return (unsigned char)c <= ' ' || strchr(";&|)<>\"'`\\", c);
}

static bool has_special(struct str word)
{
    for (size_t i = 0; i < word.n; i++) {
        if (is_special(word.p[i]))
            return true;
    }
    return false;
}

static void add_without_special(struct str word, struct buf *out)
{
    for (size_t i = 0; i < word.n; i++)
        buf_add_char(out, is_special(word.p[i]) ? '_' : word.p[i]);
}

/* `-c`, `-lc`: what follows is a script, in which words end as in any text. */
static bool takes_script(const struct redact_text *t, size_t from, size_t end)
{
    return end - from >= 2 && end - from <= 4 && t->p[from] == '-' && t->p[end - 1] == 'c';
}

static bool behind_option(const struct redact_text *t, size_t option, size_t word,
                          struct redact_span *ret)
{
    if (option >= word || t->p[option] != '-' || t->n - option <= 2)
        return false;
    return (redact_option(t, option, ret) || redact_command_option(t, option, ret)) &&
           ret->from >= word;
}

/* `NAME=value` and the like, as a whole word. */
static bool assigned(const struct redact_text *t, size_t word, struct redact_span *ret)
{
    for (size_t i = word; i < t->n && i - word < 2 * REDACT_NAME_MAX; i++) {
        char c = t->p[i];
        if (c == '=' || c == ':')
            return redact_assigned(t, i, ret);
        if (!redact_is_alnum(c) && !strchr("_-.[]", c))
            return false;
    }
    return false;
}

static size_t secret_at(const struct redact_text *t, size_t last, size_t word)
{
    struct redact_span span;
    if (behind_option(t, last, word, &span))
        return word;
    if (t->n - word > 2 && t->p[word] == '-' && redact_command_option(t, word, &span))
        return span.from;
    bool script = word && takes_script(t, last, word - 1);
    return !script && assigned(t, word, &span) ? span.from : t->n;
}

size_t redact_in_word(struct str before, size_t last, struct str word)
{
    if (!has_special(word))
        return word.n;
    BUF_AT_END struct buf text = BUF_INIT(BEFORE_MAX + 1 + word.n);
    size_t skipped = before.n > BEFORE_MAX ? before.n - BEFORE_MAX : 0;
    buf_add(&text, before.p + skipped, before.n - skipped);
    size_t from = text.len;
    add_without_special(word, &text);
    if (text.failed)
        return 0;
    struct redact_text t = {.p = text.data, .n = text.len};
    return secret_at(&t, last > skipped ? last - skipped : 0, from) - from;
}
