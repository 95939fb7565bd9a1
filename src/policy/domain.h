/* Hosts of addresses, and the domains of rules. What two readers of a URL could read in different ways is not read at
 * all: a rule must see the host that is really asked. */
#ifndef SANDGATE_POLICY_DOMAIN_H
#define SANDGATE_POLICY_DOMAIN_H

#include "base/err.h"

#define DOMAIN_MAX 256

/* A host's name or address by itself, in one spelling: small letters, no dot at its end, an IPv6 address without its
 * brackets. -1: `err` says why it is none. */
int domain_read(struct str text, char ret[DOMAIN_MAX], struct err *err);
/* The host of a URL, in the same spelling. */
int domain_of_url(struct str url, char ret[DOMAIN_MAX], struct err *err);

/* Whether the host is the domain or lies in it; both in that spelling. */
bool domain_covers(const char *domain, const char *host);

#endif
