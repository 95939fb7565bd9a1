/* `sandgate audit show|tail|verify`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/audit_verify.h"
#include "front/audit_write.h"
#include "front/front.h"
#include "front/prompt_parts.h"
#include "gate/state.h"

/* A call may have begun so long before the first record that is wanted. */
#define BEGAN_BEFORE_MS 3600000
#define LAST_MAX 100000
#define FIRST_WINDOW (256u << 10)
/* What is written at once; the largest item fits. */
#define OUT_FLUSH (64u << 10)
#define OUT_MAX (8u << 20)
#define WAIT_MS 60000

struct ring {
    struct str *items;
    size_t max;
    size_t count;
    size_t next;
};

struct showing {
    struct audit_filter filter;
    const struct audit_writer *writer;
    struct audit_style style;
    struct buf out;
    struct ring last; /* max 0: everything is written as it comes */
    int64_t not_before;
    bool any; /* something was shown */
    bool failed;
};

static void ring_add(struct ring *ring, struct str text)
{
    struct str *slot = &ring->items[ring->next];
    free((void *)(uintptr_t)slot->p);
    *slot = (struct str){mem_copy(text.p, text.n), text.n};
    ring->next = (ring->next + 1) % ring->max;
    ring->count += ring->count < ring->max;
}

static void ring_clear(struct ring *ring)
{
    for (size_t i = 0; i < ring->max; i++)
        free((void *)(uintptr_t)ring->items[i].p);
    if (ring->max)
        memset(ring->items, 0, ring->max * sizeof *ring->items);
    ring->count = ring->next = 0;
}

static void flush_audit_output(struct showing *s)
{
    if (s->out.len && front_put(buf_str(&s->out)) < 0)
        s->failed = true;
    s->out.failed = false;
    buf_reset(&s->out, OUT_MAX);
}

static void show_item(void *arg, const struct audit_item *item)
{
    struct showing *s = arg;
    if (item->at_ms < s->not_before)
        return;
    size_t before = s->out.len;
    s->any = true;
    s->writer->write(item, &s->style, &s->out);
    if (s->last.max) {
        ring_add(&s->last, (struct str){s->out.data + before, s->out.len - before});
        s->out.len = before;
    } else if (s->out.len > OUT_FLUSH) {
        flush_audit_output(s);
    }
}

/* What was held back, and from now on everything as it comes. */
static void release_last(struct showing *s)
{
    struct ring *ring = &s->last;
    for (size_t i = 0; i < ring->count; i++) {
        struct str item = ring->items[(ring->next + ring->max - ring->count + i) % ring->max];
        buf_add(&s->out, item.p, item.n);
        if (s->out.len > OUT_FLUSH)
            flush_audit_output(s);
    }
    ring_clear(ring);
    free(ring->items);
    *ring = (struct ring){0};
}

static void warn_damaged(const struct audit_reader *reader, uint64_t *told)
{
    uint64_t damaged = audit_reader_gaps(reader)->damaged;
    if (damaged > *told)
        log_warning("%" PRIu64 " lines of the audit log are damaged and left out", damaged - *told);
    *told = damaged;
}

/* -1 where something was left out. */
static int check_gaps(const struct audit_reader *reader, struct err *err)
{
    const struct audit_gaps *gaps = audit_reader_gaps(reader);
    if (gaps->unread == 0)
        return 0;
    return err_set(err, ERR_INTERNAL,
                   "not all of the audit log could be read, and what is missing is left out: `%s`: "
                   "%s",
                   gaps->name, strerror(gaps->error));
}

struct source {
    struct audit_reader *reader;
    struct audit_view *view;
    uint64_t told; /* of damaged lines */
};

/* `first`: calls that began before what is read are left out; later on they are the ones that took long. */
static void read_audit_entries(struct showing *s, const struct source *source, bool first)
{
    struct audit_entry entry;
    while (!s->failed && audit_reader_next(source->reader, &entry)) {
        s->not_before = audit_reader_complete_from(source->reader);
        audit_view_add(source->view, &entry, first && s->not_before != INT64_MIN);
    }
}

static void source_done(struct source *source)
{
    audit_view_free(source->view);
    audit_reader_free(source->reader);
    *source = (struct source){0};
}

/* Reads everything there is. Where only the last items are wanted, of each file only its end, and more of it as long as
 * that was not enough. */
static int read_what_is_there(struct showing *s, int state_fd, bool to_end, struct source *ret,
                              struct err *err)
{
    struct audit_read_options options = {.from_ms = s->filter.since_ms,
                                         .window = s->last.max ? FIRST_WINDOW : 0};
    if (options.from_ms != INT64_MIN)
        options.from_ms -= BEGAN_BEFORE_MS;
    for (;; options.window *= 4) {
        if (audit_reader_new(&ret->reader, state_fd, &options, err) < 0)
            return -1;
        ret->view = audit_view_new(&s->filter, show_item, s);
        s->not_before = INT64_MIN;
        read_audit_entries(s, ret, true);
        if (to_end)
            audit_view_end(ret->view);
        bool all = audit_reader_complete_from(ret->reader) == INT64_MIN;
        if (all || s->last.count == s->last.max)
            return 0;
        ring_clear(&s->last);
        source_done(ret);
    }
}

static int show_audit_trail(int state_fd, struct showing *s, struct err *err)
{
    struct source source = {0};
    int r = read_what_is_there(s, state_fd, true, &source, err);
    if (r == 0) {
        release_last(s);
        flush_audit_output(s);
        warn_damaged(source.reader, &source.told);
        r = check_gaps(source.reader, err);
    }
    /* Who names a call expects it: nothing at all could be taken for a call that did nothing. */
    if (r == 0 && s->filter.call && !s->any)
        r = err_set(err, ERR_NOT_FOUND,
                    "no record fits: `sandgate audit show` lists the calls, --json their ids");
    source_done(&source);
    return r;
}

/* Until whoever reads is gone or a signal ends it. */
static int tail(int state_fd, struct showing *s, struct err *err)
{
    struct source source = {0};
    int r = read_what_is_there(s, state_fd, false, &source, err);
    if (r == 0)
        release_last(s);
    bool whole = true;
    while (r == 0 && !s->failed) {
        flush_audit_output(s);
        warn_damaged(source.reader, &source.told);
        if (whole && check_gaps(source.reader, err) < 0)
            log_warning("%s", err->message);
        whole = audit_reader_gaps(source.reader)->unread == 0;
        if (!audit_reader_wait(source.reader, WAIT_MS, STDOUT_FILENO))
            break;
        read_audit_entries(s, &source, false);
    }
    if (r == 0)
        r = check_gaps(source.reader, err);
    source_done(&source);
    return r;
}

/* --- the command */

struct verb {
    const char *name;
    unsigned options;
    int (*run)(int state_fd, const struct options *o, struct err *err);
    const char *doc;
};

static int parse_last(const char *text, size_t usual, struct ring *ret, struct err *err)
{
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : (long)usual;
    if (text && (end == text || *end || n < 0 || n > LAST_MAX))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "--last is `%.20s`: it must be a number from 0 to %d", text, LAST_MAX);
    ret->max = (size_t)n;
    ret->items = n ? mem_zero((size_t)n * sizeof *ret->items) : NULL;
    return 0;
}

static int begin_audit_showing(struct showing *s, const struct options *o, size_t usual_last,
                               struct err *err)
{
    if (o->json && o->as && strcmp(o->as, "json") != 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--json and --as %.20s are not the same", o->as);
    const char *as = o->json ? "json" : o->as ? o->as : "text";
    s->writer = audit_writer_find(as, err);
    buf_init(&s->out, OUT_MAX);
    s->style.colours = terminal_style_of(STDOUT_FILENO).colours;
    s->style.terminal = isatty(STDOUT_FILENO);
    s->style.whole = o->call != NULL;
    if (!s->writer || parse_last(o->last, usual_last, &s->last, err) < 0 ||
        audit_filter_init(&s->filter, o, err) < 0)
        return -1;
    if (s->writer->head)
        buf_add_text(&s->out, s->writer->head);
    /* Who names a kind wants the records of that kind. */
    s->filter.joined = s->writer->joined && !o->kind;
    s->filter.brief = s->writer->brief && !o->kind;
    return 0;
}

static int run_showing(int state_fd, const struct options *o, size_t usual_last,
                       int (*run)(int state_fd, struct showing *s, struct err *err),
                       struct err *err)
{
    struct showing s = {.not_before = INT64_MIN};
    int r = begin_audit_showing(&s, o, usual_last, err);
    /* None of what is there, only what comes. */
    if (r == 0 && o->last && s.last.max == 0)
        s.filter.since_ms = clock_unix_ms();
    if (r == 0)
        r = run(state_fd, &s, err);
    ring_clear(&s.last);
    free(s.last.items);
    audit_filter_done(&s.filter);
    buf_done(&s.out);
    return r;
}

static int run_show(int state_fd, const struct options *o, struct err *err)
{
    return run_showing(state_fd, o, 0, show_audit_trail, err);
}

static int run_tail(int state_fd, const struct options *o, struct err *err)
{
    return run_showing(state_fd, o, o->since ? 0 : 10, tail, err);
}

static const struct verb verbs[] = {
    {"show", OPTIONS_AUDIT | OPTIONS_LISTING, run_show, "what was called, and what became of it"},
    {"tail", OPTIONS_AUDIT | OPTIONS_LISTING, run_tail, "the same, and what comes as it comes"},
    {"verify", OPTIONS_VERIFY | OPTIONS_LISTING, audit_verify_run,
     "whether the log is as it was written, and where not"},
};

static int help_audit(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    unsigned all = 0;
    buf_add_text(&out, "usage: sandgate audit VERB [options]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        buf_addf(&out, "  %-10s %s\n", verbs[i].name, verbs[i].doc);
        all |= verbs[i].options;
    }
    buf_add_char(&out, '\n');
    options_help(all, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

static const struct verb *find_audit_verb(int argc, char *const *argv, struct err *err)
{
    for (size_t i = 0; argc && i < ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].name, argv[0]) == 0)
            return &verbs[i];
    }
    BUF_AT_END struct buf known = BUF_INIT(256);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        buf_addf(&known, "%s%s", i ? ", " : "", verbs[i].name);
    err_set(err, ERR_INVALID_ARGUMENTS, "say first one of: %s; see --help", buf_text(&known));
    return NULL;
}

int front_audit(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    FD_AT_END int state_fd = -1;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help_audit();
    }
    const struct verb *verb = find_audit_verb(argc, argv, &err);
    if (!verb || options_read(argc - 1, argv + 1, verb->options, 0, &o, &err) < 0 ||
        state_open(&state_fd, &err) < 0)
        return front_usage_error(&err);
    if (verb->run(state_fd, &o, &err) == 0)
        return EXIT_OK;
    log_error("%s", err.message);
    return err_row(err.code)->kind == KIND_MODEL ? EXIT_USAGE : EXIT_TOOL_ERROR;
}
