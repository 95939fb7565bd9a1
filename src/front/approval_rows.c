#include "front/approval_rows.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "base/utf8.h"

#define LABEL_WIDTH 13   /* `  what     | ` */
#define NARROW_WIDTH 2   /* `| `, where the label has a row of its own */
#define TEXT_WIDTH_MIN 2 /* of any character */
#define TAB_COLUMNS 8
#define LINE_MAX_BYTES ((size_t)1 << 30)

#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define CYAN "\x1b[36m"
#define PLAIN "\x1b[0m"

static const struct field {
    const char *label;
    size_t at;
} fields[] = {
    {"what", offsetof(struct approval, summary)}, {"why", offsetof(struct approval, rule)},
    {"agent", offsetof(struct approval, agent)},  {"session", offsetof(struct approval, session)},
    {"in", offsetof(struct approval, workspace)}, {"", offsetof(struct approval, detail)},
};

static const char *approval_field_text(const struct approval *a, const struct field *field)
{
    const char *text = *(const char *const *)(const void *)((const char *)a + field->at);
    /* A session without a name is called after its gate, which says nothing to a person. */
    if (field->at == offsetof(struct approval, session) && text && strncmp(text, "gate:", 5) == 0)
        return NULL;
    return text && text[0] ? text : NULL;
}

struct approval_rows {
    const struct approval *approval;
    struct approval_style style;
    size_t field;      /* the next one */
    const char *label; /* of the next row */
    bool is_detail;
    struct str text; /* lines of this field that are still to come */
    struct str line; /* what is left of the line at hand */
    size_t column;   /* where that begins in its line, for tabs */
    bool in_line;
    bool held;          /* a line waits behind its label */
    const char *colour; /* of the line; "": none */
    struct buf fit;     /* the line at hand, where it had to be made fit for a terminal */
};

/* The rule alone says little to who does not know it. */
static void explain_why(struct approval_rows *r)
{
    if (str_is(r->text, "approval.default"))
        r->text = STR("approval.default (no rule matches this call)");
    else if (str_is(r->text, "approval.inOverlay"))
        r->text = STR("approval.inOverlay (no rule matches this call)");
}

static bool next_field(struct approval_rows *r)
{
    while (r->approval && r->field < ARRAY_LEN(fields)) {
        const struct field *field = &fields[r->field++];
        const char *text = approval_field_text(r->approval, field);
        if (!text)
            continue;
        r->label = field->label;
        r->is_detail = field->at == offsetof(struct approval, detail);
        r->text = (struct str){text, strlen(text)};
        if (field->at == offsetof(struct approval, rule))
            explain_why(r);
        return true;
    }
    return false;
}

/* Lines of a diff stand at the margin, other text of the call is set in. */
static const char *colour_of(const struct approval_rows *r, struct str line)
{
    if (!r->style.colours || !r->is_detail || line.n == 0)
        return "";
    return line.p[0] == '+'                         ? GREEN
           : line.p[0] == '-'                       ? RED
           : line.n > 1 && !memcmp(line.p, "@@", 2) ? CYAN
                                                    : "";
}

/* What was made fit when the call was held is shown as it is; anything else that got here is made fit now. */
static bool next_approval_line(struct approval_rows *r)
{
    if (r->text.n == 0 && !next_field(r))
        return false;
    const char *end = memchr(r->text.p, '\n', r->text.n);
    r->line = (struct str){r->text.p, end ? (size_t)(end - r->text.p) : r->text.n};
    size_t n = r->line.n + (end != NULL);
    r->text = (struct str){r->text.p + n, r->text.n - n};
    r->colour = colour_of(r, r->line);
    if (!shown_is_fit(r->line, true)) {
        buf_reset(&r->fit, 0);
        shown_line(r->line, SIZE_MAX, &r->fit);
        r->line = buf_str(&r->fit);
    }
    r->column = 0;
    return true;
}

static bool is_narrow(const struct approval_rows *r)
{
    return r->style.width < LABEL_WIDTH + TAB_COLUMNS;
}

/* Never more than the terminal has: what it breaks by itself has no mark of ours. */
static size_t text_width(const struct approval_rows *r)
{
    size_t margin = is_narrow(r) ? NARROW_WIDTH : LABEL_WIDTH;
    size_t width = r->style.width > margin ? r->style.width - margin : 0;
    return width < TEXT_WIDTH_MIN ? TEXT_WIDTH_MIN : width;
}

/* The next character, and how many columns it takes. Whatever is not ASCII may be two columns wide. */
static size_t next_character(const struct approval_rows *r, size_t at, size_t column,
                             size_t *ret_columns)
{
    size_t n = utf8_sequence(r->line.p + at, r->line.n - at);
    *ret_columns = r->line.p[at] == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS : n == 1 ? 1 : 2;
    return n ? n : 1;
}

static void add_row_part(struct approval_rows *r, struct buf *out)
{
    size_t columns = text_width(r);
    size_t at = 0;
    for (size_t used = 0; at < r->line.n;) {
        size_t wide;
        size_t n = next_character(r, at, r->column, &wide);
        wide = wide < columns ? wide : columns;
        if (used + wide > columns)
            break;
        if (out && r->line.p[at] == '\t')
            buf_add(out, "        ", wide);
        else if (out)
            buf_add(out, r->line.p + at, n);
        used += wide;
        r->column += wide;
        at += n;
    }
    r->line = (struct str){r->line.p + at, r->line.n - at};
}

static void add_margin(const struct approval_rows *r, char mark, struct buf *out)
{
    char margin[LABEL_WIDTH + 1] = "             ";
    size_t from = is_narrow(r) ? LABEL_WIDTH - NARROW_WIDTH : 0;
    if (from == 0)
        memcpy(margin + 2, r->label, strlen(r->label));
    margin[LABEL_WIDTH - 2] = mark;
    buf_add(out, margin + from, LABEL_WIDTH - from);
    buf_add_text(out, r->colour);
}

static void add_label(struct approval_rows *r, struct buf *out)
{
    if (out)
        buf_addf(out, "%s\n", r->label);
    r->label = "";
}

/* Adds one row with its line break. False: there is none any more. `out` may be NULL, to count. */
static bool approval_rows_next(struct approval_rows *r, struct buf *out)
{
    bool first = !r->in_line;
    if (first && !r->held && !next_approval_line(r))
        return false;
    r->held = is_narrow(r) && r->label[0];
    if (r->held) {
        add_label(r, out);
        return true;
    }
    if (out)
        add_margin(r, first ? '|' : '>', out);
    add_row_part(r, out);
    if (out && r->colour[0])
        buf_add_text(out, PLAIN);
    if (out)
        buf_add_char(out, '\n');
    r->in_line = r->line.n > 0;
    r->label = "";
    return true;
}

/* The approval is borrowed. */
static void approval_rows_begin(struct approval_rows *r, const struct approval *approval,
                                const struct approval_style *style)
{
    *r = (struct approval_rows){
        .approval = approval, .style = *style, .label = "", .fit = BUF_INIT(LINE_MAX_BYTES)};
}

static void approval_rows_done(struct approval_rows *r)
{
    buf_done(&r->fit);
}

size_t approval_rows_count(const struct approval *approval, const struct approval_style *style)
{
    CLEANUP(approval_rows_done) struct approval_rows rows;
    size_t n = 0;
    approval_rows_begin(&rows, approval, style);
    while (approval_rows_next(&rows, NULL))
        n++;
    return n;
}

void approval_rows_add(const struct approval *approval, const struct approval_style *style,
                       size_t first, size_t max, struct buf *out)
{
    CLEANUP(approval_rows_done) struct approval_rows rows;
    approval_rows_begin(&rows, approval, style);
    for (size_t i = 0; max && approval_rows_next(&rows, i < first ? NULL : out); i++)
        max -= i >= first;
}

void approval_rows_text(struct str text, const struct approval_style *style, struct buf *out)
{
    CLEANUP(approval_rows_done) struct approval_rows rows;
    approval_rows_begin(&rows, NULL, style);
    rows.text = text;
    while (approval_rows_next(&rows, out)) {
    }
}
