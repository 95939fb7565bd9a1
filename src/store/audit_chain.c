#include "store/audit_chain.h"

#include "base/clock.h"
#include <string.h>

static const char open_tail[] = "\"hash\":\"";

static void hash_record(const char *before, struct str body, char out[HASH_HEX + 1])
{
    struct hash h;
    hash_begin(&h);
    hash_add(&h, before, HASH_HEX);
    hash_add(&h, body.p, body.n);
    hash_end_hex(&h, out);
}

void chain_seal(struct buf *out, size_t from, char hash[HASH_HEX + 1])
{
    buf_add_char(out, ',');
    if (buf_reserve(out, CHAIN_TAIL + 1) < 0)
        return;
    hash_record(hash, (struct str){out->data + from, out->len - from}, hash);
    buf_add(out, open_tail, sizeof open_tail - 1);
    buf_add(out, hash, HASH_HEX);
    buf_add(out, "\"}\n", 3);
}

struct str chain_hash_of(struct str line)
{
    if (line.n <= CHAIN_TAIL)
        return (struct str){0};
    const char *tail = line.p + line.n - CHAIN_TAIL;
    const char *digits = tail + sizeof open_tail - 1;
    if (tail[-1] != ',' || memcmp(tail, open_tail, sizeof open_tail - 1) != 0 ||
        memcmp(digits + HASH_HEX, "\"}", 2) != 0 || !hash_is_hex((struct str){digits, HASH_HEX}))
        return (struct str){0};
    return (struct str){digits, HASH_HEX};
}

void chain_copy(char to[HASH_HEX + 1], struct str hash)
{
    memcpy(to, hash.p, HASH_HEX);
    to[HASH_HEX] = '\0';
}

bool chain_follows(struct str line, const char before[HASH_HEX + 1])
{
    char wanted[HASH_HEX + 1];
    struct str hash = chain_hash_of(line);
    if (!hash.p)
        return false;
    hash_record(before, (struct str){line.p, line.n - CHAIN_TAIL}, wanted);
    return memcmp(wanted, hash.p, HASH_HEX) == 0;
}

/* --- the fields that all records begin with */

static bool skip_record_text(struct str *at, struct str text)
{
    if (at->n < text.n || memcmp(at->p, text.p, text.n) != 0)
        return false;
    at->p += text.n;
    at->n -= text.n;
    return true;
}

/* Names of ours: nothing in them is escaped. */
static bool take_record_text(struct str *at, struct str *ret)
{
    const char *end = memchr(at->p, '"', at->n);
    if (!end)
        return false;
    *ret = (struct str){at->p, (size_t)(end - at->p)};
    at->n -= ret->n + 1;
    at->p = end + 1;
    return memchr(ret->p, '\\', ret->n) == NULL;
}

static bool take_record_number(struct str *at, int64_t *ret)
{
    int64_t value = 0;
    size_t n = 0;
    for (; n < at->n && n < 18 && at->p[n] >= '0' && at->p[n] <= '9'; n++)
        value = value * 10 + (at->p[n] - '0');
    *ret = value;
    at->p += n;
    at->n -= n;
    return n > 0;
}

bool chain_read(struct str line, struct chain_record *ret)
{
    struct str ignored;
    *ret = (struct chain_record){.hash = chain_hash_of(line)};
    if (!ret->hash.p)
        return false;
    ret->body = (struct str){line.p, line.n - CHAIN_TAIL};
    struct str at = ret->body;
    if (!skip_record_text(&at, STR("{\"ts\":\"")) || !take_record_text(&at, &ignored) ||
        !skip_record_text(&at, STR(",\"seq\":")) || !take_record_number(&at, &ret->seq) ||
        !skip_record_text(&at, STR(",\"kind\":\"")) || !take_record_text(&at, &ret->kind) ||
        !skip_record_text(&at, STR(",\"gate\":")))
        return false;
    if (skip_record_text(&at, STR("null")))
        return true;
    return skip_record_text(&at, STR("\"")) && take_record_text(&at, &ret->gate) &&
           ret->gate.n < GATE_ID_MAX && !memchr(ret->gate.p, '\0', ret->gate.n);
}

int64_t chain_time_of(struct str line)
{
    static const char before[] = "{\"ts\":\"";
    size_t n = sizeof before - 1;
    int64_t ms;
    if (line.n < n || memcmp(line.p, before, n) != 0)
        return 0;
    const char *end = memchr(line.p + n, '"', line.n - n);
    struct str text = {line.p + n, end ? (size_t)(end - line.p) - n : 0};
    return end && clock_parse_utc(text, &ms) ? ms : 0;
}
