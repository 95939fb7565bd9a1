#include "core/no_network.h"

#include <string.h>

#include "base/attr.h"

/* The C library's words for a name and for a way that are not to be had, and those of programs that have their own. */
static const char *const said[] = {
    "EAI_AGAIN",                            /* node, npm, pnpm, yarn */
    "ENETUNREACH",                          /* the same, for addresses */
    "Temporary failure in name resolution", /* libc: pip, Python, ssh, wget */
    "failed to lookup address information", /* Rust */
    "Could not resolve host",               /* curl, git, cargo */
    "Could not resolve hostname",           /* ssh */
    "Network is unreachable",               /* libc */
    "dial tcp: lookup ",                    /* Go */
    "Failed to establish a new connection", /* Python's requests, pip */
    "Temporary failure resolving",          /* apt */
};

bool no_network_said(struct str text)
{
    for (size_t i = 0; text.n && i < ARRAY_LEN(said); i++) {
        if (memmem(text.p, text.n, said[i], strlen(said[i])))
            return true;
    }
    return false;
}
