#include "dialect/mcp.h"

#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "base/utf8.h"

/* A result may take this part of an answer: as text it is escaped once more, which makes at most two bytes
 * of one, and something stands around both. */
#define RESULT_SHARE 4
/* A longer result is not repeated as text. */
#define TWICE_MAX (256u << 10)
#define FAILURE_MAX (64u << 10)
/* Bytes of an answer as text. Most clients cut what is longer than 20,000 to 50,000, one what is longer than 8,000. */
#define PLAIN_MAX ((size_t)20000)
#define PLAIN_MOST 100000
#define PLAIN_CLINE ((size_t)7500)
/* opencode cuts what has more than 2,000 lines, however short they are. */
#define PLAIN_OPENCODE_LINES 1900
/* Beside it: what stands around the content, and lines that one more byte would make too long. */
#define PLAIN_ROOM ((size_t)256 << 10)
/* Of what a command prints, in one notification. */
#define PROGRESS_MAX ((size_t)4 << 10)
#define INSTRUCTIONS_MAX ((size_t)64 << 10)

static void open_message(struct json_out *j, const char *id_json, const char *key)
{
    jo_open(j, '{');
    jo_ktext(j, "jsonrpc", "2.0");
    jo_key(j, "id");
    jo_raw(j, id_json ? (struct str){id_json, strlen(id_json)} : STR("null"));
    jo_key(j, key);
    jo_open(j, '{');
}

static void close_message(struct json_out *j)
{
    jo_close(j, '}');
    jo_close(j, '}');
}

void mcp_write_error(const char *id_json, const struct mcp_error *error, struct buf *out)
{
    struct json_out j = {.out = out};
    open_message(&j, id_json, "error");
    jo_kint(&j, "code", error->code);
    jo_ktext(&j, "message", error->message);
    close_message(&j);
}

void mcp_write_pong(const char *id_json, struct buf *out)
{
    struct json_out j = {.out = out};
    open_message(&j, id_json, "result");
    close_message(&j);
}

void mcp_write_initialized(const char *id_json, const char *version, const struct dialect *dialect,
                           bool structured, const char *more, struct buf *out)
{
    BUF_AT_END struct buf instructions = BUF_INIT(INSTRUCTIONS_MAX);
    struct json_out j = {.out = out};
    open_message(&j, id_json, "result");
    jo_ktext(&j, "protocolVersion", version);
    jo_key(&j, "capabilities");
    jo_raw(&j, STR("{\"tools\":{\"listChanged\":false}}"));
    jo_key(&j, "serverInfo");
    jo_open(&j, '{');
    jo_ktext(&j, "name", "sandgate");
    jo_ktext(&j, "title", "Sandgate");
    jo_ktext(&j, "version", SANDGATE_VERSION);
    jo_close(&j, '}');
    bool plain = !structured && dialect->plain_instructions;
    buf_addf(&instructions, "%s%s%s", plain ? dialect->plain_instructions : dialect->instructions,
             *more ? "\n\n" : "", more);
    jo_kstr(&j, "instructions", buf_str(&instructions));
    close_message(&j);
}

/* What a client may build on when it decides whom to ask. */
static void write_annotations(const struct tool *tool, struct json_out *j)
{
    bool reads_only = !(tool->capabilities & ~(unsigned)CAP_FS_READ);
    jo_key(j, "annotations");
    jo_open(j, '{');
    jo_ktext(j, "title", tool->title);
    jo_kbool(j, "readOnlyHint", reads_only);
    jo_kbool(j, "destructiveHint", !reads_only && !(tool->flags & TOOL_ADDS_ONLY));
    jo_kbool(j, "idempotentHint", reads_only || (tool->flags & TOOL_IDEMPOTENT));
    jo_kbool(j, "openWorldHint", false);
    jo_close(j, '}');
}

static void write_output_schema(const struct tool *tool, const struct dialect *dialect,
                                struct json_out *j)
{
    /* A tool that came with a manifest may answer with any JSON. */
    if (dialect->text || tool->input)
        return;
    jo_key(j, "outputSchema");
    if (dialect->result_schema) {
        dialect->result_schema(tool, j);
        return;
    }
    size_t own = tool->result.count;
    size_t added = dialect->added.count;
    FREE_AT_END struct arg *args = mem_grow(NULL, own + added, sizeof *args);
    if (own)
        memcpy(args, tool->result.args, own * sizeof *args);
    if (added)
        memcpy(args + own, dialect->added.args, added * sizeof *args);
    struct arg_table table = {args, own + added, 0};
    arg_schema(&table, j);
}

/* One client lets more through where a tool says that it is needed. */
static void write_long_result(struct json_out *j)
{
    jo_key(j, "_meta");
    jo_open(j, '{');
    jo_kint(j, "anthropic/maxResultSizeChars", PLAIN_MOST);
    jo_close(j, '}');
}

void mcp_write_tools(const char *id_json, const struct dialect *dialect,
                     const struct tool *const *tools, bool structured, struct buf *out)
{
    struct json_out j = {.out = out};
    open_message(&j, id_json, "result");
    jo_key(&j, "tools");
    jo_open(&j, '[');
    for (; *tools; tools++) {
        const struct tool *t = *tools;
        jo_open(&j, '{');
        jo_ktext(&j, "name", t->alias ? t->alias : t->name);
        jo_ktext(&j, "title", t->title);
        jo_ktext(&j, "description", t->description);
        jo_key(&j, "inputSchema");
        tool_write_input(t, !structured, &j);
        if (structured)
            write_output_schema(t, dialect, &j);
        write_annotations(t, &j);
        if (!structured && t->flags & TOOL_LONG)
            write_long_result(&j);
        jo_close(&j, '}');
    }
    jo_close(&j, ']');
    close_message(&j);
}

static void open_text(struct json_out *j)
{
    jo_key(j, "content");
    jo_open(j, '[');
    jo_open(j, '{');
    jo_ktext(j, "type", "text");
    jo_key(j, "text");
}

static void close_text(struct json_out *j)
{
    jo_close(j, '}');
    jo_close(j, ']');
}

static void add_plain_failure(const struct call *call, struct buf *text)
{
    const struct err *err = &call->err;
    bool missing = err->code == ERR_NOT_FOUND || err->code == ERR_NOT_A_DIRECTORY;
    buf_addf(text, "%s: %s", err_row(err->code)->name, err->message);
    if (missing && call->has_path && !call->command)
        buf_add_text(text, "; list_files shows what is there");
    if (call->approval_id[0])
        buf_addf(text, " (question %s)", call->approval_id);
    if (err->retry_after_ms > 0)
        buf_addf(text, "; try again in %lld ms", (long long)err->retry_after_ms);
    if (!call->command || !call->command->after.not_taken || !call->tool->show)
        return;
    struct err ignored;
    buf_add_text(text, "\n");
    call->tool->show(call, text, &ignored);
}

static void write_mcp_failure(const char *id_json, const struct call *call, struct buf *out)
{
    /* The one error that the protocol wants as its own: the model never saw such a tool. */
    if (call->err.code == ERR_UNKNOWN_TOOL) {
        struct mcp_error error;
        mcp_fail(&error, MCP_INVALID_PARAMS, "%s", call->err.message);
        mcp_write_error(id_json, &error, out);
        return;
    }
    /* What a command printed may stand in it. */
    size_t share = out->max / RESULT_SHARE;
    BUF_AT_END struct buf text = BUF_INIT(share > FAILURE_MAX ? share : FAILURE_MAX);
    struct json_out inner = {.out = &text};
    if (call->plain_max)
        add_plain_failure(call, &text);
    else
        call->dialect->fail(call, &call->err, &inner);
    struct json_out j = {.out = out};
    open_message(&j, id_json, "result");
    open_text(&j);
    if (text.failed)
        jo_text(&j, call->err.message);
    else if (call->dialect->text && !call->plain_max)
        jo_raw(&j, buf_str(&text));
    else
        jo_str(&j, buf_str(&text));
    close_text(&j);
    jo_kbool(&j, "isError", true);
    close_message(&j);
}

/* A string is the text itself and has no fields. */
static int write_mcp_text(const char *id_json, struct call *call, struct json_out *j)
{
    open_message(j, id_json, "result");
    open_text(j);
    if (call->dialect->text) {
        if (call_write_result(call, j) < 0)
            return -1;
    } else {
        BUF_AT_END struct buf result = BUF_INIT(j->out->max / RESULT_SHARE);
        if (call_write_result(call, &(struct json_out){.out = &result}) < 0)
            return -1;
        jo_str(j, buf_str(&result));
    }
    close_text(j);
    close_message(j);
    return 0;
}

static int write_structure(const char *id_json, struct call *call, struct json_out *j)
{
    struct buf *out = j->out;
    size_t max = out->max;
    open_message(j, id_json, "result");
    jo_key(j, "structuredContent");
    size_t from = out->len;
    out->max = from + (max - from) / RESULT_SHARE;
    int r = call_write_result(call, j);
    out->max = max;
    if (r < 0)
        return -1;
    size_t n = out->len - from;
    open_text(j);
    if (n <= TWICE_MAX) {
        jo_written(j, from, n);
    } else {
        char note[200];
        snprintf(
            note, sizeof note,
            "The result is in structuredContent: with %zu bytes it is too long to be given twice. "
            "Ask for less at once to get it as text too.",
            n);
        jo_text(j, note);
    }
    close_text(j);
    close_message(j);
    return 0;
}

void mcp_want_plain(struct call *call, const char *client)
{
    bool short_one = client && strcasecmp(client, "cline") == 0;
    if (!call->dialect->plain_instructions)
        return;
    call->plain_max = short_one ? PLAIN_CLINE : PLAIN_MAX;
    call->plain_most = short_one ? PLAIN_CLINE : PLAIN_MOST;
    call->plain_lines = client && strcasecmp(client, "opencode") == 0 ? PLAIN_OPENCODE_LINES : 0;
}

static void write_image(const struct call *call, const char *type, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "image");
    jo_key(j, "data");
    jo_base64(j, buf_str(&call->reply_body));
    jo_ktext(j, "mimeType", type);
    jo_close(j, '}');
}

static int write_plain(const char *id_json, struct call *call, struct json_out *j)
{
    BUF_AT_END struct buf text = BUF_INIT(PLAIN_MOST + PLAIN_ROOM);
    const char *image = call->tool->image ? call->tool->image(call) : NULL;
    if (call->tool->show(call, &text, &call->err) < 0) {
        call->failed = true;
        return -1;
    }
    if (text.failed) {
        call_fail_answer(call, text.no_memory, text.max);
        return -1;
    }
    open_message(j, id_json, "result");
    open_text(j);
    jo_str(j, buf_str(&text));
    jo_close(j, '}');
    if (image)
        write_image(call, image, j);
    jo_close(j, ']');
    close_message(j);
    return 0;
}

static int write_mcp_success(const char *id_json, struct call *call, bool structure,
                             struct json_out *j)
{
    if (call->failed)
        return -1;
    if (call->plain_max && call->tool->show)
        return write_plain(id_json, call, j);
    return structure && !call->dialect->text ? write_structure(id_json, call, j)
                                             : write_mcp_text(id_json, call, j);
}

bool mcp_has_structure(const char *version)
{
    return strcmp(version, "2025-06-18") >= 0;
}

void mcp_write_result(const char *id_json, struct call *call, bool structure, struct buf *out)
{
    struct json_out j = {.out = out};
    size_t mark = out->len;
    int r = write_mcp_success(id_json, call, structure, &j);
    if (r == 0 && !out->failed)
        return;
    if (!call->failed)
        call_fail_answer(call, out->no_memory, out->max - mark);
    buf_cut(out, mark);
    write_mcp_failure(id_json, call, out);
    if (!out->no_memory)
        return;
    buf_cut(out, mark);
    call_forget_body(call);
    RESERVE_OPEN_HERE;
    write_mcp_failure(id_json, call, out);
}

/* The end of what is too long for a client to show, cut between characters. */
static struct str end_of_progress(struct str piece)
{
    if (piece.n <= PROGRESS_MAX)
        return piece;
    size_t from = utf8_cut(piece.p, piece.n - PROGRESS_MAX);
    from += from < piece.n - PROGRESS_MAX ? utf8_broken(piece.p + from, piece.n - from) : 0;
    return (struct str){piece.p + from, piece.n - from};
}

void mcp_write_progress(const char *token_json, uint64_t bytes, struct str piece, struct buf *out)
{
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    jo_ktext(&j, "jsonrpc", "2.0");
    jo_ktext(&j, "method", "notifications/progress");
    jo_key(&j, "params");
    jo_open(&j, '{');
    jo_key(&j, "progressToken");
    jo_raw(&j, (struct str){token_json, strlen(token_json)});
    jo_kint(&j, "progress", (int64_t)bytes);
    jo_kstr(&j, "message", end_of_progress(piece));
    close_message(&j);
}
