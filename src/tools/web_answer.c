/* What a server has said, as tools tell it. */
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "tools/web.h"

static struct str next_header_line(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    struct str line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    rest->p += line.n + (end != NULL);
    rest->n -= line.n + (end != NULL);
    return line;
}

static struct str header_name(struct str line)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    return (struct str){line.p, colon ? (size_t)(colon - line.p) : line.n};
}

static struct str header_value(struct str line)
{
    size_t from = header_name(line).n;
    for (from += from < line.n; from < line.n && (line.p[from] == ' ' || line.p[from] == '\t');)
        from++;
    return (struct str){line.p + from, line.n - from};
}

static bool same_name(struct str a, struct str b)
{
    for (size_t i = 0; i < a.n && a.n == b.n; i++) {
        if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
            return false;
    }
    return a.n == b.n;
}

static bool was_before(struct str all, struct str name, const char *here)
{
    while (all.n) {
        struct str line = next_header_line(&all);
        if (line.p == here)
            return false;
        if (same_name(header_name(line), name))
            return true;
    }
    return false;
}

static void write_header(struct str from, struct str name, struct json_out *j)
{
    char key[WEB_HEADER_NAME_MAX + 1];
    BUF_AT_END struct buf value = BUF_INIT(OP_HTTP_HEADERS_MAX);
    for (size_t i = 0; i < name.n; i++)
        key[i] = ascii_lower(name.p[i]);
    key[name.n] = '\0';
    while (from.n) {
        struct str line = next_header_line(&from);
        struct str text = header_value(line);
        if (!same_name(header_name(line), name))
            continue;
        buf_add_text(&value, value.len ? ", " : "");
        buf_add(&value, text.p, text.n);
    }
    jo_kcontent(j, key, buf_str(&value));
}

/* A name becomes a key, which is written as it is: one that no header can have is left out with its value. */
void web_write_headers(const struct call *call, struct json_out *j)
{
    struct str all = call->reply.http.headers;
    jo_key(j, "headers");
    jo_open(j, '{');
    for (struct str rest = all; rest.n;) {
        struct str line = next_header_line(&rest);
        struct str name = header_name(line);
        if (web_is_header_name(name) && !was_before(all, name, line.p))
            write_header((struct str){line.p, (size_t)(all.p + all.n - line.p)}, name, j);
    }
    jo_close(j, '}');
}

static bool says_latin1(struct str type)
{
    static const char *const words[] = {"iso-8859-1", "windows-1252", "latin1", "us-ascii"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= type.n; at++) {
            if (strncasecmp(type.p + at, words[i], n) == 0)
                return true;
        }
    }
    return false;
}

static void write_body_latin1(struct str body, struct json_out *j)
{
    BUF_AT_END struct buf text = BUF_INIT(2 * body.n + 1);
    for (size_t i = 0; i < body.n; i++)
        utf8_add(&text, (unsigned char)body.p[i]);
    jo_kcontent(j, "body", buf_str(&text));
}

void web_write_body(const struct call *call, struct json_out *j)
{
    struct str body = buf_str(&call->reply_body);
    bool nul = body.n && memchr(body.p, '\0', body.n);
    size_t whole = call->reply.http.truncated ? utf8_cut(body.p, body.n) : body.n;
    if (!nul && utf8_valid(body.p, whole)) {
        jo_kcontent(j, "body", (struct str){body.p, whole});
    } else if (!nul && says_latin1(call->reply.http.type)) {
        write_body_latin1(body, j);
    } else {
        BUF_AT_END struct buf text = BUF_INIT(body.n / 3 * 4 + 8);
        base64_encode(&text, body.p, body.n);
        jo_kcontent(j, "body", buf_str(&text));
        jo_ktext(j, "encoding", "base64");
    }
}
