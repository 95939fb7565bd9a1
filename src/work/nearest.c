#include "work/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "work/diff_script.h"

/* Only this much of the text is looked for. */
#define SAMPLE_MAX 1024
#define SAMPLE_LINES 64
/* A longer line counts as several. */
#define PIECE_MAX 256
#define GRAM 4
#define TABLE_BITS 14
/* Windows that are looked at again. */
#define KEPT 8
/* In larger files every second run of bytes is looked at. */
#define LARGE ((size_t)1 << 20)
/* In thousandths; below it nothing is called near. */
#define LEAST 300
/* Larger texts are not compared byte by byte. */
#define COMPARED_MAX ((size_t)64 << 10)

/* Which runs of four bytes, upper and lower case alike, the text has. */
struct grams {
    uint8_t has[1 << TABLE_BITS];
    size_t count;
    size_t distinct;
};

/* Lines of the file, as many as the text has. */
struct window {
    size_t at;
    size_t line;
    unsigned score;
};

struct score {
    size_t hits;
    size_t grams;
};

static uint32_t gram_at(const char *p)
{
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return ((bytes | 0x20202020u) * 0x9e3779b1u) >> (32 - TABLE_BITS);
}

static bool is_nearest_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static struct str trim_nearest_text(struct str text)
{
    while (text.n && is_nearest_blank(text.p[0]))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n && is_nearest_blank(text.p[text.n - 1]))
        text.n--;
    return text;
}

static size_t piece_length(struct str text, size_t at)
{
    size_t left = text.n - at < PIECE_MAX ? text.n - at : PIECE_MAX;
    return diff_line((struct str){text.p, at + left}, at);
}

/* Returns how many lines the sample of the text has. */
static size_t learn(struct str text, struct grams *grams)
{
    size_t lines = 0;
    text.n = text.n < SAMPLE_MAX ? text.n : SAMPLE_MAX;
    memset(grams, 0, sizeof *grams);
    for (size_t at = 0; at < text.n && lines < SAMPLE_LINES; lines++) {
        size_t n = piece_length(text, at);
        for (size_t i = 0; i + GRAM <= n; i++) {
            uint8_t *has = &grams->has[gram_at(text.p + at + i)];
            grams->distinct += !*has;
            *has = 1;
            grams->count++;
        }
        at += n;
    }
    return lines;
}

static struct score measure(const struct grams *grams, const char *p, size_t n, size_t stride)
{
    struct score score = {0, n >= GRAM ? n - GRAM + 1 : 0};
    uint32_t before = 1u << TABLE_BITS;
    for (size_t i = 0; i < score.grams; i += stride) {
        uint32_t gram = gram_at(p + i);
        /* A line of dashes is not like a text because of one run of dashes. */
        score.hits += grams->has[gram] & (gram != before);
        before = gram;
    }
    score.hits *= stride;
    return score;
}

/* How much of the text is there; a little less when much else is there too. */
static unsigned rate(struct score score, size_t wanted, const struct grams *grams)
{
    size_t more = score.grams > grams->count ? score.grams - grams->count : 0;
    return (unsigned)(score.hits * 1000 / (wanted + more / 32));
}

/* Keeps the best few, in any order. */
static void keep_best_windows(struct window *kept, struct window window)
{
    size_t worst = 0;
    for (size_t i = 1; i < KEPT; i++)
        worst = kept[i].score < kept[worst].score ? i : worst;
    if (window.score > kept[worst].score)
        kept[worst] = window;
}

/* All windows of so many lines, quickly: what is there twice is counted twice. */
static void scan(struct str file, const struct grams *grams, size_t lines, struct window *kept)
{
    struct score scores[SAMPLE_LINES] = {{0, 0}};
    struct window starts[SAMPLE_LINES] = {{0, 0, 0}};
    struct score sum = {0, 0};
    size_t stride = file.n > LARGE ? 2 : 1;
    size_t line = 1;
    size_t slot = 0;
    bool full = false;
    for (size_t at = 0; at < file.n;) {
        size_t n = piece_length(file, at);
        sum.hits -= scores[slot].hits;
        sum.grams -= scores[slot].grams;
        scores[slot] = measure(grams, file.p + at, n, stride);
        sum.hits += scores[slot].hits;
        sum.grams += scores[slot].grams;
        starts[slot] = (struct window){at, line, 0};
        slot = slot + 1 < lines ? slot + 1 : 0;
        full = full || slot == 0;
        if (sum.hits) {
            struct window window = starts[full ? slot : 0];
            window.score = rate(sum, grams->count, grams);
            keep_best_windows(kept, window);
        }
        line += file.p[at + n - 1] == '\n';
        at += n;
    }
}

/* The same for one window, with everything counted once. */
static unsigned rate_again(struct str file, struct window window, const struct grams *grams,
                           size_t lines)
{
    struct grams left = *grams;
    struct score sum = {0, 0};
    size_t at = window.at;
    for (size_t i = 0; i < lines && at < file.n; i++) {
        size_t n = piece_length(file, at);
        for (size_t k = 0; k + GRAM <= n; k++, sum.grams++) {
            uint8_t *has = &left.has[gram_at(file.p + at + k)];
            sum.hits += *has;
            *has = 0;
        }
        at += n;
    }
    return rate(sum, grams->distinct, grams);
}

static struct window best_window(struct str file, const struct grams *grams, size_t lines)
{
    struct window kept[KEPT] = {{0, 0, 0}};
    struct window best = {0, 1, 0};
    scan(file, grams, lines, kept);
    for (size_t i = 0; i < KEPT; i++) {
        if (kept[i].score == 0)
            continue;
        kept[i].score = rate_again(file, kept[i], grams, lines);
        bool better = kept[i].score > best.score ||
                      (kept[i].score == best.score && kept[i].at < best.at);
        best = better ? kept[i] : best;
    }
    return best;
}

/* The text as it is compared: without what is not to count. */
static bool reduce(struct str text, enum nearest_how how, struct buf *out)
{
    bool begins = true; /* only blanks since the last newline */
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool blank = is_nearest_blank(c);
        if (c == '\n') {
            while (how == NEAREST_TRAILING && out->len &&
                   is_nearest_blank(out->data[out->len - 1]) && out->data[out->len - 1] != '\n')
                out->len--;
            begins = true;
        } else {
            begins = begins && blank;
        }
        if (c == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            continue;
        if ((how == NEAREST_BLANKS && blank) ||
            (how == NEAREST_INDENT && begins && blank && c != '\n'))
            continue;
        if (how == NEAREST_CASE && c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        buf_add_char(out, c);
    }
    return out->len && !out->failed;
}

static bool alike(struct str file, struct str text, enum nearest_how how)
{
    BUF_AT_END struct buf a = BUF_INIT(file.n);
    BUF_AT_END struct buf b = BUF_INIT(text.n);
    return reduce(file, how, &a) && reduce(text, how, &b) && memmem(a.data, a.len, b.data, b.len);
}

static bool indented_with(struct str text, char c)
{
    for (size_t at = 0; at < text.n; at += diff_line(text, at)) {
        if (text.p[at] == c)
            return true;
    }
    return false;
}

static enum nearest_how tell_how_near(struct str file, struct str text)
{
    if (text.n > COMPARED_MAX / 2)
        return NEAREST_OTHER;
    size_t most = 2 * text.n + PIECE_MAX;
    file.n = file.n < most ? file.n : most;
    if (alike(file, text, NEAREST_CASE))
        return NEAREST_CASE;
    if (alike(file, text, NEAREST_TRAILING))
        return NEAREST_TRAILING;
    if (!alike(file, text, NEAREST_INDENT))
        return alike(file, text, NEAREST_BLANKS) ? NEAREST_BLANKS : NEAREST_OTHER;
    if (indented_with(file, '\t') && !indented_with(text, '\t'))
        return NEAREST_TABS;
    return !indented_with(file, '\t') && indented_with(text, '\t') ? NEAREST_SPACES
                                                                   : NEAREST_INDENT;
}

static struct str bare_line_at(struct str text, size_t at)
{
    struct str line = {text.p + at, diff_line(text, at)};
    while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

/* How many lines from the beginning are the same; the text may begin and end within a line. */
static size_t same_lines(struct str file, struct str text)
{
    size_t count = 0;
    size_t i = 0;
    size_t j = 0;
    while (i < file.n && j < text.n) {
        struct str a = bare_line_at(file, i);
        struct str b = bare_line_at(text, j);
        i += diff_line(file, i);
        j += diff_line(text, j);
        bool is_same = a.n == b.n || (count == 0 && a.n > b.n) || (j == text.n && a.n > b.n);
        if (is_same && count == 0)
            is_same = str_ends(a, b);
        else if (is_same)
            is_same = memcmp(a.p, b.p, b.n) == 0;
        if (!is_same)
            break;
        count++;
    }
    return count;
}

bool nearest_find(struct str file, struct str text, struct nearest *ret)
{
    struct grams grams;
    struct str core = trim_nearest_text(text);
    size_t lines = learn(core, &grams);
    if (lines == 0 || grams.count == 0)
        return false;
    struct window best = best_window(file, &grams, lines);
    if (best.score < LEAST)
        return false;
    size_t all = diff_count_lines(core);
    struct str rest = {file.p + best.at, file.n - best.at};
    size_t n = 0;
    size_t shown = 0;
    for (; shown < all && n < rest.n; shown++)
        n += diff_line(rest, n);
    while (n && (rest.p[n - 1] == '\n' || rest.p[n - 1] == '\r'))
        n--;
    *ret = (struct nearest){
        .first_line = best.line,
        .last_line = best.line + (shown ? shown - 1 : 0),
        .text = {rest.p, n},
        .how = tell_how_near(rest, core),
    };
    if (ret->how == NEAREST_OTHER && all > 1)
        ret->differs = best.line + same_lines(rest, core);
    return true;
}

void nearest_describe(const struct nearest *nearest, char out[NEAREST_WHAT])
{
    static const char *const hows[] = {
        [NEAREST_OTHER] = "",
        [NEAREST_CASE] = ", where only upper and lower case differ",
        [NEAREST_INDENT] = ", where only the indentation differs",
        [NEAREST_TABS] = ", where only the indentation differs: tabs there, spaces in old_text",
        [NEAREST_SPACES] = ", where only the indentation differs: spaces there, tabs in old_text",
        [NEAREST_TRAILING] = ", where only blanks at the ends of lines differ",
        [NEAREST_BLANKS] = ", where only blanks and line breaks differ",
    };
    char differs[60] = "";
    char last[30] = "";
    if (nearest->differs)
        snprintf(differs, sizeof differs, ", which differ from line %zu on", nearest->differs);
    if (nearest->last_line > nearest->first_line)
        snprintf(last, sizeof last, " to %zu", nearest->last_line);
    snprintf(out, NEAREST_WHAT, "line%s %zu%s%s%s", last[0] ? "s" : "", nearest->first_line, last,
             hows[nearest->how], differs);
}

void nearest_show(const struct nearest *nearest, char out[NEAREST_SHOWN])
{
    struct str text = nearest->text;
    size_t n = 0;
    for (size_t i = 0; i < text.n;) {
        char one[5] = "";
        unsigned char c = (unsigned char)text.p[i];
        size_t length = utf8_sequence(text.p + i, text.n - i);
        bool plain = length > 1 || (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n';
        if (plain)
            memcpy(one, text.p + i, length);
        else if (c >= 0xa0)
            snprintf(one, sizeof one, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
        else
            snprintf(one, sizeof one, "\\x%02x", c);
        i += plain ? length : 1;
        size_t more = strlen(one);
        bool cut = n + more + sizeof "..." > NEAREST_SHOWN;
        memcpy(out + n, cut ? "..." : one, cut ? 3 : more);
        n += cut ? 3 : more;
        if (cut)
            break;
    }
    out[n] = '\0';
}
