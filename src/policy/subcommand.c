#include "policy/subcommand.h"

#include <ctype.h>
#include <string.h>

enum program_flag {
    HAS_TARGETS = 1, /* each word is one */
    HAS_ASSIGNS = 2, /* but for NAME=value */
    HAS_PARTS = 4, /* `:` and the like divide a target, and its last part alone may mean the same */
    CUTS_HUMPS = 8,    /* `dTF` is `deployToFoo` */
    CUTS_ENDS = 16,    /* `publ` is `publish` */
    RUNS_SCRIPTS = 32, /* `run x` may be written `x` */
    HAS_GROUPS = 64,   /* `image push` is `push` */
    ENDS_AT_DASHES = 128, /* behind `--` there is no subcommand */
};

/* Programs whose first word says what they do. Lists have a blank before and behind each word. */
struct program {
    const char *names;
    const char *values; /* options before it that take the next word */
    const char *deeper; /* first words that need a second; `*` for all */
    const char *flags;  /* options before it that do not, and change nothing about what it does */
    const char *
        folders; /* of `values`: they only choose where it works; program_options.c looks at them */
    unsigned rules;
};

static const struct program programs[] = {
    {" git ",
     " -C -c --git-dir --work-tree --namespace --super-prefix --attr-source --config-env --list-cmds ",
     " bisect config notes reflog remote stash submodule worktree ",
     " -P --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
     "--icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice ",
     " -C "},
    {" make gmake ",
     " -C -f -I -o -W --directory --file --makefile --include-dir --old-file --assume-old --what-if "
     "--new-file --assume-new ",
     NULL, " -j -j1 -j2 -j4 -j8 -j16 -k -s -B -n --silent --keep-going ", " -C --directory ",
     HAS_TARGETS | HAS_ASSIGNS},
    {" npm ", " -C --prefix -w --workspace ", " c config exec pkg run run-script rum urn ",
     " -s --silent ", " -C --prefix ", CUTS_ENDS | RUNS_SCRIPTS},
    {" apt apt-get ", NULL, NULL},
    {" aws ", " --profile --region --output --endpoint-url ", "*"},
    {" brew ", NULL, " services "},
    {" bun ", " --cwd ", " run pm ", NULL, " --cwd ", RUNS_SCRIPTS},
    {" bundle bundler ", NULL, " exec config "},
    {" cargo ", " --config -C -Z --color ", NULL, " -q -v --locked --offline --frozen "},
    {" composer ", " -d --working-dir ", NULL, NULL, " -d --working-dir "},
    {" conda mamba ", NULL, " env config run "},
    {" coverage ", NULL, NULL},
    {" deno ", NULL, " task "},
    {" docker podman nerdctl ",
     " -c --context -H --host -l --log-level --config -n --namespace -a --address ",
     " builder buildx compose config container context image network pod system volume ", NULL,
     NULL, HAS_GROUPS},
    {" dotnet ", NULL, " tool nuget "},
    {" gh ", " -R --repo ", "*"},
    {" go ", " -C ", " mod tool work ", NULL, " -C "},
    {" gradle gradlew ",
     " -p --project-dir -x --exclude-task --tests --console --max-workers --warning-mode ", NULL,
     NULL, " -p --project-dir ", HAS_TARGETS | HAS_PARTS | CUTS_HUMPS},
    {" golangci-lint ", NULL, NULL, " -v "},
    {" helm ", NULL, " repo "},
    {" hg ", " -R --repository --cwd ", NULL, " -q -v -y --noninteractive --pager "},
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
    {" pnpm ", " -C --dir --filter ", " exec run run-script ", NULL, " -C --dir ", RUNS_SCRIPTS},
    {" poetry pdm hatch pipenv ", " -C --directory -p --project -e --env ", " env run ",
     " -n --no-interaction ", " -C --directory "},
    {" pre-commit ", NULL, NULL},
    {" rustup ", NULL, " component target toolchain run "},
    {" svn ", NULL, NULL},
    {" systemctl ", NULL, NULL},
    {" terraform tofu ", NULL, " state workspace "},
    {" tox ",
     " -e --env -c --conf -x --override -f --workdir --root --runner -m --labels --discover "
     "--result-json -k ",
     " exec ", " -q -v -r --recreate --notest ", NULL, ENDS_AT_DASHES},
    {" uv ", " --directory --project ", " pip run tool ", NULL, " --directory --project "},
    {" yarn ", " --cwd ", " run workspace ", NULL, " --cwd ", RUNS_SCRIPTS},
};

const struct program *program_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(programs) && name.n; i++) {
        if (command_in_list(programs[i].names, name))
            return &programs[i];
    }
    return NULL;
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

/* An option before the subcommand. How many words it has. */
static size_t note_option(const struct command_view *view, const struct program *program, size_t i,
                          struct subcommand *ret)
{
    struct str word = view->words[i].text;
    const char *equals = memchr(word.p, '=', word.n);
    struct str name = {word.p, equals ? (size_t)(equals - word.p) : word.n};
    bool value = command_in_list(program->values, name);
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
static size_t skip_options(const struct command_view *view, const struct program *program, size_t i,
                           struct subcommand *ret)
{
    while (i < view->n && begins_option(view->words[i].text)) {
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
        i = skip_options(view, program, i + 1, ret);
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

/* --- other ways of writing */

/* Words that mean the same, or may. */
static const struct synonyms {
    const char *programs;
    const char *words;
} synonyms[] = {
    {" npm pnpm ", " run run-script rum urn "},
    {" npm pnpm ", " test t tst "},
    {" npm pnpm ", " install i in ins inst insta instal isnt isnta isntal isntall add "},
    {" npm pnpm ", " install-test it "},
    {" npm pnpm ", " ci clean-install ic install-clean isntall-clean "},
    {" npm pnpm ", " uninstall un unlink remove rm r "},
    {" npm pnpm ", " update up upgrade udpate "},
    {" npm pnpm ", " exec x dlx "},
    {" npm pnpm ", " init create innit "},
    {" npm pnpm ", " login adduser add-user "},
    {" npm pnpm ", " config c get set "},
    {" npm pnpm ", " link ln "},
    {" yarn bun ", " remove rm "},
    {" yarn bun ", " add a install i "},
    {" cargo ", " build b "},
    {" cargo ", " check c "},
    {" cargo ", " doc d "},
    {" cargo ", " remove rm "},
    {" cargo ", " run r "},
    {" cargo ", " test t "},
    {" svn ", " commit ci "},
    {" svn ", " checkout co "},
    {" svn ", " delete del remove rm "},
    {" svn ", " copy cp "},
    {" svn ", " move mv rename ren "},
    {" svn ", " switch sw "},
    {" svn ", " update up "},
    {" helm ", " uninstall un del delete "},
    {" brew ", " uninstall remove rm "},
};

static struct str as_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

static struct str first_word(struct str words)
{
    const char *blank = words.n ? memchr(words.p, ' ', words.n) : NULL;
    return (struct str){words.p, blank ? (size_t)(blank - words.p) : words.n};
}

/* What lies behind the last of these characters. */
static struct str last_part(struct str words, const char *ends)
{
    size_t at = words.n;
    while (at > 0 && !strchr(ends, words.p[at - 1]))
        at--;
    return (struct str){words.p + at, words.n - at};
}

static bool same_text(struct str a, struct str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool are_synonyms(struct str program, struct str a, struct str b)
{
    if (same_text(a, b))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
        if (command_in_list(synonyms[i].programs, program) &&
            command_in_list(synonyms[i].words, a) && command_in_list(synonyms[i].words, b))
            return true;
    }
    return false;
}

/* Its letters are some of the other's in the same order, from the first on. */
static bool is_cut(struct str given, struct str wanted)
{
    size_t k = 0;
    for (size_t i = 0; i < given.n; i++) {
        int letter = tolower((unsigned char)given.p[i]);
        if (letter == '-' || letter == '_')
            continue;
        while (k > 0 && k < wanted.n && tolower((unsigned char)wanted.p[k]) != letter)
            k++;
        if (k == wanted.n || tolower((unsigned char)wanted.p[k]) != letter)
            return false;
        k++;
    }
    return k > 0;
}

/* One of the parts of a target, which has them in some order. */
static bool has_part(struct str target, struct str part)
{
    static const char between[] = ":;,/[]()@ '\"";
    for (size_t i = 0; i + part.n <= target.n; i++) {
        bool begins = i == 0 || strchr(between, target.p[i - 1]);
        bool ends = i + part.n == target.n || strchr(between, target.p[i + part.n]);
        if (begins && ends && memcmp(target.p + i, part.p, part.n) == 0)
            return true;
    }
    return false;
}

static bool target_may_be(const struct program *program, struct str given, struct str wanted)
{
    struct str part = last_part(wanted, ":/");
    if (program->rules & HAS_PARTS && has_part(given, part))
        return true;
    return program->rules & CUTS_HUMPS && is_cut(last_part(given, ":"), part);
}

/* `run-script deploy` and `run deploy`: what follows a word that means the same. */
static struct str without_run(const struct program *program, struct str words)
{
    struct str first = first_word(words);
    if (!(program->rules & RUNS_SCRIPTS) || first.n == words.n ||
        !command_in_list(synonyms[0].words, first))
        return words;
    return (struct str){words.p + first.n + 1, words.n - first.n - 1};
}

bool program_writes_loosely(struct str name)
{
    const struct program *program = program_find(name);
    for (size_t i = 0; program && i < ARRAY_LEN(synonyms); i++) {
        if (command_in_list(synonyms[i].programs, name))
            return true;
    }
    return program &&
           program->rules & (HAS_PARTS | CUTS_HUMPS | CUTS_ENDS | RUNS_SCRIPTS | HAS_GROUPS);
}

bool subcommand_may_be(const char *name, const char *given_text, const char *wanted_text)
{
    const struct program *program = program_find(as_str(name));
    struct str given = as_str(given_text);
    struct str wanted = as_str(wanted_text);
    if (!program || given.n == 0)
        return false;
    if (program->rules & HAS_TARGETS)
        return target_may_be(program, given, wanted);
    if (program->rules & HAS_GROUPS && same_text(last_part(given, " "), last_part(wanted, " ")))
        return true;
    given = without_run(program, given);
    wanted = without_run(program, wanted);
    struct str first = first_word(given);
    struct str other = first_word(wanted);
    bool cut = program->rules & CUTS_ENDS && first.n < other.n &&
               memcmp(first.p, other.p, first.n) == 0;
    bool rest = wanted.n == other.n ||
                same_text((struct str){given.p + first.n, given.n - first.n},
                          (struct str){wanted.p + other.n, wanted.n - other.n});
    return rest && (cut || are_synonyms(as_str(name), first, other));
}
