/* A filter that is written from its end, so that where a jump leads is there before the jump is, and what ends alike can
 * share its end: the kernel compiles a command's filter anew for each command. */
#ifndef SANDGATE_CELL_FILTER_CODE_H
#define SANDGATE_CELL_FILTER_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cell/filter_gen.h"

struct code {
    struct sock_filter row[BPF_MAXINSNS]; /* the last instruction first */
    size_t n;
};

/* Where a jump leads: to a row, or out of the filter. */
struct place {
    bool is_return;
    uint32_t action;
    size_t row;
};

struct place code_return(uint32_t action);
/* In front of what was added before. */
struct place code_add(struct code *code, unsigned op, uint32_t k);
struct place code_load(struct code *code, size_t offset);
struct place code_branch(struct code *code, unsigned test, uint32_t k, struct place yes,
                         struct place no);
void code_finish(const struct code *code, struct program *ret);

#endif
