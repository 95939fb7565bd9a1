#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "policy/domain.h"
#include "roles/net_parts.h"

#define CONNECT_MAX_MS 10000
#define AGENT "sandgate/" SANDGATE_VERSION

void net_request_free(struct net_request *r)
{
    if (!r)
        return;
    curl_easy_cleanup(r->curl);
    curl_url_cleanup(r->url);
    curl_slist_free_all(r->headers);
    buf_done(&r->said);
    buf_done(&r->type);
    buf_done(&r->location);
    role_call_free(r->call);
    free(r);
}

/* --- what comes back */

static size_t take_page(char *bytes, size_t size, size_t n, void *arg)
{
    struct net_request *r = arg;
    size_t most = (size_t)r->call->request.http.max_bytes;
    size_t room = most - r->call->reply_body.len;
    size_t take = size * n < room ? size * n : room;
    if (buf_add(&r->call->reply_body, bytes, take) < 0)
        return 0;
    r->truncated = take < size * n;
    /* The transfer ends: what would be taken apart of it is of no use. */
    return take == size * n ? size * n : 0;
}

/* As text: what is no UTF-8 is Latin-1, as it was once agreed. */
static void add_text(struct buf *out, const char *text, size_t n)
{
    if (utf8_valid(text, n)) {
        buf_add(out, text, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80)
            buf_add_char(out, (char)(0xc0 | c >> 6));
        buf_add_char(out, c < 0x80 ? (char)c : (char)(0x80 | (c & 0x3f)));
    }
}

static void note_value(struct buf *out, const char *value, size_t n)
{
    buf_cut(out, 0);
    add_text(out, value, n);
}

static size_t take_header(char *bytes, size_t size, size_t n, void *arg)
{
    struct net_request *r = arg;
    size_t length = size * n;
    while (length && (bytes[length - 1] == '\n' || bytes[length - 1] == '\r'))
        length--;
    /* Those of an interim answer are followed by others. */
    if (length > 5 && strncasecmp(bytes, "HTTP/", 5) == 0) {
        buf_cut(&r->said, 0);
        buf_cut(&r->type, 0);
        return size * n;
    }
    const char *colon = length ? memchr(bytes, ':', length) : NULL;
    if (!colon || memchr(bytes, '\0', length) || memchr(bytes, '\n', length) ||
        memchr(bytes, '\r', length))
        return size * n;
    add_text(&r->said, bytes, length);
    buf_add_char(&r->said, '\n');
    if ((size_t)(colon - bytes) == 12 && strncasecmp(bytes, "content-type", 12) == 0) {
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        if (value < bytes + length)
            note_value(&r->type, value, (size_t)(bytes + length - value));
    }
    r->too_many_headers = r->said.failed || r->type.failed;
    return r->too_many_headers ? 0 : size * n;
}

/* --- where it goes */

/* Whether it is an address of this machine: only to these a socket can be bound. */
static bool is_own_address(const struct curl_sockaddr *to)
{
    struct sockaddr_storage own = {0};
    int fd = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (to->addrlen > sizeof own || fd < 0) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    memcpy(&own, &to->addr, to->addrlen);
    if (own.ss_family == AF_INET)
        ((struct sockaddr_in *)&own)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&own)->sin6_port = 0;
    bool bound = bind(fd, (struct sockaddr *)&own, to->addrlen) == 0 || errno != EADDRNOTAVAIL;
    close(fd);
    return bound;
}

static const char *forbidden(const struct net_request *r, const struct curl_sockaddr *to)
{
    struct address a;
    if ((to->family != AF_INET && to->family != AF_INET6) ||
        !address_of(&to->addr, to->addrlen, &a))
        return "of an unknown kind";
    for (size_t i = 0; i < r->n_ranges; i++) {
        if (address_in(&a, &r->ranges[i]))
            return NULL;
    }
    const char *special = address_special(&a);
    if (special)
        return special;
    return is_own_address(to) ? "this machine's own" : NULL;
}

/* With the address that the name was found to have, right before it is connected to. */
static curl_socket_t open_judged(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct net_request *r = arg;
    const char *why = forbidden(r, to);
    if (purpose == CURLSOCKTYPE_IPCXN && to->socktype == SOCK_STREAM && !why && !r->denied)
        return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (!r->denied) {
        r->denied = true;
        err_set(&r->why, ERR_NETWORK_DENIED,
                "the address of `%.200s` is not connected to: it is %s (network.allowedAddresses "
                "can name it)",
                r->call->request.http.host.p, why ? why : "of an unknown kind");
        err_reason(&r->why, "address");
    }
    return CURL_SOCKET_BAD;
}

static bool is_port_allowed(struct str list, const char *port)
{
    size_t n = strlen(port);
    for (size_t at = 0; at < list.n;) {
        size_t word = 0;
        while (at + word < list.n && list.p[at + word] != ' ')
            word++;
        if (word == n && memcmp(list.p + at, port, n) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

/* What libcurl reads has to be what the gate has judged. */
static int check_url(struct net_request *r, struct err *err)
{
    const struct op_http_request *q = &r->call->request.http;
    char host[DOMAIN_MAX];
    char *text = NULL;
    char *port = NULL;
    struct err ignored;
    bool same = curl_url_get(r->url, CURLUPART_HOST, &text, 0) == CURLUE_OK &&
                domain_read(str_of(text), host, &ignored) == 0 && str_is(q->host, host);
    bool allowed = curl_url_get(r->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   is_port_allowed(q->ports, port);
    int n = 0;
    if (!same)
        n = err_field(err, "url", "the host of the URL can be read in more than one way");
    else if (!allowed)
        n = err_set(err, ERR_NETWORK_DENIED, "port %.8s is not one of network.ports (%.*s)",
                    port ? port : "?", (int)q->ports.n, q->ports.p);
    curl_free(text);
    curl_free(port);
    return n;
}

static int read_ranges(struct net_request *r, struct err *err)
{
    struct str list = r->call->request.http.allowed;
    for (size_t at = 0; at < list.n;) {
        const char *space = memchr(list.p + at, ' ', list.n - at);
        size_t n = space ? (size_t)(space - list.p) - at : list.n - at;
        if (r->n_ranges == RANGES_MAX ||
            address_range_read((struct str){list.p + at, n}, &r->ranges[r->n_ranges++], err) < 0)
            return -1;
        at += n + 1;
    }
    return 0;
}

/* --- the request */

static bool says_type(struct str lines)
{
    static const char name[] = "content-type:";
    for (size_t at = 0; at + sizeof name - 1 <= lines.n; at++) {
        if ((at == 0 || lines.p[at - 1] == '\n') &&
            strncasecmp(lines.p + at, name, sizeof name - 1) == 0)
            return true;
    }
    return false;
}

static void add_headers(struct net_request *r)
{
    struct str rest = r->call->request.http.headers;
    /* libcurl's own, unless the caller sets it. */
    r->headers = curl_slist_append(NULL, "Expect:");
    if (!says_type(rest))
        r->headers = curl_slist_append(r->headers, "Content-Type:");
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        FREE_AT_END char *line = mem_copy(rest.p, n);
        r->headers = curl_slist_append(r->headers, line);
        rest.p += n + (end != NULL);
        rest.n -= n + (end != NULL);
    }
}

static void set_method(struct net_request *r)
{
    const struct op_http_request *q = &r->call->request.http;
    FREE_AT_END char *method = mem_copy_str(q->method);
    if (str_is(q->method, "HEAD"))
        curl_easy_setopt(r->curl, CURLOPT_NOBODY, 1L);
    else if (r->call->body.n || str_is(q->method, "POST") || str_is(q->method, "PUT") ||
             str_is(q->method, "PATCH")) {
        curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->call->body.n);
        curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, r->call->body.n ? r->call->body.p : "");
    }
    if (!str_is(q->method, "HEAD"))
        curl_easy_setopt(r->curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_rules(struct net_request *r)
{
    CURL *c = r->curl;
    long most = (long)r->call->request.http.timeout_ms;
    curl_easy_setopt(c, CURLOPT_CURLU, r->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_judged);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, r);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, most);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, most < CONNECT_MAX_MS ? most : CONNECT_MAX_MS);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(c, CURLOPT_CAINFO, ROLE_NET_CA);
    curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(c, CURLOPT_USERAGENT, AGENT);
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, r->headers);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_page);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(c, CURLOPT_PRIVATE, r);
}

static void net_request_freep(struct net_request **r)
{
    net_request_free(*r);
}

int net_request_begin(struct role_call *call, struct net_request **ret, struct err *err)
{
    CLEANUP(net_request_freep) struct net_request *r = mem_zero(sizeof *r);
    r->call = call;
    buf_init(&r->said, OP_HTTP_HEADERS_MAX);
    buf_init(&r->type, OP_HTTP_TYPE_MAX);
    buf_init(&r->location, OP_HTTP_URL_MAX);
    FREE_AT_END char *url = mem_copy_str(call->request.http.url);
    r->url = curl_url();
    CURLUcode read = curl_url_set(r->url, CURLUPART_URL, url, CURLU_DISALLOW_USER);
    int n = read == CURLUE_OK
                ? 0
                : err_field(err, "url", "the URL is not used: %s", curl_url_strerror(read));
    if (n == 0 && (check_url(r, err) < 0 || read_ranges(r, err) < 0))
        n = -1;
    if (n < 0) {
        r->call = NULL; /* stays the caller's */
        return -1;
    }
    r->curl = curl_easy_init();
    if (!r->curl)
        abort();
    add_headers(r);
    set_method(r);
    set_rules(r);
    *ret = TAKE_PTR(r);
    return 0;
}

static int fail_request(const struct net_request *r, CURLcode code, struct err *err)
{
    const struct op_http_request *q = &r->call->request.http;
    if (r->denied) {
        *err = r->why;
        return -1;
    }
    if (r->too_many_headers)
        return err_set(err, ERR_NETWORK_ERROR, "the headers of the answer are more than %u bytes",
                       OP_HTTP_HEADERS_MAX);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_TIMEOUT, "`%.200s` did not answer in full within %lld ms",
                       q->host.p, (long long)q->timeout_ms);
    return err_set(err, ERR_NETWORK_ERROR, "asking `%.200s` failed: %s", q->host.p,
                   curl_easy_strerror(code));
}

int net_request_end(struct net_request *r, CURLcode code, struct op_http_reply *reply,
                    struct err *err)
{
    long status = 0;
    char *to = NULL;
    bool cut = code == CURLE_WRITE_ERROR && r->truncated;
    if (code != CURLE_OK && !cut)
        return fail_request(r, code, err);
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(r->curl, CURLINFO_REDIRECT_URL, &to);
    if (to)
        note_value(&r->location, to, strlen(to));
    if (r->location.failed)
        return err_set(err, ERR_NETWORK_ERROR, "the address of a redirect is too long");
    *reply = (struct op_http_reply){.status = status,
                                    .headers = buf_str(&r->said),
                                    .type = buf_str(&r->type),
                                    .location = buf_str(&r->location),
                                    .truncated = r->truncated};
    return 0;
}
