/* The state of a check, for audit_verify*.c alone. */
#ifndef SANDGATE_STORE_AUDIT_VERIFY_PRIVATE_H
#define SANDGATE_STORE_AUDIT_VERIFY_PRIVATE_H

#include "store/audit_heads.h"
#include "store/audit_lines.h"
#include "store/audit_verify.h"

#define SLOTS_MAX 1000

struct place {
    char file[ROTATED_NAME_MAX];
    uint64_t line;
    int64_t byte;
};

/* What a file's first record has to follow. */
enum link {
    LINK_FIRST,  /* nothing, or a file that was removed as planned */
    LINK_KNOWN,  /* the hash that is known */
    LINK_BROKEN, /* nobody knows, and that was said already */
};

/* Lines that do not follow: changed ones, or what a gate that died left and its recovery accounts for. */
struct region {
    bool open;
    bool record;   /* its first line looks like one */
    unsigned ends; /* newlines in it */
    struct place place;
    char gate[GATE_ID_MAX];
    int64_t seq;
    char text[192];
    struct hash hash;
    int64_t bytes;
    bool newline; /* one is held back: the last is not part of what was hashed */
};

struct kept_anchor {
    char gate[GATE_ID_MAX];
    int64_t seq;
    char hash[HASH_HEX + 1];
    uint64_t line;
    bool found;
    bool too_old; /* its record was in a file that was removed */
};

struct hash_list {
    char (*hashes)[HASH_HEX + 1];
    size_t n;
};

struct verifier {
    const struct verify_options *options;
    struct verify_report *report;
    int state_fd;
    int dir; /* -1: there is none */
    struct audit_heads heads;
    bool has_heads;

    /* Of the slot. */
    char slot[SLOT_NAME_MAX];
    struct head_rows rows;
    enum link link;
    char hash[HASH_HEX + 1];   /* of the last record that was taken for good */
    char before[HASH_HEX + 1]; /* as the line before has it; empty: it has none */
    char gate[GATE_ID_MAX];
    int64_t seq;
    int64_t at_ms;                   /* of the last record; 0: it does not say */
    bool rotated;                    /* the last record is a `log.rotated` */
    bool stopped;                    /* it is a `gate.stop` */
    bool loose;                      /* something was wrong just before: no word about seq */
    bool seen;                       /* a record of the slot */
    char previous[ROTATED_NAME_MAX]; /* file of the slot; empty: none */
    struct place at;
    struct place next; /* where the next line would be */
    struct region region;

    /* Of all. */
    uint64_t *gates;
    size_t gates_size;
    size_t gates_used;
    struct kept_anchor *anchors;
    size_t n_anchors;
    struct hash_list removed; /* last hashes of removed files, by the log's own word */
    char (
        *missing)[HASH_HEX + 1]; /* by slot: what its first file follows, should that be nowhere */
    struct place *missing_at;
};

/* audit_verify_line.c */
void verify_begin_file(struct verifier *v, const char *name);
void verify_line(struct verifier *v, const struct audit_line *line, bool first);
void verify_end_file(struct verifier *v, bool is_rotated);

/* audit_verify.c */
void verify_tell(struct verifier *v, enum verify_level level, const struct place *place,
                 const char *gate, int64_t seq, const char *fmt, ...) PRINTF_LIKE(6, 7);

/* audit_verify_known.c */
/* False when the gate was there before. */
bool verify_add_gate(struct verifier *v, const char *gate);
bool verify_has_gate(const struct verifier *v, const char *gate);
void hash_list_add(struct hash_list *list, struct str hash);
bool hash_list_has(const struct hash_list *list, const char *hash);
int verify_read_anchors(struct verifier *v, struct err *err);
void verify_match_anchor(struct verifier *v, const struct chain_record *record);
/* The gate's records before `seq` were in files that were removed. */
void verify_age_anchors(struct verifier *v, const char *gate, int64_t seq);
void verify_end_anchors(struct verifier *v);

#endif
