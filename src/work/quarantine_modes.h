/* The modes that folders had before they were opened for a scan: they are kept, and come back, with those. */
#ifndef SANDGATE_WORK_QUARANTINE_MODES_H
#define SANDGATE_WORK_QUARANTINE_MODES_H

#include <sys/stat.h>

/* `st` is from before, `now` the mode that it got. */
void quarantine_note_mode(const struct stat *st, mode_t now);
/* The mode before that, unless somebody has set another one since. Of many folders the first are forgotten. */
mode_t quarantine_mode(const struct stat *st);

#endif
