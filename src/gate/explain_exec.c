#include "gate/explain_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cell/denied_files.h"
#include "policy/exec_denied.h"
#include "session/command_denied.h"
#include "session/command_order.h"

struct skipped {
    char *name;
    char *path;
    const char *why;
};

struct explaining {
    const struct call *call;
    policy_step_fn step;
    void *arg;
    struct denials *denials;
    struct denied_files files;
    struct skipped *skipped;
    size_t n_skipped;
};

static void add_skipped(void *arg, const struct denial *denial, const char *path, const char *why)
{
    struct explaining *e = arg;
    e->skipped = mem_grow(e->skipped, e->n_skipped + 1, sizeof *e->skipped);
    e->skipped[e->n_skipped++] = (struct skipped){mem_dup(denial->name), mem_dup(path), why};
}

static void find_denied_files(struct explaining *e)
{
    const struct config *config = e->call->workplace->config;
    const struct str *items = NULL;
    size_t n = 0;
    BUF_AT_END struct buf path = BUF_INIT(64u << 10);
    if (!config_list(config, "commands.show", &items, &n))
        n = 0;
    const char **shown = mem_zero((n + 1) * sizeof *shown);
    for (size_t i = 0; i < n; i++)
        shown[i] = items[i].p;
    command_path(config, &path);
    struct denied_view view = {.path = buf_text(&path),
                               .shown = shown,
                               .n_shown = n,
                               .proc = -1,
                               .shell = command_takes_lines(e->call->tool)};
    denied_find(e->denials->packed, &view, &e->files, add_skipped, e);
    free(shown);
}

static bool is_asked_about(const struct explaining *e, const struct denial *denial)
{
    if (strcmp(denial->rule, e->call->verdict.rule) == 0)
        return true;
    /* Lists that are no rules are named by no verdict. */
    struct str command = json_str(yyjson_obj_get(e->call->arguments, "command"));
    return !strstr(denial->rule, "approval.rules[") && command.n &&
           memmem(command.p, command.n, denial->name, strlen(denial->name));
}

static void tell_exec_step(const struct explaining *e, const struct denial *denial, bool holds,
                           const char *path, const char *why)
{
    FREE_AT_END char *text = mem_format("%.200s: %.400s%s%s", denial->name, path,
                                        *path && *why ? ": " : "", why);
    e->step(e->arg,
            &(struct policy_step){denial->rule, holds ? "holds at exec" : "not at exec", text});
}

static bool tell_files(const struct explaining *e, const struct denial *denial)
{
    bool any = false;
    for (size_t i = 0; i < e->files.n; i++) {
        struct str rest = e->denials->packed;
        struct denial of;
        for (size_t k = 0; k <= e->files.all[i].denial; k++)
            denials_next(&rest, &of);
        if (strcmp(of.name, denial->name) != 0)
            continue;
        tell_exec_step(e, denial, true, e->files.all[i].path, "");
        any = true;
    }
    for (size_t i = 0; i < e->n_skipped; i++) {
        if (strcmp(e->skipped[i].name, denial->name) != 0)
            continue;
        tell_exec_step(e, denial, false, e->skipped[i].path, e->skipped[i].why);
        any = true;
    }
    return any;
}

static void explain_denial(void *arg, const struct denial *denial, const char *why_not)
{
    const struct explaining *e = arg;
    if (!is_asked_about(e, denial))
        return;
    if (why_not)
        tell_exec_step(e, denial, false, "", why_not);
    else if (!tell_files(e, denial) && !denial->related)
        tell_exec_step(
            e, denial, false, "",
            "no folder of programs has it now: only commands that are understood are refused");
}

void explain_exec(const struct policy *policy, const struct call *call, policy_step_fn step,
                  void *arg)
{
    bool many;
    struct explaining e = {.call = call, .step = step, .arg = arg};
    if (!tool_runs_programs(call->tool))
        return;
    e.denials = exec_denied(policy, call->tool, &many);
    if (e.denials)
        find_denied_files(&e);
    exec_denied_each(policy, call->tool, explain_denial, &e);
    for (size_t i = 0; i < e.n_skipped; i++) {
        free(e.skipped[i].name);
        free(e.skipped[i].path);
    }
    free(e.skipped);
    denied_files_done(&e.files);
    denials_unref(e.denials);
}
