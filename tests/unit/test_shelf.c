#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "cell/shelf.h"

static int place(uint32_t at, uint32_t n, struct shelved *ret)
{
    struct shelved said = {at, n};
    return shelved_read((struct str){(const char *)&said, sizeof said}, ret);
}

static void what_lies_on_it(void **state)
{
    (void)state;
    struct shelved where;
    assert_int_equal(place(0, 1, &where), 0);
    assert_int_equal(place(0, SHELF_BYTES, &where), 0);
    assert_int_equal(place(SHELF_BYTES - 1, 1, &where), 0);
    assert_int_equal(where.at, SHELF_BYTES - 1);
    assert_int_equal(where.n, 1);
}

static void what_does_not(void **state)
{
    (void)state;
    struct shelved where;
    assert_int_equal(place(0, 0, &where), -1);
    assert_int_equal(place(1, SHELF_BYTES, &where), -1);
    assert_int_equal(place(SHELF_BYTES, 1, &where), -1);
    assert_int_equal(place(SHELF_BYTES + 1, 1, &where), -1);
    assert_int_equal(place(UINT32_MAX, 2, &where), -1);
    assert_int_equal(place(2, UINT32_MAX, &where), -1);
    assert_int_equal(shelved_read((struct str){"1234567", 7}, &where), -1);
    assert_int_equal(shelved_read((struct str){"123456789", 9}, &where), -1);
    assert_int_equal(shelved_read((struct str){"", 0}, &where), -1);
}

static void both_see_the_same(void **state)
{
    (void)state;
    struct shelf gate = {0};
    struct shelf worker = {0};
    FD_AT_END int fd = -1;
    assert_int_equal(shelf_make(&gate, &fd), 0);
    assert_int_equal(shelf_map(fd, &worker), 0);
    for (size_t i = 0; i < SHELF_BYTES; i++)
        worker.at[i] = (char)(i % 251);
    struct shelved rest = {100, 10000};
    char buffer[4096];
    size_t at = rest.at;
    size_t pieces = 0;
    for (struct str piece; (piece = shelved_next(&gate, &rest, buffer, sizeof buffer)).n > 0;
         pieces++) {
        assert_ptr_equal(piece.p, buffer);
        for (size_t i = 0; i < piece.n; i++)
            assert_int_equal((uint8_t)piece.p[i], at++ % 251);
    }
    assert_int_equal(pieces, 3);
    assert_int_equal(at, 10100);
    shelf_done(&worker);
    shelf_done(&gate);
    assert_null(gate.at);
    shelf_done(&gate);
}

/* Else a read of the gate could end it. */
static void its_size_stays(void **state)
{
    (void)state;
    struct shelf gate = {0};
    FD_AT_END int fd = -1;
    assert_int_equal(shelf_make(&gate, &fd), 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, SHELF_BYTES - 1), -1);
    assert_int_equal(ftruncate(fd, SHELF_BYTES + 1), -1);
    assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SHELF_BYTES), 0);
    assert_int_equal(gate.at[SHELF_BYTES - 1], 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    shelf_done(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_on_it),
        cmocka_unit_test(what_does_not),
        cmocka_unit_test(both_see_the_same),
        cmocka_unit_test(its_size_stays),
    };
    return cmocka_run_group_tests_name("shelf", tests, NULL, NULL);
}
