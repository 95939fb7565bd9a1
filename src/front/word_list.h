/* Words with commas between them, as an option of the command line has them. */
#ifndef SANDGATE_FRONT_WORD_LIST_H
#define SANDGATE_FRONT_WORD_LIST_H

#include <stdbool.h>
#include <string.h>

/* NULL: a list without words. */
static inline bool word_list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (size_t len; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len == n && memcmp(list, word, n) == 0)
            return true;
    }
    return false;
}

#endif
