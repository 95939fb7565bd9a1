/* What every tool's table has to say of its arguments, so that the policy finds them: paths, commands, addresses. */
#include "judge_parts.h"

#include <stdio.h>

#include "policy/facts.h"
#include "policy/tool_pattern.h"

/* What is wrong with a table. */
struct complaint {
    char text[200];
};

static bool PRINTF_LIKE(2, 3) say(struct complaint *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->text, sizeof c->text, fmt, ap);
    va_end(ap);
    return false;
}

static struct arg_table inner_of(const struct arg *arg)
{
    const struct arg *object = arg->type == ARG_LIST && arg->items ? arg->items : arg;
    bool described = object->type == ARG_OBJECT || object->type == ARG_OBJECTS;
    return described ? (struct arg_table){object->items, object->n_items, 0}
                     : (struct arg_table){0};
}

/* All uses in a table, however deep. */
static unsigned uses_of(const struct arg_table *table)
{
    unsigned uses = 0;
    for (size_t i = 0; i < table->count; i++) {
        struct arg_table inner = inner_of(&table->args[i]);
        uses |= arg_use(&table->args[i]) | uses_of(&inner);
    }
    return uses;
}

static bool text_or_list(const struct arg *arg)
{
    return arg->type == ARG_STRING ||
           (arg->type == ARG_LIST && arg->items && arg->items->type == ARG_STRING);
}

/* Whether a use can be that of a value of this type. */
static bool fits(const struct arg *arg)
{
    unsigned use = arg_use(arg);
    if (use & (ARG_ANY_PATH | ARG_DOMAIN | ARG_URL))
        return text_or_list(arg);
    if (use & (ARG_SHELL | ARG_PROGRAM | ARG_INPUT))
        return arg->type == ARG_STRING;
    if (use & (ARG_WORDS | ARG_ARGV))
        return arg->type == ARG_LIST && text_or_list(arg);
    if (use & (ARG_DEEP | ARG_GIT))
        return arg->type == ARG_BOOL;
    if (use & ARG_NARROWS)
        return arg->type == ARG_BOOL || arg->type == ARG_CHOICE;
    return use & ARG_ENV ? arg->type == ARG_OBJECT : use == ARG_PLAIN;
}

static bool check_base64(const struct arg_table *table, size_t i, struct complaint *c)
{
    const struct arg *arg = &table->args[i];
    if (!(arg->use & ARG_BASE64))
        return true;
    if (i == 0 || arg->type != ARG_STRING || (arg[-1].use | ARG_BASE64) != arg->use)
        return say(c, "`%s` stands for no path before it", arg->name);
    return true;
}

static bool check_args(const struct arg_table *table, bool top, struct complaint *c)
{
    const unsigned top_only = ARG_ANY_COMMAND | ARG_FOLDER | ARG_DEEP | ARG_GIT | ARG_ENV |
                              ARG_BASE64 | ARG_URL | ARG_DOMAIN;
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        struct arg_table inner = inner_of(arg);
        if (!fits(arg))
            return say(c, "the use of `%s` does not fit its type", arg->name);
        if (!top && arg_use(arg) & top_only)
            return say(c, "`%s` must not lie within another argument", arg->name);
        if (!check_base64(table, i, c) || !check_args(&inner, false, c))
            return false;
    }
    return true;
}

/* Each of these is found by its use: a second one would not be looked at. */
static bool check_single(const struct arg_table *table, struct complaint *c)
{
    static const unsigned single[] = {ARG_SHELL, ARG_PROGRAM, ARG_WORDS, ARG_ARGV,
                                      ARG_ENV,   ARG_GIT,     ARG_DEEP,  ARG_FOLDER};
    for (size_t i = 0; i < ARRAY_LEN(single); i++) {
        const struct arg *first = arg_next(table, single[i], NULL);
        const struct arg *second = first ? arg_next(table, single[i], first) : NULL;
        if (second)
            return say(c, "`%s` and `%s` have the same use", first->name, second->name);
    }
    size_t paths = 0;
    for (const struct arg *a = NULL; (a = arg_next(table, ARG_ANY_PATH, a));)
        paths += a->type == ARG_STRING;
    return paths <= PLACES_MAX || say(c, "it has %zu paths, more than %d", paths, PLACES_MAX);
}

static bool check_needs(const struct tool *tool, struct complaint *c)
{
    static const struct {
        unsigned capability;
        unsigned uses;
        const char *word;
    } needs[] = {
        {CAP_FS_READ, ARG_READS, "reads files"},
        {CAP_FS_WRITE, ARG_WRITES, "changes files"},
        {CAP_COMMAND, ARG_SHELL | ARG_PROGRAM | ARG_ARGV, "runs commands"},
        {CAP_NETWORK, ARG_URL | ARG_DOMAIN, "reaches the network"},
    };
    unsigned uses = uses_of(&tool->args);
    bool command = tool->capabilities & CAP_COMMAND;
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        bool needed = tool->capabilities & needs[i].capability;
        bool files = needs[i].capability & (CAP_FS_READ | CAP_FS_WRITE);
        /* A command reaches all files that its cell has; it may name hosts that it is not let to. */
        if (needed && !(uses & needs[i].uses) && !(files && command))
            return say(c, "it %s and no argument says which", needs[i].word);
        if (!needed && uses & needs[i].uses && !(command && needs[i].uses & ARG_DOMAIN))
            return say(c, "an argument says that it %s, its capabilities do not", needs[i].word);
    }
    if (tool->runner == RUN_COMMAND && !command)
        return say(c, "it runs commands without the capability");
    if (tool->runner == RUN_WORKER && !(tool->capabilities & (CAP_FS_READ | CAP_FS_WRITE)))
        return say(c, "it works on files without a capability");
    return true;
}

static bool check_tool(const struct tool *tool, struct complaint *c)
{
    return check_args(&tool->args, true, c) && check_single(&tool->args, c) && check_needs(tool, c);
}

static void all_tools(void **state)
{
    (void)state;
    const struct tool **tools = tool_list();
    size_t n = 0;
    for (; tools[n]; n++) {
        struct complaint c;
        if (!check_tool(tools[n], &c))
            fail_msg("%s of dialect %d: %s", tools[n]->name, tools[n]->dialect, c.text);
    }
    assert_true(n >= ARRAY_LEN(tools_all));
    free(tools);
}

static unsigned family(const struct arg *arg)
{
    static const unsigned families[] = {ARG_ANY_PATH, ARG_ANY_COMMAND, ARG_URL, ARG_DOMAIN};
    for (unsigned i = 0; i < ARRAY_LEN(families); i++) {
        if (arg_use(arg) & families[i])
            return i + 1;
    }
    return 0;
}

/* A rule for several tools could not be about an argument that is a path here and a text there. */
static void same_name_same_kind(void **state)
{
    (void)state;
    const struct tool **tools = tool_list();
    for (size_t i = 0; tools[i]; i++) {
        for (size_t a = 0; a < tools[i]->args.count; a++) {
            const struct arg *arg = &tools[i]->args.args[a];
            for (size_t k = 0; tools[k]; k++) {
                const struct arg *other = tool_argument(tools[k], text_str(arg->name));
                if (other && family(other) != family(arg))
                    fail_msg("`%s` of %s and of %s are of two kinds", arg->name, tools[i]->name,
                             tools[k]->name);
            }
        }
    }
    free(tools);
}

#define TABLE(...)                                                                                 \
    {                                                                                              \
        (const struct arg[]){__VA_ARGS__},                                                         \
            sizeof((const struct arg[]){__VA_ARGS__}) / sizeof(struct arg), 0                      \
    }

static const struct arg nested_path[] = {
    {.name = "file", .type = ARG_STRING, .use = ARG_WRITES},
};
static const struct arg nested_command[] = {
    {.name = "line", .type = ARG_STRING, .use = ARG_SHELL},
};

static const struct {
    struct tool tool;
    const char *complaint;
} bad[] = {
    {{.name = "plain",
      .args = TABLE({.name = "file", .type = ARG_STRING}),
      .capabilities = CAP_FS_READ,
      .runner = RUN_WORKER},
     "it reads files and no argument says which"},
    {{.name = "wrong_way",
      .args = TABLE({.name = "path", .type = ARG_STRING, .use = ARG_READS}),
      .capabilities = CAP_FS_READ | CAP_FS_WRITE,
      .runner = RUN_WORKER},
     "it changes files and no argument says which"},
    {{.name = "no_capability",
      .args = TABLE({.name = "path", .type = ARG_STRING, .use = ARG_READS | ARG_WRITES}),
      .capabilities = CAP_FS_READ,
      .runner = RUN_WORKER},
     "an argument says that it changes files, its capabilities do not"},
    {{.name = "nothing", .runner = RUN_WORKER}, "it works on files without a capability"},
    {{.name = "command",
      .args = TABLE({.name = "line", .type = ARG_STRING}),
      .capabilities = CAP_COMMAND,
      .runner = RUN_COMMAND},
     "it runs commands and no argument says which"},
    {{.name = "words",
      .args = TABLE({.name = "args", .type = ARG_LIST, .use = ARG_WORDS, .items = nested_path}),
      .capabilities = CAP_COMMAND,
      .runner = RUN_COMMAND},
     "it runs commands and no argument says which"},
    {{.name = "page",
      .args = TABLE({.name = "url", .type = ARG_STRING}),
      .capabilities = CAP_NETWORK,
      .runner = RUN_BUILTIN},
     "it reaches the network and no argument says which"},
    {{.name = "number",
      .args = TABLE({.name = "path", .type = ARG_INT, .use = ARG_READS}),
      .capabilities = CAP_FS_READ,
      .runner = RUN_WORKER},
     "the use of `path` does not fit its type"},
    {{.name = "two",
      .args = TABLE({.name = "a", .type = ARG_STRING, .use = ARG_SHELL},
                    {.name = "b", .type = ARG_STRING, .use = ARG_SHELL}),
      .capabilities = CAP_COMMAND,
      .runner = RUN_COMMAND},
     "`a` and `b` have the same use"},
    {{.name = "base64",
      .args = TABLE({.name = "a", .type = ARG_STRING},
                    {.name = "b", .type = ARG_STRING, .use = ARG_READS | ARG_BASE64}),
      .capabilities = CAP_FS_READ,
      .runner = RUN_WORKER},
     "`b` stands for no path before it"},
    {{.name = "inner",
      .args = TABLE({.name = "steps",
                     .type = ARG_OBJECTS,
                     .items = nested_command,
                     .n_items = ARRAY_LEN(nested_command)}),
      .capabilities = CAP_COMMAND,
      .runner = RUN_COMMAND},
     "`line` must not lie within another argument"},
};

static void bad_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct complaint c = {""};
        assert_false(check_tool(&bad[i].tool, &c));
        assert_string_equal(c.text, bad[i].complaint);
    }
}

/* --- tools whose arguments have names that no other tool uses */

static const struct arg path_item = {.name = "file", .type = ARG_STRING, .use = ARG_READS};
static const struct arg word_item = {.name = "word", .type = ARG_STRING};
static const struct arg change_fields[] = {
    {.name = "target", .type = ARG_STRING, .flags = ARG_REQUIRED, .use = ARG_WRITES},
    {.name = "text", .type = ARG_STRING, .flags = ARG_CONTENT},
};
static const struct tool odd_read = {
    .name = "odd_read",
    .args = TABLE({.name = "file", .type = ARG_STRING, .flags = ARG_OR_NEXT, .use = ARG_READS},
                  {.name = "file_raw", .type = ARG_STRING, .use = ARG_READS | ARG_BASE64},
                  {.name = "whole", .type = ARG_BOOL, .use = ARG_DEEP}),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
};
static const struct tool odd_many = {
    .name = "odd_many",
    .args = TABLE({.name = "files", .type = ARG_LIST, .items = &path_item}),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
};
static const struct tool odd_change = {
    .name = "odd_change",
    .args = TABLE({.name = "changes",
                   .type = ARG_OBJECTS,
                   .items = change_fields,
                   .n_items = ARRAY_LEN(change_fields)}),
    .capabilities = CAP_FS_WRITE,
    .runner = RUN_WORKER,
};
static const struct tool odd_put = {
    .name = "odd_put",
    .args = TABLE({.name = "target", .type = ARG_STRING, .flags = ARG_REQUIRED, .use = ARG_WRITES},
                  {.name = "force", .type = ARG_BOOL},
                  {.name = "test", .type = ARG_BOOL, .use = ARG_NARROWS}),
    .capabilities = CAP_FS_WRITE,
    .runner = RUN_WORKER,
};
static const struct tool odd_run = {
    .name = "odd_run",
    .args = TABLE({.name = "line", .type = ARG_STRING, .flags = ARG_OR_NEXT, .use = ARG_SHELL},
                  {.name = "exec", .type = ARG_LIST, .use = ARG_ARGV, .items = &word_item},
                  {.name = "where", .type = ARG_STRING, .use = ARG_FOLDER},
                  {.name = "vars", .type = ARG_OBJECT, .use = ARG_ENV},
                  {.name = "repository", .type = ARG_BOOL, .use = ARG_GIT}),
    .capabilities = CAP_COMMAND | CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_COMMAND,
};
static const struct tool odd_page = {
    .name = "odd_page",
    .args = TABLE({.name = "address", .type = ARG_STRING, .flags = ARG_REQUIRED, .use = ARG_URL},
                  {.name = "way", .type = ARG_STRING, .flags = ARG_REQUIRED}),
    .capabilities = CAP_NETWORK,
    .runner = RUN_BUILTIN,
};
static const struct tool *const odd_tools[] = {&odd_read, &odd_many, &odd_change, &odd_put,
                                               &odd_run,  &odd_page, NULL};

static int use_odd_tools(void **state)
{
    (void)state;
    registry_use(odd_tools);
    return 0;
}

static struct policy_call odd_call(const char *name, yyjson_doc *doc)
{
    struct err err;
    struct policy_call call = make_call(name, doc);
    call.tool = registry_find(DIALECT_NATIVE, text_str(name), &err);
    if (!call.tool)
        fail_msg("%s", err.message);
    return call;
}

/* `allow`, `ask`, or the reason of a denial. */
static void expect(const struct policy *policy, const char *tool, const char *arguments,
                   const char *expected)
{
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    struct policy_call call = odd_call(tool, doc);
    struct verdict verdict;
    struct err err = {.reason = ""};
    int r = policy_judge(policy, &call, &verdict, NULL, NULL, &err);
    const char *got = r < 0 ? err.reason : verdict.kind == VERDICT_ASK ? "ask" : "allow";
    if (strcmp(got, expected) != 0)
        fail_msg("%s %s: %s, not %s (%s)", tool, arguments, got, expected,
                 r < 0 ? err.message : "");
    verdict_done(&verdict);
}

static void odd_tools_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; odd_tools[i]; i++) {
        struct complaint c = {""};
        if (!check_tool(odd_tools[i], &c))
            fail_msg("%s: %s", odd_tools[i]->name, c.text);
    }
}

static void capabilities(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve'},'policy':{'capabilities':{'filesystem':{"
        "'read':['src'],'write':['out']},'network':['example.com']}}}");
    expect(policy, "odd_read", "{'file':'src/a'}", "allow");
    expect(policy, "odd_read", "{'file':'lib/a'}", "capability_missing");
    expect(policy, "odd_read", "{'file':'src/../lib/a'}", "rule_cannot_be_kept");
    expect(policy, "odd_read", "{'file':5}", "rule_cannot_be_kept");
    expect(policy, "odd_read", "{'file_raw':'bGliL2E='}", "capability_missing");
    expect(policy, "odd_read", "{'file':'src/a','file_raw':'bGliL2E='}", "capability_missing");
    expect(policy, "odd_read", "{}", "rule_cannot_be_kept");
    expect(policy, "odd_read", "{'path':'src/a'}", "rule_cannot_be_kept");
    expect(policy, "odd_many", "{'files':['src/a','src/b']}", "allow");
    expect(policy, "odd_many", "{'files':['src/a','lib/b']}", "capability_missing");
    expect(policy, "odd_many", "{'files':['src/a',7]}", "rule_cannot_be_kept");
    expect(policy, "odd_many", "{'files':[]}", "rule_cannot_be_kept");
    expect(policy, "odd_change", "{'changes':[{'target':'out/a'},{'target':'out/b'}]}", "allow");
    expect(policy, "odd_change", "{'changes':[{'target':'out/a'},{'target':'src/b'}]}",
           "capability_missing");
    expect(policy, "odd_change", "{'changes':[{'text':'x'}]}", "rule_cannot_be_kept");
    expect(policy, "odd_run", "{'line':'ls'}", "capability_missing");
    expect(policy, "odd_page", "{'address':'https://example.com/x','way':'GET'}", "allow");
    expect(policy, "odd_page", "{'address':'https://other.com/','way':'GET'}",
           "capability_missing");
    policy_free(policy);
}

static void rules(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'prompt','rules':["
        "{'toolName':'odd_read','action':'deny','condition':{'file':{'beneath':'secret'}}},"
        "{'toolName':'odd_read','action':'approve','condition':{'file':{'glob':'src/*.c'}}},"
        "{'toolName':'odd_many','action':'deny','condition':{'files':'secret/key'}},"
        "{'toolName':'odd_many','action':'approve','condition':{'files':{'beneath':'src'}}},"
        "{'toolName':'odd_change','action':'deny','condition':{'changes.target':{'glob':'lib/**'}}},"
        "{'toolName':'odd_change','action':'approve','condition':{'changes.target':{'beneath':'out'"
        "}}},"
        "{'toolName':'odd_run','action':'deny','condition':{'line':{'program':'rm'}}},"
        "{'toolName':'odd_run','action':'deny','condition':{'line':{'regex':'^touch '}}},"
        "{'toolName':'odd_run','action':'deny','condition':{'where':{'beneath':'secret'}}},"
        "{'toolName':'odd_run','action':'approve','condition':{'exec':{'program':'ls'}}},"
        "{'toolName':'odd_page','action':'approve','condition':{'address':{'domain':'example.com'}}"
        "}]},'policy':{'capabilities':{'network':['*']}}}");
    expect(policy, "odd_read", "{'file':'./secret/../secret/x'}", "rule_cannot_be_kept");
    expect(policy, "odd_read", "{'file':'.//secret/x'}", "denied_by_rule");
    expect(policy, "odd_read", "{'file':'/workspace/secret'}", "denied_by_rule");
    expect(policy, "odd_read", "{'file':'/home/u/p/secret/x'}", "denied_by_rule");
    expect(policy, "odd_read", "{'file_raw':'c2VjcmV0L3g='}", "denied_by_rule");
    expect(policy, "odd_read", "{'file':'.','whole':true}", "denied_by_rule");
    expect(policy, "odd_read", "{'file':'.'}", "ask");
    expect(policy, "odd_read", "{'file':'./src/x.c'}", "allow");
    expect(policy, "odd_read", "{'file':'src/x.c','whole':true}", "ask");
    expect(policy, "odd_many", "{'files':['src/a','./secret/key']}", "denied_by_rule");
    expect(policy, "odd_many", "{'files':['src/a','./src/b']}", "allow");
    expect(policy, "odd_many", "{'files':['src/a','lib/b']}", "ask");
    expect(policy, "odd_change", "{'changes':[{'target':'out/a'},{'target':'./lib/x/y'}]}",
           "denied_by_rule");
    expect(policy, "odd_change", "{'changes':[{'target':'./out/a'},{'target':'out/b'}]}", "allow");
    expect(policy, "odd_change", "{'changes':[{'target':'out/a'},{'target':'b'}]}", "ask");
    expect(policy, "odd_run", "{'line':'ls; rm x'}", "denied_by_rule");
    expect(policy, "odd_run", "{'exec':['rm','x']}", "denied_by_rule");
    expect(policy, "odd_run", "{'exec':['touch','x']}", "denied_by_rule");
    expect(policy, "odd_run", "{'exec':['ls'],'where':'./secret'}", "denied_by_rule");
    expect(policy, "odd_run", "{'exec':['ls','-l']}", "allow");
    expect(policy, "odd_run", "{'line':'ls','where':'src'}", "allow");
    expect(policy, "odd_run", "{'line':'ls','vars':{'LD_PRELOAD':'x'}}", "ask");
    expect(policy, "odd_run", "{'line':'ls','repository':true}", "ask");
    expect(policy, "odd_page", "{'address':'https://a.example.com','way':'GET'}", "allow");
    expect(policy, "odd_page", "{'address':'https://example.org','way':'GET'}", "ask");
    policy_free(policy);
}

static void proposals(void **state)
{
    (void)state;
    static const struct {
        const char *tool;
        const char *arguments;
        const char *rule; /* its condition and what else differs; NULL: there is none */
    } rows[] = {
        {"odd_read", "{'file':'src/a.c'}", "'condition':{'file':{'beneath':'src'}}}"},
        {"odd_many", "{'files':['src/a']}", NULL},
        {"odd_change", "{'changes':[{'target':'out/a'}]}", NULL},
        {"odd_put", "{'target':'out/a'}",
         "'condition':{'force':false,'target':{'beneath':'out'}}}"},
        {"odd_put", "{'target':'out/a','force':true,'test':true}",
         "'condition':{'force':true,'test':true,'target':{'beneath':'out'}}}"},
        {"odd_run", "{'line':'ls -l'}",
         "'condition':{'line':{'program':['ls'],'options':'known'}}}"},
        {"odd_run", "{'exec':['python','x']}",
         "'condition':{'line':{'exists':false},'exec':{'equals':['python','x']},'where':{'exists':"
         "false},'vars':{'exists':false}}}"},
        {"odd_run", "{'line':'python x','vars':{'A':'b'}}", NULL},
        {"odd_run", "{'line':'git add x','repository':true}",
         "'grants':['git'],'condition':{'line':'git add x','exec':{'exists':false},'where':{"
         "'exists':false},'vars':{'exists':false},'repository':true}}"},
        {"odd_page", "{'address':'https://example.com/x','way':'PUT'}",
         "'condition':{'way':'PUT','address':{'domain':'example.com'}}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(rows[i].arguments);
        struct policy_call call = odd_call(rows[i].tool, doc);
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        bool found = propose_rule(&call, NULL, NULL, &out);
        if (found != (rows[i].rule != NULL))
            fail_msg("%s: %s", rows[i].arguments, found ? buf_text(&out) : "no rule");
        if (!found)
            continue;
        FREE_AT_END char *rule = quoted(rows[i].rule);
        if (!strstr(buf_text(&out), rule))
            fail_msg("%s: %s, not %s", rows[i].arguments, buf_text(&out), rule);
        /* It allows the very call that it was made for. */
        struct allowed *allowed = allowed_new();
        struct err err;
        assert_int_equal(allowed_add(allowed, buf_str(&out), "it", &err), 0);
        assert_non_null(allowed_find(allowed, &call, NULL, NULL));
        allowed_free(allowed);
    }
}

/* What a call does to the outside stands in the log as text, its contents do not. */
static void logs(void **state)
{
    (void)state;
    static const struct {
        const struct tool *tool;
        const char *arguments;
        const char *log;
    } rows[] = {
        {&odd_run, "{'exec':['git','push','a b'],'where':'src'}",
         "{'exec':['git','push','a b'],'where':'src'}"},
        {&odd_run, "{'line':'ls','vars':{'A':'778899','B':'x'}}", "{'line':'ls','vars':['A','B']}"},
        {&odd_many, "{'files':['src/a','lib/b']}", "{'files':['src/a','lib/b']}"},
        {&odd_many, "{'files':[]}", "{'files':[]}"},
        {&odd_page, "{'address':'https://example.com/x'}", "{'address':'https://example.com/x'}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(rows[i].arguments);
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        arg_redact(&rows[i].tool->args, yyjson_doc_get_root(doc), 0,
                   &(struct json_out){.out = &out});
        FREE_AT_END char *expected = quoted(rows[i].log);
        assert_string_equal(buf_text(&out), expected);
    }
}

static char *log_of(const struct tool *tool, const char *arguments)
{
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    arg_redact(&tool->args, yyjson_doc_get_root(doc), 0, &(struct json_out){.out = &out});
    return mem_dup(buf_text(&out));
}

static void long_and_secret_logs(void **state)
{
    (void)state;
    FREE_AT_END char *secret = log_of(&odd_run, "{'exec':['x','--password','hunter2hunter2']}");
    assert_null(strstr(secret, "hunter2"));
    FREE_AT_END char *mixed = log_of(&odd_many, "{'files':['a',{'b':'778899'}]}");
    assert_null(strstr(mixed, "778899"));
    assert_non_null(strstr(mixed, "\"bytes\":"));
    FREE_AT_END char *line = mem_zero(70001);
    memset(line, 'a', 70000);
    FREE_AT_END char *one = mem_format("{'line':'%s'}", line);
    FREE_AT_END char *two = mem_format("{'exec':['b','%s','c']}", line);
    FREE_AT_END char *one_log = log_of(&odd_run, one);
    FREE_AT_END char *two_log = log_of(&odd_run, two);
    assert_non_null(strstr(one_log, "{\"line\":{\"cut\":\"aaa"));
    assert_non_null(strstr(one_log, "aaa\",\"bytes\":70000,\"sha256\":\""));
    assert_non_null(strstr(two_log, "[\"b\",{\"cut\":\"aaa"));
    assert_non_null(strstr(two_log, "aaa\",\"bytes\":70000,\"sha256\":\""));
    assert_non_null(strstr(two_log, ",{\"words\":1,\"bytes\":1,\"sha256\":\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_tools, use_tools),
        cmocka_unit_test_setup(same_name_same_kind, use_tools),
        cmocka_unit_test(bad_tables),
        cmocka_unit_test_setup(odd_tools_are_sound, use_odd_tools),
        cmocka_unit_test_setup(capabilities, use_odd_tools),
        cmocka_unit_test_setup(rules, use_odd_tools),
        cmocka_unit_test_setup(proposals, use_odd_tools),
        cmocka_unit_test(logs),
        cmocka_unit_test(long_and_secret_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
