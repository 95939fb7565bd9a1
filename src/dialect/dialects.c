#include "dialect/dialects.h"

static const struct dialect *const all[] = {&dialect_native, &dialect_sidecar, &dialect_system,
                                            &dialect_toolhost, &dialect_runner};

const struct dialect *dialect_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    err_set(err, ERR_INVALID_ARGUMENTS,
            "there is no dialect `%.40s`; available: native, sidecar, system, toolhost, runner",
            name);
    return NULL;
}

void dialect_close_object(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_close(j, '}');
}
