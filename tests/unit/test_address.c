#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"
#include "net/address.h"

/* As getaddrinfo gives it. */
static struct address address(const char *text)
{
    struct address a;
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        assert_true(address_of((const struct sockaddr *)&four, sizeof four, &a));
        return a;
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    assert_true(address_of((const struct sockaddr *)&six, sizeof six, &a));
    return a;
}

static void only_public_addresses_are_public(void **state)
{
    static const char *const public[] = {
        "1.1.1.1",          "8.8.8.8",        "93.184.216.34",   "100.63.255.255",
        "100.128.0.0",      "172.15.0.1",     "172.32.0.1",      "192.0.1.1",
        "192.167.0.1",      "198.17.255.255", "198.20.0.0",      "223.255.255.255",
        "9.255.255.255",    "11.0.0.0",       "126.255.255.255", "128.0.0.1",
        "169.253.0.1",      "168.63.129.17",  "2606:4700::1",    "2a00:1450:4001::1",
        "2001:4860::8888",  "2003::1",        "2620:fe::fe",     "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    };
    static const char *const special[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::10.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:0:8.8.8.8",
        "64:ff9b::10.0.0.5",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:a00:5::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(public); i++) {
        struct address a = address(public[i]);
        if (address_special(&a))
            fail_msg("%s: %s", public[i], address_special(&a));
    }
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        struct address a = address(special[i]);
        if (!address_special(&a))
            fail_msg("%s is taken for public", special[i]);
    }
}

static void others_than_addresses_of_the_internet_are_none(void **state)
{
    (void)state;
    struct address a;
    struct sockaddr_storage other = {.ss_family = AF_UNIX};
    assert_false(address_of((const struct sockaddr *)&other, sizeof other, &a));
    other.ss_family = AF_INET6;
    assert_false(address_of((const struct sockaddr *)&other, sizeof(struct sockaddr_in), &a));
}

static void ranges_are_read(void **state)
{
    static const struct {
        const char *range;
        const char *in;
        const char *out;
    } cases[] = {
        {"10.0.0.0/8", "10.255.0.1", "11.0.0.1"},
        {"10.0.0.5", "10.0.0.5", "10.0.0.4"},
        {"192.168.4.0/22", "192.168.7.255", "192.168.8.0"},
        {"::1", "::1", "127.0.0.1"},
        {"fd00::/8", "fd77::1", "fc00::1"},
        {"0.0.0.0/0", "255.1.1.1", "::1"},
        {"127.0.0.1/32", "::ffff:127.0.0.1", "127.0.0.2"},
        {"10.0.0.0/8", "64:ff9b::a00:1", "64:ff9b::b00:1"},
    };
    static const char *const wrong[] = {
        "",       "10",        "10.0.0.0/33", "10.0.0.0/",  "10.0.0.0/x", "10.0.0.0/-1",
        "::/129", "a.example", "10.0.0.0/8 ", "1.2.3.4/+8", "::1%lo"};
    (void)state;
    struct address_range range;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct address in = address(cases[i].in);
        struct address out = address(cases[i].out);
        assert_int_equal(address_range_read(str_of(cases[i].range), &range, &err), 0);
        assert_true(address_in(&in, &range));
        assert_false(address_in(&out, &range));
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        if (address_range_read(str_of(wrong[i]), &range, &err) == 0)
            fail_msg("`%s` is taken for a range", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_public_addresses_are_public),
        cmocka_unit_test(others_than_addresses_of_the_internet_are_none),
        cmocka_unit_test(ranges_are_read),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
