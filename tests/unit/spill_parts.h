/* For tests of kept output. */
#ifndef SANDGATE_TESTS_UNIT_SPILL_PARTS_H
#define SANDGATE_TESTS_UNIT_SPILL_PARTS_H

#include "core/spill.h"
#include "folder.h"
#include "json_text.h"

#define READ_MAX ((size_t)16 << 20)

static struct spills spills;

static void begin(int64_t max_stream, int64_t max_total)
{
    spills_init(&spills, folder_fd, max_stream, max_total);
}

static int read_stream(const char *id, enum stream stream, struct buf *out, struct spill_page *ret)
{
    struct err err = {0};
    int r = spill_read(&spills, text_str(id), stream, 0, READ_MAX, out, ret, &err);
    if (r < 0)
        assert_int_equal(err.code, ERR_NOT_FOUND);
    return r;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_set_up, folder_tear_down)

#endif
