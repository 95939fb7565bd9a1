/* Build-time program that writes the two system call filters as C headers: the worker's is an
 * allowlist, a command's lets pass what it does not name. */
#ifndef SANDGATE_CELL_FILTER_GEN_H
#define SANDGATE_CELL_FILTER_GEN_H

#include <linux/filter.h>
#include <stddef.h>

struct program {
    struct sock_filter code[BPF_MAXINSNS];
    size_t n;
};

void filter_command_compile(struct program *program);
/* The calls that are reported when they are refused, as rows of a table: number and name. */
void filter_command_print_reported(void);

#endif
