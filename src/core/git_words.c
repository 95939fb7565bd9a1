#include "core/git_words.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/git_words_parts.h"
#include "core/path.h"

#define NESTING_MAX 4
#define FOLDER_MAX 4096
#define LETTERS_MAX 8
/* Bytes of names, and folders, of one command. */
#define GIVEN_MAX ((size_t)4096)
#define ENTERED_MAX 16u

static void read_git_line(struct line *l);

void git_line_inner(struct line *l, struct str text)
{
    if (l->depth == NESTING_MAX) {
        l->unread = true;
        return;
    }
    FREE_AT_END char *copy = mem_copy(text.p, text.n);
    size_t max = l->text.max;
    struct line inner = {.fn = l->fn,
                         .arg = l->arg,
                         .at = copy,
                         .depth = l->depth + 1,
                         .text = BUF_INIT(max),
                         .pattern = BUF_INIT(max),
                         .folder = BUF_INIT(max),
                         .around = BUF_INIT(max),
                         .given = BUF_INIT(GIVEN_MAX)};
    inner.lost = l->lost;
    buf_add(&inner.folder, l->folder.data, l->folder.len);
    read_git_line(&inner);
    l->unread |= inner.unread;
    buf_done(&inner.text);
    buf_done(&inner.pattern);
    buf_done(&inner.folder);
    buf_done(&inner.around);
    buf_done(&inner.given);
}

/* With the folder that `cd` has gone to, or in the work tree. */
static void note_given(struct line *l, const char *text)
{
    size_t n = strlen(text) + 1;
    l->given_more |= l->given.len + n > GIVEN_MAX;
    if (!l->given_more && text[0] != '/')
        buf_add(&l->given, text, n);
}

static void tell_in(struct line *l, enum git_setting use, struct str folder, const char *text)
{
    if (folder.p == l->folder.data && use != GIT_SETTING_GLOB)
        note_given(l, text);
    /* What the option means is the program's to say. */
    if (folder.p == l->folder.data && l->entered) {
        FREE_AT_END char *other = mem_format("%.*s%s", (int)l->around.len,
                                             l->around.len ? l->around.data : "", text);
        l->fn(l->arg, use, other);
    }
    FREE_AT_END char *path = mem_format("%.*s%s", (int)folder.n, folder.p ? folder.p : "", text);
    l->fn(l->arg, use, path);
}

/* A word that is written like a path counts where there is no such file yet, too. */
static enum git_setting use_of(const char *text)
{
    return git_setting_is_path(text) ? GIT_SETTING_WORD : GIT_SETTING_FILE;
}

static const char *without_slashes(const char *text)
{
    return text + strspn(text, "/");
}

/* A word that may be a file, from the work tree on. */
static void tell_file(struct line *l, const char *text, const char *pattern)
{
    bool in_tree = l->prefix != PREFIX_NONE;
    bool absolute = !in_tree && text[0] == '/';
    struct str folder = in_tree    ? STR("./")
                        : absolute ? STR("")
                                   : (struct str){l->folder.data, l->folder.len};
    const char *path = in_tree ? without_slashes(text) : text;
    if (*path && !l->joined && !folder.n && !l->glob)
        note_given(l, path);
    if (!*path || (!l->joined && !folder.n))
        return;
    /* Files that a program is given are many, and are not run. */
    if (l->glob && l->place != PLACE_ARGUMENT)
        tell_in(l, GIT_SETTING_GLOB, folder, in_tree ? without_slashes(pattern) : pattern);
    else if (!l->glob)
        tell_in(l, in_tree ? GIT_SETTING_WORD : use_of(path), folder, path);
}

/* `python3 -m a.b` runs these, and those of the packages around it. */
static void tell_module(struct line *l, const char *name)
{
    static const char *const forms[] = {".py", "/__init__.py", "/__main__.py"};
    struct str folder = {l->folder.data, l->folder.len};
    FREE_AT_END char *path = mem_dup(name);
    for (char *at = path;; at++) {
        bool end = *at == '\0';
        if (*at != '.' && !end)
            continue;
        *at = '\0';
        for (size_t i = 0; *path && i < ARRAY_LEN(forms); i++) {
            FREE_AT_END char *file = mem_format("./%s%s", path, forms[i]);
            tell_in(l, GIT_SETTING_WORD, folder, file);
        }
        if (end)
            return;
        *at = '/';
    }
}

static void change_line_folder(struct line *l, const char *text)
{
    bool long_way = l->folder.len + strlen(text) > FOLDER_MAX;
    l->lost |= l->prefix == PREFIX_UNKNOWN || l->prefix == PREFIX_GIVEN || l->glob || long_way;
    if (long_way) {
        l->folder.len = 0;
        return;
    }
    if (l->prefix != PREFIX_NONE || text[0] == '/')
        l->folder.len = 0;
    if (l->prefix != PREFIX_NONE)
        text = without_slashes(text);
    buf_add_text(&l->folder, text);
    if (*text)
        buf_add_char(&l->folder, '/');
}

static bool is_among(const char *text, const char *const *words)
{
    return git_line_is_one_of((struct str){text, strlen(text)}, words);
}

/* What keeps the next word a program. */
static bool is_before_program(const char *text)
{
    static const char *const words[] = {"!",     "{",     "if",  "then", "else",    "elif",
                                        "while", "until", "do",  "exec", "command", "nohup",
                                        "time",  "eval",  "env", NULL};
    const char *equals = strchr(text, '=');
    return is_among(text, words) || (equals && strcspn(text, "/") > (size_t)(equals - text));
}

static bool runs_scripts(const char *text)
{
    static const char *const words[] = {".",    "source", "sh",   "bash", "dash",   "zsh", "ksh",
                                        "perl", "ruby",   "node", "php",  "python", NULL};
    const char *name = path_name(text);
    return is_among(name, words) || strncmp(name, "python", 6) == 0;
}

static void take_program(struct line *l, const char *text)
{
    static const char *const cd[] = {"cd", "chdir", "pushd", NULL};
    bool is_path = strchr(text, '/') != NULL;
    /* A program is searched for in PATH, unless it is written as a path. */
    if (is_path || l->prefix == PREFIX_TREE || l->place == PLACE_SCRIPT)
        tell_file(l, text, buf_text(&l->pattern));
    l->unread |= l->prefix == PREFIX_UNKNOWN ||
                 (l->lost && l->prefix == PREFIX_NONE && text[0] != '/' &&
                  (is_path || l->place == PLACE_SCRIPT));
    if (l->place == PLACE_SCRIPT || l->prefix != PREFIX_NONE || !is_before_program(text))
        l->place = l->place == PLACE_PROGRAM && runs_scripts(text) ? PLACE_SCRIPT : PLACE_ARGUMENT;
    if (is_among(text, cd))
        l->before = 'c';
}

/* Where a program goes to before it reads what it is given: `make -f x.mk -C sub`. */
static void enter_given_folder(struct line *l, const char *text)
{
    if (l->entered++ == 0) {
        l->around.len = 0;
        buf_add(&l->around, l->folder.data, l->folder.len);
    }
    change_line_folder(l, text);
    l->unread |= l->given_more || l->entered > ENTERED_MAX;
    for (size_t at = 0; at < l->given.len && l->entered <= ENTERED_MAX;
         at += strlen(l->given.data + at) + 1) {
        FREE_AT_END char *path = mem_format(
            "%.*s%s", (int)l->folder.len, l->folder.len ? l->folder.data : "", l->given.data + at);
        l->fn(l->arg, use_of(l->given.data + at), path);
    }
}

/* `--file=x` and `--directory=sub`. */
static void take_long_option(struct line *l, const char *text)
{
    static const char *const folders[] = {"--directory", "--chdir", "--cwd", NULL};
    struct str folder = {l->folder.data, l->folder.len};
    struct str name = {text, strcspn(text, "=")};
    if (git_line_is_one_of(name, folders) && !text[name.n])
        l->before = 'C';
    else if (git_line_is_one_of(name, folders))
        enter_given_folder(l, text + name.n + 1);
    else if (text[name.n] && text[name.n + 1])
        tell_in(l, use_of(text + name.n + 1), folder, text + name.n + 1);
}

/* Behind letters that stand together only the last has something attached. */
static void take_attached(struct line *l, const char *text)
{
    struct str folder = {l->folder.data, l->folder.len};
    for (size_t i = 2; text[i] && i <= LETTERS_MAX; i++)
        tell_in(l, i == 2 ? use_of(text + i) : GIT_SETTING_FILE, folder, text + i);
    if (text[1] == 'C')
        enter_given_folder(l, text + 2);
}

/* `-C` and `-m` belong to the next word; others may have a file behind the letter. */
static void take_option(struct line *l, const char *text)
{
    if (strcmp(text, "-C") == 0)
        l->before = 'C';
    else if (strcmp(text, "-m") == 0 && l->python)
        l->before = 'm';
    else if (strncmp(text, "-m", 2) == 0 && l->python)
        tell_module(l, text + 2);
    else if (text[1] == '-')
        take_long_option(l, text);
    else if (text[1] && text[2])
        take_attached(l, text);
    /* `-c` has the script itself behind it. */
    if (l->place == PLACE_SCRIPT && strchr(text, 'c'))
        l->place = PLACE_ARGUMENT;
}

static void take_line_word(struct line *l)
{
    const char *text = buf_text(&l->text);
    const char *slash = strrchr(text, '/');
    bool option = text[0] == '-' && l->prefix == PREFIX_NONE;
    char before = l->before;
    l->before = before == 'c' && option ? before : '\0';
    if (before == 'c' && option)
        return;
    if (before == 'c')
        change_line_folder(l, text);
    else if (before == 'C')
        enter_given_folder(l, text);
    else if (before == 'm' && !option)
        tell_module(l, text);
    else if (option)
        take_option(l, text);
    else if (l->place != PLACE_ARGUMENT)
        take_program(l, text);
    else if (l->prefix == PREFIX_NONE || slash)
        tell_file(l, text, buf_text(&l->pattern));
    l->python |= strncmp(slash ? slash + 1 : text, "py", 2) == 0;
    if (l->quoted && strpbrk(text, GIT_LINE_ENDS "`$\"'"))
        git_line_inner(l, buf_str(&l->text));
}

static void read_git_line(struct line *l)
{
    while (git_line_next(l)) {
        if (!buf_text(&l->text) || !buf_text(&l->pattern) || l->folder.failed) {
            l->unread = true;
            return;
        }
        take_line_word(l);
    }
}

/* What a shell would take apart, without a look at quotes and variables: that only ever makes more words of it than there
 * are. The first word of a command is searched for in PATH, so it is told only if it is written as a path. */
static void tell_pieces(const char *line, git_setting_fn fn, void *arg)
{
    static const char ends[] = " \t\n\b'\"`;|&()<>$={}!,";
    FREE_AT_END char *word = mem_zero(strlen(line) + 1);
    bool first = true;
    for (const char *at = line; *at;) {
        size_t length = strcspn(at, ends);
        memcpy(word, at, length);
        word[length] = '\0';
        if (length && (!first || git_setting_is_path(word)))
            fn(arg, GIT_SETTING_WORD, word);
        first = (first && !length) || (at[length] && strchr(";|&(`\n{", at[length]));
        at += length + (at[length] != '\0');
    }
}

bool git_words_each(const char *line, git_setting_fn fn, void *arg)
{
    size_t max = 8 * strlen(line) + 64;
    struct line l = {.fn = fn,
                     .arg = arg,
                     /* That of an alias or a helper which is not git's own. */
                     .at = line + (line[0] == '!'),
                     .text = BUF_INIT(max),
                     .pattern = BUF_INIT(max),
                     .folder = BUF_INIT(max),
                     .around = BUF_INIT(max),
                     .given = BUF_INIT(GIVEN_MAX)};
    tell_pieces(line, fn, arg);
    read_git_line(&l);
    buf_done(&l.text);
    buf_done(&l.pattern);
    buf_done(&l.folder);
    buf_done(&l.around);
    buf_done(&l.given);
    return !l.unread;
}
