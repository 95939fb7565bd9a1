/* The folders of layers in the store: OP_LAYERS/TAG/N/upper and work. */
#ifndef SANDGATE_WORK_GIT_LAYERS_H
#define SANDGATE_WORK_GIT_LAYERS_H

#include "work/work.h"

/* The folder of all, made where it is missing. */
int git_layers_open(struct work *w, int64_t root, struct err *err);
int git_layers_check(struct str tag, struct err *err);
/* Those of one command, with all that they had begun in git directories. */
void git_layers_remove(struct work *w, int layers, const char *tag);
/* The git directory that a layer is for, open. */
int git_layer_real(struct work *w, const struct op_layer *layer, struct err *err);

#endif
