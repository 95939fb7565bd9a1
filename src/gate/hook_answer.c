#include "gate/hook_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "gate/hook_note.h"
#include "base/utf8.h"

static const char *const decisions[] = {
    [VERDICT_ALLOW] = "allow",
    [VERDICT_ASK] = "ask",
    [VERDICT_DENY] = "deny",
};

void hook_answer_done(struct hook_answer *answer)
{
    free(answer->note);
    answer->note = NULL;
}

/* How many bytes at p are one character that may be shown, or 0. */
static size_t printable(const char *p, size_t n)
{
    unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7f)
        return 0;
    size_t length = utf8_sequence(p, n);
    /* U+0080 to U+009F steer terminals as well. */
    return length == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0 ? 0 : length;
}

void hook_clean(char *out, size_t size, struct str bytes)
{
    size_t used = 0;
    bool gap = false;
    for (size_t i = 0; i < bytes.n;) {
        size_t length = printable(bytes.p + i, bytes.n - i);
        if (length == 0 || bytes.p[i] == ' ') {
            gap = used > 0;
            i += length ? length : utf8_broken(bytes.p + i, bytes.n - i);
            continue;
        }
        if (used + gap + length >= size)
            break;
        if (gap)
            out[used++] = ' ';
        gap = false;
        memcpy(out + used, bytes.p + i, length);
        used += length;
        i += length;
    }
    out[used] = '\0';
}

static struct str trimmed(struct str s)
{
    while (s.n && strchr(" \t\r\n", s.p[0]) && s.p[0])
        s = (struct str){s.p + 1, s.n - 1};
    return s;
}

static int take_decision(yyjson_val *val, struct hook_answer *ret, struct err *err)
{
    struct str word = json_str(val);
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
        if (str_is(word, decisions[i])) {
            ret->kind = (enum verdict_kind)i;
            return 0;
        }
    }
    return err_set(err, ERR_BAD_OUTPUT, "its `decision` must be \"allow\", \"deny\" or \"ask\"");
}

static int take_hook_note(yyjson_val *val, struct hook_answer *ret, struct err *err)
{
    size_t n = 0;
    if (!yyjson_is_obj(val))
        return err_set(err, ERR_BAD_OUTPUT, "its `note` must be an object");
    FREE_AT_END char *text = yyjson_val_write(val, 0, &n);
    if (!text || n > HOOK_NOTE_MAX)
        return err_set(err, ERR_BAD_OUTPUT, "its `note` is longer than %d bytes", HOOK_NOTE_MAX);
    BUF_AT_END struct buf safe = BUF_INIT(REDACT_OUT_MAX(HOOK_NOTE_MAX) + 64);
    hook_note_write(val, &safe);
    if (safe.failed)
        return err_set(err, ERR_BAD_OUTPUT, "its `note` is too long without its secrets");
    free(ret->note);
    ret->note = mem_copy(safe.data, safe.len);
    return 0;
}

static int take_field(struct str key, yyjson_val *val, struct hook_answer *ret, struct err *err)
{
    char name[40];
    if (str_is(key, "decision"))
        return take_decision(val, ret, err);
    if (str_is(key, "note"))
        return take_hook_note(val, ret, err);
    if (str_is(key, "reason") && yyjson_is_str(val)) {
        hook_clean(ret->reason, sizeof ret->reason, json_str(val));
        return 0;
    }
    if (str_is(key, "reason"))
        return err_set(err, ERR_BAD_OUTPUT, "its `reason` must be a string");
    hook_clean(name, sizeof name, key);
    return err_set(err, ERR_BAD_OUTPUT,
                   "its answer has a field `%s`; there are decision, reason and note", name);
}

int hook_answer_read(struct str printed, struct hook_answer *ret, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    HOOK_ANSWER_AT_END struct hook_answer answer = {.kind = VERDICT_ALLOW};
    struct json_error why;
    struct str text = trimmed(printed);
    *ret = (struct hook_answer){.kind = VERDICT_ALLOW};
    if (text.n == 0)
        return 0;
    if (json_parse(text.p, text.n, HOOK_PRINTED_MAX, JSON_STRICT, &doc, &why) < 0)
        return err_set(err, ERR_BAD_OUTPUT, "what it printed is no JSON: %s", why.what);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root) || !yyjson_obj_get(root, "decision"))
        return err_set(err, ERR_BAD_OUTPUT, "what it printed is no object with a `decision`");
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(root, idx, max, key, val) {
        if (take_field(json_str(key), val, &answer, err) < 0)
            return -1;
    }
    *ret = answer;
    answer.note = NULL;
    return 0;
}

static void add_note(struct hook_answer *all, const struct hook_answer *one)
{
    char *old = all->note;
    size_t n = old ? strlen(old) - 1 : 0; /* without its last bracket */
    all->note = mem_format("%.*s%s\"%s\":%s}", (int)n, old ? old : "", old ? "," : "{", one->rule,
                           one->note);
    free(old);
}

void hook_answer_add(struct hook_answer *all, const struct hook_answer *one)
{
    if (one->note)
        add_note(all, one);
    if (all->rule[0] && one->kind <= all->kind)
        return;
    all->kind = one->kind;
    all->busy = one->busy;
    snprintf(all->rule, sizeof all->rule, "%s", one->rule);
    snprintf(all->reason, sizeof all->reason, "%s", one->reason);
}
