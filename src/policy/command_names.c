#include "policy/command_names.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/program_names.h"
#include "policy/program_options.h"
#include "policy/shell_words.h"
#include "policy/subcommand.h"

static bool is_program_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_.+-", c));
}

/* Takes the next name from a text. Quotes and escapes join what stands on both sides, as they do for a shell; of a path the
 * last part is left. */
static bool take_program_name(struct str *text, struct buf *ret)
{
    ret->len = 0;
    for (; text->n; text->p++, text->n--) {
        char c = text->p[0];
        if (c == '/')
            ret->len = 0;
        else if (is_program_char(c))
            buf_add_char(ret, c);
        else if (!strchr("'\"\\", c) && ret->len)
            return true;
    }
    return ret->len > 0;
}

/* `-Ogit` of an option whose value is attached. */
static bool ends_as_program(struct str text)
{
    if (text.n < 3 || text.p[0] != '-' || text.p[1] == '-')
        return false;
    for (size_t i = text.n > PROGRAM_NAME_LONG ? text.n - PROGRAM_NAME_LONG : 2; i < text.n; i++) {
        if (program_find((struct str){text.p + i, text.n - i}))
            return true;
    }
    return false;
}

static bool names_some(const struct shell_word *words, size_t count)
{
    BUF_AT_END struct buf name = BUF_INIT(SHELL_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        struct str rest = words[i].text;
        while (take_program_name(&rest, &name)) {
            const char *dash = memchr(name.data, '-', name.len);
            size_t n = dash ? (size_t)(dash - name.data) : name.len;
            if (program_find(buf_str(&name)) || program_find((struct str){name.data, n}) ||
                ends_as_program(buf_str(&name)))
                return true;
        }
    }
    return false;
}

static bool is_python(const struct command_view *view)
{
    char room[COMMAND_NAME_MAX];
    return program_is_python(command_name(&view->words[0], room));
}

bool command_names_any(const struct command_view *view)
{
    for (size_t i = 1; i < view->n && is_python(view); i++) {
        if (program_find(program_module(view->words[i].text)))
            return true;
    }
    return names_some(view->words + 1, view->n - 1);
}

bool command_names_assigned(const struct command_view *view)
{
    return names_some(view->assigned, view->n_assigned);
}

static void add_word_names(const struct command_view *view, const struct shell_word *word,
                           struct buf *names)
{
    BUF_AT_END struct buf name = BUF_INIT(SHELL_TEXT_MAX);
    struct str rest = word->text;
    while (take_program_name(&rest, &name)) {
        buf_add(names, name.data, name.len);
        buf_add_char(names, ' ');
    }
    if (!word_is_fixed(view, word))
        buf_add_text(names, "* ");
}

char *command_names_read(const struct command_view *view)
{
    BUF_AT_END struct buf names = BUF_INIT((size_t)4 * SHELL_TEXT_MAX);
    buf_add_char(&names, ' ');
    for (size_t i = 0; i < view->n_assigned; i++)
        add_word_names(view, &view->assigned[i], &names);
    bool python = is_python(view);
    for (size_t i = 1; i < view->n; i++) {
        struct str module = python ? program_module(view->words[i].text) : (struct str){0};
        if (module.n && buf_add(&names, module.p, module.n) == 0)
            buf_add_char(&names, ' ');
        add_word_names(view, &view->words[i], &names);
    }
    if (view->more_words)
        buf_add_text(&names, "* ");
    return mem_copy(buf_str(&names).p, buf_str(&names).n);
}

/* Whether one of the names is the program: as it is, as a script of that name, or attached to an option. */
static bool names_wanted_program(struct str name, const struct program_wanted *program)
{
    if (program_is_wanted(program, name))
        return true;
    if (name.n < 3 || name.p[0] != '-' || name.p[1] == '-')
        return false;
    for (size_t i = name.n > PROGRAM_NAME_LONG ? name.n - PROGRAM_NAME_LONG : 2; i < name.n; i++) {
        if (program_is_wanted(program, (struct str){name.p + i, name.n - i}))
            return true;
    }
    return false;
}

static const char *behind_options(const char *names)
{
    while (names[0] == ' ' && names[1] == '-')
        names += 1 + strcspn(names + 1, " ");
    return names;
}

static bool begins_with_alias(const char *program, const char *names)
{
    if (!names[0] || !names[1])
        return false;
    struct str first = {names + 1, strcspn(names + 1, " ")};
    return program_may_be_alias(str_of(program), first);
}

static bool may_be_last(const char *program, struct str name, const char *last)
{
    FREE_AT_END char *text = mem_copy(name.p, name.n);
    return strcmp(text, "*") == 0 || strcmp(text, "?") == 0 || strcmp(text, last) == 0 ||
           (*program && !program_has_targets(program_find(str_of(program))) &&
            subcommand_may_be(program, text, last));
}

static bool holds_last(const char *program, const char *names, const char *last)
{
    for (const char *at = names; *(at += strspn(at, " "));) {
        struct str name = {at, strcspn(at, " ")};
        if (may_be_last(program, name, last))
            return true;
        at += name.n;
    }
    return false;
}

bool command_names_hold(const char *names, const char *program, const char *subcommand)
{
    const char *blank = strrchr(subcommand, ' ');
    const char *last = blank ? blank + 1 : subcommand;
    FREE_AT_END char *dashed = mem_format(" %s-%s ", program, last);
    if (*last && strstr(names, dashed))
        return true;
    if (!*program)
        return holds_last(program, names, last);
    struct program_wanted wanted;
    program_want(&wanted, str_of(program));
    const char *first = NULL; /* word behind the program that is no option: it may be an alias */
    for (const char *at = names; *(at += strspn(at, " "));) {
        struct str name = {at, strcspn(at, " ")};
        at += name.n;
        /* Another one before the word that comes next is followed by the same. */
        if ((first && at <= first) || !names_wanted_program(name, &wanted))
            continue;
        /* What is behind a later one is behind this one, too. */
        if (!first && (!*last || holds_last(program, at, last)))
            return true;
        first = behind_options(at);
        if (begins_with_alias(program, first))
            return true;
    }
    return false;
}
