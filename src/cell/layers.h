/* Git directories that a command may write to: in its own mount namespace each of them is an overlay, whose upper layer
 * lies in the store. The real ones are only read. */
#ifndef SANDGATE_CELL_LAYERS_H
#define SANDGATE_CELL_LAYERS_H

#include "cell/frame.h"
#include "cell/guards.h"

struct layers {
    char tag[OP_LAYER_TAG_MAX + 1];
    struct buf packed; /* see op_layer_next */
    bool broken;       /* the order for them could not be read: no command is started with them */
};

void layers_init(struct layers *layers);
void layers_clear(struct layers *layers);
/* Takes what a FRAME_LAYERS says. */
void layers_set(struct layers *layers, const struct frame *frame);
bool layers_any(const struct layers *layers);

/* In a command's mount namespace, where the store and what covers the git directories are still mounted. */
int layers_mount(const struct cell_spec *spec, const struct guards *guards,
                 const struct layers *layers, struct err *err);

#endif
