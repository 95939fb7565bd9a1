/* state.db from the inside: db.c opens it and runs statements, db_error.c says what is wrong with it. */
#ifndef SANDGATE_STORE_DB_PARTS_H
#define SANDGATE_STORE_DB_PARTS_H

#include "store/db.h"

#define DB_NAME "state.db"
#define STATEMENTS_MAX 64

struct db {
    sqlite3 *handle;
    bool leaves_checkpoints;
    bool has_removed; /* text that must not stay in the file */
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } all[STATEMENTS_MAX];
    size_t n;
    int wal_pages; /* after the last commit */
};

/* The file is there and cannot be taken: nothing runs until a person has looked. Returns -1. */
int db_refuse(struct err *err, const char *reason, const char *why);
/* Opening or making the file failed with this errno. Returns -1. */
int db_unusable(int error, struct err *err);

#endif
