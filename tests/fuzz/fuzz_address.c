/* Any bytes as a range of addresses, or, after `U`, as a URL: what is taken for a host by the gate is one in its own spelling. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"
#include "net/address.h"
#include "policy/domain.h"
#include "target.h"

static void check_range(struct str text)
{
    struct address_range range;
    struct err err;
    if (address_range_read(text, &range, &err) < 0)
        return;
    must(range.bits <= 128);
    must(address_in(&range.from, &range));
    struct address other = range.from;
    if (range.bits > 0) {
        other.byte[0] ^= 0x80;
        must(!address_in(&other, &range));
    }
}

/* Written as an address, it is the one that is judged. */
static void check_host(struct str url)
{
    char host[DOMAIN_MAX];
    char again[DOMAIN_MAX];
    struct err err;
    if (domain_of_url(url, host, &err) < 0)
        return;
    must(host[0] && strlen(host) < DOMAIN_MAX);
    must(domain_read(str_of(host), again, &err) == 0);
    must(strcmp(host, again) == 0);
    must(!strpbrk(host, "/?#@[]% \t\r\n\\"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    if (size > 4096)
        return 0;
    if (size && data[0] == 'U')
        check_host((struct str){text.p + 1, text.n - 1});
    else
        check_range(text);
    return 0;
}
