#include "policy/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "core/glob.h"
#include "policy/facts_variables.h"
#include "policy/shell_words.h"
#include "policy/tool_pattern.h"

/* More than a request holds. */
#define WORDS_MAX ((size_t)1 << 30)

static bool works_on_tree(const struct facts *facts)
{
    if (!(facts->flags & TOOL_TREE))
        return false;
    return !arg_next(&facts->tool->args, ARG_DEEP, NULL) ||
           yyjson_get_bool(facts_used(facts, ARG_DEEP));
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
    for (size_t i = 0; i < PLACES_MAX; i++)
        place_done(&facts->places[i]);
    if (facts->command) {
        command_pairs_done(&facts->command->pairs);
        free(facts->command->folder);
    }
    free(facts->command);
    facts->command = NULL;
}

static const struct arg *find_inner(const struct arg *arg, struct str name)
{
    for (size_t i = 0; i < arg->n_items; i++) {
        if (str_is(name, arg->items[i].name))
            return &arg->items[i];
    }
    return NULL;
}

bool tool_takes(const struct tool *tool, const struct field *field, const struct arg **ret_arg)
{
    const struct arg *arg = tool_argument(tool, field->parts[0]);
    for (size_t i = 1; arg && i < field->n_parts; i++) {
        if (arg->type != ARG_OBJECT && arg->type != ARG_OBJECTS)
            return false;
        if (!arg->items) {
            *ret_arg = NULL;
            return true;
        }
        arg = find_inner(arg, field->parts[i]);
    }
    *ret_arg = arg;
    return arg != NULL;
}

bool facts_takes(const struct facts *facts, const struct field *field)
{
    const struct arg *arg;
    return !facts->tool || tool_takes(facts->tool, field, &arg);
}

yyjson_val *facts_value_of(const struct facts *facts, const struct arg *arg)
{
    yyjson_val *val = arg ? yyjson_obj_get(facts->call->arguments, arg->name) : NULL;
    return yyjson_is_null(val) ? NULL : val;
}

yyjson_val *facts_used(const struct facts *facts, unsigned uses)
{
    return facts->tool ? facts_value_of(facts, arg_next(&facts->tool->args, uses, NULL)) : NULL;
}

bool facts_wants_git(const struct facts *facts)
{
    return yyjson_is_true(facts_used(facts, ARG_GIT));
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

/* What is given in base64 in place of this argument. */
static yyjson_val *in_base64(const struct facts *facts, const struct arg *arg)
{
    return arg ? facts_value_of(facts, arg_in_base64(&facts->tool->args, arg)) : NULL;
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
    return field->n_parts == 1 && in_base64(facts, tool_argument(facts->tool, field->parts[0]));
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

static int read_path_text(struct facts *facts, const struct arg *arg, struct str text,
                          struct place *place)
{
    bool glob = arg_use(arg) & ARG_GLOB && glob_is_pattern(text);
    struct str folder = glob ? glob_folder(text) : text;
    int r = facts_read_place(facts, folder, place);
    if (arg_use(arg) & ARG_FOLDER)
        place->tree = false;
    if (glob && memchr(text.p + folder.n, '/', text.n - folder.n))
        place->tree = true;
    return r;
}

static int read_base64(struct facts *facts, const struct arg *arg, yyjson_val *val,
                       struct place *place)
{
    BUF_AT_END struct buf decoded = BUF_INIT(PATH_TEXT_MAX);
    if (base64_decode(&decoded, json_str(val)) == 0)
        return read_path_text(facts, arg, buf_str(&decoded), place);
    snprintf(facts->why, sizeof facts->why, "`%.60s` is not the base64 of a path",
             arg_in_base64(&facts->tool->args, arg)->name);
    return -1;
}

static int not_a_text(struct facts *facts, const struct arg *arg)
{
    snprintf(facts->why, sizeof facts->why, "`%.60s` is not a text", arg->name);
    return -1;
}

static int read_place(struct facts *facts, const struct arg *arg, struct place *place)
{
    yyjson_val *encoded = in_base64(facts, arg);
    yyjson_val *val = facts_value_of(facts, arg);
    if (encoded && yyjson_is_str(encoded))
        return read_base64(facts, arg, encoded, place);
    if (val && !encoded && yyjson_is_str(val))
        return read_path_text(facts, arg, json_str(val), place);
    if (val || encoded)
        return not_a_text(facts, arg);
    if (!(arg->flags & (ARG_REQUIRED | ARG_OR_NEXT)))
        return read_path_text(facts, arg, STR("."), place);
    place->state = PLACE_MISSING;
    return 0;
}

/* The tables are checked to have no more of them than there is room for. */
static struct place *slot_for(struct facts *facts, const struct arg *arg)
{
    size_t slot = 0;
    const struct arg_table *table = &facts->tool->args;
    for (const struct arg *a = NULL; (a = arg_next(table, ARG_ANY_PATH, a)) && a < arg;)
        slot += a->type == ARG_STRING;
    return &facts->places[slot < PLACES_MAX ? slot : PLACES_MAX - 1];
}

const struct place *facts_place(struct facts *facts, const struct arg *arg)
{
    struct place *place = slot_for(facts, arg);
    if (place->state == PLACE_UNREAD && read_place(facts, arg, place) < 0)
        place->state = PLACE_UNCLEAR;
    else if (place->state == PLACE_UNCLEAR)
        snprintf(facts->why, sizeof facts->why, "`%.60s` cannot be read as a path", arg->name);
    facts->looked_at_path |= place->state != PLACE_MISSING;
    return place;
}

const struct place *facts_place_named(struct facts *facts, struct str name)
{
    const struct arg *arg = tool_argument(facts->tool, name);
    return arg && arg->type == ARG_STRING && arg->use & ARG_ANY_PATH ? facts_place(facts, arg)
                                                                     : NULL;
}

/* --- every path, however deep */

struct path_walk {
    struct facts *facts;
    unsigned uses;
    facts_path_fn each;
    void *data;
};

static int walk_path_text(struct path_walk *walk, const struct arg *arg, yyjson_val *val)
{
    struct place place = {.state = PLACE_UNREAD};
    bool known = yyjson_is_str(val) ? read_path_text(walk->facts, arg, json_str(val), &place) == 0
                                    : not_a_text(walk->facts, arg) == 0;
    if (!known)
        place.state = PLACE_UNCLEAR;
    walk->facts->looked_at_path = true;
    int r = walk->each(walk->data, arg, &place);
    place_done(&place);
    return r;
}

static int walk_object(struct path_walk *walk, const struct arg *items, size_t n,
                       yyjson_val *object);

static int walk_value(struct path_walk *walk, const struct arg *arg, yyjson_val *val)
{
    int r = 0;
    if (!val || yyjson_is_null(val))
        return 0;
    if (yyjson_is_arr(val)) {
        size_t idx;
        size_t max;
        yyjson_val *item;
        yyjson_arr_foreach(val, idx, max, item) {
            r = r ? r : walk_value(walk, arg, item);
        }
        return r;
    }
    if (arg_use(arg) & walk->uses)
        return walk_path_text(walk, arg, val);
    const struct arg *inner = arg->type == ARG_LIST ? arg->items : arg;
    bool described = inner && inner->items &&
                     (inner->type == ARG_OBJECT || inner->type == ARG_OBJECTS);
    return described ? walk_object(walk, inner->items, inner->n_items, val) : 0;
}

static int walk_object(struct path_walk *walk, const struct arg *items, size_t n,
                       yyjson_val *object)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = walk_value(walk, &items[i], yyjson_obj_get(object, items[i].name));
    return r;
}

int facts_each_path(struct facts *facts, unsigned uses, facts_path_fn each, void *data)
{
    struct path_walk walk = {facts, uses, each, data};
    int r = 0;
    for (size_t i = 0; facts->tool && r == 0 && i < facts->tool->args.count; i++) {
        const struct arg *arg = &facts->tool->args.args[i];
        if (arg->use & ARG_BASE64)
            continue;
        if (arg->type == ARG_STRING)
            r = arg->use & uses ? each(data, arg, facts_place(facts, arg)) : 0;
        else
            r = walk_value(&walk, arg, facts_value_of(facts, arg));
    }
    return r;
}

/* --- commands */

/* One word for a shell, whatever is in it. */
static void add_quoted_word(struct buf *out, struct str word)
{
    if (out->len)
        buf_add_char(out, ' ');
    shell_quoted(word, out);
}

static void add_quoted_words(struct buf *out, yyjson_val *words)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(words, idx, max, item) {
        add_quoted_word(out, json_str(item));
    }
}

static bool is_empty_argument(yyjson_val *val)
{
    return !val || (yyjson_is_ctn(val) && unsafe_yyjson_get_len(val) == 0);
}

static bool is_list_of_texts(yyjson_val *words)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(words, idx, max, item) {
        if (!yyjson_is_str(item))
            return false;
    }
    return !words || yyjson_is_arr(words);
}

/* The workspace as commands see it. */
static char *root_inside(struct facts *facts)
{
    struct place place = {.state = PLACE_UNREAD};
    char *root = facts_read_place(facts, STR("."), &place) == 0 ? place_absolute(&place, false)
                                                                : NULL;
    place_done(&place);
    return root;
}

static char *begins_in(struct facts *facts)
{
    struct place place = {.state = PLACE_UNREAD};
    yyjson_val *val = facts_used(facts, ARG_FOLDER);
    struct str text = json_str(val);
    if (!val)
        return NULL;
    char *folder = yyjson_is_str(val) && facts_read_place(facts, text, &place) == 0
                       ? mem_dup(place.text)
                       : mem_copy(text.p ? text.p : "", text.n);
    place_done(&place);
    if (strcmp(folder, ".") != 0)
        return folder;
    free(folder);
    return NULL;
}

static int read_facts_pairs(struct facts *facts, struct facts_command *command)
{
    FREE_AT_END char *root = root_inside(facts);
    VARIABLES_AT_END struct variables variables;
    facts_variables_read(facts, &variables);
    const struct command_around around = {
        .root = root,
        .input = facts->call->input || facts_used(facts, ARG_INPUT) != NULL,
        .variables = variables.words,
        .n_variables = variables.n,
    };
    yyjson_val *text = facts_used(facts, ARG_SHELL);
    yyjson_val *program = facts_used(facts, ARG_PROGRAM);
    yyjson_val *words = facts_used(facts, program ? ARG_WORDS : ARG_ARGV);
    BUF_AT_END struct buf quoted = BUF_INIT(SHELL_TEXT_MAX + 1);
    struct err err = {.message = "it is too long"};
    command->state = COMMAND_MISSING;
    if (!text && !program && !words)
        return 0;
    if ((text && !yyjson_is_str(text)) || (program && !yyjson_is_str(program)) ||
        !is_list_of_texts(words)) {
        command->state = COMMAND_UNCLEAR;
        snprintf(command->why, sizeof command->why, "the command is not a text");
        return -1;
    }
    bool vector = program || words;
    if (program)
        add_quoted_word(&quoted, json_str(program));
    add_quoted_words(&quoted, words);
    if (quoted.failed || command_pairs_read(vector ? buf_str(&quoted) : json_str(text), &around,
                                            &command->pairs, &err) < 0) {
        snprintf(command->why, sizeof command->why, "the command cannot be read: %.160s",
                 err.message);
        command->state = COMMAND_UNCLEAR;
        return -1;
    }
    command->whole = command->pairs.understood && !(text && vector) &&
                     is_empty_argument(facts_used(facts, ARG_ENV)) &&
                     is_empty_argument(facts_used(facts, ARG_DOMAIN | ARG_URL));
    command->folder = begins_in(facts);
    command->state = COMMAND_KNOWN;
    return 0;
}

const struct facts_command *facts_command(struct facts *facts)
{
    if (!facts->command) {
        facts->command = mem_zero(sizeof *facts->command);
        read_facts_pairs(facts, facts->command);
    }
    if (facts->command->state == COMMAND_UNCLEAR)
        snprintf(facts->why, sizeof facts->why, "%s", facts->command->why);
    return facts->command;
}

char *facts_joined_words(const struct facts *facts)
{
    yyjson_val *words = facts_used(facts, ARG_ARGV);
    if (!yyjson_is_arr(words) || facts_used(facts, ARG_SHELL))
        return NULL;
    BUF_AT_END struct buf out = BUF_INIT(WORDS_MAX);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(words, idx, max, item) {
        if (idx)
            buf_add_char(&out, ' ');
        buf_add(&out, json_str(item).p, json_str(item).n);
    }
    return mem_copy(buf_str(&out).p, out.len);
}
