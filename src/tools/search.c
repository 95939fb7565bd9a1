#include "tools/search.h"

#include <inttypes.h>

#include "tools/file.h"
#include "tools/show.h"

/* Both marks around a line, each with the longest number. */
#define MARKS_MAX 80

int search_prepare(struct call *call, struct str path, struct str path_b64,
                   const struct op_search_request *wanted, const char *include_field,
                   struct err *err)
{
    if (wanted->pattern.n == 0)
        return err_field(err, "pattern",
                         "argument `pattern` is empty: give the text or expression to look for");
    if (call_take_path(call, path, path_b64, err) < 0 ||
        file_check_glob(wanted->include, include_field, err) < 0 ||
        file_check_glob(wanted->exclude, "exclude", err) < 0)
        return -1;
    call->op = &op_table[OP_SEARCH];
    call->request.search = *wanted;
    call->request.search.root = (int64_t)call->path.root;
    call->request.search.path = call_path_text(call);
    call->request.search.threads = call->verdict.max_cpu_millis / 1000;
    if (wanted->ignore)
        call->request_body = call->workplace->excludes;
    return 0;
}

/* What stands before the path of every file, without a slash at its end. */
static void add_prefix(const struct call *call, struct buf *path)
{
    if (call->dialect->id == DIALECT_TOOLHOST)
        buf_add_text(path, call->workplace->roots[call->path.root].name);
    if (path_is_root(&call->path))
        return;
    if (path->len)
        buf_add_char(path, '/');
    buf_add_text(path, call->path.text);
}

enum search_cut search_cut(const struct call *call)
{
    const struct op_search_reply *r = &call->reply.search;
    if (!r->truncated)
        return SEARCH_CUT_NOT;
    if (r->matches >= call->request.search.max_matches)
        return SEARCH_CUT_COUNT;
    return r->unseen ? SEARCH_CUT_FOLDERS : SEARCH_CUT_SIZE;
}

struct search_walk search_begin(const struct call *call)
{
    struct search_walk walk = {
        .rest = buf_str(&call->reply_body),
        .before = call->request.search.before,
        .after = call->request.search.after,
        .path = BUF_INIT((size_t)4 * PATH_TEXT_MAX),
    };
    walk.window = walk.rest;
    add_prefix(call, &walk.path);
    walk.prefix = walk.path.len;
    return walk;
}

void search_done(struct search_walk *walk)
{
    buf_done(&walk->path);
}

static void enter_file(struct search_walk *walk, const struct found *file)
{
    walk->path.len = walk->prefix;
    if (walk->prefix && file->text.n)
        buf_add_char(&walk->path, '/');
    buf_add(&walk->path, file->text.p, file->text.n);
    walk->window = walk->rest;
    walk->previous = 0;
}

bool search_next_file(struct search_walk *walk)
{
    while (found_next(&walk->rest, &walk->match) > 0) {
        if (walk->match.kind != FOUND_FILE)
            continue;
        enter_file(walk, &walk->match);
        return true;
    }
    return false;
}

bool search_next(struct search_walk *walk)
{
    struct found found;
    walk->previous = walk->match.number;
    do {
        if (found_next(&walk->rest, &found) <= 0)
            return false;
        if (found.kind == FOUND_FILE)
            enter_file(walk, &found);
    } while (found.kind != FOUND_MATCH);
    walk->match = found;
    struct found line;
    struct str next = walk->window;
    while (found_next(&next, &line) > 0 && found.number - line.number > walk->before)
        walk->window = next;
    return true;
}

void search_add_line(struct buf *out, const struct found *line)
{
    if (line->cut_before)
        buf_addf(out, "[... %" PRId64 " bytes cut] ", line->cut_before);
    buf_add(out, line->text.p, line->text.n);
    if (line->cut_after)
        buf_addf(out, " [%" PRId64 " bytes cut ...]", line->cut_after);
}

void search_write_line(struct json_out *j, const struct found *line)
{
    if (!line->cut_before && !line->cut_after) {
        jo_str(j, line->text);
        return;
    }
    BUF_AT_END struct buf text = BUF_INIT(line->text.n + MARKS_MAX);
    search_add_line(&text, line);
    jo_str(j, buf_str(&text));
}

static void write_before(const struct search_walk *walk, bool once, struct json_out *j)
{
    struct str at = walk->window;
    struct found line;
    while (!j->out->failed && found_next(&at, &line) > 0 && line.number < walk->match.number) {
        bool taken = walk->previous && line.number - walk->previous <= walk->after;
        if (!once || !taken)
            search_write_line(j, &line);
    }
}

static void write_after(const struct search_walk *walk, bool once, struct json_out *j)
{
    struct str at = walk->rest;
    struct found line;
    while (!j->out->failed && found_next(&at, &line) > 0 && line.kind != FOUND_FILE &&
           line.number - walk->match.number <= walk->after) {
        if (once && line.kind == FOUND_MATCH)
            return;
        search_write_line(j, &line);
    }
}

void search_write_context(const struct search_walk *walk, bool once, struct json_out *j)
{
    jo_key(j, "before");
    jo_open(j, '[');
    write_before(walk, once, j);
    jo_close(j, ']');
    jo_key(j, "after");
    jo_open(j, '[');
    write_after(walk, once, j);
    jo_close(j, ']');
}

/* A line, behind its file's path where it is the file's first. */
static void show_found(const struct search_walk *walk, const struct found *line, int64_t before,
                       struct buf *out)
{
    bool apart = before && line->number > before + 1 && (walk->before || walk->after);
    if (before == 0) {
        buf_add_text(out, out->len ? "\n" : "");
        show_path(buf_str(&walk->path), out);
        buf_add_char(out, '\n');
    }
    if (apart)
        buf_add_text(out, "--\n");
    buf_addf(out, "%" PRId64 "%c", line->number, line->kind == FOUND_MATCH ? ':' : '-');
    search_add_line(out, line);
    buf_add_char(out, '\n');
}

static int64_t show_lines(struct search_walk *walk, size_t room, struct buf *out)
{
    struct found found;
    int64_t shown = 0;
    int64_t before = 0;
    while (found_next(&walk->rest, &found) > 0) {
        size_t mark = out->len;
        if (found.kind == FOUND_FILE) {
            enter_file(walk, &found);
            before = 0;
            continue;
        }
        show_found(walk, &found, before, out);
        if (out->len > room && mark) {
            buf_cut(out, mark);
            break;
        }
        before = found.number;
        shown += found.kind == FOUND_MATCH;
    }
    return shown;
}

int64_t search_show(const struct call *call, size_t room, struct buf *out)
{
    SEARCH_AT_END struct search_walk walk = search_begin(call);
    int64_t mode = call->request.search.mode;
    if (mode == SEARCH_LINES)
        return show_lines(&walk, room, out);
    int64_t shown = 0;
    for (; search_next_file(&walk); shown++) {
        size_t mark = out->len;
        show_path(buf_str(&walk.path), out);
        if (mode == SEARCH_COUNT)
            buf_addf(out, ":%" PRId64, walk.match.number);
        buf_add_char(out, '\n');
        if (out->len > room && mark) {
            buf_cut(out, mark);
            break;
        }
    }
    return shown;
}
