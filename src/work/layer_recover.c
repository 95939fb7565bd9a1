/* A commit that was cut off while things were put in place. All that is new was whole by then, so each step is ended: by what
 * lies at its place and under its temporary name one knows how far it was. What is neither the old nor the new one is
 * somebody's edit, and stays. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "work/layer_put.h"

struct sight {
    struct stat st;
    struct op_node node;
    bool read;
    char target[PATH_TEXT_MAX];
};

static void look_at_name(const struct putting *p, const char *name, struct sight *ret)
{
    bool there = fstatat(p->parent, name, &ret->st, AT_SYMLINK_NOFOLLOW) == 0;
    ret->read = layer_node_look(p->c->w, p->parent, name, there ? &ret->st : NULL, p->step->path,
                                ret->target, &ret->node);
}

static bool is_node(const struct sight *s, const struct op_node *node)
{
    if (s->node.type == NODE_FOLDER)
        return node->type == NODE_FOLDER;
    return s->read && layer_node_holds_same(&s->node, node);
}

static bool is_there(const struct sight *s)
{
    return s->node.type != NODE_NONE;
}

static void end_new(struct putting *p, const struct sight *place, const struct sight *temp)
{
    if (is_there(temp) && !is_there(place)) {
        put_new(p);
        return;
    }
    put_drop_temp(p);
    p->step->left = is_there(temp) || !is_node(place, &p->step->of.after);
}

/* Under the temporary name lies what was exchanged for the new one. */
static void end_exchanged(struct putting *p, const struct sight *place, const struct sight *temp)
{
    if (is_node(temp, &p->step->of.before)) {
        put_drop_temp(p);
        return;
    }
    p->step->left = true;
    if (is_node(place, &p->step->of.after) && put_exchange(p) == 0)
        put_drop_temp(p);
}

static void end_swap(struct putting *p, const struct sight *place, const struct sight *temp)
{
    if (!is_there(temp)) {
        p->step->left = !is_node(place, &p->step->of.after);
    } else if (!is_node(temp, &p->step->of.after)) {
        end_exchanged(p, place, temp);
    } else if (is_node(place, &p->step->of.before)) {
        p->step->base = place->st;
        put_swap(p);
    } else {
        put_drop_temp(p);
        p->step->left = true;
    }
}

static void end_fold(struct putting *p, const struct sight *place, const struct sight *temp)
{
    if (!is_there(temp))
        p->step->left = !is_node(place, &p->step->of.after);
    else if (temp->node.type == NODE_FOLDER)
        put_end_fold(p);
    else if (place->node.type == NODE_FOLDER)
        put_fold(p);
    else {
        put_drop_temp(p);
        p->step->left = true;
    }
}

static void end_mode(struct putting *p, const struct sight *place)
{
    if (place->node.mode == (p->step->of.after.mode & 01777u))
        return;
    p->step->base = place->st;
    if (is_node(place, &p->step->of.before) && place->node.mode == p->step->of.before.mode)
        put_mode(p);
    else
        p->step->left = true;
}

static void end_deletion(struct putting *p, const struct sight *place, const struct sight *temp)
{
    if (is_there(temp) && is_node(temp, &p->step->of.before)) {
        put_drop_temp(p);
    } else if (is_there(temp)) {
        (void)put_without_replacing(p, p->temp, p->name);
        p->step->left = true;
    } else if (is_there(place)) {
        p->step->base = place->st;
        if (is_node(place, &p->step->of.before))
            put_deletion(p);
        else
            p->step->left = true;
    }
}

void commit_put_again(struct committing *c, size_t i)
{
    CLEANUP(putting_done) struct putting p;
    struct sight place;
    struct sight temp;
    if (putting_open(c, i, &p) < 0) {
        p.step->left = true;
        return;
    }
    look_at_name(&p, p.name, &place);
    look_at_name(&p, p.temp, &temp);
    switch (p.step->kind) {
    case STEP_NEW:
        end_new(&p, &place, &temp);
        break;
    case STEP_SWAP:
    case STEP_UNFOLD:
        end_swap(&p, &place, &temp);
        break;
    case STEP_FOLD:
        end_fold(&p, &place, &temp);
        break;
    case STEP_MODE:
        end_mode(&p, &place);
        break;
    case STEP_DELETE:
        end_deletion(&p, &place, &temp);
        break;
    case STEP_DROP:
        break;
    }
}

static bool is_step_put(const struct putting *p, const struct sight *place)
{
    const struct op_node *after = &p->step->of.after;
    if (p->step->kind == STEP_MODE && place->node.mode != (after->mode & 01777u))
        return false;
    return after->type == NODE_NONE ? !is_there(place) : is_node(place, after);
}

void commit_look_again(struct committing *c, size_t i)
{
    CLEANUP(putting_done) struct putting p;
    struct sight place;
    if (putting_open(c, i, &p) < 0) {
        p.step->left = p.step->of.after.type != NODE_NONE;
        return;
    }
    look_at_name(&p, p.name, &place);
    p.step->left = !is_step_put(&p, &place);
}
