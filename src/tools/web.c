#include "tools/web.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/pipeline.h"
#include "policy/domain.h"

#define REDIRECTS_MAX 5
#define HEADERS_MAX 100

const struct web_settings web_http = {"tools.http.enabled", "tools.http.allowedDomains",
                                      "tools.http.blockedDomains", "tools.http.timeoutMs"};

/* --- whom it may ask */

static bool is_domain_listed(const struct str *list, size_t n, const char *host)
{
    for (size_t i = 0; i < n; i++) {
        char domain[DOMAIN_MAX];
        struct err ignored;
        struct str item = list[i];
        if (str_is(item, "*"))
            return true;
        if (item.n > 2 && memcmp(item.p, "*.", 2) == 0)
            item = (struct str){item.p + 2, item.n - 2};
        if (domain_read(item, domain, &ignored) == 0 && domain_covers(domain, host) &&
            (item.n == list[i].n || strcmp(domain, host) != 0))
            return true;
    }
    return false;
}

/* Both lists hold, the one that refuses first. What neither names is the capability's business. */
static int check_domain_lists(const struct call *call, const struct web_request *q,
                              const char *host, struct err *err)
{
    const struct config *config = call->workplace->config;
    const struct str *list;
    size_t n;
    if (config_list(config, q->settings->blocked, &list, &n) && is_domain_listed(list, n, host)) {
        err_set(err, ERR_NETWORK_DENIED, "`%.200s` is refused by %s", host, q->settings->blocked);
        return err_reason(err, "domain");
    }
    if (config_list(config, q->settings->allowed, &list, &n) && !is_domain_listed(list, n, host)) {
        err_set(err, ERR_NETWORK_DENIED, "`%.200s` is not in %s", host, q->settings->allowed);
        return err_reason(err, "domain");
    }
    return 0;
}

static bool has_scheme(struct str url, const char *scheme)
{
    size_t n = strlen(scheme);
    for (size_t i = 0; i < n; i++) {
        if (i >= url.n || ascii_lower(url.p[i]) != scheme[i])
            return false;
    }
    return true;
}

static int read_host(struct str url, char host[DOMAIN_MAX], struct err *err)
{
    struct err why;
    if (!has_scheme(url, "https://") && !has_scheme(url, "http://"))
        return err_field(err, "url", "the URL begins with http:// or https://");
    if (domain_of_url(url, host, &why) < 0)
        return err_field(err, "url", "the URL is not used: %.200s", why.message);
    return 0;
}

/* --- what it sends */

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++) {
        if (name.n == strlen(*names) && has_scheme(name, *names))
            return true;
    }
    return false;
}

/* They say where a request goes and where it ends, which is not the caller's to say. */
static const char *const forbidden_headers[] = {"host",
                                                "connection",
                                                "content-length",
                                                "transfer-encoding",
                                                "te",
                                                "trailer",
                                                "upgrade",
                                                "keep-alive",
                                                "proxy-connection",
                                                "expect",
                                                "http2-settings",
                                                "via",
                                                "forwarded",
                                                "x-forwarded-host",
                                                "x-http-method-override",
                                                "x-http-method",
                                                "x-method-override",
                                                "x-original-url",
                                                "x-rewrite-url",
                                                NULL};

bool web_is_header_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || (c >= '0' && c <= '9');
        if (!letter && !(c && strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return name.n > 0 && name.n <= WEB_HEADER_NAME_MAX;
}

static bool is_header_value(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static int add_request_header(struct buf *out, struct str name, struct str value, struct err *err)
{
    if (!web_is_header_name(name))
        return err_field(err, "headers", "a header's name has letters, digits and hyphens");
    if (has_scheme(name, "proxy-") || is_one_of(name, forbidden_headers))
        return err_field(err, "headers", "the header `%.*s` cannot be set by a call", (int)name.n,
                         name.p);
    if (!is_header_value(value))
        return err_field(err, "headers",
                         "the value of the header `%.*s` has line ends or control characters",
                         (int)name.n, name.p);
    /* `Name;` is how libcurl takes one without a value. */
    buf_addf(out, value.n ? "%.*s: %.*s\n" : "%.*s;\n", (int)name.n, name.p, (int)value.n, value.p);
    return 0;
}

static int pack_headers(struct call *call, yyjson_val *headers, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    buf_done(&call->packed);
    buf_init(&call->packed, OP_HTTP_HEADERS_MAX);
    if (headers && yyjson_obj_size(headers) > HEADERS_MAX)
        return err_field(err, "headers", "at most %d headers", HEADERS_MAX);
    yyjson_obj_foreach(headers, idx, max, key, val) {
        if (!yyjson_is_str(val))
            return err_field(err, "headers", "the value of each header is a text");
        if (add_request_header(&call->packed, json_str(key), json_str(val), err) < 0)
            return -1;
    }
    return call->packed.failed ? err_field(err, "headers", "the headers are more than %u bytes",
                                           OP_HTTP_HEADERS_MAX)
                               : 0;
}

static int check_method(const struct call *call, const struct web_request *q, struct err *err)
{
    const struct str *allowed = NULL;
    size_t n = 0;
    config_list(call->workplace->config, "tools.http.allowedMethods", &allowed, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_equal(allowed[i], q->method))
            return 0;
    }
    err_set(err, ERR_NETWORK_DENIED, "the method %.*s is not in tools.http.allowedMethods",
            (int)(q->method.n < 20 ? q->method.n : 20), q->method.p);
    return err_reason(err, "method");
}

/* The lists of the network's settings, as words. */
static struct str join_list(struct call *call, const char *path, struct buf *out)
{
    const struct str *list;
    size_t n;
    size_t from = out->len;
    if (!config_list(call->workplace->config, path, &list, &n))
        n = 0;
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%.*s", i ? " " : "", (int)list[i].n, list[i].p);
    return (struct str){out->data + from, out->len - from};
}

static int64_t time_left(const struct call *call, const struct web_request *q)
{
    int64_t most = config_int(call->workplace->config, q->settings->timeout);
    int64_t gone = (int64_t)((clock_mono_ns() - call->start_ns) / 1000000);
    if (q->timeout_ms > 0 && q->timeout_ms < most)
        most = q->timeout_ms;
    return most > gone ? most - gone : 1;
}

static int check_switched_on(const struct call *call, const struct web_request *q, struct err *err)
{
    if (config_bool(call->workplace->config, q->settings->enabled))
        return 0;
    err_set(err, ERR_POLICY_DENIED, "the tool `%s` is switched off by %s", call->tool->name,
            q->settings->enabled);
    return err_reason(err, "tool_disabled");
}

/* The settings' words and the host lie in call->decoded, which is given its whole room at once: they stay where they are. */
static int fill_request(struct call *call, const struct web_request *q, const char *host,
                        struct err *err)
{
    const size_t room = 16u << 10;
    buf_done(&call->decoded);
    buf_init(&call->decoded, room);
    if (buf_reserve(&call->decoded, room) < 0)
        return err_no_memory(err);
    buf_add(&call->decoded, host, strlen(host) + 1);
    struct str ports = join_list(call, "network.ports", &call->decoded);
    buf_add_char(&call->decoded, ' ');
    struct str allowed = join_list(call, "network.allowedAddresses", &call->decoded);
    if (call->decoded.failed)
        return err_set(err, ERR_INTERNAL,
                       "network.ports and network.allowedAddresses are too long");
    call->op = &op_table[OP_HTTP];
    call->request.http = (struct op_http_request){
        .url = q->url,
        .host = {call->decoded.data, strlen(host)},
        .method = q->method,
        .headers = buf_str(&call->packed),
        .ports = ports,
        .allowed = allowed,
        .timeout_ms = time_left(call, q),
        .max_bytes = q->max_bytes,
    };
    call->request_body = q->body;
    call->reply_max = (size_t)q->max_bytes;
    return 0;
}

int web_prepare(struct call *call, const struct web_request *q, struct err *err)
{
    char host[DOMAIN_MAX];
    if (check_switched_on(call, q, err) < 0 || check_method(call, q, err) < 0 ||
        read_host(q->url, host, err) < 0 || check_domain_lists(call, q, host, err) < 0 ||
        pack_headers(call, q->headers, err) < 0)
        return -1;
    return fill_request(call, q, host, err);
}

/* --- redirects */

static bool is_redirect(const struct op_http_reply *r)
{
    return r->location.n > 0 && (r->status == 301 || r->status == 302 || r->status == 303 ||
                                 r->status == 307 || r->status == 308);
}

/* Scheme, host and port, as text. */
static bool is_same_origin(struct str a, struct str b)
{
    size_t n = 0;
    unsigned slashes = 0;
    for (; n < a.n && n < b.n && slashes < 3; n++) {
        if (ascii_lower(a.p[n]) != ascii_lower(b.p[n]))
            return false;
        slashes += a.p[n] == '/';
    }
    return slashes == 3;
}

/* What a caller meant for one server is not for another. */
static const char *const kept_headers[] = {"accept", "accept-language", "user-agent", NULL};
static const char *const body_headers[] = {"content-type", "content-encoding", "content-language",
                                           "content-location", NULL};

static void copy_headers(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *headers, bool same,
                         bool body)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(headers, idx, max, key, val) {
        struct str name = json_str(key);
        bool of_body = is_one_of(name, body_headers);
        if ((!of_body || body) && (same || of_body || is_one_of(name, kept_headers)))
            yyjson_mut_obj_add(to, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, val));
    }
}

static yyjson_doc *redirected(const struct call *call, struct str to)
{
    const struct op_http_reply *r = &call->reply.http;
    struct str method = call->request.http.method;
    bool posts = str_is(method, "POST");
    bool drops = r->status == 303 ? !str_is(method, "HEAD")
                                  : posts && (r->status == 301 || r->status == 302);
    bool same = is_same_origin(call->request.http.url, to);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_mut_doc_set_root(doc, root);
    yyjson_obj_foreach(call->arguments, idx, max, key, val) {
        struct str name = json_str(key);
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, val);
        if (str_is(name, "url"))
            copy = yyjson_mut_strncpy(doc, to.p, to.n);
        else if (drops && str_is(name, "method"))
            copy = yyjson_mut_str(doc, "GET");
        else if (drops && (str_is(name, "body") || str_is(name, "body_b64")))
            continue;
        else if (str_is(name, "headers")) {
            copy = yyjson_mut_obj(doc);
            copy_headers(doc, copy, val, same, !drops);
        }
        yyjson_mut_obj_add(root, yyjson_val_mut_copy(doc, key), copy);
    }
    yyjson_doc *made = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return made;
}

/* Somebody said yes to the address that was asked for, and not to where it leads. */
static int check_asked(const struct call *call, struct str to, struct err *err)
{
    char host[DOMAIN_MAX];
    if (read_host(to, host, err) < 0)
        return -1;
    if (has_scheme(call->request.http.url, "https://") && !has_scheme(to, "https://")) {
        err_set(err, ERR_NETWORK_DENIED, "the server redirects from https to `%.*s`, without TLS",
                (int)(to.n < 200 ? to.n : 200), to.p);
        return err_reason(err, "redirect");
    }
    if (str_is(call->request.http.host, host) || !(call->approved || call->verdict.hooks))
        return 0;
    err_set(err, ERR_NETWORK_DENIED,
            "the server redirects to `%.*s`, and `%.*s` is what was approved: call again with the "
            "new address",
            (int)(to.n < 200 ? to.n : 200), to.p, (int)call->request.http.host.n,
            call->request.http.host.p);
    return err_reason(err, "redirect");
}

int web_follow(struct call *call, struct err *err)
{
    struct err why;
    if (!is_redirect(&call->reply.http))
        return 0;
    if (++call->redirects > REDIRECTS_MAX)
        return err_set(err, ERR_NETWORK_ERROR, "more than %d redirects", REDIRECTS_MAX);
    struct str to = call->reply.http.location;
    if (check_asked(call, to, err) < 0)
        return -1;
    FREE_AT_END char *shown = mem_copy(to.p, to.n < 200 ? utf8_cut(to.p, 200) : to.n);
    yyjson_doc *doc = redirected(call, to);
    if (!doc)
        return err_no_memory(err);
    call_use_arguments(call, doc);
    if (arg_decode(&call->tool->args, call->dialect->strict, call->arguments, &call->args, &why) <
            0 ||
        pipeline_recheck(call, &why) < 0) {
        *err = why;
        snprintf(err->message, sizeof err->message, "redirected to %s: %.300s", shown, why.message);
        return -1;
    }
    return 1;
}
