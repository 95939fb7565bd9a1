#include <stdlib.h>

#include "base/clock.h"
#include "front/audit_view.h"

static int bad_time(const char *name, const char *text, struct err *err)
{
    return err_set(err, ERR_INVALID_ARGUMENTS,
                   "--%s is `%.40s`: say a time in UTC such as 2024-05-01T12:00, or how long ago: "
                   "30m, 2h, 7d",
                   name, text);
}

/* `30m`: so long before now. */
static bool parse_ago(const char *text, int64_t *ret_ms)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}, {'w', 604800000}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6 || strlen(text) != digits + 1)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (text[digits] != units[i].letter)
            continue;
        *ret_ms = clock_unix_ms() - strtol(text, NULL, 10) * units[i].ms;
        return true;
    }
    return false;
}

static int parse_time(const char *name, const char *text, int64_t *ret_ms, struct err *err)
{
    if (!text || parse_ago(text, ret_ms) ||
        clock_parse_utc((struct str){text, strlen(text)}, ret_ms))
        return 0;
    return bad_time(name, text, err);
}

static int compile_filter_glob(const char *text, struct glob **ret, struct err *err)
{
    if (!text)
        return 0;
    *ret = glob_compile((struct str){text, strlen(text)}, false, err);
    return *ret ? 0 : -1;
}

int audit_filter_init(struct audit_filter *f, const struct options *o, struct err *err)
{
    *f = (struct audit_filter){
        .gate = o->gate,
        .session = o->session,
        .agent = o->agent,
        .call = o->call,
        .code = o->code,
        .failed = o->failed,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
    };
    if (parse_time("since", o->since, &f->since_ms, err) < 0 ||
        parse_time("until", o->until, &f->until_ms, err) < 0 ||
        compile_filter_glob(o->tool, &f->tool, err) < 0 ||
        compile_filter_glob(o->kind, &f->kind, err) < 0) {
        audit_filter_done(f);
        return -1;
    }
    return 0;
}

void audit_filter_done(struct audit_filter *f)
{
    glob_free(f->tool);
    glob_free(f->kind);
    f->tool = f->kind = NULL;
}
