/* What tools for the web share: a request to a server, its redirects, and what came back. */
#ifndef SANDGATE_TOOLS_WEB_H
#define SANDGATE_TOOLS_WEB_H

#include "core/call.h"

#define WEB_HEADER_NAME_MAX 100

/* Fields of the configuration that a tool obeys. */
struct web_settings {
    const char *enabled;
    const char *allowed;
    const char *blocked;
    const char *timeout;
};
extern const struct web_settings web_http;

struct web_request {
    const struct web_settings *settings;
    struct str method;
    struct str url;
    yyjson_val *headers; /* an object of texts; NULL: none */
    struct str body;
    int64_t timeout_ms; /* at most; 0: as configured */
    int64_t max_bytes;  /* of the answer's body */
};

/* Refuses what the settings, or sense, do not allow; else makes the operation of the net role. */
int web_prepare(struct call *call, const struct web_request *request, struct err *err);
/* A tool's `next`: follows a redirect, of which the policy is asked as of a call. */
int web_follow(struct call *call, struct err *err);

/* Letters, digits and marks, as HTTP has it. */
bool web_is_header_name(struct str name);

/* The answer's headers, as an object whose names are in small letters; the body, as text or in base64. */
void web_write_headers(const struct call *call, struct json_out *j);
void web_write_body(const struct call *call, struct json_out *j);

#endif
