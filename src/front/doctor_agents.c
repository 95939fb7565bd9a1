#include "front/doctor_agents.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"

/* An agent that keeps its history in the file has large ones. */
#define FILE_BYTES_MAX (16u << 20)

const struct agent_row agent_rows[] = {
    {"claude",
     {"./.mcp.json", "./.claude/settings.json", "./.claude/settings.local.json", "~/.claude.json",
      "~/.claude/settings.json"}},
    {"codex", {"./.codex/config.toml", "~/.codex/config.toml"}},
    {"gemini", {"./.gemini/settings.json", "~/.gemini/settings.json"}},
    {"opencode",
     {"./opencode.json", "./opencode.jsonc", "+/opencode/opencode.json",
      "+/opencode/opencode.jsonc"}},
    {"copilot", {"~/.copilot/mcp-config.json"}},
    {"qwen", {"./.qwen/settings.json", "~/.qwen/settings.json"}},
    {"cursor", {"./.cursor/mcp.json", "~/.cursor/mcp.json"}},
    {"cline", {"~/.cline/data/settings/cline_mcp_settings.json"}},
};
const size_t agent_row_count = ARRAY_LEN(agent_rows);

static bool is_program_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *agent_program(const struct agent_row *row)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t n = strcspn(at, ":");
        /* A relative folder is another one in each place. */
        char *path = n && *at == '/' ? mem_format("%.*s/%s", (int)n, at, row->name) : NULL;
        if (path && is_program_file(path))
            return path;
        free(path);
        at += n + (at[n] == ':');
    }
    return NULL;
}

/* NULL: there is no such place. */
static char *settings_place(const char *file)
{
    const char *home = getenv("HOME");
    const char *config = getenv("XDG_CONFIG_HOME");
    if (*file == '.')
        return mem_dup(file);
    if (*file == '+' && config && *config == '/')
        return mem_format("%s%s", config, file + 1);
    if (!home || *home != '/')
        return NULL;
    return mem_format("%s%s%s", home, *file == '+' ? "/.config" : "", file + 1);
}

static bool names_sandgate(const char *path)
{
    BUF_AT_END struct buf text = BUF_INIT(FILE_BYTES_MAX);
    struct stat st;
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX ||
        buf_reserve(&text, (size_t)st.st_size) < 0)
        return false;
    ssize_t n = fd_read_upto(fd, text.data, (size_t)st.st_size);
    return n > 0 && memmem(text.data, (size_t)n, "sandgate", 8);
}

char *agent_settings(const struct agent_row *row)
{
    for (size_t i = 0; i < AGENT_FILES && row->files[i]; i++) {
        char *path = settings_place(row->files[i]);
        if (path && names_sandgate(path))
            return path;
        free(path);
    }
    return NULL;
}
