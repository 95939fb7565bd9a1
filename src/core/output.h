/* What a command printed to one stream: the first and the last part in memory, the rest only counted here. All of
 * it goes to a spill (core/spill.h) once it is too long for memory; short output never leaves memory.
 *
 * Takes memory as bytes come, never more than the cap. How the bytes are split into additions makes no difference. */
#ifndef SANDGATE_CORE_OUTPUT_H
#define SANDGATE_CORE_OUTPUT_H

#include "base/json_out.h"
#include "core/spill.h"

struct output {
    struct buf head;
    struct buf tail;   /* once it is full, a ring */
    size_t tail_start; /* where in it the oldest byte is */
    int64_t total;
    struct spill *spill; /* NULL: none */
    enum stream stream;
    bool spilled; /* the spill has everything so far */
};

/* Half of `cap` is for the beginning, half for the end. */
void output_init(struct output *o, size_t cap);
void output_done(struct output *o);
/* Where long output goes as well; before the first addition. The spill is borrowed. */
void output_spill(struct output *o, struct spill *spill, enum stream stream);

void output_add(struct output *o, struct str bytes);
/* No more will come to either stream: short output joins the other stream's in the spill, if that was long. To be
 * called for both before spill_finish. */
void output_end(struct output *o);

/* Keeps no more than `cap` bytes: what is then left out is in the spill. After the last addition, before output_end. */
void output_shrink(struct output *o, size_t cap);

/* Whether something is left out of the text. */
bool output_truncated(const struct output *o);
/* The text as a caller gets it: all of it, or its beginning, a line that says how many bytes are left out, and its
 * end, cut between characters and between lines where one ends nearby. What is not UTF-8 is replaced. */
void output_text(const struct output *o, struct buf *out);
/* The same as a JSON string; in redact mode only the size. */
void output_write_json(const struct output *o, struct json_out *j);

#endif
