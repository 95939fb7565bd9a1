#include "cell/handover.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cell/frame.h"

static int no_descriptors(struct err *err)
{
    return err_set(err, ERR_SESSION_BUSY, "no room for more descriptors: %s", strerror(EMFILE));
}

int handover_receive(int control, struct str *ret_text, struct start *ret, struct err *err)
{
    static char buffer[FRAME_BYTES_MAX];
    struct frame frame;
    int r = frame_receive(control, buffer, 0, &frame, &ret->shelf_fd);
    if (r != 1 || frame.type != FRAME_SPEC)
        return err_set(err, ERR_INTERNAL, "no specification from the gate");
    if (ret->shelf_fd == FRAME_FD_LOST)
        return no_descriptors(err);
    *ret_text = frame.head;
    return spec_read(frame.head, &ret->spec, err);
}

/* Which descriptors come with it: the shelf's, the layer's, the other trees'. */
struct handed {
    bool shelf;
    bool layer;
    bool trees;
};

int handover_send(int go, struct str text, const struct start *start, struct err *err)
{
    _Static_assert(2 + ROOTS_MAX + SHOWN_MAX + SPEC_FILES_MAX <= FRAME_FDS_MAX, "all descriptors go with one frame");
    struct handed handed = {start->shelf_fd >= 0, start->trees.layer >= 0,
                            start->trees.root[0] >= 0 || start->trees.file[0] >= 0};
    struct frame_fds fds = {0};
    if (handed.shelf)
        fds.fd[fds.n++] = start->shelf_fd;
    if (handed.layer)
        fds.fd[fds.n++] = start->trees.layer;
    for (size_t i = 0; handed.trees && i < start->spec.n_roots; i++)
        fds.fd[fds.n++] = start->trees.root[i];
    for (size_t i = 0; handed.trees && i < start->spec.n_shown; i++)
        fds.fd[fds.n++] = start->trees.shown[i];
    for (size_t i = 0; handed.trees && i < start->spec.n_files; i++)
        fds.fd[fds.n++] = start->trees.file[i];
    BUF_AT_END struct buf made = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &made};
    if (start->spec.program) {
        spec_write(&start->spec, &j);
        text = buf_str(&made);
    }
    struct frame frame = {
        .type = FRAME_SPEC, .head = text, .body = {(const char *)&handed, sizeof handed}};
    int r = frame_send_fds(go, &frame, &fds);
    return r < 0 ? err_set(err, err_code_for(-r, ERR_SANDBOX_UNAVAILABLE),
                           "telling the launcher what to be: %s", strerror(-r))
                 : 0;
}

/* Nothing comes where the other side has failed, and tells why. */
int handover_take(int go, struct start *ret, struct err *err)
{
    static char buffer[FRAME_BYTES_MAX];
    struct frame_fds fds;
    struct frame frame;
    struct handed handed;
    int r = frame_receive_fds(go, buffer, &frame, &fds);
    close(go);
    if (r != 1 || frame.body.n != sizeof handed)
        _exit(1);
    memcpy(&handed, frame.body.p, sizeof handed);
    if (fds.lost)
        return no_descriptors(err);
    if (spec_read(frame.head, &ret->spec, err) < 0)
        return -1;
    trees_init(&ret->trees);
    size_t next = 0;
    ret->shelf_fd = handed.shelf ? fds.fd[next++] : -1;
    ret->trees.layer = handed.layer ? fds.fd[next++] : -1;
    for (size_t i = 0; handed.trees && i < ret->spec.n_roots; i++)
        ret->trees.root[i] = fds.fd[next++];
    for (size_t i = 0; handed.trees && i < ret->spec.n_shown; i++)
        ret->trees.shown[i] = fds.fd[next++];
    for (size_t i = 0; handed.trees && i < ret->spec.n_files; i++)
        ret->trees.file[i] = fds.fd[next++];
    return next == fds.n ? 0
                         : err_set(err, ERR_INTERNAL, "descriptors for the launcher are missing");
}
