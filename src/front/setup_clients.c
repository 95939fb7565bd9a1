/* What each client's configuration has to say so that its model works through Sandgate alone. Each row was tried with the
 * client itself and its model's list of tools looked at, save Cursor's. */
#include "front/setup_parts.h"

const struct setup_client setup_clients[] = {
    {.name = "claude",
     .title = "Claude Code",
     .files = {{.place = "./.mcp.json",
                .wanted =
                    "{\"mcpServers\":{\"sandgate=\":{\"command\":$COMMAND,\"args\":[$ARGS]}}}"},
               {.place = "./.claude/settings.json",
                .wanted = "{\"enabledMcpjsonServers+\":[\"sandgate\"],\"permissions\":{"
                          "\"allow+\":[\"mcp__sandgate\"],\"deny+\":[\"Bash\",\"Edit\",\"Write\","
                          "\"NotebookEdit\",\"Read\",\"Glob\",\"Grep\",\"Agent\",\"WebFetch\","
                          "\"WebSearch\",\"Workflow\",\"EnterWorktree\",\"ExitWorktree\",\"Skill\","
                          "\"CronCreate\",\"Monitor\"]}}"}},
     .then = "Start `claude` here and say that you trust the folder: before that it allows nothing "
             "of a project.\n"
             "Lists of tasks stay; `claude --tools \"\"` leaves no tool of its own.\n"},
    {.name = "codex",
     .title = "Codex",
     .files = {{.place = "./.codex/config.toml",
                .kind = SETUP_TOML,
                .head = "sandbox_mode = \"read-only\"\n"
                        "web_search = \"disabled\"\n",
                .wanted = "[features]\n"
                          "shell_tool = false\n"
                          "unified_exec = false\n"
                          "view_image = false\n"
                          "goals = false\n"
                          "\n"
                          "[agents]\n"
                          "enabled = false\n"
                          "\n"
                          "[mcp_servers.sandgate]\n"
                          "command = $COMMAND\n"
                          "args = [$ARGS]\n"
                          "default_tools_approval_mode = \"approve\"\n"
                          "tool_timeout_sec = 900\n"
                          "env_vars = [\"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\", "
                          "\"SANDGATE_APPROVAL_DEFAULT\"]\n"}},
     .then =
         "Start `codex` here and say that you trust the folder: before that it reads nothing of "
         "a project.\n"
         "Its `apply_patch` stays for models that have it: `sandbox_mode` makes it ask. "
         "`codex mcp list` shows the server.\n"},
    {.name = "gemini",
     .title = "Gemini CLI",
     .files = {{.place = "./.gemini/settings.json",
                .wanted = "{\"tools\":{\"core\":[\"none\"]},\"mcpServers\":{\"sandgate=\":{"
                          "\"command\":$COMMAND,\"args\":[$ARGS],\"timeout\":900000}}}"},
               {.place = "~/.gemini/policies/sandgate.toml",
                .kind = SETUP_TOML,
                .head = "",
                .wanted = "[[rule]]\n"
                          "mcpName = \"sandgate\"\n"
                          "toolName = \"*\"\n"
                          "decision = \"allow\"\n"
                          "priority = 500\n"}},
     .then = "Start `gemini` here and say that you trust the folder: before that it reads nothing "
             "of a project.\n"
             "None of its own tools stay; `gemini mcp list` shows the server.\n"},
    {.name = "opencode",
     .title = "opencode",
     .files = {{.place = "./opencode.json",
                .wanted = "{\"permission\":{\"*>\":\"deny\",\"sandgate_*>\":\"allow\"},\"mcp\":{"
                          "\"sandgate=\":{\"type\":\"local\",\"command\":[$COMMAND,$ARGS],"
                          "\"timeout\":600000}}}"}},
     .then = "None of its own tools stay; `opencode mcp list` shows the server.\n"},
    {.name = "copilot",
     .title = "Copilot CLI",
     .files = {{.place = "~/.copilot/mcp-config.json",
                .wanted = "{\"mcpServers\":{\"sandgate=\":{\"type\":\"local\",\"command\":$COMMAND,"
                          "\"args\":[$ARGS],\"tools\":[\"*\"],\"timeout\":900000}}}"}},
     .then = "Its own tools are switched off where it is started:\n"
             "  copilot --available-tools=sandgate --allow-tool=sandgate\n"},
    {.name = "cursor",
     .title = "Cursor",
     .files = {{.place = "./.cursor/mcp.json",
                .wanted =
                    "{\"mcpServers\":{\"sandgate=\":{\"command\":$COMMAND,\"args\":[$ARGS]}}}"}},
     .then = "Its own terminal and editor stay: no file that was tried switches them off. Choose a "
             "mode without them,\nor take it that Sandgate contains nothing there.\n"},
    {.name = "cline",
     .title = "Cline",
     .files = {{.place = "~/.cline/data/settings/cline_mcp_settings.json",
                .wanted = "{\"mcpServers\":{\"sandgate=\":{\"transport\":{\"type\":\"stdio\","
                          "\"command\":$COMMAND,\"args\":[$ARGS]},\"timeout\":900}}}"},
               {.place = "~/.cline/data/settings/global-settings.json",
                .wanted =
                    "{\"disabledTools+\":[\"read_files\",\"search_codebase\",\"run_commands\","
                    "\"fetch_web_content\",\"editor\",\"apply_patch\",\"ask_question\","
                    "\"spawn_agent\",\"teams\"]}"}},
     .then = "Both files hold for every project. Its `team_*` tools stay.\n"},
    {.name = "qwen",
     .title = "Qwen Code",
     .files = {{.place = "./.qwen/settings.json",
                .wanted =
                    "{\"permissions\":{\"allow+\":[\"mcp__sandgate\"],\"deny+\":[\"Bash\",\"Edit\","
                    "\"Write\",\"Read\",\"run_shell_command\",\"edit\",\"write_file\"]},"
                    "\"mcpServers\":{\"sandgate=\":{\"command\":$COMMAND,\"args\":[$ARGS],"
                    "\"timeout\":900000}}}"}},
     .then = "Its `agent` and `skill` stay; `qwen mcp list` shows the server.\n"},
};
const size_t setup_client_count = sizeof setup_clients / sizeof setup_clients[0];
