/* The tables of options hold nothing that cannot be reached: a name under the wrong flags, or a subcommand of a program whose
 * subcommands are not read, would leave open what it was written for. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "policy/program_rows.h"
#include "policy/subcommand.h"

static const struct program_rows *const families[] = {
    &program_rows_files,  &program_rows_git,    &program_rows_build,
    &program_rows_script, &program_rows_system,
};

#define NAME_BYTES 128

typedef void (*row_fn)(const struct program_row *row);

static void each_row(row_fn check)
{
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        for (size_t i = 0; i < families[f]->n; i++)
            check(&families[f]->all[i]);
    }
}

/* Takes the next name of a list; false behind the last. */
static bool next_name(const char **list, char ret[NAME_BYTES])
{
    if (!*list || (*list)[0] != ' ' || !(*list)[1])
        return false;
    size_t n = strcspn(*list + 1, " ");
    snprintf(ret, NAME_BYTES, "%.*s", (int)n, *list + 1);
    *list += n + 1;
    return true;
}

static struct str as_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

static void check_list(const char *list, const char *programs)
{
    size_t n = list ? strlen(list) : 0;
    if (list && (n < 3 || list[0] != ' ' || list[n - 1] != ' ' || strstr(list, "  ")))
        fail_msg("a list of%s is not written with one blank around each name:%s", programs, list);
}

static void check_form(const struct program_row *row)
{
    const unsigned no_options = ROW_BARE | ROW_HOLDS;
    char name[NAME_BYTES];
    const char *list = row->names;
    check_list(row->programs, row->programs);
    check_list(row->subcommands, row->programs);
    check_list(row->names, row->programs);
    check_list(row->but, row->programs);
    assert_non_null(row->does);
    while (next_name(&list, name)) {
        if (!name[1] && !(row->flags & (ROW_ONE_DASH | no_options)))
            fail_msg("`%s` of%s is one letter, and the names have two dashes", name, row->programs);
        for (const char *p = name; row->flags & ROW_HOLDS && *p; p++) {
            if (*p >= 'A' && *p <= 'Z')
                fail_msg("`%s` of%s is compared in lower case", name, row->programs);
        }
    }
}

static void lists_are_written_alike(void **state)
{
    (void)state;
    each_row(check_form);
}

static void check_subcommands(const struct program_row *row)
{
    char program[NAME_BYTES];
    const char *programs = row->programs;
    while (row->subcommands && next_name(&programs, program)) {
        if (!program_find(as_str(program)))
            fail_msg("subcommands of %s are not read, so that no row about them holds", program);
    }
}

static void subcommands_are_read(void **state)
{
    (void)state;
    each_row(check_subcommands);
}

static bool is_against(const char *const *texts, size_t n)
{
    struct shell_word words[8];
    char room[PROGRAM_FAULT_MAX];
    for (size_t i = 0; i < n; i++)
        words[i] = (struct shell_word){.text = as_str(texts[i])};
    struct command_view view = {.words = words, .n = n};
    struct subcommand sub = {BUF_INIT(SHELL_TEXT_MAX), n, true, true, n};
    const struct program *program = program_find(as_str(texts[0]));
    if (program && !program_has_targets(program))
        subcommand_read(&view, program, &sub);
    struct program_use use = {&view, buf_str(&sub.text), sub.at, sub.sure, sub.last};
    bool against = program_fault(&use, room);
    buf_done(&sub.text);
    return against;
}

/* `word` is an option or another word that the row is about. */
static void check_word(const struct program_row *row, const char *program, const char *subcommand,
                       const char *word)
{
    const char *words[8] = {program};
    size_t n = 1;
    bool before = row->flags & ROW_BEFORE;
    if (*subcommand && !before)
        words[n++] = subcommand;
    words[n++] = word;
    words[n++] = "/elsewhere/b";
    if (before)
        words[n++] = "status";
    if (!is_against(words, n))
        fail_msg("nothing is against: %s %s %s", program, subcommand, word);
}

static void check_names(const struct program_row *row, const char *program, const char *subcommand)
{
    char name[NAME_BYTES];
    char word[NAME_BYTES + 8];
    const char *list = row->names;
    while (next_name(&list, name)) {
        size_t n = strlen(name);
        if (n > 1 && name[n - 1] == '*')
            name[n - 1] = 'x';
        bool bare = row->flags & (ROW_BARE | ROW_HOLDS);
        snprintf(word, sizeof word, "%s%s",
                 bare                        ? ""
                 : row->flags & ROW_ONE_DASH ? "-"
                                             : "--",
                 name);
        check_word(row, program, subcommand, word);
    }
    for (const char *c = row->letters; c && *c; c++) {
        snprintf(word, sizeof word, "-%c", *c);
        check_word(row, program, subcommand, word);
    }
}

static void check_reached(const struct program_row *row)
{
    char program[NAME_BYTES];
    char subcommand[NAME_BYTES];
    const char *programs = row->programs;
    while (next_name(&programs, program)) {
        const char *subcommands = row->subcommands;
        if (!subcommands || row->flags & ROW_EXCEPT)
            check_names(row, program, program_find(as_str(program)) ? "status" : "");
        else
            while (next_name(&subcommands, subcommand))
                check_names(row, program, subcommand);
    }
}

static void every_name_is_reached(void **state)
{
    (void)state;
    each_row(check_reached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_written_alike),
        cmocka_unit_test(subcommands_are_read),
        cmocka_unit_test(every_name_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
