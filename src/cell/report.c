#include "cell/report.h"

#include "base/json_out.h"
#include "cell/launcher.h"

static int64_t ms_of(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

static int send_report(enum frame_type type, uint64_t token, const char *message, bool busy,
                const struct rusage *usage)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    jo_open(&j, '{');
    if (message)
        jo_ktext(&j, "message", message);
    if (busy)
        jo_kbool(&j, "busy", true);
    if (usage) {
        jo_kint(&j, "cpu_ms", ms_of(&usage->ru_utime) + ms_of(&usage->ru_stime));
        jo_kint(&j, "peak_memory", (int64_t)usage->ru_maxrss << 10);
    }
    jo_close(&j, '}');
    struct frame frame = {.type = type, .token = token, .head = buf_str(&head)};
    return frame_send(CELL_CONTROL_FD, &frame, -1);
}

int report_send(enum frame_type type, uint64_t token, const char *message, bool busy)
{
    return send_report(type, token, message, busy, NULL);
}

int report_ended(uint64_t token, const char *message, const struct rusage *usage)
{
    return send_report(FRAME_ENDED, token, message, false, usage);
}

int report_failure(const struct err *err)
{
    report_send(FRAME_FAILED, 0, err->message, err->code == ERR_SESSION_BUSY);
    return 1;
}
