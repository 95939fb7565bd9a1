#include "front/mcp_session.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "front/session_diff.h"
#include "front/session_end.h"
#include "gate/state.h"

#define EARLIER_MAX 3
#define FOLDER_SHOWN 4096

int mcp_session_is_wanted(const struct options *o, struct err *err)
{
    if (!o->host && o->dialect && strcmp(o->dialect, "system") == 0)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "the dialect system works in folders of the configuration, whose changes "
                       "cannot be kept in a session: start it with `sandgate mcp --host`");
    /* Nothing is changed, so that nothing needs a layer. */
    if (o->host || o->read_only)
        return 0;
    struct config *config = config_new();
    int r = state_load_config(config, o->config, err);
    const char *mode = r < 0 ? NULL : config_text(config, "workspace.mode");
    bool host = mode && strcmp(mode, "host") == 0;
    config_free(config);
    return r < 0 ? -1 : !host;
}

int mcp_session_make(int state_fd, const struct options *o, char id[NAMED_ID_MAX], struct err *err)
{
    const char *folder = o->project ? o->project : o->workspace ? o->workspace : ".";
    return named_create(state_fd, folder, true, id, err);
}

struct earlier {
    const struct named *now;
    struct buf *out;
    size_t n;
};

static void add_earlier(void *arg, const struct named *named, bool owned)
{
    struct earlier *e = arg;
    if (owned || named->damaged || !named->overlay || strcmp(named->id, e->now->id) == 0 ||
        strcmp(named->workspace, e->now->workspace) != 0 || !session_is_touched(named))
        return;
    if (e->n++ < EARLIER_MAX)
        buf_addf(e->out, "%s%s", e->n == 1 ? "" : ", ", named->id);
}

/* What waits for review is not lost by being forgotten. */
static void add_earlier_sessions(int state_fd, const struct named *named, struct buf *out)
{
    struct err ignored; /* those that cannot be opened are told of by `session list` */
    BUF_AT_END struct buf ids = BUF_INIT(EARLIER_MAX * (NAMED_ID_MAX + 2));
    struct earlier e = {.now = named, .out = &ids};
    (void)named_each(state_fd, add_earlier, &e, &ignored);
    if (e.n == 0)
        return;
    buf_addf(out,
             " Earlier changes of this folder wait in %zu other %s (%s%s) and are not in your "
             "files; `sandgate mcp --session ID` goes on with one.",
             e.n, e.n == 1 ? "session" : "sessions", buf_text(&ids),
             e.n > EARLIER_MAX ? ", …" : "");
}

void mcp_session_words(int state_fd, const struct named *named, struct buf *out)
{
    if (!named->overlay)
        return;
    buf_addf(out, "Your changes go to a layer of the session %s; the project in ", named->id);
    shown_line((struct str){named->workspace, strlen(named->workspace)}, FOLDER_SHOWN, out);
    buf_addf(
        out,
        " stays as it is until the user takes them over. When you are done, tell the user: "
        "`sandgate session diff %s` shows the changes, `sandgate session commit %s` takes them "
        "over.",
        named->id, named->id);
    add_earlier_sessions(state_fd, named, out);
}

void mcp_session_end(int state_fd, struct named *named, bool made, const struct options *o)
{
    struct err err;
    int64_t count = 0;
    int64_t bytes = 0;
    if (!named->overlay)
        return;
    if (session_is_touched(named) && session_count_changes(named, o, &count, &bytes, &err) < 0)
        log_warning("session %s keeps changes that cannot be counted: %s", named->id, err.message);
    else if (count)
        session_tell_kept(named, (size_t)count);
    else if (made)
        session_remove_own(state_fd, named);
}
