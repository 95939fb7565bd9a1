/* `sandgate audit verify`: whether the log is as the gates wrote it. */
#include "front/audit_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/shown.h"
#include "front/front.h"
#include "store/audit_verify.h"

#define ANCHORS_MAX (64u << 20)
#define OUT_MAX (1u << 20)
#define GATE_SHOWN 200

struct printing {
    struct buf out;
    bool json;
};

/* What a record says of itself, which anyone may have written. */
static void add_gate(const struct verify_finding *f, struct buf *out)
{
    buf_add_text(out, " (gate ");
    shown_line((struct str){f->gate, strlen(f->gate)}, GATE_SHOWN, out);
    if (!f->seq)
        buf_add_char(out, ')');
}

static void print_finding(void *arg, const struct verify_finding *f)
{
    struct printing *p = arg;
    bool bad = f->level == VERIFY_BAD;
    buf_reset(&p->out, OUT_MAX);
    if (p->json) {
        struct json_out j = {.out = &p->out};
        jo_open(&j, '{');
        jo_ktext(&j, "level", bad ? "bad" : "note");
        jo_ktext(&j, "file", f->file);
        jo_kint(&j, "line", (int64_t)f->line);
        jo_kint(&j, "byte", f->byte);
        jo_ktext(&j, "gate", f->gate);
        jo_kint(&j, "seq", f->seq);
        jo_ktext(&j, "text", f->text);
        jo_close(&j, '}');
    } else {
        buf_addf(&p->out, "%s: %s", bad ? "BAD" : "note", f->file);
        if (f->line)
            buf_addf(&p->out, ":%" PRIu64, f->line);
        buf_addf(&p->out, ": %s", f->text);
        if (f->gate && f->gate[0])
            add_gate(f, &p->out);
        if (f->gate && f->gate[0] && f->seq)
            buf_addf(&p->out, ", record %" PRId64 ")", f->seq);
    }
    buf_add_char(&p->out, '\n');
    front_put(buf_str(&p->out));
}

static void print_report(struct printing *p, const struct verify_report *r)
{
    buf_reset(&p->out, OUT_MAX);
    if (p->json) {
        struct json_out j = {.out = &p->out};
        jo_open(&j, '{');
        jo_kbool(&j, "whole", r->bad == 0);
        jo_kint(&j, "bad", (int64_t)r->bad);
        jo_kint(&j, "notes", (int64_t)r->notes);
        jo_kint(&j, "files", (int64_t)r->files);
        jo_kint(&j, "gates", (int64_t)r->gates);
        jo_kint(&j, "records", (int64_t)r->records);
        jo_kint(&j, "torn", (int64_t)r->torn);
        jo_kint(&j, "removed", (int64_t)r->removed);
        jo_kint(&j, "anchors", (int64_t)r->anchors);
        jo_close(&j, '}');
    } else {
        buf_addf(&p->out, "%s: %" PRIu64 " records of %" PRIu64 " gates in %" PRIu64 " files",
                 r->bad ? "not whole" : "whole", r->records, r->gates, r->files);
        if (r->anchors)
            buf_addf(&p->out, ", %" PRIu64 " anchors found", r->anchors);
    }
    buf_add_char(&p->out, '\n');
    front_put(buf_str(&p->out));
}

static int read_anchors(const char *path, struct buf *out, struct err *err)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -errno : 1;
    while (n > 0) {
        if (buf_reserve(out, 64u << 10) < 0)
            return err_set(err, ERR_INVALID_ARGUMENTS, "%s is longer than %u bytes", path,
                           ANCHORS_MAX);
        n = fd_read_upto(fd, out->data + out->len, out->cap - out->len);
        out->len += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? err_set(err, ERR_INVALID_ARGUMENTS, "%s: %s", path, strerror((int)-n)) : 0;
}

int audit_verify_run(int state_fd, const struct options *o, struct err *err)
{
    BUF_AT_END struct buf anchors = BUF_INIT(ANCHORS_MAX);
    struct printing p = {.out = BUF_INIT(OUT_MAX), .json = o->json};
    struct verify_report report = {0};
    struct verify_options options = {.found = print_finding, .arg = &p};
    int r = o->anchors ? read_anchors(o->anchors, &anchors, err) : 0;
    if (o->anchors)
        options.anchors = buf_str(&anchors);
    if (r == 0)
        r = audit_verify(state_fd, &options, &report, err);
    if (r == 0)
        print_report(&p, &report);
    buf_done(&p.out);
    if (r == 0 && report.bad)
        return err_set(err, ERR_INTERNAL,
                       "the audit log is not as it was written: %" PRIu64 " findings", report.bad);
    return r;
}
