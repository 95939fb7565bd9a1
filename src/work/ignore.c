#include "work/ignore.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "base/str.h"
#include "work/ignore_line.h"

#define GLOB_BYTES (16 << 10)

struct rule {
    uint8_t kind; /* enum ignore_kind */
    bool keep;
    bool folders;
    bool anchored;
    uint32_t n;
    uint32_t at;   /* of its text in ignore.text */
    uint32_t next; /* the rule before it with the same hash, or none; numbers begin with 1 */
    struct glob *glob;
};

/* A name is looked up by its hash, and so is what follows its last dot. Whatever rule cannot be found so
 * is tried one by one. */
struct ignore {
    struct rule *rules; /* the first is not used */
    uint32_t count;
    uint32_t globs;
    struct buf text;
    uint32_t *heads; /* the last rule of each hash */
    uint32_t mask;
    uint32_t *rest;
    uint32_t rest_count;
    bool no_memory; /* for all of it */
};

struct subject {
    struct str path;
    struct str name;
    bool is_folder;
    uint32_t name_hash;
    uint32_t ending_hash; /* from the last dot on */
    bool has_ending;
};

static uint32_t hash_step(uint32_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 0x01000193u;
}

/* From the end, so that an ending's hash is met on the way to the name's. */
static void hash_subject_name(struct subject *s)
{
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = s->name.n; i-- > 0;) {
        hash = hash_step(hash, s->name.p[i]);
        if (s->name.p[i] == '.' && !s->has_ending) {
            s->has_ending = true;
            s->ending_hash = hash;
        }
    }
    s->name_hash = hash;
}

static struct subject subject_of(struct str path, bool is_folder)
{
    const char *slash = memrchr(path.p, '/', path.n);
    size_t from = slash ? (size_t)(slash - path.p) + 1 : 0;
    struct subject s = {
        .path = path,
        .name = {path.p + from, path.n - from},
        .is_folder = is_folder,
    };
    hash_subject_name(&s);
    return s;
}

static bool rule_fits_subject(const struct ignore *ignore, const struct rule *rule,
                              const struct subject *s)
{
    const char *text = ignore->text.data + rule->at;
    if (rule->folders && !s->is_folder)
        return false;
    switch (rule->kind) {
    case IGNORE_NAME:
        return str_equal(s->name, (struct str){text, rule->n});
    case IGNORE_PATH:
        return str_equal(s->path, (struct str){text, rule->n});
    case IGNORE_SUFFIX:
        return s->name.n >= rule->n && memcmp(s->name.p + s->name.n - rule->n, text, rule->n) == 0;
    case IGNORE_PREFIX:
        return s->name.n >= rule->n && memcmp(s->name.p, text, rule->n) == 0;
    default:
        return glob_match(rule->glob, rule->anchored ? s->path : s->name);
    }
}

static uint32_t look_up(const struct ignore *ignore, uint32_t hash, const struct subject *s)
{
    uint32_t i = ignore->heads[hash & ignore->mask];
    while (i && !rule_fits_subject(ignore, &ignore->rules[i], s))
        i = ignore->rules[i].next;
    return i;
}

enum ignore_verdict ignore_verdict(const struct ignore *ignore, struct str path, bool is_folder)
{
    struct subject s = subject_of(path, is_folder);
    uint32_t best = look_up(ignore, s.name_hash, &s);
    uint32_t other = s.has_ending ? look_up(ignore, s.ending_hash, &s) : 0;
    best = other > best ? other : best;
    for (uint32_t i = ignore->rest_count; i-- > 0 && ignore->rest[i] > best;) {
        if (rule_fits_subject(ignore, &ignore->rules[ignore->rest[i]], &s))
            best = ignore->rest[i];
    }
    if (!best)
        return IGNORE_NONE;
    return ignore->rules[best].keep ? IGNORE_KEEP : IGNORE_DROP;
}

static void add_ignore_rule(struct ignore *ignore, const struct ignore_line *line)
{
    struct err err;
    struct rule rule = {
        .kind = (uint8_t)line->kind,
        .keep = line->keep,
        .folders = line->folders,
        .anchored = line->anchored,
        .n = (uint32_t)line->plain_n,
        .at = (uint32_t)ignore->text.len,
    };
    if (line->kind == IGNORE_GLOB) {
        if (ignore->globs == IGNORE_GLOBS_MAX)
            return;
        rule.glob = glob_compile_bytes((struct str){line->pattern, line->pattern_n}, &err);
        if (!rule.glob)
            return;
        ignore->globs++;
    }
    uint32_t count = ignore->count + 1;
    struct rule *rules = ignore->rules;
    /* Doubled each time a power of two is reached. */
    if ((count & (count - 1)) == 0)
        rules = realloc(rules, (size_t)count * 2 * sizeof *rules);
    if (!rules || buf_add(&ignore->text, line->plain, line->plain_n) < 0) {
        ignore->no_memory = true;
        ignore->rules = rules ? rules : ignore->rules;
        glob_free(rule.glob);
        return;
    }
    ignore->rules = rules;
    ignore->count = count;
    rules[count] = rule;
}

static bool is_hashed_rule(const struct ignore *ignore, const struct rule *rule)
{
    const char *text = ignore->text.data + rule->at;
    if (rule->kind == IGNORE_SUFFIX)
        return rule->n && text[0] == '.' && !memchr(text + 1, '.', rule->n - 1);
    return rule->kind == IGNORE_NAME || rule->kind == IGNORE_PATH;
}

static int make_rule_index(struct ignore *ignore)
{
    uint32_t size = 16;
    while (size < 2 * ignore->count)
        size *= 2;
    ignore->mask = size - 1;
    ignore->heads = calloc(size, sizeof *ignore->heads);
    ignore->rest = malloc(ignore->count * sizeof *ignore->rest);
    if (!ignore->heads || !ignore->rest)
        return -ENOMEM;
    for (uint32_t i = 1; i <= ignore->count; i++) {
        struct rule *rule = &ignore->rules[i];
        if (!is_hashed_rule(ignore, rule)) {
            ignore->rest[ignore->rest_count++] = i;
            continue;
        }
        struct str text = {ignore->text.data + rule->at, rule->n};
        uint32_t *head = &ignore->heads[subject_of(text, false).name_hash & ignore->mask];
        rule->next = *head;
        *head = i;
    }
    return 0;
}

static struct str take_ignore_line(struct str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    struct str line = {rest->p, n};
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    /* As git does, which looks for the `\r` only before a `\n` but adds one at the end. */
    line.n -= n && line.p[n - 1] == '\r';
    return line;
}

struct ignore *ignore_new(struct str text)
{
    struct ignore_line line;
    struct ignore *ignore = mem_zero(sizeof *ignore);
    buf_init(&ignore->text, IGNORE_TEXT_MAX);
    buf_reserve(&ignore->text, 1); /* rules may have no text at all */
    if (text.n > IGNORE_TEXT_MAX) {
        const char *end = memrchr(text.p, '\n', IGNORE_TEXT_MAX);
        text.n = end ? (size_t)(end - text.p) : 0;
    }
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        text = (struct str){text.p + 3, text.n - 3};
    while (text.n && ignore->count < IGNORE_RULES_MAX && !ignore->no_memory) {
        if (ignore_line_read(take_ignore_line(&text), &line))
            add_ignore_rule(ignore, &line);
        ignore->no_memory |= !reserve_is_whole(); /* compiling a glob may need the rest */
    }
    bool made = !ignore->no_memory && (!ignore->count || make_rule_index(ignore) == 0);
    if (made && ignore->count)
        return ignore;
    ignore_free(ignore);
    errno = made ? 0 : ENOMEM;
    return NULL;
}

void ignore_free(struct ignore *ignore)
{
    if (!ignore)
        return;
    for (uint32_t i = 1; i <= ignore->count; i++)
        glob_free(ignore->rules[i].glob);
    free(ignore->rules);
    free(ignore->heads);
    free(ignore->rest);
    buf_done(&ignore->text);
    free(ignore);
}

size_t ignore_size(const struct ignore *ignore)
{
    return ignore->text.cap + ignore->globs * (size_t)GLOB_BYTES +
           ignore->count * (2 * sizeof(struct rule) + 5 * sizeof(uint32_t));
}
