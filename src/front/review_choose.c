#include "front/review_choose.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/glob.h"

#define DIGITS_MAX 9

static void add_choice(struct review_choice *choice, char *text)
{
    choice->texts = mem_grow(choice->texts, choice->n + 1, sizeof *choice->texts);
    choice->paths = mem_grow(choice->paths, choice->n + 1, sizeof *choice->paths);
    choice->texts[choice->n] = text;
    choice->paths[choice->n++] = str_of(text);
}

/* A name that looks like a pattern means itself. */
static char *plain_path(struct str path)
{
    char *text = mem_zero(2 * path.n + 1);
    bool pattern = glob_is_pattern(path);
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++) {
        if (pattern && strchr("*?[]{}\\!", path.p[i]))
            text[n++] = '\\';
        text[n++] = path.p[i];
    }
    return text;
}

/* A renamed one is at both of its paths. */
static void add_chosen_change(struct review_choice *choice, const struct change *change)
{
    add_choice(choice, plain_path(change->of.path));
    if (change->from.n)
        add_choice(choice, plain_path(change->from));
}

/* 0: it is none. */
static size_t take_number(const char **at, const char *end)
{
    size_t number = 0;
    const char *from = *at;
    for (; *at < end && **at >= '0' && **at <= '9' && *at - from < DIGITS_MAX; ++*at)
        number = number * 10 + (size_t)(**at - '0');
    return number;
}

/* 1: it was numbers; 0: it is something else. */
static int add_numbers(struct review_choice *choice, const struct change_list *changes,
                       struct str word, struct err *err)
{
    const char *at = word.p;
    const char *end = word.p + word.n;
    size_t first = take_number(&at, end);
    size_t last = first;
    if (first && at + 1 < end && *at == '-') {
        at++;
        last = take_number(&at, end);
    }
    if (first == 0 || at != end)
        return 0;
    size_t told = 0;
    for (size_t i = 0; i < changes->n; i++) {
        told += !changes->all[i].gone;
        if (!changes->all[i].gone && told >= first && told <= last)
            add_chosen_change(choice, &changes->all[i]);
    }
    if (last < first || last > told)
        return err_set(err, ERR_INVALID_ARGUMENTS, "there are changes 1 to %zu, and no %.*s", told,
                       (int)word.n, word.p);
    return 1;
}

int review_choose(const struct change_list *changes, struct str line, struct review_choice *ret,
                  struct err *err)
{
    *ret = (struct review_choice){.n = 0};
    for (size_t at = 0; at < line.n;) {
        size_t n = 0;
        while (at + n < line.n && line.p[at + n] != ' ' && line.p[at + n] != ',')
            n++;
        struct str word = {line.p + at, n};
        at += n + 1;
        int r = n ? add_numbers(ret, changes, word, err) : 1;
        if (r < 0)
            return -1;
        if (r == 0)
            add_choice(ret, mem_copy(word.p, word.n));
    }
    return 0;
}

void review_choice_done(struct review_choice *choice)
{
    for (size_t i = 0; i < choice->n; i++)
        free(choice->texts[i]);
    free(choice->texts);
    free(choice->paths);
}
