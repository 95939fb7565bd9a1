#include "base/spelling.h"

#include <ctype.h>

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t spelling_distance(struct str a, struct str b)
{
    size_t line[SPELLING_MAX + 1];
    if (a.n > SPELLING_MAX || b.n > SPELLING_MAX)
        return SPELLING_MAX;
    for (size_t j = 0; j <= b.n; j++)
        line[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = line[0];
        line[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool same = tolower((unsigned char)a.p[i - 1]) == tolower((unsigned char)b.p[j - 1]);
            size_t best = smallest(line[j] + 1, line[j - 1] + 1, diagonal + !same);
            diagonal = line[j];
            line[j] = best;
        }
    }
    return line[b.n];
}

size_t spelling_close(size_t n)
{
    return n / 3 + 1;
}
