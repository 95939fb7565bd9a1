#include "front/notice.h"

#include "base/log.h"

static void log_waiting_approval(struct keeper_listener *self, const struct approval *approval)
{
    const struct notice *notice = (const struct notice *)self;
    if (!keeper_can_ask(notice->keeper))
        log_warning("a call waits for approval: %s; `sandgate approvals %s` shows all of it; "
                    "`sandgate approve %s` or `sandgate deny %s`",
                    approval->summary, approval->id, approval->id, approval->id);
}

void notice_start(struct notice *notice, struct gate *gate)
{
    *notice = (struct notice){{.asked = log_waiting_approval}, gate->keeper};
    keeper_listen(gate->keeper, &notice->listener);
}

void notice_stop(struct notice *notice)
{
    keeper_unlisten(notice->keeper, &notice->listener);
}
