/* Any bytes as a person's git configuration: what is taken can be printed, and read again it is the same. */
#include <string.h>

#include "base/mem.h"
#include "core/git_identity.h"
#include "target.h"

static void check_printable(const char *text)
{
    must(strlen(text) < GIT_IDENTITY_MAX);
    for (; *text; text++)
        must((unsigned char)*text >= ' ' && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct git_identity identity = {{0}, {0}};
    struct git_identity again = {{0}, {0}};
    BUF_AT_END struct buf out = BUF_INIT(1 << 16);
    char *text = mem_copy((const char *)data, size);
    git_identity_read((struct str){text, size}, &identity);
    free(text);
    check_printable(identity.name);
    check_printable(identity.email);
    git_identity_write(&identity, &out);
    git_identity_read(buf_str(&out), &again);
    must(strcmp(again.name, identity.name) == 0 && strcmp(again.email, identity.email) == 0);
    return 0;
}
