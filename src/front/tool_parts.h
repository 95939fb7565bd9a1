/* Parts of `sandgate tool`: tools as their author has them, in a folder of one's own. */
#ifndef SANDGATE_FRONT_TOOL_PARTS_H
#define SANDGATE_FRONT_TOOL_PARTS_H

#include "core/manifest.h"
#include "front/options.h"

/* The exit status of the verb that ran: 0, or of what it found or of the call it did. */
extern int tool_status;

/* A tool's folder, by the folder that it lies in and its name there. */
struct tool_folder {
    char *parent;
    char *name;
};

/* What was said, or else this folder. Links are followed. */
int tool_folder_find(const char *said, struct tool_folder *ret, struct err *err);
void tool_folder_done(struct tool_folder *folder);
/* A new file, or what takes an old one's place at once. */
int tool_folder_put(int dir, const char *name, struct str text, struct err *err);

int tool_new(int state_fd, const struct options *o, struct buf *out, struct err *err);
int tool_build(int state_fd, const struct options *o, struct buf *out, struct err *err);
int tool_check(int state_fd, const struct options *o, struct buf *out, struct err *err);
int tool_run(int state_fd, const struct options *o, struct buf *out, struct err *err);
int tool_test(int state_fd, const struct options *o, struct buf *out, struct err *err);

#endif
