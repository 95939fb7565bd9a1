/* `sandgate doctor`: what the sandbox enforces on this machine, what is missing, and what mends it. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "front/doctor_agents.h"
#include "front/front.h"
#include "cell/probe.h"
#include "gate/state.h"

#define OUT_MAX (256u << 10)
#define LINE_MAX_BYTES 1024

enum doctor_status {
    DOCTOR_ALL = 0,
    DOCTOR_WEAKER = 1, /* it runs, and something is held in a weaker way or missing */
    DOCTOR_NOTHING = 2,
};

struct doctor {
    struct findings findings;
    struct tier tier;
    struct utsname kernel;
    char *problem; /* why no gate would start, other than the sandbox; NULL: none */
    enum doctor_status status;
    bool colours;
    struct buf out;
};

/* --- finding out */

static void note_problem(struct doctor *d, const struct err *err)
{
    if (!d->problem)
        d->problem = mem_dup(err->message);
}

static enum doctor_status judge_findings(const struct doctor *d)
{
    if (d->problem || d->tier.id == TIER_NONE)
        return DOCTOR_NOTHING;
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        if (d->findings.of[m].state == FINDING_NO)
            return DOCTOR_WEAKER;
    }
    return DOCTOR_ALL;
}

static void examine(struct doctor *d, const struct options *o)
{
    struct err err;
    FD_AT_END int state_fd = -1;
    struct config *config = config_new();
    if (state_load_config(config, o->config, &err) < 0)
        note_problem(d, &err);
    config_free(config);
    if (state_open(&state_fd, &err) < 0)
        note_problem(d, &err);
    if (probe_anew(state_fd, &d->findings, &err) < 0)
        note_problem(d, &err);
    uname(&d->kernel);
    d->tier = findings_tier(&d->findings);
    d->status = judge_findings(d);
}

/* --- as JSON */

static void write_agents(struct json_out *j)
{
    jo_key(j, "agents");
    jo_open(j, '[');
    for (size_t i = 0; i < agent_row_count; i++) {
        FREE_AT_END char *program = agent_program(&agent_rows[i]);
        FREE_AT_END char *settings = agent_settings(&agent_rows[i]);
        if (!program)
            continue;
        jo_open(j, '{');
        jo_kown(j, "name", agent_rows[i].name);
        jo_ktext(j, "program", program);
        jo_ktext(j, "settings", settings);
        jo_close(j, '}');
    }
    jo_close(j, ']');
}

static void write_doctor_json(struct doctor *d)
{
    struct json_out j = {.out = &d->out};
    jo_open(&j, '{');
    jo_kown(&j, "tier", tier_name(d->tier.id));
    jo_kint(&j, "status", d->status);
    jo_ktext(&j, "problem", d->problem);
    jo_ktext(&j, "kernel", d->kernel.release);
    jo_key(&j, "enforces");
    jo_open(&j, '{');
    tier_write(&d->tier, &j);
    jo_close(&j, '}');
    jo_key(&j, "mechanisms");
    findings_write(&d->findings, &j);
    write_agents(&j);
    jo_close(&j, '}');
    buf_add_char(&d->out, '\n');
}

/* --- for people */

#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define RED "\033[31m"

static void add_doctor_colour(struct doctor *d, const char *colour, const char *text)
{
    buf_addf(&d->out, "%s%s%s", d->colours ? colour : "", text, d->colours ? "\033[0m" : "");
}

/* A line of what the machine says of itself. */
static void add_shown_line(struct doctor *d, const char *before, const char *text)
{
    buf_add_text(&d->out, before);
    shown_line((struct str){text, strlen(text)}, LINE_MAX_BYTES, &d->out);
    buf_add_char(&d->out, '\n');
}

static void add_landlock_gaps(struct doctor *d, int abi)
{
    buf_addf(&d->out, " (ABI %d", abi);
    const char *between = "; this kernel lacks ";
    for (const struct landlock_step *step = landlock_steps; step->abi; step++) {
        if (step->abi <= abi)
            continue;
        buf_addf(&d->out, "%s%s (Linux %s)", between, step->what, step->since);
        between = ", ";
    }
    buf_add_char(&d->out, ')');
}

static void add_finding(struct doctor *d, enum mechanism m)
{
    const struct mechanism_row *row = &mechanism_rows[m];
    const struct finding *f = &d->findings.of[m];
    buf_add_text(&d->out, "  ");
    if (f->state == FINDING_NO)
        add_doctor_colour(d, row->need == NEED_CELL ? RED : YELLOW, "no ");
    else
        add_doctor_colour(d, GREEN, f->state == FINDING_YES ? "yes" : "-  ");
    buf_addf(&d->out, "  %s", row->title);
    if (m == MECHANISM_LANDLOCK && f->state == FINDING_YES)
        add_landlock_gaps(d, f->version);
    buf_add_char(&d->out, '\n');
    if (f->state != FINDING_NO)
        return;
    add_shown_line(d, "         why not: ", f->cause);
    add_shown_line(d, "         without it: ", row->without);
    if (f->fix[0])
        add_shown_line(d, "         to mend it: ", f->fix);
}

static void add_limits(struct doctor *d)
{
    buf_add_text(&d->out, "\nLimits of commands\n");
    buf_addf(&d->out, "  memory: %s\n", means_name(d->tier.memory));
    buf_addf(&d->out, "  processes: %s\n", means_name(d->tier.process_count));
    buf_addf(&d->out, "  processor: %s\n", means_name(d->tier.cpu));
}

static void add_agents(struct doctor *d)
{
    buf_add_text(&d->out, "\nAgents on this machine\n");
    size_t before = d->out.len;
    for (size_t i = 0; i < agent_row_count; i++) {
        FREE_AT_END char *program = agent_program(&agent_rows[i]);
        FREE_AT_END char *settings = agent_settings(&agent_rows[i]);
        if (!program)
            continue;
        add_shown_line(d, "  ", program);
        add_shown_line(d, "    ",
                       settings ? "its settings name sandgate:"
                                : "its settings do not name sandgate");
        if (settings)
            add_shown_line(d, "      ", settings);
    }
    if (d->out.len == before)
        buf_add_text(&d->out, "  none that is known here\n");
}

static void write_doctor_text(struct doctor *d)
{
    static const char *const colours[] = {GREEN, YELLOW, RED};
    buf_add_text(&d->out, "Sandbox: ");
    add_doctor_colour(d, colours[d->status], tier_name(d->tier.id));
    buf_add_text(&d->out, d->tier.id == TIER_NONE ? " (nothing runs)\n" : "\n");
    if (d->problem)
        add_shown_line(d, "No gate starts: ", d->problem);
    add_shown_line(d, "Linux ", d->kernel.release);
    if (d->tier.id == TIER_FULL)
        buf_addf(&d->out,
                 "Files by %s, protected and secret files by %s, network and processes by "
                 "namespaces\n",
                 means_name(d->tier.files), means_name(d->tier.guards));
    else if (d->tier.id == TIER_LANDLOCK)
        buf_addf(&d->out, "Files by %s, network and processes by %s; no command runs\n",
                 means_name(d->tier.files), means_name(d->tier.network));
    buf_add_text(&d->out, "\nMechanisms\n");
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++)
        add_finding(d, m);
    if (d->tier.id == TIER_FULL)
        add_limits(d);
    add_agents(d);
}

static void write_doctor_help(struct buf *out)
{
    buf_add_text(out,
                 "usage: sandgate doctor [--json] [--config FILE]\n\n"
                 "Tries everything that the sandbox needs and tells what it enforces on this "
                 "machine, what is\nmissing, why, and the command that mends it.\n\n"
                 "Exits with 0 when all is there, 1 when calls run and something is weaker, 2 when "
                 "nothing runs.\n\n");
    options_help(OPTIONS_LISTING | OPTIONS_FILE, out);
}

static bool wants_colours(void)
{
    const char *terminal = getenv("TERM");
    const char *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 && !(none && *none);
}

int front_doctor(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct doctor d = {.out = BUF_INIT(OUT_MAX), .colours = wants_colours()};
    if (options_read(argc, argv, OPTIONS_LISTING | OPTIONS_FILE, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help) {
        write_doctor_help(&d.out);
    } else {
        examine(&d, &o);
        if (o.json)
            write_doctor_json(&d);
        else
            write_doctor_text(&d);
    }
    int r = front_put(buf_str(&d.out));
    buf_done(&d.out);
    free(d.problem);
    return r < 0 && d.status == DOCTOR_ALL ? EXIT_TOOL_ERROR : (int)d.status;
}
