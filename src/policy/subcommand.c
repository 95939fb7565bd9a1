#include "policy/subcommand_parts.h"

#include <string.h>

#include "policy/program_names.h"

static const struct program programs[] = {
    {" git ",
     " -C -c --git-dir --work-tree --namespace --super-prefix --attr-source --config-env --list-cmds ",
     " bisect config notes reflog remote stash submodule worktree ",
     " -P --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
     "--icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice ",
     " -C ", .acts = " rebase "},
    {" make gmake ",
     " -C -f -I -o -W --directory --file --makefile --include-dir --old-file --assume-old --what-if "
     "--new-file --assume-new ",
     NULL, " -j -j1 -j2 -j4 -j8 -j16 -k -s -B -n --silent --keep-going ", " -C --directory ",
     HAS_TARGETS | HAS_ASSIGNS},
    {" npm ", " -C --prefix -w --workspace ", " c config exec pkg run run-script rum urn ",
     " -s --silent ", " -C --prefix ", CUTS_ENDS | RUNS_SCRIPTS},
    {" apt apt-get aptitude ",
     " -o --option -c --config-file -t --target-release --default-release -a --host-architecture ",
     NULL, " -y -q -qq -qqy -yqq --yes --quiet ", NULL, SIGNED_WORDS},
    {" aws ",
     " --profile --region --output --endpoint-url --query --color --cli-read-timeout "
     "--cli-connect-timeout --ca-bundle ",
     "*"},
    {" brew ", NULL, " services "},
    {" bun ", " --cwd ", " run pm ", NULL, " --cwd ", RUNS_SCRIPTS},
    {" bundle bundler ", NULL, " exec config ", NULL, NULL, CUTS_ENDS, .alone = "install"},
    {" cargo ", " --config -C -Z --color ", NULL, " -q -v --locked --offline --frozen ", NULL,
     BEGINS_AT_PLUS},
    {" composer ", " -d --working-dir ", NULL, NULL, " -d --working-dir ", CUTS_ENDS | RUNS_SCRIPTS,
     .through = " global "},
    {" conda mamba micromamba ", " -n --name -p --prefix ", " env config run "},
    {" coverage ", NULL, NULL},
    {" deno ", NULL, " task "},
    {" docker podman nerdctl ",
     " -c --context -H --host -l --log-level --config -n --namespace -a --address ",
     " builder buildx checkpoint compose config container context image machine manifest network node "
     "plugin pod secret service stack swarm system trust volume ",
     NULL, NULL, HAS_GROUPS, .acts = " push "},
    {" dotnet ", NULL, " tool nuget ", .through = " watch "},
    {" gh ", " -R --repo ", "*"},
    {" go ", " -C ", " mod tool work ", NULL, " -C "},
    {" gradle gradlew ",
     " -p --project-dir -x --exclude-task --tests --console --max-workers --warning-mode ", NULL,
     NULL, " -p --project-dir ", HAS_TARGETS | HAS_PARTS | CUTS_HUMPS},
    {" golangci-lint ", NULL, NULL, " -v "},
    {" gem ", NULL, NULL, NULL, NULL, CUTS_ENDS},
    {" helm ", " -n --namespace --kube-context --kubeconfig ", " repo ", .acts = " install "},
    {" hg chg ", " -R --repository --cwd --config --color --encoding --encodingmode ", NULL,
     " -q -v -y --noninteractive ", NULL, CUTS_ENDS},
    {" just ", " -f --justfile -d --working-directory ", NULL, NULL, NULL,
     HAS_TARGETS | HAS_ASSIGNS | HAS_PARTS},
    {" kubectl oc ", " -n --namespace --context --kubeconfig ", " config rollout "},
    {" lerna nx ", NULL, " exec "},
    {" meson ", NULL, NULL},
    {" mvn mvnw mvnd ",
     " -f --file -s --settings -P --activate-profiles -pl --projects -rf --resume-from -T --threads ",
     NULL, " -B -q -o -U --batch-mode --offline ", NULL, HAS_TARGETS | HAS_PARTS},
    {" ninja samu ", " -C -f -j -k -l -d -t -w ", NULL, " -v -n ", " -C ", HAS_TARGETS},
    {" ant sbt ", NULL, NULL, NULL, NULL, HAS_TARGETS | HAS_PARTS},
    {" scons task ", NULL, NULL, NULL, NULL, HAS_TARGETS | HAS_ASSIGNS | HAS_PARTS},
    {" npx pnpx bunx uvx ", " -p --package --from --with ", NULL,
     " -y --yes --no --no-install --bun "},
    {" pip pip3 ", NULL, " config "},
    {" pipx ", NULL, " run "},
    {" playwright ", NULL, NULL},
    {" pnpm ", " -C --dir --filter -F ", " exec run run-script ", NULL, " -C --dir ", RUNS_SCRIPTS,
     .through = " recursive multi m "},
    {" poetry pdm hatch pipenv ", " -C --directory -p --project -e --env ", " env run ",
     " -n --no-interaction ", " -C --directory "},
    {" pre-commit ", NULL, NULL},
    {" rustup ", NULL, " component target toolchain run ", NULL, NULL, BEGINS_AT_PLUS | HAS_GROUPS},
    {" svn ", NULL, NULL},
    {" systemctl ", NULL, NULL},
    {" terraform tofu terragrunt ", NULL, " state workspace ",
     .through = " run-all run stack exec ", .acts = " destroy "},
    {" tox ",
     " -e --env -c --conf -x --override -f --workdir --root --runner -m --labels --discover "
     "--result-json -k ",
     " exec ", " -q -v -r --recreate --notest ", NULL, ENDS_AT_DASHES, .alone = "run"},
    {" uv ", " --directory --project ", " pip run tool ", NULL, " --directory --project "},
    {" yarn yarnpkg ", " --cwd ", " run workspace ", NULL, " --cwd ", RUNS_SCRIPTS,
     .through = " workspace workspaces npm global ", .alone = "install"},
};

static const struct program *find_named(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(programs) && name.n; i++) {
        if (command_in_list(programs[i].names, name))
            return &programs[i];
    }
    return NULL;
}

const struct program *program_find(struct str name)
{
    char room[PROGRAM_NAME_ROOM];
    const struct program *found = find_named(name);
    return found || !program_may_be_other(name) ? found
                                                : find_named(program_plain_name(name, room));
}

bool program_has_targets(const struct program *program)
{
    return program && program->rules & HAS_TARGETS;
}

bool program_has_groups(const struct program *program)
{
    return program && program->rules & HAS_GROUPS;
}

static bool goes_deeper(const struct program *program, struct str first)
{
    return program->deeper &&
           (program->deeper[0] == '*' || command_in_list(program->deeper, first));
}

unsigned program_words_max(const struct program *program, struct str first)
{
    return !program ? 0 : goes_deeper(program, first) ? 2 : 1;
}

/* --- options */

/* An option that is not known may take the next word, and that would not be what it does then. */
static bool is_flag(const struct program *program, struct str option)
{
    return command_in_list(program->flags, option) ||
           command_in_list(" --help --quiet --verbose --version ", option);
}

/* `+nightly` of cargo. */
static bool begins_plus(struct str word)
{
    return word.n >= 2 && word.p[0] == '+';
}

/* An option before the subcommand. How many words it has. */
static size_t note_option(const struct command_view *view, const struct program *program, size_t i,
                          struct subcommand *ret)
{
    struct str word = view->words[i].text;
    const char *equals = memchr(word.p, '=', word.n);
    struct str name = {word.p, equals ? (size_t)(equals - word.p) : word.n};
    bool value = command_in_list(program->values, name);
    if (begins_plus(word)) {
        ret->sure &= word_is_fixed(view, &view->words[i]);
        ret->exact = false;
        return 1;
    }
    bool fixed = word_is_fixed(view, &view->words[i]) &&
                 (!value || equals || i + 1 >= view->n || word_is_fixed(view, &view->words[i + 1]));
    bool flag = is_flag(program, word);
    ret->sure &= fixed && (flag || value);
    ret->exact &= fixed && (flag || command_in_list(program->folders, name));
    return value && !equals ? 2 : 1;
}

static bool begins_option(struct str word)
{
    return word.n >= 2 && word.p[0] == '-';
}

/* --- subcommands */

/* Goes to the next word that is no option. */
static size_t skip_leading_options(const struct command_view *view, const struct program *program,
                                   size_t i, struct subcommand *ret)
{
    while (i < view->n && (begins_option(view->words[i].text) ||
                           (program->rules & BEGINS_AT_PLUS && begins_plus(view->words[i].text)))) {
        if (program->rules & ENDS_AT_DASHES && command_is(view->words[i].text, "--"))
            return view->n;
        i += note_option(view, program, i, ret);
    }
    return i < view->n ? i : view->n;
}

void subcommand_read(const struct command_view *view, const struct program *program,
                     struct subcommand *ret)
{
    size_t i = 0;
    bool deeper = true;
    for (unsigned words = 0; words < 2 && deeper; words++) {
        struct subcommand before = *ret;
        i = skip_leading_options(view, program, i + 1, ret);
        if (i == view->n) {
            /* Options with no word behind them leave nothing open. */
            ret->sure = before.sure && !view->more_words;
            ret->exact = before.exact && !view->more_words;
            return;
        }
        const struct shell_word *word = &view->words[i];
        /* With a blank in it, it would look like two. */
        bool blank = word->text.n && memchr(word->text.p, ' ', word->text.n);
        if (!word_is_fixed(view, word) || blank) {
            ret->exact = ret->sure = false;
            return;
        }
        if (ret->text.len)
            buf_add_char(&ret->text, ' ');
        else
            ret->at = i;
        ret->last = i;
        buf_add(&ret->text, word->text.p, word->text.n);
        deeper = goes_deeper(program, word->text);
    }
}

/* --- words behind it that may be another one */

static bool acts(const struct program *program, struct str word)
{
    struct str name = word;
    while (name.n && name.p[0] == '-') {
        name.p++;
        name.n--;
    }
    const char *equals = name.n ? memchr(name.p, '=', name.n) : NULL;
    name.n = equals ? (size_t)(equals - name.p) : name.n;
    return command_in_list(program->acts, name);
}

/* `docker build --output type=registry` pushes what it has built, as `--push` does. */
static bool writes_to_registry(struct str word)
{
    return word.n &&
           (memmem(word.p, word.n, "type=registry", 13) || memmem(word.p, word.n, "push=true", 9));
}

static bool is_signed(struct str word)
{
    return word.n > 1 && word.p[0] != '-' && strchr("+-", word.p[word.n - 1]);
}

bool subcommand_goes_on(const struct command_view *view, const struct program *program,
                        const struct subcommand *sub)
{
    if (!program || (!program->through && !program->acts && !(program->rules & SIGNED_WORDS)))
        return false;
    if (sub->at < view->n && command_in_list(program->through, view->words[sub->at].text))
        return true;
    for (size_t i = sub->at + 1; i < view->n; i++) {
        struct str word = view->words[i].text;
        if (acts(program, word) ||
            (program->rules & HAS_GROUPS && program->acts && writes_to_registry(word)) ||
            (program->rules & SIGNED_WORDS && is_signed(word)))
            return true;
    }
    return false;
}

void subcommand_add_later(const struct command_view *view, const struct program *program, size_t i,
                          struct buf *out)
{
    struct str word = view->words[i].text;
    bool any = !word_is_fixed(view, &view->words[i]) ||
               (program && program->rules & HAS_GROUPS && program->acts &&
                writes_to_registry(word)) ||
               (program && program->rules & SIGNED_WORDS && is_signed(word));
    while (program && acts(program, word) && word.p[0] == '-') {
        word.p++;
        word.n--;
    }
    const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
    if (equals && program && acts(program, word))
        word.n = (size_t)(equals - word.p);
    if (any)
        buf_add_text(out, "* ");
    else if (word.n && word.p[0] != '-') {
        buf_add(out, word.p, word.n);
        buf_add_char(out, ' ');
    }
}

/* --- targets */

/* `./deploy` and `x/../deploy` are `deploy` to some programs. */
static bool is_roundabout(struct str word)
{
    return word.n && (memmem(word.p, word.n, "./", 2) || memmem(word.p, word.n, "//", 2));
}

static void add_target(const struct command_view *view, const struct program *program, size_t i,
                       struct targets *ret)
{
    struct str word = view->words[i].text;
    if (!word_is_fixed(view, &view->words[i]) || is_roundabout(word) || ret->n == TARGETS_MAX)
        ret->open = true;
    else if (!(program->rules & HAS_ASSIGNS) || !word.n || !memchr(word.p, '=', word.n))
        ret->at[ret->n++] = i;
}

void targets_read(const struct command_view *view, const struct program *program,
                  struct targets *ret)
{
    struct subcommand options = {.sure = true, .exact = true};
    bool closed = false;
    *ret = (struct targets){.open = view->more_words, .exact = true};
    for (size_t i = 1; i < view->n;) {
        struct str word = view->words[i].text;
        if (closed || !begins_option(word)) {
            add_target(view, program, i++, ret);
            continue;
        }
        closed = command_is(word, "--");
        size_t used = note_option(view, program, i, &options);
        /* A value that may be several words, or none, leaves open what follows. */
        for (size_t k = i; k < i + used && k < view->n; k++)
            ret->open |= !word_is_fixed(view, &view->words[k]);
        if (ret->n == 0)
            ret->exact = options.exact;
        i += used;
    }
}
