/* Whether two stars are a whole component, whether a dot is one, whether a slash is the last thing:
 * that depends on what stands before and behind, and with braces on which alternative was taken. So
 * each instruction becomes one node for every place in which an expansion can come to it. */
#include "core/glob_program.h"

#include "base/mem.h"

/* In the order in which one leads to another at the same instruction. */
enum place {
    START,    /* nothing stands before */
    BOUNDARY, /* a slash was read */
    DROPPED,  /* a dot was passed over: a slash must follow */
    ONE_DOT,  /* a dot was read, all there is of the component: more must follow */
    TWO_DOTS,
    INSIDE,
    WHOLE, /* two stars, if a slash or the end follows */
    DEEP,  /* they stand for something */
    TRAIL, /* a slash was passed over: nothing may follow */
    TRAIL_DOT,
    DONE,
    PLACES
};
_Static_assert(PLACES == GLOB_PLACES, "sets of nodes have room for every place");

struct builder {
    const struct glob_source *source;
    struct err *err;
    uint8_t *reached;
    uint32_t *ids; /* of the node of a key, GLOB_DEAD when it leads nowhere */
    uint32_t from; /* the instruction to begin with */
    bool trail;    /* an expansion ends with a slash */
    bool plain;    /* one does not */
    bool slash;    /* one has a slash elsewhere */
};

/* An instruction and a place. Key 0 is where nothing leads. */
static uint32_t key(uint32_t instr, enum place place)
{
    return instr * PLACES + place;
}

static bool in_component(enum place place)
{
    return place == INSIDE || place == ONE_DOT || place == TWO_DOTS;
}

static bool may_begin(enum place place)
{
    return place == START || place == BOUNDARY;
}

static void visit_character(uint32_t at, const struct glob_instr *instr, enum place place,
                            struct glob_node *node)
{
    static const enum glob_kind kinds[] = {
        [GLOB_CHAR] = NODE_CHAR, [GLOB_ANY] = NODE_ANY, [GLOB_SET] = NODE_SET};
    bool dot = instr->op == GLOB_CHAR && instr->value == '.';
    if (dot && place == TRAIL)
        node->free[0] = key(at + 1, TRAIL_DOT);
    if (!may_begin(place) && !in_component(place))
        return;
    node->kind = kinds[instr->op];
    node->negated = instr->negated;
    node->value = instr->value;
    node->count = instr->count;
    if (dot && may_begin(place)) {
        node->out = key(at + 1, ONE_DOT);
        node->free[0] = key(at + 1, DROPPED);
    } else {
        node->out = key(at + 1, dot && place == ONE_DOT ? TWO_DOTS : INSIDE);
    }
}

static void visit_star(uint32_t at, enum place place, struct glob_node *node)
{
    if (!may_begin(place) && !in_component(place))
        return;
    node->kind = NODE_STAR;
    node->free[0] = key(at + 1, INSIDE);
}

static void visit_whole(uint32_t at, enum place place, struct glob_node *node)
{
    if (!may_begin(place) && !in_component(place))
        return;
    node->free[0] = key(at + 1, place);
    if (may_begin(place))
        node->free[1] = key(at + 2, WHOLE);
}

static void visit_slash(uint32_t at, enum place place, struct glob_node *node)
{
    switch (place) {
    case BOUNDARY:
    case DROPPED:
        node->free[0] = key(at + 1, BOUNDARY);
        break;
    case WHOLE:
        node->free[0] = key(at + 1, BOUNDARY);
        node->free[1] = key(at, DEEP);
        break;
    case INSIDE:
    case DEEP:
        node->kind = place == DEEP ? NODE_DEEP : NODE_CHAR;
        node->value = '/';
        node->out = key(at + 1, BOUNDARY);
        /* The one before every text is no end of it, not even of `{,a}`. */
        if (at >= GLOB_LEAD)
            node->free[0] = key(at + 1, TRAIL);
        break;
    case TRAIL:
    case TRAIL_DOT:
        node->free[0] = key(at + 1, TRAIL);
        break;
    default:
        break;
    }
}

static void visit_end(uint32_t at, enum place place, struct glob_node *node)
{
    if (place == DONE)
        node->kind = NODE_ACCEPT;
    else if (place == WHOLE)
        node->kind = NODE_TAIL;
    if (place == INSIDE || place == WHOLE || place == TRAIL || place == TRAIL_DOT)
        node->free[0] = key(at, DONE);
}

/* The node of an instruction in a place, with keys for the numbers of other nodes. */
static struct glob_node visit_instr(const struct builder *b, uint32_t at, enum place place)
{
    const struct glob_instr *instr = &b->source->instrs[at];
    struct glob_node node = {.kind = NODE_EPSILON};
    switch (instr->op) {
    case GLOB_CHAR:
    case GLOB_ANY:
    case GLOB_SET:
        visit_character(at, instr, place, &node);
        break;
    case GLOB_STAR:
        visit_star(at, place, &node);
        break;
    case GLOB_WHOLE:
        visit_whole(at, place, &node);
        break;
    case GLOB_SLASH:
        visit_slash(at, place, &node);
        break;
    case GLOB_SPLIT:
        node.free[0] = key(at + 1, place);
        node.free[1] = instr->value ? key(instr->value, place) : 0;
        break;
    case GLOB_JUMP:
        node.free[0] = key(instr->value, place);
        break;
    case GLOB_END:
        visit_end(at, place, &node);
        break;
    }
    return node;
}

/* What no expansion may be. */
static int check_expansion(struct builder *b, uint32_t at, enum place place)
{
    const struct glob_instr *instr = &b->source->instrs[at];
    struct str text = b->source->text;
    bool end = instr->op == GLOB_END;
    if (instr->op == GLOB_SLASH && place == START)
        return glob_fail(b->err, text, instr->at,
                         "a `/` comes first; patterns are relative, leave it out");
    if (place == TWO_DOTS && (end || instr->op == GLOB_SLASH))
        return glob_fail(b->err, text, instr->at,
                         "a component is `..`; patterns do not lead to parent folders");
    if (!end)
        return 0;
    b->trail |= place == TRAIL || place == TRAIL_DOT;
    b->plain |= place == INSIDE || place == WHOLE;
    if (b->trail && b->plain)
        return glob_fail(b->err, text, instr->at,
                         "some alternatives end with `/` and some do not; use two patterns");
    return 0;
}

/* Marks what can be reached. Everything leads forward, so one sweep does it. */
static int sweep_forward(struct builder *b)
{
    b->reached[key(b->from, START)] = 1;
    for (uint32_t at = b->from; at < b->source->count; at++) {
        for (enum place place = START; place < PLACES; place++) {
            if (!b->reached[key(at, place)])
                continue;
            if (check_expansion(b, at, place) < 0)
                return -1;
            struct glob_node node = visit_instr(b, at, place);
            b->reached[node.out] = 1;
            b->reached[node.free[0]] = 1;
            b->reached[node.free[1]] = 1;
        }
    }
    return 0;
}

/* Numbers a node whose ways on have their numbers; what leads to one other node only is that one. */
static uint32_t number_node(struct builder *b, struct glob_node node, struct glob *glob)
{
    node.out = b->ids[node.out];
    node.free[0] = b->ids[node.free[0]];
    node.free[1] = b->ids[node.free[1]];
    bool free = node.free[0] || node.free[1];
    bool stays = node.kind == NODE_STAR || node.kind == NODE_TAIL || node.kind == NODE_DEEP;
    if (node.kind == NODE_ACCEPT)
        return GLOB_ACCEPT;
    if (!node.out && !free)
        return GLOB_DEAD;
    if (!node.out && !stays) {
        node.kind = NODE_EPSILON;
        if (!node.free[0] || !node.free[1])
            return node.free[0] | node.free[1];
    }
    glob->nodes[glob->count] = node;
    return glob->count++;
}

static void sweep_back(struct builder *b, struct glob *glob)
{
    for (uint32_t at = b->source->count; at-- > b->from;) {
        for (int place = PLACES - 1; place >= 0; place--) {
            uint32_t k = key(at, (enum place)place);
            if (!b->reached[k])
                continue;
            b->ids[k] = number_node(b, visit_instr(b, at, (enum place)place), glob);
            b->slash |= place == BOUNDARY && b->ids[k];
        }
    }
}

static int build_from(struct builder *b, uint32_t from, struct glob *glob)
{
    size_t keys = (size_t)b->source->count * PLACES;
    FREE_AT_END uint8_t *reached = mem_zero(keys);
    FREE_AT_END uint32_t *ids = mem_zero(keys * sizeof *ids);
    b->reached = reached;
    b->ids = ids;
    b->from = from;
    if (sweep_forward(b) < 0)
        return -1;
    size_t most = 2;
    for (size_t i = 0; i < keys; i++)
        most += reached[i];
    free(glob->nodes);
    glob->nodes = mem_zero(most * sizeof *glob->nodes);
    glob->nodes[GLOB_ACCEPT].kind = NODE_ACCEPT;
    glob->count = 2;
    sweep_back(b, glob);
    glob->nodes = mem_grow(glob->nodes, glob->count, sizeof *glob->nodes);
    glob->start = ids[key(from, START)];
    return 0;
}

int glob_build(const struct glob_source *source, bool anywhere, struct glob *glob, struct err *err)
{
    struct builder b = {.source = source, .err = err};
    if (build_from(&b, GLOB_LEAD, glob) < 0)
        return -1;
    if (glob->start == GLOB_DEAD)
        return glob_fail(err, source->text, 0, "it names nothing");
    glob->folders_only = b.trail;
    glob->words = (glob->count + 63) / 64;
    if (!anywhere || b.slash)
        return 0;
    int r = build_from(&b, 0, glob);
    glob->words = (glob->count + 63) / 64;
    return r;
}
