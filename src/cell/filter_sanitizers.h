/* What the runtimes of sanitizers need in a worker beyond its own list: a stack for signals with each thread, and the
 * pauses of a thread of their own. Allowed only in builds with sanitizers; a unit test holds the filter against this
 * list. */
#ifndef SANDGATE_CELL_FILTER_SANITIZERS_H
#define SANDGATE_CELL_FILTER_SANITIZERS_H

static const char *const sanitizer_calls[] = {
    "sigaltstack",
    "nanosleep",
    "gettimeofday",
    NULL,
};

#endif
