/* The folders of the user that Sandgate keeps its state and finds its configuration in. */
#ifndef SANDGATE_GATE_STATE_H
#define SANDGATE_GATE_STATE_H

#include "core/config.h"

/* `$XDG_STATE_HOME/sandgate`, else `~/.local/state/sandgate`; NULL when there is no home. To be freed. */
char *state_path(void);
/* `$XDG_CONFIG_HOME/sandgate`, else `~/.config/sandgate`; NULL when there is no home. To be freed. */
char *state_config_path(void);
/* The configuration that is named: `file`, else SANDGATE_CONFIG; NULL: none is. To be freed. */
char *state_config_file(const char *file);
/* Opens `$XDG_STATE_HOME/sandgate` (else `~/.local/state/sandgate`), made 0700 where it is missing.
 * A folder of someone else, or open to others, is refused. */
int state_open(int *ret_fd, struct err *err);

/* The operator's configuration: `file`, else SANDGATE_CONFIG, else
 * `$XDG_CONFIG_HOME/sandgate/config.json` if it is there; then the environment. */
int state_load_config(struct config *config, const char *file, struct err *err);

/* Opens the user's configuration folder, `$XDG_CONFIG_HOME/sandgate`; *ret_fd is -1 where there is none and it is not to
 * be made. One that others may write in is refused: what lies there decides. */
int state_open_config(bool make, int *ret_fd, struct err *err);

/* Refuses a folder that an agent is to write in when Sandgate's own files lie, or would lie, beneath it:
 * the log, sessions and the configuration would be the agent's. */
int state_refuse_inside(const char *folder, const char *config_file, struct err *err);

#define STATE_OWN_MAX 4
/* The files in these folders that decide, and the named configuration: any may be a link. The texts are the caller's. */
size_t state_own_files(const char *config_file, char *ret[STATE_OWN_MAX]);

#define STATE_EXCLUDES_MAX (64 << 10)
/* The user's own rules for what searches leave out; nothing where there are none. */
int state_read_excludes(const struct config *config, struct buf *out, struct err *err);

#endif
