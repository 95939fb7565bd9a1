/* What patterns with choices, and lines for them, are put together from. */
#ifndef SANDGATE_TESTS_MATCHER_PIECES_H
#define SANDGATE_TESTS_MATCHER_PIECES_H

static const char *const choice_pieces[] = {
    "foo",  "bar",  "_init", "_exit", "ab",  "x",    "S",        "k",   "|",      "|",
    "|",    "(",    "(?:",   ")",     ")",   "?",    "*",        "+",   "{0,2}",  "{2}",
    "\\w+", "\\w*", "\\(",   "[ab]",  "[A]", "[^a]", "\xc3\xa4", "\\b", "(?i)",   ".",
    "^",    "$",    "(?i:",  "\\d",   "\\s", "??",   "(?P<n>",   "_",   "[ab_x]",
};
static const char *const choice_lines[] = {
    "foo",          "bar",      "x_init(", "x_exit(", "_init",    "ab",      "foobar", "xab",
    "FOOx",         "aBAR",     "s",       "K",       "\xc3\xa4", "foofoo",  "abx",    "",
    "\xe2\x84\xaa", "\xc5\xbf", "1_exit",  "_INIT(",  "no",       "barfoo(", "\xff",
};

#endif
