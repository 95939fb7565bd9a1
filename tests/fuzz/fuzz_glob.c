/* Any bytes as a pattern, and behind a NUL as a path; the first byte picks whether it is anchored. */
#include <string.h>

#include "../unit/slow_glob.h"
#include "base/mem.h"
#include "core/glob_program.h"
#include "target.h"

static bool is_path(struct str text)
{
    for (size_t i = 0; i <= text.n; i++) {
        size_t from = i;
        while (i < text.n && text.p[i] != '/')
            i++;
        size_t n = i - from;
        if (n == 0 || (n <= 2 && memcmp(text.p + from, "..", n) == 0))
            return false;
    }
    return true;
}

static void check_match(const struct glob *glob, struct str path)
{
    struct str prefix = glob_fixed_prefix(glob);
    for (size_t i = 0; i < path.n; i++)
        must(path.p[i] != '/' || glob_may_match_beneath(glob, (struct str){path.p, i}));
    must(prefix.n == 0 ||
         (path.n > prefix.n && path.p[prefix.n] == '/' && memcmp(path.p, prefix.p, prefix.n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct slow_glob slow;
    struct err err = {.code = ERR_COUNT};
    if (size == 0)
        return 0;
    bool anywhere = data[0] & 1;
    struct str text = {(const char *)data + 1, size - 1};
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    struct str path = {"", 0};
    if (nul) {
        path = (struct str){nul + 1, text.n - (size_t)(nul - text.p) - 1};
        text.n = (size_t)(nul - text.p);
    }
    slow_compile(&slow, text, anywhere);
    GLOB_AT_END struct glob *glob = glob_compile(text, anywhere, &err);
    must(slow.too_much || !glob == slow.bad);
    must(glob ? err.code == ERR_COUNT : err.code == ERR_INVALID_PATTERN && err.message[0]);
    if (!glob)
        return 0;
    must(slow.too_much || glob_folders_only(glob) == slow.folders_only);
    bool matches = glob_match(glob, path);
    bool beneath = glob_may_match_beneath(glob, path);
    if (is_path(path)) {
        bool expected = slow.too_much ? matches : slow_match(&slow, path);
        must(slow.too_much || matches == expected);
        if (matches)
            check_match(glob, path);
        must(!matches || glob_is_pattern(text) || anywhere || text.n >= path.n);
    }
    free(TAKE_PTR(glob->table));
    must(glob_match(glob, path) == matches && glob_may_match_beneath(glob, path) == beneath);
    return 0;
}
