// CPU time and memory of a process and all its descendants, read from outside.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct tree_use {
    int processes;
    uint64_t cpu_ns;
    uint64_t memory_bytes;
    uint64_t peak_bytes; // sum of each one's own peak, shared pages counted in each
};

// Zero processes when `root` is gone. Those in nested pid namespaces count: the caller's
// /proc lists them too.
struct tree_use tree_measure(pid_t root);
