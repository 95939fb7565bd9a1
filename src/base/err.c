#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct err_row rows[] = {
#define ERR_ROW(code, kind, sidecar, toolhost, http, rpc, retry)                                   \
    [ERR_##code] = {#code, KIND_##kind, sidecar, toolhost, http, rpc, retry},
    ERR_CODES(ERR_ROW)
#undef ERR_ROW
};

const struct err_row *err_row(enum err_code code)
{
    return &rows[(unsigned)code < ERR_COUNT ? code : ERR_INTERNAL];
}

int err_code_from_name(struct str name)
{
    for (int i = 0; i < ERR_COUNT; i++) {
        if (strlen(rows[i].name) == name.n && memcmp(rows[i].name, name.p, name.n) == 0)
            return i;
    }
    return -1;
}

bool err_is_shortage(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
    case ETOOMANYREFS:
        return true;
    default:
        return false;
    }
}

enum err_code err_code_for(int error, enum err_code other)
{
    return err_is_shortage(error) ? ERR_SESSION_BUSY : other;
}

enum err_code err_code_for_file(int error)
{
    return err_code_for(error, err_is_full(error) ? ERR_DISK_FULL : ERR_INTERNAL);
}

const char *err_advice_for_file(int error)
{
    if (err_is_shortage(error))
        return "; try again";
    if (err_is_full(error))
        return "; make room on the disk of the state folder, then repeat the call";
    if (error == EROFS)
        return "; the state folder has to be on a file system that can be written";
    return error == EIO ? "; check the disk of the state folder" : NULL;
}

int err_no_memory(struct err *err)
{
    err_set(err, ERR_SESSION_BUSY, "not enough memory; try again");
    return err_reason(err, "no_resources");
}

bool err_is_full(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/* What was in the way may be gone the next time. */
static bool is_passing_reason(const char *reason)
{
    static const char *const reasons[] = {"locked", "moved", "replaced", "git_locked",
                                          "too_many_waiting"};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reasons[i], reason) == 0)
            return true;
    }
    return false;
}

bool err_may_work_later(const struct err *err)
{
    /* A limit says when; one that does not will never let this call through. */
    if (err->code == ERR_RATE_LIMITED || err->code == ERR_BUDGET_EXCEEDED)
        return err->retry_after_ms > 0;
    return err_row(err->code)->retryable || err->retry_after_ms > 0 ||
           is_passing_reason(err->reason);
}

static void PRINTF_LIKE(3, 0)
    fill_err_message(struct err *err, enum err_code code, const char *fmt, va_list ap)
{
    *err = (struct err){.code = code};
    vsnprintf(err->message, sizeof err->message, fmt, ap);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill_err_message(err, code, fmt, ap);
    va_end(ap);
    return -1;
}

int err_field(struct err *err, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill_err_message(err, ERR_INVALID_ARGUMENTS, fmt, ap);
    va_end(ap);
    snprintf(err->field, sizeof err->field, "%s", field);
    return -1;
}

int err_file_failed(struct err *err, const char *what)
{
    return err_set(err, err_code_for_file(errno), "%s: %s", what, strerror(errno));
}

int err_reason(struct err *err, const char *reason)
{
    snprintf(err->reason, sizeof err->reason, "%s", reason);
    return -1;
}
