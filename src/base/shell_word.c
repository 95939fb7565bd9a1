#include "base/shell_word.h"

#include "base/shown.h"
#include "base/utf8.h"

static const char *const keywords[] = {"case",   "coproc", "do",   "done",  "elif", "else",
                                       "esac",   "fi",     "for",  "if",    "in",   "function",
                                       "select", "then",   "time", "until", "while"};

static bool is_plain_shell_word(struct str word)
{
    static const char others[] = "_@%+=,./:-";
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && !memchr(others, c, sizeof others - 1))
            return false;
    }
    return word.n > 0;
}

void shell_quoted(struct str word, struct buf *out)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, word.p[i]);
    }
    buf_add_char(out, '\'');
}

static void add_hex_bytes(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.n; i++)
        buf_addf(out, "\\x%02x", (unsigned)(unsigned char)bytes.p[i]);
}

/* One character within `$'...'`. Of a run of spaces all but the first are written out, since they could push text out of
 * sight. */
static void add_dollar_escaped(struct str c, bool after_space, struct buf *out)
{
    static const char letters[] = "\n\t\r\x1b\\'";
    static const char named[] = "ntre\\'";
    const char *letter = c.n == 1 ? memchr(letters, c.p[0], sizeof letters - 1) : NULL;
    if (letter)
        buf_addf(out, "\\%c", named[letter - letters]);
    else if (shown_is_fit(c, false) && !(after_space && c.p[0] == ' '))
        buf_add(out, c.p, c.n);
    else
        add_hex_bytes(c, out);
}

static void add_dollar_quoted(struct str word, struct buf *out)
{
    buf_add_text(out, "$'");
    for (size_t at = 0; at < word.n;) {
        size_t n = utf8_sequence(word.p + at, word.n - at);
        struct str c = {word.p + at, n ? n : 1};
        add_dollar_escaped(c, at > 0 && word.p[at - 1] == ' ', out);
        at += c.n;
    }
    buf_add_char(out, '\'');
}

static void add_shell_word(struct str word, bool plain, struct buf *out)
{
    if (plain)
        buf_add(out, word.p, word.n);
    else if (shown_is_fit(word, false))
        shell_quoted(word, out);
    else
        add_dollar_quoted(word, out);
}

void shell_word(struct str word, struct buf *out)
{
    add_shell_word(word, is_plain_shell_word(word), out);
}

void shell_program(struct str word, struct buf *out)
{
    bool plain = is_plain_shell_word(word) && !memchr(word.p, '=', word.n);
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        plain &= word.n != strlen(keywords[i]) || memcmp(word.p, keywords[i], word.n) != 0;
    add_shell_word(word, plain, out);
}
