/* The net role: net.c takes calls and gives answers, net_request.c has libcurl do one. */
#ifndef SANDGATE_ROLES_NET_PARTS_H
#define SANDGATE_ROLES_NET_PARTS_H

#include <curl/curl.h>

#include "net/address.h"
#include "roles/serve.h"

#define RANGES_MAX 64
#define PORTS_MAX 64

/* One request to one server; redirects are told, not followed: the gate judges where they lead. */
struct net_request {
    struct net_request *next;
    struct role_call *call;
    CURL *curl;
    CURLU *url;
    struct curl_slist *headers;
    struct address_range ranges[RANGES_MAX]; /* that may be connected to besides public ones */
    size_t n_ranges;
    struct buf said;     /* the headers of the answer, a line each */
    struct buf type;     /* Content-Type */
    struct buf location; /* where it leads, absolute */
    bool truncated;
    bool too_many_headers;
    bool denied; /* by its address */
    struct err why;
};

/* Makes the transfer. -1: `err` says why there is none. */
int net_request_begin(struct role_call *call, struct net_request **ret, struct err *err);
/* What became of it. 0 with *reply, whose strings are the request's. */
int net_request_end(struct net_request *r, CURLcode code, struct op_http_reply *reply,
                    struct err *err);
void net_request_free(struct net_request *r);

#endif
