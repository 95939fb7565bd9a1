/* Reading a file of the log from front to back in bounded memory, however long its lines are. */
#ifndef SANDGATE_STORE_AUDIT_LINES_H
#define SANDGATE_STORE_AUDIT_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

/* A line or, of one that is longer than any record, a part. */
struct audit_line {
    struct str text; /* without its newline; valid until the next one is read */
    off_t at;
    uint64_t number; /* from 1 */
    bool begins;
    bool ends; /* a newline follows */
};

struct audit_lines {
    int fd;
    off_t at;      /* of what comes next */
    off_t read_to; /* where the file is read on */
    char *bytes;
    size_t room;
    size_t start;
    size_t end;
    size_t looked; /* of what is held, without a newline */
    uint64_t number;
    bool inside; /* a long line */
    bool over;
};

/* From the byte `from`; the first line is numbered 1. */
void audit_lines_init(struct audit_lines *lines, int fd, off_t from);
void audit_lines_done(struct audit_lines *lines);
/* 1, 0 at the end of the file, or -errno. */
int audit_lines_next(struct audit_lines *lines, struct audit_line *ret);
/* Whether this can be a record. */
bool audit_line_whole(const struct audit_line *line);

/* As pread, but not interrupted; -errno. */
ssize_t audit_read_at(int fd, void *bytes, size_t n, off_t at);

#endif
