#include "policy/command_walk.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "core/path.h"

struct walk {
    const struct command_visitor *visitor;
    void *self;
    struct err *err;
    unsigned depth;
};

/* What surrounds a text for a shell. */
struct outside {
    bool unsure;
    struct str replaced; /* command_view.replaced */
};

static int walk_shell_text(struct walk *walk, struct str text, struct outside outside);
static int walk_command(struct walk *walk, struct command_view view);

/* The length of one expansion as shell_read writes it, 0 if there is none here. */
static size_t expansion_length(struct str text)
{
    static const char *const fixed[] = {"$(())", "$()", "<()"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        size_t n = strlen(fixed[i]);
        if (text.n >= n && memcmp(text.p, fixed[i], n) == 0)
            return n;
    }
    if (text.n < 2 || text.p[0] != '$')
        return 0;
    if (text.p[1] == '{') {
        const char *end = memchr(text.p, '}', text.n);
        return end ? (size_t)(end - text.p) + 1 : 0;
    }
    if (strchr("@*#?-$!0123456789", text.p[1]))
        return 2;
    size_t n = 1;
    while (n < text.n && (text.p[n] == '_' || (text.p[n] >= '0' && text.p[n] <= '9') ||
                          ((text.p[n] | 32) >= 'a' && (text.p[n] | 32) <= 'z')))
        n++;
    return n > 1 ? n : 0;
}

struct str command_name(const struct shell_word *word, char room[COMMAND_NAME_MAX])
{
    struct str text = path_name_of(word->text);
    if (!(word->flags & SHELL_EXPANDS))
        return text;
    size_t n = 0;
    while (text.n && n < COMMAND_NAME_MAX) {
        size_t skip = expansion_length(text);
        if (skip == 0)
            room[n++] = text.p[0];
        text.p += skip ? skip : 1;
        text.n -= skip ? skip : 1;
    }
    return (struct str){room, n};
}

bool command_word_is_open(const struct shell_word *word)
{
    bool letters = false;
    struct str text = word->text;
    while (text.n) {
        size_t skip = expansion_length(text);
        letters |= skip == 0 && isalpha((unsigned char)text.p[0]);
        text.p += skip ? skip : 1;
        text.n -= skip ? skip : 1;
    }
    return !shell_word_known(word) && !letters;
}

static int too_deep(struct walk *walk)
{
    err_set(walk->err, ERR_COMMAND_BLOCKED,
            "the command is refused by the rule nesting: commands start others more than %d deep; "
            "run the inner one by itself",
            SHELL_NESTING_MAX);
    return err_reason(walk->err, "nesting");
}

static int walk_joined(struct walk *walk, struct str lead, const struct shell_word *words, size_t n,
                       struct outside outside)
{
    BUF_AT_END struct buf text = BUF_INIT((size_t)4 * SHELL_TEXT_MAX);
    buf_add(&text, lead.p ? lead.p : "", lead.n);
    for (size_t i = 0; i < n; i++) {
        if (text.len)
            buf_add_char(&text, ' ');
        buf_add(&text, words[i].text.p, words[i].text.n);
    }
    if (text.failed)
        return too_deep(walk);
    return walk_shell_text(walk, buf_str(&text), outside);
}

static bool is_exec(struct str word)
{
    return command_in_list(" -exec -execdir -ok -okdir ", word);
}

bool command_find_takes_plus(struct str word)
{
    return command_in_list(" -exec -execdir ", word);
}

/* The words behind -exec, which is the first one, up to its `;`, or the `+` behind `{}`. */
static size_t exec_length(const struct shell_word *words, size_t n)
{
    bool plus = command_find_takes_plus(words[0].text);
    for (size_t i = 1; i < n; i++) {
        if (command_is(words[i].text, ";") ||
            (plus && command_is(words[i].text, "+") && command_is(words[i - 1].text, "{}")))
            return i - 1;
    }
    return n - 1;
}

static int walk_find(struct walk *walk, const struct command_view *view)
{
    static const struct shell_word here = {.text = STR_INIT(".")};
    struct command_view inner = {.found = &here, .n_found = 1, .unsure = view->unsure};
    size_t i = 1;
    while (i < view->n && command_in_list(" -H -L -P ", view->words[i].text))
        i++;
    size_t from = i;
    while (i < view->n && view->words[i].text.n && !strchr("-(!", view->words[i].text.p[0]))
        i++;
    if (i > from) {
        inner.found = view->words + from;
        inner.n_found = i - from;
    }
    for (; i < view->n; i++) {
        if (!is_exec(view->words[i].text))
            continue;
        inner.words = view->words + i + 1;
        inner.n = exec_length(view->words + i, view->n - i);
        if (inner.n && walk_command(walk, inner) < 0)
            return -1;
        i += inner.n;
    }
    return 0;
}

/* What stands behind the last -exec may come from xargs: then it is not known at all. */
static bool find_starts_others(const struct command_view *view)
{
    for (size_t i = 1; i + 1 < view->n; i++) {
        if (is_exec(view->words[i].text))
            return true;
    }
    return false;
}

static bool are_words_known(const struct shell_word *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!shell_word_known(&words[i]))
            return false;
    }
    return true;
}

/* Whether what it starts may be something else than what is read from its words. One of them may become several or an
 * option, and with a folder it is a program that only has the name. */
static bool may_start_others(const struct command_wrap *wrap, const struct command_view *view,
                             const struct command_inner *inner)
{
    struct str name = view->words[0].text;
    if (inner->unsure || !shell_word_known(&view->words[0]) ||
        (name.n && memchr(name.p, '/', name.n)))
        return true;
    if (wrap->kind == WRAP_FIND)
        return view->more_words || !are_words_known(view->words, view->n);
    return !are_words_known(view->words, inner->at < view->n ? inner->at : view->n);
}

/* Words that a shell reads once more, after it has put in what they stand for: the name of a file can then be the
 * end of one command and the beginning of the next. */
static bool is_unsure(const struct shell_word *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool home = words[i].text.n && words[i].text.p[0] == '~' &&
                    !(words[i].flags & SHELL_QUOTED);
        if (!shell_word_known(&words[i]) || home)
            return true;
    }
    return false;
}

/* A program of which nothing is known. */
static int visit_any(struct walk *walk)
{
    static const struct shell_word any = {.text = STR_INIT(""), .flags = SHELL_EXPANDS};
    const struct command_view view = {.words = &any, .n = 1, .unsure = true};
    return walk->visitor->command(walk->self, &view, walk->err);
}

static struct outside outside_of(const struct command_view *view, bool unsure)
{
    return (struct outside){view->unsure || unsure, view->replaced};
}

/* What it starts comes from xargs. */
static bool is_begun(const struct command_wrap *wrap, const struct command_view *view)
{
    if (!view->more_words || wrap->more_words)
        return false;
    return wrap->kind != WRAP_FIND || is_exec(view->words[view->n - 1].text);
}

static int walk_inner(struct walk *walk, const struct command_wrap *wrap,
                      const struct command_view *view, struct command_inner inner)
{
    const struct shell_word *words = view->words + inner.at;
    size_t n = view->n - inner.at;
    if (walk->depth == SHELL_NESTING_MAX)
        return too_deep(walk);
    if (inner.foreign && visit_any(walk) < 0)
        return -1;
    walk->depth++;
    int done;
    if (wrap->kind == WRAP_FIND)
        done = walk_find(walk, view);
    else if (wrap->kind == WRAP_SHELL || wrap->kind == WRAP_FIRST)
        done = walk_shell_text(walk, words[0].text, outside_of(view, is_unsure(words, 1)));
    else
        done = walk_joined(walk, inner.text, words, n,
                           outside_of(view, inner.text.p || is_unsure(words, n)));
    walk->depth--;
    return done;
}

/* What xargs puts its words in place of: the value of `-I`; `-i` and `--replace` have one of their own. */
static void note_replaced_text(const struct command_wrap *wrap, struct command_view *view, size_t n)
{
    for (size_t i = 1; wrap->replaces && i < n; i++) {
        struct str word = view->words[i].text;
        if (word.n < 2 || word.p[0] != '-')
            continue;
        bool attached = word.n > 2 && word.p[1] != '-';
        if (word.p[1] == 'I' && (attached || i + 1 < n))
            view->replaced = attached ? (struct str){word.p + 2, word.n - 2}
                                      : view->words[i + 1].text;
        else if (word.p[1] == 'i' && attached)
            view->replaced = (struct str){word.p + 2, word.n - 2};
        else if (word.p[1] == 'i' || word.p[1] == '-')
            view->replaced = view->replaced.n ? view->replaced : STR("{}");
    }
}

/* Programs that only put themselves before another are taken off in a loop, the others in walk_inner. */
static int walk_command(struct walk *walk, struct command_view view)
{
    for (;;) {
        char room[COMMAND_NAME_MAX];
        const struct command_wrap *wrap = command_wrap_find(command_name(&view.words[0], room));
        struct command_inner inner = {.at = view.n};
        if (wrap && wrap->kind == WRAP_FIND)
            inner.at = find_starts_others(&view) ? 0 : view.n;
        else if (wrap)
            inner = command_wrap_inner(wrap, &view);
        view.wraps = inner.at < view.n || inner.text.p;
        view.unsure |= wrap && may_start_others(wrap, &view, &inner);
        if (walk->visitor->command(walk->self, &view, walk->err) < 0)
            return -1;
        if (!wrap || !view.wraps)
            return wrap && is_begun(wrap, &view) ? visit_any(walk) : 0;
        if (wrap->kind != WRAP_PREFIX || inner.text.p)
            return walk_inner(walk, wrap, &view, inner);
        view.unsure |= wrap->assigns;
        if (wrap->assigns) {
            view.assigned = view.words;
            view.n_assigned = inner.at;
        }
        view.more_words |= wrap->more_words;
        note_replaced_text(wrap, &view, inner.at);
        view.words += inner.at;
        view.n -= inner.at;
    }
}

static int walk_shell_text(struct walk *walk, struct str text, struct outside outside)
{
    /* Variables that are set by themselves may be exported. */
    static const struct shell_word nothing = {.text = STR_INIT(":")};
    SHELL_AT_END struct shell_script script = {0};
    if (shell_read(text, &script, walk->err) < 0)
        return -1;
    if (walk->visitor->script && walk->visitor->script(walk->self, &script, walk->err) < 0)
        return -1;
    for (size_t i = 0; i < script.n; i++) {
        const struct shell_command *command = &script.commands[i];
        bool alone = command->n == command->assigns;
        struct command_view view = {
            .words = alone ? &nothing : command->words + command->assigns,
            .n = alone ? 1 : command->n - command->assigns,
            .unsure = outside.unsure || command->assigns,
            .replaced = outside.replaced,
            .text = text,
            .assigned = command->words,
            .n_assigned = command->assigns,
        };
        if (walk_command(walk, view) < 0)
            return -1;
    }
    return 0;
}

int command_walk(struct str text, const struct command_visitor *visitor, void *self,
                 struct err *err)
{
    struct walk walk = {.visitor = visitor, .self = self, .err = err};
    return walk_shell_text(&walk, text, (struct outside){0});
}
