#include "gate/extra.h"

#include <string.h>

#include "base/json_out.h"

#define TEXT_MAX (256u << 10)

static void write_shown_paths(const struct gate_extra *extra, const struct config *config,
                              struct json_out *j)
{
    const struct str *shown = NULL;
    size_t count = 0;
    config_list(config, "commands.show", &shown, &count);
    jo_key(j, "show");
    jo_open(j, '[');
    for (size_t i = 0; i < count; i++)
        jo_bytes(j, shown[i]);
    for (size_t i = 0; i < extra->n_show; i++)
        jo_bytes(j, (struct str){extra->show[i], strlen(extra->show[i])});
    jo_close(j, ']');
}

int extra_apply(const struct gate_extra *extra, struct config *config, struct err *err)
{
    if (!extra || (!extra->n_show && !extra->memory))
        return 0;
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &text};
    jo_open(&j, '{');
    jo_key(&j, "commands");
    jo_open(&j, '{');
    if (extra->n_show)
        write_shown_paths(extra, config, &j);
    if (extra->memory)
        jo_ktext(&j, "memory", extra->memory);
    jo_close(&j, '}');
    jo_close(&j, '}');
    if (text.failed)
        return err_set(err, ERR_TOO_LARGE, "the options are too long");
    return config_apply(config, buf_str(&text), "the command line", CONFIG_OPERATOR, NULL, NULL,
                        err);
}
