/* Paths that an index may hold. */
#include <string.h>

#include "base/ascii.h"
#include "work/git_index.h"

/* Letters that HFS+ leaves out of names: U+200C to 200F, 202A to 202E, 206A to 206F, FEFF. The bytes they take, or 0. */
static size_t ignored_letter(struct str text)
{
    const unsigned char *c = (const unsigned char *)text.p;
    if (text.n < 3)
        return 0;
    bool join = c[0] == 0xe2 && c[1] == 0x80 &&
                ((c[2] >= 0x8c && c[2] <= 0x8f) || (c[2] >= 0xaa && c[2] <= 0xae));
    bool shape = c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xaa && c[2] <= 0xaf;
    bool mark = c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf;
    return join || shape || mark ? 3 : 0;
}

/* The name as file systems read it that ignore case and some letters, up to `size` bytes. */
static size_t fold(struct str name, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < size;) {
        size_t skip = ignored_letter((struct str){name.p + i, name.n - i});
        if (skip)
            i += skip;
        else
            out[n++] = ascii_lower(name.p[i++]);
    }
    return n;
}

/* NTFS leaves out dots and blanks at the end, and what follows a colon is another stream of the same file. */
static bool is_ntfs_name(struct str folded, const char *wanted)
{
    size_t n = strlen(wanted);
    if (folded.n < n || memcmp(folded.p, wanted, n) != 0)
        return false;
    for (; n < folded.n; n++) {
        if (folded.p[n] == ':')
            return true;
        if (folded.p[n] != '.' && folded.p[n] != ' ')
            return false;
    }
    return true;
}

static bool part_ok(struct str part, bool link)
{
    char buffer[64];
    struct str folded = {buffer, fold(part, buffer, sizeof buffer)};
    if (folded.n == 0 || is_ntfs_name(folded, ".git") || is_ntfs_name(folded, "git~1"))
        return false;
    if (!link)
        return true;
    bool short_name = folded.n >= 7 &&
                      (memcmp(folded.p, "gitmod~", 7) == 0 || memcmp(folded.p, "gi7eba~", 7) == 0);
    return !is_ntfs_name(folded, ".gitmodules") && !short_name;
}

static bool is_dots(struct str part)
{
    return part.n > 0 && part.p[0] == '.' && (part.n == 1 || (part.n == 2 && part.p[1] == '.'));
}

/* A backslash is a slash to Windows, and a letter here. */
static bool parts_ok(struct str part, bool link)
{
    for (size_t at = 0; at <= part.n;) {
        size_t n = 0;
        while (at + n < part.n && part.p[at + n] != '\\')
            n++;
        if (n && !part_ok((struct str){part.p + at, n}, link))
            return false;
        at += n + 1;
    }
    return true;
}

bool git_index_path_ok(struct str path, bool link)
{
    if (path.n == 0 || path.n >= 4096 || memchr(path.p, '\0', path.n))
        return false;
    for (size_t at = 0; at <= path.n;) {
        const char *slash = at < path.n ? memchr(path.p + at, '/', path.n - at) : NULL;
        size_t n = slash ? (size_t)(slash - path.p) - at : path.n - at;
        struct str part = {path.p + at, n};
        if (n == 0 || is_dots(part) || !parts_ok(part, link))
            return false;
        at += n + 1;
    }
    return true;
}
