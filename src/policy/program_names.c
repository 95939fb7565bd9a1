#include "policy/program_names.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/command_walk.h"

/* A blank before and behind each. The first is what the others are known by. */
static const char *const twins[] = {
    " apt apt-get aptitude ",
    " awk gawk mawk nawk original-awk ",
    " bat batcat ",
    " bazel bazelisk ",
    " bundle bundler ",
    " cargo cross ",
    " conda mamba micromamba ",
    " coverage python-coverage ",
    " fd fdfind ",
    " git hub ",
    " go golang ",
    " gradle gradlew ",
    " hg chg ",
    " kubectl oc ",
    " make gmake bmake pmake remake colormake ",
    " mvn mvnw mvnd ",
    " mysql mariadb ",
    " ninja ninja-build samu ",
    " node nodejs ",
    " nc netcat ncat ",
    " pytest py.test ",
    " task go-task ",
    " terraform tofu terragrunt ",
    " vim vi vimx nvim ",
    " yarn yarnpkg ",
};

/* Flavours of the same program, and how its file may be called. */
static const char *const ends[] = {
    ".athena", ".basic",       ".bat", ".cjs", ".cmd", ".distrib", ".exe",
    ".gtk3",   ".huge",        ".jar", ".js",  ".mjs", ".nox",     ".openbsd",
    ".phar",   ".pl",          ".py",  ".pyz", ".rb",  ".real",    ".sh",
    ".tiny",   ".traditional", "-bin", "-dbg", "-cli", "-real",    "-wrapper",
};

/* Programs that are a subcommand of another one. */
static const struct stand_in {
    const char *name;
    const char *program;
    const char *subcommand;
} stand_ins[] = {
    {"bunx", "bun", "x"},
    {"npx", "npm", "exec"},
    {"pnpx", "pnpm", "dlx"},
    {"uvx", "uv", "tool run"},
};

/* The first is denied with all of the others; the others are with the first where it is the same program. */
static const struct family {
    const char *names;
    bool both;
} program_families[] = {
    {" bun bunx ", false},      {" bundle bundler ", true},
    {" fd fdfind ", true},      {" bat batcat ", true},
    {" make gmake ", true},     {" ninja ninja-build ", true},
    {" node nodejs ", true},    {" npm npx ", false},
    {" pip pip3 ", false},      {" pnpm pnpx pnx ", false},
    {" pytest py.test ", true}, {" python python3 ", false},
    {" uv uvx ", false},        {" yarn yarnpkg ", true},
    {" gpg gpg2 ", true},       {" docker docker-compose ", false},
};

const char *program_family(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(program_families) && name.n; i++) {
        const char *names = program_families[i].names;
        bool first = strncmp(names + 1, name.p, name.n) == 0 && names[1 + name.n] == ' ';
        if (first || (program_families[i].both && command_in_list(names, name)))
            return names;
    }
    return NULL;
}

bool program_has_others(struct str name)
{
    char room[PROGRAM_NAME_ROOM];
    struct str plain = program_plain_name(name, room);
    for (size_t i = 0; i < ARRAY_LEN(program_families); i++) {
        if (command_in_list(program_families[i].names, name) ||
            command_in_list(program_families[i].names, plain))
            return true;
    }
    return false;
}

struct str program_package(struct str path)
{
    static const char folder[] = "node_modules/";
    const char *at = path.n ? memmem(path.p, path.n, folder, sizeof folder - 1) : NULL;
    if (!at)
        return (struct str){0};
    at += sizeof folder - 1;
    size_t n = (size_t)(path.p + path.n - at);
    const char *slash = memchr(at, '/', n);
    return (struct str){at, slash ? (size_t)(slash - at) : n};
}

struct str program_module(struct str word)
{
    static const char main_file[] = "/__main__.py";
    size_t tail = sizeof main_file - 1;
    if (word.n > tail && memcmp(word.p + word.n - tail, main_file, tail) == 0)
        return path_name_of((struct str){word.p, word.n - tail});
    const char *m = word.n > 2 && word.p[0] == '-' && word.p[1] != '-' ? memchr(word.p, 'm', word.n)
                                                                       : NULL;
    if (m)
        word = (struct str){m + 1, word.n - (size_t)(m + 1 - word.p)};
    const char *dot = word.n ? memchr(word.p, '.', word.n) : NULL;
    if (!dot || memchr(word.p, '/', word.n))
        return (struct str){0};
    return (struct str){word.p, (size_t)(dot - word.p)};
}

/* `perl5.36-x86_64-linux-gnu` */
static void cut_machine_behind(struct str *name)
{
    static const char *const marks[] = {"-linux-gnu", "-linux-musl", "-linux-gnueabihf"};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t n = strlen(marks[i]);
        const char *dash = name->n > n ? memrchr(name->p, '-', name->n - n) : NULL;
        if (dash && dash > name->p && memcmp(name->p + name->n - n, marks[i], n) == 0)
            name->n = (size_t)(dash - name->p);
    }
}

static void cut_machine(struct str *name)
{
    static const char *const marks[] = {"-linux-gnu-", "-linux-musl-", "-linux-gnueabihf-"};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *at = name->n ? memmem(name->p, name->n, marks[i], strlen(marks[i])) : NULL;
        if (!at)
            continue;
        at += strlen(marks[i]);
        *name = (struct str){at, name->n - (size_t)(at - name->p)};
    }
}

static bool cut_end(struct str *name)
{
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t n = strlen(ends[i]);
        if (name->n > n && memcmp(name->p + name->n - n, ends[i], n) == 0) {
            name->n -= n;
            return true;
        }
    }
    return false;
}

/* Takes `-3.11` or `3.11` off the end. */
static struct str cut_version(struct str *name)
{
    size_t n = name->n;
    while (n > 1 && (isdigit((unsigned char)name->p[n - 1]) || name->p[n - 1] == '.'))
        n--;
    struct str version = {name->p + n, name->n - n};
    if (version.n && n > 2 && name->p[n - 1] == '-')
        n--;
    name->n = version.n ? n : name->n;
    return version;
}

static struct str plain_name(struct str name, struct str *ret_version)
{
    cut_machine_behind(&name);
    cut_machine(&name);
    while (cut_end(&name))
        ;
    *ret_version = cut_version(&name);
    return name;
}

static const char *find_twins(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
        if (command_in_list(twins[i], name))
            return twins[i];
    }
    return NULL;
}

/* `python3-coverage` is `python-coverage`. */
static struct str without_inner_version(struct str name, char room[PROGRAM_NAME_ROOM])
{
    size_t n = 0;
    if (name.n >= PROGRAM_NAME_ROOM || name.n < 8 || memcmp(name.p, "python", 6) != 0)
        return name;
    for (size_t i = 0; i < name.n; i++) {
        if (!isdigit((unsigned char)name.p[i]) && name.p[i] != '.')
            room[n++] = name.p[i];
    }
    return (struct str){room, n};
}

struct str program_plain_name(struct str name, char room[PROGRAM_NAME_ROOM])
{
    struct str version;
    struct str plain = plain_name(name, &version);
    plain = without_inner_version(plain, room);
    const char *list = find_twins(plain);
    if (!list)
        list = find_twins(name);
    return list ? (struct str){list + 1, strcspn(list + 1, " ")} : plain;
}

bool program_is_python(struct str name)
{
    char room[PROGRAM_NAME_ROOM];
    return command_in_list(" python pypy py ", program_plain_name(name, room));
}

bool program_may_be_other(struct str name)
{
    return name.n > 1 &&
           (isdigit((unsigned char)name.p[name.n - 1]) || memchr(name.p, '.', name.n) ||
            memchr(name.p, '-', name.n) || find_twins(name));
}

/* `3` may be `3.11`. */
static bool may_be_version(struct str a, struct str b)
{
    struct str shorter = a.n < b.n ? a : b;
    struct str longer = a.n < b.n ? b : a;
    if (shorter.n && memcmp(shorter.p, longer.p, shorter.n) != 0)
        return false;
    return shorter.n == 0 || shorter.n == longer.n || longer.p[shorter.n] == '.';
}

bool program_is_same(struct str a, struct str b)
{
    char room_a[PROGRAM_NAME_ROOM];
    char room_b[PROGRAM_NAME_ROOM];
    struct str version_a;
    struct str version_b;
    if (str_equal(a, b))
        return true;
    if (a.n == 0 || b.n == 0 ||
        !str_equal(program_plain_name(a, room_a), program_plain_name(b, room_b)))
        return false;
    plain_name(a, &version_a);
    plain_name(b, &version_b);
    return may_be_version(version_a, version_b);
}

void program_want(struct program_wanted *ret, struct str name)
{
    struct str version;
    *ret = (struct program_wanted){.name = name};
    ret->plain = without_inner_version(plain_name(name, &version), ret->room);
    ret->twins = find_twins(ret->plain);
    if (!ret->twins)
        ret->twins = find_twins(name);
}

/* Whatever is cut off a name to make it plain stands at its end, but for a machine and the version of python. */
static bool may_be_wanted(const struct program_wanted *w, struct str name)
{
    if (str_begins(name, w->plain) || str_begins(name, STR("python")) ||
        memmem(name.p, name.n, "-linux-", 7))
        return true;
    for (const char *at = w->twins; at && *(at += strspn(at, " "));) {
        struct str twin = {at, strcspn(at, " ")};
        if (str_begins(name, twin))
            return true;
        at += twin.n;
    }
    return false;
}

bool program_is_wanted(const struct program_wanted *w, struct str name)
{
    return str_equal(name, w->name) ||
           (name.n > 0 && may_be_wanted(w, name) && program_is_same(name, w->name));
}

const char *program_stands_for(struct str name, const char **ret_program)
{
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++) {
        if (!command_is(name, stand_ins[i].name))
            continue;
        *ret_program = stand_ins[i].program;
        return stand_ins[i].subcommand;
    }
    return NULL;
}
