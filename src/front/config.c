/* `sandgate config check|show|explain`: what the operator's configuration says, and what can be said in one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/config.h"
#include "front/front.h"
#include "front/verbs.h"
#include "gate/manifests.h"
#include "gate/setting_warnings.h"
#include "gate/state.h"
#include "policy/judge.h"

#define OUT_MAX (16u << 20)

static void config_freep(struct config **config)
{
    config_free(*config);
}

static int load_config(const struct options *o, struct config **ret, struct err *err)
{
    const char *file = o->n_words > 1 && strcmp(o->words[0], "check") == 0 ? o->words[1]
                                                                           : o->config;
    struct config *config = config_new();
    int r = state_load_config(config, file, err);
    if (r == 0)
        *ret = config;
    else
        config_free(config);
    return r;
}

static int check_config(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    (void)state_fd;
    CLEANUP(config_freep) struct config *config = NULL;
    struct policy *policy = NULL;
    struct manifests *manifests = NULL;
    int r = load_config(o, &config, err);
    if (r == 0)
        r = manifests_load(config, &manifests, err);
    if (r == 0)
        r = policy_new(&policy, config, err);
    if (r == 0) {
        setting_warnings_tools(config);
        setting_warnings_rules(policy);
        buf_add_text(out, "the configuration can be used\n");
    }
    policy_free(policy);
    manifests_free(manifests); /* the policy knows tools by their rows */
    return r;
}

static void show_line(void *arg, const char *pattern, const char *path, struct str json)
{
    struct buf *out = arg;
    (void)pattern;
    buf_addf(out, "%s = %.*s\n", path, (int)json.n, json.p);
}

/* The object behind the next name of a path, made where it is missing; a map's key may have dots in it. */
static yyjson_mut_val *enter_object(yyjson_mut_doc *doc, yyjson_mut_val *at, struct str name)
{
    yyjson_mut_val *inner = yyjson_mut_obj_getn(at, name.p, name.n);
    if (inner)
        return inner;
    inner = yyjson_mut_obj(doc);
    yyjson_mut_obj_put(at, yyjson_mut_strncpy(doc, name.p, name.n), inner);
    return inner;
}

static void add_to_tree(void *arg, const char *pattern, const char *path, struct str json)
{
    yyjson_mut_doc *doc = arg;
    yyjson_mut_val *at = yyjson_mut_doc_get_root(doc);
    size_t key = strlen(path) + 1 - strlen(pattern); /* what `*` stands for, where there is one */
    JSON_AT_END yyjson_doc *value = yyjson_read(json.p, json.n, 0);
    for (;;) {
        size_t n = strcspn(pattern, ".");
        bool star = n == 1 && *pattern == '*';
        struct str name = {path, star ? key : n};
        path += name.n + 1;
        pattern += n;
        if (*pattern++ == '\0') {
            yyjson_mut_obj_put(at, yyjson_mut_strncpy(doc, name.p, name.n),
                               yyjson_val_mut_copy(doc, yyjson_doc_get_root(value)));
            return;
        }
        at = enter_object(doc, at, name);
    }
}

static void show_as_json(const struct config *config, struct buf *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    config_each_set(config, add_to_tree, doc);
    FREE_AT_END char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL);
    yyjson_mut_doc_free(doc);
    buf_addf(out, "%s\n", text ? text : "{}");
}

static int show_config(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    (void)state_fd;
    CLEANUP(config_freep) struct config *config = NULL;
    if (load_config(o, &config, err) < 0)
        return -1;
    if (o->json)
        show_as_json(config, out);
    else
        config_each_set(config, show_line, out);
    if (out->len == 0)
        buf_add_text(out,
                     "everything has its default; `sandgate config explain` lists all fields\n");
    return 0;
}

static int explain_field(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    (void)state_fd;
    const char *path = o->n_words > 1 ? o->words[1] : "";
    config_explain(path, out);
    if (out->len)
        return 0;
    const char *meant = config_meant(path);
    return err_set(err, ERR_INVALID_ARGUMENTS, "there is no field `%.80s`%s%s%s", path,
                   meant ? "; did you mean `" : "; `sandgate config explain` lists all of them",
                   meant ? meant : "", meant ? "`?" : "");
}

static const struct verb config_verbs[] = {
    {"check", check_config, "say what is wrong with the configuration, or with FILE"},
    {"show", show_config,
     "what is set, the environment included; as JSON, a file that sets the same"},
    {"explain", explain_field, "what FIELD means, or all fields that begin with it"},
    {0},
};

static const struct verbs verbs_of_config = {
    .all = config_verbs,
    .usage = "usage: sandgate config check [FILE] | show | explain [FIELD]\n\n",
    .options = OPTIONS_FILE | OPTIONS_LISTING,
    .out_max = OUT_MAX,
    .stateless = true,
};

int front_config(int argc, char *const *argv)
{
    return verbs_run(&verbs_of_config, argc, argv);
}
