/* Reads web pages, with neither network nor files: what a page makes of this process stays in its cell. */
#include <gumbo.h>
#include <string.h>

#include "roles/serve.h"

static void find_title(const GumboNode *node, struct op_page_reply *reply, struct buf *title)
{
    if (node->type != GUMBO_NODE_ELEMENT)
        return;
    const GumboVector *children = &node->v.element.children;
    for (unsigned i = 0; i < children->length && reply->title.n == 0; i++) {
        const GumboNode *child = children->data[i];
        if (node->v.element.tag == GUMBO_TAG_TITLE && child->type == GUMBO_NODE_TEXT) {
            buf_add(title, child->v.text.text, strlen(child->v.text.text));
            reply->title = buf_str(title);
        }
        find_title(child, reply, title);
    }
}

static int serve_page(struct role_call *call, union op_reply *reply, struct err *err)
{
    static struct buf title;
    (void)err;
    buf_done(&title);
    buf_init(&title, OP_PAGE_TITLE_MAX);
    GumboOutput *page = gumbo_parse_with_options(&kGumboDefaultOptions, call->body.p, call->body.n);
    reply->page = (struct op_page_reply){.title = {"", 0}};
    find_title(page->root, &reply->page, &title);
    gumbo_destroy_output(&kGumboDefaultOptions, page);
    return 0;
}

int main(int argc, char **argv)
{
    const struct served parse = {.lock = ROLE_PARSE, .of = OP_IN_PARSE, .serve = serve_page};
    return role_main(argc, argv, &parse);
}
