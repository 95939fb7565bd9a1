#ifndef SANDGATE_FRONT_AUDIT_VERIFY_H
#define SANDGATE_FRONT_AUDIT_VERIFY_H

#include "front/options.h"

/* Prints what is wrong, where, and the sums. -1: something is, or it could not be looked at. */
int audit_verify_run(int state_fd, const struct options *options, struct err *err);

#endif
