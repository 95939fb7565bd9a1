#include "policy/program_places.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "core/shells.h"
#include "policy/program_names.h"
#include "policy/program_starts.h"
#include "policy/subcommand.h"

static bool is_open_at(const struct command_view *view, size_t i)
{
    return i < view->n ? !word_is_fixed(view, &view->words[i]) : view->more_words;
}

static bool is_open_from(const struct command_view *view, size_t i)
{
    for (; i < view->n; i++) {
        if (is_open_at(view, i))
            return true;
    }
    return view->more_words;
}

static bool begins_as_option(struct str word)
{
    return word.n > 1 && (word.p[0] == '-' || word.p[0] == '+');
}

/* --- variables of loops */

static bool is_name_byte(struct str text, size_t i)
{
    return i < text.n && (isalnum((unsigned char)text.p[i]) || text.p[i] == '_');
}

/* The words behind `in`: plain paths and patterns, none of which looks like an option. */
static bool list_is_of_paths(struct str text, size_t i)
{
    static const char of_paths[] = "_./*?+-";
    bool begins = true;
    for (; i < text.n && !strchr(";\n", text.p[i]); i++) {
        char c = text.p[i];
        if (c != ' ' && !isalnum((unsigned char)c) && !(c && strchr(of_paths, c)))
            return false;
        if (begins && c == '-')
            return false;
        begins = c == ' ';
    }
    return i < text.n;
}

/* What the name does where it stands in the text at `i`: 1 for a loop over paths, 0 for nothing, -1 for anything else. */
static int name_does(struct str text, size_t i, size_t n)
{
    static const char loop[] = "for ";
    size_t lead = sizeof loop - 1;
    char before = i ? text.p[i - 1] : ' ';
    char behind = i + n < text.n ? text.p[i + n] : ' ';
    if (i > 1 && before == '{' && text.p[i - 2] == '$')
        return behind == '}' ? 0 : -1;
    if (behind == '=' || behind == '+' || behind == '[')
        return -1;
    if (i >= lead && memcmp(text.p + i - lead, loop, lead) == 0) {
        size_t in = i + n;
        bool list = text.n - in > 4 && memcmp(text.p + in, " in ", 4) == 0;
        return list && list_is_of_paths(text, in + 4) ? 1 : -1;
    }
    return before == ' ' || before == '\t' || before == '\n' ? -1 : 0;
}

/* It is looked through for each use of a variable. In a longer one no loop is known. */
#define LOOP_TEXT_MAX 4096

static bool text_sets_otherwise(struct str text)
{
    static const char *const sets[] = {"read",    "mapfile", "printf", "getopts", "declare",
                                       "typeset", "local",   "eval",   "let",     "IFS"};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        if (text.n && memmem(text.p, text.n, sets[i], strlen(sets[i])))
            return true;
    }
    return false;
}

/* `for t in tests/?.sh; do sh $t; done`: each of them is one word, a path. */
static bool is_path_of_loop(const struct command_view *view, struct str word)
{
    struct str text = view->text;
    bool loop = false;
    if (word.n < 2 || word.p[0] != '$' || text.n == 0 || text.n > LOOP_TEXT_MAX ||
        text_sets_otherwise(text))
        return false;
    bool braces = word.p[1] == '{';
    size_t n = word.n - (braces ? 3 : 1);
    struct str name = {word.p + (braces ? 2 : 1), n};
    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, name.p, n) != 0 || is_name_byte(text, i + n) ||
            (i && is_name_byte(text, i - 1)))
            continue;
        int does = name_does(text, i, n);
        if (does < 0)
            return false;
        loop |= does > 0;
    }
    return loop;
}

/* `${x}` may have been written `${x[@]}`. */
static bool may_be_array(const struct command_view *view, struct str word)
{
    const char *end = word.n > 3 && word.p[0] == '$' && word.p[1] == '{'
                          ? memchr(word.p, '}', word.n)
                          : NULL;
    size_t n = end ? (size_t)(end - word.p) : 0;
    for (size_t i = 0; n && i + n < view->text.n; i++) {
        if (memcmp(view->text.p + i, word.p, n) == 0 && view->text.p[i + n] == '[')
            return true;
    }
    return false;
}

/* It begins like a path, or has `/` and letters in it (`$d/run.sh`). */
static bool is_path_in_parts(const struct shell_word *word)
{
    struct str text = word->text;
    if (text.n == 0)
        return false;
    bool begins = isalnum((unsigned char)text.p[0]) || strchr("./", text.p[0]);
    return begins || (memchr(text.p, '/', text.n) && !command_word_is_open(word));
}

/* A word that is known only when it runs and may then be several, or none. */
static bool may_split(const struct command_view *view, size_t i)
{
    if (!is_open_at(view, i))
        return false;
    const struct shell_word *word = &view->words[i];
    if (may_be_array(view, word->text) ||
        (word->text.n > 1 && word->text.p[0] == '$' && strchr("@*", word->text.p[1])))
        return true;
    if (is_path_in_parts(word))
        return false;
    if (word->flags & SHELL_SPLITS)
        return true;
    return !(word->flags & SHELL_QUOTED) && !is_path_of_loop(view, word->text);
}

/* --- scripts */

/* The first word that is no option or value of one, or an option that is known only when it runs. */
static size_t find_script_word(const struct command_view *view, const char *values)
{
    size_t i = 1;
    while (i < view->n && begins_as_option(view->words[i].text)) {
        struct str word = view->words[i].text;
        bool value = word.n == 2 && word.p[1] && strchr(values, word.p[1]);
        i += value || command_in_list(" --rcfile --init-file ", word) ? 2 : 1;
    }
    return i < view->n ? i : view->n;
}

/* Where the script should be there may be `-c` and commands: in a word that becomes several, or, for a shell, in two. */
static bool script_word_is_open(const struct command_view *view, const char *values, bool shell)
{
    size_t i = find_script_word(view, values);
    if (i == view->n)
        return false;
    return may_split(view, i) ||
           (shell && is_open_at(view, i) && is_open_from(view, i + 1) &&
            !is_path_in_parts(&view->words[i]) && !is_path_of_loop(view, view->words[i].text));
}

/* --- containers */

/* Of `exec` and `run`, with the next word as the value where it is not attached. */
static const char container_values[] =
    " -e -u -w -v -p -l -h -m -c -a --env --user --workdir --volume --publish --label --hostname --memory "
    "--name --network --net --mount --entrypoint --platform --pull --restart --env-file --detach-keys "
    "--index --cpus --shm-size --tmpfs --ulimit --add-host --expose --gpus --ip --cap-add --cap-drop "
    "--device --security-opt --volumes-from --log-driver --log-opt --stop-signal --userns -n --namespace "
    "--container --image --project-name -f --file --profile ";

/* Whether the program may be any, of the words behind `at`: options, a container or an image, the program, its words. */
static bool placed_is_open(const struct command_view *view, size_t at)
{
    size_t i = at + 1;
    while (i < view->n && begins_as_option(view->words[i].text)) {
        bool entry = str_begins(view->words[i].text, STR("--entrypoint"));
        if (entry && (is_open_at(view, i) || is_open_at(view, i + 1)))
            return true;
        i += command_in_list(container_values, view->words[i].text) ? 2 : 1;
    }
    if (i >= view->n)
        return view->more_words;
    if (i + 1 == view->n ? may_split(view, i) : is_open_at(view, i + 1))
        return true;
    char room[COMMAND_NAME_MAX];
    if (i + 1 >= view->n)
        return false;
    return (program_starts_again(command_name(&view->words[i + 1], room)) &&
            is_open_from(view, i + 2)) ||
           program_inner_open(view, i + 1);
}

static bool container_is_open(const struct command_view *view, bool closed)
{
    for (size_t i = 1; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (closed && command_is(word, "--"))
            return false;
    }
    for (size_t i = 1; i < view->n; i++) {
        if (command_in_list(closed ? " exec debug rsh " : " exec run create ", view->words[i].text))
            return placed_is_open(view, i);
    }
    return false;
}

/* --- parallel */

static bool any_is_option(const struct command_view *view, size_t from)
{
    for (size_t i = from; i < view->n; i++) {
        if (view->words[i].text.n && view->words[i].text.p[0] == '-')
            return true;
    }
    return false;
}

/* Where the program of `parallel` stands: behind its options, of which these take a value. */
bool program_of_input_open(const struct command_view *view)
{
    static const char values[] =
        " -j -P -n -N -I -a -S -C -d -E -L -s -D -i -e -k -t -r -R -v --joblog --results --tmpdir --colsep "
        "--delay --timeout --arg-file --jobs --max-args --max-procs --sshlogin --workdir --wd "
        "--delimiter --tagstring --load --memfree --nice --retries --block --env --basefile --return "
        "--halt --shellquote --recstart --recend --max-replace-args --sshloginfile --profile ";
    size_t i = 1;
    while (i < view->n && !is_open_at(view, i) && view->words[i].text.n &&
           view->words[i].text.p[0] == '-')
        i += command_in_list(values, view->words[i].text) ? 2 : 1;
    if (i >= view->n)
        return view->n > 1 &&
               !command_in_list(" --version --help --citation ", view->words[1].text);
    /* Without a program each argument is one. */
    struct str word = view->words[i].text;
    char room[COMMAND_NAME_MAX];
    struct str name = command_name(&view->words[i], room);
    if (program_starts_again(name) && (!shells_have(name) || any_is_option(view, i + 1)))
        return true;
    if (!is_open_at(view, i) && program_inner_open(view, i))
        return true;
    return is_open_at(view, i) || (word.n && word.p[0] == '{') || str_begins(word, STR(":::"));
}

/* --- find */

static bool takes_value(struct str word)
{
    static const char tests[] =
        " -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -newer -anewer "
        "-cnewer -newermt -newerat -newerct -samefile -type -xtype -size -mtime -atime -ctime -mmin -amin "
        "-cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -empty -fstype -used -context "
        "-printf -regextype -fprint -fprint0 -fls ";
    return command_in_list(tests, word);
}

/* Behind the first folder a word that is the value of no test may be `-exec`. What stands behind a written one is visited by
 * itself. */
static bool expression_is_open(const struct command_view *view)
{
    for (size_t i = 2; i < view->n; i++) {
        if (command_in_list(" -exec -execdir -ok -okdir ", view->words[i].text))
            return false;
        if (is_open_at(view, i) && !takes_value(view->words[i - 1].text) &&
            !is_path_of_loop(view, view->words[i].text))
            return true;
    }
    const struct shell_word *first = &view->words[view->n > 1];
    return first->text.n > 1 && first->text.p[0] == '$' && strchr("@*", first->text.p[1]);
}

/* Programs with a subcommand that starts another: a word in its place that becomes several may be all of it. */
static bool subcommand_is_open(const struct command_view *view, struct str plain)
{
    static const char programs[] =
        " npm pnpm yarn bun deno uv poetry pdm hatch pipenv pipx rye pixi conda bundle docker podman nerdctl kubectl ";
    size_t i = 1;
    while (i < view->n && begins_as_option(view->words[i].text))
        i++;
    return i < view->n && command_in_list(programs, plain) && may_split(view, i);
}

bool program_places_open(const struct program_use *use, struct str plain)
{
    const struct command_view *view = use->view;
    if (shells_have(plain))
        return script_word_is_open(view, "oO", true);
    if (command_in_list(" perl raku ruby php lua luajit node python pypy ts-node tsx ", plain))
        return script_word_is_open(view, "IWXCrdzK", false);
    if (command_in_list(
            " docker podman nerdctl docker-compose podman-compose buildah runc crun crictl ip ",
            plain) &&
        container_is_open(view, false))
        return true;
    if (command_in_list(" kubectl ", plain) && container_is_open(view, true))
        return true;
    if (command_in_list(" find ", plain))
        return expression_is_open(view);
    return subcommand_is_open(view, plain);
}

/* --- scripts and modules that are programs */

/* The word that is the script of an interpreter, or behind `-m` its module; the view's n: none. `*ret_from`: where in it. */
static size_t find_interpreted(const struct command_view *view, bool module, const char *values,
                               size_t *ret_from)
{
    *ret_from = 0;
    for (size_t i = 1; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (word.n < 2 || word.p[0] != '-')
            return i;
        for (size_t k = 1; word.p[1] != '-' && k < word.n; k++) {
            bool last = k + 1 == word.n;
            if (module && word.p[k] == 'm') {
                *ret_from = last ? 0 : k + 1;
                return last ? i + 1 : i;
            }
            if (!word.p[k] || !strchr(values, word.p[k]))
                continue;
            i += last;
            break;
        }
    }
    return view->n;
}

char *program_file_names(const struct command_view *view)
{
    char room[PROGRAM_NAME_ROOM];
    char other[COMMAND_NAME_MAX];
    size_t from;
    struct str plain = program_plain_name(command_name(&view->words[0], other), room);
    bool python = program_is_python(plain);
    bool others = command_in_list(" node bun deno corepack ruby php perl ", plain);
    if (!python && !others)
        return NULL;
    size_t at = find_interpreted(view, python, python ? "WXc" : "erpIMc", &from);
    if (at >= view->n || !word_is_fixed(view, &view->words[at]))
        return NULL;
    struct str word = view->words[at].text;
    word.p += from;
    word.n -= from;
    struct str package = program_package(word);
    struct str file = path_name_of(word);
    struct str module = python ? program_module(word) : (struct str){0};
    return mem_format(" %.*s %.*s %.*s ", (int)(file.n < 200 ? file.n : 0), file.n ? file.p : "",
                      (int)(package.n < 200 ? package.n : 0), package.n ? package.p : "",
                      (int)(module.n < 200 ? module.n : 0), module.n ? module.p : "");
}
