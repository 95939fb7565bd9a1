/* Any bytes as the body of a listing, as what a scan found, as leads out of a root and as changes of a session: entries are whole, and are the bytes they were read from. */
#include <string.h>

#include "core/op.h"
#include "core/path.h"
#include "session/changes.h"
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

/* Lines stay lines, whatever the names are. */
static void check_written(const struct change *change)
{
    BUF_AT_END struct buf line = BUF_INIT(1u << 20);
    BUF_AT_END struct buf json = BUF_INIT(1u << 20);
    BUF_AT_END struct buf patch = BUF_INIT(1u << 20);
    change_write_line(change, &line);
    must(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
    change_write_json(change, &(struct json_out){.out = &json});
    must(!memchr(json.data, '\n', json.len));
    change_write_patch(change, change->of.secret, STR("a\nb\n@@\n"), &patch);
    must(!patch.len || (patch.len > 11 && memcmp(patch.data, "diff --git ", 11) == 0));
    must(!patch.len || patch.data[patch.len - 1] == '\n');
}

static void check_changed(struct str all)
{
    struct str rest = all;
    struct op_changed changed;
    struct change_list list;
    size_t count = 0;
    BUF_AT_END struct buf packed = BUF_INIT(all.n);
    int r;
    for (; (r = op_changed_next(&rest, &changed)) > 0; count++) {
        check_name(changed.path);
        must(changed.before.type != NODE_NONE || changed.after.type != NODE_NONE);
        op_changed_add(&packed, &changed);
    }
    must(r < 0 || rest.n == 0);
    must(!packed.failed && packed.len == all.n - rest.n);
    must(packed.len == 0 || memcmp(packed.data, all.p, packed.len) == 0);
    must(change_list_take(all, &list) == (r == 0) && list.n == count);
    for (size_t i = 0; i < list.n; i++)
        check_written(&list.all[i]);
    change_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct op_entry entry;
    check_guarded(rest);
    check_leads(rest);
    check_changed(rest);
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
