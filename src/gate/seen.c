#include "gate/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cell/mountinfo.h"
#include "cell/plan.h"
#include "gate/state.h"

struct seeing {
    const struct places *places;
    const struct config *config;
    const char *own;
    struct err *err;
    int r;
};

static void refuse_seen_folder(struct seeing *s, const char *field, const char *folder,
                               const char *other)
{
    s->r = err_field(
        s->err, field,
        "%s: %.200s shows %.200s, which is Sandgate's own, as %.200s: unmount that, or "
        "name a folder further down",
        field, folder, s->own, other);
}

static void check_shown(struct seeing *s, const char *other)
{
    const struct str *shown;
    size_t count = 0;
    if (!s->places->n_commands || !config_list(s->config, "commands.show", &shown, &count))
        return;
    for (size_t i = 0; s->r == 0 && i < count; i++) {
        FREE_AT_END char *real = realpath(shown[i].p, NULL);
        if (real && path_meets(other, real))
            refuse_seen_folder(s, "commands.show", shown[i].p, other);
    }
}

static void check_seen_places(struct seeing *s, const char *other)
{
    const struct places *p = s->places;
    for (size_t i = 0; s->r == 0 && i < p->count + p->n_commands; i++) {
        const struct root *root = i < p->count ? &p->roots[i] : &p->commands[i - p->count];
        if (path_meets(other, root->host))
            refuse_seen_folder(s, root->name, root->host, other);
    }
    for (const char *const *at = plan_system_paths; p->n_commands && s->r == 0 && *at; at++) {
        if (path_rest(other, *at))
            refuse_seen_folder(s, "commands", *at, other);
    }
}

static void check_other_name(void *arg, const char *other)
{
    struct seeing *s = arg;
    if (s->r == 0)
        check_shown(s, other);
    if (s->r == 0)
        check_seen_places(s, other);
}

/* What is not there yet has no other name. */
static void check_own(struct seeing *s, const struct mountinfo *mounts, char *path)
{
    FREE_AT_END char *named = path;
    FREE_AT_END char *real = path ? realpath(path, NULL) : NULL;
    if (!real || s->r < 0)
        return;
    s->own = real;
    int r = mountinfo_names(mounts, real, check_other_name, s);
    if (r == 0)
        r = mountinfo_parts(mounts, real, check_other_name, s);
    /* A gate in a `chroot` may be on a mount that is not listed: nothing can be said of its names. */
    if (r < 0 && r != -ESTALE && s->r == 0)
        s->r = err_set(s->err, err_code_for_file(-r), "looking for the names of %.200s: %s", real,
                       strerror(-r));
}

int seen_refuse(const struct places *places, const struct config *config, const char *config_file,
                struct err *err)
{
    struct mountinfo mounts;
    struct seeing s = {.places = places, .config = config, .err = err};
    int r = mountinfo_read(-1, &mounts);
    if (r < 0)
        s.r = err_set(err, err_code_for_file(-r), "reading /proc/self/mountinfo: %s", strerror(-r));
    check_own(&s, &mounts, state_path());
    check_own(&s, &mounts, state_config_path());
    check_own(&s, &mounts, state_config_file(config_file));
    mountinfo_done(&mounts);
    return s.r;
}
