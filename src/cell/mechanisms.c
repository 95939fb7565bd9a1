#include "cell/mechanisms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cell/tier.h"

#define WEAKER "the tier is `landlock`: file tools run, and no command does"

const struct mechanism_row mechanism_rows[MECHANISM_COUNT] = {
    [MECHANISM_USER_NAMESPACES] = {"user_namespaces", "user namespaces", "", NEED_FULL,
                                   "the right to make everything else without being root", WEAKER},
    [MECHANISM_NAMESPACES] = {"namespaces", "other namespaces", "", NEED_FULL,
                              "mounts, processes, network, ipc and host name of a cell's own",
                              WEAKER},
    [MECHANISM_MOUNTS] = {"mounts", "mounts in a namespace", "5.12", NEED_FULL,
                          "a root with the session's folders alone, and covers over files", WEAKER},
    [MECHANISM_ROOT_MOUNTS] = {"root_mounts", "mounts outside of a namespace", "5.12", NEED_FULL,
                               "the session's folders, where the gate is root", WEAKER},
    [MECHANISM_PROC] = {"proc", "a new /proc in a namespace", "", NEED_FULL,
                        "a `/proc` of the command's own processes",
                        WEAKER "; `sandgate call` of a file tool is as usual"},
    [MECHANISM_LANDLOCK] = {"landlock", "Landlock", "5.13", NEED_CELL,
                            "the second lock on files, and on folders of commands that ended",
                            "nothing runs"},
    [MECHANISM_SECCOMP] = {"seccomp", "system call filters", "", NEED_CELL,
                           "the calls that worker and commands may make", "nothing runs"},
    [MECHANISM_OPENAT2] = {"openat2", "openat2", "5.6", NEED_FULL, "opening paths beneath a folder",
                           WEAKER "; each name of a path is opened by itself"},
    [MECHANISM_SECCOMP_NOTIFY] = {"seccomp_notify", "answers to filtered calls", "5.0",
                                  NEED_COMMANDS, "counting and telling what commands were refused",
                                  "no command runs; file tools do"},
    [MECHANISM_PIDFD] = {"pidfd", "process descriptors", "5.3", NEED_COMMANDS,
                         "covering again, in commands that run, what the host replaced",
                         "a command ends when something that is covered is replaced"},
    [MECHANISM_OVERLAY] =
        {"overlay", "overlays in a user namespace", "5.11", NEED_SOME,
         "overlay sessions, and layers over git directories",
         "overlay sessions fail, and so do commands that may write to git directories"},
    [MECHANISM_IDMAP] = {"idmapped_mounts", "owner mapping of mounts", "5.12", NEED_SOME,
                         "folders of root, where the gate is root",
                         "in folders of root, a gate of root has the tier `landlock`"},
    [MECHANISM_CGROUP_MEMORY] = {"cgroup_memory", "control group: memory", "", NEED_LIMITS,
                                 "`commands.memory`", "looked at ten times a second"},
    [MECHANISM_CGROUP_PROCESSES] = {"cgroup_processes", "control group: processes", "", NEED_LIMITS,
                                    "`commands.processes`",
                                    "looked at ten times a second, and one limit for the session"},
    [MECHANISM_CGROUP_CPU] = {"cgroup_cpu", "control group: processor", "", NEED_LIMITS,
                              "`commands.cpus`", "not held"},
};

const struct landlock_step landlock_steps[] = {
    {2, "5.19", "moves between folders inside"},
    {3, "6.2", "cutting files short"},
    {4, "6.7", "TCP ports"},
    {5, "6.10", "ioctl on devices"},
    {6, "6.12", "abstract sockets and signals"},
    {0},
};

static const char *const need_words[] = {
    [NEED_CELL] = "cell",       [NEED_FULL] = "full",     [NEED_COMMANDS] = "commands",
    [NEED_SOME] = "some calls", [NEED_LIMITS] = "limits",
};

static const char *const state_words[] = {
    [FINDING_NO] = "no",
    [FINDING_YES] = "yes",
    [FINDING_UNNEEDED] = "not needed",
};

enum mechanism findings_missing(const struct findings *f, enum need need)
{
    enum mechanism m = 0;
    while (m < MECHANISM_COUNT && !(mechanism_rows[m].need == need && f->of[m].state == FINDING_NO))
        m++;
    return m;
}

struct tier findings_tier(const struct findings *f)
{
    if (findings_missing(f, NEED_CELL) != MECHANISM_COUNT)
        return (struct tier){.id = TIER_NONE};
    if (findings_missing(f, NEED_FULL) != MECHANISM_COUNT)
        return tier_of_landlock_cell(f->of[MECHANISM_LANDLOCK].version);
    struct tier tier = tier_of_full_cell(f->of[MECHANISM_LANDLOCK].version);
    tier.memory = f->of[MECHANISM_CGROUP_MEMORY].means;
    tier.process_count = f->of[MECHANISM_CGROUP_PROCESSES].means;
    tier.cpu = f->of[MECHANISM_CGROUP_CPU].means;
    return tier;
}

bool finding_may_pass(const struct finding *f)
{
    /* Where a setting allows none of a kind, it is named with the command that changes it. */
    return (f->error == ENOSPC || f->error == EUSERS) && !f->fix[0];
}

void finding_write_cause(const struct finding *f, struct buf *out)
{
    buf_add_text(out, f->cause);
    if (f->fix[0])
        buf_addf(out, "; run: %s", f->fix);
}

static void write_landlock_gaps(int abi, struct json_out *j)
{
    jo_key(j, "lacks");
    jo_open(j, '[');
    for (const struct landlock_step *step = landlock_steps; step->abi; step++) {
        if (step->abi > abi)
            jo_text(j, step->what);
    }
    jo_close(j, ']');
}

static void write_finding(enum mechanism m, const struct finding *f, struct json_out *j)
{
    const struct mechanism_row *row = &mechanism_rows[m];
    jo_open(j, '{');
    jo_kown(j, "name", row->name);
    jo_ktext(j, "title", row->title);
    jo_kown(j, "needed_for", need_words[row->need]);
    jo_kown(j, "available", state_words[f->state]);
    if (*row->since)
        jo_kown(j, "since", row->since);
    if (f->version)
        jo_kint(j, "version", f->version);
    if (m == MECHANISM_LANDLOCK && f->state == FINDING_YES)
        write_landlock_gaps(f->version, j);
    if (row->need == NEED_LIMITS)
        jo_kown(j, "by", means_name(f->means));
    if (f->state == FINDING_NO) {
        jo_ktext(j, "without", row->without);
        jo_kint(j, "errno", f->error);
        jo_ktext(j, "cause", f->cause);
        jo_ktext(j, "fix", f->fix[0] ? f->fix : NULL);
    }
    jo_close(j, '}');
}

void findings_write(const struct findings *f, struct json_out *j)
{
    jo_open(j, '[');
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++)
        write_finding(m, &f->of[m], j);
    jo_close(j, ']');
}

/* The place of a word in a list; -1: it is not there. */
static int word_index(yyjson_val *word, const char *const *list, int n)
{
    for (int i = 0; yyjson_is_str(word) && i < n; i++) {
        if (strcmp(yyjson_get_str(word), list[i]) == 0)
            return i;
    }
    return -1;
}

static void read_text(yyjson_val *from, const char *key, char *out, size_t size)
{
    struct str text = json_str(yyjson_obj_get(from, key));
    snprintf(out, size, "%.*s", (int)text.n, text.p ? text.p : "");
}

static bool read_finding(yyjson_val *from, const struct mechanism_row *row, struct finding *ret)
{
    yyjson_val *name = yyjson_obj_get(from, "name");
    int state = word_index(yyjson_obj_get(from, "available"), state_words, ARRAY_LEN(state_words));
    if (!yyjson_equals_str(name, row->name) || state < 0)
        return false;
    *ret = (struct finding){.state = (enum finding_state)state,
                            .error = yyjson_get_int(yyjson_obj_get(from, "errno")),
                            .version = yyjson_get_int(yyjson_obj_get(from, "version"))};
    for (enum means by = MEANS_NONE; by <= MEANS_WATCHED; by++) {
        if (yyjson_equals_str(yyjson_obj_get(from, "by"), means_name(by)))
            ret->means = by;
    }
    read_text(from, "cause", ret->cause, sizeof ret->cause);
    read_text(from, "fix", ret->fix, sizeof ret->fix);
    return true;
}

bool findings_read(yyjson_val *from, struct findings *ret)
{
    bool good = yyjson_arr_size(from) == MECHANISM_COUNT;
    for (enum mechanism m = 0; good && m < MECHANISM_COUNT; m++)
        good = read_finding(yyjson_arr_get(from, m), &mechanism_rows[m], &ret->of[m]);
    return good;
}

void mechanisms_write_markdown(struct buf *out)
{
    buf_add_text(out, "| mechanism | in `--json` | Linux | used for | without it |\n"
                      "|---|---|---|---|---|\n");
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        const struct mechanism_row *row = &mechanism_rows[m];
        buf_addf(out, "| %s | `%s` |%s%s | %s | %s |\n", row->title, row->name,
                 *row->since ? " " : "", row->since, row->use, row->without);
    }
}
