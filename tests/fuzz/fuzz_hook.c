/* Any bytes as what the program of a hook printed: an answer that can be shown and recorded as it is, or an error that
 * can be shown. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gate/hook_answer.h"
#include "target.h"

static void must_be_plain(const char *text)
{
    size_t n = strlen(text);
    must(utf8_valid(text, n));
    for (size_t i = 0; i < n; i++)
        must((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void must_be_object(const char *text)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    must(json_parse(text, strlen(text), strlen(text), JSON_STRICT, &doc, NULL) == 0);
    must(yyjson_is_obj(yyjson_doc_get_root(doc)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str printed = {(const char *)data, size};
    HOOK_ANSWER_AT_END struct hook_answer one = {0};
    HOOK_ANSWER_AT_END struct hook_answer all = {.kind = VERDICT_ASK, .rule = "hooks[0]"};
    struct err err = {0};
    char line[40];
    hook_clean(line, sizeof line, printed);
    must_be_plain(line);
    if (hook_answer_read(printed, &one, &err) < 0) {
        must(err.message[0] && one.kind == VERDICT_ALLOW && !one.note);
        return 0;
    }
    must(one.kind <= VERDICT_DENY);
    must_be_plain(one.reason);
    if (one.note)
        must(strlen(one.note) <= HOOK_NOTE_MAX);
    all.note = mem_dup("{\"hooks[0]\":{}}");
    memcpy(one.rule, "hooks[1]", sizeof "hooks[1]");
    hook_answer_add(&all, &one);
    must(all.kind == (one.kind == VERDICT_DENY ? VERDICT_DENY : VERDICT_ASK));
    must_be_object(all.note);
    return 0;
}
