/* Any bytes as text for a log: a secret put among them is gone, what comes out has its bound, and UTF-8 stays UTF-8.
 * The first byte says which secret, the next two where and how much is shown. */
#include <string.h>

#include "base/buf.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "target.h"

#define RANDOM "q7R8a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"

/* Each stands between spaces; what may not be found again is RANDOM. */
static const char *const secrets[] = {
    " sk-" RANDOM " ",
    " ghp_" RANDOM " ",
    " npm_" RANDOM " ",
    " xoxb-" RANDOM " ",
    " Bearer " RANDOM " ",
    " https://u:" RANDOM "@h ",
    " PASSWORD=" RANDOM " ",
    " --token " RANDOM " ",
    " zghp_" RANDOM " ",
    " PASSWORD+=" RANDOM " ",
    " PASSWORD[0]=" RANDOM " ",
    " --password \\\n  " RANDOM " ",
    " --access-key " RANDOM " ",
    " password:" RANDOM " ",
    " TOKEN=$(echo " RANDOM ") ",
    "\npassword: |\n  " RANDOM "\n",
    "\n\"password\":\n  \"" RANDOM "\"\n",
    " git config a.token " RANDOM " ",
    "\nAuthorization: Basic\n " RANDOM "\n",
    "\nAuthorization: Basic " RANDOM "\n",
    " -----BEGIN PRIVATE KEY-----\n" RANDOM "\n-----END PRIVATE KEY----- ",
};

/* The places that are found are those that are replaced. */
static void check_ranges(struct str text, bool any, struct str expected)
{
    BUF_AT_END struct buf ranges = BUF_INIT(64u << 20);
    BUF_AT_END struct buf out = BUF_INIT(64u << 20);
    struct redact_range range = {0};
    size_t done = 0;
    must(redact_find(text, &ranges) == any);
    for (size_t i = 0; i < ranges.len; i += sizeof range) {
        memcpy(&range, ranges.data + i, sizeof range);
        must(range.from >= done && range.from <= range.to && range.to <= text.n);
        buf_add(&out, text.p + done, range.from - done);
        buf_add_text(&out, REDACTED);
        done = range.to;
    }
    buf_add(&out, text.p + done, text.n - done);
    must(!any || (out.len == expected.n && memcmp(out.data, expected.p, out.len) == 0));
}

static void check(struct str text, size_t shown, bool utf8)
{
    BUF_AT_END struct buf out = BUF_INIT(64u << 20);
    bool any = redact(text, shown, &out);
    must(!out.failed && out.len <= REDACT_OUT_MAX(shown));
    must(any || out.len == 0);
    must(!utf8 || utf8_valid(buf_str(&out).p, out.len));
    must(!memmem(buf_str(&out).p, out.len, RANDOM, sizeof RANDOM - 1));
    must(any || !memmem(text.p, shown, RANDOM, sizeof RANDOM - 1));
    if (shown == text.n)
        check_ranges(text, any, buf_str(&out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || memmem(data, size, "q7R8", 4))
        return 0;
    const char *secret = secrets[data[0] % ARRAY_LEN(secrets)];
    struct str rest = {(const char *)data + 3, size - 3};
    size_t at = rest.n ? data[1] * rest.n / 256 : 0;
    /* Not in the middle of a character. */
    at = utf8_cut(rest.p, at);
    BUF_AT_END struct buf text = BUF_INIT(64u << 20);
    buf_add(&text, rest.p, at);
    buf_add_text(&text, secret);
    buf_add(&text, rest.p + at, rest.n - at);
    must(!text.failed);
    bool utf8 = utf8_valid(text.data, text.len);
    check(buf_str(&text), text.len, utf8);
    check(buf_str(&text), utf8_cut(text.data, data[2] * text.len / 256), utf8);
    return 0;
}
