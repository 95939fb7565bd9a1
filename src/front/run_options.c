#include "front/run_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int read_time(const char *text, int64_t *ret_ms, struct err *err)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t digits = strspn(text, "0123456789");
    int64_t number = digits && digits <= 9 ? strtoll(text, NULL, 10) : 0;
    for (size_t i = 0; number > 0 && i < ARRAY_LEN(units); i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        *ret_ms = number * units[i].ms;
        return 0;
    }
    return err_set(err, ERR_INVALID_ARGUMENTS,
                   "--timeout is `%.40s`: say how long it may take: 90, 90s, 5m, 2h, 500ms", text);
}

/* Absolute, by the names that were given: what it leads to is decided where it is shown. */
static char *absolute_path(const char *path)
{
    char here[PATH_MAX];
    if (path[0] != '/' && !getcwd(here, sizeof here))
        return NULL;
    char *whole = path[0] == '/' ? mem_dup(path) : mem_format("%s/%s", here, path);
    path_tidy(whole);
    return whole;
}

static int add_option_path(const char *option, const char *path, bool folder, char **ret,
                           struct err *err)
{
    struct stat st;
    FREE_AT_END char *whole = absolute_path(path);
    if (!whole || stat(whole, &st) < 0 || (folder && !S_ISDIR(st.st_mode) && (errno = ENOTDIR)))
        return err_set(err, ERR_NOT_FOUND, "%s %s: %s", option, path, strerror(errno));
    *ret = TAKE_PTR(whole);
    return 0;
}

/* The rest of the name's text would be JSON of its own. */
static int check_env(const struct option_list *env, struct err *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    for (size_t i = 0; i < env->n; i++) {
        size_t n = strcspn(env->all[i], "=");
        if (n == 0 || strspn(env->all[i], letters) != n ||
            (env->all[i][0] >= '0' && env->all[i][0] <= '9'))
            return err_set(err, ERR_INVALID_ARGUMENTS,
                           "--env %.*s: a variable's name has letters, digits and `_`", (int)n,
                           env->all[i]);
    }
    return 0;
}

int run_options_read(const struct options *o, struct run_options *ret, struct err *err)
{
    *ret = (struct run_options){.extra = {.memory = o->memory}};
    ret->extra.show = (const char *const *)ret->show;
    ret->extra.rw = (const char *const *)ret->rw;
    if (check_env(&o->env, err) < 0)
        return -1;
    if (o->timeout && read_time(o->timeout, &ret->timeout_ms, err) < 0)
        return -1;
    for (size_t i = 0; i < o->show.n; i++, ret->extra.n_show++) {
        if (add_option_path("--ro", o->show.all[i], false, &ret->show[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < o->rw.n; i++, ret->extra.n_rw++) {
        if (add_option_path("--rw", o->rw.all[i], true, &ret->rw[i], err) < 0)
            return -1;
    }
    return 0;
}

void run_options_done(struct run_options *o)
{
    for (size_t i = 0; i < OPTION_TIMES_MAX; i++) {
        free(o->show[i]);
        free(o->rw[i]);
    }
    *o = (struct run_options){.timeout_ms = 0};
}

static bool is_given_later(const struct option_list *list, size_t which)
{
    size_t n = strcspn(list->all[which], "=");
    for (size_t i = which + 1; i < list->n; i++) {
        if (strcspn(list->all[i], "=") == n && memcmp(list->all[i], list->all[which], n) == 0)
            return true;
    }
    return false;
}

/* The last of a name counts; one that this process does not have is not set. */
static void write_env_options(const struct option_list *list, struct json_out *j)
{
    jo_key(j, "env");
    jo_open(j, '{');
    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->all[i];
        size_t n = strcspn(text, "=");
        FREE_AT_END char *name = mem_copy(text, n);
        const char *value = text[n] == '=' ? text + n + 1 : getenv(name);
        if (!value || is_given_later(list, i))
            continue;
        jo_key(j, name);
        jo_bytes(j, (struct str){value, strlen(value)});
    }
    jo_close(j, '}');
}

static void write_run_arguments(const struct options *o, struct json_out *j)
{
    jo_open(j, '{');
    jo_key(j, "argv");
    jo_open(j, '[');
    for (int i = 0; i < o->n_rest; i++)
        jo_bytes(j, (struct str){o->rest[i], strlen(o->rest[i])});
    jo_close(j, ']');
    if (o->cwd) {
        jo_key(j, "cwd");
        jo_bytes(j, (struct str){o->cwd, strlen(o->cwd)});
    }
    if (o->env.n)
        write_env_options(&o->env, j);
    if (o->git)
        jo_kbool(j, "git", true);
    jo_close(j, '}');
}

int run_options_call(const struct options *o, struct call *call, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(1u << 20);
    struct json_out j = {.out = &text};
    struct json_error why;
    write_run_arguments(o, &j);
    /* Words of a command line are any bytes. */
    if (text.failed ||
        json_parse(text.data, text.len, text.len, JSON_INTERNAL, &call->doc, &why) < 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the command is too long");
    call->arguments = yyjson_doc_get_root(call->doc);
    return 0;
}
