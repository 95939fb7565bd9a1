#include "work/work.h"

const op_fn work_ops[OP_COUNT] = {
    [OP_READ] = work_read,
    [OP_WRITE] = work_write,
    [OP_LIST] = work_list,
    [OP_STAT] = work_stat,
    [OP_SEARCH] = work_search,
    [OP_EDIT] = work_edit,
    [OP_FRONTMATTER] = work_frontmatter,
    [OP_DELETE] = work_delete,
    [OP_MOVE] = work_move,
    [OP_MKDIR] = work_mkdir,
    [OP_SWEEP] = work_sweep,
    [OP_QUARANTINE] = work_quarantine,
    [OP_RULES] = work_rules,
    [OP_SCAN] = work_scan,
    [OP_PREVIEW] = work_preview,
    [OP_GIT_BEGIN] = work_git_begin,
    [OP_GIT_IMPORT] = work_git_import,
};
