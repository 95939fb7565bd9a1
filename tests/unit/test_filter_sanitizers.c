/* What the worker's filter says of single system calls, read from its program as the kernel would. */
#include <cmocka.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/attr.h"
#include "cell/filter_sanitizers.h"
#include "cell/filter_worker.h"

#ifdef SANDGATE_SANITIZED
#define FOR_SANITIZERS SECCOMP_RET_ALLOW
#define UNKNOWN SECCOMP_RET_ERRNO
#else
#define FOR_SANITIZERS SECCOMP_RET_KILL_PROCESS
#define UNKNOWN SECCOMP_RET_KILL_PROCESS
#endif

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word;
    assert_true(offset + sizeof word <= sizeof *data);
    memcpy(&word, (const char *)data + offset, sizeof word);
    return word;
}

static bool holds(uint16_t code, uint32_t a, uint32_t k)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == k;
    case BPF_JGT:
        return a > k;
    case BPF_JGE:
        return a >= k;
    case BPF_JSET:
        return a & k;
    default:
        fail_msg("a jump that is not known: %x", code);
        return false;
    }
}

/* The action for a call, without its data. */
static uint32_t action(long nr, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = (int)nr, .arch = seccomp_arch_native()};
    memcpy(data.args, args, sizeof data.args);
    uint32_t a = 0;
    for (size_t at = 0; at < ARRAY_LEN(filter_worker); at++) {
        const struct sock_filter *i = &filter_worker[at];
        if (i->code == (BPF_LD | BPF_W | BPF_ABS))
            a = load(&data, i->k);
        else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= i->k;
        else if (i->code == (BPF_JMP | BPF_JA))
            at += i->k;
        else if (BPF_CLASS(i->code) == BPF_JMP)
            at += holds(i->code, a, i->k) ? i->jt : i->jf;
        else if (i->code == (BPF_RET | BPF_K))
            return i->k & SECCOMP_RET_ACTION_FULL;
        else
            fail_msg("an instruction that is not known: %x", i->code);
    }
    fail_msg("the filter has no end");
    return 0;
}

static const uint64_t none[6];

static void calls_of_sanitizers_only_in_their_builds(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_LEN(sanitizer_calls); i++) {
        int nr = seccomp_syscall_resolve_name(sanitizer_calls[i]);
        if (nr >= 0 && action(nr, none) != FOR_SANITIZERS)
            fail_msg("%s: action %x, not %x", sanitizer_calls[i], action(nr, none), FOR_SANITIZERS);
    }
}

static void what_is_not_listed(void **state)
{
    (void)state;
    static const long calls[] = {SYS_mount,  SYS_execve, SYS_socket,      SYS_ptrace,
                                 SYS_prctl,  SYS_kill,   SYS_setns,       SYS_unshare,
                                 SYS_fchown, SYS_setuid, SYS_memfd_create};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        assert_int_equal(action(calls[i], none), UNKNOWN);
    assert_int_equal(action(SYS_read, none), SECCOMP_RET_ALLOW);
    assert_int_equal(action(SYS_openat2, none), SECCOMP_RET_ALLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_sanitizers_only_in_their_builds),
        cmocka_unit_test(what_is_not_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
