/* The variables that a call sets for its command. */
#include "policy/facts_variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/program_variables.h"

/* A value that is no text is refused before the command starts. */
void facts_variables_read(const struct facts *facts, struct variables *ret)
{
    yyjson_val *env = facts_used(facts, ARG_ENV);
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    *ret = (struct variables){0};
    if (!yyjson_is_obj(env) || yyjson_obj_size(env) == 0)
        return;
    ret->words = mem_grow(NULL, yyjson_obj_size(env), sizeof *ret->words);
    yyjson_obj_foreach(env, idx, max, key, val) {
        struct str name = json_str(key);
        struct str value = json_str(val);
        char *text = mem_zero(name.n + 1 + value.n + 1);
        memcpy(text, name.p, name.n);
        text[name.n] = '=';
        if (value.n)
            memcpy(text + name.n + 1, value.p, value.n);
        ret->words[ret->n++] = (struct shell_word){.text = {text, name.n + 1 + value.n}};
    }
}

void facts_variables_done(struct variables *variables)
{
    for (size_t i = 0; i < variables->n; i++)
        free((void *)(uintptr_t)variables->words[i].text.p);
    free(variables->words);
    *variables = (struct variables){0};
}

struct str facts_deciding_variable(const struct facts *facts)
{
    yyjson_val *env = facts_used(facts, ARG_ENV);
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    if (!env)
        return (struct str){0};
    yyjson_obj_foreach(env, idx, max, key, val) {
        if (variable_starts(json_str(key), json_str(val), true) != VARIABLE_NOTHING)
            return json_str(key);
    }
    return (struct str){0};
}
