#include "store/audit_leftover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"

/* Gates list their open calls every 128 KiB, or behind the records of one turn. */
#define BLOCK_BYTES (192u << 10)
/* Of a search for a head, which is rarely far from the end. */
#define SHORT_BYTES ((size_t)64 << 10)
#define LONGEST_BYTES ((size_t)AUDIT_RECORD_MAX + CHAIN_TAIL + 2)
#define SEARCH_BYTES (256u << 10)
/* By which the part looked at grows: what was read in vain is then a small share of the whole. */
#define SPAN_FACTOR 8

void leftover_done(struct leftover *left)
{
    audit_calls_done(&left->calls);
}

/* --- one record */

static bool follows(const struct leftover *left, struct str line, yyjson_val *record)
{
    /* Records of a recovery follow the chain's last record, whatever stands between. */
    if ((left->before[0] && chain_follows(line, left->before)) ||
        (left->hash[0] && chain_follows(line, left->hash)))
        return true;
    struct str after = json_str(yyjson_obj_get(record, "after"));
    char before[HASH_HEX + 1];
    if (!after.p || !hash_is_hex(after))
        return false;
    chain_copy(before, after);
    return chain_follows(line, before);
}

/* Calls that had begun before. */
static void note_open(struct leftover *left, yyjson_val *record)
{
    size_t i;
    size_t n;
    yyjson_val *id;
    yyjson_val *tools = yyjson_obj_get(record, "tools");
    yyjson_arr_foreach(yyjson_obj_get(record, "open"), i, n, id) {
        if (yyjson_is_str(id))
            audit_calls_begin(&left->calls, json_str(id), json_str(yyjson_arr_get(tools, i)));
    }
    uint64_t more = yyjson_get_uint(yyjson_obj_get(record, "open_more"));
    left->calls.not_followed += more < INT32_MAX ? (int64_t)more : 0;
}

static bool lists_open(struct str kind, yyjson_val *record)
{
    return str_is(kind, "log.continued") ||
           (str_is(kind, "log.open") && yyjson_is_arr(yyjson_obj_get(record, "open")));
}

/* One of the chain: it says whose chain it is and how far that has come. */
static void note_link(struct leftover *left, const struct chain_record *record, yyjson_val *root,
                      off_t end)
{
    bool start = str_is(record->kind, "gate.start");
    bool stop = str_is(record->kind, "gate.stop");
    chain_copy(left->hash, record->hash);
    left->valid_end = end;
    left->found = true;
    left->stopped = stop;
    left->seq = record->seq;
    left->at_ms = chain_time_of(record->body);
    memcpy(left->gate, record->gate.p ? record->gate.p : "", record->gate.n);
    left->gate[record->gate.n] = '\0';
    if (start || stop || lists_open(record->kind, root)) {
        left->delimited = true;
        audit_calls_done(&left->calls);
    }
    if (left->rows)
        audit_heads_match(left->rows, record);
}

static void note_call(struct leftover *left, yyjson_val *record)
{
    struct str kind = json_str(yyjson_obj_get(record, "kind"));
    struct str call = json_str(yyjson_obj_get(record, "call"));
    if (lists_open(kind, record))
        note_open(left, record);
    else if (call.p && str_is(kind, "call.intent"))
        audit_calls_begin(&left->calls, call, json_str(yyjson_obj_get(record, "tool")));
    else if (call.p && (str_is(kind, "call.outcome") || str_is(kind, "call.interrupted")))
        audit_calls_end(&left->calls, call);
}

static void note_line(struct leftover *left, const struct audit_line *line)
{
    struct chain_record record;
    JSON_AT_END yyjson_doc *doc = NULL;
    struct str before = chain_hash_of(line->text);
    if (json_parse(line->text.p, line->text.n, AUDIT_RECORD_MAX, JSON_STRICT, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        if (chain_read(line->text, &record) && follows(left, line->text, root))
            note_link(left, &record, root, line->at + (off_t)line->text.n + line->ends);
        note_call(left, root);
    }
    if (before.p)
        chain_copy(left->before, before);
    else
        left->before[0] = '\0';
}

/* --- heads */

/* Behind the record with this hash and its newline, in the file up to `end`; 0: it is not there. -errno. */
static off_t find_hash(int fd, const char hash[HASH_HEX + 1], off_t end)
{
    FREE_AT_END char *block = mem_grow(NULL, SEARCH_BYTES + CHAIN_TAIL, 1);
    char tail[CHAIN_TAIL + 2];
    /* With its newline, which is nowhere within a record. */
    int n = snprintf(tail, sizeof tail, "\"hash\":\"%s\"}\n", hash);
    while (end > 0) {
        off_t from = end > SEARCH_BYTES ? end - SEARCH_BYTES : 0;
        /* What begins in this block may end behind it. */
        ssize_t got = audit_read_at(fd, block, (size_t)(end - from) + (size_t)n - 1, from);
        if (got < 0)
            return got;
        const char *at = memmem(block, (size_t)got, tail, (size_t)n);
        if (at)
            return from + (at - block) + n;
        end = from;
    }
    return 0;
}

/* The last bytes up to `end`, at most `most` of them. -errno. */
static int read_log_end(int fd, off_t end, size_t most, char **ret_bytes, off_t *ret_from)
{
    FREE_AT_END char *bytes = malloc(most);
    off_t from = end > (off_t)most ? end - (off_t)most : 0;
    if (!bytes)
        return -ENOMEM;
    ssize_t got = audit_read_at(fd, bytes, (size_t)(end - from), from);
    if (got < 0 || got != end - from)
        return got < 0 ? (int)got : -EIO;
    *ret_bytes = TAKE_PTR(bytes);
    *ret_from = from;
    return 0;
}

/* Marks the row of the record that ends there, if that follows the one before it. */
static int match_at(struct leftover *left, int fd, off_t end)
{
    static const size_t sizes[] = {SHORT_BYTES, LONGEST_BYTES};
    CLEANUP(leftover_done) struct leftover part = {.rows = left->rows};
    FREE_AT_END char *bytes = NULL;
    const char *newline = NULL;
    off_t from = 1;
    size_t got = 0;
    bool whole = false;
    /* Most records are short. */
    for (size_t i = 0; !whole && i < ARRAY_LEN(sizes); i++) {
        free(TAKE_PTR(bytes));
        int r = read_log_end(fd, end, sizes[i], &bytes, &from);
        if (r < 0)
            return r;
        got = (size_t)(end - from);
        newline = memrchr(bytes, '\n', got - 1);
        whole = from == 0 || (newline && newline - bytes > CHAIN_TAIL);
    }
    const char *start = newline ? newline + 1 : bytes;
    struct audit_line line = {.text = {start, (size_t)(bytes + got - 1 - start)},
                              .at = from + (start - bytes),
                              .ends = true};
    if (!newline && from == 0)
        memcpy(part.hash, CHAIN_NONE, sizeof part.hash);
    if (newline && newline - bytes > CHAIN_TAIL) {
        struct str before = chain_hash_of((struct str){newline - CHAIN_TAIL - 1, CHAIN_TAIL + 1});
        if (before.p)
            chain_copy(part.before, before);
    }
    if ((newline || from == 0) && line.text.n < AUDIT_RECORD_MAX)
        note_line(&part, &line);
    return 0;
}

/* The head may be further back than what was read: it follows its records by some time. */
static int find_heads(struct leftover *left, int fd, off_t size)
{
    int r = 0;
    for (size_t i = 0; left->rows && r == 0 && i < left->rows->n; i++) {
        const struct head_row *row = &left->rows->rows[i];
        if (row->found || strcmp(row->gate, left->gate) != 0)
            continue;
        off_t end = find_hash(fd, row->head.hash, size);
        r = end > 0 ? match_at(left, fd, end) : (int)end;
    }
    return r;
}

/* --- the file */

static int read_from(struct leftover *left, int fd, off_t from)
{
    CLEANUP(audit_lines_done) struct audit_lines lines;
    struct audit_line line;
    bool cut = from > 0; /* the first line is not whole */
    int r;
    audit_lines_init(&lines, fd, from);
    while ((r = audit_lines_next(&lines, &line)) > 0) {
        /* The last record may have lost nothing but its newline, and it is about to get one. */
        if (!cut && line.begins && line.text.n < AUDIT_RECORD_MAX)
            note_line(left, &line);
        else
            left->before[0] = '\0';
        cut = cut && !line.ends;
    }
    return r;
}

/* Files hold many gates and only the last one matters: looks for its start in ever larger parts. */
static int read_last_gate(struct leftover *left, int fd, off_t size)
{
    for (off_t span = BLOCK_BYTES;; span *= SPAN_FACTOR) {
        off_t from = size > span ? size - span : 0;
        struct head_rows *rows = left->rows;
        leftover_done(left);
        *left = (struct leftover){.rows = rows};
        if (from == 0)
            memcpy(left->hash, CHAIN_NONE, sizeof left->hash);
        int r = read_from(left, fd, from);
        if (r == 0 && left->delimited && from > 0)
            r = find_heads(left, fd, size);
        if (r < 0 || left->delimited || from == 0)
            return r;
    }
}

static int read_rotated(struct leftover *left, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    int r = read_last_gate(left, fd, st.st_size);
    left->elsewhere = left->found;
    left->valid_end = 0;
    return r;
}

static bool all_found(const struct leftover *left)
{
    for (size_t i = 0; i < left->rows->n; i++) {
        if (strcmp(left->rows->rows[i].gate, left->gate) == 0 && !left->rows->rows[i].found)
            return false;
    }
    return true;
}

int leftover_read(struct leftover *left, int fd, off_t size, int dir, const char *slot,
                  struct head_rows *rows)
{
    left->rows = rows;
    int r = read_last_gate(left, fd, size);
    if (r < 0 || (left->found && all_found(left)))
        return r;
    FD_AT_END int rotated = audit_newest_rotated(dir, slot);
    if (rotated < 0)
        return 0;
    if (!left->found)
        return read_rotated(left, rotated);
    /* The head may have been written before the gate went on in this file. */
    CLEANUP(leftover_done) struct leftover earlier = {.rows = rows};
    return read_rotated(&earlier, rotated);
}

/* What a reader of the log would take for one: a line that was cut has no bracket at its end. */
static bool is_like_record(struct str text)
{
    const struct str key = STR("\"kind\":");
    return text.n > 1 && text.p[0] == '{' && text.p[text.n - 1] == '}' &&
           memmem(text.p, text.n, key.p, key.n);
}

static bool has_record(int fd, off_t from)
{
    struct audit_lines lines;
    struct audit_line line;
    bool found = false;
    audit_lines_init(&lines, fd, from);
    while (!found && audit_lines_next(&lines, &line) > 0)
        found = audit_line_whole(&line) && is_like_record(line.text);
    audit_lines_done(&lines);
    return found;
}

int audit_torn_read(int fd, off_t from, struct audit_torn *ret)
{
    struct stat st;
    struct hash h;
    char block[4096];
    char last = '\n';
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size > 0 && audit_read_at(fd, &last, 1, st.st_size - 1) != 1)
        return -EIO;
    *ret = (struct audit_torn){.bytes = -1, .open = last != '\n'};
    if (st.st_size <= from)
        return 0;
    ret->bytes = st.st_size - from - !ret->open;
    hash_begin(&h);
    for (off_t at = from; at < from + ret->bytes;) {
        size_t want = (size_t)(from + ret->bytes - at);
        ssize_t got = audit_read_at(fd, block, want < sizeof block ? want : sizeof block, at);
        if (got <= 0)
            return got < 0 ? (int)got : -EIO;
        hash_add(&h, block, (size_t)got);
        at += got;
    }
    hash_end_hex(&h, ret->sha256);
    ret->records = has_record(fd, from);
    return 0;
}
