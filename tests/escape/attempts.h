/* Ways out of a command's sandbox, each tried for real.
 *
 *   attempts NAME [ARGUMENT…]   tries one and prints what happened
 *   attempts all                tries all that need no argument and end no others
 *   attempts bare NAME          tries one where only the kernel's own rules hold: in new namespaces, as their root
 *   attempts list               a line for each: name, expected violation or -, and `bare`, `argument` or `-`
 *
 * The exit status of the first and third is an `enum outcome`. */
#ifndef ATTEMPTS_H
#define ATTEMPTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outcome {
    STOPPED,
    THROUGH,
    NOT_TRIED, /* something that should work did not, so it says nothing */
};

struct attempt {
    const char *name;
    enum outcome (*run)(const struct attempt *attempt); /* NULL: the system call below */
    const char *violation; /* what Sandgate counts it as; NULL: it is stopped by something else */
    bool bare;             /* gets through in a `bare` run, which shows that it is tried rightly */
    bool argument;         /* needs one, or a judge outside */
    bool alone;            /* ends others, so `all` leaves it out */
    long call;
    long args[6];
};

extern const struct attempt mount_attempts[];
extern const struct attempt namespace_attempts[];
extern const struct attempt file_attempts[];
extern const struct attempt mode_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt together_attempts[];
extern const struct attempt network_attempts[];
extern const struct attempt kernel_attempts[];
extern const struct attempt rights_attempts[];

/* A text as an argument of a system call. */
#define TEXT(text) (long)(uintptr_t)(text)
/* Rows that are one system call. */
#define CALL(name_, nr, ...)                                                                       \
    {                                                                                              \
        .name = name_, .violation = #nr, .call = SYS_##nr, .args = { __VA_ARGS__ }                 \
    }
#define BARE_CALL(name_, nr, ...)                                                                  \
    {                                                                                              \
        .name = name_, .violation = #nr, .bare = true, .call = SYS_##nr, .args = { __VA_ARGS__ }   \
    }

const char *argument(unsigned i);
/* Says how a call ended: not negative is through. */
enum outcome judge(long result, const char *what);
/* As if the kernel did not know the call: only then do programs use an older one. */
enum outcome judge_absent(long result, const char *what);
/* The worse of two. */
enum outcome both(enum outcome a, enum outcome b);
enum outcome try_open(const char *path, int flags);
/* The outcome of what a child returns; killed by a signal is stopped. */
enum outcome in_child(enum outcome (*run)(const struct attempt *attempt),
                      const struct attempt *attempt);
/* Waits until a file is there. */
void wait_for_file(const char *path);

#endif
