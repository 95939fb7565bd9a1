#include "gate/sandbox.h"

#include <string.h>

#include "cell/probe.h"

/* The tiers in the order of their strength. */
static bool is_required_tier(const struct findings *f, const char *wanted)
{
    enum tier_id id = findings_tier(f).id;
    return id != TIER_NONE && (id == TIER_FULL || strcmp(wanted, tier_name(id)) == 0);
}

int sandbox_require(const struct config *config, int state_fd, struct err *err)
{
    struct findings f;
    const char *wanted = config_text(config, "sandbox.require");
    if (!wanted || (probe_kept(state_fd, &f) && is_required_tier(&f, wanted)))
        return 0;
    if (probe_anew(state_fd, &f, err) < 0)
        return -1;
    if (is_required_tier(&f, wanted))
        return 0;
    BUF_AT_END struct buf why = BUF_INIT(512);
    enum mechanism missing = findings_missing(&f, NEED_CELL);
    if (missing == MECHANISM_COUNT)
        missing = findings_missing(&f, NEED_FULL);
    finding_write_cause(&f.of[missing], &why);
    return err_field(err, "sandbox.require",
                     "%s (sandbox.require is %s, and this machine allows %s; `sandgate doctor` "
                     "tells more)",
                     buf_text(&why), wanted, tier_name(findings_tier(&f).id));
}
