#include "front/verbs.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/front.h"
#include "gate/state.h"

static const struct verb *last_helped_verbs;

const struct verb *verbs_helped(void)
{
    const struct verb *last = last_helped_verbs;
    last_helped_verbs = NULL;
    return last;
}

static void add_verbs_help(const struct verbs *verbs, struct buf *out)
{
    last_helped_verbs = verbs->all;
    buf_add_text(out, verbs->usage);
    for (const struct verb *v = verbs->all; v->name; v++)
        buf_addf(out, "  %-10s %s\n", v->name, v->doc);
    buf_add_char(out, '\n');
    options_help(verbs->options, out);
}

static const struct verb *find_verb(const struct verbs *verbs, const struct options *o,
                                    struct err *err)
{
    BUF_AT_END struct buf known = BUF_INIT(256);
    for (const struct verb *v = verbs->all; v->name; v++) {
        if (o->n_words && strcmp(v->name, o->words[0]) == 0)
            return v;
        buf_addf(&known, "%s%s", v == verbs->all ? "" : ", ", v->name);
    }
    err_set(err, ERR_INVALID_ARGUMENTS, "say one of: %s; see --help", buf_text(&known));
    return NULL;
}

int verbs_run(const struct verbs *verbs, int argc, char *const *argv)
{
    struct options o;
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(verbs->out_max);
    FD_AT_END int state_fd = -1;
    if (options_read(argc, argv, verbs->options, verbs->words_max ? verbs->words_max : 2, &o,
                     &err) < 0)
        return front_usage_error(&err);
    if (o.help) {
        add_verbs_help(verbs, &out);
    } else {
        const struct verb *verb = find_verb(verbs, &o, &err);
        if (!verb || (!verbs->stateless && state_open(&state_fd, &err) < 0))
            return front_usage_error(&err);
        if (verb->run(state_fd, &o, &out, &err) < 0) {
            (void)front_put(buf_str(&out)); /* what could be listed */
            log_error("%s", err.message);
            return err.code == ERR_INVALID_ARGUMENTS ? EXIT_USAGE : EXIT_TOOL_ERROR;
        }
    }
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}
