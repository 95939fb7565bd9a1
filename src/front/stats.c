/* `sandgate stats`: sums over all calls in Prometheus' text format, or as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"
#include "gate/state.h"
#include "store/stats.h"

#ifndef SANDGATE_VERSION
#define SANDGATE_VERSION "0.1.0"
#endif

#define OUT_MAX (16u << 20)
#define ROWS_MAX 65536

struct row {
    char *name;
    char *labels;
    int64_t value;
};

struct printer {
    bool json;
    struct buf out;
    struct json_out j;
    struct row *rows;
    size_t n;
};

/* The sums that are printed as they are. */
static const struct family {
    const char *row;
    const char *name;
    const char *help;
} families[] = {
    {STAT_CALLS, "sandgate_calls_total", "Calls that ended, by tool, dialect and outcome."},
    {STAT_BYTES, "sandgate_bytes_total", "Bytes of files that were read and written."},
    {STAT_APPROVALS, "sandgate_approvals_total", "What was asked of people, and what came of it."},
    {STAT_DENIALS, "sandgate_denials_total", "Calls that the policy refused, by the kind of rule."},
    {STAT_COMMANDS, "sandgate_commands_total", "Commands that ran, by what ended them."},
};

#define DURATION "sandgate_call_duration_seconds"

/* --- one sample */

static void begin_family(struct printer *p, const char *name, const char *type, const char *help)
{
    if (!p->json) {
        buf_addf(&p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
        return;
    }
    jo_open(&p->j, '{');
    jo_ktext(&p->j, "name", name);
    jo_ktext(&p->j, "type", type);
    jo_ktext(&p->j, "help", help);
    jo_key(&p->j, "samples");
    jo_open(&p->j, '[');
}

static void end_family(struct printer *p)
{
    if (!p->json)
        return;
    jo_close(&p->j, ']');
    jo_close(&p->j, '}');
}

static void add_escaped_label(struct buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            buf_add_char(out, '\\');
        buf_add_char(out, (char)(*value == '\n' ? 'n' : *value));
    }
}

/* The labels' text, `a="b",c="d"`, as the fields of an object. */
static void add_labels(struct json_out *j, const char *labels)
{
    while (*labels) {
        BUF_AT_END struct buf value = BUF_INIT(4096);
        char name[64];
        size_t n = strcspn(labels, "=");
        snprintf(name, sizeof name, "%.*s", (int)n, labels);
        labels += n + (labels[n] != '\0');
        labels += *labels == '"';
        for (; *labels && *labels != '"'; labels++) {
            if (*labels == '\\' && labels[1])
                labels++;
            buf_add_char(&value, (char)(*labels == 'n' && labels[-1] == '\\' ? '\n' : *labels));
        }
        labels += *labels == '"';
        labels += *labels == ',';
        jo_kstr(j, name, buf_str(&value));
    }
}

static void add_sample(struct printer *p, const char *name, const char *labels, const char *value)
{
    if (!p->json) {
        buf_addf(&p->out, *labels ? "%s{%s} %s\n" : "%s%s %s\n", name, labels, value);
        return;
    }
    jo_open(&p->j, '{');
    jo_ktext(&p->j, "name", name);
    jo_key(&p->j, "labels");
    jo_open(&p->j, '{');
    add_labels(&p->j, labels);
    jo_close(&p->j, '}');
    jo_key(&p->j, "value");
    jo_raw(&p->j, (struct str){value, strlen(value)});
    jo_close(&p->j, '}');
}

static void add_number_sample(struct printer *p, const char *name, const char *labels,
                              int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    add_sample(p, name, labels, text);
}

static void add_seconds(struct printer *p, const char *name, const char *labels, int64_t ms)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
    add_sample(p, name, labels, text);
}

/* --- sums */

static int keep_row(void *arg, const char *name, const char *labels, int64_t value)
{
    struct printer *p = arg;
    if (p->n == ROWS_MAX)
        return 1;
    p->rows = mem_grow(p->rows, p->n + 1, sizeof *p->rows);
    p->rows[p->n++] = (struct row){mem_dup(name), mem_dup(labels), value};
    return 0;
}

static void add_sum_families(struct printer *p)
{
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        begin_family(p, families[f].name, "counter", families[f].help);
        for (size_t i = 0; i < p->n; i++) {
            if (strcmp(p->rows[i].name, families[f].row) == 0)
                add_number_sample(p, families[f].name, p->rows[i].labels, p->rows[i].value);
        }
        end_family(p);
    }
}

static void add_bucket(struct printer *p, const char *tool, size_t i, int64_t count)
{
    BUF_AT_END struct buf labels = BUF_INIT(1024);
    int64_t ms = stats_bounds_ms[i];
    buf_addf(&labels, "%s,le=\"", tool);
    if (ms == INT64_MAX)
        buf_add_text(&labels, "+Inf");
    else if (ms % 1000)
        buf_addf(&labels, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
    else
        buf_addf(&labels, "%" PRId64 ".0", ms / 1000);
    buf_add_char(&labels, '"');
    add_number_sample(p, DURATION "_bucket", buf_text(&labels), count);
}

/* `sum` is the row with all of a tool's time. */
static void add_histogram(struct printer *p, const struct row *sum)
{
    int64_t count = 0;
    size_t n = strlen(sum->labels);
    for (size_t b = 0; b < STATS_BUCKETS; b++) {
        char end[16];
        snprintf(end, sizeof end, ",le=\"%02zu\"", b);
        for (size_t i = 0; i < p->n; i++) {
            const struct row *row = &p->rows[i];
            if (strcmp(row->name, STAT_DURATION) == 0 &&
                strncmp(row->labels, sum->labels, n) == 0 && strcmp(row->labels + n, end) == 0)
                count += row->value;
        }
        add_bucket(p, sum->labels, b, count);
    }
    add_seconds(p, DURATION "_sum", sum->labels, sum->value);
    add_number_sample(p, DURATION "_count", sum->labels, count);
}

static void add_durations(struct printer *p)
{
    begin_family(p, DURATION, "histogram", "How long calls took, by tool.");
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->rows[i].name, STAT_DURATION_MS) == 0)
            add_histogram(p, &p->rows[i]);
    }
    end_family(p);
}

/* --- what is the case now */

struct counters {
    struct printer *p;
    bool budgets;
    bool since;
};

static int add_counter(void *arg, bool budget, const char *key, int64_t value, int64_t since_ms)
{
    struct counters *c = arg;
    if (budget != c->budgets)
        return 0;
    BUF_AT_END struct buf labels = BUF_INIT(16384);
    buf_add_text(&labels, "key=\"");
    add_escaped_label(&labels, key);
    buf_add_char(&labels, '"');
    const char *text = labels.failed ? "key=\"?\"" : buf_text(&labels);
    if (c->since)
        add_seconds(c->p, "sandgate_budget_since_seconds", text, since_ms);
    else
        add_number_sample(c->p, budget ? "sandgate_budget_used" : "sandgate_rate_calls_total", text,
                          value);
    return 0;
}

static int add_counters(struct printer *p, struct db *db, struct err *err)
{
    struct counters c = {.p = p, .budgets = true};
    begin_family(p, "sandgate_budget_used", "gauge",
                 "What was spent of a budget in its last period.");
    if (stats_each_counter(db, add_counter, &c, err) < 0)
        return -1;
    end_family(p);
    c.since = true;
    begin_family(p, "sandgate_budget_since_seconds", "gauge",
                 "When that period began, as a Unix time.");
    if (stats_each_counter(db, add_counter, &c, err) < 0)
        return -1;
    end_family(p);
    c = (struct counters){.p = p};
    begin_family(p, "sandgate_rate_calls_total", "counter", "Calls that a rate limit let through.");
    if (stats_each_counter(db, add_counter, &c, err) < 0)
        return -1;
    end_family(p);
    return 0;
}

static int count_one(void *arg, const struct approval *approval)
{
    (void)approval;
    ++*(int64_t *)arg;
    return 0;
}

static int add_state(struct printer *p, struct db *db, struct err *err)
{
    int64_t waiting = 0;
    if (approvals_each(db, true, count_one, &waiting, err) < 0)
        return -1;
    begin_family(p, "sandgate_build_info", "gauge", "Which program this is.");
    add_number_sample(p, "sandgate_build_info", "version=\"" SANDGATE_VERSION "\"", 1);
    end_family(p);
    begin_family(p, "sandgate_approvals_waiting", "gauge", "Calls that wait for a person's yes.");
    add_number_sample(p, "sandgate_approvals_waiting", "", waiting);
    end_family(p);
    return 0;
}

static int print_all(struct printer *p, struct db *db, struct err *err)
{
    if (p->json) {
        jo_open(&p->j, '{');
        jo_key(&p->j, "metrics");
        jo_open(&p->j, '[');
    }
    if (add_state(p, db, err) < 0 || stats_each(db, keep_row, p, err) < 0)
        return -1;
    add_sum_families(p);
    add_durations(p);
    if (add_counters(p, db, err) < 0)
        return -1;
    if (p->json) {
        jo_close(&p->j, ']');
        jo_close(&p->j, '}');
        buf_add_char(&p->out, '\n');
    }
    return p->out.failed ? err_set(err, ERR_TOO_LARGE, "there are too many sums to print") : 0;
}

static void printer_done(struct printer *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->rows[i].name);
        free(p->rows[i].labels);
    }
    free(p->rows);
    buf_done(&p->out);
}

static int help_stats(void)
{
    BUF_AT_END struct buf out = BUF_INIT(8192);
    buf_add_text(&out,
                 "usage: sandgate stats [--json]\n\n"
                 "Prints sums over all calls of all gates in the text format of Prometheus.\n\n");
    options_help(OPTIONS_LISTING, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

int front_stats(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    FD_AT_END int state_fd = -1;
    DB_AT_END struct db *db = NULL;
    CLEANUP(printer_done) struct printer p = {.out = BUF_INIT(OUT_MAX)};
    if (options_read(argc, argv, OPTIONS_LISTING, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_stats();
    p.json = o.json;
    p.j = (struct json_out){.out = &p.out};
    if (state_open(&state_fd, &err) < 0)
        return front_usage_error(&err);
    if (db_open(&db, state_fd, false, &err) < 0 || print_all(&p, db, &err) < 0) {
        log_error("%s", err.message);
        return EXIT_TOOL_ERROR;
    }
    return front_put(buf_str(&p.out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}
