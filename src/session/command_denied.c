#include "session/command_denied.h"

#include "base/mem.h"
#include "cell/denied.h"
#include "core/denials.h"
#include "session/command_order.h"

bool command_takes_lines(const struct tool *tool)
{
    for (size_t i = 0; i < tool->args.count; i++) {
        if (tool->args.args[i].use & ARG_SHELL)
            return true;
    }
    return false;
}

static int send_list(struct cell *cell, const struct call *call, struct err *err)
{
    BUF_AT_END struct buf body = BUF_INIT(FRAME_BODY_MAX);
    BUF_AT_END struct buf path = BUF_INIT(FRAME_BODY_MAX);
    const struct denials *denied = call->verdict.denied;
    command_path(call->workplace->config, &path);
    denied_write(buf_text(&path), command_takes_lines(call->tool),
                 denied ? denied->packed : (struct str){0}, &body);
    if (body.failed || path.failed)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: commands.path and the names of denied programs are "
                       "longer than %u bytes",
                       FRAME_BODY_MAX);
    struct frame frame = {.type = FRAME_DENIED, .body = buf_str(&body)};
    return cell_order(cell, &frame, NULL, err);
}

int command_denied_tell(struct command_denied *d, struct cell *cell, const struct call *call,
                        struct err *err)
{
    struct denials *wanted = call->verdict.denied;
    const struct denials *known = d->told == cell ? d->list : NULL;
    bool lines = command_takes_lines(call->tool);
    /* Calls of another dialect come from a guest of the session. */
    if (denials_same(known, wanted) && (!wanted || d->lines == lines))
        return 0;
    if (send_list(cell, call, err) < 0)
        return -1;
    denials_unref(d->list);
    d->list = denials_ref(wanted);
    d->told = cell;
    d->lines = lines;
    return 0;
}

void command_denied_forget(struct command_denied *d)
{
    denials_unref(d->list);
    *d = (struct command_denied){0};
}
