#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/layer_commit.h"

#define JOURNAL "journal"
#define FRESH "journal.new"

struct journal_head {
    char magic[7];
    uint8_t stage;
    char tag[OP_LAYER_TAG_MAX + 1];
} __attribute__((packed));

#define MAGIC "sgcom1"

static int journal_failed(struct err *err, int error)
{
    return err_set(err, err_code_for_file(-error), "the journal of a commit: %s", strerror(-error));
}

static int sync_layer(const struct committing *c)
{
    FD_AT_END int dir = beneath_reopen_dir(c->layer);
    return dir < 0 || fsync(dir) < 0 ? -errno : 0;
}

int commit_journal_begin(struct committing *c, struct err *err)
{
    struct journal_head head = {.magic = MAGIC, .stage = COMMIT_MAKING};
    snprintf(head.tag, sizeof head.tag, "%s", c->tag);
    (void)unlinkat(c->layer, FRESH, 0);
    FD_AT_END int fd = -1;
    int r = beneath_create(c->layer, FRESH, &fd) < 0 ? -errno
                                                     : fd_write_all(fd, &head, sizeof head);
    if (r == 0)
        r = fd_write_all(fd, c->body.data, c->body.len);
    if (r == 0 && (fsync(fd) < 0 || renameat(c->layer, FRESH, c->layer, JOURNAL) < 0))
        r = -errno;
    if (r == 0)
        r = sync_layer(c);
    if (r < 0) {
        (void)unlinkat(c->layer, FRESH, 0);
        return journal_failed(err, r);
    }
    c->journal = TAKE_FD(fd);
    return 0;
}

int commit_journal_stage(struct committing *c, enum commit_stage stage, struct err *err)
{
    uint8_t byte = (uint8_t)stage;
    ssize_t n = pwrite(c->journal, &byte, 1, offsetof(struct journal_head, stage));
    return n != 1 || fsync(c->journal) < 0 ? journal_failed(err, -errno) : 0;
}

static int read_journal_body(struct committing *c, int fd, struct journal_head *head,
                             struct buf *body)
{
    ssize_t n = fd_read_upto(fd, head, sizeof *head);
    if (n < 0)
        return (int)n;
    if (n != sizeof *head || memcmp(head->magic, MAGIC, sizeof head->magic) != 0 ||
        !op_is_layer_tag((struct str){head->tag, strnlen(head->tag, sizeof head->tag)}) ||
        head->tag[sizeof head->tag - 1])
        return -EBADMSG;
    while ((n = read(fd, c->w->chunk, WORK_CHUNK)) > 0) {
        int r = buf_add(body, c->w->chunk, (size_t)n);
        if (r < 0)
            return r;
    }
    return n < 0 ? -errno : 0;
}

int commit_journal_read(struct committing *c, enum commit_stage *ret, struct err *err)
{
    struct journal_head head;
    BUF_AT_END struct buf body = BUF_INIT(OP_BODY_MAX);
    (void)unlinkat(c->layer, FRESH, 0);
    FD_AT_END int fd = beneath_open_at(c->layer, JOURNAL, O_RDWR | O_NOFOLLOW, 0,
                                       RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return errno == ENOENT ? 0 : journal_failed(err, -errno);
    int r = read_journal_body(c, fd, &head, &body);
    if (r < 0)
        return journal_failed(err, r);
    snprintf(c->tag, sizeof c->tag, "%s", head.tag);
    *ret = (enum commit_stage)head.stage;
    c->journal = TAKE_FD(fd);
    return commit_take_steps(c, buf_str(&body), err) < 0 ? -1 : 1;
}

void commit_journal_end(struct committing *c)
{
    (void)unlinkat(c->layer, JOURNAL, 0);
    (void)sync_layer(c);
    fd_closep(&c->journal);
}
