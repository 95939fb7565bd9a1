/* Removing a folder of Sandgate's own, whatever programs in a cell have put into it. */
#ifndef SANDGATE_SESSION_REMOVE_TREE_H
#define SANDGATE_SESSION_REMOVE_TREE_H

/* Removes `name` in the open folder and all that is in it, of any depth. Nobody else may change it meanwhile. What is not
 * there is removed. -errno. */
int remove_tree(int dir, const char *name);

#endif
