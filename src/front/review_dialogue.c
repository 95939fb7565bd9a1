#include "front/review_dialogue.h"

#include <string.h>

#include "base/mem.h"
#include "base/screen_reset.h"
#include "front/review_pager.h"
#include "front/review_summary.h"
#include "front/review_take.h"

#define TEXT_MAX ((size_t)64 << 20)
/* Rows of a screen that are no changes. */
#define OWN_ROWS 6
#define LIST_MIN 5

struct dialog {
    struct terminal terminal;
    struct named *named;
    struct session_changes *changes;
    struct review_choice choice; /* STEP_TAKE: which are taken over */
    enum review_end end;
};

enum step { STEP_AGAIN, STEP_OVER, STEP_TAKE, STEP_GONE };

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

static enum step take_all(struct dialog *d)
{
    (void)d;
    return STEP_TAKE;
}

static enum step take_some(struct dialog *d)
{
    struct err err;
    if (!review_read_answer(&d->terminal, "which? numbers (1 3-5), paths or globs; Enter: back: "))
        return STEP_GONE;
    struct str line = {d->terminal.line, d->terminal.n};
    int r = review_choose(&d->changes->list, line, &d->choice, &err);
    if (r == 0 && d->choice.n)
        return STEP_TAKE;
    review_choice_done(&d->choice);
    d->choice = (struct review_choice){.n = 0};
    return r < 0 ? tell_review_error(d, &err) : STEP_AGAIN;
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
    {"c", "commit", "[c]ommit", take_all, "take all changes over into the project"},
    {"s", "some", "commit [s]ome", take_some, "take those over that you name"},
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

static int converse(struct dialog *d, enum step *ret, struct err *err)
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
    *ret = step;
    return 0;
}

/* Shows what there is, and asks. STEP_OVER: `end` is what to do. */
static int ask_about(struct dialog *d, const struct options *o, enum step *ret, size_t *ret_left,
                     struct err *err)
{
    CLEANUP(session_changes_close) struct session_changes changes;
    d->changes = &changes;
    if (session_changes_open(d->named, o, &changes, err) < 0)
        return -1;
    *ret = STEP_OVER;
    *ret_left = session_changes_count(&changes);
    if (*ret_left == 0)
        d->end = REVIEW_EMPTY;
    else if (d->terminal.fd >= 0 || review_terminal_open(&d->terminal))
        return converse(d, ret, err);
    else
        d->end = REVIEW_NOBODY;
    return 0;
}

/* The cell that lists the changes has ended when others are taken over, and there may be some left. */
static int ask_until_over(struct dialog *d, const struct options *o, size_t *ret_left,
                          struct err *err)
{
    for (;;) {
        enum step step;
        if (ask_about(d, o, &step, ret_left, err) < 0)
            return -1;
        if (step != STEP_TAKE)
            return 0;
        bool there = review_take(&d->terminal, d->named, o, &d->choice);
        review_choice_done(&d->choice);
        d->choice = (struct review_choice){.n = 0};
        if (!there)
            return 0;
    }
}

int review_ask(struct named *named, const struct options *o, enum review_end *ret, size_t *ret_left,
               struct err *err)
{
    struct dialog d = {.named = named, .terminal = {.fd = -1, .lock_fd = -1}, .end = REVIEW_KEEP};
    int r = ask_until_over(&d, o, ret_left, err);
    terminal_close(&d.terminal);
    *ret = d.end;
    return r;
}
