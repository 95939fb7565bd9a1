/* What a hook's program said about a call, and what several of them said together. */
#ifndef SANDGATE_GATE_HOOK_ANSWER_H
#define SANDGATE_GATE_HOOK_ANSWER_H

#include "base/attr.h"
#include "base/err.h"
#include "core/verdict.h"

/* Of what a program prints; more is no answer. */
#define HOOK_PRINTED_MAX (64u << 10)
/* Of a note, as JSON text. */
#define HOOK_NOTE_MAX 4096

struct hook_answer {
    enum verdict_kind kind;
    char rule[96];    /* whose word it is: `hooks[1]`; "": nobody was asked */
    char reason[300]; /* one line for people, safe to print; "": none was given */
    bool busy;        /* it could not be asked now */
    char *note;       /* a JSON object, or NULL */
};

void hook_answer_done(struct hook_answer *answer);

/* Reads {"decision":"allow"|"deny"|"ask","reason"?:"…","note"?:{…}}; nothing at all is `allow`. *ret has no rule
 * yet. -1: it is something else, and the error's message says what. */
int hook_answer_read(struct str printed, struct hook_answer *ret, struct err *err);

/* Lays what one more hook said over what was said before: deny > ask > allow, and among the same the first. Notes are
 * kept by the hook they are from: {"hooks[0]":{…},"hooks[2]":{…}}. */
void hook_answer_add(struct hook_answer *all, const struct hook_answer *one);

/* Bytes of a program as one line of text: no control characters, always UTF-8, cut where it is too long. */
void hook_clean(char *out, size_t size, struct str bytes);

#define HOOK_ANSWER_AT_END CLEANUP(hook_answer_done)

#endif
