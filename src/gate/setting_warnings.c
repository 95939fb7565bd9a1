#include "gate/setting_warnings.h"

#include "base/buf.h"
#include "base/log.h"

static void add_idle(void *arg, const char *tool)
{
    struct buf *names = arg;
    buf_addf(names, "%stools.%s", names->len ? ", " : "", tool);
}

void setting_warnings_tools(const struct config *config)
{
    BUF_AT_END struct buf names = BUF_INIT(256);
    config_each_idle(config, add_idle, &names);
    if (names.len)
        log_warning("%s: this version has no such tool, the settings have no effect",
                    buf_text(&names));
}

static void warn_of_unreached(void *arg, const char *rule, const char *earlier)
{
    (void)arg;
    log_warning("%s has no effect: %s is about the same tools, has no condition and comes first; "
                "change their order",
                rule, earlier);
}

static void warn_of_unknown(void *arg, const char *rule, const char *program,
                            const char *subcommand)
{
    (void)arg;
    log_warning(
        "%s: `%s` has no subcommand `%s` by itself: if that is no alias or plugin of yours, "
        "the rule is about nothing",
        rule, program, subcommand);
}

void setting_warnings_rules(const struct policy *policy)
{
    policy_each_unreached(policy, warn_of_unreached, NULL);
    policy_each_unknown(policy, warn_of_unknown, NULL);
}
