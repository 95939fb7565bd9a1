/* Lines put together of secrets and of commands, for whatever reads them as commands: a record has all words of each command
 * and no secret. */
#include <cmocka.h>

#include "base/json_out.h"
#include "base/mem.h"
#include "base/shown.h"
#include "core/logged.h"
#include "core/logged_summary.h"
#include "random.h"

#define OUT_MAX ((size_t)1 << 20)
#define PIECES_MAX 4
#define LINE_MAX_BYTES 4096

/* `@`: a secret, `%`: a command, whose words must be told. */
static const char *const pieces[] = {
    /* a secret and then a command */
    "API_KEY=@; %",
    "API_KEY=@;%",
    "API_KEY=@&&%",
    "API_KEY=@ %",
    "export API_KEY=@ && %",
    "API_KEY='@' %",
    "API_KEY=\"@\" %",
    "API_KEY=\"@\"; %",
    "API_KEY='@'\n%",
    "API_KEY=@\n%",
    "API_KEY=x\"@\"; %",
    "PASSWORD='@ @' %",
    "PASSWORD='@\n@' %",
    "PASSWORD=\"@\n@\"; %",
    "PASSWORD=$'@\\n@'; %",
    "PASSWORD=$(echo @) %",
    "PASSWORD=(@ @); %",
    "PASSWORD[0]=@ %",
    "PASSWORD+=@ %",
    ": ${PASSWORD:=@}; %",
    "true ${PASSWORD:-@} | %",
    "setenv API_KEY @; %",
    "login --token @; %",
    "login --token=@ && %",
    "login --token '@' | %",
    "login --token \"@\"&%",
    "login --password \\\n  @\n%",
    "login --password=\\\n@; %",
    "login --pass\\\nword @; %",
    "login --password @\\\n@; %",
    "API_KEY=\\\n@ %",
    "PASS\\\nWORD=@ %",
    "PASS\\\nWORD=\\\n@; %",
    "curl -H \"Authori\\\nzation: Bea\\\nrer @\" h; %",
    "echo ghp_A1b2C3d4\\\nE5f6@; %",
    "PASSWORD=$(ec\\\nho @) %",
    "cat > f <<EOT\nPASS\\\nWORD=@\nEOT\n%",
    "true; PASSWORD='@ @' x.c | bash -s; %",
    "curl -H 'Cookie: a=@; c=@' h | bash; %",
    "echo 'PASSWORD=@' | sh; %",
    "curl -u u:@ h; %",
    "curl -H 'Cookie: a=@; c=@' h | %",
    "curl -H \"Cookie: a=@; c=@\" | %",
    "curl -H \"Cookie: a=@; c=@\" h; %",
    "curl -H 'Authorization: Bearer @' h; %",
    "curl -H \"Authorization: Bearer @\" ; % #",
    "curl -H 'X-Api-Key: @' h && %",
    "curl https://u:@@h/x; %",
    "curl 'https://u:@@h/x' | %",
    "mysql -p@ db; %",
    "sshpass -p @ ssh h && %",
    "sshpass -p '@' %",
    "docker login -u u -p @ r\n%",
    "redis-cli -a @; %",
    "git config --global a.token @; %",
    "echo ghp_A1b2C3d4E5f6@; %",
    "echo 'password: @' > f; %",
    "cat > f <<'EOT'\npassword: @\nEOT\n%",
    "cat > f <<EOT\nCookie: a=@; b=@\nEOT\n%",
    "cat > f <<EOT\nAuthorization: Bearer @\nEOT\n%",
    "true # it's a comment\nAPI_KEY='@' %",
    "x=$((1<<2)); API_KEY='@' %",
    "echo \"$(echo \"a b\")\"; API_KEY='@'; %",
    "cat > k <<'EOT'\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj@\n"
    "-----END PRIVATE KEY-----\nEOT\n%",
    "printf '%s' '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj@\n"
    "-----END PRIVATE KEY-----\n' > k; %",
    /* a command where a secret could be */
    "TOKEN= %",
    "TOKEN=\"\" %",
    "TOKEN='' %",
    "A=1 TOKEN= B=2 %",
    "TOKEN=\t%",
    "TOKEN=; %",
    "TOKEN=\n%",
    "TOKEN=\\\n %",
    "password=$(%)",
    "password=\"$(%)\"",
    "password=`%`",
    "password=\"`%`\"",
    "password=<(%)",
    "password=x$(%)",
    "password=(a $(%))",
    "password=$(echo a; %)",
    "password=$(echo \"$(%)\")",
    "password=$(printf a | %)",
    "${password:-$(%)}",
    "${password:=`%`}",
    "login --token $(%)",
    "login --token \"$(%)\"",
    "login --token=\"$(%)\"",
    "login --token \"`%`\"",
    "login --token\n%",
    "login --password\n\n%",
    "login --password\n\"%\"",
    "sshpass -p\n%",
    "sshpass -p\r\n%",
    "curl -u\n%",
    "mysql -p; %",
    "mysql -p\n%",
    "curl -H \"Cookie: $(%)\"",
    "curl -H \"Authorization: Bearer $(%)\" h",
    "true Cookie:\n%",
    "true Authorization:\n  %",
    "true Cookie: a=b\n  %",
    "true Authorization: a; %",
    "true Authorization: a && %",
    "true Cookie: a;%",
    "password: |\n  %",
    "password:\n  %",
    "password: |\n  %\n  %",
    "echo password: ; %",
    "true '-----BEGIN PRIVATE KEY-----'; %",
    "-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n%",
    "true -----BEGIN PRIVATE KEY-----; %; true -----END PRIVATE KEY-----",
    "setenv TOKEN\n%",
    "vault login\n%",
    "redis-cli auth\n%",
    "find . -name Cookie: -exec % +",
    "eval 'password=1; %'",
    "eval \"password=1; %\"",
    "eval 'password=1 %'",
    "eval 'TOKEN= %'",
    "sh -c 'API_KEY=1; %'",
    "sh -c 'API_KEY=1 %'",
    "sh -c 'TOKEN= %'",
    "bash <<EOT\nAPI_KEY=@ %\nEOT",
    "bash <<'EOT'\nAuthorization: Bearer @; %\nEOT",
    "bash <<'EOT'\npassword: |\n  %\nEOT",
    "sh <<-EOT\n-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----\nEOT",
    "cat <<EOT | sh\nCookie: a=b\n %\nEOT",
    "bash <<< 'TOKEN= %'",
    "bash <<< \"password=x; %\"",
    "TOKEN= \\\n %",
    "TOKEN=\\\n \\\n%",
    "# TOKEN=\\\n%",
    "login --password \\\n\\\n; %",
    "cat <<EOT\ntoken: `%`\nEOT",
    "cat <<EOT\nTOKEN=`%`\nEOT",
    "cat <<EOT\npassword: x`%`\nAuthorization: Bearer `%`\nEOT",
    "cat <<EOT\n$(login --password\n%)\nEOT",
    "cat <<EOT\n`eval 'password=1 %'`\nEOT",
    "cat <<-EOT\n$(sh <<< 'TOKEN=1 %')\nEOT",
    "echo 'TOKEN=1 %' | sh",
    "echo \"TOKEN=1 %\" | tee f | sudo bash -x",
    "echo 'TOKEN=1 %' |\n sh",
    "echo 'TOKEN=1 %' |& sh",
    "echo 'TOKEN=1 %' | 'sh'",
    "echo 'TOKEN=1 %' | \"$SHELL\"",
    "echo 'TOKEN=1 %' > >(sh)",
    "cat <<< 'TOKEN=1 %' | sh",
    "echo '--password\n%' | sh",
    "echo 'password: |\n  %' | ssh h",
    "echo 'password:\n  \"%\"' | ssh h",
    "printf '%s' 'Cookie: a=1\n %' | bash",
    "printf '%s' '-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----' | bash",
    "echo \"$(echo 'TOKEN=1 %')\" | sh",
    "(echo 'TOKEN=1 %'; x.c) | sh",
    "for i in 1; do echo 'TOKEN=1 %'; done | sh",
    "{ echo 'TOKEN=1 %'\necho 2\n} | sh",
    "{ echo 'TOKEN=1 %'; case a in a) ;; for) ;; esac; } | sh",
    "{ cat <<EOT\n--password\n%\nEOT\n} | sh",
    "if true; then cat <<'EOT'\npassword: |\n  %\nEOT\nfi | sh",
    "sh <(echo 'TOKEN=1 %')",
    "sh -c \"$(echo \"TOKEN=1 %\")\"",
    "eval $(echo 'TOKEN=1 %')",
    "eval TOKEN=$(echo 1 %)",
    "sh -c \"TOKEN=$(echo 1 %)\"",
    "env -S 'TOKEN=1 %'",
    "env -i -S'TOKEN=1 %'",
    "/usr/bin/env --split-string='TOKEN= %'",
    "https://u:$(%)@h/",
    "curl https://u:`%`@h/",
    "%",
};

static const char *const between[] = {"; ", "\n", " && ", " | ", "\n\n", " || "};

/* A line, and what it is made of. */
struct line {
    char text[LINE_MAX_BYTES];
    unsigned first;
    unsigned secrets;
    unsigned commands;
    const char *made_of[PIECES_MAX];
    size_t n;
};

static const char *const programs[] = {"rm", "make", "reboot", "./run", "/bin/sh4", "x"};

/* No word of a command is in another one or in a piece. */
static void add_command(struct line *line)
{
    unsigned i = line->commands++;
    snprintf(line->text + strlen(line->text), 64, "%s.c%02u wa%02u wb%02u",
             programs[random_below(ARRAY_LEN(programs))], i, i, i);
}

static void add_secret(struct line *line)
{
    snprintf(line->text + strlen(line->text), 64, "q7SEcr%02uZ", line->secrets++);
}

static void add_piece(struct line *line, const char *piece)
{
    line->made_of[line->n++] = piece;
    for (; *piece; piece++) {
        if (*piece == '%' && piece[1] != 's')
            add_command(line);
        else if (*piece == '@' && (piece[1] != 'h' || piece[2] == 'c'))
            add_secret(line);
        else
            strncat(line->text, piece, 1);
    }
}

/* With a comment or with the word that ends a here-document. */
static bool ends_its_line(const struct line *line)
{
    const char *piece = line->made_of[line->n - 1];
    size_t n = strlen(piece);
    return piece[n - 1] == '#' || (n > 3 && memcmp(piece + n - 3, "EOT", 3) == 0);
}

static void make_line(struct line *line, size_t n, size_t first)
{
    *line = (struct line){0};
    for (size_t i = 0; i < n; i++) {
        if (i)
            strcat(line->text, ends_its_line(line) ? "\n"
                                                   : between[random_below(ARRAY_LEN(between))]);
        add_piece(line, pieces[i ? random_below(ARRAY_LEN(pieces)) : first]);
    }
}

static void assert_told(const struct line *line, const char *where, struct str record)
{
    char word[24];
    for (unsigned i = 0; i < line->commands; i++) {
        for (unsigned k = 0; k < 3; k++) {
            snprintf(word, sizeof word, "%s%02u", k == 0 ? ".c" : k == 1 ? "wa" : "wb", i);
            if (!memmem(record.p, record.n, word, strlen(word)))
                fail_msg("%s of\n%s\n does not tell `%s`:\n%.*s", where, line->text, word,
                         (int)record.n, record.p);
        }
    }
    for (unsigned i = 0; i < line->secrets; i++) {
        snprintf(word, sizeof word, "q7SEcr%02uZ", i);
        if (memmem(record.p, record.n, word, strlen(word)))
            fail_msg("%s of\n%s\n tells `%s`:\n%.*s", where, line->text, word, (int)record.n,
                     record.p);
    }
}

static void check_words(const struct line *line, const char *where, const struct str *words,
                        size_t n)
{
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out, .hide = true};
    logged_words(&(struct logged){&j, LOGGED_MAX}, words, n);
    assert_told(line, where, buf_str(&out));
}

static void check_input(const struct line *line, const char *where, const struct str *words,
                        size_t n)
{
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out, .hide = true};
    struct str text = {line->text, strlen(line->text)};
    logged_input(&(struct logged){&j, LOGGED_MAX}, text, logged_input_reader(words, n));
    assert_told(line, where, buf_str(&out));
}

/* As people are asked about it, and as that is kept. */
static void check_summary(const struct line *line)
{
    BUF_AT_END struct buf shown = BUF_INIT(OUT_MAX);
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    buf_add_text(&shown, "run_command: ");
    shown_line((struct str){line->text, strlen(line->text)}, SIZE_MAX, &shown);
    assert_told(line, "summary", logged_summary(buf_str(&shown), &out) ? buf_str(&out)
                                                                     : buf_str(&shown));
}

static void check_everywhere(const struct line *line)
{
    struct str text = {line->text, strlen(line->text)};
    const struct str script[] = {STR("bash"), STR("-c"), text};
    check_words(line, "bash -c", script, ARRAY_LEN(script));
    const struct str remote[] = {STR("ssh"), STR("host"), text};
    check_words(line, "ssh", remote, ARRAY_LEN(remote));
    check_summary(line);
    const struct str input[] = {STR("sh")};
    check_input(line, "sh", input, ARRAY_LEN(input));
    const struct str dashed[] = {STR("sudo"), STR("/bin/bash"), STR("-s")};
    check_input(line, "bash -s", dashed, ARRAY_LEN(dashed));
    const struct str piped[] = {STR("/bin/bash"), STR("-c"), STR("cd a && cat | ssh host")};
    check_input(line, "a pipe", piped, ARRAY_LEN(piped));
    const struct str split[] = {STR("timeout"), STR("5"), STR("env"), STR("-vS"), text};
    check_words(line, "env -S", split, ARRAY_LEN(split));
    const struct str sudo[] = {STR("sudo"), STR("-u"), STR("u"), STR("/bin/sh"), STR("-ec"), text};
    check_words(line, "sudo sh", sudo, ARRAY_LEN(sudo));
}

static void each_piece_alone(void **state)
{
    (void)state;
    random_begin();
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct line line;
        make_line(&line, 1, i);
        check_everywhere(&line);
    }
}

static void pieces_in_any_order(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(4000); round++) {
        struct line line;
        make_line(&line, 2 + random_below(PIECES_MAX - 1), random_below(ARRAY_LEN(pieces)));
        check_everywhere(&line);
    }
}

static void check_time(struct str text, const char *name)
{
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out, .hide = true};
    clock_t start = clock();
    logged_input(&(struct logged){&j, LOGGED_MAX}, text, LOGGED_SHELL);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 4)
        fail_msg("`%s` takes too long: %f", name, seconds);
}

/* Each is made so that a look from each place could go on to the end of the text. */
static void time_is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "authorization: ", "TOKEN= ", "cookie: a;", "\"a\" ", "sh -c '", "$(", "`", "<<E ", "sh <<E\n", "((",
        "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "'\\''", "\"$(sh \"", "token=$(",
        "token=$(echo ", "${TOKEN:-", "--password \\\n", "# '", "Cookie: a; b=", "token=(", "A=\"", "sh\"", "(`", "<<'a b'\n",
        "\n", "|", "|\n", "{ ", "}\n", "'a'|sh|", "'a'\n} | sh\n", "{ 'a' | sh\n", "A=1 ", "A= ''", "env ", "\\\n",
        "TO\\\nKEN=", "for a; 'b' | sh; ", "cat <<E\n`a`\nE\n", "cat <<E\n$(", "| 'sh' ", "'\"$('",
    };
    const size_t n = 1u << 20;
    FREE_AT_END char *text = mem_zero(n);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        for (size_t at = 0; at < n; at++)
            text[at] = parts[i][at % strlen(parts[i])];
        check_time((struct str){text, n}, parts[i]);
    }
}

/* The same of a secret that goes on to the end of the text: each operator in it could be the end. */
static void a_long_secret_takes_linear_time(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"true password=\"", "&", "&a=b\""},
        {"true password=\"", "&b", "&a=b\""},
        {"true password=x\"", "&", "\""},
        {"true password=x\"", "&", "a=b\" c"},
        {"true password='", "& ", "'"},
    };
    const size_t n = 1u << 20;
    FREE_AT_END char *text = mem_zero(n + 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const size_t before = strlen(rows[i][0]);
        const size_t end = n - strlen(rows[i][2]);
        for (size_t at = before; at < end; at++)
            text[at] = rows[i][1][(at - before) % strlen(rows[i][1])];
        memcpy(text, rows[i][0], before);
        memcpy(text + end, rows[i][2], n - end);
        check_time((struct str){text, n}, rows[i][0]);
    }
}

/* Each is read with the one around it, however often that is read. */
static void scripts_in_scripts_take_linear_time(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"echo \"$(", ")\" | sh"}, {"{ echo \"", "\"\n} | sh"}, {"cat <<E\n$(echo '", "')\nE\n"},
        {"(echo 'a'; ", ") | sh"}, {"cat <<E | sh\n$(", ")\nE\n"},
        {"sh -c \"$(", ")\""}, {"ssh h \"$(sh <<E\n", "\nE\n)\""}, {"sh -c \"$(sh -c '$(", ")')\""},
    };
    const size_t n = 1u << 18;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        BUF_AT_END struct buf text = BUF_INIT(2 * n);
        for (size_t k = 0; k < 40; k++)
            buf_add_text(&text, rows[i][0]);
        while (text.len < n)
            buf_add_text(&text, "a b; ");
        for (size_t k = 0; k < 40; k++)
            buf_add_text(&text, rows[i][1]);
        check_time(buf_str(&text), rows[i][0]);
    }
}

/* Words that look like shells among the options of one. */
static void many_shells_take_linear_time(void **state)
{
    (void)state;
    const size_t n = 200000;
    FREE_AT_END struct str *words = mem_grow(NULL, n, sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = i % 2 ? STR("-o") : STR("sh");
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out};
    clock_t start = clock();
    logged_words(&(struct logged){&j, LOGGED_MAX}, words, n);
    logged_input_reader(words, n);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_alone),
        cmocka_unit_test(pieces_in_any_order),
        cmocka_unit_test(time_is_linear),
        cmocka_unit_test(a_long_secret_takes_linear_time),
        cmocka_unit_test(scripts_in_scripts_take_linear_time),
        cmocka_unit_test(many_shells_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
