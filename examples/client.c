/* Makes tool calls through Sandgate, all at once, and prints each answer as it comes:
 *
 *     ./client FOLDER TOOL ARGUMENTS [TOOL ARGUMENTS]...
 *     ./client . read_file '{"path":"README.md"}' list_files '{"path":"."}'
 *
 *     cc client.c -o client $(pkg-config --cflags --libs sandgate) */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sandgate.h>

#define PATIENCE_MS 60000

static int print_tools(void)
{
    struct sandgate_error error;
    char *json = NULL;
    if (sandgate_tools(NULL, "openai", PATIENCE_MS, &json, &error) < 0) {
        fprintf(stderr, "no list of tools: %s\n", error.message);
        return 1;
    }
    printf("%s\n", json);
    free(json);
    return 0;
}

static int print_answers(struct sandgate *client, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t id = 0;
        char *json = NULL;
        if (sandgate_receive(client, PATIENCE_MS, &id, &json) < 0)
            return -1;
        printf("%" PRIu64 " %s\n", id, json);
        free(json);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct sandgate_options options;
    struct sandgate_error error;
    struct sandgate *client = NULL;
    int r = 0;
    if (argc == 2 && strcmp(argv[1], "--tools") == 0)
        return print_tools();
    if (argc < 4 || argc % 2 != 0) {
        fprintf(stderr, "usage: client FOLDER TOOL ARGUMENTS [TOOL ARGUMENTS]... | --tools\n");
        return 2;
    }
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.workspace = argv[1];
    if (sandgate_open(&client, &options, &error) < 0) {
        fprintf(stderr, "no gate: %s\n", error.message);
        return 1;
    }
    for (int i = 2; i < argc && r == 0; i += 2)
        r = sandgate_send(client, argv[i], argv[i + 1], NULL);
    if (r == 0)
        r = print_answers(client, (argc - 2) / 2);
    if (r < 0)
        fprintf(stderr, "%s\n", sandgate_message(client));
    int status = sandgate_close(client);
    return r < 0 || status != 0;
}
