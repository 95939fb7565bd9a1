#include "policy/domain.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"

#define HOST_MAX 253
#define LABEL_MAX 63

static int refuse_unclear_host(struct err *err, const char *why)
{
    return err_set(err, ERR_INVALID_ARGUMENTS, "%s", why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `7`, `0x7f`: a last label like this makes a host an IPv4 address for some readers. */
static bool is_number_label(const char *label)
{
    if (label[0] == '0' && label[1] == 'x')
        return label[strspn(label + 2, "0123456789abcdef") + 2] == '\0';
    return label[strspn(label, "0123456789")] == '\0';
}

static int read_host_name(struct str text, char ret[DOMAIN_MAX], struct err *err)
{
    size_t label = 0;
    if (text.n && text.p[text.n - 1] == '.')
        text.n--;
    if (text.n == 0 || text.n > HOST_MAX)
        return refuse_unclear_host(err, "it has no host, or one that is too long");
    for (size_t i = 0; i < text.n; i++) {
        char c = ascii_lower(text.p[i]);
        bool letter = (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
        if (c != '.' && !letter)
            return refuse_unclear_host(
                err, "its host has characters that no host's name has; names beyond "
                     "ASCII are written with xn--");
        label = c == '.' ? 0 : label + 1;
        if (label > LABEL_MAX || (c == '.' && (i == 0 || text.p[i - 1] == '.')))
            return refuse_unclear_host(err, "its host has a part that is empty or too long");
        ret[i] = c;
    }
    ret[text.n] = '\0';
    const char *dot = strrchr(ret, '.');
    struct in_addr address;
    if (!is_number_label(dot ? dot + 1 : ret))
        return 0;
    /* inet_pton takes only four decimal numbers without leading zeros. */
    return inet_pton(AF_INET, ret, &address) == 1
               ? 0
               : refuse_unclear_host(err,
                                     "its host looks like an IPv4 address but is not four numbers");
}

static int read_bracketed(struct str text, char ret[DOMAIN_MAX], struct err *err)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (text.n >= sizeof copy)
        return refuse_unclear_host(err, "its host is not an IPv6 address");
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (strlen(copy) != text.n || inet_pton(AF_INET6, copy, &address) != 1)
        return refuse_unclear_host(err, "its host is not an IPv6 address");
    if (IN6_IS_ADDR_V4MAPPED(&address))
        inet_ntop(AF_INET, address.s6_addr + 12, ret, DOMAIN_MAX);
    else
        inet_ntop(AF_INET6, &address, ret, DOMAIN_MAX);
    return 0;
}

int domain_read(struct str text, char ret[DOMAIN_MAX], struct err *err)
{
    if (text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
        return read_bracketed((struct str){text.p + 1, text.n - 2}, ret, err);
    if (text.n && memchr(text.p, ':', text.n))
        return read_bracketed(text, ret, err);
    return read_host_name(text, ret, err);
}

static bool scheme_length(struct str url, size_t *ret)
{
    size_t n = 0;
    while (n < url.n && ((ascii_lower(url.p[n]) >= 'a' && ascii_lower(url.p[n]) <= 'z') ||
                         (n && (is_digit(url.p[n]) || strchr("+-.", url.p[n])))))
        n++;
    *ret = n + 3;
    return n && url.n > n + 3 && memcmp(url.p + n, "://", 3) == 0;
}

/* Control characters and blanks are dropped by some readers, a backslash is a slash for others. */
static bool has_odd_bytes(struct str url)
{
    for (size_t i = 0; i < url.n; i++) {
        unsigned char c = (unsigned char)url.p[i];
        if (c <= ' ' || c == '\\' || c == 0x7f)
            return true;
    }
    return false;
}

static bool is_port(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_digit(text.p[i]))
            return false;
    }
    return text.n <= 5;
}

int domain_of_url(struct str url, char ret[DOMAIN_MAX], struct err *err)
{
    size_t from;
    if (has_odd_bytes(url))
        return refuse_unclear_host(err, "it has blanks, control characters or backslashes");
    if (!scheme_length(url, &from))
        return refuse_unclear_host(err, "it does not begin like https://host");
    struct str host = {url.p + from, 0};
    while (from + host.n < url.n && !strchr("/?#", host.p[host.n]))
        host.n++;
    const char *at = host.n ? memrchr(host.p, '@', host.n) : NULL;
    if (at) {
        size_t user = (size_t)(at - host.p);
        if (memchr(host.p, '@', user))
            return refuse_unclear_host(err, "it has more than one @ before its path");
        host = (struct str){at + 1, host.n - user - 1};
    }
    const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;
    const char *bracket = host.n ? memrchr(host.p, ']', host.n) : NULL;
    if (colon && (!bracket || colon > bracket)) {
        size_t n = (size_t)(colon - host.p);
        if (!is_port((struct str){colon + 1, host.n - n - 1}))
            return refuse_unclear_host(err, "its port is not a number");
        host.n = n;
    }
    if (bracket && host.p + host.n != bracket + 1)
        return refuse_unclear_host(err, "something stands between its host and its port");
    if (!bracket && host.n && memchr(host.p, ':', host.n))
        return refuse_unclear_host(err, "its port is not a number");
    return domain_read(host, ret, err);
}

static bool is_address(const char *host)
{
    const char *dot = strrchr(host, '.');
    return strchr(host, ':') || is_number_label(dot ? dot + 1 : host);
}

bool domain_covers(const char *domain, const char *host)
{
    size_t n = strlen(domain);
    size_t whole = strlen(host);
    if (strcmp(domain, host) == 0)
        return true;
    return whole > n && host[whole - n - 1] == '.' && strcmp(host + whole - n, domain) == 0 &&
           !is_address(host);
}
