/* Any bytes as the body of a listing, as what a scan found and as leads out of a root: entries are whole, and are the bytes they were read from. */
#include <string.h>

#include "core/op.h"
#include "core/path.h"
#include "target.h"

/* Names with single slashes between them, none of which leads up. */
static void check_name(struct str path)
{
    must(!memchr(path.p, 0, path.n) && path.p[0] != '/' && path.p[path.n - 1] != '/');
    for (size_t i = 0, start = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        struct str name = {path.p + start, i - start};
        must(name.n > 0 && name.n <= PATH_NAME_MAX && !str_is(name, ".") && !str_is(name, ".."));
        start = i + 1;
    }
}

static void check_guarded(struct str all)
{
    struct str rest = all;
    struct op_guarded found;
    BUF_AT_END struct buf packed = BUF_INIT(all.n);
    int r;
    while ((r = op_guarded_next(&rest, &found)) > 0) {
        must(found.kind < GUARDED_KINDS && found.type <= TYPE_OTHER);
        must(found.path.n < PATH_TEXT_MAX && found.path.p + found.path.n == rest.p);
        check_name(found.path);
        op_guarded_add(&packed, &found);
    }
    must(r < 0 || rest.n == 0);
    must(!packed.failed && packed.len == all.n - rest.n);
    must(packed.len == 0 || memcmp(packed.data, all.p, packed.len) == 0);
}

static void check_leads(struct str all)
{
    struct str rest = all;
    struct op_lead lead;
    BUF_AT_END struct buf packed = BUF_INIT(all.n);
    int r;
    while ((r = op_lead_next(&rest, &lead)) > 0) {
        must(lead.kind < GUARDED_KINDS && lead.text.n > 0 && lead.text.n < PATH_TEXT_MAX);
        must(!memchr(lead.text.p, 0, lead.text.n) && lead.text.p + lead.text.n == rest.p);
        op_lead_add(&packed, &lead);
    }
    must(r < 0 || rest.n == 0);
    must(!packed.failed && packed.len == all.n - rest.n);
    must(packed.len == 0 || memcmp(packed.data, all.p, packed.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct op_entry entry;
    check_guarded(rest);
    check_leads(rest);
    BUF_AT_END struct buf packed = BUF_INIT(size);
    int r;
    for (size_t before = rest.n; (r = op_entry_next(&rest, &entry)) > 0; before = rest.n) {
        must(rest.n < before && rest.p + rest.n == (const char *)data + size);
        must(entry.type <= TYPE_OTHER && entry.size >= 0);
        must(entry.name.n > 0 && entry.name.n < PATH_TEXT_MAX);
        must(entry.name.p >= (const char *)data && entry.name.p + entry.name.n == rest.p);
        check_name(entry.name);
        op_entry_add(&packed, &entry);
    }
    must(r < 0 || rest.n == 0);
    must(!packed.failed && packed.len == size - rest.n);
    must(packed.len == 0 || memcmp(packed.data, data, packed.len) == 0);
    return 0;
}
