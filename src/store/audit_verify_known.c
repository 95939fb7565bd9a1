#include "store/audit_verify_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define GATES_MAX (8u << 20)
#define HASHES_MAX 100000
#define ANCHORS_MAX 1000000

/* --- gates */

static uint64_t gate_hash_of(const char *gate)
{
    uint64_t n = 0xcbf29ce484222325u;
    for (; *gate; gate++)
        n = (n ^ (unsigned char)*gate) * 0x100000001b3u;
    return n ? n : 1;
}

static size_t gate_place_of(const struct verifier *v, uint64_t number)
{
    size_t i = (size_t)(number * 0x9e3779b97f4a7c15u) & (v->gates_size - 1);
    while (v->gates[i] && v->gates[i] != number)
        i = (i + 1) & (v->gates_size - 1);
    return i;
}

static void grow_gates(struct verifier *v)
{
    uint64_t *old = v->gates;
    size_t size = v->gates_size;
    v->gates_size = size ? 2 * size : 1024;
    v->gates = mem_zero(v->gates_size * sizeof *v->gates);
    for (size_t i = 0; i < size; i++) {
        if (old[i])
            v->gates[gate_place_of(v, old[i])] = old[i];
    }
    free(old);
}

bool verify_has_gate(const struct verifier *v, const char *gate)
{
    return v->gates_size && v->gates[gate_place_of(v, gate_hash_of(gate))];
}

bool verify_add_gate(struct verifier *v, const char *gate)
{
    uint64_t number = gate_hash_of(gate);
    if (2 * v->gates_used >= v->gates_size && v->gates_size / 2 < GATES_MAX)
        grow_gates(v);
    size_t i = gate_place_of(v, number);
    if (v->gates[i])
        return false;
    if (v->gates_used < GATES_MAX) {
        v->gates[i] = number;
        v->gates_used++;
    }
    return true;
}

/* --- hashes */

void hash_list_add(struct hash_list *list, struct str hash)
{
    if (list->n == HASHES_MAX)
        return;
    if ((list->n & (list->n - 1)) == 0)
        list->hashes = mem_grow(list->hashes, list->n ? 2 * list->n : 1, sizeof *list->hashes);
    chain_copy(list->hashes[list->n++], hash);
}

bool hash_list_has(const struct hash_list *list, const char *hash)
{
    for (size_t i = 0; i < list->n; i++) {
        if (memcmp(list->hashes[i], hash, HASH_HEX) == 0)
            return true;
    }
    return false;
}

/* --- anchors */

static int compare_anchors(const void *a, const void *b)
{
    const struct kept_anchor *x = a;
    const struct kept_anchor *y = b;
    int order = strcmp(x->gate, y->gate);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

static bool read_anchor(struct str line, struct kept_anchor *ret)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(line.p, line.n, AUDIT_RECORD_MAX, JSON_STRICT, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct str gate = json_str(yyjson_obj_get(root, "gate"));
    struct str hash = json_str(yyjson_obj_get(root, "hash"));
    yyjson_val *seq = yyjson_obj_get(root, "seq");
    if (!gate.p || gate.n == 0 || gate.n >= sizeof ret->gate || memchr(gate.p, '\0', gate.n) ||
        !hash.p || !hash_is_hex(hash) || !yyjson_is_uint(seq) || yyjson_get_uint(seq) > INT64_MAX)
        return false;
    memcpy(ret->gate, gate.p, gate.n);
    ret->seq = (int64_t)yyjson_get_uint(seq);
    chain_copy(ret->hash, hash);
    return true;
}

static int add_anchor(struct verifier *v, struct str line, uint64_t number, struct err *err)
{
    struct kept_anchor anchor = {.line = number};
    if (v->n_anchors == ANCHORS_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d lines of anchors: give the latest ones",
                       ANCHORS_MAX);
    if (!read_anchor(line, &anchor))
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "line %llu of the anchors is not {\"gate\":…,\"seq\":…,\"hash\":…}",
                       (unsigned long long)number);
    if ((v->n_anchors & (v->n_anchors - 1)) == 0)
        v->anchors = mem_grow(v->anchors, v->n_anchors ? 2 * v->n_anchors : 1, sizeof *v->anchors);
    v->anchors[v->n_anchors++] = anchor;
    return 0;
}

int verify_read_anchors(struct verifier *v, struct err *err)
{
    struct str rest = v->options->anchors;
    for (uint64_t number = 1; rest.p && rest.n; number++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        size_t taken = line.n + (end != NULL);
        rest = (struct str){rest.p + taken, rest.n - taken};
        if (line.n && add_anchor(v, line, number, err) < 0)
            return -1;
    }
    if (v->n_anchors)
        qsort(v->anchors, v->n_anchors, sizeof *v->anchors, compare_anchors);
    return 0;
}

static size_t first_anchor(const struct verifier *v, const struct kept_anchor *key)
{
    size_t low = 0;
    size_t high = v->n_anchors;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_anchors(&v->anchors[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void verify_match_anchor(struct verifier *v, const struct chain_record *record)
{
    if (v->n_anchors == 0 || !record->gate.p)
        return;
    struct kept_anchor key = {.seq = record->seq};
    memcpy(key.gate, record->gate.p, record->gate.n);
    for (size_t i = first_anchor(v, &key); i < v->n_anchors; i++) {
        if (compare_anchors(&v->anchors[i], &key) != 0)
            return;
        if (hash_hex_equal(record->hash, v->anchors[i].hash))
            v->anchors[i].found = true;
    }
}

void verify_age_anchors(struct verifier *v, const char *gate, int64_t seq)
{
    struct kept_anchor key = {0};
    snprintf(key.gate, sizeof key.gate, "%s", gate);
    for (size_t i = first_anchor(v, &key); i < v->n_anchors; i++) {
        if (strcmp(v->anchors[i].gate, gate) != 0 || v->anchors[i].seq >= seq)
            return;
        v->anchors[i].too_old = true;
    }
}

void verify_end_anchors(struct verifier *v)
{
    for (size_t i = 0; i < v->n_anchors; i++) {
        const struct kept_anchor *anchor = &v->anchors[i];
        struct place place = {.file = "anchor", .line = anchor->line};
        bool old = anchor->too_old || (v->report->removed && !verify_has_gate(v, anchor->gate));
        v->report->anchors += anchor->found;
        if (anchor->found)
            continue;
        verify_tell(v, old ? VERIFY_NOTE : VERIFY_BAD, &place, anchor->gate, anchor->seq,
                    old ? "record %lld of this gate was in a file that was removed: it cannot be "
                          "compared any more"
                        : "record %lld of this gate is not in the log as the anchor has it: the "
                          "log was rewritten or cut",
                    (long long)anchor->seq);
    }
}
