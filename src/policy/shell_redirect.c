/* Redirections and here-documents. */
#include "policy/shell_parts.h"

static int add_heredoc(struct shell_parser *p, size_t at, bool strip_tabs)
{
    struct shell_word word;
    if (p->n_heredocs == SHELL_HEREDOCS_MAX)
        return shell_fail(p, at, "there are more than 16 here-documents");
    if (shell_read_word(p, &word) < 0)
        return -1;
    p->heredocs[p->n_heredocs++] = (struct shell_heredoc){
        .delimiter = word.text,
        .strip_tabs = strip_tabs,
        .literal = word.flags & SHELL_QUOTED,
    };
    return 0;
}

/* What comes next is a word that is just this. */
static bool at_word(const struct shell_parser *p, const char *word)
{
    size_t n = strlen(word);
    if (p->text.n - p->at < n || memcmp(p->text.p + p->at, word, n) != 0)
        return false;
    char next = shell_peek(p, n);
    return next == '\0' || shell_is_meta(next);
}

static bool may_write(const struct shell_parser *p, const char *sign)
{
    static const char *const harmless[] = {"/dev/null", "1", "2", "-"};
    if (!strchr(sign, '>'))
        return false;
    size_t n = strcmp(sign, ">&") == 0 ? ARRAY_LEN(harmless) : 1;
    for (size_t i = 0; i < n; i++) {
        if (at_word(p, harmless[i]))
            return false;
    }
    return true;
}

/* `<` and `>` with all that may be attached to them, and `&>`. */
int shell_read_redirection(struct shell_list *l)
{
    static const char *const signs[] = {"&>>", "<<<", "<<-", "&>", "<<", "<>",
                                        "<&",  ">&",  ">>",  ">|", "<",  ">"};
    struct shell_parser *p = l->p;
    size_t at = p->at;
    const char *sign = NULL;
    for (size_t i = 0; i < ARRAY_LEN(signs) && !sign; i++) {
        size_t n = strlen(signs[i]);
        if (p->text.n - at >= n && memcmp(p->text.p + at, signs[i], n) == 0)
            sign = signs[i];
    }
    p->at += strlen(sign);
    if (shell_need_word(p, at, "this redirection needs a word behind it") < 0)
        return -1;
    p->out->writes |= may_write(p, sign);
    if (strcmp(sign, "<<") == 0 || strcmp(sign, "<<-") == 0)
        return add_heredoc(p, at, sign[2] == '-');
    return shell_pass_word(p);
}

/* Whether this line ends the document. In `$( )` bash takes the closing `)` right behind the word too. */
static bool ends_heredoc(const struct shell_list *l, const struct shell_heredoc *doc,
                         struct str line, size_t *used)
{
    size_t tabs = 0;
    while (doc->strip_tabs && tabs < line.n && line.p[tabs] == '\t')
        tabs++;
    line.p += tabs;
    line.n -= tabs;
    struct str word = doc->delimiter;
    *used = tabs + word.n;
    if (line.n < word.n || memcmp(line.p, word.p, word.n) != 0)
        return false;
    return line.n == word.n || (l->end == SHELL_LIST_PAREN && line.p[word.n] == ')');
}

static int read_shell_heredoc(struct shell_list *l, const struct shell_heredoc *doc)
{
    struct shell_parser *p = l->p;
    struct str text = p->text;
    size_t from = p->at;
    size_t end = from;
    size_t next = text.n;
    while (end < text.n) {
        const char *newline = memchr(text.p + end, '\n', text.n - end);
        size_t n = newline ? (size_t)(newline - text.p) - end : text.n - end;
        size_t used;
        if (ends_heredoc(l, doc, (struct str){text.p + end, n}, &used)) {
            next = end + used + (newline && used == n);
            break;
        }
        end = newline ? end + n + 1 : text.n;
    }
    if (!doc->literal) {
        p->text.n = end;
        if (shell_read_body(p) < 0)
            return -1;
        p->text.n = text.n;
    }
    p->at = next;
    return 0;
}

int shell_read_heredocs(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    for (size_t i = l->heredocs_from; i < p->n_heredocs; i++) {
        struct shell_heredoc doc = p->heredocs[i];
        if (read_shell_heredoc(l, &doc) < 0)
            return -1;
    }
    p->n_heredocs = l->heredocs_from;
    return 0;
}
