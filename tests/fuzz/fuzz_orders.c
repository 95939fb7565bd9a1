/* Any bytes as what goes to a command's first process and comes back from it. The first byte says as what: 0, an
 * account (FRAME_RAN) on its way to the gate; 1, an order; 2, what a scan found. */
#include <string.h>

#include "base/mem.h"
#include "cell/guards.h"
#include "cell/order.h"
#include "core/op.h"
#include "target.h"

static void check_account(const char *bytes, size_t n)
{
    struct frame frame;
    struct ran ran;
    struct err err;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (frame_parse(bytes, n, &frame) < 0 || ran_read(&frame, &ran, &doc, &err) < 0)
        return;
    must(ran.kind >= 0 && ran.kind < RAN_KIND_END && ran.status >= 0 && ran.status <= 0xffff);
    must(ran.error >= 0 && ran.user_ms >= 0 && ran.system_ms >= 0 && ran.peak_memory >= 0);
    must(ran.violations == NULL || yyjson_arr_size(ran.violations) <= 32);
}

static void check_order(const char *bytes, size_t n)
{
    struct frame frame;
    struct order order;
    struct order_vectors vectors = {0};
    struct err err;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (frame_parse(bytes, n, &frame) < 0 || order_read(&frame, &order, &doc, &err) < 0 ||
        order_vectors(&order, &vectors) < 0)
        return;
    size_t length = 0;
    must(vectors.args[0] && !vectors.args[order.n_args] && !vectors.env[order.n_env]);
    for (int64_t i = 0; i < order.n_args; i++)
        length += strlen(vectors.args[i]) + 1;
    for (int64_t i = 0; i < order.n_env; i++)
        length += strlen(vectors.env[i]) + 1;
    for (int64_t i = 0; i < order.n_allowed; i++)
        length += vectors.allowed[i].n + 1;
    for (int64_t i = 0; i < order.n_denied; i++)
        length += vectors.denied[i].n + 1;
    for (int64_t i = 0; i < order.n_leaves; i++)
        length += vectors.leaves[i].n + 1;
    must(length <= order.strings.n);
    free(vectors.args);
    free(vectors.env);
    free(vectors.allowed);
    free(vectors.denied);
    free(vectors.leaves);
}

static void check_found(const char *bytes, size_t n)
{
    static struct guards guards;
    struct str rest = {bytes, n};
    struct op_guarded found;
    BUF_AT_END struct buf packed = BUF_INIT(n);
    int r;
    guards_init(&guards);
    while ((r = op_guarded_next(&rest, &found)) > 0) {
        must(op_is_relative_path(found.path) && found.kind < GUARDED_KINDS);
        op_guarded_add(&packed, &found);
    }
    must(packed.len == n - rest.n &&
         (packed.len == 0 || memcmp(packed.data, bytes, packed.len) == 0));
    must((guards_set(&guards, 0, (struct str){bytes, n}) == 0) == (r == 0));
    must(r != 0 || guards_set(&guards, 0, (struct str){bytes, n}) == 1);
    must(r != 0 || guards_set(&guards, 0, (struct str){0}) == (n == 0));
    guards_done(&guards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    switch (data[0] % 3) {
    case 0:
        check_account(bytes, size - 1);
        break;
    case 1:
        check_order(bytes, size - 1);
        break;
    default:
        check_found(bytes, size - 1);
        break;
    }
    return 0;
}
