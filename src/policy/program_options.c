/* One use of a program, held against the rows about it. */
#include "policy/program_options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/command_uses.h"
#include "policy/program_names.h"
#include "policy/program_rows.h"
#include "policy/subcommand.h"

static const struct program_rows *const families[] = {
    &program_rows_files,  &program_rows_git,    &program_rows_build,
    &program_rows_script, &program_rows_system,
};

static const struct letters {
    const char *programs;
    const char *letters;
} value_letters[] = {
    {" asciidoctor asciidoctor-pdf ", "BDEIRSTabdor"},
    {" cargo ", "FjpZC"},
    {" curl ", "ACDEFHKPQTUXYbcdemortuwxyz"},
    {" eslint ", "cfo"},
    {" fd fdfind ", "cdEeStjxX"},
    {" gradle gradlew ", "DFIMPTbcgpx"},
    {" groff nroff troff ", "DFIKLMPTWdfmnorw"},
    {" make gmake ", "CEIOWfjlo"},
    {" ninja ", "Cdfjklt"},
    {" pytest py.test ", "Wckmnopr"},
    {" rg ", "ABCEMTdefgjmrt"},
    {" rsync ", "BMTef@"},
    {" sort ", "STkot"},
    {" tar ", "CFHIKLNTVXbfg"},
    {" uniq ", "fsw"},
    {" wget ", "ABDIOPQRTUXaeilotw"},
};

/* Letters whose value is the rest of the word, or the next one where there is no rest. NULL: not known. */
static const char *program_value_letters(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(value_letters); i++) {
        if (program_in(value_letters[i].programs, name))
            return value_letters[i].letters;
    }
    return NULL;
}

struct str program_name(const struct program_use *use, char other[COMMAND_NAME_MAX])
{
    char room[PROGRAM_NAME_ROOM];
    struct str name = command_name(&use->view->words[0], other);
    if (!program_may_be_other(name) || program_is_listed(name))
        return name;
    struct str plain = program_plain_name(name, room);
    if (plain.n == 0 || plain.n >= COMMAND_NAME_MAX || !program_is_listed(plain))
        return name;
    memmove(other, plain.p, plain.n);
    return (struct str){other, plain.n};
}

/* --- names */

static char next_letter(struct str text, size_t *at)
{
    while (*at < text.n && strchr("-_", text.p[*at]))
        ++*at;
    return *at < text.n ? (char)tolower((unsigned char)text.p[(*at)++]) : '\0';
}

/* `--setupFiles` and `--setup-files`. */
static bool begins_loosely(struct str given, struct str name, bool whole)
{
    size_t i = 0;
    size_t k = 0;
    for (char c; (c = next_letter(name, &i));) {
        if (c != next_letter(given, &k))
            return false;
    }
    char next = next_letter(given, &k);
    return !whole || !next || next == '.'; /* `--reporters.0` is an item of `--reporters` */
}

/* One name of a list. `--out` and `--output=x` are `output`. */
static bool is_option_name(const struct program_row *row, struct str name, struct str given)
{
    if (name.p[name.n - 1] == '*') {
        name.n--;
        return row->flags & ROW_LOOSE ? begins_loosely(given, name, false)
                                      : str_begins(given, name);
    }
    const char *equals = memchr(given.p, '=', given.n);
    struct str bare = {given.p, equals ? (size_t)(equals - given.p) : given.n};
    bool whole = row->flags & (ROW_ONE_DASH | ROW_WHOLE | ROW_BARE);
    if (row->flags & ROW_LOOSE)
        return begins_loosely(bare, name, true);
    return str_begins(name, bare) && bare.n && (!whole || bare.n == name.n);
}

static bool is_name_char_at(struct str text, size_t i)
{
    return i < text.n && (isalnum((unsigned char)text.p[i]) || text.p[i] == '_');
}

static bool text_holds_name(struct str text, struct str name, bool token)
{
    for (size_t i = 0; i + name.n <= text.n; i++) {
        size_t k = 0;
        while (k < name.n && tolower((unsigned char)text.p[i + k]) == name.p[k])
            k++;
        if (k == name.n &&
            !(token && ((i && is_name_char_at(text, i - 1)) || is_name_char_at(text, i + k))))
            return true;
    }
    return false;
}

static bool in_names(const struct program_row *row, const char *list, struct str given)
{
    for (const char *at = list; at && *(at += strspn(at, " "));) {
        struct str name = {at, strcspn(at, " ")};
        if (row->flags & ROW_HOLDS ? text_holds_name(given, name, row->flags & ROW_TOKENS)
                                   : is_option_name(row, name, given))
            return true;
        at += name.n;
    }
    return false;
}

/* `format json` is `format=json`. */
static bool is_with_value(struct str name, struct str given, const struct shell_word *next)
{
    return next && shell_word_known(next) && given.n && name.n == given.n + 1 + next->text.n &&
           str_begins(name, given) && name.p[given.n] == '=' &&
           memcmp(name.p + given.n + 1, next->text.p, next->text.n) == 0;
}

/* An exception stands for what is given as a whole, its value included: in the same word, or in the next one. */
static bool is_exception(const struct program_row *row, struct str given,
                         const struct shell_word *next)
{
    static const struct program_row whole = {.flags = ROW_WHOLE};
    for (const char *at = row->but; at && *(at += strspn(at, " "));) {
        struct str name = {at, strcspn(at, " ")};
        if (name.p[name.n - 1] == '*' ? is_option_name(&whole, name, given)
                                      : name.n == given.n && str_begins(given, name))
            return true;
        if (is_with_value(name, given, next))
            return true;
        at += name.n;
    }
    return false;
}

/* --- one word */

static bool is_program_option(struct str word)
{
    return word.n > 1 && word.p[0] == '-' && !command_is(word, "--");
}

static struct str without_dashes(const struct program_row *row, struct str word)
{
    size_t n = word.n > 2 && word.p[1] == '-' ? 2 : 1;
    while (row->flags & ROW_ANY_DASH && n < word.n && word.p[n] == '-')
        n++;
    return (struct str){word.p + n, word.n - n};
}

/* Whether a word with these dashes may be one of the names. */
static bool may_be_name(const struct program_row *row, struct str word)
{
    if (word.p[1] == '-' || row->flags & ROW_ONE_DASH)
        return true;
    return row->flags & ROW_ANY_DASH && word.n > 2;
}

/* Where in the word a letter of the row stands; 0 for none. */
static size_t find_letter(const struct program_row *row, struct str word, const char *values)
{
    bool old = word.p[0] != '-';
    size_t end = row->flags & ROW_ONE_DASH ? 2 : word.n;
    for (size_t i = old ? 0 : 1; row->letters && i < end; i++) {
        if (strchr(row->letters, word.p[i]))
            return i + 1;
        if (values && !old && strchr(values, word.p[i]))
            return 0;
    }
    return 0;
}

/* A relative path that does not lead upwards. */
static bool is_inner_folder(struct str text)
{
    if (text.n == 0 || strchr("/~-", text.p[0]))
        return false;
    for (size_t i = 0; i < text.n;) {
        const char *slash = memchr(text.p + i, '/', text.n - i);
        size_t n = slash ? (size_t)(slash - text.p) - i : text.n - i;
        if (n == 2 && memcmp(text.p + i, "..", 2) == 0)
            return false;
        i += n + 1;
    }
    return true;
}

/* An operand. `..` and `../..` may be the workspace, from a folder of it. */
static bool operand_leads_out(const struct command_view *view, const struct shell_word *word)
{
    struct str text = word->text;
    size_t up = 0;
    while (text.n - up >= 2 && memcmp(text.p + up, "..", 2) == 0 &&
           (text.n - up == 2 || text.p[up + 2] == '/'))
        up += text.n - up == 2 ? 2 : 3;
    if (text.n == 0 || up == text.n || text.p[0] == '-' || command_is_here(text, view->root))
        return !shell_word_known(word);
    return up > 0 || !is_inner_folder(text) || !shell_word_known(word);
}

/* The value of an option that was found at the end of `head` bytes of the word. */
static bool value_is_harmless(const struct program_row *row, const struct command_view *view,
                              size_t word, size_t head)
{
    struct str text = view->words[word].text;
    const char *equals = memchr(text.p, '=', text.n);
    bool name = text.p[1] == '-' || head == 0;
    if (name && equals)
        head = (size_t)(equals - text.p) + 1;
    else if (name)
        head = text.n;
    if (head == text.n && ++word == view->n)
        return false;
    struct str value = head < text.n ? (struct str){text.p + head, text.n - head}
                                     : view->words[word].text;
    if (!shell_word_known(&view->words[word]))
        return false;
    return row->flags & ROW_HERE ? command_is_here(value, view->root) : is_inner_folder(value);
}

/* `host:file`, also as the value of an option. What is known only when it runs may have a colon in it. */
static bool names_host(const struct shell_word *word)
{
    static const char varying[] = "*?${";
    bool known = shell_word_known(word);
    for (size_t i = 0; i < word->text.n && word->text.p[i] != '/'; i++) {
        char c = word->text.p[i];
        if (c == ':' || (!known && c && strchr(varying, c)))
            return true;
    }
    return !known && word->flags & SHELL_PATTERN;
}

static bool option_counts(const struct program_row *row, const struct command_view *view, size_t i,
                          const char *values)
{
    struct str word = view->words[i].text;
    struct str name = without_dashes(row, word);
    bool named = may_be_name(row, word) && in_names(row, row->names, name);
    size_t letter = word.p[1] == '-' ? 0 : find_letter(row, word, values);
    const struct shell_word *next = i + 1 < view->n ? &view->words[i + 1] : NULL;
    if ((!named && !letter) || is_exception(row, name, next))
        return false;
    return !(row->flags & (ROW_FOLDER | ROW_HERE)) || !value_is_harmless(row, view, i, letter);
}

/* A word that is no option. Where more of it counts than how it begins, one that is known only when it runs counts. */
static bool operand_counts(const struct program_row *row, const struct command_view *view,
                           const struct shell_word *given)
{
    struct str word = given->text;
    if (row->flags & ROW_OUTSIDE && operand_leads_out(view, given))
        return true;
    if (!shell_word_known(given) && row->flags & (ROW_ASSIGNS | ROW_BARE))
        return true;
    return (row->flags & ROW_ASSIGNS && memchr(word.p, '=', word.n)) ||
           (row->flags & ROW_RESPONSE && word.n && word.p[0] == '@') ||
           (row->flags & ROW_PLUS && word.n && word.p[0] == '+') ||
           (row->flags & ROW_BARE && in_names(row, row->names, word));
}

/* The first word as a bundle of letters (`tar cf x`). */
static bool old_counts(const struct program_row *row, const struct shell_word *word)
{
    if (word->text.n == 0 || word->text.p[0] == '-')
        return false;
    return !shell_word_known(word) || find_letter(row, word->text, NULL);
}

/* --- all words */

struct scan {
    const struct program_row *row;
    const struct command_view *view;
    const char *values; /* letters that take one; may be NULL */
    size_t end;         /* behind the last word that counts */
    bool closed;        /* `--` was there */
    bool dashes;        /* or it may have been: words that look like options may be operands */
    unsigned operands;
    bool value; /* the next word is the value of an option */
};

/* Where the value of an option is the next word, that is no operand. */
static bool takes_next(const struct scan *scan, struct str word)
{
    if (!scan->values || word.p[1] == '-')
        return false;
    for (size_t i = 1; i < word.n; i++) {
        if (strchr(scan->values, word.p[i]))
            return i + 1 == word.n;
    }
    return false;
}

bool program_ends_options(const struct command_view *view, size_t i)
{
    struct str before = view->words[i - 1].text;
    return i == 1 || before.n < 2 || before.p[0] != '-' || memchr(before.p, '=', before.n);
}

static bool word_counts(struct scan *scan, size_t i)
{
    const struct program_row *row = scan->row;
    const struct shell_word *word = &scan->view->words[i];
    bool value = scan->value;
    bool options = !scan->closed || row->flags & (ROW_AFTER | ROW_ONE_DASH);
    scan->value = false;
    if (row->flags & ROW_REST && scan->dashes)
        return !shell_word_known(word) || !is_exception(row, word->text, NULL);
    if (row->flags & ROW_HOLDS)
        return word->flags & SHELL_PATTERN ||
               (row->flags & ROW_VARIES && !shell_word_known(word)) ||
               in_names(row, row->names, word->text);
    if (word->flags & SHELL_PATTERN &&
        (options || row->operands || row->flags & (ROW_ASSIGNS | ROW_RESPONSE | ROW_PLUS)))
        return true;
    if (row->flags & ROW_HOSTS && names_host(word))
        return true;
    if (row->flags & ROW_OLD && i == 1 && old_counts(row, word))
        return true;
    if (options && is_program_option(word->text)) {
        scan->value = !scan->dashes && takes_next(scan, word->text);
        if (option_counts(row, scan->view, i, scan->values))
            return true;
        return scan->dashes && row->operands && ++scan->operands >= row->operands;
    }
    if (options && !scan->dashes && command_is(word->text, "--")) {
        scan->closed = program_ends_options(scan->view, i);
        scan->dashes = true;
        return false;
    }
    /* Of a pattern any number of words may become operands, even behind an option that takes the first. */
    if (row->operands &&
        (word->flags & SHELL_SPLITS || (!value && ++scan->operands >= row->operands)))
        return true;
    return operand_counts(row, scan->view, word);
}

/* `subcommand` may be two words: `image build` of docker is `build` as well. */
static bool row_is_for(const struct program_row *row, struct str name, struct str subcommand)
{
    const char *blank = subcommand.n ? memchr(subcommand.p, ' ', subcommand.n) : NULL;
    struct str first = {subcommand.p, blank ? (size_t)(blank - subcommand.p) : subcommand.n};
    if (!program_in(row->programs, name))
        return false;
    if (!row->subcommands)
        return true;
    bool listed = command_in_list(row->subcommands, first);
    if (!listed && blank && program_has_groups(program_find(name)))
        listed = command_in_list(row->subcommands,
                                 (struct str){blank + 1, subcommand.n - first.n - 1});
    return first.n && listed != !!(row->flags & ROW_EXCEPT);
}

/* The word that makes the row hold; NULL: it does not. */
static const struct shell_word *find_word(const struct program_row *row,
                                          const struct program_use *use, const char *values)
{
    const struct command_view *view = use->view;
    struct scan scan = {.row = row,
                        .view = view,
                        .values = values,
                        .end = row->flags & ROW_BEFORE ? use->at : view->n};
    if (row->flags & ROW_INPUT && !view->input)
        return NULL;
    if (row->flags & (ROW_ALWAYS | ROW_INPUT))
        return &view->words[use->at < view->n ? use->at : 0];
    for (size_t i = 1; i < scan.end; i++) {
        if (word_counts(&scan, i))
            return &view->words[i];
    }
    const unsigned behind = ROW_AFTER | ROW_ASSIGNS | ROW_REST | ROW_OUTSIDE;
    bool open = view->more_words && scan.end == view->n &&
                (!scan.closed || row->operands || row->flags & behind);
    return open ? &view->words[0] : NULL;
}

static const char *describe_option_fault(struct str word, struct str name, const char *does,
                                         char room[PROGRAM_FAULT_MAX])
{
    snprintf(room, PROGRAM_FAULT_MAX, "`%.*s` of `%.*s` %s", word.n > 40 ? 40 : (int)word.n, word.p,
             name.n > 30 ? 30 : (int)name.n, name.p, does);
    return room;
}

static const char *family_fault(const struct program_rows *rows, const struct program_use *use,
                                struct str name, const char *values, char room[PROGRAM_FAULT_MAX])
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct program_row *row = &rows->all[i];
        /* Which subcommand it is may be open: then no row about one can be left out. */
        if (row->subcommands && !use->sure && program_in(row->programs, name))
            return describe_option_fault(use->view->words[use->view->n > 1].text, name,
                                         "leaves open which subcommand this is", room);
        const struct shell_word *word = NULL;
        if (row_is_for(row, name, use->subcommand))
            word = find_word(row, use, values);
        if (word)
            return describe_option_fault(word->text, name, row->does, room);
    }
    return NULL;
}

static bool has_row(unsigned flags, struct str name, struct str subcommand)
{
    for (size_t f = 0; f < ARRAY_LEN(families) && name.n; f++) {
        for (size_t i = 0; i < families[f]->n; i++) {
            const struct program_row *row = &families[f]->all[i];
            if ((row->flags & flags) == flags && row_is_for(row, name, subcommand))
                return true;
        }
    }
    return false;
}

bool program_may_be_alias(struct str name, struct str subcommand)
{
    return has_row(ROW_ALIAS, name, subcommand);
}

bool program_lacks(struct str name, struct str subcommand)
{
    return has_row(ROW_ALIAS | ROW_EXCEPT, name, subcommand);
}

bool program_is_listed(struct str name)
{
    for (size_t f = 0; f < ARRAY_LEN(families) && name.n; f++) {
        for (size_t i = 0; i < families[f]->n; i++) {
            if (program_in(families[f]->all[i].programs, name))
                return true;
        }
    }
    return program_has_known(name) || program_is_script(name);
}

const char *program_fault(const struct program_use *use, char room[PROGRAM_FAULT_MAX])
{
    char other[COMMAND_NAME_MAX];
    struct str name = program_name(use, other);
    const char *fault = NULL;
    if (program_is_script(name)) {
        fault = program_script_fault(use->view, name);
        if (fault)
            snprintf(room, PROGRAM_FAULT_MAX, "`%.*s` %s", (int)name.n, name.p, fault);
        return fault ? room : NULL;
    }
    const char *values = name.n ? program_value_letters(name) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(families) && name.n && !fault; i++)
        fault = family_fault(families[i], use, name, values, room);
    return fault;
}
