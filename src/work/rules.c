#include "work/work.h"

int work_rules(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    (void)request;
    struct guard *guard = guard_new(body, err);
    if (!guard)
        return -1;
    reply->rules.count = (int64_t)guard_count(guard);
    work_use_guard(w, guard);
    return 0;
}
