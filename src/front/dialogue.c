#include "front/dialogue.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gate/decide.h"

#define TEXT_MAX ((size_t)64 << 20)
/* Rows of a screen that are the question's own. */
#define OWN_ROWS 6
#define PAGE_MIN 8

enum choice_kind { CHOICE_NO, CHOICE_YES, CHOICE_VIEW, CHOICE_HELP };

struct choice {
    const char *letter;
    const char *word;
    const char *label; /* in the question; NULL: another one is */
    enum choice_kind kind;
    enum approval_scope scope;
    const char *help;
};

static const struct choice choices[] = {
    {"y", "yes", "[y]es", CHOICE_YES, APPROVE_ONCE, "let this call run, once"},
    {"o", "once", NULL, CHOICE_YES, APPROVE_ONCE, "the same"},
    {"s", "session", "this [s]ession", CHOICE_YES, APPROVE_SESSION,
     "yes, and to calls like it until the session ends"},
    {"a", "always", "[a]lways", CHOICE_YES, APPROVE_ALWAYS,
     "yes, and to calls like it from now on; the rule is shown before it is written"},
    {"n", "no", "[n]o", CHOICE_NO, APPROVE_ONCE, "refuse this call"},
    {"d", "deny", NULL, CHOICE_NO, APPROVE_ONCE, "the same"},
    {"v", "view", "[v]iew", CHOICE_VIEW, APPROVE_ONCE, "show all of the call, a page at a time"},
    {"?", "help", "[?]", CHOICE_HELP, APPROVE_ONCE, "show this"},
};

static bool is_offered(const struct dialogue *d, const struct choice *choice)
{
    return choice->kind != CHOICE_YES || decide_offers(d->approval, choice->scope);
}

static enum dialogue_result put_dialogue_text(struct dialogue *d, const struct buf *text)
{
    if (text->failed || !terminal_say(d->terminal, buf_str(text)))
        return DIALOGUE_UNSHOWN;
    return DIALOGUE_ASKS;
}

static size_t unseen(const struct dialogue *d)
{
    size_t seen = d->seen.head + d->seen.tail;
    return seen < d->seen.total ? d->seen.total - seen : 0;
}

static size_t page_rows(const struct dialogue *d)
{
    size_t height = terminal_height(d->terminal);
    return height < PAGE_MIN + OWN_ROWS ? PAGE_MIN : height - OWN_ROWS;
}

/* --- the question */

/* The line that is answered. What was typed before it stood there is no answer. */
static enum dialogue_result put_choice(struct dialogue *d, const char *before)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    buf_add_text(&out, before);
    if (unseen(d))
        buf_addf(&out, "(%zu more lines that you have not seen: v shows them)\n", unseen(d));
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        if (choices[i].label && is_offered(d, &choices[i]))
            buf_addf(&out, "%s%s", i ? "  " : "", choices[i].label);
    }
    buf_add_text(&out, ": ");
    terminal_forget_input(d->terminal);
    d->step = DIALOGUE_CHOICE;
    return put_dialogue_text(d, &out);
}

enum dialogue_result dialogue_again(struct dialogue *d)
{
    return put_choice(d, "");
}

enum dialogue_result dialogue_begin(struct dialogue *d, struct terminal *terminal,
                                    const struct approval *approval)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    *d = (struct dialogue){.terminal = terminal, .approval = approval};
    d->style = terminal_style(terminal);
    buf_addf(&out, "\nsandgate: a call waits for your yes (%s, ", approval->id);
    approval_text_time(approval->expires_ms - clock_unix_ms(), &out);
    buf_add_text(&out, " left)\n");
    approval_text_excerpt(approval, &d->style, page_rows(d), &d->seen, &out);
    buf_addf(&out, "  (end of the call: %zu lines)\n", d->seen.total);
    if (put_dialogue_text(d, &out) == DIALOGUE_UNSHOWN)
        return DIALOGUE_UNSHOWN;
    return dialogue_again(d);
}

static enum dialogue_result put_help(struct dialogue *d)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        if (is_offered(d, &choices[i]))
            buf_addf(&out, "  %s, %-8s %s\n", choices[i].letter, choices[i].word, choices[i].help);
    }
    buf_add_text(&out,
                 "  What stands behind | is the call's own text; > goes on with a long line.\n"
                 "  Without an answer the call is refused when its time is over.\n");
    return put_choice(d, buf_text(&out) ? buf_text(&out) : "");
}

static enum dialogue_result put_hint(struct dialogue *d)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    const char *before = "sandgate: that is no answer; type ";
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        if (!choices[i].label || !is_offered(d, &choices[i]))
            continue;
        buf_addf(&out, "%s%s (%s)", before, choices[i].letter, choices[i].word);
        before = i + 2 == ARRAY_LEN(choices) ? " or " : ", ";
    }
    buf_add_char(&out, '\n');
    return put_choice(d, buf_text(&out) ? buf_text(&out) : "");
}

/* Shows the rule that would be written. */
static enum dialogue_result put_confirmation(struct dialogue *d)
{
    const char *rule = d->approval->proposal;
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    struct approval_style style = terminal_style(d->terminal);
    buf_add_text(&out,
                 "this rule would be for always, in approved.json of the configuration folder:\n");
    approval_text_rule((struct str){rule, strlen(rule)}, &style, &out);
    buf_add_text(&out, "write it? [y/n]: ");
    terminal_forget_input(d->terminal);
    d->step = DIALOGUE_CONFIRM;
    return put_dialogue_text(d, &out);
}

/* --- the pager */

/* In a terminal of another width the rows are others: none of them was seen. */
static void notice_width(struct dialogue *d)
{
    struct approval_style style = terminal_style(d->terminal);
    if (style.width == d->style.width)
        return;
    d->style = style;
    d->seen = (struct approval_seen){.total = approval_rows_count(d->approval, &style)};
    d->at = 0;
}

/* The rows from `d->at` on, and behind the last of them the question again. */
static enum dialogue_result put_page(struct dialogue *d)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    notice_width(d);
    size_t first = d->at;
    size_t left = d->seen.total - first;
    size_t n = left < page_rows(d) ? left : page_rows(d);
    approval_rows_add(d->approval, &d->style, first, n, &out);
    d->at = first + n;
    bool last = d->at == d->seen.total;
    if (last)
        buf_addf(&out, "  (end of the call: %zu lines)\n", d->seen.total);
    else
        buf_addf(&out, "lines %zu-%zu of %zu: Enter for more, G to the end, q back: ", first + 1,
                 d->at, d->seen.total);
    d->step = DIALOGUE_VIEW;
    terminal_forget_input(d->terminal);
    if (put_dialogue_text(d, &out) == DIALOGUE_UNSHOWN)
        return DIALOGUE_UNSHOWN;
    if (first <= d->seen.head && d->at > d->seen.head)
        d->seen.head = d->at;
    if (last && n > d->seen.tail)
        d->seen.tail = n;
    return last ? dialogue_again(d) : DIALOGUE_ASKS;
}

static enum dialogue_result take_view(struct dialogue *d)
{
    size_t page = page_rows(d);
    notice_width(d);
    if (terminal_is_line(d->terminal, "q"))
        return dialogue_again(d);
    if (terminal_is_line(d->terminal, "g") && d->seen.total - d->at > page)
        d->at = d->seen.total - page;
    return put_page(d);
}

/* --- answers */

static const struct choice *find_choice(const struct dialogue *d)
{
    FREE_AT_END char *approve = mem_format("/approve %s", d->approval->id);
    FREE_AT_END char *deny = mem_format("/deny %s", d->approval->id);
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        const struct choice *c = &choices[i];
        const char *chat = c->kind == CHOICE_YES ? approve : c->kind == CHOICE_NO ? deny : "";
        if (!is_offered(d, c))
            continue;
        if (terminal_is_line(d->terminal, c->letter) || terminal_is_line(d->terminal, c->word) ||
            (c->scope == APPROVE_ONCE && chat[0] && terminal_is_line(d->terminal, chat)))
            return c;
    }
    return NULL;
}

static enum dialogue_result take_choice(struct dialogue *d, struct approval_decision *ret)
{
    const struct choice *choice = find_choice(d);
    if (!choice)
        return terminal_is_line(d->terminal, "") ? dialogue_again(d) : put_hint(d);
    if (choice->kind == CHOICE_HELP)
        return put_help(d);
    if (choice->kind == CHOICE_VIEW) {
        d->at = 0;
        return put_page(d);
    }
    if (choice->scope == APPROVE_ALWAYS)
        return put_confirmation(d);
    ret->yes = choice->kind == CHOICE_YES;
    ret->scope = choice->scope;
    return DIALOGUE_DECIDED;
}

static enum dialogue_result take_confirmation(struct dialogue *d, struct approval_decision *ret)
{
    if (terminal_is_line(d->terminal, "n") || terminal_is_line(d->terminal, "no"))
        return dialogue_again(d);
    if (!terminal_is_line(d->terminal, "y") && !terminal_is_line(d->terminal, "yes"))
        return put_confirmation(d);
    ret->yes = true;
    ret->scope = APPROVE_ALWAYS;
    return DIALOGUE_DECIDED;
}

static enum dialogue_result take_dialogue_line(struct dialogue *d, struct approval_decision *ret)
{
    if (d->step == DIALOGUE_VIEW)
        return take_view(d);
    return d->step == DIALOGUE_CONFIRM ? take_confirmation(d, ret) : take_choice(d, ret);
}

enum dialogue_result dialogue_take(struct dialogue *d, struct approval_decision *ret)
{
    enum dialogue_result result = DIALOGUE_ASKS;
    switch (terminal_read(d->terminal)) {
    case INPUT_NONE:
        return DIALOGUE_ASKS;
    case INPUT_LINE:
        result = take_dialogue_line(d, ret);
        break;
    case INPUT_SEVERAL:
        result = d->step == DIALOGUE_VIEW
                     ? put_page(d)
                     : put_choice(d, "sandgate: that was more than one line at once; type the "
                                     "answer\n");
        break;
    case INPUT_END:
        result = DIALOGUE_END;
        break;
    }
    d->terminal->n = 0;
    return result;
}
