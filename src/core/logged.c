#include "core/logged.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "core/logged_shell.h"

/* Bytes in which secrets are looked for. What is behind them is never shown, and a caller cannot make the gate look
 * through all of the longest request. */
#define LOOKED_MAX ((size_t)1 << 20)

struct clean {
    struct str text; /* without its secrets */
    struct str rest; /* what was not looked at: only hashed */
};

static struct str first_looked_at(struct str text, size_t *room)
{
    size_t n = text.n <= *room ? text.n : utf8_cut(text.p, *room);
    /* What did not fit is the last that is looked at. */
    *room = n < text.n ? 0 : *room - n;
    return (struct str){text.p, n};
}

static struct str text_behind_first(struct str text, struct str first)
{
    return (struct str){text.p + first.n, text.n - first.n};
}

static void write_clean(struct json_out *j, struct str text)
{
    struct json_out plain = *j;
    plain.hide = plain.redact = false;
    jo_str(&plain, text);
    j->comma = plain.comma;
    j->replaced = plain.replaced;
}

static void write_base64(struct json_out *j, struct str bytes)
{
    jo_open(j, '{');
    jo_key(j, "base64");
    jo_base64(j, bytes);
    jo_close(j, '}');
}

void logged_exact(struct json_out *j, struct str text)
{
    if (utf8_valid(text.p, text.n))
        jo_str(j, text);
    else
        write_base64(j, text);
}

static bool must_cut_word(const struct logged *l, const struct clean *clean)
{
    return clean->text.n > l->left || clean->rest.n > 0;
}

static struct str take_clean_text(struct logged *l, const struct clean *clean)
{
    struct str text = clean->text;
    text.n = text.n <= l->left ? text.n : utf8_cut(text.p, l->left);
    l->left -= text.n;
    return text;
}

static void hash_clean_word(struct hash *h, const struct clean *clean)
{
    hash_add(h, clean->text.p, clean->text.n);
    if (clean->rest.n)
        hash_add(h, clean->rest.p, clean->rest.n);
}

static void write_hash(struct json_out *j, const struct clean *clean)
{
    struct hash h;
    char hex[HASH_HEX + 1];
    hash_begin(&h);
    hash_clean_word(&h, clean);
    hash_end_hex(&h, hex);
    jo_kown(j, "sha256", hex);
}

static void write_logged_word(struct logged *l, const struct clean *clean, size_t bytes)
{
    if (!must_cut_word(l, clean)) {
        struct str text = take_clean_text(l, clean);
        if (utf8_valid(text.p, text.n))
            write_clean(l->j, text);
        else
            write_base64(l->j, text);
        return;
    }
    jo_open(l->j, '{');
    jo_key(l->j, "cut");
    write_clean(l->j, take_clean_text(l, clean));
    jo_kint(l->j, "bytes", (int64_t)bytes);
    write_hash(l->j, clean);
    jo_close(l->j, '}');
}

static struct str without_ranges(struct str text, const struct buf *ranges, struct buf *room)
{
    size_t done = 0;
    for (size_t i = 0; i < ranges->len; i += sizeof(struct redact_range)) {
        struct redact_range range;
        memcpy(&range, ranges->data + i, sizeof range);
        if (done == 0 || range.from > done) {
            buf_add(room, text.p + done, range.from - done);
            buf_add_text(room, REDACTED);
        }
        done = range.to > done ? range.to : done;
    }
    if (done == 0)
        return text;
    buf_add(room, text.p + done, text.n - done);
    return room->failed ? STR(REDACTED) : buf_str(room);
}

/* `begun`: so much of its beginning is a secret by what stands before it. */
static struct str clean_script(struct str *text, bool code, size_t begun, struct buf *room)
{
    BUF_AT_END struct buf ranges = BUF_INIT((text->n + 2) * sizeof(struct redact_range));
    if (!logged_shell_find(text, code, begun, &ranges))
        return STR(REDACTED);
    return without_ranges(*text, &ranges, room);
}

/* In `room` where something had to be replaced. Where there is no memory for that, nothing is shown. */
static struct clean without_secrets(struct str text, enum logged_reader reader, struct buf *room)
{
    size_t most = LOOKED_MAX;
    struct str first = first_looked_at(text, &most);
    struct clean clean = {.text = first};
    buf_init(room, REDACT_OUT_MAX(first.n));
    if (reader == LOGGED_SHELL || reader == LOGGED_CODE)
        clean.text = clean_script(&first, reader == LOGGED_CODE, 0, room);
    else if (redact(text, first.n, room))
        clean.text = room->failed ? STR(REDACTED) : buf_str(room);
    clean.rest = text_behind_first(text, first);
    return clean;
}

void logged_text(struct logged *l, struct str text)
{
    logged_script(l, text, LOGGED_NOBODY);
}

void logged_script(struct logged *l, struct str text, enum logged_reader reader)
{
    BUF_AT_END struct buf room;
    struct clean clean = without_secrets(text, reader, &room);
    write_logged_word(l, &clean, text.n);
}

void logged_input(struct logged *l, struct str text, enum logged_reader reader)
{
    BUF_AT_END struct buf room;
    struct clean clean = without_secrets(text, reader, &room);
    jo_open(l->j, '{');
    jo_kint(l->j, "bytes", (int64_t)text.n);
    write_hash(l->j, &clean);
    jo_key(l->j, must_cut_word(l, &clean) ? "cut" : "text");
    write_clean(l->j, take_clean_text(l, &clean));
    jo_close(l->j, '}');
}

/* --- words */

/* The words as a command line, and where secrets are in that. */
struct joined {
    struct buf text;
    struct buf ranges;
    size_t next; /* the first range that does not end before the word at hand */
};

static bool range_at(const struct joined *all, size_t i, struct redact_range *ret)
{
    if ((i + 1) * sizeof *ret > all->ranges.len)
        return false;
    memcpy(ret, all->ranges.data + i * sizeof *ret, sizeof *ret);
    return true;
}

static bool has_blank(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == ' ' || p[i] == '\t' || p[i] == '\n')
            return true;
    }
    return false;
}

/* Around a word whose end would not be known otherwise: a header has all of its line. '\0': none is needed. */
static char quote_for(struct str word)
{
    if (word.n == 0 || (!has_blank(word.p, word.n) && !memchr(word.p, ':', word.n)))
        return '\0';
    return memchr(word.p, '\'', word.n) ? '"' : '\'';
}

/* A secret that is the word, or stands behind its name (`--password=…`), is all the rest of the word, blanks too: no shell
 * divides it. The quote before the word is ours; one before the secret is closed where the secret ends. Of an address, the
 * host is told. */
static bool is_rest_of_word(const char *text, size_t word, size_t secret)
{
    if (secret <= word)
        return secret + 1 >= word;
    return !has_blank(text + word, secret - word) && !strchr("/'\"`", text[secret - 1]);
}

/* Where it ends then. Behind `NAME=` the word may be code: an operator ends the secret, so that no command is hidden. */
static size_t rest_end(const char *text, size_t word, size_t secret, size_t to)
{
    bool assigned = secret > word && text[secret - 1] == '=' && text[word] != '-';
    for (size_t i = secret; assigned && i < to; i++) {
        if (text[i] && strchr(";&|\n", text[i]))
            return i;
    }
    return to;
}

/* A script is looked at by itself. What stands before it can make its beginning a secret. */
static struct str script_word(const struct joined *all, struct str *word, size_t from, bool code,
                              struct buf *room)
{
    struct redact_range range;
    bool begun = range_at(all, all->next, &range) && range.from <= from && range.to > from;
    size_t n = begun ? range.to - from : 0;
    return clean_script(word, code, n < word->n ? n : word->n, room);
}

/* The word at [from, to) of the text without its secrets. */
static struct str clean_word(struct joined *all, struct str *word, size_t from,
                             enum logged_reader reader, struct buf *room)
{
    const char *p = all->text.data;
    const size_t to = from + word->n;
    struct redact_range range;
    size_t done = from;
    while (range_at(all, all->next, &range) && range.to <= from)
        all->next++;
    if (reader == LOGGED_SHELL || reader == LOGGED_CODE)
        return script_word(all, word, from, reader == LOGGED_CODE, room);
    for (size_t i = all->next; done < to && range_at(all, i, &range) && range.from < to; i++) {
        size_t begin = range.from > done ? range.from : done;
        size_t end = range.to < to ? range.to : to;
        if (end <= done)
            continue;
        if (is_rest_of_word(p, from, range.from))
            end = reader == LOGGED_VALUE ? to : rest_end(p, from, range.from, to);
        if (end == begin)
            continue;
        buf_add(room, p + done, begin - done);
        buf_add_text(room, REDACTED);
        done = end;
    }
    if (done == from)
        return (struct str){p + from, to - from};
    buf_add(room, p + done, to - done);
    return room->failed ? STR(REDACTED) : buf_str(room);
}

static void join_word(struct joined *all, struct str word)
{
    char quote = quote_for(word);
    if (quote)
        buf_add_char(&all->text, quote);
    buf_add(&all->text, word.p, word.n);
    if (quote)
        buf_add_char(&all->text, quote);
    buf_add_char(&all->text, ' ');
}

static bool join_logged_words(struct joined *all, const struct str *words, size_t n)
{
    const size_t bytes = LOOKED_MAX + 3 * n;
    size_t room = LOOKED_MAX;
    all->text = BUF_INIT(bytes);
    all->ranges = BUF_INIT((bytes + 1) * sizeof(struct redact_range));
    for (size_t i = 0; i < n; i++)
        join_word(all, first_looked_at(words[i], &room));
    if (!all->text.failed)
        redact_find(buf_str(&all->text), &all->ranges);
    return !all->text.failed && !all->ranges.failed;
}

struct rest {
    size_t words;
    size_t bytes;
    struct hash hash;
};

static void add_word_to_rest(struct rest *rest, const struct clean *clean, size_t bytes)
{
    if (rest->words++ == 0)
        hash_begin(&rest->hash);
    rest->bytes += bytes;
    hash_clean_word(&rest->hash, clean);
    hash_add(&rest->hash, "", 1);
}

static void write_unshown_rest(struct logged *l, struct rest *rest)
{
    char hex[HASH_HEX + 1];
    if (rest->words == 0)
        return;
    hash_end_hex(&rest->hash, hex);
    jo_open(l->j, '{');
    jo_kint(l->j, "words", (int64_t)rest->words);
    jo_kint(l->j, "bytes", (int64_t)rest->bytes);
    jo_kown(l->j, "sha256", hex);
    jo_close(l->j, '}');
}

/* What stands around a word counts too, so that many empty ones are not written without end. */
#define AROUND_WORD 1

static void write_logged_words(struct logged *l, struct joined *all, const struct str *words,
                               size_t n)
{
    struct rest rest = {0};
    struct logged_scripts scripts = {.words = words, .n = n};
    size_t most = LOOKED_MAX;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct str first = first_looked_at(words[i], &most);
        BUF_AT_END struct buf room = BUF_INIT(REDACT_OUT_MAX(first.n));
        enum logged_reader reader = logged_reader(&scripts, i);
        size_t quote = quote_for(first) != '\0';
        size_t from = at + quote;
        at = from + first.n + quote + 1;
        bool unseen = first.n == 0 && words[i].n > 0;
        struct clean clean = {.text = clean_word(all, &first, from, reader, &room)};
        clean.rest = text_behind_first(words[i], first);
        if (rest.words || unseen || l->left <= AROUND_WORD) {
            add_word_to_rest(&rest, &clean, words[i].n);
            continue;
        }
        l->left -= AROUND_WORD;
        write_logged_word(l, &clean, words[i].n);
    }
    write_unshown_rest(l, &rest);
}

void logged_words(struct logged *l, const struct str *words, size_t n)
{
    struct joined all = {0};
    jo_open(l->j, '[');
    if (join_logged_words(&all, words, n))
        write_logged_words(l, &all, words, n);
    else
        write_clean(l->j, STR(REDACTED));
    jo_close(l->j, ']');
    buf_done(&all.text);
    buf_done(&all.ranges);
}

void logged_name(struct json_out *j, struct str name, size_t max)
{
    BUF_AT_END struct buf text = BUF_INIT(max + HASH_HEX + 64);
    char hex[HASH_HEX + 1];
    if (name.n <= max) {
        jo_str(j, name);
        return;
    }
    hash_hex(name.p, name.n, hex);
    buf_add(&text, name.p, utf8_cut(name.p, max));
    buf_addf(&text, "[cut, %zu bytes in all, sha256 %s]", name.n, hex);
    jo_str(j, buf_str(&text));
}
