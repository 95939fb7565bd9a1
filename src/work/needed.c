#include "work/needed.h"

#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

/* Deeper groups are not looked into. */
#define DEPTH_MAX 32
/* A run of several texts ends when it is that long: more bytes do not make lines with it rarer. */
#define RUN_BYTES 1024
/* A text that is longer is not on fewer lines. */
#define LENGTH_COUNTED 8
/* A larger set in brackets is not taken apart. */
#define LETTERS_MAX 4

enum atom { ATOM_NONE, ATOM_CHAR, ATOM_GROUP };

/* A group, or the whole pattern. */
struct level {
    struct level *outer;
    /* The branch at hand. */
    struct texts run;    /* a match has one of these just before what comes next */
    struct texts before; /* the run without the last atom, which is a group */
    struct texts best;   /* of the sets that the branch needs; empty: none */
    size_t best_worth;
    struct texts group; /* needed by the last atom: counts unless that may be missing */
    enum atom last;
    size_t last_bytes; /* of a character */
    bool exact;        /* up to here a match is the run and nothing else */
    /* The branches before. */
    struct texts all;
    struct texts all_exact;
    bool lost; /* one of them needs nothing */
    bool inexact;
};

struct needed {
    struct level *level;
    int depth;
    int ignored; /* groups that are open beyond DEPTH_MAX */
};

static void begin_branch(struct level *l)
{
    texts_restart(&l->run);
    texts_clear(&l->best);
    l->best_worth = 0;
    texts_clear(&l->group);
    l->last = ATOM_NONE;
    l->exact = true;
}

static struct level *level_new(struct level *outer)
{
    struct level *l = mem_zero(sizeof *l);
    struct texts *every[] = {&l->run, &l->before, &l->best, &l->group, &l->all, &l->all_exact};
    for (size_t i = 0; i < ARRAY_LEN(every); i++)
        texts_init(every[i]);
    l->outer = outer;
    begin_branch(l);
    return l;
}

static void level_free(struct level *l)
{
    struct texts *every[] = {&l->run, &l->before, &l->best, &l->group, &l->all, &l->all_exact};
    for (size_t i = 0; i < ARRAY_LEN(every); i++)
        texts_done(every[i]);
    free(l);
}

struct needed *needed_new(void)
{
    struct needed *needed = mem_zero(sizeof *needed);
    needed->level = level_new(NULL);
    return needed;
}

void needed_free(struct needed *needed)
{
    if (!needed)
        return;
    while (needed->level) {
        struct level *l = needed->level;
        needed->level = l->outer;
        level_free(l);
    }
    free(needed);
}

/* Words that are on many lines of source code: a text that consists of them finds too many. */
static const char *const common_words[] = {
    "bool",    "case",   "char",   "class",    "const",  "def",    "default", "do",      "else",
    "elif",    "end",    "enum",   "error",    "export", "extern", "false",   "float",   "for",
    "from",    "func",   "fn",     "function", "goto",   "if",     "impl",    "import",  "in",
    "include", "int",    "is",     "let",      "long",   "new",    "not",     "null",    "of",
    "or",      "pub",    "return", "self",     "short",  "size",   "sizeof",  "static",  "string",
    "struct",  "switch", "the",    "this",     "to",     "true",   "type",    "typedef", "unsigned",
    "use",     "using",  "var",    "void",     "while",  "with",
};

static bool is_needed_word_char(char c)
{
    char lower = (char)(c | 0x20);
    return c == '_' || (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

static bool is_common(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(common_words); i++) {
        if (strlen(common_words[i]) == word.n && strncasecmp(common_words[i], word.p, word.n) == 0)
            return true;
    }
    return false;
}

/* Its length without common words, as far as that counts. */
static size_t weight(struct str text)
{
    size_t counted = 0;
    for (size_t i = 0; i < text.n && counted < LENGTH_COUNTED;) {
        size_t end = i;
        while (end < text.n && is_needed_word_char(text.p[end]))
            end++;
        struct str word = {text.p + i, end - i};
        if (word.n > 0 && !is_common(word))
            counted += word.n;
        counted += word.n == 0;
        i = end + (word.n == 0);
    }
    return counted < LENGTH_COUNTED ? counted : LENGTH_COUNTED;
}

/* How good a set is to look for: long texts first, then few. One byte is looked for alone or not at all. */
static size_t worth(const struct texts *texts)
{
    size_t shortest = texts_shortest(texts);
    size_t least = LENGTH_COUNTED;
    if (texts->bytes.failed || shortest < (texts->n > 1 ? 2 : 1))
        return 0;
    for (struct str text = {0}; texts_next(texts, &text);) {
        size_t here = weight(text);
        least = here < least ? here : least;
    }
    size_t few = texts->n == 1 ? 3 : texts->n <= 8 ? 2 : 1;
    return (least * 2 + few) * TEXTS_BYTES + shortest;
}

static void offer(struct level *l, const struct texts *texts)
{
    size_t here = worth(texts);
    if (here <= l->best_worth)
        return;
    texts_copy(&l->best, texts);
    l->best_worth = here;
}

/* What came last is there at least once. */
static void settle_last_atom(struct level *l)
{
    if (l->group.n)
        offer(l, &l->group);
    texts_clear(&l->group);
    l->last = ATOM_NONE;
}

static void end_run(struct level *l)
{
    offer(l, &l->run);
    texts_restart(&l->run);
    l->exact = false;
}

void needed_char(struct needed *needed, struct str c)
{
    struct level *l = needed->level;
    if (needed->ignored)
        return;
    settle_last_atom(l);
    bool full = l->run.bytes.len > (l->run.n > 1 ? RUN_BYTES : TEXTS_BYTES / 2);
    if (full || c.p[0] == '\0')
        end_run(l);
    if (c.p[0] == '\0')
        return;
    texts_extend(&l->run, c);
    l->last = ATOM_CHAR;
    l->last_bytes = c.n;
}

void needed_gap(struct needed *needed)
{
    if (needed->ignored)
        return;
    settle_last_atom(needed->level);
    end_run(needed->level);
}

void needed_open(struct needed *needed)
{
    if (needed->ignored || needed->depth == DEPTH_MAX) {
        needed->ignored++;
        return;
    }
    settle_last_atom(needed->level);
    needed->level = level_new(needed->level);
    needed->depth++;
}

static void end_branch(struct level *l)
{
    settle_last_atom(l);
    if (!l->exact || !texts_join(&l->all_exact, &l->run))
        l->inexact = true;
    end_run(l);
    if (l->best.n == 0 || !texts_join(&l->all, &l->best))
        l->lost = true;
}

void needed_or(struct needed *needed)
{
    if (needed->ignored)
        return;
    end_branch(needed->level);
    begin_branch(needed->level);
}

/* The group as one atom of the level around it. */
static void add_group_to_level(struct level *l, const struct level *inner)
{
    texts_copy(&l->before, &l->run);
    bool exact = !inner->inexact && texts_multiply(&l->run, &inner->all_exact);
    if (!exact)
        end_run(l);
    if (!inner->lost)
        texts_copy(&l->group, &inner->all);
    l->last = exact ? ATOM_GROUP : ATOM_NONE;
}

void needed_close(struct needed *needed)
{
    if (needed->ignored) {
        if (--needed->ignored == 0)
            needed_gap(needed);
        return;
    }
    struct level *inner = needed->level;
    if (!inner->outer)
        return;
    end_branch(inner);
    needed->level = inner->outer;
    needed->depth--;
    add_group_to_level(needed->level, inner);
    level_free(inner);
}

/* The run without its last atom. */
static void take_last_atom_back(struct level *l)
{
    if (l->last == ATOM_CHAR)
        texts_shorten(&l->run, l->last_bytes);
    else if (l->last == ATOM_GROUP)
        texts_copy(&l->run, &l->before);
    texts_clear(&l->group);
}

/* With the last atom and without it. */
static bool make_optional(struct level *l)
{
    struct texts with;
    if (l->last == ATOM_NONE || l->run.n * 2 > TEXTS_PRODUCT_MAX)
        return false;
    texts_init(&with);
    texts_copy(&with, &l->run);
    take_last_atom_back(l);
    offer(l, &l->run);
    bool joined = texts_join(&l->run, &with);
    texts_done(&with);
    l->last = ATOM_NONE;
    return joined;
}

void needed_repeat(struct needed *needed, enum needed_repeat how)
{
    struct level *l = needed->level;
    if (needed->ignored)
        return;
    if (how == NEEDED_OPTIONAL && make_optional(l))
        return;
    if (how != NEEDED_SOME)
        take_last_atom_back(l);
    settle_last_atom(l);
    end_run(l);
}

void needed_end(struct needed *needed, struct texts *ret, bool *ret_exact)
{
    struct level *l = needed->level;
    bool whole = !l->outer && !needed->ignored;
    end_branch(l);
    texts_clear(ret);
    *ret_exact = whole && !l->inexact && texts_shortest(&l->all_exact) > 0;
    if (*ret_exact)
        texts_copy(ret, &l->all_exact);
    else if (whole && !l->lost)
        texts_copy(ret, &l->all);
    if (ret->bytes.failed)
        texts_clear(ret);
}

static bool is_plain_letter_set(struct str letters)
{
    for (size_t i = 0; i < letters.n; i++) {
        unsigned char c = (unsigned char)letters.p[i];
        unsigned char lower = c | 0x20;
        if (c != '_' && (c < '0' || c > '9') && (lower < 'a' || lower > 'z'))
            return false;
    }
    return letters.n > 0 && letters.n <= LETTERS_MAX;
}

void needed_set(struct needed *needed, struct str inside)
{
    if (!is_plain_letter_set(inside)) {
        needed_gap(needed);
        return;
    }
    needed_open(needed);
    for (size_t i = 0; i < inside.n; i++) {
        if (i > 0)
            needed_or(needed);
        needed_char(needed, (struct str){inside.p + i, 1});
    }
    needed_close(needed);
}
