/* Runs the calls of one tool. The first call brings the compiled module, which the gate has checked; from then on the process
 * is locked: no memory becomes executable, no file is opened, no thread is started. */
#include <stdio.h>

#include "roles/serve.h"
#include "roles/vm.h"

static const struct served wasm = {.lock = ROLE_WASM, .of = OP_IN_WASM, .late = true};
static struct vm *vm;
static bool loaded;

static int load_and_lock(struct str compiled, struct err *err)
{
    if (compiled.n == 0)
        return err_set(err, ERR_INTERNAL, "the first call brought no module");
    /* Before there is an instance: making one runs the module's start function. */
    if (vm_new(&vm, err) < 0 || vm_load(vm, compiled, err) < 0 || role_lock(&wasm, err) < 0)
        return -1;
    loaded = true;
    return 0;
}

static int run_tool(struct role_call *call, struct str input, union op_reply *reply,
                    struct err *err)
{
    const struct op_run_tool_request *q = &call->request.run_tool;
    struct vm_result result;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)q->name.n, q->name.p ? q->name.p : "");
    struct vm_call of = {.name = name,
                         .input = input,
                         .limits = {.wall_ms = (uint64_t)q->timeout_ms,
                                    .memory = (uint64_t)q->memory,
                                    .fuel = (uint64_t)q->fuel,
                                    .output = (size_t)q->output}};
    int r = vm_run(vm, &of, &result, err);
    if (r == 0) {
        buf_add(&call->reply_body, result.output.data, result.output.len);
        buf_add(&call->reply_body, result.log.data, result.log.len);
        reply->run_tool = (struct op_run_tool_reply){.output = (int64_t)result.output.len,
                                                     .dropped = (int64_t)result.log_dropped,
                                                     .fuel = (int64_t)(result.fuel & INT64_MAX),
                                                     .memory = (int64_t)result.memory};
    }
    vm_result_done(&result);
    return r;
}

/* The gate may have sent the module again to a process that has it. */
static int serve_tool(struct role_call *call, union op_reply *reply, struct err *err)
{
    const struct op_run_tool_request *q = &call->request.run_tool;
    if (q->module < 0 || (uint64_t)q->module > call->body.n)
        return err_set(err, ERR_INTERNAL, "the call's body is shorter than its module");
    if (!loaded && load_and_lock((struct str){call->body.p, (size_t)q->module}, err) < 0)
        return -1;
    return run_tool(call, str_behind(call->body, (size_t)q->module), reply, err);
}

static int serve_tools(int fd)
{
    struct role_call *call;
    uint64_t token;
    int r;
    while ((r = role_receive(fd, true, OP_IN_WASM, &call, &token)) > 0) {
        struct err err;
        union op_reply reply = {0};
        if (r == 2) /* of a call that was answered: one that runs is ended with this process */
            continue;
        if (serve_tool(call, &reply, &err) == 0)
            r = role_reply(fd, call, &reply);
        else
            r = role_error(fd, call->token, &err);
        role_call_free(call);
        if (r < 0 || !loaded)
            break;
    }
    return r < 0 || !loaded;
}

int main(int argc, char **argv)
{
    struct served role = wasm;
    role.loop = serve_tools;
    return role_main(argc, argv, &role);
}
