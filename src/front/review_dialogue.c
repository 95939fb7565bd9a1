#include "front/review_dialogue.h"

#include <string.h>

#include "base/mem.h"
#include "base/screen_reset.h"
#include "front/review_pager.h"
#include "front/review_summary.h"

#define TEXT_MAX ((size_t)64 << 20)
/* Rows of a screen that are no changes. */
#define OWN_ROWS 6
#define LIST_MIN 5

struct dialog {
    struct terminal terminal;
    struct named *named;
    struct session_changes *changes;
    enum review_end end;
};

enum step { STEP_AGAIN, STEP_OVER, STEP_GONE };

static bool say(struct dialog *d, const char *text)
{
    return terminal_say(&d->terminal, (struct str){text, strlen(text)});
}

static enum step tell_review_error(struct dialog *d, const struct err *err)
{
    FREE_AT_END char *text = mem_format("sandgate: %s\n", err->message);
    return say(d, text) ? STEP_AGAIN : STEP_GONE;
}

static enum step show_patch(struct dialog *d)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    struct session_changes *c = d->changes;
    struct err err;
    for (size_t i = 0; i < c->list.n; i++) {
        bool whole;
        const struct change *change = &c->list.all[i];
        if (change->gone)
            continue;
        if (session_changes_patch(c, change, &whole, &text, &err) < 0)
            return tell_review_error(d, &err);
        if (!whole)
            change_write_line(change, &text);
    }
    return review_page(&d->terminal, buf_str(&text), true) ? STEP_AGAIN : STEP_GONE;
}

static enum step show_list(struct dialog *d)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    review_list_all(d->changes, &text);
    return review_page(&d->terminal, buf_str(&text), false) ? STEP_AGAIN : STEP_GONE;
}

static enum step keep(struct dialog *d)
{
    d->end = REVIEW_KEEP;
    return STEP_OVER;
}

static enum step discard(struct dialog *d)
{
    size_t n = session_changes_count(d->changes);
    FREE_AT_END char *question = mem_format("%zu %s will be lost. Discard? [y/n]: ", n,
                                            n == 1 ? "change" : "changes");
    do {
        if (!review_read_answer(&d->terminal, question))
            return STEP_GONE;
        if (terminal_is_line(&d->terminal, "n") || terminal_is_line(&d->terminal, "no"))
            return STEP_AGAIN;
    } while (!terminal_is_line(&d->terminal, "y") && !terminal_is_line(&d->terminal, "yes"));
    d->end = REVIEW_DISCARD;
    return STEP_OVER;
}

static enum step help(struct dialog *d);

static const struct choice {
    const char *letter;
    const char *word;
    const char *label;
    enum step (*take)(struct dialog *d);
    const char *help;
} choices[] = {
    {"d", "diff", "show the [d]iff", show_patch, "the changes as a patch, a page at a time"},
    {"l", "list", "[l]ist", show_list, "all changes, a line each"},
    {"k", "keep", "[k]eep for later", keep, "leave them in the session"},
    {"x", "discard", "discard [x]", discard, "drop all of them; the project stays as it is"},
    {"?", "help", "[?]", help, "show this"},
};

static enum step help(struct dialog *d)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(choices); i++)
        buf_addf(&out, "  %s, %-8s %s\n", choices[i].letter, choices[i].word, choices[i].help);
    return terminal_say(&d->terminal, buf_str(&out)) ? STEP_AGAIN : STEP_GONE;
}

static enum step take_review_answer(struct dialog *d)
{
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        if (terminal_is_line(&d->terminal, choices[i].letter) ||
            terminal_is_line(&d->terminal, choices[i].word))
            return choices[i].take(d);
    }
    return terminal_is_line(&d->terminal, "") ? STEP_AGAIN : help(d);
}

static enum step ask_once(struct dialog *d)
{
    BUF_AT_END struct buf question = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(choices); i++)
        buf_addf(&question, "%s%s", i ? "  " : "", choices[i].label);
    buf_add_text(&question, ": ");
    const char *text = buf_text(&question);
    if (!text || !review_read_answer(&d->terminal, text))
        return STEP_GONE;
    return take_review_answer(d);
}

static int converse(struct dialog *d, struct err *err)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    size_t height = terminal_height(&d->terminal);
    size_t rows = height < LIST_MIN + OWN_ROWS ? LIST_MIN : height - OWN_ROWS;
    buf_add_text(&out, screen_reset_before_question());
    if (review_summary(d->changes, d->named, rows, &out, err) < 0)
        return -1;
    enum step step = terminal_say(&d->terminal, buf_str(&out)) ? STEP_AGAIN : STEP_GONE;
    while (step == STEP_AGAIN)
        step = ask_once(d);
    if (step == STEP_GONE)
        say(d, "\n");
    return 0;
}

int review_ask(struct named *named, const struct options *o, enum review_end *ret, size_t *ret_left,
               struct err *err)
{
    CLEANUP(session_changes_close) struct session_changes changes;
    struct dialog d = {.named = named, .changes = &changes, .end = REVIEW_KEEP};
    if (session_changes_open(named, o, &changes, err) < 0)
        return -1;
    *ret_left = session_changes_count(&changes);
    *ret = REVIEW_EMPTY;
    if (*ret_left == 0)
        return 0;
    *ret = REVIEW_NOBODY;
    if (!review_terminal_open(&d.terminal))
        return 0;
    int r = converse(&d, err);
    terminal_close(&d.terminal);
    *ret = d.end;
    return r;
}
