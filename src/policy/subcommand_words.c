/* Other ways of writing a subcommand or a target: an abbreviation, another name, a longer way. */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "policy/program_names.h"
#include "policy/subcommand_parts.h"

/* Words that mean the same, or may. */
static const struct synonyms {
    const char *programs;
    const char *words;
} synonyms[] = {
    {" npm pnpm ", " run run-script rum urn "},
    {" npm pnpm ", " test t tst install-test it install-ci-test cit clean-install-test sit "},
    {" npm pnpm ",
     " install i in ins inst insta instal isnt isnta isntal isntall add install-test it "},
    {" npm pnpm ",
     " ci clean-install ic install-clean isntall-clean install-ci-test cit clean-install-test sit "},
    {" npm pnpm ", " uninstall un unlink remove rm r "},
    {" npm pnpm ", " update up upgrade udpate "},
    {" npm pnpm ", " exec x dlx "},
    {" npm pnpm ", " init create innit "},
    {" npm pnpm ", " login adduser add-user "},
    {" npm pnpm ", " config c get set "},
    {" npm pnpm ", " link ln "},
    {" npm pnpm ", " list ls la ll "},
    {" npm pnpm ", " view v info show "},
    {" npm pnpm ", " search s se find "},
    {" npm pnpm ", " version verison "},
    {" npm pnpm ", " dedupe ddp find-dupes "},
    {" npm pnpm ", " rebuild rb "},
    {" npm pnpm ", " owner author "},
    {" npm pnpm ", " dist-tag dist-tags "},
    {" yarn bun ", " remove rm "},
    {" yarn bun ", " add a install i "},
    {" cargo ", " build b "},
    {" cargo ", " check c "},
    {" cargo ", " doc d "},
    {" cargo ", " remove rm "},
    {" cargo ", " run r "},
    {" cargo ", " test t "},
    {" git ", " push send-pack http-push "},
    {" git ", " fetch fetch-pack "},
    {" git ", " add stage "},
    {" git ", " blame annotate "},
    {" git ", " init init-db "},
    {" git ", " log whatchanged "},
    {" git ", " filter-branch filter-repo "},
    {" svn ", " commit ci "},
    {" svn ", " checkout co "},
    {" svn ", " delete del remove rm "},
    {" svn ", " copy cp "},
    {" svn ", " move mv rename ren "},
    {" svn ", " switch sw "},
    {" svn ", " update up "},
    {" svn ", " status stat st "},
    {" svn ", " blame praise annotate ann "},
    {" svn ", " diff di "},
    {" svn ", " list ls "},
    {" svn ", " propset pset ps "},
    {" svn ", " propget pget pg "},
    {" svn ", " propdel pdel pd "},
    {" svn ", " propedit pedit pe "},
    {" svn ", " proplist plist pl "},
    {" svn ", " resolve resolved "},
    {" svn ", " changelist cl "},
    {" hg ", " commit ci "},
    {" hg ", " update up checkout co "},
    {" hg ", " remove rm "},
    {" hg ", " rename move mv "},
    {" hg ", " copy cp "},
    {" hg ", " incoming in "},
    {" hg ", " outgoing out "},
    {" hg ", " status st "},
    {" hg ", " strip debugstrip "},
    {" helm ", " uninstall un del delete "},
    {" brew ", " uninstall remove rm "},
    {" brew ", " install reinstall upgrade "},
    {" apt ", " remove purge autoremove autopurge "},
    {" apt ", " install reinstall build-dep "},
    {" apt ", " upgrade full-upgrade dist-upgrade safe-upgrade "},
    {" conda ", " remove uninstall rm "},
    {" composer ", " require r "},
    {" composer ", " install i "},
    {" composer ", " update u upgrade "},
    {" composer ", " remove rm uninstall "},
    {" composer ", " run-script run "},
    {" bundle ", " install i "},
    {" bundle ", " exec e "},
    {" gem ", " install i "},
    {" docker podman nerdctl ", " rm remove "},
    {" docker podman nerdctl ", " ls list "},
    {" rustup ", " install add update "},
    {" rustup ", " uninstall remove "},
    {" gh ", " list ls "},
    {" gh ", " create new "},
    {" gh ", " codespace cs "},
    {" gh ", " extension extensions ext "},
    {" tox ", " run r run-parallel p legacy le "},
    {" tox ", " exec e "},
    {" tox ", " devenv d "},
    {" deno ", " run serve "},
};

/* Words that are two of the same program. */
static const struct long_form {
    const char *programs;
    const char *word;
    const char *words;
} long_forms[] = {
    {" docker podman nerdctl ", "rmi", "image rm"},
    {" docker podman nerdctl ", "images", "image ls"},
    {" docker podman nerdctl ", "ps", "container ls"},
    {" rustup ", "install", "toolchain install"},
    {" rustup ", "update", "toolchain install"},
    {" rustup ", "uninstall", "toolchain uninstall"},
};

/* What these do with a word that is none of their own. */
static const struct script_words {
    const char *programs;
    const char *own;
} script_words[] = {
    {" deno ",
     " add bench bundle cache check clean compile completions coverage create deploy doc eval fmt help "
     "info init install jupyter lint lsp outdated publish remove repl run serve task test types "
     "uninstall upgrade update vendor x "},
    {" pnpm yarn bun ",
     " add audit bin cache check ci config deploy dlx doctor env exec fetch global help i import "
     "info init install licenses link lint list ln ls m multi npm outdated pack patch plugin pm prune "
     "publish rebuild recursive remove repl rm root run set store un uninstall unlink up update upgrade "
     "version versions view why workspace workspaces x "},
    {" npm ", NULL}, /* but for these four, it is an error */
};

static struct str first_subcommand_word(struct str words)
{
    const char *blank = words.n ? memchr(words.p, ' ', words.n) : NULL;
    return (struct str){words.p, blank ? (size_t)(blank - words.p) : words.n};
}

/* What lies behind the last of these characters. */
static struct str part_behind_last(struct str words, const char *ends)
{
    size_t at = words.n;
    while (at > 0 && !strchr(ends, words.p[at - 1]))
        at--;
    return (struct str){words.p + at, words.n - at};
}

/* Whether it begins one of the words. */
static bool begins_one(const char *words, struct str cut)
{
    for (const char *at = words; *(at += strspn(at, " "));) {
        struct str word = {at, strcspn(at, " ")};
        if (cut.n && str_begins(word, cut))
            return true;
        at += word.n;
    }
    return false;
}

/* `name` is the plain one. */
static bool are_synonyms(const struct program *program, struct str name, struct str given,
                         struct str wanted)
{
    bool cuts = program->rules & CUTS_ENDS;
    if (str_equal(given, wanted) || (cuts && given.n && str_begins(wanted, given)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
        const char *words = synonyms[i].words;
        if (command_in_list(synonyms[i].programs, name) && command_in_list(words, wanted) &&
            (command_in_list(words, given) || (cuts && begins_one(words, given))))
            return true;
    }
    return false;
}

/* Its letters are some of the other's in the same order, from the first on. */
static bool is_shortened_word(struct str given, struct str wanted)
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
    struct str part = part_behind_last(wanted, ":/");
    if (program->rules & HAS_PARTS && has_part(given, part))
        return true;
    return program->rules & CUTS_HUMPS && is_shortened_word(part_behind_last(given, ":"), part);
}

/* `run-script deploy` and `run deploy`: what follows a word that means the same. */
static struct str without_run(const struct program *program, struct str words)
{
    struct str first = first_subcommand_word(words);
    if (!(program->rules & RUNS_SCRIPTS) || first.n == words.n ||
        !command_in_list(synonyms[0].words, first))
        return words;
    return (struct str){words.p + first.n + 1, words.n - first.n - 1};
}

static struct str rest_of(struct str words, struct str first)
{
    size_t n = first.n < words.n ? first.n + 1 : first.n;
    return (struct str){words.p + n, words.n - n};
}

static bool has_synonyms(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
        if (command_in_list(synonyms[i].programs, name))
            return true;
    }
    return false;
}

bool program_writes_loosely(struct str name)
{
    char room[PROGRAM_NAME_ROOM];
    const struct program *program = program_find(name);
    const unsigned loose = HAS_PARTS | CUTS_HUMPS | CUTS_ENDS | RUNS_SCRIPTS | HAS_GROUPS;
    return program && (program->rules & loose || program->through || program->alone ||
                       program->acts || has_synonyms(program_plain_name(name, room)));
}

/* A script of the project, which `run` would run as well. */
static bool may_be_script(struct str name, struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(script_words); i++) {
        if (command_in_list(script_words[i].programs, name))
            return script_words[i].own ? !command_in_list(script_words[i].own, word)
                                       : command_in_list(" start stop restart test t tst ", word);
    }
    return false;
}

static struct str long_form(struct str name, struct str words)
{
    for (size_t i = 0; i < ARRAY_LEN(long_forms); i++) {
        if (command_in_list(long_forms[i].programs, name) &&
            command_is(first_subcommand_word(words), long_forms[i].word))
            return str_of(long_forms[i].words);
    }
    return words;
}

/* Word by word, as many as are wanted. */
static bool are_all_synonyms(const struct program *program, struct str name, struct str given,
                             struct str wanted)
{
    while (wanted.n) {
        struct str a = first_subcommand_word(given);
        struct str b = first_subcommand_word(wanted);
        if (!are_synonyms(program, name, a, b))
            return false;
        given = rest_of(given, a);
        wanted = rest_of(wanted, b);
    }
    return true;
}

static bool words_may_be(const struct program *program, struct str name, struct str given,
                         struct str wanted)
{
    if (given.n == 0)
        return program->alone && are_all_synonyms(program, name, str_of(program->alone), wanted);
    if (program->rules & HAS_TARGETS)
        return target_may_be(program, given, wanted);
    if (program->rules & HAS_GROUPS &&
        are_synonyms(program, name, part_behind_last(given, " "), part_behind_last(wanted, " ")))
        return true;
    if (are_all_synonyms(program, name, given, wanted) ||
        are_all_synonyms(program, name, long_form(name, given), long_form(name, wanted)))
        return true;
    if (command_in_list(" run run-script ", wanted) &&
        may_be_script(name, first_subcommand_word(given)))
        return true;
    return are_all_synonyms(program, name, without_run(program, given),
                            without_run(program, wanted));
}

bool subcommand_may_be(const char *name, const char *given, const char *wanted)
{
    char room[PROGRAM_NAME_ROOM];
    const struct program *program = program_find(str_of(name));
    return program && words_may_be(program, program_plain_name(str_of(name), room), str_of(given),
                                   str_of(wanted));
}
