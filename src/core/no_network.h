/* Whether a program that failed wanted a network. Pure. */
#ifndef SANDGATE_CORE_NO_NETWORK_H
#define SANDGATE_CORE_NO_NETWORK_H

#include "base/str.h"

/* By what programs say where there is none: a guess, for a hint. */
bool no_network_said(struct str text);

#endif
