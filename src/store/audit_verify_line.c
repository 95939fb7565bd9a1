#include "store/audit_verify_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"

/* --- lines that do not follow */

static void describe_region(struct verifier *v, const struct chain_record *r)
{
    struct region *g = &v->region;
    long long seq = r->seq;
    bool same = r->gate.p && strlen(v->gate) == r->gate.n &&
                memcmp(v->gate, r->gate.p, r->gate.n) == 0;
    g->seq = r->seq;
    snprintf(g->gate, sizeof g->gate, "%.*s", (int)r->gate.n, r->gate.p ? r->gate.p : "");
    if (!v->seen || v->link == LINK_BROKEN)
        snprintf(g->text, sizeof g->text,
                 "record %lld was changed, or what stood before it is missing", seq);
    else if (!same)
        snprintf(g->text, sizeof g->text,
                 "record %lld of this gate does not follow record %lld of the gate before: one of "
                 "the two was changed, or what stood between was removed",
                 seq, (long long)v->seq);
    else if (r->seq == v->seq + 1)
        snprintf(g->text, sizeof g->text, "record %lld was changed", seq);
    else if (r->seq > v->seq)
        snprintf(g->text, sizeof g->text,
                 "record %lld was changed, or records between %lld and it were removed", seq,
                 (long long)v->seq);
    else
        snprintf(g->text, sizeof g->text,
                 "record %lld stands behind record %lld: it was moved, repeated or changed", seq,
                 (long long)v->seq);
}

static void region_add(struct verifier *v, const struct audit_line *line)
{
    struct region *g = &v->region;
    if (g->newline) {
        hash_add(&g->hash, "\n", 1);
        g->bytes++;
    }
    hash_add(&g->hash, line->text.p, line->text.n);
    g->bytes += (int64_t)line->text.n;
    g->newline = line->ends;
    g->ends += line->ends;
}

static void region_begin(struct verifier *v, const struct audit_line *line,
                         const struct chain_record *record)
{
    struct region *g = &v->region;
    *g = (struct region){.open = true, .record = record != NULL, .place = v->at};
    hash_begin(&g->hash);
    if (record)
        describe_region(v, record);
    else
        snprintf(g->text, sizeof g->text,
                 "this is no record of the log: one was changed or cut, or something was added");
    region_add(v, line);
}

static void region_bad(struct verifier *v)
{
    struct region *g = &v->region;
    verify_tell(v, VERIFY_BAD, &g->place, g->gate[0] ? g->gate : v->gate, g->seq, "%s", g->text);
    g->open = false;
    v->loose = true;
}

/* Whether the record is the one that recovery wrote behind just these bytes. */
static bool accounts_for(struct verifier *v, struct str line)
{
    struct region *g = &v->region;
    JSON_AT_END yyjson_doc *doc = NULL;
    char sha256[HASH_HEX + 1];
    struct hash copy = g->hash;
    if (!g->newline || !chain_follows(line, v->hash) ||
        json_parse(line.p, line.n, AUDIT_RECORD_MAX, JSON_STRICT, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *bytes = yyjson_obj_get(root, "torn");
    hash_end_hex(&copy, sha256);
    return yyjson_is_uint(bytes) && yyjson_get_uint(bytes) == (uint64_t)g->bytes &&
           str_is(json_str(yyjson_obj_get(root, "torn_sha256")), sha256);
}

/* --- records */

static bool read_record_hash(struct str line, const char *key, char ret[HASH_HEX + 1])
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(line.p, line.n, AUDIT_RECORD_MAX, JSON_STRICT, &doc, NULL) < 0)
        return false;
    struct str hash = json_str(yyjson_obj_get(yyjson_doc_get_root(doc), key));
    if (!hash.p || !hash_is_hex(hash))
        return false;
    chain_copy(ret, hash);
    return true;
}

static bool begins_file(const struct chain_record *r)
{
    return str_is(r->kind, "gate.start") || str_is(r->kind, "log.continued");
}

static void check_seq(struct verifier *v, const struct chain_record *r, bool start)
{
    int64_t wanted = start ? 1 : v->seq + 1;
    bool same = start || (strlen(v->gate) == r->gate.n &&
                          (r->gate.n == 0 || memcmp(v->gate, r->gate.p, r->gate.n) == 0));
    if (v->loose || !v->seen || !same || r->seq == wanted)
        return;
    verify_tell(v, r->seq > wanted ? VERIFY_NOTE : VERIFY_BAD, &v->at, v->gate, r->seq,
                r->seq > wanted ? "records %lld to %lld were lost by the gate itself, which had no "
                                  "room for them"
                                : "record %lld should be record %lld",
                r->seq > wanted ? (long long)wanted : (long long)r->seq,
                r->seq > wanted ? (long long)r->seq - 1 : (long long)wanted);
}

/* A cut line that recovery has accounted for must be there. */
static void check_torn(struct verifier *v, struct str line, const struct chain_record *r)
{
    bool recovery = str_is(r->kind, "call.interrupted") || str_is(r->kind, "gate.stop") ||
                    str_is(r->kind, "log.continued");
    if (recovery && memmem(line.p, line.n, STR(",\"torn\":").p, STR(",\"torn\":").n))
        verify_tell(v, VERIFY_BAD, &v->at, v->gate, r->seq,
                    "the cut line that should stand before record %lld is missing",
                    (long long)r->seq);
}

/* Said by the gate that came next. */
static void check_head_known(struct verifier *v, struct str line, const struct chain_record *r)
{
    const struct str unknown = STR(",\"no_head\":true");
    const struct str restarted = STR(",\"restarted\":true");
    if (!(str_is(r->kind, "gate.start") || str_is(r->kind, "gate.stop")) ||
        !memmem(line.p, line.n, unknown.p, unknown.n))
        return;
    bool lost = memmem(line.p, line.n, restarted.p, restarted.n);
    verify_tell(v, lost ? VERIFY_NOTE : VERIFY_BAD, &v->at, v->gate, r->seq,
                lost ? "state.db did not know the gate before this record, which ended before the "
                       "machine was started anew: a power loss took that, or someone"
                     : "state.db did not know the gate before this record: it was removed, or an "
                       "older one put in its place, and records may be missing before this one");
}

static void note_gate(struct verifier *v, const struct chain_record *r, bool start)
{
    if (r->gate.n)
        memcpy(v->gate, r->gate.p, r->gate.n);
    v->gate[r->gate.n] = '\0';
    if (!start) {
        if (str_is(r->kind, "log.continued"))
            verify_add_gate(v, v->gate);
        return;
    }
    v->report->gates++;
    if (!verify_add_gate(v, v->gate))
        verify_tell(v, VERIFY_BAD, &v->at, v->gate, r->seq,
                    "this gate begins a second time: its records were copied");
}

static void take_verified_line(struct verifier *v, const struct audit_line *line,
                               const struct chain_record *r)
{
    bool start = str_is(r->kind, "gate.start");
    char hash[HASH_HEX + 1];
    check_seq(v, r, start);
    note_gate(v, r, start);
    check_head_known(v, line->text, r);
    v->report->records++;
    v->seq = r->seq;
    v->at_ms = chain_time_of(r->body);
    v->seen = true;
    v->loose = false;
    v->rotated = str_is(r->kind, "log.rotated");
    v->stopped = str_is(r->kind, "gate.stop");
    v->link = LINK_KNOWN;
    chain_copy(v->hash, r->hash);
    chain_copy(v->before, r->hash);
    audit_heads_match(&v->rows, r);
    verify_match_anchor(v, r);
    if (str_is(r->kind, "log.removed") && read_record_hash(line->text, "last_hash", hash)) {
        hash_list_add(&v->removed, (struct str){hash, HASH_HEX});
        v->report->removed++;
    }
}

/* Whether the record goes on where it says; who it should follow is the caller's question. */
static bool record_goes_on(struct str line, const struct chain_record *r, char after[HASH_HEX + 1])
{
    return begins_file(r) && read_record_hash(line, "after", after) && chain_follows(line, after);
}

/* Removed since it was read: then those behind it may be, too. */
static bool is_previous_gone(struct verifier *v)
{
    return v->previous[0] && faccessat(v->dir, v->previous, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

static void check_link(struct verifier *v, const struct chain_record *r, const char *after)
{
    unsigned slot = audit_slot_number(v->slot);
    if (v->link == LINK_BROKEN ||
        (v->link == LINK_KNOWN && memcmp(after, v->hash, HASH_HEX) == 0) ||
        (v->link == LINK_FIRST && memcmp(after, CHAIN_NONE, HASH_HEX) == 0))
        return;
    if (v->link == LINK_FIRST || is_previous_gone(v)) {
        /* Perhaps a record that comes later says that it was removed. */
        memcpy(v->missing[slot], after, HASH_HEX + 1);
        v->missing_at[slot] = v->at;
        if (str_is(r->kind, "log.continued")) {
            char gate[GATE_ID_MAX];
            snprintf(gate, sizeof gate, "%.*s", (int)r->gate.n, r->gate.p ? r->gate.p : "");
            verify_age_anchors(v, gate, r->seq);
        }
    } else {
        verify_tell(v, VERIFY_BAD, &v->at, v->gate, r->seq,
                    "this file does not go on where the one before it ends: a file between them, "
                    "or the end of that one, is missing");
    }
    v->loose = true;
}

/* --- lines */

static bool take_first(struct verifier *v, const struct audit_line *line,
                       const struct chain_record *r)
{
    char after[HASH_HEX + 1];
    if (!record_goes_on(line->text, r, after))
        return false;
    check_link(v, r, after);
    check_torn(v, line->text, r);
    take_verified_line(v, line, r);
    return true;
}

/* Behind lines that do not follow: is this where the chain goes on? */
static bool take_again(struct verifier *v, const struct audit_line *line,
                       const struct chain_record *r)
{
    char after[HASH_HEX + 1];
    if (accounts_for(v, line->text)) {
        v->region.open = false;
        v->report->torn++;
    } else if ((v->before[0] && chain_follows(line->text, v->before)) ||
               chain_follows(line->text, v->hash) || record_goes_on(line->text, r, after)) {
        region_bad(v);
    } else {
        return false;
    }
    take_verified_line(v, line, r);
    return true;
}

void verify_line(struct verifier *v, const struct audit_line *line, bool first)
{
    struct chain_record r;
    v->at.line = line->number;
    v->at.byte = line->begins ? line->at : v->at.byte;
    bool record = audit_line_whole(line) && chain_read(line->text, &r);
    v->next.line = line->number + line->ends;
    v->next.byte = line->at + (off_t)line->text.n + line->ends;
    if (record && v->region.open ? take_again(v, line, &r)
                                 : record && first && take_first(v, line, &r))
        return;
    if (record && !v->region.open && !(first && v->link == LINK_FIRST) &&
        chain_follows(line->text, v->hash)) {
        check_torn(v, line->text, &r);
        take_verified_line(v, line, &r);
        return;
    }
    if (v->region.open)
        region_add(v, line);
    else
        region_begin(v, line, record ? &r : NULL);
    struct str before = record ? r.hash : (struct str){0};
    v->before[0] = '\0';
    if (before.p)
        chain_copy(v->before, before);
}

void verify_begin_file(struct verifier *v, const char *name)
{
    snprintf(v->previous, sizeof v->previous, "%s", v->seen ? v->at.file : "");
    v->at = (struct place){.line = 0};
    snprintf(v->at.file, sizeof v->at.file, "%s", name);
    v->next = v->at;
    v->next.line = 1;
    v->rotated = false;
    v->before[0] = '\0';
    v->report->files++;
}

/* Who stopped writes no more, and who begins behind it has noted that before. */
static bool may_be_unfinished(struct verifier *v)
{
    FREE_AT_END struct head_rows *now = mem_zero(sizeof *now);
    struct err ignored;
    if (!v->stopped || !v->has_heads)
        return true;
    bool read = audit_heads_read(&v->heads, v->slot, NULL, now, &ignored) == 0;
    for (size_t i = 0; i < now->n; i++) {
        const struct chain_head *head = &now->rows[i].head;
        if (head->seq == 0 && memcmp(head->hash, v->hash, HASH_HEX) == 0)
            return true;
    }
    return !read;
}

void verify_end_file(struct verifier *v, bool is_rotated)
{
    struct region *g = &v->region;
    /* A line without its end, and perhaps the beginning of what its recovery writes. */
    if (g->open && !g->record && g->ends <= 1 && !is_rotated && may_be_unfinished(v)) {
        verify_tell(v, VERIFY_NOTE, &g->place, v->gate, 0,
                    "the last line is not finished: its gate is writing it, or was killed and is "
                    "not recovered yet");
        g->open = false;
    } else if (g->open) {
        region_bad(v);
        v->link = LINK_BROKEN;
    } else if (is_rotated && !v->rotated) {
        verify_tell(v, VERIFY_BAD, &v->next, v->gate, v->seq + 1,
                    "the end of this file is missing: it does not end with `log.rotated`");
        v->link = LINK_BROKEN;
    }
}
