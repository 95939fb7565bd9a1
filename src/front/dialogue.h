/* One question to the person at a terminal, from its text to the answer: shows the call, pages through it, explains the
 * answers, and asks again before a rule is written. What is done with the answer is the caller's. */
#ifndef SANDGATE_FRONT_DIALOGUE_H
#define SANDGATE_FRONT_DIALOGUE_H

#include "front/approval_text.h"
#include "front/prompt_parts.h"

enum dialogue_step {
    DIALOGUE_CHOICE,  /* yes, session, always, no */
    DIALOGUE_CONFIRM, /* whether to write the rule */
    DIALOGUE_VIEW,    /* the pager */
};

struct dialogue {
    struct terminal *terminal;
    const struct approval *approval; /* borrowed */
    enum dialogue_step step;
    struct approval_style style;
    struct approval_seen seen;
    size_t at; /* the pager's next row */
};

enum dialogue_result {
    DIALOGUE_UNSHOWN, /* the terminal did not take the text: nobody has read it */
    DIALOGUE_ASKS,    /* no answer yet */
    DIALOGUE_DECIDED,
    DIALOGUE_END, /* of the input */
};

/* Shows the call and asks. UNSHOWN or ASKS. */
enum dialogue_result dialogue_begin(struct dialogue *d, struct terminal *terminal,
                                    const struct approval *approval);
/* Asks once more, after an answer that could not be used. */
enum dialogue_result dialogue_again(struct dialogue *d);
/* Reads what was typed. With DECIDED `yes` and `scope` of the decision are set. */
enum dialogue_result dialogue_take(struct dialogue *d, struct approval_decision *ret);

#endif
