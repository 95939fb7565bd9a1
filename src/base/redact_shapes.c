/* Secrets that are known by how they look. */
#include "base/redact_parts.h"

/* What is decided about a run of characters is decided by as many of them: `sk-sk-sk-…` takes no longer than other
 * text. */
#define DECIDED_BY 64
#define SHORTEST 12

enum set {
    SET_ALNUM = 1,
    SET_UNDERLINE = 2,
    SET_DASH = 4,
    SET_DOT = 8,
    SET_BASE64 = 16, /* + / = */
};

#define SET_NAME (SET_ALNUM | SET_UNDERLINE)
#define SET_URL (SET_NAME | SET_DASH)

struct shape {
    struct str prefix;
    unsigned set;   /* of what follows */
    size_t min;     /* of it */
    bool random;    /* with a digit or a capital in it: the prefix alone could be a word */
    bool exact_end; /* exactly `min`, and then something else */
};

static const struct shape shapes[] = {
    {STR_INIT("sk-"), SET_URL, 20, true, false},
    {STR_INIT("sk_live_"), SET_NAME, 10, false, false},
    {STR_INIT("sk_test_"), SET_NAME, 10, false, false},
    {STR_INIT("rk_live_"), SET_NAME, 10, false, false},
    {STR_INIT("rk_test_"), SET_NAME, 10, false, false},
    {STR_INIT("whsec_"), SET_NAME, 20, true, false},
    {STR_INIT("ghp_"), SET_NAME, 10, true, false},
    {STR_INIT("gho_"), SET_NAME, 10, true, false},
    {STR_INIT("ghu_"), SET_NAME, 10, true, false},
    {STR_INIT("ghs_"), SET_NAME, 10, true, false},
    {STR_INIT("ghr_"), SET_NAME, 10, true, false},
    {STR_INIT("github_pat_"), SET_NAME, 10, true, false},
    {STR_INIT("glpat-"), SET_URL | SET_DOT, 10, true, false},
    {STR_INIT("gldt-"), SET_URL | SET_DOT, 10, true, false},
    {STR_INIT("glrt-"), SET_URL | SET_DOT, 10, true, false},
    {STR_INIT("xoxa-"), SET_URL, 8, true, false},
    {STR_INIT("xoxb-"), SET_URL, 8, true, false},
    {STR_INIT("xoxp-"), SET_URL, 8, true, false},
    {STR_INIT("xoxr-"), SET_URL, 8, true, false},
    {STR_INIT("xoxs-"), SET_URL, 8, true, false},
    {STR_INIT("xapp-"), SET_URL, 8, true, false},
    {STR_INIT("AKIA"), SET_ALNUM, 16, false, true},
    {STR_INIT("ASIA"), SET_ALNUM, 16, false, true},
    {STR_INIT("AIza"), SET_URL, 30, false, false},
    {STR_INIT("GOCSPX-"), SET_URL, 20, false, false},
    {STR_INIT("ya29."), SET_URL, 20, true, false},
    {STR_INIT("npm_"), SET_ALNUM, 20, true, false},
    {STR_INIT("pypi-"), SET_URL, 32, true, false},
    {STR_INIT("hf_"), SET_ALNUM, 20, true, false},
    {STR_INIT("hvs."), SET_URL, 20, true, false},
    {STR_INIT("SG."), SET_URL | SET_DOT, 32, true, false},
    {STR_INIT("dckr_pat_"), SET_URL, 10, true, false},
    {STR_INIT("dop_v1_"), SET_ALNUM, 20, true, false},
    {STR_INIT("shpat_"), SET_ALNUM, 20, true, false},
    {STR_INIT("AGE-SECRET-KEY-1"), SET_ALNUM, 20, false, false},
};

#define PAIR(a, b) ((unsigned)(unsigned char)(a) << 8 | (unsigned char)(b))

bool redact_may_begin(const struct redact_text *t, size_t at)
{
    if (t->n - at < SHORTEST)
        return false;
    switch (PAIR(t->p[at], t->p[at + 1])) {
    case PAIR('s', 'k'):
    case PAIR('r', 'k'):
    case PAIR('w', 'h'):
    case PAIR('g', 'h'):
    case PAIR('g', 'i'):
    case PAIR('g', 'l'):
    case PAIR('x', 'o'):
    case PAIR('x', 'a'):
    case PAIR('A', 'K'):
    case PAIR('A', 'S'):
    case PAIR('A', 'I'):
    case PAIR('G', 'O'):
    case PAIR('y', 'a'):
    case PAIR('n', 'p'):
    case PAIR('p', 'y'):
    case PAIR('h', 'f'):
    case PAIR('h', 'v'):
    case PAIR('S', 'G'):
    case PAIR('d', 'c'):
    case PAIR('d', 'o'):
    case PAIR('s', 'h'):
    case PAIR('A', 'G'):
    case PAIR('e', 'y'):
    case PAIR('B', 'e'):
    case PAIR('b', 'e'):
    case PAIR('B', 'E'):
        return true;
    default:
        return false;
    }
}

static bool in_set(char c, unsigned set)
{
    if (redact_is_alnum(c))
        return set & SET_ALNUM;
    return (c == '_' && set & SET_UNDERLINE) || (c == '-' && set & SET_DASH) ||
           (c == '.' && set & SET_DOT) || ((c == '+' || c == '/' || c == '=') && set & SET_BASE64);
}

static size_t run_end(const struct redact_text *t, size_t at, unsigned set)
{
    while (at < t->n && in_set(t->p[at], set))
        at++;
    return at;
}

/* `min` characters of the set, and where `random` a digit or a capital among the first. */
static bool looks_made(const struct redact_text *t, size_t at, unsigned set, size_t min,
                       bool random)
{
    bool made = !random;
    size_t i = 0;
    for (; i < DECIDED_BY && at + i < t->n && in_set(t->p[at + i], set); i++) {
        char c = t->p[at + i];
        made |= (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
        if (made && i + 1 >= min)
            return true;
    }
    return false;
}

static bool fits(const struct redact_text *t, size_t at, const struct shape *shape, size_t *ret_end)
{
    size_t n = shape->prefix.n;
    if (t->n - at < n || memcmp(t->p + at, shape->prefix.p, n) != 0 ||
        !looks_made(t, at + n, shape->set, shape->min, shape->random))
        return false;
    if (shape->exact_end) {
        *ret_end = at + n + shape->min;
        return *ret_end == t->n || !redact_is_alnum(t->p[*ret_end]);
    }
    *ret_end = run_end(t, at + n, shape->set);
    return true;
}

/* Three parts with dots between, the first of them the beginning of a JSON object in base64. */
static bool is_web_token(const struct redact_text *t, size_t at, size_t *ret_end)
{
    /* Runs that began further left were looked at already. */
    if (t->n - at < 16 || memcmp(t->p + at, "eyJ", 3) != 0 ||
        (at && in_set(t->p[at - 1], SET_URL | SET_DOT)))
        return false;
    size_t first = run_end(t, at, SET_URL);
    if (first - at < 10 || first + 1 >= t->n || t->p[first] != '.')
        return false;
    size_t second = run_end(t, first + 1, SET_URL);
    /* Of one that goes on behind what is seen, two parts are enough to know it. */
    if (second - first < 5 || (second < t->n ? t->p[second] != '.' : !t->cut))
        return false;
    *ret_end = run_end(t, second, SET_URL | SET_DOT);
    return true;
}

static bool is_bearer(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    static const char word[] = "bearer ";
    for (size_t i = 0; word[i]; i++) {
        if (at + i >= t->n || (t->p[at + i] | 0x20) != word[i])
            return false;
    }
    size_t from = at + sizeof word - 1;
    unsigned set = SET_URL | SET_DOT | SET_BASE64;
    if (!looks_made(t, from, set, 12, true))
        return false;
    *ret = (struct redact_span){from, run_end(t, from, set)};
    return true;
}

bool redact_shape(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    if (!redact_may_begin(t, at))
        return false;
    ret->from = at;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (shapes[i].prefix.p[0] == t->p[at] && shapes[i].prefix.p[1] == t->p[at + 1] &&
            fits(t, at, &shapes[i], &ret->to))
            return true;
    }
    return is_web_token(t, at, &ret->to) || is_bearer(t, at, ret);
}

/* 40 characters of base64; a hash in hexadecimal has no capitals. */
bool redact_aws_secret(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    const unsigned set = SET_ALNUM | SET_BASE64;
    size_t n = 0;
    bool capital = false;
    bool small = false;
    if (at && t->p[at - 1] != '=' && in_set(t->p[at - 1], set))
        return false;
    for (; n < 41 && at + n < t->n && in_set(t->p[at + n], set); n++) {
        capital |= t->p[at + n] >= 'A' && t->p[at + n] <= 'Z';
        small |= t->p[at + n] >= 'a' && t->p[at + n] <= 'z';
    }
    *ret = (struct redact_span){at, at + n};
    return n == 40 && capital && small;
}

static bool begins(const struct redact_text *t, size_t at, struct str word)
{
    return at <= t->n && t->n - at >= word.n && memcmp(t->p + at, word.p, word.n) == 0;
}

/* From its first line to its last, or to the end of the text. */
bool redact_private_key(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    const struct str first = STR("-----BEGIN ");
    if (!begins(t, at, first))
        return false;
    size_t i = at + first.n;
    while (i < t->n && i - at < DECIDED_BY && !begins(t, i, STR("PRIVATE KEY"))) {
        if (t->p[i] == '-' || t->p[i] == '\n')
            return false;
        i++;
    }
    if (!begins(t, i, STR("PRIVATE KEY")))
        return false;
    *ret = (struct redact_span){at, t->n};
    const char *last = memmem(t->p + i, t->n - i, "-----END ", 9);
    const char *end = last ? memmem(last + 9, t->n - (size_t)(last + 9 - t->p), "-----", 5) : NULL;
    if (end)
        ret->to = (size_t)(end - t->p) + 5;
    return true;
}

static bool ends_authority(char c)
{
    return (unsigned char)c <= ' ' || strchr("/?#\"'<>`\\", c);
}

/* All of it: of two parts the first can be the key as well. A user's name alone stays unless it looks like one. */
bool redact_userinfo(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    size_t from = at + 3;
    size_t last = 0;
    size_t i = from;
    bool colon = false;
    for (; i < t->n && !ends_authority(t->p[i]); i++) {
        if (t->p[i] == '@')
            last = i;
        colon |= t->p[i] == ':' && !last;
    }
    if (i == t->n && t->cut && !last && colon)
        last = i;
    *ret = (struct redact_span){from, last};
    return last > from && (colon || looks_made(t, from, SET_URL | SET_DOT, 20, true));
}
