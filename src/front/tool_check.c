/* `sandgate tool check`: what is wrong with a tool, each thing with its field. Nothing is run. */
#include <string.h>

#include "base/mem.h"
#include "base/shown.h"
#include "base/str.h"
#include "core/schema.h"
#include "core/wasm_imports.h"
#include "front/front.h"
#include "front/tool_parts.h"
#include "gate/manifests.h"
#include "session/modules.h"

#define FINDING_SHOWN 600
#define IMPORT_SHOWN 80

struct findings {
    struct buf *out;
    const struct manifest *manifest;
    unsigned told; /* capabilities whose functions are imported and that it does not ask for */
    size_t errors;
};

static void tell_tool_finding(struct findings *f, const char *kind, const char *field,
                              const char *text)
{
    size_t n = strlen(field);
    bool named = strncmp(text, field, n) == 0 && text[n] == ':';
    buf_addf(f->out, "%s  ", kind);
    if (!named)
        buf_addf(f->out, "%s: ", field);
    shown_line(str_of(text), FINDING_SHOWN, f->out);
    buf_add_char(f->out, '\n');
}

static void tell_tool_error(struct findings *f, const char *field, const char *text)
{
    f->errors++;
    tell_tool_finding(f, "error", field, text);
}

/* --- the module */

static int name_bytes(struct str name)
{
    return name.n < IMPORT_SHOWN ? (int)name.n : IMPORT_SHOWN;
}

static void check_one_import(void *arg, const struct wasm_import *import)
{
    struct findings *f = arg;
    int capability = wasm_wasi_capability(import->name);
    bool known = import->function && str_is(import->module, "wasi_snapshot_preview1");
    FREE_AT_END char *name = mem_format("%.*s.%.*s", name_bytes(import->module), import->module.p,
                                        name_bytes(import->name), import->name.p);
    if (!known || capability < 0) {
        FREE_AT_END char *text = mem_format("imports %s, which is not there: a tool is a WASI "
                                            "preview 1 program",
                                            name);
        tell_tool_error(f, "module", text);
    } else if ((unsigned)capability & ~(f->manifest->asks | f->told)) {
        FREE_AT_END char *text = mem_format(
            "imports %s and the manifest does not ask for `%s`: that function will find nothing",
            name, manifest_capability_name((enum manifest_capability)capability));
        f->told |= (unsigned)capability;
        tell_tool_finding(f, "note ", "module", text);
    }
}

static void check_module(struct findings *f)
{
    BUF_AT_END struct buf module = BUF_INIT(MODULE_BYTES_MAX + 2);
    struct err err;
    bool start;
    bool is_there = true;
    if (modules_source(f->manifest, &module, &err) < 0) {
        is_there = err.code == ERR_PRECONDITION_FAILED;
        tell_tool_error(f, is_there ? "sha256" : "module", err.message);
    }
    if (!is_there)
        return;
    if (wasm_imports(buf_str(&module), check_one_import, f, &start, &err) < 0)
        tell_tool_error(f, "module", err.message);
    else if (!start)
        tell_tool_error(
            f, "module",
            "has no function `_start`: a tool is a program, and no library or component");
}

/* --- the manifest */

static void check_capabilities_asked(struct findings *f)
{
    for (unsigned bit = 1; bit <= MANIFEST_MODEL; bit <<= 1) {
        if (!(f->manifest->asks & bit))
            continue;
        FREE_AT_END char *field = mem_format(
            "capabilities.%s", manifest_capability_name((enum manifest_capability)bit));
        tell_tool_error(f, field, "this version grants it to no tool: each call will be refused");
    }
}

static void check_example(struct findings *f, size_t number, yyjson_val *example)
{
    struct err err;
    const struct manifest *m = f->manifest;
    yyjson_val *output = yyjson_obj_get(example, "output");
    yyjson_val *error = yyjson_obj_get(example, "error");
    FREE_AT_END char *of_input = mem_format("examples[%zu].input", number);
    FREE_AT_END char *of_output = mem_format("examples[%zu].output", number);
    FREE_AT_END char *of_error = mem_format("examples[%zu].error", number);
    if (output && error)
        tell_tool_error(f, of_error, "stands beside `output`: one call has one end");
    const char *code = yyjson_get_str(error);
    if (error && (!code || err_code_from_name(str_of(code)) < 0))
        tell_tool_error(f, of_error, "is no code of an error (docs/TOOLS_AUTHORING.md lists them)");
    bool refused = code && strcmp(code, "INVALID_ARGUMENTS") == 0;
    yyjson_val *input = yyjson_obj_get(example, "input");
    int r = schema_check(m->input, "argument", input, &err);
    if (r < 0 && !refused)
        tell_tool_error(f, of_input, err.message);
    if (r == 0 && refused)
        tell_tool_error(f, of_error, "its input fits the schema, so it will not be refused");
    if (output && m->output && schema_check(m->output, "output", output, &err) < 0)
        tell_tool_error(f, of_output, err.message);
}

static void check_examples(struct findings *f)
{
    size_t idx;
    size_t max;
    yyjson_val *example;
    if (yyjson_arr_size(f->manifest->examples) == 0)
        tell_tool_finding(f, "note ", "examples",
                          "there are none: `sandgate tool test` has nothing to do");
    yyjson_arr_foreach(f->manifest->examples, idx, max, example) {
        check_example(f, idx, example);
    }
}

int tool_check(int state_fd, const struct options *o, struct buf *out, struct err *err)
{
    CLEANUP(tool_folder_done) struct tool_folder at = {0};
    struct findings f = {.out = out};
    struct manifest *m = NULL;
    struct err wrong;
    (void)state_fd;
    if (o->n_words > 2)
        return err_set(err, ERR_INVALID_ARGUMENTS, "say `tool check [DIR]`");
    if (tool_folder_find(o->words[1], &at, err) < 0)
        return -1;
    if (manifests_read_one(at.parent, at.name, &m, &wrong) < 0) {
        tell_tool_error(&f, wrong.field[0] ? wrong.field : "manifest.json", wrong.message);
    } else {
        f.manifest = m;
        check_capabilities_asked(&f);
        check_module(&f);
        check_examples(&f);
    }
    manifest_free(m);
    buf_addf(out, "%s: %zu error%s\n", at.name, f.errors, f.errors == 1 ? "" : "s");
    tool_status = f.errors ? EXIT_TOOL_ERROR : EXIT_OK;
    return 0;
}
