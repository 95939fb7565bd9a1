#include "policy/command_rules.h"

#include <stdio.h>
#include <string.h>

#include "core/glob.h"
#include "policy/command_walk.h"

static const char no_network[] =
    "commands do not fetch anything here; work with the files there are";
static const char no_machine[] = "the machine is not yours to change";
static const char no_devices[] =
    "disks and devices are out of reach; use cp, head or truncate for files";

static const struct command_block sidecar_blocks[] = {
    {"blocked:sudo", "sudo", COMMAND_ANY, "nothing runs with more rights; try it without"},
    {"blocked:shutdown", "shutdown", COMMAND_ANY, no_machine},
    {"blocked:reboot", "reboot", COMMAND_ANY, no_machine},
    {"blocked:format", "format", COMMAND_ANY, no_devices},
    {"blocked:mkfs", "mkfs", COMMAND_ANY, no_devices},
    {"blocked:mkfs", "mkfs.*", COMMAND_ANY, no_devices},
    {"blocked:dd", "dd", COMMAND_ANY, no_devices},
    {"blocked:curl", "curl", COMMAND_ANY, no_network},
    {"blocked:wget", "wget", COMMAND_ANY, no_network},
    {"blocked:nc", "nc", COMMAND_ANY, no_network},
    {"blocked:netcat", "netcat", COMMAND_ANY, no_network},
    {"blocked:chmod-777", "chmod", COMMAND_CHMOD_777,
     "give only the rights that are needed, such as u+x or 755"},
    {"blocked:rm-rf", "rm", COMMAND_RM_FORCE,
     "write each target out as a path relative to the workspace"},
};

const struct command_rules command_rules_sidecar = {
    .blocks = sidecar_blocks,
    .n_blocks = ARRAY_LEN(sidecar_blocks),
};

/* In the text's order the first of these is named. A pipe joins too, but is fine. */
static const struct joint {
    enum shell_join join;
    const char *rule;
} joints[] = {
    {SHELL_AND, "chaining:&&"},           {SHELL_OR, "chaining:||"},
    {SHELL_SEQUENCE, "chaining:;"},       {SHELL_BACKGROUND, "chaining:&"},
    {SHELL_NEWLINE, "chaining:newline"},  {SHELL_COMPOUND, "chaining:compound"},
    {SHELL_SUBSTITUTION, "chaining:$()"}, {SHELL_BACKTICK, "chaining:backtick"},
    {SHELL_PROCESS, "chaining:<()"},
};

static int check_chaining(void *self, const struct shell_script *script, struct err *err)
{
    const struct command_rules *rules = self;
    const struct joint *first = NULL;
    for (size_t i = 0; i < ARRAY_LEN(joints) && !rules->allow_chaining; i++) {
        size_t at = script->joined_at[joints[i].join];
        if (at != SIZE_MAX && (!first || at < script->joined_at[first->join]))
            first = &joints[i];
    }
    if (!first)
        return 0;
    err_set(
        err, ERR_COMMAND_BLOCKED,
        "the command is refused by the rule %s: one call runs one command, or several joined by "
        "pipes; make separate calls",
        first->rule);
    return err_reason(err, first->rule);
}

/* What a block is compared with. */
struct named {
    struct str name;       /* without folder */
    struct glob *globs[2]; /* when the program is a pattern: of its name, and of the whole word */
};

static struct glob *as_glob(struct str text)
{
    struct err ignored;
    while (text.n && text.p[0] == '/') {
        text.p++;
        text.n--;
    }
    return text.n <= COMMAND_NAME_MAX ? glob_compile(text, false, &ignored) : NULL;
}

static bool fits_rule_program(const struct named *named, const char *program)
{
    size_t n = strlen(program);
    if (n && program[n - 1] == '*' && named->name.n >= n - 1 &&
        memcmp(named->name.p, program, n - 1) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(named->globs); i++) {
        if (named->globs[i] && glob_match(named->globs[i], (struct str){program, n}))
            return true;
    }
    return command_is(named->name, program);
}

static int refuse_blocked_command(const struct command_block *block, struct err *err)
{
    err_set(err, ERR_COMMAND_BLOCKED, "the command is refused by the rule %s%s%s", block->rule,
            block->advice ? ": " : "", block->advice ? block->advice : "");
    return err_reason(err, block->rule);
}

static int check_blocks(void *self, const struct command_view *view, struct err *err)
{
    const struct command_rules *rules = self;
    char room[COMMAND_NAME_MAX];
    struct named named = {.name = command_name(&view->words[0], room)};
    if (view->words[0].flags & SHELL_PATTERN) {
        named.globs[0] = as_glob(named.name);
        named.globs[1] = as_glob(view->words[0].text);
    }
    const struct command_block *refused = NULL;
    for (size_t i = 0; i < rules->n_blocks && !refused; i++) {
        const struct command_block *block = &rules->blocks[i];
        if (fits_rule_program(&named, block->program) && command_form_holds(block->form, view))
            refused = block;
    }
    glob_free(named.globs[0]);
    glob_free(named.globs[1]);
    return refused ? refuse_blocked_command(refused, err) : 0;
}

int command_check(struct str text, const struct command_rules *rules, struct err *err)
{
    static const struct command_visitor visitor = {check_chaining, check_blocks};
    return command_walk(text, &visitor, (void *)(uintptr_t)rules, err);
}
