/* Compiles modules: a process of its own, because compiling reads what strangers wrote, and takes seconds where running takes
 * microseconds. */
#include "roles/serve.h"
#include "roles/vm.h"

static struct vm *vm;

static int prepare_compiler(struct err *err)
{
    return vm_new(&vm, err);
}

static int serve_module(struct role_call *call, union op_reply *reply, struct err *err)
{
    if (vm_compile(vm, call->body, &call->reply_body, err) < 0)
        return -1;
    reply->compile.bytes = (int64_t)call->reply_body.len;
    return 0;
}

int main(int argc, char **argv)
{
    const struct served compiler = {.lock = ROLE_COMPILE,
                                    .of = OP_IN_COMPILE,
                                    .prepare = prepare_compiler,
                                    .serve = serve_module};
    return role_main(argc, argv, &compiler);
}
