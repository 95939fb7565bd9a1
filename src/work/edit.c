#include "work/edit.h"

#include <stdio.h>

#include "base/str.h"
#include "base/utf8.h"
#include "work/encoding.h"
#include "work/line_ends.h"
#include "work/nearest.h"
#include "work/work.h"

#define LINES_NAMED 5
/* More places than this are not counted. */
#define PLACES_MAX 1000
#define NONE LINE_ENDS_NONE
/* Replaced between two looks for a cancel: well under a millisecond. */
#define REPLACED_AT_ONCE 1024

#define UNKNOWN (-2)

/* The file before the first edit. What has to be told from all of it is told once. */
struct whole {
    const struct work *w;
    struct str text;
    bool utf16; /* text is UTF-8 made of it */
    size_t max;
    int lead;
    int only_lf;
    int utf8;
    int single_byte;
};

/* One edit while it is done. */
struct job {
    struct whole *file;
    struct str text; /* after the edits before this one */
    const struct op_edit *edit;
    size_t index;
    struct buf folded;     /* text with `\n` for every `\r\n` */
    struct buf needle;     /* what is searched for, where it is not old_text itself */
    struct buf new_latin1; /* new_text, where the file is Latin-1 */
    struct buf new_lf;   /* the same with `\n` for `\r\n`, where the file has no other line ends */
    struct buf new_crlf; /* the same with `\r\n` for bare `\n` */
};

/* Where and how old_text was found. */
struct found {
    struct str hay; /* text, or folded */
    struct str needle;
    size_t first;
    bool folded;
    bool latin1;
};

static void job_done(struct job *job)
{
    buf_done(&job->folded);
    buf_done(&job->needle);
    buf_done(&job->new_latin1);
    buf_done(&job->new_lf);
    buf_done(&job->new_crlf);
}

static int name_edit_in_error(const struct job *job, struct err *err, const char *reason)
{
    err->message[utf8_cut(err->message, strlen(err->message))] = '\0';
    snprintf(err->field, sizeof err->field, "edits[%zu]", job->index);
    if (reason)
        err_reason(err, reason);
    return -1;
}

static int too_large(const struct job *job, const struct buf *failed, struct err *err)
{
    if (failed->no_memory)
        return err_no_memory(err);
    err_set(err, ERR_TOO_LARGE, "the edited file would be larger than the %zu bytes allowed",
            job->file->max);
    return name_edit_in_error(job, err, NULL);
}

/* memmem takes linear time in glibc, whatever the texts. */
static size_t search_text_from(struct str hay, struct str needle, size_t from)
{
    if (needle.n == 0 || from > hay.n || needle.n > hay.n - from)
        return NONE;
    const char *at = memmem(hay.p + from, hay.n - from, needle.p, needle.n);
    return at ? (size_t)(at - hay.p) : NONE;
}

static int file_lead(struct whole *file)
{
    if (file->lead == UNKNOWN)
        file->lead = line_ends_lead(file->text);
    return file->lead;
}

static bool file_is_only_lf(struct whole *file)
{
    if (file->only_lf == UNKNOWN)
        file->only_lf = line_ends_all(file->text, false);
    return file->only_lf;
}

static bool file_is_utf8(struct whole *file)
{
    if (file->utf8 == UNKNOWN)
        file->utf8 = file->utf16 || utf8_valid(file->text.p, file->text.n);
    return file->utf8;
}

static bool file_is_single_byte(struct whole *file)
{
    if (file->single_byte == UNKNOWN)
        file->single_byte = !file_is_utf8(file) && encoding_is_single_byte(file->text);
    return file->single_byte;
}

/* True when the needle's first `\n` is the second half of a `\r\n` somewhere. Replacing from there
 * on would leave a lone `\r` behind. */
static bool splits_crlf(struct str hay, struct str needle)
{
    if (needle.p[0] != '\n')
        return false;
    BUF_AT_END struct buf longer = BUF_INIT(needle.n + 1);
    buf_add_char(&longer, '\r');
    buf_add(&longer, needle.p, needle.n);
    return search_text_from(hay, buf_str(&longer), 0) != NONE;
}

/* As it is, then with line ends of either kind. */
static bool find_text_or_folded(struct job *job, struct str needle, struct found *ret)
{
    *ret = (struct found){.hay = job->text, .needle = needle};
    ret->first = search_text_from(job->text, needle, 0);
    if (ret->first != NONE && !splits_crlf(job->text, needle))
        return true;
    if (!line_ends_any(needle))
        return false;
    if (job->folded.len == 0)
        line_ends_fold(job->text, &job->folded);
    buf_reset(&job->needle, SIZE_MAX);
    line_ends_fold(needle, &job->needle);
    *ret = (struct found){.hay = buf_str(&job->folded), .needle = buf_str(&job->needle)};
    ret->folded = true;
    ret->first = search_text_from(ret->hay, ret->needle, 0);
    return ret->first != NONE;
}

static bool find_old_text(struct job *job, struct found *ret)
{
    struct str old_text = job->edit->old_text;
    if (find_text_or_folded(job, old_text, ret))
        return true;
    if (encoding_is_ascii(old_text) || !utf8_valid(old_text.p, old_text.n) ||
        file_is_utf8(job->file))
        return false;
    BUF_AT_END struct buf latin1 = BUF_INIT(old_text.n);
    if (encoding_to_latin1(old_text, &latin1) != 0 ||
        !find_text_or_folded(job, buf_str(&latin1), ret))
        return false;
    ret->latin1 = true;
    if (!ret->folded) {
        buf_reset(&job->needle, SIZE_MAX);
        buf_add(&job->needle, latin1.data, latin1.len);
        ret->needle = buf_str(&job->needle);
    }
    return true;
}

static size_t line_of(struct str text, size_t at, size_t known_at, size_t known_line)
{
    bool crlf;
    for (size_t i = known_at; (i = line_ends_next(text, i, &crlf)) < at; i++)
        known_line++;
    return known_line;
}

static int ambiguous(const struct job *job, const struct found *f, size_t second, struct err *err)
{
    char lines[160] = "";
    size_t count = 0;
    size_t line = 1;
    size_t before = 0;
    for (size_t at = f->first; at != NONE && count < PLACES_MAX;) {
        if (count < LINES_NAMED) {
            line = line_of(f->hay, at, before, line);
            before = at;
            size_t n = strlen(lines);
            snprintf(lines + n, sizeof lines - n, "%s%zu", count ? ", " : "", line);
        }
        count++;
        /* The second place may begin inside the first one, as with `aa` in `aaa`. */
        size_t next = search_text_from(f->hay, f->needle, at + f->needle.n);
        at = count == 1 && next == NONE ? second : next;
    }
    err_set(err, ERR_NO_MATCH,
            "old_text occurs %s%zu times, on lines %s%s; give more of the lines around it so that "
            "it occurs once, or set all to replace every one",
            count == PLACES_MAX ? "at least " : "", count, lines,
            count > LINES_NAMED ? " and further" : "");
    return name_edit_in_error(job, err, "ambiguous");
}

static int tell_text_not_found(const struct job *job, struct err *err)
{
    const char *where = job->index ? ", as the edits before it leave it" : "";
    struct nearest nearest;
    char shown[NEAREST_SHOWN];
    if (!nearest_find(job->text, job->edit->old_text, &nearest)) {
        err_set(err, ERR_NO_MATCH,
                "old_text does not occur in the file%s, nor does anything like it; read the file "
                "again and copy the text exactly",
                where);
        return name_edit_in_error(job, err, "not_found");
    }
    char what[NEAREST_WHAT];
    nearest_describe(&nearest, what);
    nearest_show(&nearest, shown);
    err_set(err, ERR_NO_MATCH, "old_text does not occur in the file%s; the nearest is %s:\n%s",
            where, what, shown);
    return name_edit_in_error(job, err, "not_found");
}

/* What to insert for each of the two line ends, and whether the file has more of `\r\n`. */
struct insertion {
    struct str as_is;
    struct str crlf;
    int lead;
};

static bool wants_latin1(const struct job *job, const struct found *f, struct str text)
{
    if (encoding_is_ascii(text))
        return false;
    /* Text in ASCII does not tell the encoding; then the whole file has to. */
    return f->latin1 || (encoding_is_ascii(job->edit->old_text) && file_is_single_byte(job->file));
}

/* New text gets the line ends of what it replaces or else of the file, so that no file comes to have both kinds. */
static void choose_ends(struct job *job, const struct found *f, struct str text,
                        struct insertion *ret)
{
    bool has_ends = !f->folded && line_ends_any(f->needle);
    if (file_is_only_lf(job->file)) {
        buf_init(&job->new_lf, text.n);
        line_ends_fold(text, &job->new_lf);
        ret->as_is = ret->crlf = buf_str(&job->new_lf);
        return;
    }
    if (has_ends && !line_ends_all(f->needle, true))
        return;
    buf_init(&job->new_crlf, 2 * text.n);
    line_ends_add_crlf(text, &job->new_crlf);
    ret->crlf = buf_str(&job->new_crlf);
    ret->lead = has_ends ? 1 : file_lead(job->file);
}

static int make_insertion(struct job *job, const struct found *f, struct insertion *ret,
                          struct err *err)
{
    struct str text = job->edit->new_text;
    if (wants_latin1(job, f, text) && utf8_valid(text.p, text.n)) {
        buf_init(&job->new_latin1, text.n);
        uint32_t bad = encoding_to_latin1(text, &job->new_latin1);
        if (bad) {
            err_set(err, ERR_INVALID_ARGUMENTS,
                    "the file is not UTF-8 and is taken for Latin-1, which has no U+%04X as in "
                    "new_text; write it another way",
                    bad);
            return name_edit_in_error(job, err, "not_latin1");
        }
        text = buf_str(&job->new_latin1);
    }
    *ret = (struct insertion){.as_is = text, .crlf = text};
    /* An edit that changes nothing but line ends means just that. */
    if (line_ends_any(text) && !line_ends_same(job->edit->old_text, job->edit->new_text))
        choose_ends(job, f, text, ret);
    return 0;
}

static struct str choose_new_text(const struct insertion *ins, const struct found *f,
                                  struct str matched)
{
    int lead = f->folded && line_ends_any(ins->as_is) ? line_ends_lead(matched) : 0;
    return (lead ? lead : ins->lead) > 0 ? ins->crlf : ins->as_is;
}

/* -1: the call was cancelled. */
static int check_cancel(const struct job *job, struct err *err)
{
    return job->file->w ? work_check_cancel(job->file->w, err) : 0;
}

/* One of the two is the other with a `\r` behind it: that is what the edit is for. */
static bool is_only_cr(const struct op_edit *edit)
{
    struct str longer = line_ends_half(edit->old_text) ? edit->old_text : edit->new_text;
    struct str other = line_ends_half(edit->old_text) ? edit->new_text : edit->old_text;
    return line_ends_half(longer) && str_equal((struct str){longer.p, longer.n - 1}, other);
}

/* A `\r` at the end of old_text or new_text stands before the `\n` of a line: the line end stays as it was. */
static void keep_line_end(const struct job *job, size_t *behind, struct str *with)
{
    struct str text = job->text;
    bool was = *behind && text.p[*behind - 1] == '\r';
    if (*behind == text.n || text.p[*behind] != '\n' || line_ends_half(*with) == was ||
        is_only_cr(job->edit))
        return;
    *behind -= was;
    with->n -= !was;
}

static int replace_found_text(const struct job *job, const struct found *f,
                              const struct insertion *ins, struct buf *out, struct err *err)
{
    struct str text = job->text;
    size_t done = 0; /* of text */
    size_t seen = 0; /* of hay */
    size_t count = 0;
    for (size_t at = f->first; at != NONE && !out->failed;) {
        if (++count % REPLACED_AT_ONCE == 0 && check_cancel(job, err) < 0)
            return -1;
        size_t first = f->folded ? line_ends_unfold(text, done, at - seen) : at;
        size_t behind = f->folded ? line_ends_unfold(text, first, f->needle.n)
                                  : first + f->needle.n;
        struct str with = choose_new_text(ins, f, (struct str){text.p + first, behind - first});
        keep_line_end(job, &behind, &with);
        buf_add(out, text.p + done, first - done);
        buf_add(out, with.p, with.n);
        done = behind;
        seen = at + f->needle.n;
        at = job->edit->all ? search_text_from(f->hay, f->needle, seen) : NONE;
    }
    buf_add(out, text.p + done, text.n - done);
    return 0;
}

static int check_edit(const struct job *job, struct err *err)
{
    struct str old_text = job->edit->old_text;
    struct str new_text = job->edit->new_text;
    if (str_equal(old_text, new_text)) {
        err_set(err, ERR_INVALID_ARGUMENTS, "old_text and new_text are the same");
        return name_edit_in_error(job, err, NULL);
    }
    if (job->file->utf16 &&
        (!utf8_valid(old_text.p, old_text.n) || !utf8_valid(new_text.p, new_text.n))) {
        err_set(err, ERR_INVALID_ARGUMENTS, "the file is UTF-16, and the texts are not UTF-8");
        return name_edit_in_error(job, err, NULL);
    }
    return 0;
}

/* Nothing to find is allowed where nothing is, but for a byte order mark. */
static int fill_empty_file(const struct job *job, struct buf *out, struct err *err)
{
    bool only_mark = str_equal(job->text, STR("\xef\xbb\xbf"));
    if (job->text.n && !only_mark) {
        err_set(
            err, ERR_INVALID_ARGUMENTS,
            "old_text is empty, which only an empty file allows; to insert, give a line that is "
            "there as old_text and the same line with the addition as new_text");
        return name_edit_in_error(job, err, NULL);
    }
    buf_add(out, job->text.p, job->text.n);
    buf_add(out, job->edit->new_text.p, job->edit->new_text.n);
    return 0;
}

/* One of its buffers that there was no room for; NULL: none. */
static const struct buf *failed_of(const struct job *job)
{
    const struct buf *all[] = {&job->folded, &job->needle, &job->new_latin1, &job->new_lf,
                               &job->new_crlf};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i]->failed)
            return all[i];
    }
    return NULL;
}

static int apply_one(struct job *job, struct buf *out, struct err *err)
{
    struct found found;
    struct insertion ins;
    if (check_edit(job, err) < 0)
        return -1;
    if (job->edit->old_text.n == 0)
        return fill_empty_file(job, out, err);
    buf_init(&job->folded, job->text.n);
    buf_init(&job->needle, job->edit->old_text.n);
    bool is_found = find_old_text(job, &found);
    const struct buf *failed = failed_of(job);
    if (failed)
        return too_large(job, failed, err);
    if (!is_found)
        return tell_text_not_found(job, err);
    size_t second = job->edit->all ? NONE
                                   : search_text_from(found.hay, found.needle, found.first + 1);
    if (second != NONE)
        return ambiguous(job, &found, second, err);
    if (make_insertion(job, &found, &ins, err) < 0)
        return -1;
    return replace_found_text(job, &found, &ins, out, err);
}

/* Leaves the edited text in *text, which points into one of the two buffers then. */
static int apply_all(struct whole *file, struct str *text, const struct op_edit *edits, size_t n,
                     struct buf *buffers, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(job_done)
        struct job job = {.file = file, .text = *text, .edit = &edits[i], .index = i};
        struct buf *out = &buffers[i % 2];
        buf_reset(out, SIZE_MAX);
        if (check_cancel(&job, err) < 0 || apply_one(&job, out, err) < 0)
            return -1;
        const struct buf *failed = out->failed ? out : failed_of(&job);
        if (failed)
            return too_large(&job, failed, err);
        *text = buf_str(out);
    }
    return 0;
}

static void two_done(struct buf (*buffers)[2])
{
    buf_done(&(*buffers)[0]);
    buf_done(&(*buffers)[1]);
}

static int edit_utf16(struct str bytes, enum encoding encoding, struct whole *file,
                      const struct op_edit *edits, size_t n, struct buf *out, struct err *err)
{
    /* Two bytes of UTF-16 are at most three of UTF-8. */
    size_t most = bytes.n > out->max ? bytes.n : out->max;
    size_t room = most < SIZE_MAX / 2 ? most / 2 * 3 + 3 : SIZE_MAX;
    BUF_AT_END struct buf decoded = BUF_INIT(room);
    CLEANUP(two_done) struct buf buffers[2] = {BUF_INIT(room), BUF_INIT(room)};
    struct job last = {.file = file, .index = n ? n - 1 : 0};
    if (encoding_from_utf16(bytes, encoding, &decoded) < 0)
        return too_large(&last, &decoded, err);
    file->text = buf_str(&decoded);
    file->utf16 = true;
    struct str text = file->text;
    if (apply_all(file, &text, edits, n, buffers, err) < 0)
        return -1;
    encoding_to_utf16(text, encoding, out);
    buf_add(out, bytes.p + bytes.n - bytes.n % 2, bytes.n % 2);
    return out->failed ? too_large(&last, out, err) : 0;
}

static int edit_bytes(struct whole *file, const struct op_edit *edits, size_t n, struct buf *out,
                      struct err *err)
{
    CLEANUP(two_done) struct buf buffers[2] = {BUF_INIT(out->max), BUF_INIT(out->max)};
    struct job last = {.file = file, .index = n ? n - 1 : 0};
    struct str text = file->text;
    if (apply_all(file, &text, edits, n, buffers, err) < 0)
        return -1;
    if (n && out->len == 0 && !out->failed) {
        struct buf edited = buffers[(n - 1) % 2];
        buffers[(n - 1) % 2] = *out;
        *out = edited;
        return 0;
    }
    buf_add(out, text.p, text.n);
    return out->failed ? too_large(&last, out, err) : 0;
}

int edit_apply(const struct work *w, struct str file, const struct op_edit *edits, size_t n,
               struct buf *out, struct err *err)
{
    if (n > EDIT_COUNT_MAX)
        return err_field(err, "edits", "%zu edits are given, at most %d are allowed", n,
                         EDIT_COUNT_MAX);
    size_t before = out->len;
    struct whole whole = {
        .w = w,
        .text = file.n ? file : STR(""),
        .max = out->max,
        .lead = UNKNOWN,
        .only_lf = UNKNOWN,
        .utf8 = UNKNOWN,
        .single_byte = UNKNOWN,
    };
    enum encoding encoding = encoding_of(whole.text);
    int r = encoding == ENCODING_BYTES
                ? edit_bytes(&whole, edits, n, out, err)
                : edit_utf16(whole.text, encoding, &whole, edits, n, out, err);
    if (r < 0)
        out->len = before;
    return r;
}
