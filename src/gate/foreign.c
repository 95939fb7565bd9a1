#include "gate/foreign.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define CHARACTERS 0x110000u
/* More than the letters of Greek, Cyrillic and Armenian. */
#define NAMED_MAX 512
#define NAMED_HARMLESS 8

struct script {
    uint32_t last; /* it goes on from the one before */
    const char *name;
    bool harmless; /* none looks like another character */
};

static const struct script scripts[] = {
    {0x9f, "control characters", false},
    {0xbf, "signs", false},
    {0x130, "accented Latin", true},
    {0x131, "other Latin", false}, /* a dotless i */
    {0x137, "accented Latin", true},
    {0x138, "other Latin", false},
    {0x13e, "accented Latin", true},
    {0x142, "other Latin", false},
    {0x148, "accented Latin", true},
    {0x149, "other Latin", false},
    {0x17e, "accented Latin", true},
    {0x24f, "other Latin", false},
    {0x2ff, "phonetic", false},
    {0x36f, "combining", false},
    {0x3ff, "Greek", false},
    {0x52f, "Cyrillic", false},
    {0x58f, "Armenian", false},
    {0x5ff, "Hebrew", false},
    {0x6ff, "Arabic", false},
    {0x139f, "others", false},
    {0x13ff, "Cherokee", false},
    {0x1cff, "others", false},
    {0x1dbf, "phonetic", false},
    {0x1dff, "combining", false},
    {0x1eff, "accented Latin", true},
    {0x1fff, "Greek", false},
    {0x200a, "blanks", false},
    {0x200f, "invisible", false},
    {0x2027, "signs", false},
    {0x202f, "invisible", false},
    {0x205e, "signs", false},
    {0x206f, "invisible", false},
    {0x2bff, "signs", false},
    {0x2c5f, "others", false},
    {0x2c7f, "other Latin", false},
    {0x2ddf, "others", false},
    {0x2dff, "Cyrillic", false},
    {0x303f, "signs", false},
    {0x3040, "others", false},
    {0x30ca, "Kana", true},
    {0x30ce, "look-alikes", false}, /* an equals sign and a slash are among them */
    {0x30d7, "Kana", true},
    {0x30d8, "look-alikes", false},
    {0x30fa, "Kana", true},
    {0x33ff, "others", false},
    {0x4dff, "Han", true},
    {0x4e00, "look-alikes", false}, /* a dash */
    {0x4e27, "Han", true},
    {0x4e28, "look-alikes", false},
    {0x4e35, "Han", true},
    {0x4e36, "look-alikes", false},
    {0x4e3e, "Han", true},
    {0x4e3f, "look-alikes", false},
    {0x9fff, "Han", true},
    {0xa63f, "others", false},
    {0xa69f, "Cyrillic", false},
    {0xa71f, "others", false},
    {0xa7ff, "other Latin", false},
    {0xab2f, "others", false},
    {0xab6f, "phonetic", false},
    {0xabff, "others", false},
    {0xd7a3, "Hangul", true},
    {0xfdff, "others", false},
    {0xfe0f, "invisible", false},
    {0xfefe, "others", false},
    {0xfeff, "invisible", false},
    {0xffef, "wide or narrow forms", false},
    {0x1d3ff, "others", false},
    {0x1d7ff, "letters of formulas", false},
    {0x1f2ff, "others", false},
    {0x1faff, "pictures", true},
    {0xdffff, "others", false},
    {0xe0fff, "invisible", false},
    {CHARACTERS - 1, "others", false},
};

static const struct script *script_of(uint32_t c)
{
    const struct script *script = scripts;
    while (script->last < c)
        script++;
    return script;
}

/* Which characters there are, a bit for each. */
struct found {
    unsigned char *mixed; /* in one word with letters of ASCII */
    unsigned char *alone;
};

static bool has_character(const unsigned char *set, uint32_t c)
{
    return set[c / 8] >> c % 8 & 1;
}

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word_byte(char c)
{
    return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '_' || c & 0x80;
}

static void find_in_word(struct str word, bool letters, const struct found *found)
{
    for (size_t at = 0, n; at < word.n; at += n ? n : 1) {
        n = utf8_sequence(word.p + at, word.n - at);
        uint32_t c = n > 1 ? utf8_character(word.p + at, n) : 0;
        unsigned char *set = letters && !script_of(c)->harmless ? found->mixed : found->alone;
        if (c)
            set[c / 8] |= (unsigned char)(1u << c % 8);
    }
}

static void find_foreign(struct str text, const struct found *found)
{
    for (size_t at = 0; at < text.n;) {
        size_t from = at;
        bool letters = false;
        for (; at < text.n && is_word_byte(text.p[at]); at++)
            letters |= is_ascii_letter(text.p[at]);
        find_in_word((struct str){text.p + from, at - from}, letters, found);
        at += at == from;
    }
}

static bool is_script_named_before(const struct script *script)
{
    const struct script *one = scripts;
    while (strcmp(one->name, script->name) != 0)
        one++;
    return one < script;
}

/* All parts of the script with this name. */
static void name_script(const unsigned char *set, const struct script *script, const char *before,
                        struct buf *out)
{
    const size_t most = script->harmless ? NAMED_HARMLESS : NAMED_MAX;
    size_t n = 0;
    uint32_t c = 0x80;
    for (const struct script *part = scripts; c < CHARACTERS; c = part++->last + 1) {
        for (; strcmp(part->name, script->name) == 0 && c <= part->last; c++) {
            if (!has_character(set, c) || n++ >= most)
                continue;
            if (n == 1)
                buf_addf(out, "%s%s", before, script->name);
            buf_addf(out, " U+%04" PRIX32, c);
        }
    }
    if (n > most)
        buf_addf(out, " and %zu more", n - most);
}

static void name_set(const unsigned char *set, const char *intro, struct buf *out)
{
    const size_t begin = out->len;
    for (unsigned harmless = 0; harmless < 2; harmless++) {
        for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
            if (scripts[i].harmless == harmless && !is_script_named_before(&scripts[i]))
                name_script(set, &scripts[i], out->len > begin ? "; " : intro, out);
        }
    }
    if (out->len > begin)
        buf_add_text(out, ")\n");
}

static bool is_all_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] & 0x80)
            return false;
    }
    return true;
}

void foreign_note(struct str text, struct buf *out)
{
    if (is_all_ascii(text))
        return;
    FREE_AT_END unsigned char *mixed = mem_zero(CHARACTERS / 8);
    FREE_AT_END unsigned char *alone = mem_zero(CHARACTERS / 8);
    find_foreign(text, &(struct found){mixed, alone});
    name_set(mixed, "(not ASCII, in one word with letters of ASCII: ", out);
    name_set(alone, "(not ASCII: ", out);
}
