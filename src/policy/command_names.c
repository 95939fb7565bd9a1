#include "policy/command_names.h"

#include <string.h>

#include "base/mem.h"
#include "policy/program_options.h"
#include "policy/shell_words.h"
#include "policy/subcommand.h"

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_.+-", c));
}

/* Takes the next name from a text. Quotes and escapes join what stands on both sides, as they do for a shell; of a path the
 * last part is left. */
static bool next_name(struct str *text, struct buf *ret)
{
    ret->len = 0;
    for (; text->n; text->p++, text->n--) {
        char c = text->p[0];
        if (c == '/')
            ret->len = 0;
        else if (is_name_char(c))
            buf_add_char(ret, c);
        else if (!strchr("'\"\\", c) && ret->len)
            return true;
    }
    return ret->len > 0;
}

bool command_names_any(const struct command_view *view)
{
    BUF_AT_END struct buf name = BUF_INIT(SHELL_TEXT_MAX);
    for (size_t i = 1; i < view->n; i++) {
        struct str rest = view->words[i].text;
        while (next_name(&rest, &name)) {
            const char *dash = memchr(name.data, '-', name.len);
            size_t n = dash ? (size_t)(dash - name.data) : name.len;
            if (program_find(buf_str(&name)) || program_find((struct str){name.data, n}))
                return true;
        }
    }
    return false;
}

char *command_names_read(const struct command_view *view)
{
    BUF_AT_END struct buf names = BUF_INIT((size_t)4 * SHELL_TEXT_MAX);
    BUF_AT_END struct buf name = BUF_INIT(SHELL_TEXT_MAX);
    buf_add_char(&names, ' ');
    for (size_t i = 1; i < view->n; i++) {
        struct str rest = view->words[i].text;
        while (next_name(&rest, &name)) {
            buf_add(&names, name.data, name.len);
            buf_add_char(&names, ' ');
        }
        if (!word_is_fixed(view, &view->words[i]))
            buf_add_text(&names, "* ");
    }
    if (view->more_words)
        buf_add_text(&names, "* ");
    return mem_copy(buf_str(&names).p, buf_str(&names).n);
}

/* The word is one of them. Points at the blank behind it. */
static const char *find_name(const char *names, const char *before, const char *word)
{
    FREE_AT_END char *wanted = mem_format(" %s%s ", before, word);
    const char *at = strstr(names, wanted);
    return at ? at + strlen(wanted) - 1 : NULL;
}

/* The first word behind it that is no option may be an alias. */
static bool begins_with_alias(const char *program, const char *names)
{
    while (names[0] == ' ' && names[1] == '-')
        names += 1 + strcspn(names + 1, " ");
    struct str first = {names + 1, strcspn(names + 1, " ")};
    return names[1] && program_may_be_alias((struct str){program, strlen(program)}, first);
}

bool command_names_hold(const char *names, const char *program, const char *subcommand)
{
    const char *blank = strrchr(subcommand, ' ');
    const char *last = blank ? blank + 1 : subcommand;
    FREE_AT_END char *dashed = mem_format("%s-", program);
    if (*last && find_name(names, dashed, last))
        return true;
    const char *rest = *program ? find_name(names, "", program) : names;
    if (!rest)
        return false;
    return !*last || find_name(rest, "", last) || find_name(rest, "", "*") ||
           (*program && begins_with_alias(program, rest));
}
