/* One word. */
#include "base/mem.h"
#include "policy/plain_parts.h"

/* A word while it is read. */
struct word {
    size_t from; /* its text in `building` */
    unsigned flags;
    bool quoted; /* inside "..." */
};

int plain_fault_at(struct plain_reader *r, size_t at, const char *construct)
{
    *r->why = (struct plain_fault){at, construct};
    return -1;
}

int plain_newline_before_text(struct plain_reader *r)
{
    return plain_fault_at(r, r->at, "a here-document whose line goes on in the next one");
}

static bool is_plain_char(char c)
{
    return plain_is_letter(c) || plain_is_digit(c) || (c && strchr("./:@%+,=^-", c));
}

/* Something whose value is not known here. Unquoted it may be split into words; as a beginning it may be an option. */
static void varies(const struct plain_reader *r, struct word *word)
{
    bool first = r->building.len == word->from || r->building.data[word->from] == '-';
    word->flags |= PLAIN_VARIES;
    if (!word->quoted || first)
        word->flags |= PLAIN_ANY;
    if (!word->quoted)
        word->flags |= PLAIN_SPLITS;
}

static int read_plain_substitution(struct plain_reader *r, struct word *word)
{
    size_t from = r->at;
    if (plain_peek(r, 2) == '(')
        return plain_fault_at(r, from, "arithmetic");
    if (r->depth == PLAIN_NESTING_MAX)
        return plain_fault_at(r, from, "more nesting than 8 levels");
    varies(r, word);
    r->at += 2;
    r->depth++;
    r->in_words++;
    if (plain_read_list(r) < 0)
        return -1;
    r->depth--;
    r->in_words--;
    if (plain_peek(r, 0) != ')')
        return plain_fault_at(r, from, "a substitution without its end");
    r->at++;
    buf_add_text(&r->building, "$()");
    return 0;
}

/* At a `$`. */
static int read_plain_dollar(struct plain_reader *r, struct word *word)
{
    char next = plain_peek(r, 1);
    if (next == '(')
        return read_plain_substitution(r, word);
    if (next == '?' || plain_is_letter(next)) {
        varies(r, word);
        size_t n = 2;
        while (next != '?' &&
               (plain_is_letter(plain_peek(r, n)) || plain_is_digit(plain_peek(r, n))))
            n++;
        buf_add(&r->building, r->text.p + r->at, n);
        r->at += n;
        return 0;
    }
    /* By itself: the end of a pattern. */
    if (word->quoted && next && strchr("\" |)/.,:", next)) {
        buf_add_char(&r->building, '$');
        r->at++;
        return 0;
    }
    return plain_fault_at(r, r->at,
                          next == '\'' || next == '"' ? "a quote that begins with `$`"
                          : next == '{'               ? "an expansion in braces"
                                                      : "an expansion other than $NAME and $( )");
}

/* In "...": goes behind the closing one. */
static int read_plain_double(struct plain_reader *r, struct word *word)
{
    size_t from = r->at++;
    word->quoted = true;
    while (plain_peek(r, 0) != '"') {
        char c = plain_peek(r, 0);
        if (plain_at_end(r) || c == '\0')
            return plain_fault_at(r, from, "a quote without its end");
        if (c == '`')
            return plain_fault_at(r, r->at, "a backtick");
        if (c == '\n' && r->ends.p)
            return plain_newline_before_text(r);
        if (c == '$') {
            if (read_plain_dollar(r, word) < 0)
                return -1;
            continue;
        }
        if (c == '\\' && plain_peek(r, 1) == '\n')
            return plain_fault_at(r, r->at, "a continued line inside quotes");
        if (c == '\\' && plain_peek(r, 1) && strchr("$`\"\\", plain_peek(r, 1)))
            r->at++;
        buf_add_char(&r->building, plain_peek(r, 0));
        r->at++;
    }
    r->at++;
    word->quoted = false;
    return 0;
}

static int read_plain_single(struct plain_reader *r)
{
    const char *from = r->text.p + r->at + 1;
    const char *end = memchr(from, '\'', r->text.n - r->at - 1);
    if (!end || memchr(from, '\0', (size_t)(end - from)))
        return plain_fault_at(r, r->at, "a quote without its end");
    if (r->ends.p && memchr(from, '\n', (size_t)(end - from)))
        return plain_newline_before_text(r);
    buf_add(&r->building, from, (size_t)(end - from));
    r->at += (size_t)(end - from) + 2;
    return 0;
}

static int read_plain_pattern(struct plain_reader *r, struct word *word)
{
    bool first = r->building.len == word->from || r->building.data[word->from] == '-';
    word->flags |= PLAIN_VARIES | PLAIN_SPLITS | (first ? PLAIN_ANY : 0);
    buf_add_char(&r->building, plain_peek(r, 0));
    r->at++;
    return 0;
}

static const char *name_of_odd_char(char c)
{
    switch (c) {
    case '`':
        return "a backtick";
    case '{':
    case '}':
        return "a brace";
    case '[':
    case ']':
        return "a bracket";
    case '~':
        return "a `~` that is not the beginning of `~/`";
    case '#':
        return "a `#` within a word";
    case '!':
        return "a `!` within a word";
    default:
        return "a character that is not plain; quote it";
    }
}

/* `[`, `]`, `!`, `!=` and `{}` by themselves, and `~` before a `/`: what they mean is fixed. */
static size_t lone_length(const struct plain_reader *r, const struct word *word)
{
    char c = plain_peek(r, 0);
    bool first = r->building.len == word->from && !(word->flags & PLAIN_QUOTED);
    if (c == '{' && plain_peek(r, 1) == '}')
        return 2;
    /* `HEAD~1`. Behind other characters it may be a home. */
    if (c == '~' && !first && !(word->flags & PLAIN_QUOTED) &&
        (plain_is_letter(r->text.p[r->at - 1]) || plain_is_digit(r->text.p[r->at - 1])))
        return 1;
    if (first && c == '!' && plain_peek(r, 1) == '=' && plain_is_meta(plain_peek(r, 2)))
        return 2;
    if (first && (c == '[' || c == ']' || c == '!') && plain_is_meta(plain_peek(r, 1)))
        return 1;
    return first && c == '~' && (plain_peek(r, 1) == '/' || plain_is_meta(plain_peek(r, 1))) ? 1
                                                                                             : 0;
}

static int read_piece(struct plain_reader *r, struct word *word)
{
    char c = plain_peek(r, 0);
    size_t lone = lone_length(r, word);
    if (lone) {
        word->flags |= c == '~' && r->building.len == word->from ? PLAIN_VARIES : 0;
        buf_add(&r->building, r->text.p + r->at, lone);
        r->at += lone;
        return 0;
    }
    if (is_plain_char(c)) {
        buf_add_char(&r->building, c);
        r->at++;
        return 0;
    }
    if (c == '*' || c == '?')
        return read_plain_pattern(r, word);
    if (c == '$')
        return read_plain_dollar(r, word);
    if (c != '\'' && c != '"' && c != '\\')
        return plain_fault_at(r, r->at, name_of_odd_char(c));
    word->flags |= PLAIN_QUOTED;
    if (c == '\'')
        return read_plain_single(r);
    if (c == '"')
        return read_plain_double(r, word);
    if (plain_peek(r, 1) == '\n' || (unsigned char)plain_peek(r, 1) < ' ')
        return plain_fault_at(r, r->at, "a continued line within a word");
    buf_add_char(&r->building, plain_peek(r, 1));
    r->at += 2;
    return 0;
}

static void keep_word(struct plain_reader *r, const struct word *word, unsigned command)
{
    struct plain_line *out = r->out;
    size_t n = r->building.len - word->from;
    if (r->building.failed)
        return;
    if ((out->n_words_ & (out->n_words_ - 1)) == 0)
        out->words_ = mem_grow(out->words_, out->n_words_ ? 2 * out->n_words_ : 1,
                               sizeof *out->words_);
    /* The text moves as it grows: until the end only its length counts. */
    out->words_[out->n_words_++] = (struct plain_word){
        .text = {NULL, n}, .flags = word->flags, .command = command};
    if (n)
        buf_add(&out->text_, r->building.data + word->from, n);
    r->building.len = word->from;
}

int plain_read_word(struct plain_reader *r, unsigned command)
{
    struct word word = {.from = r->building.len};
    while (!plain_is_meta(plain_peek(r, 0))) {
        if (read_piece(r, &word) < 0)
            return -1;
    }
    if (!plain_at_end(r) && plain_peek(r, 0) == '\0')
        return plain_fault_at(r, r->at, "a NUL");
    keep_word(r, &word, command);
    return 0;
}

/* bash opens connections by these names. */
static bool names_network(const struct plain_reader *r, const struct word *word)
{
    static const char *const names[] = {"/dev/tcp/", "/dev/udp/"};
    size_t n = strlen(names[0]);
    if (r->building.failed || r->building.len - word->from < n)
        return false;
    const char *text = r->building.data + word->from;
    return memcmp(text, names[0], n) == 0 || memcmp(text, names[1], n) == 0;
}

int plain_pass_word(struct plain_reader *r, const char *otherwise)
{
    size_t at = r->at;
    struct word word = {.from = r->building.len};
    while (!plain_is_meta(plain_peek(r, 0))) {
        if (read_piece(r, &word) < 0)
            return -1;
    }
    bool network = names_network(r, &word);
    if (!r->building.failed)
        r->building.len = word.from;
    if (network)
        return plain_fault_at(r, at, "a redirection from the network");
    return word.flags & PLAIN_VARIES ? plain_fault_at(r, at, otherwise) : 0;
}
