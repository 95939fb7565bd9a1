/* `sandgate tool new|build|check|run|test`: a tool of one's own, from nothing to its first call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/front.h"
#include "front/tool_parts.h"
#include "front/verbs.h"

int tool_status;

/* --- folders */

int tool_folder_find(const char *said, struct tool_folder *ret, struct err *err)
{
    FREE_AT_END char *path = realpath(said ? said : ".", NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash || !slash[1])
        return err_set(err, ERR_INVALID_ARGUMENTS, "%.200s: %s", said ? said : ".",
                       path ? "no tool's folder" : strerror(errno));
    ret->name = mem_dup(slash + 1);
    ret->parent = mem_copy(path, slash == path ? 1 : (size_t)(slash - path));
    return 0;
}

void tool_folder_done(struct tool_folder *folder)
{
    free(folder->parent);
    free(folder->name);
}

int tool_folder_put(int dir, const char *name, struct str text, struct err *err)
{
    FREE_AT_END char *fresh = mem_format(".%s.%d", name, (int)getpid());
    FD_AT_END int fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0644);
    int r = fd < 0 ? -errno : fd_write_all(fd, text.p, text.n);
    /* Others may not be able to change it, whatever the umask: it would not be used. */
    if (r == 0 && (fchmod(fd, 0644) < 0 || renameat(dir, fresh, dir, name) < 0))
        r = -errno;
    if (r < 0 && fd >= 0)
        unlinkat(dir, fresh, 0);
    return r < 0 ? err_set(err, ERR_CONFLICT, "%.60s cannot be written: %s", name, strerror(-r))
                 : 0;
}

/* --- new */

#define NEW_MANIFEST                                                                               \
    "{\n"                                                                                          \
    "  \"manifest\": 1,\n"                                                                         \
    "  \"name\": \"%s\",\n"                                                                        \
    "  \"version\": \"0.1.0\",\n"                                                                  \
    "  \"description\": \"Counts the words of a text. Returns their number.\",\n"                  \
    "  \"input\": {\n"                                                                             \
    "    \"type\": \"object\",\n"                                                                  \
    "    \"additionalProperties\": false,\n"                                                       \
    "    \"required\": [\"text\"],\n"                                                              \
    "    \"properties\": {\"text\": {\"type\": \"string\", \"description\": \"The text.\"}}\n"     \
    "  },\n"                                                                                       \
    "  \"output\": {\n"                                                                            \
    "    \"type\": \"object\",\n"                                                                  \
    "    \"required\": [\"words\"],\n"                                                             \
    "    \"properties\": {\"words\": {\"type\": \"integer\", \"minimum\": 0}}\n"                   \
    "  },\n"                                                                                       \
    "  \"limits\": {\"timeoutMs\": 5000, \"memory\": 16777216},\n"                                 \
    "  \"module\": \"tool.wasm\",\n"                                                               \
    "  \"sha256\": \"%064d\",\n"                                                                   \
    "  \"examples\": [\n"                                                                          \
    "    {\"input\": {\"text\": \"one two\\nthree\"}, \"output\": {\"words\": 3}},\n"              \
    "    {\"input\": {\"text\": \"\"}, \"output\": {\"words\": 0}},\n"                             \
    "    {\"input\": {}, \"error\": \"INVALID_ARGUMENTS\"}\n"                                      \
    "  ]\n"                                                                                        \
    "}\n"

static const char new_source[] =
    "/* Counts the words of a text. The arguments come as one line of JSON with no blanks between its parts, and fit `input` of "
    "the\n"
    " * manifest: they were checked. The answer is what is written to standard output. */\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "\n"
    "static char in[1 << 20];\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "    static const char key[] = \"{\\\"text\\\":\\\"\";\n"
    "    size_t n = fread(in, 1, sizeof in - 1, stdin);\n"
    "    int words = 0;\n"
    "    int inside = 0;\n"
    "    if (n == sizeof in - 1 || strncmp(in, key, sizeof key - 1) != 0) {\n"
    "        fputs(\"too long, or not the arguments that the manifest names\\n\", stderr);\n"
    "        return 1;\n"
    "    }\n"
    "    for (const char *at = in + sizeof key - 1; *at && *at != '\"'; at++) {\n"
    "        int space = *at == ' ';\n"
    "        if (*at == '\\\\') { /* \\n, \\t, \\\" and the like */\n"
    "            at++;\n"
    "            space = *at == 'n' || *at == 't' || *at == 'r';\n"
    "        }\n"
    "        words += !space && !inside;\n"
    "        inside = !space;\n"
    "    }\n"
    "    printf(\"{\\\"words\\\": %d}\\n\", words);\n"
    "    return 0;\n"
    "}\n";

/* Whether the name will do is what the reader of manifests says. */
static int write_new_manifest(const char *name, struct buf *text, struct err *err)
{
    struct manifest *read;
    buf_addf(text, NEW_MANIFEST, name, 0);
    if (text->failed || strlen(name) > 100 || strpbrk(name, "\"\\"))
        return err_field(err, "name", "`%.60s` cannot be a tool's name", name);
    if (manifest_read(buf_str(text), &read, err) < 0)
        return -1;
    manifest_free(read);
    return 0;
}

int tool_new(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(MANIFEST_BYTES_MAX);
    (void)state_fd;
    if (o->n_words != 2)
        return err_set(err, ERR_INVALID_ARGUMENTS, "say `tool new NAME`");
    const char *name = o->words[1];
    if (o->lang && strcmp(o->lang, "c") != 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--lang: there is c, and no other yet");
    if (write_new_manifest(name, &text, err) < 0)
        return -1;
    if (mkdir(name, 0755) < 0)
        return err_set(err, ERR_CONFLICT, "%s: %s", name, strerror(errno));
    FD_AT_END int dir = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fchmod(dir, 0755) < 0)
        return err_set(err, ERR_CONFLICT, "%s: %s", name, strerror(errno));
    if (tool_folder_put(dir, "manifest.json", buf_str(&text), err) < 0 ||
        tool_folder_put(dir, "tool.c", STR(new_source), err) < 0)
        return -1;
    buf_addf(out,
             "%s/manifest.json  what it takes and gives, with examples\n"
             "%s/tool.c         the program\n"
             "next: sandgate tool build %s\n",
             name, name, name);
    return 0;
}

/* --- the command */

static const struct verb tool_verbs[] = {
    {"new", tool_new, "makes a folder NAME with a manifest, a program that works and examples"},
    {"build", tool_build,
     "compiles the folder's C files, as a command of yours outside any sandbox"},
    {"check", tool_check, "tells what is wrong with manifest, module and examples"},
    {"run", tool_run, "does one call and says how long it took: NAME or DIR, and JSON"},
    {"test", tool_test, "does what the manifest has as examples, and compares"},
    {0},
};

static const struct verbs tool_command = {
    .all = tool_verbs,
    .usage =
        "usage: sandgate tool new NAME [--lang c]\n"
        "       sandgate tool build [DIR]\n"
        "       sandgate tool check [DIR]\n"
        "       sandgate tool run NAME|DIR [JSON] [options]\n"
        "       sandgate tool test [DIR] [options]\n\n"
        "Tools of your own in WebAssembly. DIR is a tool's folder (default: this one). A tool of "
        "the configuration\n(runtime.toolFolders) is run by its NAME.\n\n",
    .options = OPTIONS_FOLDER | OPTIONS_CALLER | OPTIONS_TOOL,
    .words_max = 3,
    .out_max = 16u << 20,
    .stateless = true,
};

int front_tool(int argc, char *const *argv)
{
    tool_status = EXIT_OK;
    int status = verbs_run(&tool_command, argc, argv);
    return status == EXIT_OK ? tool_status : status;
}
