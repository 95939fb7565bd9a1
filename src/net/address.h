/* Which addresses of the network may be connected to: public ones, and what the operator named. Pure: it is asked with the
 * address of each connection, when names have been looked up and redirects followed. */
#ifndef SANDGATE_NET_ADDRESS_H
#define SANDGATE_NET_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

/* An address, an IPv4 one as ::ffff:a.b.c.d. */
struct address {
    unsigned char byte[16];
};

/* False: it is of no kind that is connected to. One of a translator (64:ff9b::/96) is the address that is meant. */
bool address_of(const struct sockaddr *sa, size_t n, struct address *ret);

/* What kind of address that is not public it is, in a few words; NULL: a public one. */
const char *address_special(const struct address *a);

/* `10.0.0.0/8`, `::1`. */
struct address_range {
    struct address from;
    unsigned bits;
};
int address_range_read(struct str text, struct address_range *ret, struct err *err);
bool address_in(const struct address *a, const struct address_range *range);

#endif
