/* The command line, as a table: names, places and help stand together. */
#ifndef SANDGATE_FRONT_OPTIONS_H
#define SANDGATE_FRONT_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

#define WORDS_MAX 8

enum option_set {
    OPTIONS_SHAPE = 1,         /* --dialect --format */
    OPTIONS_PLACE = 2,         /* --workspace --project --pkg --state --session */
    OPTIONS_IDENTITY = 4,      /* --agent --run --config */
    OPTIONS_LISTING = 8,       /* --json */
    OPTIONS_FOLDER = 16,       /* --workspace alone */
    OPTIONS_DIALECT = 32,      /* --dialect alone */
    OPTIONS_COMMAND = 64,      /* --cwd --git --agent --config --raw */
    OPTIONS_REST = 128,        /* what stands behind the options is not looked at */
    OPTIONS_SCOPE = 256,       /* how far a yes reaches: --session --always --yes */
    OPTIONS_WAITING = 512,     /* --all --watch */
    OPTIONS_APPROVER = 1024,   /* --approver */
    OPTIONS_AUDIT = 1 << 14,   /* which records, and how they are written */
    OPTIONS_VERIFY = 1 << 15,  /* --anchors */
    OPTIONS_CALLER = 1 << 16,  /* --agent --config */
    OPTIONS_AGENTS = 1 << 17,  /* --agents --sessions */
    OPTIONS_NAMES = 1 << 18,   /* --names */
    OPTIONS_FILE = 1 << 19,    /* --config alone */
    OPTIONS_MCP = 1 << 20,     /* --host --structured --tools --read-only */
    OPTIONS_SETUP = 1 << 22,   /* --write */
    OPTIONS_TOOL = 1 << 23,    /* --lang */
    OPTIONS_SESSION = 1 << 21, /* what is made or done to a session: --overlay --config */
};

/* An option that may be given several times. */
#define OPTION_TIMES_MAX 64
struct option_list {
    const char *all[OPTION_TIMES_MAX];
    size_t n;
};

struct options {
    const char *dialect;
    const char *format;
    const char *names;
    const char *workspace;
    const char *project;
    const char *pkg;
    const char *state;
    const char *session;
    const char *agent;
    const char *agents;
    const char *sessions;
    const char *run;
    const char *config;
    const char *tools;
    bool structured;
    bool read_only;
    bool host;
    bool json;
    bool help;
    bool for_session;
    bool always;
    bool yes;
    bool all;
    bool watch;
    bool approver;
    bool raw;
    const char *words[WORDS_MAX]; /* what is not an option */
    size_t n_words;
    const char *cwd;
    const char *gate;
    const char *tool;
    const char *kind;
    const char *code;
    const char *call;
    const char *since;
    const char *until;
    const char *last;
    const char *as;
    bool failed;
    bool git;
    struct option_list env;
    struct option_list show;
    struct option_list rw;
    const char *timeout;
    const char *memory;
    bool quiet;
    bool review;
    const char *anchors;
    bool write;
    const char *lang;
    bool overlay;
    bool stat;
    const char *ours;
    const char *theirs;
    bool allow_code;
    bool leave_code;
    char *const *rest; /* OPTIONS_REST */
    int n_rest;
};

/* Reads what stands behind the command's name. Unknown options, missing values and too many words
 * are errors that name what is allowed. */
int options_read(int argc, char *const *argv, unsigned allowed, size_t max_words,
                 struct options *ret, struct err *err);
/* One line an option. */
void options_help(unsigned allowed, struct buf *out);
/* Those that options_help was last called for. */
unsigned options_helped(void);
/* The i-th of these; false behind the last. `value` is NULL where it has none. */
struct option_words {
    const char *name;
    const char *value;
    const char *doc;
};
bool options_words(unsigned allowed, size_t i, struct option_words *ret);

#endif
