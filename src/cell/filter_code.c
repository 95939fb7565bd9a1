#include "cell/filter_code.h"

#include <stdlib.h>

/* Of a conditional jump. */
#define REACH UINT8_MAX

struct place code_return(uint32_t action)
{
    return (struct place){.is_return = true, .action = action};
}

static struct place add_filter_row(struct code *code, unsigned op, uint32_t k, unsigned jt,
                                   unsigned jf)
{
    if (code->n == BPF_MAXINSNS)
        exit(1);
    code->row[code->n] = (struct sock_filter){(uint16_t)op, (uint8_t)jt, (uint8_t)jf, k};
    return (struct place){.row = code->n++};
}

struct place code_add(struct code *code, unsigned op, uint32_t k)
{
    return add_filter_row(code, op, k, 0, 0);
}

struct place code_load(struct code *code, size_t offset)
{
    return add_filter_row(code, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* From the instruction that is added after `more` others. */
static size_t distance(const struct code *code, size_t row, size_t more)
{
    return code->n + more - row - 1;
}

static size_t find_return(const struct code *code, uint32_t action, size_t more)
{
    for (size_t row = code->n; row-- > 0 && distance(code, row, more) <= REACH;) {
        if (code->row[row].code == (BPF_RET | BPF_K) && code->row[row].k == action)
            return row;
    }
    return SIZE_MAX;
}

/* A row in reach that is, or leads to, the place. */
static size_t bring_near(struct code *code, struct place place, size_t more)
{
    if (place.is_return) {
        size_t row = find_return(code, place.action, more);
        return row != SIZE_MAX ? row
                               : add_filter_row(code, BPF_RET | BPF_K, place.action, 0, 0).row;
    }
    if (distance(code, place.row, more) <= REACH)
        return place.row;
    return add_filter_row(code, BPF_JMP | BPF_JA, (uint32_t)distance(code, place.row, 0), 0, 0).row;
}

struct place code_branch(struct code *code, unsigned test, uint32_t k, struct place yes,
                         struct place no)
{
    size_t yes_row = bring_near(code, yes, 1);
    size_t no_row = bring_near(code, no, 0);
    return add_filter_row(code, BPF_JMP | test | BPF_K, k, (unsigned)distance(code, yes_row, 0),
                          (unsigned)distance(code, no_row, 0));
}

void code_finish(const struct code *code, struct program *ret)
{
    ret->n = code->n;
    for (size_t i = 0; i < code->n; i++)
        ret->code[i] = code->row[code->n - 1 - i];
}
