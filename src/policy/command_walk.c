#include "policy/command_walk.h"

#include <string.h>

#include "base/buf.h"
#include "core/path.h"

struct walk {
    const struct command_visitor *visitor;
    void *self;
    struct err *err;
    unsigned depth;
};

static int walk_shell_text(struct walk *walk, struct str text, bool unsure);
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

static int too_deep(struct walk *walk)
{
    err_set(walk->err, ERR_COMMAND_BLOCKED,
            "the command is refused by the rule nesting: commands start others more than %d deep; "
            "run the inner one by itself",
            SHELL_NESTING_MAX);
    return err_reason(walk->err, "nesting");
}

static int walk_joined(struct walk *walk, struct str lead, const struct shell_word *words, size_t n,
                       bool unsure)
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
    return walk_shell_text(walk, buf_str(&text), unsure);
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
        done = walk_shell_text(walk, words[0].text, view->unsure || is_unsure(words, 1));
    else
        done = walk_joined(walk, inner.text, words, n,
                           view->unsure || inner.text.p || is_unsure(words, n));
    walk->depth--;
    return done;
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
            return 0;
        if (wrap->kind != WRAP_PREFIX || inner.text.p)
            return walk_inner(walk, wrap, &view, inner);
        view.unsure |= wrap->assigns;
        if (wrap->assigns) {
            view.assigned = view.words;
            view.n_assigned = inner.at;
        }
        view.more_words |= wrap->more_words;
        view.words += inner.at;
        view.n -= inner.at;
    }
}

static int walk_shell_text(struct walk *walk, struct str text, bool unsure)
{
    SHELL_AT_END struct shell_script script = {0};
    if (shell_read(text, &script, walk->err) < 0)
        return -1;
    if (walk->visitor->script && walk->visitor->script(walk->self, &script, walk->err) < 0)
        return -1;
    for (size_t i = 0; i < script.n; i++) {
        const struct shell_command *command = &script.commands[i];
        if (command->n == command->assigns)
            continue;
        struct command_view view = {
            .words = command->words + command->assigns,
            .n = command->n - command->assigns,
            .unsure = unsure || command->assigns,
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
    return walk_shell_text(&walk, text, false);
}
