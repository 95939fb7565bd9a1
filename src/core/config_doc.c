#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "core/config_store.h"

static const char *row_type_word(const struct config_row *row)
{
    static const char *const words[] = {
        [CONFIG_INT] = "number",   [CONFIG_SIZE] = "size",   [CONFIG_CORES] = "cores",
        [CONFIG_BOOL] = "boolean", [CONFIG_ENUM] = "choice", [CONFIG_STRING] = "text",
        [CONFIG_LIST] = "list",    [CONFIG_RAW] = "object",
    };
    return words[row->type];
}

static const char *tighten_words(const struct config_row *row)
{
    static const char *const words[] = {
        [CONFIG_NEVER] = "no",
        [CONFIG_LOWER] = "lower",
        [CONFIG_RAISE] = "higher",
        [CONFIG_FALSE_ONLY] = "`false`",
        [CONFIG_TRUE_ONLY] = "`true`",
        [CONFIG_ORDER] = "a later choice",
        [CONFIG_SUBSET] = "fewer entries",
        [CONFIG_SUPERSET] = "more entries",
        [CONFIG_RULE] = "see [Approval rules](#approval-rules)",
        [CONFIG_ADD] = "more of them",
    };
    return words[row->tighten];
}

static void write_default(struct buf *out, const struct config_row *row)
{
    bool number = row->type == CONFIG_INT || row->type == CONFIG_SIZE || row->type == CONFIG_CORES;
    if (row->required)
        buf_add_text(out, "required");
    else if (row->fallback)
        buf_addf(out, "that of `%s`", row->fallback);
    else if (row->type == CONFIG_BOOL)
        buf_addf(out, "`%s`", row->number ? "true" : "false");
    else if (number && row->number >= row->min && !row->required_where)
        buf_addf(out, "%lld", (long long)row->number);
    else if (number && !row->required_where)
        buf_add_text(out, "no limit");
    else if (row->text)
        buf_addf(out, "`%s`", row->text);
    else
        buf_add_text(out, "unset");
}

static void write_allowed(struct buf *out, const struct config_row *row)
{
    char choices[128];
    if (row->only) {
        buf_addf(out, "%s%s", row->only[0] ? "only " : "",
                 row->only[0]               ? row->only
                 : row->type == CONFIG_LIST ? "only an empty list"
                                            : "nothing yet");
    } else if (row->choices) {
        config_choices_text(row, choices, sizeof choices);
        buf_addf(out, "%s", choices);
    } else if (row->type == CONFIG_CORES) {
        buf_addf(out, "%g to %g", (double)row->min / 1000, (double)row->max / 1000);
    } else if (row->type == CONFIG_INT || row->type == CONFIG_SIZE) {
        buf_addf(out, "%lld to %lld", (long long)row->min, (long long)row->max);
    } else if (row->program) {
        buf_add_text(out, "an absolute path first");
    } else {
        buf_add_text(out, row->type == CONFIG_BOOL ? "true, false" : "any");
    }
}

void config_write_markdown(struct buf *out)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    buf_add_text(out,
                 "| Field | Type | Default | Allowed | Variable | A workspace may set | Meaning |\n"
                 "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        buf_addf(out, "| `%s` | %s | ", rows[i].path, row_type_word(&rows[i]));
        write_default(out, &rows[i]);
        buf_add_text(out, " | ");
        write_allowed(out, &rows[i]);
        if (rows[i].env)
            buf_addf(out, " | `%s` | ", rows[i].env);
        else
            buf_add_text(out, " | | ");
        buf_addf(out, "%s | %s |\n", tighten_words(&rows[i]), rows[i].doc);
    }
}

/* The text is Markdown; a terminal needs no marks. */
static void add_plain(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text != '`')
            buf_add_char(out, *text);
    }
}

static void explain_row(const struct config_row *row, struct buf *out)
{
    BUF_AT_END struct buf facts = BUF_INIT(4096);
    buf_addf(&facts, "    %s; default: ", row_type_word(row));
    write_default(&facts, row);
    buf_add_text(&facts, "; allowed: ");
    write_allowed(&facts, row);
    if (row->env)
        buf_addf(&facts, "; variable: %s", row->env);
    if (row->tighten != CONFIG_RULE)
        buf_addf(&facts, "; a workspace may set: %s", tighten_words(row));
    buf_addf(out, "%s\n    ", row->path);
    add_plain(out, row->doc);
    buf_add_char(out, '\n');
    add_plain(out, buf_text(&facts));
    buf_add_char(out, '\n');
}

void config_explain(const char *path, struct buf *out)
{
    size_t count;
    size_t n = strlen(path);
    const struct config_row *rows = config_rows(&count);
    const struct config_row *row = config_row_find(path);
    for (size_t i = 0; i < count; i++) {
        bool beneath = strncmp(rows[i].path, path, n) == 0 &&
                       (n == 0 || rows[i].path[n] == '.' || rows[i].path[n] == '[');
        if (&rows[i] == row || strcmp(rows[i].path, path) == 0 || (!row && beneath))
            explain_row(&rows[i], out);
    }
}

const char *config_meant(const char *path)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    struct str text = {path, strlen(path)};
    size_t least = spelling_close(text.n) + 1;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *last = strrchr(rows[i].path, '.');
        struct str all = {rows[i].path, strlen(rows[i].path)};
        size_t distance = spelling_distance(text, all);
        /* The last word alone is what people remember. */
        if (last && !strchr(path, '.') &&
            spelling_distance(text, (struct str){last + 1, strlen(last + 1)}) < distance)
            distance = spelling_distance(text, (struct str){last + 1, strlen(last + 1)});
        if (distance >= least)
            continue;
        least = distance;
        best = rows[i].path;
    }
    return best;
}
