#include "front/review_take.h"

#include <string.h>

#include "base/mem.h"

#define TEXT_MAX ((size_t)16 << 20)

struct taking {
    struct terminal *terminal;
    struct committing_gate *gate;
    struct commit_choice choice;
    struct commit_plan plan;
    bool gone; /* the terminal is */
};

static void taking_done(struct taking *t)
{
    commit_plan_done(&t->plan);
    committing_close(t->gate);
}

static bool say_to(struct taking *t, struct buf *text)
{
    t->gone |= text->failed || !terminal_say(t->terminal, buf_str(text));
    return !t->gone;
}

static void tell_not_taken(struct taking *t, const struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    buf_addf(&text, "sandgate: %s\n", err->message);
    say_to(t, &text);
}

/* One of the letters; 0: the terminal is gone. */
static char read_letter(struct taking *t, const char *question, const char *letters)
{
    while (review_read_answer(t->terminal, question)) {
        for (const char *letter = letters; *letter; letter++) {
            char word[2] = {*letter, '\0'};
            if (terminal_is_line(t->terminal, word))
                return *letter;
        }
    }
    t->gone = true;
    return '\0';
}

static bool say_items(struct taking *t, size_t n, const char *what, enum commit_bar bar)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    buf_addf(&text, "%zu of the changes %s:\n", n, what);
    for (size_t i = 0; i < t->plan.n; i++) {
        const struct commit_item *item = &t->plan.items[i];
        if (!item->chosen || item->taken || item->drop || item->bar != bar)
            continue;
        buf_add_text(&text, "  ");
        change_write_line(item->change, &text);
    }
    return say_to(t, &text);
}

static bool make_taking_plan(struct taking *t)
{
    struct err err;
    commit_plan_done(&t->plan);
    t->plan = (struct commit_plan){.n = 0};
    if (commit_plan_make(committing_changes(t->gate), &t->choice, &t->plan, &err) == 0)
        return true;
    tell_not_taken(t, &err);
    return false;
}

/* False: back. */
static bool decide_conflicts(struct taking *t)
{
    static const struct str all = {".", 1};
    if (t->plan.conflicts == 0)
        return true;
    if (!say_items(t, t->plan.conflicts, "are in conflict, since the project was changed as well",
                   COMMIT_CONFLICT))
        return false;
    char letter = read_letter(t, "which count? [s]ession's  [p]roject's  [b]ack: ", "spb");
    if (letter == 's') {
        t->choice.ours = &all;
        t->choice.n_ours = 1;
    } else if (letter == 'p') {
        t->choice.theirs = &all;
        t->choice.n_theirs = 1;
    }
    return (letter == 's' || letter == 'p') && make_taking_plan(t);
}

/* Those that somebody chose by name are asked about all the same. */
static bool decide_code(struct taking *t)
{
    if (t->plan.code == 0)
        return true;
    if (!say_items(t, t->plan.code, "would run code on this machine later, or steer programs",
                   COMMIT_CODE))
        return false;
    char letter = read_letter(
        t, "take them over, too? [y]es  [n]o, they stay in the session  [b]ack: ", "ynb");
    t->choice.code = letter == 'y' ? CODE_TAKE : CODE_LEAVE;
    return (letter == 'y' || letter == 'n') && make_taking_plan(t);
}

static void tell_taken(struct taking *t, const struct commit_result *result)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    size_t taken = t->plan.taken - (size_t)result->left;
    buf_addf(&text, "sandgate: %zu %s taken over", taken, taken == 1 ? "change" : "changes");
    if (t->plan.dropped)
        buf_addf(&text, ", %zu given up for the project's", t->plan.dropped);
    if (t->plan.left)
        buf_addf(&text, ", %zu left in the session", t->plan.left);
    if (result->left)
        buf_addf(&text, ", %zu left that were changed in the project at this moment",
                 (size_t)result->left);
    buf_add_char(&text, '\n');
    say_to(t, &text);
}

static void take_plan(struct taking *t)
{
    CLEANUP(commit_result_done) struct commit_result result = {.taken = 0};
    struct err err;
    if (commit_plan_check(&t->plan, &err) < 0 ||
        committing_do(t->gate, &t->plan, &result, &err) < 0)
        tell_not_taken(t, &err);
    else
        tell_taken(t, &result);
}

bool review_take(struct terminal *terminal, struct named *named, const struct options *o,
                 const struct review_choice *choice)
{
    CLEANUP(taking_done) struct taking t = {.terminal = terminal};
    struct err err;
    t.choice.paths = choice->paths;
    t.choice.n_paths = choice->n;
    if (committing_open(named, o, &t.gate, &err) < 0)
        tell_not_taken(&t, &err);
    else if (make_taking_plan(&t) && decide_conflicts(&t) && decide_code(&t))
        take_plan(&t);
    return !t.gone;
}
