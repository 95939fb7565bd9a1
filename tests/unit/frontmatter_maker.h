/* Makes files with random front matter, and knows of each key which lines are its own and what its value is. */
#ifndef SANDGATE_TESTS_FRONTMATTER_MAKER_H
#define SANDGATE_TESTS_FRONTMATTER_MAKER_H

#include <assert.h>
#include <yyjson.h>

#include "base/buf.h"
#include "random.h"

#define KEYS_MAX 8

struct made_key {
    char name[32];
    struct buf lead; /* comments and empty lines before it */
    struct buf own;
    yyjson_mut_val *value;
    int alias_of; /* another key, or -1 */
    bool anchored;
    bool comment; /* "# keep" stands on its first line */
    bool is_block;
    bool behind_block; /* without it, lines behind it could belong to the block scalar before it */
};

struct made_file {
    yyjson_mut_doc *doc;
    const char *eol;
    struct buf head; /* byte order mark and `---` */
    struct made_key keys[KEYS_MAX];
    int count;
    struct buf trail;
    struct buf body; /* closing line and all behind it */
    bool
        behind_block; /* the line before belongs to a block scalar: an indented comment would, too */
    bool behind_kept; /* and so would an empty line */
};

static const char *const made_words[] = {
    "alpha", "beta", "gam ma", "x/y", "d-e", "it", "\xc3\xa9t\xc3\xa9", "a:b", "q#r", "zeta"};

static inline bool chance(unsigned percent)
{
    return random_below(100) < percent;
}

static inline const char *any_word(void)
{
    return made_words[random_below(ARRAY_LEN(made_words))];
}

static inline void spaces(struct buf *out, size_t n)
{
    while (n--)
        buf_add_char(out, ' ');
}

static inline void maybe_comment(struct made_file *f, struct buf *out)
{
    f->behind_block = f->behind_kept = false;
    if (chance(20))
        buf_addf(out, "%*s# %s: [note", 1 + (int)random_below(3), "", any_word());
    else if (chance(10))
        buf_add_char(out, ' ');
    buf_add_text(out, f->eol);
}

/* A comment or an empty line, now and then. */
static inline void maybe_line(struct made_file *f, struct buf *out, size_t indent)
{
    if (chance(8) && !f->behind_kept) {
        buf_add_text(out, f->eol);
    } else if (chance(10)) {
        spaces(out, indent);
        buf_addf(out, "# - %s: 'x%s", any_word(), f->eol);
        f->behind_kept = false;
    }
}

/* On one line; some of it only where no brackets are around. */
static inline yyjson_mut_val *make_scalar(struct made_file *f, struct buf *out, bool in_flow)
{
    char text[80];
    int number = (int)random_below(5000) - 1000;
    const char *a = any_word();
    const char *b = any_word();
    switch (random_below(in_flow ? 8 : 10)) {
    case 0:
        buf_addf(out, "%d", number);
        return yyjson_mut_sint(f->doc, number);
    case 1:
        buf_add_text(out, number & 1 ? "true" : "false");
        return yyjson_mut_bool(f->doc, number & 1);
    case 2:
        buf_add_text(out, number & 1 ? "null" : "~");
        return yyjson_mut_null(f->doc);
    case 3:
        buf_addf(out, "'%s''%s, # %s: '", a, b, a);
        snprintf(text, sizeof text, "%s'%s, # %s: ", a, b, a);
        return yyjson_mut_strcpy(f->doc, text);
    case 4:
        buf_addf(out, "\"%s\\n\\\"%s]}\\t\"", a, b);
        snprintf(text, sizeof text, "%s\n\"%s]}\t", a, b);
        return yyjson_mut_strcpy(f->doc, text);
    case 5:
        buf_addf(out, "!!str %d", number);
        snprintf(text, sizeof text, "%d", number);
        return yyjson_mut_strcpy(f->doc, text);
    case 6:
        buf_addf(out, "%s %s", a, b);
        snprintf(text, sizeof text, "%s %s", a, b);
        return yyjson_mut_strcpy(f->doc, text);
    case 8:
        buf_addf(out, "%s, [%s]", a, b);
        snprintf(text, sizeof text, "%s, [%s]", a, b);
        return yyjson_mut_strcpy(f->doc, text);
    default:
        buf_add_text(out, a);
        return yyjson_mut_str(f->doc, a);
    }
}

static inline yyjson_mut_val *make_flow(struct made_file *f, struct buf *out, int depth,
                                        size_t indent);

static inline yyjson_mut_val *make_flow_item(struct made_file *f, struct buf *out, int depth,
                                             size_t indent)
{
    return depth > 0 && chance(25) ? make_flow(f, out, depth - 1, indent + 2)
                                   : make_scalar(f, out, true);
}

/* In brackets, on one line or one line an item, with or without a last comma. */
static inline yyjson_mut_val *make_flow(struct made_file *f, struct buf *out, int depth,
                                        size_t indent)
{
    bool mapping = chance(40);
    bool lines = chance(30);
    size_t count = random_below(4);
    bool comma = count && chance(20);
    yyjson_mut_val *all = mapping ? yyjson_mut_obj(f->doc) : yyjson_mut_arr(f->doc);
    buf_add_char(out, mapping ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        char name[16];
        const char *quote = chance(30) ? "\"" : "";
        snprintf(name, sizeof name, "f%zu", i);
        if (lines) {
            maybe_comment(f, out);
            maybe_line(f, out, indent + 2);
            spaces(out, indent + 2);
        } else if (i || chance(20)) {
            buf_add_char(out, ' ');
        }
        if (mapping)
            buf_addf(out, "%s%s%s: ", quote, name, quote);
        yyjson_mut_val *item = make_flow_item(f, out, depth, indent + 2);
        if (mapping)
            yyjson_mut_obj_add(all, yyjson_mut_strcpy(f->doc, name), item);
        else
            yyjson_mut_arr_append(all, item);
        if (i + 1 < count || comma)
            buf_add_char(out, ',');
    }
    if (lines) {
        maybe_comment(f, out);
        spaces(out, indent + random_below(2) + 1);
    } else if (chance(20)) {
        buf_add_char(out, ' ');
    }
    buf_add_char(out, mapping ? '}' : ']');
    return all;
}

/* `|` and `>` with their contents, which are indented deeper than `indent`. */
static inline yyjson_mut_val *make_block_scalar(struct made_file *f, struct buf *out, size_t indent)
{
    static const char chomps[] = {'\0', '-', '+'};
    BUF_AT_END struct buf text = BUF_INIT(1000);
    bool folded = chance(40);
    char chomp = chomps[random_below(3)];
    size_t more = 1 + random_below(4);
    size_t count = 1 + random_below(3);
    buf_add_char(out, folded ? '>' : '|');
    if (chance(30))
        buf_addf(out, "%zu", more);
    if (chomp)
        buf_add_char(out, chomp);
    maybe_comment(f, out);
    for (size_t i = 0; i < count; i++) {
        const char *word = any_word();
        spaces(out, indent + more);
        buf_addf(out, "%s: # %zu%s", word, i, f->eol);
        buf_addf(&text, "%s%s: # %zu", i == 0 ? "" : folded ? " " : "\n", word, i);
    }
    if (chomp != '-')
        buf_add_char(&text, '\n');
    for (size_t n = chomp == '+' ? random_below(3) : 0; n; n--) {
        buf_add_text(out, f->eol);
        buf_add_char(&text, '\n');
    }
    f->behind_block = true;
    f->behind_kept = chomp == '+';
    return yyjson_mut_strncpy(f->doc, text.data, text.len);
}

static inline yyjson_mut_val *make_block(struct made_file *f, struct buf *out, size_t indent,
                                         int depth, bool mapping);

/* What follows `-` or `key:` in lines of indentation `indent`, with its line break. */
static inline yyjson_mut_val *make_block_item(struct made_file *f, struct buf *out, size_t indent,
                                              int depth)
{
    yyjson_mut_val *value;
    switch (random_below(8)) {
    case 0:
        buf_add_char(out, ' ');
        return make_block_scalar(f, out, indent);
    case 1:
        buf_add_char(out, ' ');
        value = make_flow(f, out, 1, indent + 2);
        break;
    case 2:
        if (depth > 0) {
            maybe_comment(f, out);
            return make_block(f, out, indent + 1 + random_below(3), depth - 1, chance(50));
        }
        __attribute__((fallthrough));
    default:
        buf_add_char(out, ' ');
        value = make_scalar(f, out, false);
    }
    maybe_comment(f, out);
    return value;
}

static inline yyjson_mut_val *make_block(struct made_file *f, struct buf *out, size_t indent,
                                         int depth, bool mapping)
{
    size_t count = 1 + random_below(4);
    yyjson_mut_val *all = mapping ? yyjson_mut_obj(f->doc) : yyjson_mut_arr(f->doc);
    for (size_t i = 0; i < count; i++) {
        maybe_line(f, out, indent);
        spaces(out, indent);
        if (mapping) {
            char name[16];
            const char *quote = chance(20) ? "'" : "";
            snprintf(name, sizeof name, "b%zu", i);
            buf_addf(out, "%s%s%s:", quote, name, quote);
            yyjson_mut_obj_add(all, yyjson_mut_strcpy(f->doc, name),
                               make_block_item(f, out, indent, depth));
        } else {
            buf_add_char(out, '-');
            yyjson_mut_arr_append(all, make_block_item(f, out, indent, depth));
        }
    }
    return all;
}

static inline void end_first_line(struct made_file *f, struct made_key *key)
{
    key->comment = chance(25);
    buf_addf(&key->own, "%s%s", key->comment ? "  # keep" : "", f->eol);
}

static inline void make_lines_value(struct made_file *f, struct made_key *key)
{
    bool mapping = chance(50);
    size_t indent = mapping ? 1 + random_below(4) : random_below(4);
    if (chance(15))
        buf_add_text(&key->own, mapping ? " !!map" : " !!seq");
    end_first_line(f, key);
    key->is_block = true;
    key->value = make_block(f, &key->own, indent, 2, mapping);
}

static inline void make_long_scalar(struct made_file *f, struct made_key *key)
{
    const char *a = any_word();
    const char *b = any_word();
    char text[80];
    bool quoted = chance(50);
    snprintf(text, sizeof text, "%s %s", a, b);
    buf_addf(&key->own, " %s%s%s   %s%s", quoted ? "\"" : "", a, f->eol, b, quoted ? "\"" : "");
    buf_add_text(&key->own, f->eol);
    key->value = yyjson_mut_strcpy(f->doc, text);
}

static inline void make_value(struct made_file *f, int index)
{
    struct made_key *key = &f->keys[index];
    int other = index ? (int)random_below((size_t)index) : -1;
    if (other >= 0 && f->keys[other].anchored) {
        key->alias_of = other;
        buf_addf(&key->own, " *a%d", other);
        end_first_line(f, key);
        return;
    }
    switch (random_below(7)) {
    case 0:
        key->value = yyjson_mut_null(f->doc);
        end_first_line(f, key);
        return;
    case 1:
        buf_add_char(&key->own, ' ');
        key->value = make_block_scalar(f, &key->own, 0);
        return;
    case 2:
    case 3:
        make_lines_value(f, key);
        return;
    case 4:
        make_long_scalar(f, key);
        return;
    default:
        key->anchored = chance(40);
        if (key->anchored)
            buf_addf(&key->own, " &a%d", index);
        buf_add_char(&key->own, ' ');
        key->value = chance(50) ? make_flow(f, &key->own, 2, 0) : make_scalar(f, &key->own, false);
        buf_add_text(&key->own, f->eol);
    }
}

static inline void make_key(struct made_file *f, int index)
{
    static const char *const names[] = {"k", "K ", "\xc3\xa4"};
    static const char *const quotes[] = {"", "\"", "'"};
    struct made_key *key = &f->keys[index];
    *key = (struct made_key){.alias_of = -1};
    buf_init(&key->lead, 10000);
    buf_init(&key->own, 10000);
    maybe_line(f, &key->lead, 0);
    maybe_line(f, &key->lead, f->behind_block ? 0 : random_below(3));
    key->behind_block = f->behind_block;
    f->behind_block = f->behind_kept = false;
    snprintf(key->name, sizeof key->name, "%s%d", names[random_below(3)], index);
    const char *quote = quotes[random_below(3)];
    buf_addf(&key->own, "%s%s%s%s:", quote, key->name, quote, chance(20) ? " " : "");
    make_value(f, index);
}

static inline void make_file(struct made_file *f)
{
    *f = (struct made_file){.doc = yyjson_mut_doc_new(NULL), .eol = chance(70) ? "\n" : "\r\n"};
    buf_init(&f->head, 100);
    buf_init(&f->trail, 10000);
    buf_init(&f->body, 1000);
    buf_addf(&f->head, "%s---%s%s", chance(20) ? "\xef\xbb\xbf" : "", chance(10) ? " " : "",
             f->eol);
    f->count = (int)random_below(KEYS_MAX);
    for (int i = 0; i < f->count; i++)
        make_key(f, i);
    maybe_line(f, &f->trail, 0);
    buf_add_text(&f->body, chance(80) ? "---" : "...");
    if (chance(80))
        buf_add_text(&f->body, f->eol);
    if (f->body.len > 3 && chance(50))
        buf_addf(&f->body, "# Title%s%s---%sa: 1\n", f->eol, f->eol, f->eol);
    if (f->body.len > 3 && chance(50))
        buf_add_text(&f->body, "text without an end");
}

static inline void made_file_done(struct made_file *f)
{
    for (int i = 0; i < f->count; i++) {
        buf_done(&f->keys[i].lead);
        buf_done(&f->keys[i].own);
    }
    buf_done(&f->head);
    buf_done(&f->trail);
    buf_done(&f->body);
    yyjson_mut_doc_free(f->doc);
}

static inline void made_file_text(const struct made_file *f, struct buf *out)
{
    buf_add(out, f->head.data, f->head.len);
    for (int i = 0; i < f->count; i++) {
        buf_add(out, f->keys[i].lead.data, f->keys[i].lead.len);
        buf_add(out, f->keys[i].own.data, f->keys[i].own.len);
    }
    buf_add(out, f->trail.data, f->trail.len);
    buf_add(out, f->body.data, f->body.len);
}

#endif
