/* Handles of libuv. */
#ifndef SANDGATE_BASE_HANDLE_H
#define SANDGATE_BASE_HANDLE_H

#include <stdlib.h>
#include <uv.h>

/* For uv_close, where `data` holds the handle. */
static inline void handle_free_data(uv_handle_t *handle)
{
    free(handle->data);
}

#endif
