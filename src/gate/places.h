/* Which folders of the host a gate's session has, and where its cell shows them. */
#ifndef SANDGATE_GATE_PLACES_H
#define SANDGATE_GATE_PLACES_H

#include "gate/gate.h"

struct places {
    int state_fd;
    struct root roots[ROOTS_MAX]; /* for file tools */
    char *hosts[ROOTS_MAX];
    size_t count;
    char *base;
    const char *settings;
    struct root commands[ROOTS_MAX]; /* for commands */
    char *command_hosts[ROOTS_MAX];
    size_t n_commands;
    char *command_base;
    char *named; /* the absolute path by which the workspace was asked for, where that is a link */
};

int places_choose(const struct gate_options *options, const struct config *config,
                  struct places *ret, struct err *err);
void places_done(struct places *places);

#endif
