/* Any bytes as the index of a workspace's folders. The checksum is put right, so that what is behind it is reached. What
 * is read is a whole tree: every folder can be walked to, has a path that fits, and writing it gives an index again that
 * reads as the same. */
#include <string.h>

#include "target.h"
#include "work/guard_index.h"
#include "work/guarded.h"

#define RULES "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct tree_time now = {.sec = INT64_MAX};

static void check_tree(struct tree *t)
{
    char path[PATH_TEXT_MAX];
    uint32_t marks = 0;
    uint32_t folders = 0;
    must(t->n_folders > 0);
    for (uint32_t i = 0; i < t->n_folders; i++, folders++) {
        must(tree_path(t, i, path) < PATH_TEXT_MAX && strlen(path) == t->folders[i].path_n);
        must(i == 0 || op_is_relative_path((struct str){path, strlen(path)}));
        for (uint32_t at = t->folders[i].first; at != TREE_NONE; at = t->folders[at].next)
            must(at < t->n_folders && t->folders[at].parent == i);
        for (uint32_t at = t->folders[i].marks; at != TREE_NONE; at = t->marks[at].next)
            must(at < t->n_marks && ++marks <= t->n_marks);
    }
    struct guarded_list list;
    guarded_init(&list);
    if (guarded_collect(t, true, 1000, &list) == 0) {
        for (uint32_t i = 0; i < list.count; i++)
            must(op_is_relative_path(guarded_path(&list, &list.items[i])));
        guarded_remember(t, &list, 1, false);
    }
    guarded_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tree tree = {0};
    struct tree again = {0};
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    BUF_AT_END struct buf written = BUF_INIT(INDEX_BYTES_MAX);
    buf_add(&bytes, data, size);
    (void)index_read(buf_str(&bytes), RULES, &now, &tree);
    index_seal(&bytes);
    if (index_read(buf_str(&bytes), RULES, &now, &tree)) {
        check_tree(&tree);
        must(index_write(&tree, RULES, &now, &written) == 0);
        must(index_read(buf_str(&written), RULES, &now, &again));
        must(again.n_folders == tree.n_folders && again.n_known == tree.n_known);
        check_tree(&again);
    }
    tree_done(&tree);
    tree_done(&again);
    return 0;
}
