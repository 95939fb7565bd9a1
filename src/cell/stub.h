/* The program that is started in the place of a denied one: it tells its first process (a refused system call, which
 * that counts), writes a line to standard error and ends with status 126. */
#ifndef SANDGATE_CELL_STUB_H
#define SANDGATE_CELL_STUB_H

#include <stdint.h>

#include "base/buf.h"

#define STUB_TEXT_MAX 512
/* The first argument of its ptrace; the second is the denial's number. */
#define STUB_MARK 0x53474e58u

/* An executable for this machine that needs no other file. `text` is cut at STUB_TEXT_MAX. Empty for a machine whose
 * instructions are not known here: the file then cannot be run at all, which denies as well. */
void stub_write(struct buf *out, uint32_t number, const char *text);

#endif
