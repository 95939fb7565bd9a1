/* Secrets that are known by how they look. */
#include "base/redact_parts.h"

/* What is decided about a run of characters is decided by as many of them: `sk-sk-sk-…` takes no longer than other
 * text. */
#define DECIDED_BY 64
#define AUTHORITY_MAX 512

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
    size_t anchor;  /* which of its characters is looked for */
    unsigned set;   /* of what follows */
    size_t min;     /* of it */
    bool random;    /* with a digit or a capital in it: the prefix alone could be a word */
    bool exact_end; /* exactly `min`, and then something else */
    bool word_end;  /* a word can end like the prefix: `task-`, `disk_test_` */
};

static const struct shape shapes[] = {
    {STR_INIT("sk-"), 2, SET_URL, 20, true, false, true},
    {STR_INIT("sk_live_"), 7, SET_NAME, 10, false, false, true},
    {STR_INIT("sk_test_"), 7, SET_NAME, 10, false, false, true},
    {STR_INIT("rk_live_"), 7, SET_NAME, 10, false, false, true},
    {STR_INIT("rk_test_"), 7, SET_NAME, 10, false, false, true},
    {STR_INIT("whsec_"), 5, SET_NAME, 20, true, false, false},
    {STR_INIT("ghp_"), 3, SET_NAME, 10, true, false, false},
    {STR_INIT("gho_"), 3, SET_NAME, 10, true, false, false},
    {STR_INIT("ghu_"), 3, SET_NAME, 10, true, false, false},
    {STR_INIT("ghs_"), 3, SET_NAME, 10, true, false, false},
    {STR_INIT("ghr_"), 3, SET_NAME, 10, true, false, false},
    {STR_INIT("github_pat_"), 10, SET_NAME, 10, true, false, false},
    {STR_INIT("glpat-"), 5, SET_URL | SET_DOT, 10, true, false, false},
    {STR_INIT("gldt-"), 4, SET_URL | SET_DOT, 10, true, false, false},
    {STR_INIT("glrt-"), 4, SET_URL | SET_DOT, 10, true, false, false},
    {STR_INIT("xoxa-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("xoxb-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("xoxp-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("xoxr-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("xoxs-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("xapp-"), 4, SET_URL, 8, true, false, false},
    {STR_INIT("AKIA"), 2, SET_ALNUM, 16, false, true, false},
    {STR_INIT("ASIA"), 2, SET_ALNUM, 16, false, true, false},
    {STR_INIT("AIza"), 1, SET_URL, 30, false, false, false},
    {STR_INIT("GOCSPX-"), 6, SET_URL, 20, false, false, false},
    {STR_INIT("ya29."), 4, SET_URL, 20, true, false, false},
    {STR_INIT("npm_"), 3, SET_ALNUM, 20, true, false, true},
    {STR_INIT("pypi-"), 4, SET_URL, 32, true, false, true},
    {STR_INIT("hf_"), 2, SET_ALNUM, 20, true, false, true},
    {STR_INIT("hvs."), 3, SET_URL, 20, true, false, false},
    {STR_INIT("SG."), 2, SET_URL | SET_DOT, 32, true, false, true},
    {STR_INIT("dckr_pat_"), 8, SET_URL, 10, true, false, false},
    {STR_INIT("dop_v1_"), 6, SET_ALNUM, 20, true, false, false},
    {STR_INIT("shpat_"), 5, SET_ALNUM, 20, true, false, false},
    {STR_INIT("hooks.slack.com/services/"), 5, SET_URL | SET_BASE64, 20, true, false, false},
    {STR_INIT("discord.com/api/webhooks/"), 7, SET_URL | SET_BASE64, 20, true, false, false},
    {STR_INIT("AGE-SECRET-KEY-"), 14, SET_ALNUM, 20, false, false, false},
};

static bool is_in_shape_set(char c, unsigned set)
{
    if (redact_is_alnum(c))
        return set & SET_ALNUM;
    return (c == '_' && set & SET_UNDERLINE) || (c == '-' && set & SET_DASH) ||
           (c == '.' && set & SET_DOT) || ((c == '+' || c == '/' || c == '=') && set & SET_BASE64);
}

static size_t run_end(const struct redact_text *t, size_t at, unsigned set)
{
    while (at < t->n && is_in_shape_set(t->p[at], set))
        at++;
    return at;
}

/* `min` characters of the set, and where `random` a digit or a capital among the first. */
static bool looks_made(const struct redact_text *t, size_t at, unsigned set, size_t min,
                       bool random)
{
    bool made = !random;
    size_t i = 0;
    for (; i < DECIDED_BY && at + i < t->n && is_in_shape_set(t->p[at + i], set); i++) {
        char c = t->p[at + i];
        made |= (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
        if (made && i + 1 >= min)
            return true;
    }
    return false;
}

/* A run of 16 letters and digits with a digit, a capital and a small letter: no words with dashes between. */
static bool looks_random(const struct redact_text *t, size_t at)
{
    enum { DIGIT = 1, CAPITAL = 2, SMALL = 4, ALL = 7 };
    unsigned seen = 0;
    size_t run = 0;
    for (size_t i = at; i < t->n && i - at < DECIDED_BY && is_in_shape_set(t->p[i], SET_URL); i++) {
        char c = t->p[i];
        bool joins = !redact_is_alnum(c);
        unsigned kind = c <= '9' ? DIGIT : c <= 'Z' ? CAPITAL : SMALL;
        seen = joins ? 0 : seen | kind;
        run = joins ? 0 : run + 1;
        if (run >= 16 && seen == ALL)
            return true;
    }
    return false;
}

static bool fits_shape(const struct redact_text *t, size_t at, const struct shape *shape,
                       size_t *ret_end)
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
    if (t->n - at < 16 || memcmp(t->p + at, "eyJ", 3) != 0)
        return false;
    /* Only near the beginning of a run: a look from each place of it to its end would take too long. */
    size_t before = 0;
    while (before < 16 && before < at && is_in_shape_set(t->p[at - before - 1], SET_URL | SET_DOT))
        before++;
    if (before == 16)
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
    if (at && redact_is_alnum(t->p[at - 1]))
        return false;
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

/* Where the text has this shape around `at`, the character that a look is taken at: the last of its prefix, or a
 * capital that is rare. */
static bool fits_around(const struct redact_text *t, size_t at, const struct shape *shape,
                        struct redact_span *ret)
{
    size_t anchor = shape->anchor;
    if (shape->prefix.p[anchor] != t->p[at] || at < anchor ||
        shape->prefix.p[anchor - 1] != t->p[at - 1])
        return false;
    size_t from = at - anchor;
    ret->from = from;
    if (!fits_shape(t, from, shape, &ret->to))
        return false;
    bool in_word = from && redact_is_alnum(t->p[from - 1]);
    return !in_word || !shape->word_end || looks_random(t, from + shape->prefix.n);
}

bool redact_shape(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    char c = t->p[at];
    if (c == 'B')
        return is_bearer(t, at, ret);
    if (c == 'J') {
        ret->from = at - 2;
        return at >= 2 && is_web_token(t, at - 2, &ret->to);
    }
    /* All have a letter before it and go on for some characters. */
    if (at == 0 || t->n - at < 8 || !redact_is_alnum(t->p[at - 1]) ||
        !is_in_shape_set(t->p[at + 4], SET_URL))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (fits_around(t, at, &shapes[i], ret))
            return true;
    }
    return false;
}

/* 40 characters of base64; a hash in hexadecimal has no capitals. */
bool redact_aws_secret(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    const unsigned set = SET_ALNUM | SET_BASE64;
    size_t n = 0;
    bool capital = false;
    bool small = false;
    if (at && t->p[at - 1] != '=' && is_in_shape_set(t->p[at - 1], set))
        return false;
    for (; n < 41 && at + n < t->n && is_in_shape_set(t->p[at + n], set); n++) {
        capital |= t->p[at + n] >= 'A' && t->p[at + n] <= 'Z';
        small |= t->p[at + n] >= 'a' && t->p[at + n] <= 'z';
    }
    *ret = (struct redact_span){at, at + n};
    return n == 40 && capital && small;
}

static bool word_stands_at(const struct redact_text *t, size_t at, struct str word)
{
    return at <= t->n && t->n - at >= word.n && memcmp(t->p + at, word.p, word.n) == 0;
}

/* From its first line to its last, or to the end of the text. */
bool redact_private_key(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    const struct str first = STR("-----BEGIN ");
    if (!word_stands_at(t, at, first))
        return false;
    size_t i = at + first.n;
    while (i < t->n && i - at < DECIDED_BY && !word_stands_at(t, i, STR("PRIVATE KEY"))) {
        if (t->p[i] == '-' || t->p[i] == '\n')
            return false;
        i++;
    }
    if (!word_stands_at(t, i, STR("PRIVATE KEY")))
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

/* Behind `://`, of which a path that was put in order has only one slash left. */
static size_t authority_behind(const struct redact_text *t, size_t colon)
{
    if (t->n - colon < 4 || colon < 3 || t->p[colon + 1] != '/' ||
        !redact_is_alnum(t->p[colon - 1]))
        return 0;
    return colon + 2 + (t->p[colon + 2] == '/');
}

/* `host:80`, or `host:` */
static bool ends_with_port(const struct redact_text *t, size_t end)
{
    while (end && t->p[end - 1] >= '0' && t->p[end - 1] <= '9')
        end--;
    return end == 0 || t->p[end - 1] == ':';
}

/* What stands behind the colon is no port but a password, in which `/`, `?` and `#` were not encoded. */
static size_t behind_signs(const struct redact_text *t, size_t at, size_t *ret_last)
{
    size_t limit = t->n - at < AUTHORITY_MAX ? t->n : at + AUTHORITY_MAX;
    for (; at < limit && (!ends_authority(t->p[at]) || strchr("/?#", t->p[at])); at++) {
        if (t->p[at] == '@')
            *ret_last = at;
    }
    return at;
}

static bool is_web(const struct redact_text *t, size_t colon)
{
    return (colon >= 4 && memcmp(t->p + colon - 4, "http", 4) == 0) ||
           (colon >= 5 && memcmp(t->p + colon - 5, "https", 5) == 0);
}

/* All of it: of two parts the first can be the key as well. One alone is a key in addresses of the web; elsewhere
 * (`ssh://git@host`) it stays unless it looks like one. */
bool redact_userinfo(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    size_t from = authority_behind(t, at);
    if (from == 0)
        return false;
    size_t last = 0;
    size_t i = from;
    bool colon = false;
    for (; i < t->n && !ends_authority(t->p[i]); i++) {
        if (t->p[i] == '@')
            last = i;
        colon |= t->p[i] == ':' && !last;
    }
    if (colon && !last && !ends_with_port(t, i))
        i = behind_signs(t, i, &last);
    if (i == t->n && t->cut && !last && colon)
        last = i;
    *ret = (struct redact_span){from, last};
    return last > from &&
           (colon || is_web(t, at) || looks_made(t, from, SET_URL | SET_DOT, 20, true));
}
