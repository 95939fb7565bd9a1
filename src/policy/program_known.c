/* Options that are known to be harmless: they change what a program reads and how it shows it, and nothing else. A rule that
 * says `"options": "known"` holds only for uses with these alone. */
#include <stdio.h>
#include <string.h>

#include "policy/program_rows.h"

enum known_flag {
    KNOWN_ONE_DASH = 1, /* names have one dash; there are no bundles of letters */
    KNOWN_WORDS = 2,    /* every word is one that is only looked at */
    KNOWN_PLUS = 4,     /* operands begin with `+` */
};

#define DIGITS "0123456789"
/* Shared by git log, diff and show. */
#define GIT_DIFF                                                                                     \
    " stat shortstat numstat dirstat compact-summary summary name-only name-status patch no-patch "  \
    "raw unified color no-color color-words word-diff word-diff-regex color-moved ignore-all-space " \
    "ignore-space-change ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol minimal patience "  \
    "histogram diff-algorithm find-renames find-copies no-renames diff-filter relative "             \
    "no-relative function-context inter-hunk-context text binary full-index abbrev check no-prefix " \
    "src-prefix dst-prefix no-ext-diff no-textconv pickaxe-all pickaxe-regex exit-code quiet "       \
    "submodule ws-error-highlight merge-base cached staged no-index "
#define GIT_LOG                                                                                        \
    " oneline graph decorate no-decorate pretty format date all branches tags remotes max-count skip " \
    "since after until before author committer grep all-match invert-grep regexp-ignore-case "         \
    "extended-regexp fixed-strings perl-regexp merges no-merges first-parent reverse follow "          \
    "abbrev-commit no-abbrev-commit topo-order date-order author-date-order left-right cherry-pick "   \
    "cherry-mark cherry no-walk walk-reflogs simplify-by-decoration full-history ancestry-path "       \
    "boundary count children parents source notes no-notes root cc diff-merges "

static const struct known_row {
    const char *programs;
    const char *subcommand; /* NULL: it has none */
    const char *flags;      /* letters */
    const char *values;     /* letters with a value: the rest of the word, or the next one */
    const char *names;      /* in full; a value behind `=` or in the next word */
    unsigned rules;
    unsigned operands; /* from this one on they are not known; 0: any number is */
} rows[] = {
    {" echo true false : expr test [ ", NULL, NULL, NULL, NULL, KNOWN_WORDS},
    {" printf ", NULL, NULL, NULL, NULL, 0},
    {" command ", NULL, "vV", NULL, NULL, 0},
    {" pwd cd ", NULL, "LPe", NULL, NULL, 0},
    {" sleep tty whoami logname groups nproc arch cal ", NULL, "s", NULL, " all ignore ", 0},
    {" basename ", NULL, "az", "s", " multiple suffix zero ", 0},
    {" dirname ", NULL, "z", NULL, " zero ", 0},
    {" type which ", NULL, "apPt", NULL, " all skip-alias skip-functions skip-dot ", 0},
    {" id ", NULL, "agGnruzZ", NULL, " context group groups name real user zero ", 0},
    {" uname ", NULL, "asnrvmpio", NULL,
     " all kernel-name nodename kernel-release kernel-version machine processor hardware-platform "
     "operating-system ",
     0},
    {" uptime ", NULL, "ps", NULL, " pretty since ", 0},
    {" hostname ", NULL, "afisdAI", NULL,
     " alias all-fqdns all-ip-addresses domain fqdn long ip-address short ", 0, 1},
    {" date ", NULL, "Ru", "dIr",
     " date debug iso-8601 rfc-email rfc-3339 reference utc universal resolution ", KNOWN_PLUS},
    {" cat ", NULL, "AbeEnstTuv", NULL,
     " show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting ", 0},
    {" tac rev ", NULL, "br", "s", " before regex separator ", 0},
    {" head tail ", NULL, "fFqvz" DIGITS, "cns",
     " bytes lines quiet silent verbose zero-terminated follow pid retry sleep-interval ", 0},
    {" ls dir vdir ", NULL, "1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ", "ITw",
     " all almost-all author block-size classify color context dereference dereference-command-line "
     "directory escape file-type format full-time group-directories-first hide hide-control-chars "
     "human-readable ignore ignore-backups indicator-style inode kibibytes literal no-group "
     "numeric-uid-gid quote-name quoting-style recursive reverse show-control-chars si size sort "
     "tabsize time time-style width zero ",
     0},
    {" stat ", NULL, "Lft", "c", " dereference file-system cached format printf terse ", 0},
    {" wc ", NULL, "clLmw", NULL, " bytes chars lines max-line-length words total ", 0},
    {" du ", NULL, "0abcDhHkLlmPsSx", "Bdt",
     " null all apparent-size block-size bytes total dereference dereference-args max-depth "
     "human-readable inodes no-dereference separate-dirs si summarize threshold time one-file-system ",
     0},
    {" df ", NULL, "ahHiklPT", "Btx",
     " all block-size human-readable si inodes local no-sync portability print-type type output total "
     "exclude-type ",
     0},
    {" cut ", NULL, "nsz", "bcdf",
     " bytes characters delimiter fields complement only-delimited output-delimiter zero-terminated ",
     0},
    {" tr ", NULL, "cCdst", NULL, " complement delete squeeze-repeats truncate-set1 ", 0},
    {" nl ", NULL, "p", "bdfhilnsvw",
     " body-numbering section-delimiter footer-numbering header-numbering line-increment number-format "
     "number-separator starting-line-number number-width ",
     0},
    {" od hexdump ", NULL, "abcdfhilosvxC", "AejnNStw",
     " address-radix endian skip-bytes read-bytes strings format output-duplicates width canonical "
     "length skip no-squeezing ",
     0},
    {" paste ", NULL, "sz", "d", " delimiters serial zero-terminated ", 0},
    {" join ", NULL, "iz", "aejotv12",
     " ignore-case check-order nocheck-order header zero-terminated ", 0},
    {" comm ", NULL, "123iz", NULL,
     " check-order nocheck-order output-delimiter total zero-terminated ", 0},
    {" fold fmt expand unexpand ", NULL, "abcistu", "wgp",
     " bytes characters spaces width tabs initial all first-only ", 0},
    {" column ", NULL, "txeJ", "csonNHRTWOldp",
     " table separator output-separator table-columns json columns table-right fillrows ", 0},
    {" seq ", NULL, "w" DIGITS, "fs", " equal-width format separator ", 0},
    {" sort ", NULL, "bcCdfghiMmnrRsuVz", "kSt",
     " ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting "
     "month-sort human-numeric-sort numeric-sort random-sort reverse sort version-sort check key "
     "merge stable buffer-size field-separator unique zero-terminated parallel ",
     0},
    {" uniq ", NULL, "cdDiuz", "fsw",
     " count repeated all-repeated skip-fields ignore-case skip-chars unique zero-terminated "
     "check-chars group ",
     0, 2},
    {" cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum ", NULL, "bctrswz",
     "al",
     " binary check tag text zero ignore-missing quiet status strict warn length algorithm sysv ",
     0},
    {" readlink realpath ", NULL, "efLmnPqsvz", NULL,
     " canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero "
     "logical physical relative-to relative-base strip no-symlinks ",
     0},
    {" cmp ", NULL, "bls", "in", " print-bytes ignore-initial verbose bytes quiet silent ", 0},
    {" diff ", NULL, "abBcdeEiNnpqrsTtuwyZ" DIGITS, "CFIUWxX",
     " normal brief report-identical-files context unified ed rcs side-by-side width left-column "
     "suppress-common-lines show-c-function show-function-line label expand-tabs initial-tab "
     "recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude "
     "exclude-from starting-file ignore-case ignore-tab-expansion ignore-trailing-space "
     "ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines text "
     "strip-trailing-cr minimal speed-large-files color ",
     0},
    {" grep egrep fgrep ", NULL, "abcEFGhHiIlLnoPqrRsTUvwxyzZ" DIGITS, "ABCDdefm",
     " extended-regexp fixed-strings basic-regexp perl-regexp regexp file ignore-case no-ignore-case "
     "word-regexp line-regexp null-data no-messages invert-match max-count byte-offset line-number "
     "line-buffered with-filename no-filename label only-matching quiet silent binary-files text "
     "directories devices recursive dereference-recursive include exclude exclude-from exclude-dir "
     "files-without-match files-with-matches count initial-tab null before-context after-context "
     "context color colour ",
     0},
    {" file ", NULL, "bhiLkNnrsv0", "eF",
     " brief exclude separator mime mime-type mime-encoding keep-going dereference no-dereference "
     "no-buffer no-pad print0 raw special-files extension ",
     0},
    {" strings ", NULL, "afow", "nt", " all bytes radix print-file-name ", 0},
    {" tree ", NULL, "aCdfFhilnNpqQrsStuUvxADJX", "ILPT",
     " dirsfirst noreport gitignore filelimit du si prune matchdirs ignore-case charset ", 0},
    {" find ", NULL, NULL, NULL,
     " H L P O1 O2 O3 a and amin anewer atime cmin cnewer ctime daystart depth empty executable false "
     "follow fstype gid group ilname iname inum ipath iregex iwholename links lname ls maxdepth "
     "mindepth mmin mount mtime name newer newermt nogroup noleaf not nouser nowarn o or path perm "
     "print print0 printf prune quit readable regex regextype samefile size true type uid used user "
     "warn wholename writable xdev xtype ",
     KNOWN_ONE_DASH},
    {" rg ", NULL, "aciFHhIlLnNopPqsSuUvwx0.", "ABCEMTdefgjmrt",
     " after-context before-context context count count-matches case-sensitive ignore-case smart-case "
     "color colors column no-column heading no-heading files files-with-matches files-without-match "
     "fixed-strings glob iglob hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent line-number "
     "no-line-number max-count max-depth max-columns max-filesize multiline multiline-dotall "
     "only-matching pcre2 pretty quiet regexp replace sort sortr stats text type type-not type-list "
     "unrestricted vimgrep with-filename no-filename word-regexp line-regexp invert-match trim json "
     "passthru null follow no-messages no-config threads encoding crlf ",
     0},
    {" fd fdfind ", NULL, "HIusiaLpFg10q", "cdEeSt",
     " hidden no-ignore case-sensitive ignore-case absolute-path follow full-path print0 max-depth "
     "min-depth exact-depth exclude type extension size changed-within changed-before color threads "
     "max-results glob regex fixed-strings quiet ",
     0},
    {" jq ", NULL, "acCejMnrRsS", NULL,
     " ascii-output compact-output color-output exit-status join-output monochrome-output null-input "
     "raw-output raw-input slurp sort-keys tab indent arg argjson args jsonargs unbuffered stream ",
     0},
    {" shellcheck ", NULL, "ax", "CefiosSW",
     " check-sourced color exclude format include norc enable severity shell wiki-link-count ", 0},

    {" git ", "status", "sbvz", "u",
     " short branch show-stash porcelain long verbose untracked-files ignored ignore-submodules "
     "column no-column ahead-behind no-ahead-behind renames no-renames find-renames ",
     0},
    {" git ", "log", "acDEFgimpPqrstuvwzR" DIGITS, "BCGLMSUXln", GIT_DIFF GIT_LOG, 0},
    {" git ", "show", "abcimpqrstuwzR" DIGITS, "BCGMSUXln", GIT_DIFF GIT_LOG, 0},
    {" git ", "diff", "abcDpqrstuwzR" DIGITS, "BCGMSUXl", GIT_DIFF, 0},
    {" git ", "branch", "arvi", NULL, " show-current all remotes verbose list ", 0, 1},
    {" git ", "rev-parse", "q", NULL,
     " abbrev-ref short verify quiet show-toplevel show-prefix show-cdup git-dir absolute-git-dir "
     "git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository symbolic "
     "symbolic-full-name all branches tags remotes show-superproject-working-tree ",
     0},
    {" git ", "ls-files", "cdmoisuktvz", "xX",
     " cached deleted modified others ignored stage unmerged killed exclude exclude-from "
     "exclude-standard directory full-name error-unmatch abbrev eol deduplicate recurse-submodules ",
     0},
    {" git ", "blame", "bcefklnpstw", "CLMS",
     " root show-stats porcelain line-porcelain show-name show-number show-email date since reverse "
     "ignore-rev first-parent abbrev incremental color-lines color-by-age ",
     0},
};

static const struct known_row *find_row(struct str name, struct str subcommand)
{
    for (size_t i = 0; i < ARRAY_LEN(rows) && name.n; i++) {
        const struct known_row *row = &rows[i];
        bool same = row->subcommand ? command_is(subcommand, row->subcommand) : subcommand.n == 0;
        if (same && program_in(row->programs, name))
            return row;
    }
    return NULL;
}

bool program_has_known(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows) && name.n; i++) {
        if (program_in(rows[i].programs, name))
            return true;
    }
    return false;
}

static bool is_in_letters(const char *letters, char c)
{
    return letters && c && strchr(letters, c);
}

static bool name_is_known(const struct known_row *row, struct str name)
{
    const char *equals = memchr(name.p, '=', name.n);
    struct str bare = {name.p, equals ? (size_t)(equals - name.p) : name.n};
    return bare.n && (command_in_list(row->names, bare) || command_in_list(" help version ", bare));
}

/* `*ret_next`: its value is the next word. */
static bool option_is_known(const struct known_row *row, struct str word, bool *ret_next)
{
    if (word.p[1] == '-')
        return !(row->rules & KNOWN_ONE_DASH) &&
               name_is_known(row, (struct str){word.p + 2, word.n - 2});
    if (row->rules & KNOWN_ONE_DASH)
        return (word.p[1] >= '0' && word.p[1] <= '9') ||
               command_in_list(row->names, (struct str){word.p + 1, word.n - 1});
    for (size_t i = 1; i < word.n; i++) {
        if (is_in_letters(row->values, word.p[i])) {
            *ret_next = i + 1 == word.n;
            return true;
        }
        if (!is_in_letters(row->flags, word.p[i]))
            return false;
    }
    return true;
}

/* A pattern may become several of them. */
static bool operand_is_known(const struct known_row *row, const struct shell_word *word,
                             unsigned number)
{
    if (row->rules & KNOWN_PLUS && (word->text.n == 0 || word->text.p[0] != '+'))
        return false;
    return !row->operands || (number < row->operands && !(word->flags & SHELL_SPLITS));
}

/* The first word that is not known; NULL: there is none. */
static const struct shell_word *find_unknown(const struct known_row *row,
                                             const struct program_use *use)
{
    const struct command_view *view = use->view;
    bool closed = false;
    bool dashes = false; /* or it may be: what looks like an option may be an operand */
    bool value = false;
    unsigned operands = 0;
    for (size_t i = row->subcommand ? use->at + 1 : 1; i < view->n; i++) {
        const struct shell_word *word = &view->words[i];
        bool is_value = value;
        value = false;
        if (word->flags & SHELL_PATTERN && !closed)
            return word;
        /* Of several words only the first is the value. */
        is_value &= !(word->flags & SHELL_SPLITS);
        if (!dashes && command_is(word->text, "--")) {
            closed = program_ends_options(view, i);
            dashes = true;
            continue;
        }
        if (!closed && word->text.n > 1 && word->text.p[0] == '-') {
            if (!option_is_known(row, word->text, &value) ||
                (dashes && !operand_is_known(row, word, ++operands)))
                return word;
            value &= !dashes;
        } else if (!is_value && !operand_is_known(row, word, ++operands)) {
            return word;
        }
    }
    return view->more_words && !closed ? &view->words[0] : NULL;
}

const char *program_unknown(const struct program_use *use, char room[PROGRAM_FAULT_MAX])
{
    char other[COMMAND_NAME_MAX];
    struct str name = program_name(use, other);
    /* What they do is all in the script, and that has been read. */
    if (program_is_script(name))
        return NULL;
    const struct known_row *row = find_row(name, use->subcommand);
    if (row && row->rules & KNOWN_WORDS)
        return NULL;
    const struct shell_word *word = row ? find_unknown(row, use) : &use->view->words[0];
    if (!word)
        return NULL;
    struct str text = word->text;
    snprintf(room, PROGRAM_FAULT_MAX, "`%.*s` of `%.*s` is not known as harmless",
             text.n > 40 ? 40 : (int)text.n, text.p, name.n > 30 ? 30 : (int)name.n, name.p);
    return room;
}
