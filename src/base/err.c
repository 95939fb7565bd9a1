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
