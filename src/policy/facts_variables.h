#ifndef SANDGATE_POLICY_FACTS_VARIABLES_H
#define SANDGATE_POLICY_FACTS_VARIABLES_H

#include "policy/facts.h"
#include "policy/shell_words.h"

struct variables {
    struct shell_word *words; /* `NAME=value` */
    size_t n;
};

void facts_variables_read(const struct facts *facts, struct variables *ret);
void facts_variables_done(struct variables *variables);
#define VARIABLES_AT_END CLEANUP(facts_variables_done)

/* The first that decides what the command's programs start or how they are configured; n is 0 for none. */
struct str facts_deciding_variable(const struct facts *facts);

#endif
