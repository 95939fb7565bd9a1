/* Uses of a program that are refused although the program is not. */
#include "policy/command_walk.h"

#include <string.h>

#define EVERYTHING 0777

static bool is_octal(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return false;
    }
    return text.n > 0;
}

static bool octal_gives_all(struct str text)
{
    unsigned value = 0;
    for (size_t i = 0; i < text.n; i++)
        value = (value << 3 | (unsigned)(text.p[i] - '0')) & 07777;
    return (value & EVERYTHING) == EVERYTHING;
}

/* The bits of `rwx`, and of `u`, `g`, `o`, which stand for what those have by now. */
static unsigned read_permissions(struct str *text, unsigned mode)
{
    unsigned bits = 0;
    for (; text->n && !strchr(",+-=", text->p[0]); text->p++, text->n--) {
        switch (text->p[0]) {
        case 'r':
            bits |= 4;
            break;
        case 'w':
            bits |= 2;
            break;
        case 'x':
        case 'X':
            bits |= 1;
            break;
        case 'u':
            bits |= mode >> 6 & 7;
            break;
        case 'g':
            bits |= mode >> 3 & 7;
            break;
        case 'o':
            bits |= mode & 7;
            break;
        }
    }
    return bits;
}

/* Which of owner, group and others a clause is about. Without a word of it the umask has its say, and that
 * leaves something out. */
static unsigned read_who(struct str *text)
{
    unsigned who = 0;
    for (; text->n && strchr("ugoa", text->p[0]); text->p++, text->n--)
        who |= text->p[0] == 'u'   ? 0700
               : text->p[0] == 'g' ? 0070
               : text->p[0] == 'o' ? 0007
                                   : 0777;
    return who ? who : 0700;
}

static bool mode_gives_all(struct str text)
{
    if (is_octal(text))
        return octal_gives_all(text);
    if (text.n > 1 && (text.p[0] == '+' || text.p[0] == '=')) {
        struct str digits = {text.p + 1, text.n - 1};
        if (is_octal(digits))
            return octal_gives_all(digits);
    }
    unsigned mode = 0;
    while (text.n) {
        unsigned who = read_who(&text);
        if (text.n == 0 || !strchr("+-=", text.p[0]))
            return false;
        while (text.n && strchr("+-=", text.p[0])) {
            char sign = text.p[0];
            text.p++;
            text.n--;
            unsigned bits = read_permissions(&text, mode) * 0111 & who;
            mode = sign == '+' ? mode | bits : sign == '-' ? mode & ~bits : (mode & ~who) | bits;
        }
        if (text.n) { /* a comma */
            text.p++;
            text.n--;
        }
    }
    return mode == EVERYTHING;
}

static bool is_option_word(struct str word)
{
    return word.n > 1 && word.p[0] == '-';
}

static bool chmod_gives_all(const struct command_view *view)
{
    size_t i = 1;
    for (; i < view->n && is_option_word(view->words[i].text); i++) {
        if (command_is(view->words[i].text, "--")) {
            i++;
            break;
        }
    }
    return i < view->n && mode_gives_all(view->words[i].text);
}

/* `--rec` is `--recursive`: a long option may be cut. */
static bool is_long(struct str word, const char *name)
{
    return word.n > 2 && word.n - 2 <= strlen(name) && memcmp(word.p + 2, name, word.n - 2) == 0;
}

static bool is_far(const struct shell_word *word)
{
    struct str text = word->text;
    if (text.n == 0)
        return false;
    if (text.p[0] == '/' || text.p[0] == '~')
        return true;
    if (word->flags & SHELL_EXPANDS && (text.p[0] == '$' || text.p[0] == '<'))
        return true;
    for (size_t i = 0; word->flags & SHELL_PATTERN && i + 1 < text.n; i++) {
        if ((text.p[i] == '{' || text.p[i] == ',') && strchr("/~$", text.p[i + 1]))
            return true;
    }
    return false;
}

static bool is_far_target(const struct command_view *view, const struct shell_word *word)
{
    if (is_far(word))
        return true;
    if (view->n_found == 0 || word->text.n < 2 || memcmp(word->text.p, "{}", 2) != 0)
        return false;
    for (size_t i = 0; i < view->n_found; i++) {
        if (is_far(&view->found[i]))
            return true;
    }
    return false;
}

static bool rm_is_forced_far(const struct command_view *view)
{
    bool recursive = false;
    bool force = false;
    bool far = view->more_words;
    bool options = true;
    for (size_t i = 1; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (!options || !is_option_word(word)) {
            far |= is_far_target(view, &view->words[i]);
        } else if (command_is(word, "--")) {
            options = false;
        } else if (word.p[1] == '-') {
            recursive |= is_long(word, "recursive");
            force |= is_long(word, "force");
        } else {
            recursive |= memchr(word.p, 'r', word.n) || memchr(word.p, 'R', word.n);
            force |= memchr(word.p, 'f', word.n) != NULL;
        }
    }
    return recursive && force && far;
}

bool command_form_holds(enum command_form form, const struct command_view *view)
{
    switch (form) {
    case COMMAND_ANY:
        return true;
    case COMMAND_CHMOD_777:
        return chmod_gives_all(view);
    case COMMAND_RM_FORCE:
        return rm_is_forced_far(view);
    }
    return false;
}
