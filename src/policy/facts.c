#include "policy/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "core/glob.h"
#include "policy/shell_words.h"
#include "policy/tool_pattern.h"

/* More than a request holds. */
#define WORDS_MAX ((size_t)1 << 30)

const char *const place_names[] = {"path", "from", "to", "cwd", "working_directory", NULL};

static bool works_on_tree(const struct facts *facts)
{
    if (!(facts->flags & TOOL_TREE))
        return false;
    return !tool_argument(facts->tool, STR("recursive")) ||
           yyjson_get_bool(facts_argument(facts, "recursive"));
}

void facts_init(struct facts *facts, const struct policy_call *call)
{
    const struct tool *tool = call->tool ? call->tool : tool_absent(call->name);
    *facts = (struct facts){.call = call, .tool = tool};
    if (!tool)
        return;
    facts->flags = tool->flags;
    facts->needs = tool->needs ? tool->needs(call->arguments, &facts->flags) : tool->capabilities;
    facts->tree = works_on_tree(facts);
}

void facts_done(struct facts *facts)
{
    for (size_t i = 0; i < PLACE_COUNT; i++)
        place_done(&facts->places[i]);
    if (facts->command)
        command_pairs_done(&facts->command->pairs);
    free(facts->command);
    facts->command = NULL;
}

/* Inner objects that are not described may have any fields. */
static bool has_inner(const struct arg *arg, const struct field *field)
{
    for (size_t i = 1; i < field->n_parts; i++) {
        if (arg->type != ARG_OBJECT && arg->type != ARG_OBJECTS)
            return false;
        if (!arg->items)
            return true;
        const struct arg *inner = NULL;
        for (size_t k = 0; k < arg->n_items && !inner; k++) {
            if (str_is(field->parts[i], arg->items[k].name))
                inner = &arg->items[k];
        }
        if (!inner)
            return false;
        arg = inner;
    }
    return true;
}

bool tool_takes(const struct tool *tool, const struct field *field)
{
    const struct arg *arg = tool_argument(tool, field->parts[0]);
    return arg && has_inner(arg, field);
}

bool facts_takes(const struct facts *facts, const struct field *field)
{
    return !facts->tool || tool_takes(facts->tool, field);
}

yyjson_val *facts_argument(const struct facts *facts, const char *name)
{
    yyjson_val *val = yyjson_obj_get(facts->call->arguments, name);
    if (!val || yyjson_is_null(val))
        return NULL;
    return !facts->tool || tool_argument(facts->tool, (struct str){name, strlen(name)}) ? val
                                                                                        : NULL;
}

yyjson_val *facts_value(const struct facts *facts, struct str name, yyjson_val *room)
{
    yyjson_val *val = yyjson_obj_getn(facts->call->arguments, name.p, name.n);
    const struct arg *arg = tool_argument(facts->tool, name);
    if (val && !yyjson_is_null(val) && (arg || !facts->tool))
        return val;
    if (!arg || arg->flags & (ARG_REQUIRED | ARG_OR_NEXT))
        return NULL;
    *room = (yyjson_val){0};
    if (arg->type == ARG_INT && arg->def != ARG_ABSENT)
        yyjson_set_sint(room, arg->def);
    else if (arg->type == ARG_BOOL)
        yyjson_set_bool(room, arg->def != 0);
    else if (arg->type == ARG_CHOICE)
        yyjson_set_str(room, arg->choices[arg->def]);
    else
        return NULL;
    return room;
}

/* The argument that holds a path in base64 in place of this one. */
static yyjson_val *in_base64(const struct facts *facts, const char *name)
{
    char other[64];
    int n = snprintf(other, sizeof other, "%s_b64", name);
    bool known = n > 0 && (size_t)n < sizeof other &&
                 (!facts->tool || tool_argument(facts->tool, (struct str){other, (size_t)n}));
    return known ? facts_argument(facts, other) : NULL;
}

static yyjson_val *within(yyjson_val *val, struct str name)
{
    if (!yyjson_is_arr(val))
        return yyjson_obj_getn(val, name.p, name.n);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_val *found = NULL;
    yyjson_arr_foreach(val, idx, max, item) {
        found = found ? found : yyjson_obj_getn(item, name.p, name.n);
    }
    return found;
}

bool facts_given(const struct facts *facts, const struct field *field)
{
    yyjson_val *val = facts_takes(facts, field) ? facts->call->arguments : NULL;
    for (size_t i = 0; i < field->n_parts; i++)
        val = within(val, field->parts[i]);
    if (val && !yyjson_is_null(val))
        return true;
    return field->place != PLACE_NONE && in_base64(facts, field->name);
}

static bool is_mounted(const struct facts *facts)
{
    const struct policy_call *call = facts->call;
    if (facts->tool)
        return facts->tool->dialect == DIALECT_TOOLHOST;
    return call->roots && call->n_roots && call->roots[0].name[0] == '@';
}

int facts_read_place(struct facts *facts, struct str text, struct place *ret)
{
    struct err err;
    ret->tree = facts->tree;
    if (place_read(ret, facts->call, is_mounted(facts), text, &err) == 0)
        return 0;
    snprintf(facts->why, sizeof facts->why, "%.250s", err.message);
    return -1;
}

/* The folder where a glob begins, as the tool that takes one finds it. */
static struct str before_glob(struct str pattern)
{
    size_t folder = 0;
    for (size_t i = 0; i < pattern.n && !strchr("*?[{\\", pattern.p[i]); i++) {
        if (pattern.p[i] == '/')
            folder = i + 1;
    }
    return (struct str){pattern.p, folder};
}

static int read_text(struct facts *facts, enum place_id id, struct str text)
{
    struct place *place = &facts->places[id];
    bool glob = id == PLACE_PATH && facts->flags & TOOL_GLOB_PATH && glob_is_pattern(text);
    struct str folder = glob ? before_glob(text) : text;
    int r = facts_read_place(facts, folder, place);
    if (id == PLACE_CWD || id == PLACE_WORKING_DIRECTORY)
        place->tree = false;
    if (glob && memchr(text.p + folder.n, '/', text.n - folder.n))
        place->tree = true;
    return r;
}

static int read_base64(struct facts *facts, enum place_id id, yyjson_val *val)
{
    BUF_AT_END struct buf decoded = BUF_INIT(PATH_TEXT_MAX);
    if (base64_decode(&decoded, json_str(val)) == 0)
        return read_text(facts, id, buf_str(&decoded));
    snprintf(facts->why, sizeof facts->why, "`%s_b64` is not the base64 of a path",
             place_names[id]);
    return -1;
}

static int read_place(struct facts *facts, enum place_id id)
{
    const char *name = place_names[id];
    yyjson_val *encoded = in_base64(facts, name);
    yyjson_val *val = facts_argument(facts, name);
    if (encoded && yyjson_is_str(encoded))
        return read_base64(facts, id, encoded);
    if (val && !encoded && yyjson_is_str(val))
        return read_text(facts, id, json_str(val));
    if (val || encoded) {
        snprintf(facts->why, sizeof facts->why, "`%s` is not a text", name);
        return -1;
    }
    const struct arg *arg = tool_argument(facts->tool, (struct str){name, strlen(name)});
    if (arg && !(arg->flags & (ARG_REQUIRED | ARG_OR_NEXT)))
        return read_text(facts, id, STR("."));
    facts->places[id].state = PLACE_MISSING;
    return 0;
}

const struct place *facts_place(struct facts *facts, enum place_id id)
{
    struct place *place = &facts->places[id];
    if (place->state == PLACE_UNREAD && read_place(facts, id) < 0)
        place->state = PLACE_UNCLEAR;
    else if (place->state == PLACE_UNCLEAR)
        snprintf(facts->why, sizeof facts->why, "`%s` cannot be read as a path", place_names[id]);
    facts->looked_at_path |= place->state != PLACE_MISSING;
    return place;
}

/* One word for a shell, whatever is in it. */
static void add_quoted(struct buf *out, struct str word)
{
    if (out->len)
        buf_add_char(out, ' ');
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_add_text(out, "'\\'");
        buf_add_char(out, word.p[i]);
    }
    buf_add_char(out, '\'');
}

static void add_words(struct buf *out, yyjson_val *words)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(words, idx, max, item) {
        add_quoted(out, json_str(item));
    }
}

/* Whether the tool takes this argument; of one that is not known, whether it is there. */
static bool takes(const struct facts *facts, const char *name)
{
    return facts->tool ? tool_argument(facts->tool, (struct str){name, strlen(name)}) != NULL
                       : facts_argument(facts, name) != NULL;
}

static bool is_empty(yyjson_val *val)
{
    return !val || (yyjson_is_ctn(val) && unsafe_yyjson_get_len(val) == 0);
}

static int read_pairs(const struct facts *facts, struct facts_command *command)
{
    yyjson_val *text = facts_argument(facts, "command");
    yyjson_val *words = takes(facts, "argv") ? facts_argument(facts, "argv") : NULL;
    BUF_AT_END struct buf quoted = BUF_INIT(SHELL_TEXT_MAX + 1);
    struct err err = {.message = "it is too long"};
    command->state = COMMAND_MISSING;
    if (!text && !words)
        return 0;
    command->state = COMMAND_UNCLEAR;
    if ((text && !yyjson_is_str(text)) || (words && !yyjson_is_arr(words))) {
        snprintf(command->why, sizeof command->why, "the command is not a text");
        return -1;
    }
    bool vector = words != NULL;
    if (takes(facts, "args")) {
        add_quoted(&quoted, json_str(text));
        add_words(&quoted, facts_argument(facts, "args"));
        vector = true;
    } else if (words) {
        add_words(&quoted, words);
    }
    if (quoted.failed ||
        command_pairs_read(vector ? buf_str(&quoted) : json_str(text), &command->pairs, &err) < 0) {
        snprintf(command->why, sizeof command->why, "the command cannot be read: %.160s",
                 err.message);
        return -1;
    }
    command->whole = command->pairs.understood && (!text || !words) &&
                     is_empty(facts_argument(facts, "env")) &&
                     is_empty(facts_argument(facts, "network"));
    command->state = COMMAND_KNOWN;
    return 0;
}

const struct facts_command *facts_command(struct facts *facts)
{
    if (!facts->command) {
        facts->command = mem_zero(sizeof *facts->command);
        read_pairs(facts, facts->command);
    }
    if (facts->command->state == COMMAND_UNCLEAR)
        snprintf(facts->why, sizeof facts->why, "%s", facts->command->why);
    return facts->command;
}

char *facts_joined_words(const struct facts *facts)
{
    yyjson_val *words = takes(facts, "argv") ? facts_argument(facts, "argv") : NULL;
    if (!yyjson_is_arr(words) || facts_argument(facts, "command"))
        return NULL;
    BUF_AT_END struct buf out = BUF_INIT(WORDS_MAX);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(words, idx, max, item) {
        if (idx)
            buf_add_char(&out, ' ');
        buf_add(&out, yyjson_is_str(item) ? yyjson_get_str(item) : "", yyjson_get_len(item));
    }
    return mem_copy(buf_str(&out).p, out.len);
}
