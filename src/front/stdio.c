/* `sandgate stdio`: JSON lines on standard input and output, many calls in flight. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/longlived.h"
#include "front/talk.h"

#define OPTIONS                                                                                    \
    (OPTIONS_SHAPE | OPTIONS_PLACE | OPTIONS_IDENTITY | OPTIONS_APPROVER | OPTIONS_AGENTS)

static int help_stdio(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(
        &out,
        "usage: sandgate stdio [options]\n\n"
        "Reads one call a line from standard input and writes one answer a line, in the order "
        "they finish:\n"
        "  {\"id\":\"1\",\"tool_call\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}}\n"
        "With --agents a line may say who calls: \"context\":{\"agentId\":ID} beside the call.\n"
        "With --sessions a line may say in which one: \"session\":ID beside the call.\n"
        "{\"cancel\":\"1\"} stops a call. What a command prints comes before its answer, as it is "
        "printed:\n"
        "  {\"id\":\"1\",\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"...\"}\n"
        "With --approver a call that waits for a yes is told of, and answered by {\"approve\":ID} or "
        "{\"deny\":ID}:\n"
        "  {\"event\":\"approval\",\"requestId\":ID,\"id\":\"1\",\"tool\":\"...\",\"summary\":\"...\"}\n\n");
    options_help(OPTIONS, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

static struct lines *start_stdio_talk(struct gate *gate, struct line_sessions *sessions,
                                      const void *how, int in_fd, int out_fd,
                                      void (*ended)(void *arg), void *arg)
{
    return talk_start(gate, sessions, how, in_fd, out_fd, ended, arg);
}

/* What only the owner of a session can do. */
static int refuse_as_guest(const struct options *o, const struct talk_options *how,
                           struct err *err)
{
    if (how->approver)
        return err_set(
            err, ERR_SESSION_BUSY,
            "session %s is in use by another process, and its calls are not approved from here: "
            "leave --approver out and use `sandgate approve`",
            o->session);
    if (o->sessions)
        return err_set(err, ERR_SESSION_BUSY,
                       "session %s is in use by another process, and its lines cannot name other "
                       "sessions: leave --session or --sessions out",
                       o->session);
    return 0;
}

/* *ret_again: as guest_relay has it. */
static int serve_once(const struct options *o, struct gate_options *go,
                      const struct talk_options *how, bool *ret_again)
{
    struct err err;
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    FD_AT_END int owner = -1;
    int r = front_take_session(o, false, &named, &owner, &err);
    if (r == 0)
        r = refuse_as_guest(o, how, &err);
    if (r < 0 && err.code == ERR_SESSION_BUSY && strcmp(err.reason, FORWARD_SILENT) == 0)
        return guest_refuse(how->format, go->dialect, NULL, ret_again);
    if (r < 0 && strcmp(err.reason, FORWARD_FULL) == 0)
        return guest_refuse(how->format, go->dialect, &err, ret_again);
    if (r < 0)
        return front_usage_error(&err);
    if (r == 0)
        return guest_relay(owner, how->format, go->dialect, ret_again);
    front_use_session(go, &named);
    return longlived_run(go, &named, o->sessions, start_stdio_talk, how);
}

static int serve_stdio_session(const struct options *o, struct gate_options *go,
                               const struct talk_options *how)
{
    int worst = EXIT_OK;
    for (bool again = true; again;) {
        again = false;
        int status = serve_once(o, go, how, &again);
        worst = status > worst ? status : worst;
    }
    return worst;
}

int front_stdio(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct talk_options how = {0};
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (options_read(argc, argv, OPTIONS, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_stdio();
    if (format_find(o.format ? o.format : "tool_call", &how.format, &err) < 0 ||
        front_gate_options(&o, &go, &state_path, &err) < 0)
        return front_usage_error(&err);
    how.approver = o.approver;
    how.agents = o.agents;
    return o.session ? serve_stdio_session(&o, &go, &how)
                     : longlived_run(&go, NULL, o.sessions, start_stdio_talk, &how);
}
