/* `sandgate setup`: connects a client of the Model Context Protocol, switches its own tools off and allows ours. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "front/doctor_agents.h"
#include "front/front.h"
#include "front/setup_parts.h"

#define OPTIONS (OPTIONS_SETUP | OPTIONS_FOLDER)
#define OUT_MAX (1u << 20)
#define COMMAND_MAX (16u << 10)
#define PATH_SHOWN 1024

struct setup {
    const struct setup_client *client;
    const char *project;
    bool write;
    struct buf command; /* JSON, as $COMMAND */
    struct buf args;
    struct buf out;
};

/* One file, as it is and as it is to be. */
struct change {
    const struct setup_file *file;
    struct setup_target target;
    struct buf text;
    struct buf replaced;
    bool same;
};

static void change_done(struct change *c)
{
    setup_target_done(&c->target);
    buf_done(&c->text);
    buf_done(&c->replaced);
}

/* --- what is written */

static void add_string(struct buf *out, struct str text)
{
    struct json_out j = {.out = out};
    jo_str(&j, text);
}

/* The name alone where a shell finds this very program by it: a project's files are used by others, too. */
static char *own_command(void)
{
    FREE_AT_END char *self = realpath("/proc/self/exe", NULL);
    static const struct agent_row own = {.name = "sandgate"};
    FREE_AT_END char *found = agent_program(&own);
    FREE_AT_END char *real = found ? realpath(found, NULL) : NULL;
    if (!self || (real && strcmp(real, self) == 0))
        return mem_dup("sandgate");
    return TAKE_PTR(self);
}

static int take_command(struct setup *s, const char *workspace, struct err *err)
{
    FREE_AT_END char *command = own_command();
    add_string(&s->command, str_of(command));
    buf_add_text(&s->args, "\"mcp\"");
    if (!workspace)
        return 0;
    FREE_AT_END char *real = realpath(workspace, NULL);
    if (!real)
        return err_field(err, "workspace", "there is no folder `%.200s`", workspace);
    if (!shown_is_fit(str_of(real), false))
        return err_field(err, "workspace",
                         "the path of the workspace has characters that cannot be seen");
    buf_add_text(&s->args, ", \"--workspace\", ");
    add_string(&s->args, str_of(real));
    return 0;
}

static void fill_template(const struct setup *s, const char *text, struct buf *out)
{
    while (text && *text) {
        size_t n = strcspn(text, "$");
        buf_add(out, text, n);
        text += n;
        if (*text != '$')
            return;
        bool args = strncmp(text, "$ARGS", 5) == 0;
        const struct buf *with = args ? &s->args : &s->command;
        buf_add(out, with->data, with->len);
        text += args ? strlen("$ARGS") : strlen("$COMMAND");
    }
}

/* What `old` becomes. */
static int merge_file(const struct setup *s, const struct setup_file *file, struct str old,
                      struct change *ret, struct err *err)
{
    BUF_AT_END struct buf wanted = BUF_INIT(COMMAND_MAX);
    fill_template(s, file->wanted, &wanted);
    if (file->kind == SETUP_JSON)
        return setup_merge_json(old, buf_str(&wanted), &ret->text, &ret->replaced, &ret->same, err);
    return setup_merge_toml(old, str_of(file->head), buf_str(&wanted), &ret->text, &ret->same, err);
}

static int prepare_change(const struct setup *s, const struct setup_file *file, struct change *ret,
                          struct err *err)
{
    *ret = (struct change){.file = file,
                           .target = SETUP_TARGET_INIT,
                           .text = BUF_INIT(2 * SETUP_BYTES_MAX),
                           .replaced = BUF_INIT(COMMAND_MAX)};
    struct err why;
    if (setup_open(&ret->target, file->place, s->project, err) < 0)
        return -1;
    if (merge_file(s, file, buf_str(&ret->target.old), ret, &why) == 0)
        return 0;
    return err_set(err, why.code, "%.200s: %.300s", ret->target.path, why.message);
}

/* --- what is said */

static void add_path(struct buf *out, const char *before, const char *path, const char *after)
{
    buf_add_text(out, before);
    shown_line(str_of(path), PATH_SHOWN, out);
    buf_add_text(out, after);
}

static void tell_replaced_lines(struct setup *s, const struct change *c)
{
    for (struct str rest = buf_str(&c->replaced); rest.n;) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        buf_add_text(&s->out, "    replaced: ");
        shown_line((struct str){rest.p, n}, PATH_SHOWN, &s->out);
        buf_add_char(&s->out, '\n');
        rest = str_behind(rest, n + (end != NULL));
    }
}

/* What would be in an empty file: of what is there, nothing is shown. */
static int show_fragment(struct setup *s, const struct setup_file *file, struct err *err)
{
    struct change alone = {.text = BUF_INIT(2 * SETUP_BYTES_MAX),
                           .replaced = BUF_INIT(COMMAND_MAX)};
    alone.target = SETUP_TARGET_INIT;
    int r = merge_file(s, file, STR(""), &alone, err);
    if (r == 0)
        shown_text(buf_str(&alone.text), "    ", &s->out);
    change_done(&alone);
    return r;
}

static int show_change(struct setup *s, const struct change *c, struct err *err)
{
    const char *state = c->same            ? " has this already:\n"
                        : c->target.exists ? " is to have this besides what it has:\n"
                                           : ", a new file:\n";
    add_path(&s->out, "  ", c->target.path, state);
    tell_replaced_lines(s, c);
    return show_fragment(s, c->file, err);
}

static int make_change(struct setup *s, const struct change *c, struct err *err)
{
    FREE_AT_END char *backup = NULL;
    if (c->same) {
        add_path(&s->out, "  ", c->target.path, ": all of it was there\n");
        return 0;
    }
    if (setup_store(&c->target, buf_str(&c->text), &backup, err) < 0)
        return -1;
    add_path(&s->out, "  ", c->target.path, c->target.exists ? ": changed\n" : ": made\n");
    tell_replaced_lines(s, c);
    if (backup)
        add_path(&s->out, "    as it was: ", backup, "\n");
    return 0;
}

/* All are merged before the first is written. */
static int do_changes(struct setup *s, struct err *err)
{
    struct change changes[SETUP_FILES];
    size_t n = 0;
    int r = 0;
    while (r == 0 && n < SETUP_FILES && s->client->files[n].place) {
        r = prepare_change(s, &s->client->files[n], &changes[n], err);
        n++;
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = s->write ? make_change(s, &changes[i], err) : show_change(s, &changes[i], err);
    for (size_t i = 0; i < n; i++)
        change_done(&changes[i]);
    return r;
}

static int set_up_client(struct setup *s, struct err *err)
{
    buf_addf(&s->out, "%s\n", s->client->title);
    int r = do_changes(s, err);
    if (r == 0)
        buf_addf(&s->out, "\n%s", s->client->then);
    if (r == 0 && !s->write)
        buf_addf(&s->out, "\n`sandgate setup %s --write` writes it.\n", s->client->name);
    return r;
}

/* --- without a client */

static const struct agent_row *agent_row_of(const struct setup_client *client)
{
    for (size_t i = 0; i < agent_row_count; i++) {
        if (strcmp(agent_rows[i].name, client->name) == 0)
            return &agent_rows[i];
    }
    return NULL;
}

static void list_clients(struct buf *out)
{
    for (size_t i = 0; i < setup_client_count; i++) {
        const struct agent_row *row = agent_row_of(&setup_clients[i]);
        FREE_AT_END char *program = row ? agent_program(row) : NULL;
        FREE_AT_END char *settings = row ? agent_settings(row) : NULL;
        buf_addf(out, "%-9s %-12s ", setup_clients[i].name, setup_clients[i].title);
        add_path(out, program ? "" : "not in PATH", program ? program : "", "; ");
        add_path(out, settings ? "connected by " : "not connected", settings ? settings : "", "\n");
    }
    buf_add_text(out, "\n`sandgate setup CLIENT` shows what its configuration needs here, with "
                      "--write it is written.\n");
}

static int find_client(const char *name, const struct setup_client **ret, struct err *err)
{
    BUF_AT_END struct buf known = BUF_INIT(512);
    for (size_t i = 0; i < setup_client_count; i++) {
        *ret = &setup_clients[i];
        if (strcmp((*ret)->name, name) == 0)
            return 0;
        buf_addf(&known, "%s%s", i ? ", " : "", (*ret)->name);
    }
    return err_set(err, ERR_INVALID_ARGUMENTS, "no client `%.40s` is known; say one of: %s", name,
                   buf_text(&known));
}

static void help_setup(struct buf *out)
{
    buf_add_text(out,
                 "usage: sandgate setup [CLIENT [--write] [--workspace DIR]]\n\n"
                 "Shows what makes an agent work through `sandgate mcp` alone: the server, its own "
                 "shell and editor switched\noff, Sandgate's tools allowed. With --write this is "
                 "added to the client's files; what is there stays, and\neach changed file is kept "
                 "as NAME.before-sandgate. With --workspace the files of that project are meant, "
                 "and the\nserver works there; else it works where the client is started. Without "
                 "CLIENT it lists those that are known.\n\n");
    options_help(OPTIONS, out);
}

static int run_setup(struct setup *s, const struct options *o)
{
    struct err err;
    if (o->n_words == 0) {
        if (o->write || o->workspace)
            err_set(&err, ERR_INVALID_ARGUMENTS, "say which client; see --help");
        else
            list_clients(&s->out);
        return o->write || o->workspace ? front_usage_error(&err) : EXIT_OK;
    }
    if (find_client(o->words[0], &s->client, &err) < 0 || take_command(s, o->workspace, &err) < 0)
        return front_usage_error(&err);
    if (set_up_client(s, &err) == 0)
        return EXIT_OK;
    log_error("%s", err.message);
    return EXIT_TOOL_ERROR;
}

int front_setup(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    if (options_read(argc, argv, OPTIONS, 1, &o, &err) < 0)
        return front_usage_error(&err);
    struct setup s = {.project = o.workspace ? o.workspace : ".",
                      .write = o.write,
                      .command = BUF_INIT(COMMAND_MAX),
                      .args = BUF_INIT(COMMAND_MAX),
                      .out = BUF_INIT(OUT_MAX)};
    int status = EXIT_OK;
    if (o.help)
        help_setup(&s.out);
    else
        status = run_setup(&s, &o);
    int r = front_put(buf_str(&s.out));
    buf_done(&s.command);
    buf_done(&s.args);
    buf_done(&s.out);
    return r < 0 && status == EXIT_OK ? EXIT_TOOL_ERROR : status;
}
