#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MAPPED_BITS 96

struct special {
    const char *range;
    const char *what;
};

/* IANA's registries of special addresses, and those under which clouds serve keys and settings to their machines: 169.254.169.254
 * and others are link-local, 100.100.100.200 is in 100.64.0.0/10, 192.0.0.192 in 192.0.0.0/24, fd00:ec2::254 in fc00::/7. */
static const struct special specials4[] = {
    {"0.0.0.0/8", "unspecified"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "of a provider's own network"},
    {"127.0.0.0/8", "loopback"},
    {"168.63.129.16/32", "a cloud's own service"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "reserved"},
    {"192.0.2.0/24", "for documentation"},
    {"192.31.196.0/24", "reserved"},
    {"192.52.193.0/24", "reserved"},
    {"192.88.99.0/24", "of a 6to4 relay"},
    {"192.168.0.0/16", "private"},
    {"192.175.48.0/24", "reserved"},
    {"198.18.0.0/15", "for benchmarks"},
    {"198.51.100.0/24", "for documentation"},
    {"203.0.113.0/24", "for documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
};
/* Of what lies in 2000::/3; all else is not public. */
static const struct special specials6[] = {
    {"2001::/23", "reserved (Teredo and others)"},
    {"2001:db8::/32", "for documentation"},
    {"2002::/16", "6to4"},
    {"2620:4f:8000::/48", "reserved"},
    {"3fff::/20", "for documentation"},
};

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
static const unsigned char translated_prefix[12] = {0, 0x64, 0xff, 0x9b};

static void set_mapped(struct address *ret, const void *four)
{
    memcpy(ret->byte, mapped_prefix, sizeof mapped_prefix);
    memcpy(ret->byte + sizeof mapped_prefix, four, 4);
}

static bool is_mapped(const struct address *a)
{
    return memcmp(a->byte, mapped_prefix, sizeof mapped_prefix) == 0;
}

bool address_of(const struct sockaddr *sa, size_t n, struct address *ret)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (sa->sa_family == AF_INET && n >= sizeof in) {
        memcpy(&in, sa, sizeof in);
        set_mapped(ret, &in.sin_addr);
        return true;
    }
    if (sa->sa_family != AF_INET6 || n < sizeof in6)
        return false;
    memcpy(&in6, sa, sizeof in6);
    if (memcmp(&in6.sin6_addr, translated_prefix, sizeof translated_prefix) == 0)
        set_mapped(ret, in6.sin6_addr.s6_addr + sizeof translated_prefix);
    else
        memcpy(ret->byte, &in6.sin6_addr, sizeof ret->byte);
    return true;
}

static const char *find_special(const struct address *a, const struct special *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct address_range range;
        struct err err;
        struct str text = {rows[i].range, strlen(rows[i].range)};
        if (address_range_read(text, &range, &err) < 0)
            abort();
        if (address_in(a, &range))
            return rows[i].what;
    }
    return NULL;
}

const char *address_special(const struct address *a)
{
    static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    if (is_mapped(a))
        return find_special(a, specials4, ARRAY_LEN(specials4));
    if (memcmp(a->byte, &loopback, sizeof loopback) == 0)
        return "loopback";
    if ((a->byte[0] & 0xe0) != 0x20)
        return "not public";
    return find_special(a, specials6, ARRAY_LEN(specials6));
}

static bool read_address(const char *text, struct address *ret, unsigned *ret_bits)
{
    struct in_addr four;
    *ret_bits = inet_pton(AF_INET, text, &four) == 1 ? 32 : 128;
    if (*ret_bits == 32)
        set_mapped(ret, &four);
    return *ret_bits == 32 || inet_pton(AF_INET6, text, ret->byte) == 1;
}

int address_range_read(struct str text, struct address_range *ret, struct err *err)
{
    char copy[INET6_ADDRSTRLEN + 5] = "";
    unsigned whole;
    if (text.n < sizeof copy && !memchr(text.p, '\0', text.n))
        memcpy(copy, text.p, text.n);
    char *slash = strchr(copy, '/');
    const char *end = "";
    if (slash)
        *slash = '\0';
    if (!read_address(copy, &ret->from, &whole))
        return err_set(err, ERR_INVALID_ARGUMENTS, "it is no address, nor a range of them");
    char *rest = NULL;
    unsigned long bits = slash ? strtoul(slash + 1, &rest, 10) : whole;
    if (slash)
        end = rest;
    if (*end || bits > whole || (slash && (slash[1] < '0' || slash[1] > '9')))
        return err_set(err, ERR_INVALID_ARGUMENTS, "behind the slash is a number up to %u", whole);
    ret->bits = (unsigned)bits + (whole == 32 ? MAPPED_BITS : 0);
    return 0;
}

bool address_in(const struct address *a, const struct address_range *range)
{
    size_t whole = range->bits / 8;
    unsigned rest = range->bits % 8;
    if (memcmp(a->byte, range->from.byte, whole) != 0)
        return false;
    return rest == 0 || ((a->byte[whole] ^ range->from.byte[whole]) >> (8 - rest)) == 0;
}
