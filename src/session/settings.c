#include "session/settings.h"

#include "base/log.h"
#include "core/guard.h"

/* Two lists of 1,024 texts, and as many that a workspace adds. */
#define RULES_MAX ((size_t)20 << 20)

static void warn_ignored(void *arg, const char *path, const char *why)
{
    (void)arg;
    log_warning("%s: %s is left out: %s", SETTINGS_FILE, path, why);
}

static int lay_over(struct config *config, const struct call *read, bool expected, struct err *err)
{
    if (!expected)
        return read->failed ? err_set(err, read->err.code, "%s", read->err.message) : 0;
    /* With a reason there is something of that name, as a link that leads nowhere: someone meant to have settings. */
    if (read->failed && read->err.code == ERR_NOT_FOUND && !read->err.reason[0])
        return 0;
    if (read->failed)
        return err_set(err, read->err.code, "reading %s: %.400s", SETTINGS_FILE, read->err.message);
    if (read->reply.read.truncated)
        return err_set(err, ERR_TOO_LARGE, "%s is larger than %u bytes", SETTINGS_FILE,
                       CONFIG_WORKSPACE_BYTES_MAX);
    return config_apply(config, buf_str(&read->reply_body), SETTINGS_FILE, CONFIG_WORKSPACE,
                        warn_ignored, NULL, err);
}

struct config *settings_lay_over(const struct config *operator_config, const struct call *read,
                                 bool expected, struct err *err)
{
    struct config *config = config_clone(operator_config);
    struct err why;
    if (lay_over(config, read, expected, &why) == 0)
        return config;
    config_free(config);
    if (read->failed && strcmp(read->err.reason, "closed_folder") == 0) {
        *err = read->err;
        return NULL;
    }
    err_set(err, ERR_POLICY_DENIED,
            "nothing runs while the workspace's settings cannot be used: %.380s", why.message);
    err_reason(err, "workspace_settings");
    return NULL;
}

static void pack_list(const struct config *config, const char *path, enum guard_verdict kind,
                      struct buf *out)
{
    const struct str *items;
    size_t count;
    config_list(config, path, &items, &count);
    for (size_t i = 0; i < count; i++)
        guard_pack(out, kind, items[i]);
}

bool settings_pack_rules(const struct config *config, bool overlay, struct str own,
                         struct buf *rules)
{
    struct buf fresh = BUF_INIT(RULES_MAX);
    if (overlay)
        guard_pack(&fresh, GUARD_PROTECTED, STR("/" SETTINGS_FILE));
    else
        pack_list(config, "files.protected", GUARD_PROTECTED, &fresh);
    /* Behind the others: no exception of theirs holds for them. */
    if (own.n)
        buf_add(&fresh, own.p, own.n);
    pack_list(config, "files.secret", GUARD_SECRET, &fresh);
    bool same = fresh.len == rules->len &&
                (fresh.len == 0 || memcmp(fresh.data, rules->data, fresh.len) == 0);
    buf_done(rules);
    *rules = fresh;
    return !same;
}
