/* A question to a person through the client (elicitation/create), and the answer. */
#include "dialect/mcp.h"

#include "base/mem.h"
#include "base/shown.h"
#include "base/str.h"
#include "base/utf8.h"

/* One client cuts lines at the terminal's width, and shows the first three or four of them. */
#define COLUMNS 100
#define DETAIL_LINES 16
/* Bytes that each line of one that goes on has at least: its mark and the parts of a character take the rest. */
#define WRAPPED (COLUMNS - 2 - 3)
#define MESSAGE_MAX ((size_t)8 << 10)
#define RULE_MAX 160

/* Adds a line of at most COLUMNS bytes; false: it was cut. */
static bool add_line(struct buf *out, struct str line)
{
    bool fits = line.n <= COLUMNS;
    size_t n = fits ? line.n : utf8_cut(line.p, COLUMNS - 3);
    buf_add(out, line.p, n);
    buf_add_text(out, fits ? "\n" : "...\n");
    return fits;
}

/* The same in as many lines as it takes; what goes on begins with a mark. Returns how many there are. */
static size_t add_wrapped(struct buf *out, struct str line)
{
    size_t lines = 0;
    do {
        const char *mark = lines++ ? "  " : "";
        size_t room = COLUMNS - strlen(mark);
        size_t n = line.n <= room ? line.n : utf8_cut(line.p, room);
        n = n ? n : room; /* bytes that are no characters */
        buf_addf(out, "%s%.*s\n", mark, (int)n, line.p);
        line.p += n;
        line.n -= n;
    } while (line.n && !out->failed);
    return lines;
}

static struct str next_line(const char **rest)
{
    const char *end = strchr(*rest, '\n');
    struct str line = {*rest, end ? (size_t)(end - *rest) : strlen(*rest)};
    *rest += line.n + (end ? 1 : 0);
    return line;
}

/* `headed`: a hunk has begun, so that a line of dashes is a change and no name of a file. */
static bool is_changed_line(struct str line, bool headed)
{
    bool marked = line.n && (line.p[0] == '+' || line.p[0] == '-');
    return marked && (headed || !(str_begins(line, STR("+++ ")) || str_begins(line, STR("--- "))));
}

struct counted {
    size_t lines;
    size_t added;
    size_t removed;
    struct str first; /* the first line that is a change; of no diff, the first */
};

static struct counted count_detail(const char *detail)
{
    struct counted c = {0};
    bool headed = false;
    for (const char *rest = detail; *rest; c.lines++) {
        struct str line = next_line(&rest);
        bool change = is_changed_line(line, headed);
        headed = headed || str_begins(line, STR("@@"));
        if ((change && c.added + c.removed == 0) || !c.first.p)
            c.first = line;
        c.added += change && line.p[0] == '+';
        c.removed += change && line.p[0] == '-';
    }
    return c;
}

/* The beginning of the detail, as far as there is room. Returns how many lines of it are left out. */
static size_t write_dialog_detail(const char *detail, struct buf *out)
{
    size_t lines = 0;
    size_t left = 0;
    for (const char *rest = detail; *rest;) {
        struct str line = next_line(&rest);
        bool fits = left == 0 && lines + line.n / WRAPPED + 1 <= DETAIL_LINES;
        if (fits)
            lines += add_wrapped(out, line);
        else
            left++;
    }
    if (left)
        buf_addf(out, "[%zu more lines of the call are not shown here]\n", left);
    return left;
}

/* The part that tells most comes first. Returns whether all of the call stands in it. */
static bool write_question_text(const struct mcp_question *q, struct buf *out)
{
    struct counted c = count_detail(q->detail);
    BUF_AT_END struct buf head = BUF_INIT(MESSAGE_MAX);
    BUF_AT_END struct buf detail = BUF_INIT(MESSAGE_MAX);
    buf_add_text(&head, q->summary);
    if (c.added + c.removed)
        buf_addf(&head, " +%zu -%zu", c.added, c.removed);
    bool short_head = add_line(out, buf_str(&head));
    bool whole = write_dialog_detail(q->detail, &detail) == 0 && !head.failed && !detail.failed;
    if (!short_head || !whole || c.lines > 2) {
        if (c.first.p)
            add_line(out, c.first);
        buf_addf(out, "whole call: sandgate approvals %s\n", q->id);
    }
    /* A command on one line stands nowhere else. */
    if (!short_head)
        add_wrapped(out, buf_str(&head));
    buf_add(out, detail.data, detail.len);
    return whole && !out->failed;
}

static void write_choices(const struct mcp_question *q, bool rule, enum mcp_elicits elicits,
                          struct json_out *j)
{
    BUF_AT_END struct buf always = BUF_INIT(RULE_MAX + 64);
    if (rule)
        buf_addf(&always, "Always: writes the rule %s", q->rule);
    const struct {
        const char *value;
        const char *title;
    } choices[] = {
        {"no", "No"},
        {"once", "Yes, this call"},
        {"session", "Yes, and what is like it in this session"},
        {"always", rule ? buf_text(&always) : ""},
    };
    size_t n = rule ? ARRAY_LEN(choices) : 2;
    bool titled = elicits == MCP_ELICITS_TITLED;
    jo_key(j, titled ? "oneOf" : "enum");
    jo_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        if (!titled) {
            jo_text(j, choices[i].value);
            continue;
        }
        jo_open(j, '{');
        jo_ktext(j, "const", choices[i].value);
        jo_ktext(j, "title", choices[i].title);
        jo_close(j, '}');
    }
    jo_close(j, ']');
    if (titled)
        return;
    jo_key(j, "enumNames");
    jo_open(j, '[');
    for (size_t i = 0; i < n; i++)
        jo_text(j, choices[i].title);
    jo_close(j, ']');
}

bool mcp_write_elicitation(const char *id_json, const struct mcp_question *q,
                           enum mcp_elicits elicits, struct buf *out)
{
    BUF_AT_END struct buf text = BUF_INIT(MESSAGE_MAX);
    bool whole = write_question_text(q, &text);
    /* A rule is not offered to who has not seen all of the call, and the rule. */
    bool rule = whole && q->rule && strlen(q->rule) <= RULE_MAX &&
                shown_is_fit((struct str){q->rule, strlen(q->rule)}, false);
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    jo_ktext(&j, "jsonrpc", "2.0");
    jo_key(&j, "id");
    jo_raw(&j, (struct str){id_json, strlen(id_json)});
    jo_ktext(&j, "method", "elicitation/create");
    jo_key(&j, "params");
    jo_open(&j, '{');
    jo_kstr(&j, "message", buf_str(&text));
    jo_key(&j, "requestedSchema");
    jo_raw(&j,
           STR("{\"type\":\"object\",\"required\":[\"decision\"],\"properties\":{\"decision\":"));
    j.comma = false;
    jo_open(&j, '{');
    jo_ktext(&j, "type", "string");
    jo_ktext(&j, "title", "Approve this call?");
    write_choices(q, rule, elicits, &j);
    jo_close(&j, '}');
    jo_close(&j, '}');
    jo_close(&j, '}');
    jo_close(&j, '}');
    jo_close(&j, '}');
    return rule;
}

void mcp_write_cancelled(const char *id_json, const char *why, struct buf *out)
{
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    jo_ktext(&j, "jsonrpc", "2.0");
    jo_ktext(&j, "method", "notifications/cancelled");
    jo_key(&j, "params");
    jo_open(&j, '{');
    jo_key(&j, "requestId");
    jo_raw(&j, (struct str){id_json, strlen(id_json)});
    jo_ktext(&j, "reason", why);
    jo_close(&j, '}');
    jo_close(&j, '}');
}

enum mcp_elicits mcp_read_elicits(yyjson_val *params, const char *version)
{
    yyjson_val *offered = yyjson_obj_get(yyjson_obj_get(params, "capabilities"), "elicitation");
    bool form = yyjson_is_obj(offered) &&
                (yyjson_obj_get(offered, "form") || !yyjson_obj_get(offered, "url"));
    if (!form)
        return MCP_ELICITS_NOT;
    return strcmp(version, "2025-11-25") >= 0 ? MCP_ELICITS_TITLED : MCP_ELICITS_NAMED;
}

void mcp_read_answer(yyjson_val *root, struct mcp_answer *ret)
{
    static const char *const actions[] = {
        [MCP_ANSWER_ACCEPTED] = "accept",
        [MCP_ANSWER_DECLINED] = "decline",
        [MCP_ANSWER_CANCELLED] = "cancel",
    };
    yyjson_val *result = yyjson_obj_get(root, "result");
    struct str action = json_str(yyjson_obj_get(result, "action"));
    struct str decision = json_str(yyjson_obj_get(yyjson_obj_get(result, "content"), "decision"));
    *ret = (struct mcp_answer){.kind = MCP_ANSWER_FAILED};
    for (size_t i = MCP_ANSWER_ACCEPTED; i < ARRAY_LEN(actions); i++) {
        if (action.n && str_is(action, actions[i]))
            ret->kind = (enum mcp_answer_kind)i;
    }
    /* One that is longer is none of ours; nor is one with a NUL in it. */
    if (decision.n < sizeof ret->decision && (!decision.n || !memchr(decision.p, '\0', decision.n)))
        memcpy(ret->decision, decision.n ? decision.p : "", decision.n);
}
