/* Nearly every pattern has a handful of states; with a row for each, a character costs one look. A
 * pattern whose table would be large does without. With these bounds the worst took 4 ms to make and
 * 16 KiB to keep, the usual one 10 us. A path of 40 bytes takes 50 ns by the table, 1.6 us without. */
#include "core/glob_program.h"

#include <string.h>

#include "base/mem.h"

#define NODES_MAX 128
#define STATES_MAX 128
#define CLASSES_MAX 64
#define WORDS (NODES_MAX / 64)
/* Beyond every character: what no part of the pattern names. */
#define OTHER (GLOB_BYTE + 0x100)

struct maker {
    const struct glob *glob;
    struct glob_table *table;
    uint32_t samples[CLASSES_MAX]; /* one character of each class */
    uint32_t classes;
    uint64_t states[STATES_MAX][WORDS];
    uint32_t count;
    uint16_t next[STATES_MAX][CLASSES_MAX];
};

static bool add_low(struct glob_table *t, uint32_t low)
{
    uint32_t i = t->intervals;
    while (i > 0 && t->lows[i - 1] > low)
        i--;
    if (i > 0 && t->lows[i - 1] == low)
        return true;
    if (t->intervals == ARRAY_LEN(t->lows))
        return false;
    memmove(&t->lows[i + 1], &t->lows[i], (t->intervals - i) * sizeof t->lows[0]);
    t->lows[i] = low;
    t->intervals++;
    return true;
}

static bool add_range_limits(struct glob_table *t, uint32_t low, uint32_t high)
{
    return add_low(t, low) && add_low(t, high + 1);
}

static bool node_names_char(const struct glob *glob, const struct glob_node *node, uint32_t c)
{
    for (uint32_t i = 0; node->kind == NODE_SET && i < node->count; i++) {
        const struct glob_range *range = &glob->ranges[node->value + i];
        if (c >= range->low && c <= range->high)
            return true;
    }
    return node->kind == NODE_CHAR && node->value == c;
}

static bool is_named_by_glob(const struct glob *glob, uint32_t c)
{
    for (uint32_t i = 0; i < glob->count; i++) {
        if (node_names_char(glob, &glob->nodes[i], c))
            return true;
    }
    return c == '/';
}

/* Cuts all characters into intervals within which the pattern cannot tell one from another. */
static bool cut(struct maker *m)
{
    const struct glob *glob = m->glob;
    bool fits = add_low(m->table, 0) && add_range_limits(m->table, '/', '/');
    for (uint32_t i = 0; fits && i < glob->count; i++) {
        const struct glob_node *node = &glob->nodes[i];
        if (node->kind == NODE_CHAR)
            fits = add_range_limits(m->table, node->value, node->value);
        for (uint32_t k = 0; fits && node->kind == NODE_SET && k < node->count; k++) {
            const struct glob_range *range = &glob->ranges[node->value + k];
            fits = add_range_limits(m->table, range->low, range->high);
        }
    }
    return fits;
}

static bool classify(struct maker *m)
{
    struct glob_table *t = m->table;
    m->samples[m->classes++] = OTHER;
    for (uint32_t i = 0; i < t->intervals; i++) {
        if (!is_named_by_glob(m->glob, t->lows[i]))
            continue;
        if (m->classes == CLASSES_MAX)
            return false;
        t->classes[i] = (uint8_t)m->classes;
        m->samples[m->classes++] = t->lows[i];
    }
    for (uint32_t c = 0; c < ARRAY_LEN(t->ascii); c++)
        t->ascii[c] = (uint8_t)glob_table_class(t, c);
    return true;
}

uint32_t glob_table_class(const struct glob_table *table, uint32_t c)
{
    uint32_t low = 0;
    uint32_t high = table->intervals;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (table->lows[middle] <= c)
            low = middle;
        else
            high = middle;
    }
    return table->classes[low];
}

/* The number of a state, a new one if it is new; STATES_MAX when there is no room. */
static uint32_t state_of(struct maker *m, uint64_t *set)
{
    glob_close(m->glob, set);
    set[0] &= ~((uint64_t)1 << GLOB_DEAD);
    for (uint32_t i = 0; i < m->count; i++) {
        if (memcmp(m->states[i], set, sizeof m->states[i]) == 0)
            return i;
    }
    if (m->count < STATES_MAX)
        memcpy(m->states[m->count++], set, sizeof m->states[0]);
    else
        return STATES_MAX;
    return m->count - 1;
}

static bool find_states(struct maker *m)
{
    uint64_t set[WORDS] = {0};
    state_of(m, set);
    set[m->glob->start / 64] |= (uint64_t)1 << m->glob->start % 64;
    state_of(m, set);
    for (uint32_t i = 1; i < m->count; i++) {
        for (uint32_t class = 0; class < m->classes; class ++) {
            memset(set, 0, sizeof set);
            glob_move(m->glob, m->states[i], m->samples[class], set);
            uint32_t next = state_of(m, set);
            if (next == STATES_MAX)
                return false;
            m->next[i][class] = (uint16_t)next;
        }
    }
    return true;
}

static struct glob_table *finish_glob_table(struct maker *m)
{
    uint32_t width = m->classes + 1;
    struct glob_table *t = mem_zero(sizeof *t + (size_t)m->count * width * sizeof t->cells[0]);
    *t = *m->table;
    t->width = width;
    t->start = width;
    for (uint32_t i = 0; i < m->count; i++) {
        uint16_t *row = &t->cells[(size_t)i * width];
        for (uint32_t class = 0; class < m->classes; class ++)
            row[class] = (uint16_t)(m->next[i][class] * width);
        row[m->classes] = m->states[i][0] >> GLOB_ACCEPT & 1;
    }
    return t;
}

struct glob_table *glob_table_new(const struct glob *glob)
{
    if (glob->count > NODES_MAX)
        return NULL;
    struct glob_table head = {0};
    FREE_AT_END struct maker *m = mem_zero(sizeof *m);
    m->glob = glob;
    m->table = &head;
    return cut(m) && classify(m) && find_states(m) ? finish_glob_table(m) : NULL;
}
