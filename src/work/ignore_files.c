#include "work/ignore_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath.h"

/* Of all rules held at once. */
#define HELD_MAX ((size_t)64 << 20)

struct ignore_scope {
    struct ignore_scope *around;
    struct ignore *rules;
    size_t from;
};

void ignore_reader_done(struct ignore_reader *reader)
{
    free(TAKE_PTR(reader->text));
}

static int push_ignore_scope(struct ignore_files *files, struct ignore_reader *reader,
                             enum ignore_file kind, struct str text, size_t from)
{
    struct ignore *rules = ignore_new(text);
    if (!rules)
        return -errno;
    struct ignore_scope *scope = mem_zero(sizeof *scope);
    *scope = (struct ignore_scope){files->last[kind], rules, from};
    files->last[kind] = scope;
    reader->held += ignore_size(rules);
    return 0;
}

/* It is not there, is no file, or may not be read: git goes on without it too. */
static bool is_none(int error)
{
    return beneath_is_gone(error) || error == EINVAL || error == ENXIO || error == EACCES ||
           error == EPERM;
}

/* For a whole file. Of one that is too long there is one byte more than is used: so it can be told that it is cut. */
static int make_ignore_room(struct ignore_reader *reader, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    size_t whole = (size_t)st.st_size;
    size_t size = (whole < IGNORE_TEXT_MAX ? whole : IGNORE_TEXT_MAX) + 1;
    if (size <= reader->room)
        return 0;
    char *text = realloc(reader->text, size);
    if (!text)
        return -ENOMEM;
    reader->text = text;
    reader->room = size;
    return 0;
}

static int push_file(struct ignore_files *files, struct ignore_reader *reader,
                     enum ignore_file kind, int folder, const char *name, size_t from)
{
    if (reader->held > HELD_MAX)
        return 0;
    FD_AT_END int fd = beneath_open_child_file(folder, name);
    if (fd < 0)
        return is_none(errno) ? 0 : -errno;
    int r = make_ignore_room(reader, fd);
    ssize_t n = r < 0 ? r : fd_read_upto(fd, reader->text, reader->room);
    if (n <= 0)
        return (int)n;
    return push_ignore_scope(files, reader, kind, (struct str){reader->text, (size_t)n}, from);
}

static int push_exclude(struct ignore_files *files, struct ignore_reader *reader, int folder,
                        size_t from)
{
    FD_AT_END int git = beneath_open_child(folder, ".git");
    FD_AT_END int info = git < 0 ? -1 : beneath_open_child(git, "info");
    if (info < 0)
        return is_none(errno) ? 0 : -errno;
    return push_file(files, reader, IGNORE_FILE_EXCLUDE, info, "exclude", from);
}

int ignore_files_read(struct ignore_files *files, struct ignore_reader *reader, int folder,
                      unsigned found, size_t from)
{
    int own = found & IGNORE_FOUND_OWN
                  ? push_file(files, reader, IGNORE_FILE_OWN, folder, ".ignore", from)
                  : 0;
    int git = found & IGNORE_FOUND_GIT
                  ? push_file(files, reader, IGNORE_FILE_GIT, folder, ".gitignore", from)
                  : 0;
    int exclude = found & IGNORE_FOUND_EXCLUDE ? push_exclude(files, reader, folder, from) : 0;
    return own ? own : git ? git : exclude;
}

int ignore_files_give(struct ignore_files *files, struct ignore_reader *reader, struct str text)
{
    return push_ignore_scope(files, reader, IGNORE_FILE_GIVEN, text, 0);
}

void ignore_files_drop(struct ignore_files *files, struct ignore_reader *reader,
                       const struct ignore_files *around)
{
    for (int kind = 0; kind < IGNORE_FILES; kind++) {
        while (files->last[kind] != around->last[kind]) {
            struct ignore_scope *scope = files->last[kind];
            files->last[kind] = scope->around;
            reader->held -= ignore_size(scope->rules);
            ignore_free(scope->rules);
            free(scope);
        }
    }
}

enum ignore_verdict ignore_files_verdict(const struct ignore_files *files, struct str path,
                                         bool is_folder)
{
    for (int kind = 0; kind < IGNORE_FILES; kind++) {
        for (const struct ignore_scope *s = files->last[kind]; s; s = s->around) {
            struct str seen = {path.p + s->from, path.n - s->from};
            enum ignore_verdict verdict = ignore_verdict(s->rules, seen, is_folder);
            if (verdict != IGNORE_NONE)
                return verdict;
        }
    }
    return IGNORE_NONE;
}
