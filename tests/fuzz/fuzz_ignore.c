/* Any bytes as an ignore file and, behind the first NUL, as paths with NULs between them; the first byte picks
 * whether they are folders. The answer must be the one of all rules tried in turn, each as a glob. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "target.h"
#include "work/ignore.h"
#include "work/ignore_line.h"

#define LINES_MAX 64

struct slow_rule {
    struct glob *glob;
    bool keep;
    bool folders;
    bool anchored;
};

static struct slow_rule slow[LINES_MAX];
static size_t slow_count;

static void slow_free(void)
{
    while (slow_count)
        glob_free(slow[--slow_count].glob);
}

static void slow_read(struct str text)
{
    static struct ignore_line line;
    struct err err;
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        text = (struct str){text.p + 3, text.n - 3};
    while (text.n) {
        size_t n = 0;
        while (n < text.n && text.p[n] != '\n')
            n++;
        struct str one = {text.p, n && text.p[n - 1] == '\r' ? n - 1 : n};
        if (ignore_line_read(one, &line)) {
            struct glob *glob = glob_compile((struct str){line.pattern, line.pattern_n}, false,
                                             &err);
            /* Only a range of characters beyond ASCII can be wrong. */
            must(glob || line.kind == IGNORE_GLOB);
            if (glob)
                slow[slow_count++] = (struct slow_rule){glob, line.keep, line.folders,
                                                        line.anchored};
        }
        n += n < text.n;
        text = (struct str){text.p + n, text.n - n};
    }
}

static enum ignore_verdict slow_verdict(struct str path, bool folder)
{
    const char *slash = memrchr(path.p, '/', path.n);
    size_t from = slash ? (size_t)(slash - path.p) + 1 : 0;
    struct str name = {path.p + from, path.n - from};
    for (size_t i = slow_count; i-- > 0;) {
        const struct slow_rule *rule = &slow[i];
        if ((folder || !rule->folders) && glob_match(rule->glob, rule->anchored ? path : name))
            return rule->keep ? IGNORE_KEEP : IGNORE_DROP;
    }
    return IGNORE_NONE;
}

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

static bool too_many_lines(struct str text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    return lines > LINES_MAX;
}

static bool is_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool folder = data[0] & 1;
    struct str text = {(const char *)data + 1, size - 1};
    struct str rest = {"", 0};
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    if (nul) {
        rest = (struct str){nul + 1, text.n - (size_t)(nul - text.p) - 1};
        text.n = (size_t)(nul - text.p);
    }
    struct ignore *ignore = ignore_new(text);
    /* A plain rule may begin in the middle of a character, a glob may not. */
    bool comparable = utf8_valid(text.p, text.n) && !too_many_lines(text);
    /* `?` and sets stand for a byte here, for a character there. */
    bool bytes = text.n && (memchr(text.p, '?', text.n) || memchr(text.p, '[', text.n));
    comparable &= !bytes || is_ascii(text);
    if (comparable)
        slow_read(text);
    while (rest.n) {
        size_t n = strnlen(rest.p, rest.n);
        struct str path = {rest.p, n};
        enum ignore_verdict said = ignore ? ignore_verdict(ignore, path, folder) : IGNORE_NONE;
        if (comparable && is_path(path) && (!bytes || is_ascii(path)))
            must(said == slow_verdict(path, folder));
        n += n < rest.n;
        rest = (struct str){rest.p + n, rest.n - n};
    }
    slow_free();
    ignore_free(ignore);
    return 0;
}
