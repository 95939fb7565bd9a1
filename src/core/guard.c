#include "core/guard.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/guard_pattern.h"

#define NONE UINT32_MAX
/* More than two lists of an operator, two of a workspace and what is added to them. */
#define RULES_MAX 4224u

struct rule {
    struct guard_pattern pattern;
    bool secret;
    uint32_t next; /* another rule with the same hash, or NONE */
};

/* Nearly no path has a name that a rule ends with: those are found by a hash of the name. What cannot be looked
 * up so, a dozen patterns like `*.key`, is tried one by one. */
struct guard {
    unsigned refs;
    struct rule *rules;
    uint32_t count;
    uint32_t *heads;
    uint32_t mask;
    uint32_t *rest;
    uint32_t rest_count;
    bool protects_git;
    char id[HASH_HEX + 1];
};

void guard_pack(struct buf *out, enum guard_verdict kind, struct str pattern)
{
    buf_add_char(out, kind == GUARD_SECRET ? 'S' : 'P');
    buf_add(out, pattern.p, pattern.n);
    buf_add_char(out, '\0');
}

int guard_check(struct str pattern, struct err *err)
{
    struct guard_pattern read;
    if (guard_pattern_read(pattern, &read, err) < 0)
        return -1;
    guard_pattern_done(&read);
    return 0;
}

static uint32_t hash_guard_name(struct str name)
{
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)ascii_lower(name.p[i])) * 0x01000193u;
    return hash ^ hash >> 15;
}

static struct rule *add_guard_rule(struct guard *g)
{
    if ((g->count & (g->count - 1)) == 0)
        g->rules = mem_grow(g->rules, g->count ? (size_t)2 * g->count : 1, sizeof *g->rules);
    g->rules[g->count] = (struct rule){.next = NONE};
    return &g->rules[g->count++];
}

static bool has_git_file(const struct guard *g, bool secret, bool anchored)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct rule *rule = &g->rules[i];
        if (rule->pattern.no_folder && !rule->pattern.except && rule->secret == secret &&
            (!rule->pattern.anchored || anchored))
            return true;
    }
    return false;
}

/* A `.git` that is a file tells git where else its settings lie. */
static int add_git_file(struct guard *g, uint32_t of, struct err *err)
{
    const struct guard_pattern *p = &g->rules[of].pattern;
    const struct guard_part *first = &p->parts[0];
    bool secret = g->rules[of].secret;
    if (p->except || p->count < 2 || first->kind != GUARD_NAME || !str_is(first->head, ".git") ||
        has_git_file(g, secret, p->anchored))
        return 0;
    struct guard_pattern file;
    if (guard_pattern_read(p->anchored ? STR("/.git") : STR(".git"), &file, err) < 0)
        return -1;
    free(file.text);
    file.text = mem_dup(p->text);
    file.no_folder = true;
    *add_guard_rule(g) = (struct rule){file, secret, NONE};
    return 0;
}

static int read_packed_rules(struct guard *g, struct str packed, struct err *err)
{
    while (packed.n) {
        const char *end = memchr(packed.p, '\0', packed.n);
        if (!end || (packed.p[0] != 'S' && packed.p[0] != 'P'))
            return err_set(err, ERR_INTERNAL, "rules that are not well formed");
        size_t n = (size_t)(end - packed.p);
        struct rule *rule = add_guard_rule(g);
        rule->secret = packed.p[0] == 'S';
        if (guard_pattern_read((struct str){packed.p + 1, n - 1}, &rule->pattern, err) < 0) {
            g->count--;
            return -1;
        }
        if (add_git_file(g, g->count - 1, err) < 0)
            return -1;
        if (g->count > RULES_MAX)
            return err_set(err, ERR_INTERNAL, "more than %u rules", RULES_MAX);
        packed = (struct str){end + 1, packed.n - n - 1};
    }
    return 0;
}

static const struct guard_part *last_part_of_rule(const struct rule *rule)
{
    return &rule->pattern.parts[rule->pattern.count - 1];
}

static void index_guard_rules(struct guard *g)
{
    uint32_t size = 16;
    while (size < 2 * g->count)
        size *= 2;
    g->mask = size - 1;
    g->heads = mem_grow(NULL, size, sizeof *g->heads);
    for (uint32_t i = 0; i < size; i++)
        g->heads[i] = NONE;
    g->rest = mem_grow(NULL, g->count, sizeof *g->rest);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct guard_part *part = last_part_of_rule(&g->rules[i]);
        if (part->kind != GUARD_NAME) {
            g->rest[g->rest_count++] = i;
            continue;
        }
        uint32_t *head = &g->heads[hash_guard_name(part->head) & g->mask];
        g->rules[i].next = *head;
        *head = i;
    }
}

struct guard *guard_new(struct str packed, struct err *err)
{
    struct guard *g = mem_zero(sizeof *g);
    g->refs = 1;
    if (read_packed_rules(g, packed, err) < 0) {
        guard_unref(g);
        return NULL;
    }
    index_guard_rules(g);
    const char *rule;
    g->protects_git = guard_judge(g, STR(".git"), true, &rule) == GUARD_PROTECTED;
    hash_hex(packed.p, packed.n, g->id);
    return g;
}

bool guard_protects_git(const struct guard *g)
{
    return g && g->protects_git;
}

size_t guard_count(const struct guard *g)
{
    return g->count;
}

struct guard *guard_ref(struct guard *g)
{
    if (g)
        g->refs++;
    return g;
}

void guard_unref(struct guard *g)
{
    if (!g || --g->refs > 0)
        return;
    for (uint32_t i = 0; i < g->count; i++)
        guard_pattern_done(&g->rules[i].pattern);
    free(g->rules);
    free(g->heads);
    free(g->rest);
    free(g);
}

bool guard_may_name(const struct guard *g, struct str name)
{
    if (!g)
        return false;
    for (uint32_t i = g->heads[hash_guard_name(name) & g->mask]; i != NONE; i = g->rules[i].next) {
        if (guard_part_matches(last_part_of_rule(&g->rules[i]), name))
            return true;
    }
    for (uint32_t i = 0; i < g->rest_count; i++) {
        if (guard_part_matches(last_part_of_rule(&g->rules[g->rest[i]]), name))
            return true;
    }
    return false;
}

bool guard_may_hold(const struct guard *g, struct str name)
{
    for (uint32_t i = 0; g && i < g->count; i++) {
        const struct guard_pattern *p = &g->rules[i].pattern;
        for (size_t k = 0; !p->except && k + 1 < p->count; k++) {
            if (guard_part_matches(&p->parts[k], name))
                return true;
        }
    }
    return false;
}

const char *guard_id(const struct guard *g)
{
    return g ? g->id : "";
}

/* The last rule of each list that covers the path, so far. */
struct covering {
    const struct guard *guard;
    struct str path;
    bool is_folder;
    bool is_link;
    bool no_exceptions;
    uint32_t last[2];
    bool any;                       /* `tried` is in use */
    uint64_t tried[RULES_MAX / 64]; /* a name may stand in a path many times */
};

static bool is_first_try(struct covering *c, uint32_t index)
{
    if (!c->any)
        memset(c->tried, 0, sizeof c->tried);
    c->any = true;
    uint64_t bit = (uint64_t)1 << index % 64;
    bool first = !(c->tried[index / 64] & bit);
    c->tried[index / 64] |= bit;
    return first;
}

/* A link may stand for a folder. */
static bool rule_covers_path(const struct covering *c, const struct guard_pattern *p)
{
    return guard_pattern_covers(p, c->path, c->is_folder) ||
           (c->is_link && !p->except && guard_pattern_covers(p, c->path, true));
}

static void try_guard_rule(struct covering *c, uint32_t index, struct str name)
{
    const struct rule *rule = &c->guard->rules[index];
    uint32_t *last = &c->last[rule->secret];
    if (c->no_exceptions && rule->pattern.except)
        return;
    if ((*last == NONE || index > *last) && guard_part_matches(last_part_of_rule(rule), name) &&
        is_first_try(c, index) && rule_covers_path(c, &rule->pattern))
        *last = index;
}

static enum guard_verdict verdict_of(const struct covering *c, const char **ret_rule)
{
    static const enum guard_verdict verdicts[] = {GUARD_PROTECTED, GUARD_SECRET};
    for (int secret = 1; secret >= 0; secret--) {
        uint32_t last = c->last[secret];
        if (last == NONE || c->guard->rules[last].pattern.except)
            continue;
        *ret_rule = c->guard->rules[last].pattern.text;
        return verdicts[secret];
    }
    return GUARD_OPEN;
}

enum { AS_FOLDER = 1, AS_LINK = 2, NO_EXCEPTIONS = 4 };

static enum guard_verdict judge_guarded_path(const struct guard *g, struct str path, unsigned how,
                                             const char **ret_rule)
{
    struct covering c;
    struct str name;
    if (!g)
        return GUARD_OPEN;
    c.guard = g;
    c.path = path;
    c.is_folder = how & AS_FOLDER;
    c.is_link = how & AS_LINK;
    c.no_exceptions = how & NO_EXCEPTIONS;
    c.last[0] = c.last[1] = NONE;
    c.any = false; /* the rest is not cleared before it is needed */
    for (size_t at = 0; guard_next_name(path, &at, &name);) {
        for (uint32_t i = g->heads[hash_guard_name(name) & g->mask]; i != NONE;
             i = g->rules[i].next)
            try_guard_rule(&c, i, name);
        for (uint32_t i = 0; i < g->rest_count; i++)
            try_guard_rule(&c, g->rest[i], name);
    }
    return verdict_of(&c, ret_rule);
}

enum guard_verdict guard_judge(const struct guard *g, struct str path, bool is_folder,
                               const char **ret_rule)
{
    return judge_guarded_path(g, path, is_folder ? AS_FOLDER : 0, ret_rule);
}

enum guard_verdict guard_judge_link(const struct guard *g, struct str path, const char **ret_rule)
{
    return judge_guarded_path(g, path, AS_LINK, ret_rule);
}

enum guard_verdict guard_judge_elsewhere(const struct guard *g, struct str path, bool is_folder,
                                         const char **ret_rule)
{
    struct str name;
    enum guard_verdict verdict = judge_guarded_path(
        g, path, (is_folder ? AS_FOLDER : 0) | NO_EXCEPTIONS, ret_rule);
    if (verdict == GUARD_OPEN)
        return GUARD_OPEN;
    for (size_t at = 0; guard_next_name(path, &at, &name) && at < path.n;) {
        struct str rest = {path.p + at, path.n - at};
        verdict = guard_judge(g, rest, is_folder, ret_rule);
        if (verdict != GUARD_OPEN)
            return verdict;
    }
    return GUARD_OPEN;
}

/* Whether an exception behind a rule takes the folder out of it. */
static bool is_excepted(const struct guard *g, uint32_t rule, struct str path)
{
    for (uint32_t i = rule + 1; i < g->count; i++) {
        const struct rule *other = &g->rules[i];
        if (other->pattern.except && other->secret == g->rules[rule].secret &&
            guard_pattern_covers(&other->pattern, path, true))
            return true;
    }
    return false;
}

enum guard_verdict guard_holds(const struct guard *g, struct str path, const char **ret_rule)
{
    enum guard_verdict verdict = GUARD_OPEN;
    for (uint32_t i = 0; g && i < g->count && verdict != GUARD_PROTECTED; i++) {
        const struct rule *rule = &g->rules[i];
        if (rule->pattern.except || (rule->secret && verdict != GUARD_OPEN) ||
            !guard_pattern_leads_through(&rule->pattern, path) || is_excepted(g, i, path))
            continue;
        verdict = rule->secret ? GUARD_SECRET : GUARD_PROTECTED;
        *ret_rule = rule->pattern.text;
    }
    return verdict;
}
