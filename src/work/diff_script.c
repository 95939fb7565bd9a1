#include "work/diff_script.h"

#include <stdbool.h>
#include <stdint.h>

/* Lines of both texts between what they begin and end with in common. With more, the memory would be
 * above 50 MB, and the whole middle counts as changed. */
#define LINES_MAX ((size_t)1 << 20)
/* Differences looked for at once; what is further apart is done in several steps. */
#define REACH 1024
/* Comparisons for all steps; about 0.2 s. */
#define WORK_MAX 40000000
/* Lines of one hash that are compared. Whoever makes more gets a longer diff, not a slower one. */
#define PROBES_MAX 32
#define NOWHERE (-1)

enum { IN_BEFORE = 1, IN_AFTER = 2 };

/* One of the two texts, between what they have in common. */
struct side {
    struct str text;
    size_t lines;
    uint32_t *ids;    /* of each line; the same number for the same bytes */
    uint8_t *changed; /* for each line */
    uint32_t *kept;   /* the lines that the other side has as well */
    size_t n_kept;
};

/* A line that was given a number. */
struct entry {
    const char *p;
    uint32_t n;
    uint32_t hash;
};

struct numbers {
    uint32_t *slots; /* by hash; a number plus one, or 0 */
    size_t mask;
    struct entry *entries; /* for each number */
    uint32_t count;
    uint8_t *where; /* IN_BEFORE, IN_AFTER, for each number */
};

size_t diff_line(struct str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);
    return end ? (size_t)(end - (text.p + at)) + 1 : text.n - at;
}

size_t diff_count_lines(struct str text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.n; at += diff_line(text, at))
        count++;
    return count;
}

static uint32_t hash_line(const char *p, size_t n)
{
    uint64_t h = n * 0x9e3779b97f4a7c15u;
    uint64_t word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, p, n);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h ^ h >> 32);
}

static uint32_t number_of_line(struct numbers *numbers, const char *p, uint32_t n)
{
    uint32_t hash = hash_line(p, n);
    for (size_t i = 0; i < PROBES_MAX; i++) {
        uint32_t *slot = &numbers->slots[(hash + i) & numbers->mask];
        if (*slot == 0) {
            numbers->entries[numbers->count] = (struct entry){p, n, hash};
            *slot = numbers->count + 1;
            break;
        }
        const struct entry *e = &numbers->entries[*slot - 1];
        if (e->hash == hash && e->n == n && memcmp(e->p, p, n) == 0)
            return *slot - 1;
    }
    return numbers->count++;
}

static void number_lines(struct numbers *numbers, struct side *side, uint8_t where)
{
    size_t line = 0;
    for (size_t at = 0; at < side->text.n; line++) {
        size_t n = diff_line(side->text, at);
        uint32_t id = number_of_line(numbers, side->text.p + at, (uint32_t)n);
        side->ids[line] = id;
        numbers->where[id] |= where;
        at += n;
    }
}

/* Lines that only one text has are changed in any case; only the others have to be searched. */
static void keep_common(const struct numbers *numbers, struct side *side)
{
    for (size_t i = 0; i < side->lines; i++) {
        bool common = numbers->where[side->ids[i]] == (IN_BEFORE | IN_AFTER);
        side->changed[i] = !common;
        if (common)
            side->kept[side->n_kept++] = (uint32_t)i;
    }
}

/* The part that is searched in one step, and how far it got.
 *
 * Myers' greedy search: row d holds, for each diagonal d steps can lead to, how many lines of the
 * first text are passed there (NOWHERE: it cannot be reached). Diagonal number i of row d is
 * x - y = 2i - d. All rows are kept, so that the way back can be walked. */
struct step {
    const struct side *a;
    const struct side *b;
    size_t x; /* where it begins, among the kept lines */
    size_t y;
    int32_t n; /* kept lines from there on */
    int32_t m;
    int32_t *rows;
    size_t work;
};

static int32_t *row(const struct step *s, int32_t d)
{
    return s->rows + (size_t)d * ((size_t)d + 1) / 2;
}

static bool equal(const struct step *s, int32_t x, int32_t y)
{
    return s->a->ids[s->a->kept[s->x + (size_t)x]] == s->b->ids[s->b->kept[s->y + (size_t)y]];
}

/* Where diagonal i of row d begins; *ret_gone says that a line of the first text went for it. */
static int32_t find_diagonal_begin(const struct step *s, int32_t d, int32_t i, bool *ret_gone)
{
    const int32_t *before = row(s, d - 1);
    int32_t gone = i > 0 && before[i - 1] != NOWHERE && before[i - 1] < s->n ? before[i - 1] + 1
                                                                             : NOWHERE;
    int32_t come = i < d && before[i] != NOWHERE && before[i] - (2 * i - d) <= s->m ? before[i]
                                                                                    : NOWHERE;
    *ret_gone = gone > come;
    return *ret_gone ? gone : come;
}

static int32_t follow_same_lines(struct step *s, int32_t x, int32_t diagonal)
{
    int32_t from = x;
    while (x < s->n && x - diagonal < s->m && equal(s, x, x - diagonal))
        x++;
    s->work += (size_t)(x - from);
    return x;
}

/* Searches until both ends are reached, or as far as it may. Returns the row, and the diagonal that
 * came furthest. */
static int32_t reach(struct step *s, int32_t *ret_i)
{
    for (int32_t d = 0;; d++) {
        int32_t furthest = -1;
        *ret_i = 0;
        s->work += (size_t)d + 1;
        for (int32_t i = 0; i <= d; i++) {
            bool gone;
            int32_t x = d ? find_diagonal_begin(s, d, i, &gone) : 0;
            x = x == NOWHERE ? NOWHERE : follow_same_lines(s, x, 2 * i - d);
            row(s, d)[i] = x;
            if (x != NOWHERE && 2 * x - (2 * i - d) > furthest) {
                furthest = 2 * x - (2 * i - d);
                *ret_i = i;
            }
        }
        if (furthest == s->n + s->m || d == REACH || s->work >= WORK_MAX)
            return d;
    }
}

static void mark_changed_lines(struct step *s, int32_t d, int32_t i)
{
    for (; d > 0; d--) {
        bool gone;
        int32_t x = find_diagonal_begin(s, d, i, &gone);
        int32_t y = x - (2 * i - d);
        if (gone)
            s->a->changed[s->a->kept[s->x + (size_t)x - 1]] = 1;
        else
            s->b->changed[s->b->kept[s->y + (size_t)y - 1]] = 1;
        i -= gone;
    }
}

/* Step after step from where the last one ended. */
static void find_changed_lines(const struct side *a, const struct side *b, int32_t *rows)
{
    struct step s = {.a = a, .b = b, .rows = rows};
    while (s.x < a->n_kept && s.y < b->n_kept && s.work < WORK_MAX) {
        s.n = (int32_t)(a->n_kept - s.x);
        s.m = (int32_t)(b->n_kept - s.y);
        int32_t i;
        int32_t d = reach(&s, &i);
        int32_t x = row(&s, d)[i];
        mark_changed_lines(&s, d, i);
        s.x += (size_t)x;
        s.y += (size_t)(x - (2 * i - d));
    }
    for (; s.x < a->n_kept; s.x++)
        a->changed[a->kept[s.x]] = 1;
    for (; s.y < b->n_kept; s.y++)
        b->changed[b->kept[s.y]] = 1;
}

static void add_diff_run(struct buf *out, struct diff_run *run)
{
    buf_add(out, run, sizeof *run);
    *run = (struct diff_run){0, 0, 0};
}

/* `same` lines are before the two sides and `behind` lines behind them. */
static void add_runs(const struct side *a, const struct side *b, size_t same, size_t behind,
                     struct buf *out)
{
    struct diff_run run = {.same = same};
    size_t i = 0;
    size_t j = 0;
    while (i < a->lines || j < b->lines) {
        if (i < a->lines && a->changed[i]) {
            run.gone++;
            i++;
        } else if (j < b->lines && b->changed[j]) {
            run.come++;
            j++;
        } else {
            if (run.gone || run.come)
                add_diff_run(out, &run);
            run.same++;
            i++;
            j++;
        }
    }
    if (run.gone || run.come)
        add_diff_run(out, &run);
    run.same += behind;
    add_diff_run(out, &run);
}

/* An array of zeros that `b` owns, or NULL. */
static void *array(struct buf *b, size_t count, size_t size)
{
    size_t bytes = count ? count * size : 1;
    buf_init(b, bytes);
    return buf_reserve(b, bytes) < 0 ? NULL : memset(b->data, 0, bytes);
}

/* Marks the lines that changed. -ENOMEM when there is no room to find out. */
static int compare_lines(struct side *a, struct side *b)
{
    BUF_AT_END struct buf for_slots = BUF_INIT(0);
    BUF_AT_END struct buf for_entries = BUF_INIT(0);
    BUF_AT_END struct buf for_ids = BUF_INIT(0);
    BUF_AT_END struct buf for_where = BUF_INIT(0);
    BUF_AT_END struct buf for_rows = BUF_INIT(0);
    size_t lines = a->lines + b->lines;
    size_t reached = lines < REACH ? lines : REACH;
    struct numbers numbers = {.mask = 1};
    while (numbers.mask < 2 * lines)
        numbers.mask *= 2;
    uint32_t *slots = array(&for_slots, numbers.mask, sizeof *slots);
    struct entry *entries = array(&for_entries, lines, sizeof *entries);
    uint32_t *ids = array(&for_ids, 2 * lines, sizeof *ids);
    uint8_t *where = array(&for_where, lines, 1);
    int32_t *rows = array(&for_rows, (reached + 1) * (reached + 2) / 2, sizeof *rows);
    if (!slots || !entries || !ids || !where || !rows)
        return -ENOMEM;
    numbers.slots = slots;
    numbers.entries = entries;
    numbers.mask--;
    numbers.where = where;
    a->ids = ids;
    b->ids = a->ids + a->lines;
    a->kept = b->ids + b->lines;
    b->kept = a->kept + a->lines;
    number_lines(&numbers, a, IN_BEFORE);
    number_lines(&numbers, b, IN_AFTER);
    keep_common(&numbers, a);
    keep_common(&numbers, b);
    find_changed_lines(a, b, rows);
    return 0;
}

static size_t common_prefix(struct str a, struct str b)
{
    size_t most = a.n < b.n ? a.n : b.n;
    size_t n = 0;
    while (most - n >= 4096 && memcmp(a.p + n, b.p + n, 4096) == 0)
        n += 4096;
    while (n < most && a.p[n] == b.p[n])
        n++;
    if (n == a.n && n == b.n)
        return n;
    const char *newline = n ? memrchr(a.p, '\n', n) : NULL;
    return newline ? (size_t)(newline - a.p) + 1 : 0;
}

/* Whole lines, but for the first that begins in it. */
static size_t common_suffix(struct str a, struct str b)
{
    size_t most = a.n < b.n ? a.n : b.n;
    size_t n = 0;
    while (most - n >= 4096 && memcmp(a.p + a.n - n - 4096, b.p + b.n - n - 4096, 4096) == 0)
        n += 4096;
    while (n < most && a.p[a.n - n - 1] == b.p[b.n - n - 1])
        n++;
    const char *newline = n ? memchr(a.p + a.n - n, '\n', n) : NULL;
    return newline ? (size_t)(a.p + a.n - newline) - 1 : 0;
}

int diff_script(struct str before, struct str after, struct buf *out)
{
    struct str a = before.n ? before : STR("");
    struct str b = after.n ? after : STR("");
    size_t prefix = common_prefix(a, b);
    if (prefix == a.n && prefix == b.n)
        return 0;
    size_t same = diff_count_lines((struct str){a.p, prefix});
    a = (struct str){a.p + prefix, a.n - prefix};
    b = (struct str){b.p + prefix, b.n - prefix};
    size_t suffix = common_suffix(a, b);
    struct side left = {.text = {a.p, a.n - suffix}};
    struct side right = {.text = {b.p, b.n - suffix}};
    left.lines = diff_count_lines(left.text);
    right.lines = diff_count_lines(right.text);
    size_t behind = diff_count_lines((struct str){a.p + left.text.n, suffix});
    size_t lines = left.lines + right.lines;
    bool few = lines <= LINES_MAX && left.text.n < UINT32_MAX && right.text.n < UINT32_MAX;
    BUF_AT_END struct buf for_changed = BUF_INIT(0);
    uint8_t *changed = few ? array(&for_changed, lines, 1) : NULL;
    left.changed = changed;
    right.changed = changed ? changed + left.lines : NULL;
    if (changed && compare_lines(&left, &right) == 0) {
        add_runs(&left, &right, same, behind, out);
    } else {
        add_diff_run(out, &(struct diff_run){same, left.lines, right.lines});
        add_diff_run(out, &(struct diff_run){behind, 0, 0});
    }
    return out->failed ? -ENOBUFS : 0;
}
