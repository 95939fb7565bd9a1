#include "cell/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/arg.h"

/* 0 where it cannot be told. */
static uint64_t born_ns(int fd)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 || !(st.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec;
}

int spec_identify(int fd, struct cell_root *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    ret->device = st.st_dev;
    ret->inode = st.st_ino;
    ret->born_ns = born_ns(fd);
    ret->uid = st.st_uid;
    ret->gid = st.st_gid;
    return 0;
}

bool spec_is_root(const struct cell_root *root, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == root->device && st.st_ino == root->inode &&
           born_ns(fd) == root->born_ns;
}

static int identify_path(const char *host, const char *name, struct cell_root *ret, struct err *err)
{
    FD_AT_END int fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *ret = (struct cell_root){.host = NULL};
    if (fd < 0 || spec_identify(fd, ret) < 0)
        return err_set(err, errno == EACCES ? ERR_PERMISSION_DENIED : ERR_NOT_FOUND,
                       "folder `%s` for %s: %s", host, name, strerror(errno));
    ret->host = mem_dup(host);
    return 0;
}

int spec_add_root(struct cell_spec *spec, const struct root *root, const char *protect,
                  struct err *err)
{
    if (spec->n_roots == ROOTS_MAX)
        return err_set(err, ERR_INTERNAL, "a session has at most %d folders", ROOTS_MAX);
    struct cell_root *ret = &spec->roots[spec->n_roots];
    if (identify_path(root->host, root->name, ret, err) < 0)
        return -1;
    ret->inside = mem_dup(root->inside);
    for (size_t i = 0; i < ROOT_ALSO; i++)
        ret->also[i] = mem_dup(root->also[i]);
    ret->writable = root->writable;
    ret->protect = mem_dup(protect);
    ret->files = true;
    spec->n_roots++;
    return 0;
}

int spec_add_command_roots(struct cell_spec *spec, const struct root *roots, size_t count,
                           struct err *err)
{
    size_t files = spec->n_roots;
    for (size_t i = 0; i < count; i++) {
        struct cell_root *found = NULL;
        for (size_t k = 0; k < files; k++) {
            if (strcmp(spec->roots[k].inside, roots[i].inside) == 0)
                found = &spec->roots[k];
        }
        if (!found) {
            if (spec_add_root(spec, &roots[i], NULL, err) < 0)
                return -1;
            found = &spec->roots[spec->n_roots - 1];
            found->files = false;
        }
        found->commands = true;
    }
    return 0;
}

int spec_add_store(struct cell_spec *spec, const char *host, struct err *err)
{
    struct root root = {.name = "store", .inside = SPEC_STORE, .host = host, .writable = true};
    if (spec_add_root(spec, &root, NULL, err) < 0)
        return -1;
    struct cell_root *store = &spec->roots[spec->n_roots - 1];
    store->files = false;
    store->store = true;
    return 0;
}

size_t spec_store(const struct cell_spec *spec)
{
    return spec->n_roots && spec->roots[spec->n_roots - 1].store ? spec->n_roots - 1 : ROOTS_MAX;
}

int spec_add_layer(struct cell_spec *spec, const char *host, struct err *err)
{
    if (identify_path(host, "the session's layer", &spec->layer, err) < 0)
        return -1;
    spec->layer.inside = mem_dup("");
    spec->layer.writable = true;
    return 0;
}

const struct cell_root *spec_changed(const struct cell_spec *spec, size_t root)
{
    return root == 0 && spec->layer.host ? &spec->layer : &spec->roots[root];
}

bool spec_root_is_readonly(const struct cell_spec *spec, size_t root)
{
    return !spec->roots[root].writable || spec_changed(spec, root) != &spec->roots[root];
}

const char *spec_kept(const struct cell_spec *spec, size_t root)
{
    return spec->tier == TIER_FULL ? NULL : spec->roots[root].protect;
}

int spec_add_shown(struct cell_spec *spec, const char *path, bool is_file, struct err *err)
{
    if (spec->n_shown == SHOWN_MAX)
        return err_set(err, ERR_INTERNAL, "at most %d folders are shown to commands", SHOWN_MAX);
    spec->shown_is_file[spec->n_shown] = is_file;
    spec->shown[spec->n_shown++] = mem_dup(path);
    return 0;
}

int spec_add_file(struct cell_spec *spec, const char *host, const char *inside, struct err *err)
{
    for (size_t i = 0; i < spec->n_files; i++) {
        if (strcmp(spec->files[i].inside, inside) == 0)
            return 0;
    }
    if (spec->n_files == SPEC_FILES_MAX)
        return err_set(err, ERR_INTERNAL, "a role's program has more than %d files",
                       SPEC_FILES_MAX);
    spec->files[spec->n_files++] = (struct cell_file){mem_dup(host), mem_dup(inside)};
    return 0;
}

static void hide_at(struct cell_spec *spec, char *path)
{
    if (spec->n_hidden == HIDDEN_MAX)
        abort();
    spec->hidden[spec->n_hidden++] = path;
}

void spec_hide(struct cell_spec *spec, const char *path)
{
    hide_at(spec, mem_dup(path));
    spec_hide_in_shown(spec, path);
}

void spec_hide_in_shown(struct cell_spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->n_shown; i++) {
        FREE_AT_END char *real = realpath(spec->shown[i], NULL);
        const char *rest = real ? path_rest(path, real) : NULL;
        if (rest)
            hide_at(spec, mem_format("%s/%s", spec->shown[i], rest));
        else if (real && path_rest(real, path))
            hide_at(spec, mem_dup(spec->shown[i]));
    }
}

void spec_choose_owner(struct cell_spec *spec, uint32_t euid, uint32_t egid, uint32_t spare)
{
    const struct cell_root none = {0};
    const struct cell_root *first = spec->n_roots ? &spec->roots[0] : &none;
    spec->uid = euid != 0 ? euid : first->uid != 0 ? first->uid : spare;
    spec->gid = euid != 0 ? egid : first->gid != 0 ? first->gid : spare;
}

struct wire_root {
    struct str host;
    struct str inside;
    struct str also0;
    struct str also1;
    struct str protect;
    bool writable;
    bool files;
    bool commands;
    bool store;
    /* As text: they use all 64 bits. */
    struct str device;
    struct str inode;
    struct str born_ns;
    int64_t uid;
    int64_t gid;
};

/* clang-tidy wants parentheses around names of members, which C does not have. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define FIELD(struct_, kind, name_, flags_)                                                        \
    {                                                                                              \
        .name = #name_, .type = (kind), .flags = (flags_),                                         \
        .offset = offsetof(struct struct_, name_), .min = (kind) == ARG_INT ? INT64_MIN : 0        \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct arg root_fields[] = {
    FIELD(wire_root, ARG_STRING, host, ARG_REQUIRED),
    FIELD(wire_root, ARG_STRING, inside, ARG_REQUIRED),
    FIELD(wire_root, ARG_STRING, also0, 0),
    FIELD(wire_root, ARG_STRING, also1, 0),
    FIELD(wire_root, ARG_STRING, protect, 0),
    FIELD(wire_root, ARG_BOOL, writable, 0),
    FIELD(wire_root, ARG_BOOL, files, 0),
    FIELD(wire_root, ARG_BOOL, commands, 0),
    FIELD(wire_root, ARG_BOOL, store, 0),
    FIELD(wire_root, ARG_STRING, device, ARG_REQUIRED),
    FIELD(wire_root, ARG_STRING, inode, ARG_REQUIRED),
    FIELD(wire_root, ARG_STRING, born_ns, ARG_REQUIRED),
    FIELD(wire_root, ARG_INT, uid, ARG_REQUIRED),
    FIELD(wire_root, ARG_INT, gid, ARG_REQUIRED),
};
static const struct arg_table root_table = ARG_TABLE(root_fields, struct wire_root);

struct wire_spec {
    int64_t tier;
    int64_t uid;
    int64_t gid;
    int64_t umask;
    int64_t threads;
    bool system;
    bool commands;
    bool commits;
    int64_t home_bytes;
    int64_t tmp_bytes;
    struct str program;
    bool network;
};

static const struct arg spec_fields[] = {
    FIELD(wire_spec, ARG_INT, tier, ARG_REQUIRED),
    FIELD(wire_spec, ARG_INT, uid, ARG_REQUIRED),
    FIELD(wire_spec, ARG_INT, gid, ARG_REQUIRED),
    FIELD(wire_spec, ARG_INT, umask, ARG_REQUIRED),
    FIELD(wire_spec, ARG_INT, threads, ARG_REQUIRED),
    FIELD(wire_spec, ARG_BOOL, system, 0),
    FIELD(wire_spec, ARG_BOOL, commands, 0),
    FIELD(wire_spec, ARG_BOOL, commits, 0),
    FIELD(wire_spec, ARG_INT, home_bytes, 0),
    FIELD(wire_spec, ARG_INT, tmp_bytes, 0),
    FIELD(wire_spec, ARG_STRING, program, 0),
    FIELD(wire_spec, ARG_BOOL, network, 0),
};
static const struct arg_table spec_table = ARG_TABLE(spec_fields, struct wire_spec);

static void write_root(const struct cell_root *r, struct json_out *j)
{
    char device[24];
    char inode[24];
    char born[24];
    snprintf(device, sizeof device, "%" PRIu64, r->device);
    snprintf(inode, sizeof inode, "%" PRIu64, r->inode);
    snprintf(born, sizeof born, "%" PRIu64, r->born_ns);
    struct wire_root root = {
        .host = str_of(r->host),
        .inside = str_of(r->inside),
        .also0 = str_of(r->also[0]),
        .also1 = str_of(r->also[1]),
        .protect = str_of(r->protect),
        .writable = r->writable,
        .files = r->files,
        .commands = r->commands,
        .store = r->store,
        .device = str_of(device),
        .inode = str_of(inode),
        .born_ns = str_of(born),
        .uid = r->uid,
        .gid = r->gid,
    };
    arg_encode(&root_table, &root, j);
}

void spec_write(const struct cell_spec *spec, struct json_out *j)
{
    struct wire_spec wire = {.tier = spec->tier,
                             .uid = spec->uid,
                             .gid = spec->gid,
                             .umask = spec->umask,
                             .threads = spec->threads,
                             .system = spec->system,
                             .commands = spec->commands,
                             .commits = spec->commits,
                             .home_bytes = (int64_t)spec->home_bytes,
                             .tmp_bytes = (int64_t)spec->tmp_bytes,
                             .program = str_of(spec->program),
                             .network = spec->network};
    jo_open(j, '{');
    jo_key(j, "cell");
    arg_encode(&spec_table, &wire, j);
    jo_key(j, "roots");
    jo_open(j, '[');
    for (size_t i = 0; i < spec->n_roots; i++)
        write_root(&spec->roots[i], j);
    jo_close(j, ']');
    if (spec->layer.host) {
        jo_key(j, "layer");
        write_root(&spec->layer, j);
    }
    jo_key(j, "shown");
    jo_open(j, '[');
    for (size_t i = 0; i < spec->n_shown; i++)
        jo_bytes(j, str_of(spec->shown[i]));
    jo_close(j, ']');
    jo_key(j, "shown_files");
    jo_open(j, '[');
    for (size_t i = 0; i < spec->n_shown; i++)
        jo_bool(j, spec->shown_is_file[i]);
    jo_close(j, ']');
    if (spec->gitconfig) {
        jo_key(j, "gitconfig");
        jo_bytes(j, str_of(spec->gitconfig));
    }
    jo_key(j, "hidden");
    jo_open(j, '[');
    for (size_t i = 0; i < spec->n_hidden; i++)
        jo_bytes(j, str_of(spec->hidden[i]));
    jo_close(j, ']');
    jo_key(j, "files");
    jo_open(j, '[');
    for (size_t i = 0; i < spec->n_files; i++) {
        jo_bytes(j, str_of(spec->files[i].host));
        jo_bytes(j, str_of(spec->files[i].inside));
    }
    jo_close(j, ']');
    jo_close(j, '}');
}

static int read_root(yyjson_val *val, struct cell_root *ret, struct err *err)
{
    struct wire_root wire = {0};
    if (arg_decode(&root_table, true, val, &wire, err) < 0)
        return -1;
    *ret = (struct cell_root){
        .host = mem_copy_str(wire.host),
        .inside = mem_copy_str(wire.inside),
        .also = {mem_copy_str(wire.also0), mem_copy_str(wire.also1)},
        .writable = wire.writable,
        .files = wire.files,
        .commands = wire.commands,
        .store = wire.store,
        .protect = mem_copy_str(wire.protect),
        .device = strtoull(wire.device.p, NULL, 10),
        .inode = strtoull(wire.inode.p, NULL, 10),
        .born_ns = strtoull(wire.born_ns.p, NULL, 10),
        .uid = (uint32_t)wire.uid,
        .gid = (uint32_t)wire.gid,
    };
    return 0;
}

/* Pairs, one behind the other. */
static int read_files(yyjson_val *list, struct cell_spec *ret, struct err *err)
{
    size_t n = yyjson_arr_size(list);
    for (size_t i = 0; i + 1 < n; i += 2) {
        const char *host = yyjson_get_str(yyjson_arr_get(list, i));
        const char *inside = yyjson_get_str(yyjson_arr_get(list, i + 1));
        if (!host || !inside)
            return err_set(err, ERR_INTERNAL, "cell specification: files");
        if (spec_add_file(ret, host, inside, err) < 0)
            return -1;
    }
    return 0;
}

int spec_read(struct str json, struct cell_spec *ret, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_error why;
    if (json_parse(json.p, json.n, json.n, JSON_INTERNAL, &doc, &why) < 0)
        return err_set(err, ERR_INTERNAL, "cell specification: %s", why.what);
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct wire_spec wire = {0};
    if (arg_decode(&spec_table, true, yyjson_obj_get(root, "cell"), &wire, err) < 0)
        return -1;
    *ret = (struct cell_spec){.tier = wire.tier == TIER_FULL       ? TIER_FULL
                                      : wire.tier == TIER_LANDLOCK ? TIER_LANDLOCK
                                                                   : TIER_NONE,
                              .uid = (uint32_t)wire.uid,
                              .gid = (uint32_t)wire.gid,
                              .umask = (uint32_t)wire.umask,
                              .threads = (uint32_t)wire.threads,
                              .system = wire.system,
                              .commands = wire.commands,
                              .commits = wire.commits,
                              .home_bytes = (uint64_t)wire.home_bytes,
                              .tmp_bytes = (uint64_t)wire.tmp_bytes,
                              .program = mem_copy_str(wire.program),
                              .network = wire.network};
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(root, "roots"), idx, max, item) {
        if (ret->n_roots == ROOTS_MAX || read_root(item, &ret->roots[ret->n_roots], err) < 0) {
            spec_done(ret);
            return err_set(err, ERR_INTERNAL, "cell specification: folders");
        }
        ret->n_roots++;
    }
    yyjson_val *layer = yyjson_obj_get(root, "layer");
    if (layer && read_root(layer, &ret->layer, err) < 0) {
        spec_done(ret);
        return -1;
    }
    yyjson_val *files = yyjson_obj_get(root, "shown_files");
    yyjson_arr_foreach(yyjson_obj_get(root, "shown"), idx, max, item) {
        bool is_file = yyjson_get_bool(yyjson_arr_get(files, idx));
        if (!yyjson_is_str(item) || spec_add_shown(ret, yyjson_get_str(item), is_file, err) < 0) {
            spec_done(ret);
            return err_set(err, ERR_INTERNAL, "cell specification: shown folders");
        }
    }
    ret->gitconfig = mem_dup(yyjson_get_str(yyjson_obj_get(root, "gitconfig")));
    yyjson_arr_foreach(yyjson_obj_get(root, "hidden"), idx, max, item) {
        if (!yyjson_is_str(item) || ret->n_hidden == HIDDEN_MAX) {
            spec_done(ret);
            return err_set(err, ERR_INTERNAL, "cell specification: hidden folders");
        }
        ret->hidden[ret->n_hidden++] = mem_dup(yyjson_get_str(item));
    }
    if (read_files(yyjson_obj_get(root, "files"), ret, err) < 0) {
        spec_done(ret);
        return -1;
    }
    bool odd = wire.gid < 0 || wire.gid > UINT32_MAX;
    if (odd || ret->tier == TIER_NONE || (ret->n_roots == 0 && !ret->program) || ret->uid == 0 ||
        ret->threads == 0) {
        spec_done(ret);
        return err_set(err, ERR_INTERNAL, "cell specification: needs a tier, a root and a uid");
    }
    return 0;
}

static void free_cell_root(struct cell_root *root)
{
    free(root->host);
    free(root->inside);
    for (size_t k = 0; k < ROOT_ALSO; k++)
        free(root->also[k]);
    free(root->protect);
    *root = (struct cell_root){.host = NULL};
}

void spec_done(struct cell_spec *spec)
{
    for (size_t i = 0; i < spec->n_roots; i++)
        free_cell_root(&spec->roots[i]);
    free_cell_root(&spec->layer);
    for (size_t i = 0; i < spec->n_shown; i++)
        free(spec->shown[i]);
    for (size_t i = 0; i < spec->n_hidden; i++)
        free(spec->hidden[i]);
    free(spec->gitconfig);
    spec->gitconfig = NULL;
    for (size_t i = 0; i < spec->n_files; i++) {
        free(spec->files[i].host);
        free(spec->files[i].inside);
    }
    free(TAKE_PTR(spec->program));
    spec->n_files = 0;
    spec->n_roots = 0;
    spec->n_shown = 0;
    spec->n_hidden = 0;
}
