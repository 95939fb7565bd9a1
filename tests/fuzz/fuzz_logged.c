/* Any bytes as a script, as code, as what a command reads and as the line of a question: each comes out as it is but for
 * `[redacted]`, and within its bound. The first byte says how much is shown. */
#include <string.h>

#include "base/json.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "core/logged.h"
#include "core/logged_summary.h"
#include "target.h"

/* What stands between the marks stands in the text, in the same order. */
static void check_rest(struct str text, struct str out)
{
    const struct str mark = STR(REDACTED);
    size_t at = 0;
    while (out.n) {
        const char *next = memmem(out.p, out.n, mark.p, mark.n);
        size_t n = next ? (size_t)(next - out.p) : out.n;
        const char *found = n ? memmem(text.p + at, text.n - at, out.p, n) : text.p + at;
        must(found);
        at = (size_t)(found - text.p) + n;
        n += next ? mark.n : 0;
        out = (struct str){out.p + n, out.n - n};
    }
}

static void check_input(struct str text, enum logged_reader reader, size_t left)
{
    BUF_AT_END struct buf out = BUF_INIT(64u << 20);
    struct json_out j = {.out = &out, .hide = true};
    JSON_AT_END yyjson_doc *doc = NULL;
    logged_input(&(struct logged){&j, left}, text, reader);
    must(!out.failed && out.len <= 6 * left + 400);
    must(json_parse(out.data, out.len, out.len, JSON_STRICT, &doc, NULL) == 0);
    yyjson_val *whole = yyjson_obj_get(yyjson_doc_get_root(doc), "text");
    if (whole && utf8_valid(text.p, text.n) && !memmem(text.p, text.n, REDACTED, 10))
        check_rest(text, json_str(whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    size_t left = (size_t)data[0] * 64;
    check_input(text, LOGGED_SHELL, left);
    check_input(text, LOGGED_CODE, left);
    check_input(text, LOGGED_NOBODY, left);
    BUF_AT_END struct buf out = BUF_INIT(REDACT_OUT_MAX(text.n));
    bool any = logged_summary(text, &out);
    must(!out.failed && (any || out.len == 0));
    const struct str words[] = {STR("ssh"), STR("--token"), text};
    BUF_AT_END struct buf list = BUF_INIT(64u << 20);
    struct json_out j = {.out = &list, .hide = true};
    logged_words(&(struct logged){&j, left}, words, 3);
    must(!list.failed);
    return 0;
}
