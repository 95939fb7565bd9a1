#include "work/acl.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/err.h"

#ifndef XATTR_NAME_POSIX_ACL_ACCESS
#define XATTR_NAME_POSIX_ACL_ACCESS "system.posix_acl_access"
#endif

/* More are never in use; what has more is for its owner alone. */
#define ENTRIES_MAX 128

struct acl {
    size_t count;
    bool unknown; /* there may be one */
    struct {
        struct posix_acl_xattr_header head;
        struct posix_acl_xattr_entry entries[ENTRIES_MAX];
    } raw;
};

/* -errno: it may be readable later. */
static int read_acl(int fd, struct acl *ret)
{
    ssize_t n = fgetxattr(fd, XATTR_NAME_POSIX_ACL_ACCESS, &ret->raw, sizeof ret->raw);
    ret->count = 0;
    if (n < 0 && err_is_shortage(errno))
        return -errno;
    ret->unknown = n < 0 && errno != ENODATA && errno != EOPNOTSUPP;
    if (n < (ssize_t)sizeof ret->raw.head)
        return 0;
    ret->unknown = le32toh(ret->raw.head.a_version) != POSIX_ACL_XATTR_VERSION;
    ret->count = ((size_t)n - sizeof ret->raw.head) / sizeof ret->raw.entries[0];
    return 0;
}

static unsigned tag_of(const struct acl *a, size_t i)
{
    return le16toh(a->raw.entries[i].e_tag);
}

static mode_t bits_of(const struct acl *a, size_t i)
{
    return le16toh(a->raw.entries[i].e_perm) & 7;
}

/* Bits that are in the mode as well. */
static bool is_in_mode(unsigned tag)
{
    return tag == ACL_USER_OBJ || tag == ACL_MASK || tag == ACL_OTHER;
}

/* Whether the two give the same to everybody once their files have the same mode. */
static bool is_same_acl(const struct acl *a, const struct acl *b)
{
    if (a->unknown || b->unknown || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        bool in_mode = is_in_mode(tag_of(a, i));
        if (tag_of(a, i) != tag_of(b, i) ||
            (!in_mode &&
             (a->raw.entries[i].e_id != b->raw.entries[i].e_id || bits_of(a, i) != bits_of(b, i))))
            return false;
    }
    return true;
}

/* Without the list. Who was named in it is one of the group now, or of all others. */
static mode_t without(const struct acl *a, mode_t mode)
{
    mode_t mask = mode >> 3 & 7; /* what the mode has in the place of the group's bits */
    mode_t group = mask;
    mode_t other = mode & 7;
    for (size_t i = 0; i < a->count; i++) {
        unsigned tag = tag_of(a, i);
        if (tag == ACL_GROUP_OBJ || tag == ACL_USER)
            group &= bits_of(a, i);
        if (tag == ACL_USER || tag == ACL_GROUP)
            other &= bits_of(a, i) & mask;
    }
    return (mode & 0700) | group << 3 | other;
}

static mode_t mode_for(int old, int fresh, mode_t mode, int *ret_error)
{
    struct acl was;
    struct acl now;
    if (!(mode & 077))
        return mode;
    if (old < 0)
        return mode & 0700;
    *ret_error = read_acl(old, &was);
    if (*ret_error == 0)
        *ret_error = read_acl(fresh, &now);
    if (*ret_error < 0)
        return 0;
    if (is_same_acl(&was, &now))
        return mode;
    if (was.unknown || now.unknown)
        return mode & 0700;
    mode = without(&was, mode);
    /* The group's bits are the mask of the new list: without them nobody has anything by it. */
    return now.count ? mode & 0707 : mode;
}

int acl_set_mode(int old, int fresh, mode_t mode)
{
    int error = 0;
    mode = mode_for(old, fresh, mode & 0777, &error);
    return error < 0 ? error : fchmod(fresh, mode) < 0 ? -errno : 0;
}
