/* Programs of the operator's that are asked before calls and told of them afterwards.
 *
 * They run in a cell of their own: no workspace, no network, the folders of their programs read-only, the limits of
 * commands. A hook that does anything but answer, in time, denies. */
#ifndef SANDGATE_GATE_HOOKS_H
#define SANDGATE_GATE_HOOKS_H

#include <uv.h>

#include "core/call.h"
#include "gate/hook_answer.h"

struct audit;
struct hooks;

/* *ret is NULL where none is configured. Fails for a program that is missing, cannot be run, or could be changed by
 * someone else. `config` and `state_fd` are borrowed, the latter for as long as the hooks live. The folders of `hidden` are
 * not seen by them, whatever commands.show shows: an agent's program would answer for theirs. */
int hooks_new(struct hooks **ret, uv_loop_t *loop, const struct config *config, int state_fd,
              const struct workplace *hidden, struct err *err);
/* Where their runs are recorded, for as long as they live. Accepts NULL hooks. */
void hooks_use_audit(struct hooks *hooks, struct audit *audit);
/* Those who are still asked are killed; those who are told of a call have a moment to end. Runs the loop for that, so
 * not from one of its callbacks. Accepts NULL. */
void hooks_free(struct hooks *hooks);

/* Whether any hook is to be asked about this call. Accepts NULL. */
bool hooks_ask(const struct hooks *hooks, const struct call *call);

/* Asks all that match, one after the other, up to the first that denies. `done` is called once, from a later turn of
 * the loop, and borrows its answer; the call itself is looked at only now. */
void hooks_before(struct hooks *hooks, const struct call *call,
                  void (*done)(void *arg, const struct hook_answer *answer), void *arg);
/* Nobody waits for the answer any more: the `done` with this `arg` is not called. */
void hooks_forget(struct hooks *hooks, void *arg);
/* Tells those that match how a call ended. Nobody waits for them; one that fails is named on standard error. Accepts
 * NULL. */
void hooks_after(struct hooks *hooks, const struct call *call);

#endif
