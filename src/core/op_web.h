/* Operations for web pages. */
#ifndef SANDGATE_CORE_OP_WEB_H
#define SANDGATE_CORE_OP_WEB_H

#include "base/str.h"

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
