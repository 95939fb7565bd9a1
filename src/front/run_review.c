#include "front/run_review.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"
#include "front/review_dialogue.h"
#include "front/session_end.h"
#include "gate/state.h"
#include "session/named.h"

static void end_review(int state_fd, struct named *named, const struct options *o)
{
    struct err err;
    enum review_end end = REVIEW_EMPTY;
    size_t left = 0;
    if (session_is_touched(named) && review_ask(named, o, &end, &left, &err) < 0) {
        log_warning("the changes of session %s stay in it, and cannot be shown: %s", named->id,
                    err.message);
        return;
    }
    if (end == REVIEW_EMPTY || end == REVIEW_DISCARD)
        session_remove_own(state_fd, named);
    else
        session_tell_kept(named, left);
}

static int make_reviewed(int state_fd, const struct options *o, struct named *ret, struct err *err)
{
    char id[NAMED_ID_MAX];
    if (named_create(state_fd, o->workspace ? o->workspace : ".", true, id, err) < 0 ||
        named_load(state_fd, id, ret, err) < 0)
        return -1;
    int r = named_lock(ret, false, err);
    return r > 0 ? 0 : r < 0 ? -1 : err_set(err, ERR_SESSION_BUSY, "session %s is in use", id);
}

int run_review(const struct options *o, run_fn run)
{
    struct err err;
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    FD_AT_END int state_fd = -1;
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    if (front_gate_options(o, &go, &state_path, &err) < 0 || state_open(&state_fd, &err) < 0 ||
        make_reviewed(state_fd, o, &named, &err) < 0)
        return front_usage_error(&err);
    front_use_session(&go, &named);
    go.once = true;
    go.own_hand = true;
    int status = run(o, &go);
    end_review(state_fd, &named, o);
    return status;
}
