#include "cell/report.h"

#include "base/json_out.h"
#include "cell/launcher.h"

int report_send(enum frame_type type, uint64_t token, const char *message, bool busy)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    jo_open(&j, '{');
    if (message)
        jo_ktext(&j, "message", message);
    if (busy)
        jo_kbool(&j, "busy", true);
    jo_close(&j, '}');
    struct frame frame = {.type = type, .token = token, .head = buf_str(&head)};
    return frame_send(CELL_CONTROL_FD, &frame, -1);
}

int report_failure(const struct err *err)
{
    report_send(FRAME_FAILED, 0, err->message, err->code == ERR_SESSION_BUSY);
    return 1;
}
