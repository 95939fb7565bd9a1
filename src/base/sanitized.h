/* Where the sanitizers of such a build write their reports. A cell has no file to write to and no environment, and tests
 * do different things with a gate's standard error: all processes of the program share one descriptor, of the file that
 * SANITIZER_REPORT names. In other builds this is nothing. */
#ifndef SANDGATE_BASE_SANITIZED_H
#define SANDGATE_BASE_SANITIZED_H

#ifdef SANDGATE_SANITIZED
#define SANITIZED_VERSION " (for tests only, a weaker sandbox: sanitizers " SANDGATE_SANITIZED ")"
/* At the start of a gate. */
void sanitized_open_report(void);
/* The descriptor that a cell begins with as its standard error. */
int sanitized_report_fd(void);
/* At the start of each process of a cell: a runtime forgets its descriptor in a child, and a command's first process
 * closes what it inherits and gets another standard error. */
void sanitized_enter_cell(void);
#else
#define SANITIZED_VERSION ""
static inline void sanitized_open_report(void)
{
}
static inline void sanitized_enter_cell(void)
{
}
#endif

#endif
