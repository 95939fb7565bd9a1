#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* An empty buffer larger than this is given back. */
#define KEEP_BYTES (1u << 20)
#define FIRST_BYTES 4096
/* Escaping makes at most six bytes of one. */
#define GROWTH 6
/* What stands around name and arguments. */
#define FRAME_BYTES 128

int sandgate_text_reserve(struct sandgate_text *text, size_t more)
{
    if (text->room - text->n >= more)
        return 0;
    if (more > SIZE_MAX / 4 - text->n)
        return -ENOMEM;
    size_t room = text->room ? text->room : FIRST_BYTES;
    while (room - text->n < more)
        room *= 2;
    char *data = realloc(text->data, room);
    if (!data)
        return -ENOMEM;
    text->data = data;
    text->room = room;
    return 0;
}

void sandgate_text_drop(struct sandgate_text *text, size_t n)
{
    if (n == 0)
        return;
    text->n -= n;
    memmove(text->data, text->data + n, text->n);
    if (text->n == 0 && text->room > KEEP_BYTES)
        sandgate_text_done(text);
}

void sandgate_text_done(struct sandgate_text *text)
{
    free(text->data);
    *text = (struct sandgate_text){0};
}

/* The rest writes into room that was made before. */

static void put(struct sandgate_text *out, const char *bytes, size_t n)
{
    memcpy(out->data + out->n, bytes, n);
    out->n += n;
}

static void put_string(struct sandgate_text *out, const char *text)
{
    put(out, "\"", 1);
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        char escaped[8];
        if (c == '"' || c == '\\')
            put(out, (const char[]){'\\', *p}, 2);
        else if (c < 0x20)
            put(out, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
        else
            put(out, p, 1);
    }
    put(out, "\"", 1);
}

/* A line break can stand only between values here: inside a string it would not be JSON. */
static void put_object(struct sandgate_text *out, const char *json)
{
    size_t n = strlen(json);
    char *begin = out->data + out->n;
    put(out, json, n);
    for (char *p = begin; (p = memchr(p, '\n', (size_t)(begin + n - p)));)
        *p = ' ';
    for (char *p = begin; (p = memchr(p, '\r', (size_t)(begin + n - p)));)
        *p = ' ';
}

static void put_number(struct sandgate_text *out, const char *before, uint64_t id,
                       const char *after)
{
    char text[64];
    put(out, text, (size_t)snprintf(text, sizeof text, "%s%" PRIu64 "%s", before, id, after));
}

int sandgate_wire_add_call(struct sandgate_text *out, uint64_t id, const char *tool,
                           const char *arguments)
{
    bool object = arguments && sandgate_json_is_object(arguments);
    size_t tool_bytes = strlen(tool);
    size_t bytes = arguments ? strlen(arguments) : 0;
    if (tool_bytes > SIZE_MAX / 64 || bytes > SIZE_MAX / 64)
        return -ENOMEM;
    int r = sandgate_text_reserve(out, FRAME_BYTES + tool_bytes * GROWTH +
                                           bytes * (object ? 1 : GROWTH));
    if (r < 0)
        return r;
    put_number(out, "{\"id\":\"", id, "\",\"tool_call\":{\"name\":");
    put_string(out, tool);
    if (arguments)
        put(out, ",\"arguments\":", 13);
    if (object)
        put_object(out, arguments);
    else if (arguments)
        put_string(out, arguments);
    put(out, "}}\n", 3);
    return 0;
}

int sandgate_wire_add_cancel(struct sandgate_text *out, uint64_t id)
{
    int r = sandgate_text_reserve(out, FRAME_BYTES);
    if (r < 0)
        return r;
    put_number(out, "{\"cancel\":\"", id, "\"}\n");
    return 0;
}

bool sandgate_wire_take(const char **p, const char *end, const char *expected)
{
    size_t n = strlen(expected);
    if ((size_t)(end - *p) < n || memcmp(*p, expected, n) != 0)
        return false;
    *p += n;
    return true;
}

bool sandgate_wire_take_id(const char **p, const char *end, uint64_t *ret)
{
    uint64_t id = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        unsigned digit = (unsigned)(**p - '0');
        if ((id == 0 && digit == 0) || id > (UINT64_MAX - digit) / 10)
            return false;
        id = id * 10 + digit;
    }
    *ret = id;
    return id != 0;
}

int sandgate_wire_read_answer(const char *line, size_t n, uint64_t *ret_id, const char **ret_result,
                              size_t *ret_n)
{
    const char *p = line;
    const char *end = line + n;
    uint64_t id = 0;
    if (!sandgate_wire_take(&p, end, "{\"id\":"))
        return -EPROTO;
    if (!sandgate_wire_take(&p, end, "null") &&
        !(sandgate_wire_take(&p, end, "\"") && sandgate_wire_take_id(&p, end, &id) &&
          sandgate_wire_take(&p, end, "\"")))
        return -EPROTO;
    if (!sandgate_wire_take(&p, end, ",\"result\":") || end - p < 3 || p[0] != '{' ||
        memcmp(end - 2, "}}", 2) != 0 || memchr(p, '\0', (size_t)(end - p)))
        return -EPROTO;
    *ret_id = id;
    *ret_result = p;
    *ret_n = (size_t)(end - p) - 1;
    return 0;
}
