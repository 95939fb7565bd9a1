/* `sandgate policy explain TOOL [JSON]`: what would become of a call, and why; nothing runs.
 * `sandgate policy reset`: forgets what was counted. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "core/registry.h"
#include "front/front.h"
#include "gate/state.h"

#define OPTIONS (OPTIONS_DIALECT | OPTIONS_PLACE | OPTIONS_IDENTITY | OPTIONS_LISTING)
#define WHY_SHOWN_MAX 2000
#define SETTLE_MS 10000

struct explained {
    struct buf text;
    struct buf json;
    struct json_out steps;
};

static void add_explained_text(const char *text, struct buf *out)
{
    shown_line((struct str){text, strlen(text)}, WHY_SHOWN_MAX, out);
}

/* Names of rules and tools hold what was written in a configuration or a call. */
static void add_explained_column(const char *text, struct buf *out)
{
    BUF_AT_END struct buf shown = BUF_INIT(2 * WHY_SHOWN_MAX);
    add_explained_text(text, &shown);
    buf_addf(out, "  %-34s", buf_text(&shown) ? buf_text(&shown) : "");
}

static void add_step(void *arg, const struct policy_step *step)
{
    struct explained *e = arg;
    add_explained_column(step->rule, &e->text);
    buf_addf(&e->text, " %-14s ", step->outcome);
    shown_line((struct str){step->why, strlen(step->why)}, WHY_SHOWN_MAX, &e->text);
    buf_add_char(&e->text, '\n');
    jo_open(&e->steps, '{');
    jo_ktext(&e->steps, "rule", step->rule);
    jo_ktext(&e->steps, "outcome", step->outcome);
    jo_ktext(&e->steps, "why", step->why);
    jo_close(&e->steps, '}');
}

static const char *verdict_word(int r, const struct call *call)
{
    return r < 0 ? "deny" : call->verdict.kind == VERDICT_ASK ? "ask" : "allow";
}

/* The decisions as programs of the system dialect know them. */
static void add_decisions(struct json_out *j, int r, const struct call *call, const struct err *err)
{
    bool asks = r == 0 && call->verdict.kind == VERDICT_ASK;
    jo_key(j, "approval");
    jo_open(j, '{');
    jo_kbool(j, "approved", r == 0 && !asks);
    jo_kbool(j, "requiresPrompt", asks);
    jo_ktext(j, "message", r < 0 ? err->message : asks ? "someone has to approve it" : "approved");
    jo_close(j, '}');
    jo_key(j, "policy");
    jo_open(j, '{');
    jo_kbool(j, "allowed", r == 0);
    if (r < 0)
        jo_ktext(j, "reason", err->message);
    if (r < 0 && err->retry_after_ms > 0)
        jo_kint(j, "retryAfter", err->retry_after_ms);
    jo_close(j, '}');
}

static void add_grants(struct json_out *j)
{
    jo_key(j, "grants");
    jo_open(j, '[');
    jo_text(j, "git");
    jo_close(j, ']');
}

static int print_explanation(const struct options *o, struct explained *e, int r, struct call *call,
                             const struct err *err)
{
    const char *word = verdict_word(r, call);
    if (o->json) {
        struct json_out j = {.out = &e->text};
        e->text.len = 0;
        jo_open(&j, '{');
        jo_ktext(&j, "tool", call->tool ? call->tool->name : call->name);
        jo_ktext(&j, "dialect", call->dialect->name);
        jo_kbool(&j, "available", call->tool != NULL);
        jo_ktext(&j, "verdict", word);
        if (r == 0)
            jo_ktext(&j, "rule", call->verdict.rule);
        else
            jo_ktext(&j, "message", err->message);
        if (r == 0 && call->verdict.git)
            add_grants(&j);
        add_decisions(&j, r, call, err);
        jo_key(&j, "steps");
        jo_open(&j, '[');
        j.comma = false;
        jo_raw(&j, buf_str(&e->json));
        jo_close(&j, ']');
        jo_close(&j, '}');
        buf_add_char(&e->text, '\n');
    } else {
        if (!call->tool) {
            add_explained_column(call->name, &e->text);
            buf_addf(&e->text, " %-14s this program has no such tool in the dialect %s\n",
                     "is not there", call->dialect->name);
        }
        buf_addf(&e->text, "verdict: %s", word);
        buf_add_text(&e->text, r == 0 ? " (" : ": ");
        add_explained_text(r < 0                   ? err->message
                           : call->verdict.rule[0] ? call->verdict.rule
                                                   : "no rule asks",
                           &e->text);
        if (r == 0)
            buf_add_char(&e->text, ')');
        if (r == 0 && call->verdict.git)
            buf_add_text(&e->text, ", may write to git directories");
        buf_add_char(&e->text, '\n');
    }
    return front_put(buf_str(&e->text)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

static int read_explained_call(struct gate *gate, const struct options *o, struct call *call,
                               struct err *err)
{
    const char *text = o->n_words > 2 ? o->words[2] : "{}";
    struct json_error why;
    struct err unknown;
    call->name = mem_dup(o->words[1]);
    if (json_parse(text, strlen(text), strlen(text), JSON_STRICT, &call->doc, &why) < 0 ||
        !yyjson_is_obj(yyjson_doc_get_root(call->doc)))
        return err_set(err, ERR_INVALID_ARGUMENTS, "the arguments must be a JSON object: %s",
                       call->doc ? "they are not one" : why.what);
    call->arguments = yyjson_doc_get_root(call->doc);
    call->tool = registry_find(gate->dialect->id, (struct str){o->words[1], strlen(o->words[1])},
                               &unknown);
    if (!call->tool)
        return 0;
    return call_adapt_arguments(call, err) < 0
               ? -1
               : tool_decode(call->tool, call->dialect->strict, call->arguments, &call->args, err);
}

static void stop_waiting(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* The workspace's own settings count too; where there is no sandbox to read them in, that is said. */
static void wait_for_own_settings(struct gate *gate)
{
    const struct workplace *at = session_workplace(gate->session);
    uv_timer_t timer;
    bool over = false;
    uv_timer_init(&gate->loop, &timer);
    timer.data = &over;
    uv_timer_start(&timer, stop_waiting, SETTLE_MS, 0);
    while (at->unsettled && !over && session_is_opening(gate->session))
        uv_run(&gate->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&gate->loop, UV_RUN_NOWAIT);
    if (at->unsettled)
        log_warning("the workspace's own settings could not be read and are left out");
}

static int explain(struct gate *gate, const struct options *o)
{
    struct err err;
    struct explained e = {.text = BUF_INIT(4u << 20), .json = BUF_INIT(4u << 20)};
    e.steps.out = &e.json;
    struct call *call = gate_call_new(gate, gate->session);
    int status = EXIT_USAGE;
    wait_for_own_settings(gate);
    if (read_explained_call(gate, o, call, &err) < 0)
        log_error("%s", err.message);
    else
        status = print_explanation(o, &e, keeper_explain(gate->keeper, call, add_step, &e, &err),
                                   call, &err);
    call_free(call);
    buf_done(&e.text);
    buf_done(&e.json);
    return status;
}

static int reset(struct gate *gate, const struct options *o)
{
    struct err err;
    (void)o;
    if (keeper_reset(gate->keeper, &err) == 0)
        return EXIT_OK;
    log_error("%s", err.message);
    return EXIT_TOOL_ERROR;
}

static int help_policy(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(&out, "usage: sandgate policy explain TOOL [JSON] [options]\n"
                       "       sandgate policy reset\n\n"
                       "explain shows what would become of a call and which rules say so; nothing "
                       "runs and nothing is counted.\n"
                       "reset forgets what was counted for rates and budgets.\n\n");
    options_help(OPTIONS, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* Only looked at: whoever owns it goes on. */
static int find_session(const struct options *o, struct gate_options *go, struct named *named,
                        struct err *err)
{
    FD_AT_END int state_fd = -1;
    if (state_open(&state_fd, err) < 0 || named_load(state_fd, o->session, named, err) < 0)
        return -1;
    front_use_session(go, named);
    go->layer = NULL; /* another gate may have it */
    return 0;
}

int front_policy(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct gate gate;
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (options_read(argc, argv, OPTIONS, 3, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_policy();
    bool explains = o.n_words >= 2 && strcmp(o.words[0], "explain") == 0;
    bool resets = o.n_words == 1 && strcmp(o.words[0], "reset") == 0;
    if (!explains && !resets) {
        log_error("say `explain TOOL [JSON]` or `reset`; see `sandgate policy --help`");
        return EXIT_USAGE;
    }
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    if (front_gate_options(&o, &go, &state_path, &err) < 0 ||
        (o.session && find_session(&o, &go, &named, &err) < 0))
        return front_usage_error(&err);
    go.commands = false;
    if (gate_open(&gate, &go, &err) < 0)
        return front_usage_error(&err);
    int status = explains ? explain(&gate, &o) : reset(&gate, &o);
    gate_close(&gate);
    return status;
}
