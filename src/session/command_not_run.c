#include "session/command_not_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cell/probe.h"
#include "core/command.h"

static void name_missing(const struct call *call, const struct ran *ran, struct err *err)
{
    int n = (int)ran->message.n;
    if (call->command->shell)
        err_set(err, ERR_NOT_FOUND,
                "there is no %.*s in the sandbox, so no command line can be run", n,
                ran->message.p);
    else
        err_set(err, ERR_NOT_FOUND,
                "there is no program `%.*s` in the sandbox: a program and its arguments are given "
                "apart. One that is installed in a home or another folder is made visible with "
                "commands.show and commands.path in Sandgate's configuration",
                n, ran->message.p);
    err_reason(err, "program_not_found");
}

static void name_folder(const struct ran *ran, struct err *err)
{
    if (ran->error == EXDEV) {
        err_set(err, ERR_SYMLINK_OUTSIDE_WORKSPACE,
                "the working directory leads out of the workspace through a symbolic link");
        err_reason(err, "symlink_outside");
        return;
    }
    if (ran->error == EMLINK) {
        err_set(err, ERR_PERMISSION_DENIED,
                "the working directory is reached through a symbolic link, and a rule about paths "
                "decides here: use its path itself");
        err_reason(err, "other_path");
        return;
    }
    if (ran->error == EREMCHG) {
        err_set(err, ERR_CONFLICT,
                "the working directory leads elsewhere than when the user was asked about the "
                "command: nothing was run");
        err_reason(err, "leads_elsewhere");
        return;
    }
    if (ran->error == ESTALE) {
        err_set(err, ERR_NOT_FOUND,
                "the working directory, or the workspace it lies in, was removed since the gate "
                "was started");
        err_reason(err, "folder_removed");
        return;
    }
    enum err_code code = ran->error == ENOTDIR  ? ERR_NOT_A_DIRECTORY
                         : ran->error == EACCES ? ERR_PERMISSION_DENIED
                                                : ERR_NOT_FOUND;
    err_set(err, code, "the working directory cannot be used: %s", strerror((int)ran->error));
}

/* It is there, and the kernel does not take it for a program. */
static void name_no_program(const struct ran *ran, struct err *err)
{
    int n = (int)ran->message.n;
    const char *name = ran->message.p;
    if (ran->error == EACCES)
        err_set(err, ERR_PERMISSION_DENIED,
                "`%.*s` cannot be run: it is a folder, or its mode does not allow it (chmod +x)", n,
                name);
    else if (ran->error == ENOENT)
        err_set(err, ERR_NOT_FOUND,
                "`%.*s` cannot be run: what its first line (#!) or its headers name to run it is "
                "not in the sandbox",
                n, name);
    else
        err_set(
            err, ERR_NOT_SUPPORTED,
            "`%.*s` cannot be run: it is no program for this machine, and no script that begins "
            "with #! and a shell",
            n, name);
    err_reason(err, "no_program");
}

static void name_no_sandbox(const struct ran *ran, struct err *err)
{
    char cause[400];
    if (probe_cause(NEED_COMMANDS, cause, sizeof cause))
        err_set(err, ERR_SANDBOX_UNAVAILABLE,
                "%s (the command was not started; `sandgate doctor` tells more)", cause);
    else
        err_set(err, ERR_SANDBOX_UNAVAILABLE, "the command was not started: %.*s",
                (int)ran->message.n, ran->message.p);
}

void command_not_run(const struct call *call, const struct ran *ran, struct err *err)
{
    int n = (int)ran->message.n;
    switch ((enum ran_kind)ran->kind) {
    case RAN_REFUSED:
        err_set(err, ERR_COMMAND_BLOCKED, "%.*s", n, ran->message.p);
        snprintf(err->reason, sizeof err->reason, "%.*s", (int)ran->rule.n, ran->rule.p);
        return;
    case RAN_NOT_FOUND:
        name_missing(call, ran, err);
        return;
    case RAN_NO_FOLDER:
        name_folder(ran, err);
        return;
    case RAN_NO_PROGRAM:
        name_no_program(ran, err);
        return;
    case RAN_BUSY:
        err_set(err, ERR_SESSION_BUSY, "%.*s", n, ran->message.p);
        snprintf(err->reason, sizeof err->reason, "%.*s", (int)ran->rule.n, ran->rule.p);
        return;
    default:
        name_no_sandbox(ran, err);
    }
}
