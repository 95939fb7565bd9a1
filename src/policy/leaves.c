#include "policy/leaves.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/path.h"
#include "policy/command_walk.h"
#include "policy/program_names.h"

#define LEAVES_BYTES_MAX 4096

/* A blank before and behind each. The first three are known to shells alone. Some start a program if an option says so:
 * such a use is not exact. */
static const char leaves[] =
    " cd : [ arch awk b2sum base32 base64 basename cal cat chmod cksum cmp column comm cp cut date df "
    "diff dir dirname du echo expand expr factor false fd fdfind file find fmt fold free gawk grep "
    "groups gsed head hexdump hostname id join jq link ln logname ls mawk md5sum mkdir mkfifo mktemp "
    "mv nawk nl nproc numfmt od paste pathchk pgrep printenv printf ps pwd readlink realpath rev rg rm "
    "rmdir sed seq sha1sum sha224sum sha256sum sha384sum sha512sum shellcheck shuf sleep sort split "
    "stat strings sum sync tac tail tee test touch tr tree true truncate tsort tty uname unexpand uniq "
    "unlink uptime vdir wc which whoami xxd yes ";

/* They work in git's own process, or in another one of git; a pager, a filter or a monitor that the repository's settings
 * name is what is kept from running. */
static const char git_leaves[] =
    " annotate blame branch cat-file check-attr check-ignore cherry count-objects describe diff "
    "diff-files diff-index diff-tree for-each-ref grep log ls-files ls-tree merge-base name-rev remote "
    "rev-list rev-parse shortlog show show-branch show-ref status var version whatchanged ";

static bool is_leaf(const struct command_pair *pair)
{
    struct str program = {pair->program, strlen(pair->program)};
    struct str subcommand = {pair->subcommand, strlen(pair->subcommand)};
    if (command_is(program, "git"))
        return pair->exact_subcommand && command_in_list(git_leaves, subcommand);
    return pair->exact && command_in_list(leaves, program);
}

/* They start what they are told to, which is a leaf. */
static const char starters[] =
    " nice timeout nohup env stdbuf setsid xargs find sh bash dash command ";

static bool pack(const struct facts_command *command, struct buf *out)
{
    const struct command_pairs *pairs = &command->pairs;
    if (command->state != COMMAND_KNOWN || !command->whole || pairs->n == 0)
        return false;
    for (size_t i = 0; i < pairs->n_starters; i++) {
        size_t n = strlen(pairs->starters[i]);
        if (!command_in_list(starters, (struct str){pairs->starters[i], n}))
            return false;
        buf_add(out, pairs->starters[i], n + 1);
    }
    for (size_t i = 0; i < pairs->n; i++) {
        if (!is_leaf(&pairs->all[i]))
            return false;
        buf_add(out, pairs->all[i].program, strlen(pairs->all[i].program) + 1);
    }
    return !out->failed;
}

static bool looks_at_programs(const struct node *node)
{
    if (node->kind == NODE_TEST)
        return node->test->kind == TEST_PROGRAM;
    for (size_t i = 0; node->kind != NODE_NOT && i < node->n_parts; i++) {
        if (looks_at_programs(&node->parts[i]))
            return true;
    }
    return false;
}

/* They run code of the workspace, and keep caches and what they downloaded in the home. */
static const char builders[] =
    " ant bazel bun bundle cabal cargo cmake composer conda ctest deno dotnet dune elixir go gradle hatch "
    "java just lerna make meson mix mvn ninja node nox npm npx nx pdm perl php pip pipenv pipx pnpm pnpx "
    "poetry pre-commit pytest python rake rspec ruby rustup sbt scons stack swift task tox turbo uv uvx "
    "yarn ";

static bool builds(const struct command_pair *pair)
{
    char room[PROGRAM_NAME_ROOM];
    const char *name = path_name(pair->program);
    struct str plain = program_plain_name((struct str){name, strlen(name)}, room);
    /* A file of the workspace is its code. */
    return (name > pair->program && pair->program[0] != '/') || command_in_list(builders, plain);
}

static bool looks_at_command(const struct node *node)
{
    if (node->kind == NODE_TEST)
        return node->test->field.kind == FIELD_COMMAND;
    for (size_t i = 0; node->kind != NODE_NOT && i < node->n_parts; i++) {
        if (looks_at_command(&node->parts[i]))
            return true;
    }
    return false;
}

void leaves_choose_home(const struct condition *condition, struct facts *facts,
                        struct verdict *verdict)
{
    verdict->own_home = false;
    if (!(facts->needs & CAP_COMMAND) || !condition || !looks_at_command(&condition->root))
        return;
    const struct facts_command *command = facts_command(facts);
    for (size_t i = 0; command->state == COMMAND_KNOWN && i < command->pairs.n; i++) {
        if (builds(&command->pairs.all[i]))
            return;
    }
    verdict->own_home = true;
}

bool leaves_limit(const struct condition *condition, struct facts *facts, struct verdict *verdict)
{
    BUF_AT_END struct buf names = BUF_INIT(LEAVES_BYTES_MAX);
    if (!(facts->needs & CAP_COMMAND) || !condition || !looks_at_programs(&condition->root) ||
        !pack(facts_command(facts), &names))
        return false;
    free(verdict->leaves);
    verdict->leaves = mem_copy(names.data, names.len);
    verdict->leaves_n = names.len;
    return true;
}
