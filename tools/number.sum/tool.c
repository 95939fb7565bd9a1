/* Adds numbers. The arguments are one line of JSON with no blanks between its parts that fits `input` of the manifest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char in[64 << 10];

int main(void)
{
    static const char key[] = "{\"numbers\":[";
    size_t n = fread(in, 1, sizeof in - 1, stdin);
    double sum = 0;
    int count = 0;
    if (n < sizeof key || n == sizeof in - 1) {
        fputs("the arguments are too long\n", stderr);
        return 1;
    }
    char *end;
    for (const char *at = in + sizeof key - 1; *at && *at != ']';
         at = *end == ',' ? end + 1 : end) {
        sum += strtod(at, &end);
        count++;
        if (end == at)
            return 1;
    }
    if (!isfinite(sum)) {
        fputs("the sum is too large\n", stderr);
        return 1;
    }
    printf("{\"sum\": %#.17g, \"count\": %d}\n", sum, count);
    return 0;
}
