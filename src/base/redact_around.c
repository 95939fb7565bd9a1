/* What stands around a secret: how it is made, and who reads the text that it is in. */
#include <strings.h>

#include "base/redact_parts.h"
#include "base/str.h"

/* Words looked at before a quoted text, and bytes of them. */
#define WORDS_MAX 4
#define WORD_MAX 16

/* The word before a header's secret tells how it is made: it stays where it is known to be none itself. */
void redact_keep_scheme(const struct redact_text *t, struct redact_span *span)
{
    static const char *const schemes[] = {"basic", "bearer", "digest", "token", "negotiate"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (span->to - span->from > n + 1 && t->p[span->from + n] == ' ' &&
            strncasecmp(t->p + span->from, schemes[i], n) == 0) {
            span->from += n + 1;
            return;
        }
    }
}

/* The word that ends before `at`, behind blanks. */
static struct str word_before_blanks(const struct redact_text *t, size_t at)
{
    size_t low = at > WORD_MAX ? at - WORD_MAX : 0;
    while (at > low && (t->p[at - 1] == ' ' || t->p[at - 1] == '\t'))
        at--;
    size_t end = at;
    while (at > low && (unsigned char)t->p[at - 1] > ' ' && !strchr("'\"`;&|(", t->p[at - 1]))
        at--;
    return (struct str){t->p + at, end - at};
}

bool redact_is_script(const struct redact_text *t, size_t quote)
{
    struct str word = {t->p + quote, 0};
    for (unsigned i = 0; i < WORDS_MAX; i++) {
        word = word_before_blanks(t, (size_t)(word.p - t->p));
        if (i == 0 && (str_is(word, "eval") || str_is(word, "trap")))
            return true;
        if (word.n < 2 || word.p[0] != '-')
            return false;
        if (word.p[1] != '-' && memchr(word.p, 'c', word.n))
            return true;
    }
    return false;
}

size_t redact_operator(const struct redact_text *t, size_t from, size_t to)
{
    while (from < to && (t->p[from] == '\0' || !strchr(";&|\n", t->p[from])))
        from++;
    return from;
}
