/* Operations for web pages. */
#ifndef SANDGATE_CORE_OP_WEB_H
#define SANDGATE_CORE_OP_WEB_H

#include "base/str.h"
#include "core/role_program.h"

#define OP_HTTP_HEADERS_MAX (16u << 10)
#define OP_HTTP_URL_MAX (8u << 10)
#define OP_HTTP_TYPE_MAX 256u

/* One request to one server: a redirect is told, and followed by another request. The request's body is what is sent. */
struct op_http_request {
    struct str url;
    struct str host; /* as the gate has read and judged it */
    struct str method;
    struct str headers; /* a line each */
    struct str ports;   /* that may be connected to, with blanks between them */
    struct str allowed; /* addresses that may be, besides public ones: ranges, the same way */
    int64_t timeout_ms;
    int64_t max_bytes; /* of the answer's body */
};

/* The body is the answer's, decompressed. */
struct op_http_reply {
    int64_t status;
    struct str headers;  /* `Name: value`, a line each */
    struct str type;     /* Content-Type; empty: there is none */
    struct str location; /* where a redirect leads, absolute; empty: it is none */
    bool truncated;      /* the body */
};

#define OP_PAGE_TITLE_MAX 1024

/* What a page says, as text for a model. The request's body is the page as it came. */
struct op_page_request {
    struct str url;  /* links are relative to it */
    struct str type; /* Content-Type as the server said it; NULL: it said none */
    int64_t offset;  /* of the text; what comes before is left out */
    int64_t max_bytes;
};

/* The body is the text, in UTF-8. */
struct op_page_reply {
    struct str title;
    int64_t total; /* bytes of the whole text */
    int64_t next;  /* where what was left out behind begins; 0: nothing was */
};

#endif
