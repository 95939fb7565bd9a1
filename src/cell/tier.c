#include "cell/tier.h"

#include "cell/landlock.h"
#include "cell/limits_parts.h"

struct tier tier_of_full_cell(int landlock)
{
    /* The plan has no step that may be left out: a cell has all of this or does not start. */
    return (struct tier){
        .id = TIER_FULL,
        .files = MEANS_MOUNTS,
        .guards = MEANS_COVERS,
        .network = MEANS_NAMESPACE,
        .processes = MEANS_NAMESPACE,
        .landlock = landlock,
        .seccomp = true,
    };
}

struct tier tier_of_landlock_cell(int landlock)
{
    return (struct tier){
        .id = TIER_LANDLOCK,
        .files = MEANS_LANDLOCK,
        .network = MEANS_SECCOMP,
        .processes = MEANS_SECCOMP,
        .landlock = landlock,
        .seccomp = true,
    };
}

struct tier tier_of_cell(const struct cell_spec *spec)
{
    if (spec->tier == TIER_LANDLOCK)
        return tier_of_landlock_cell(landlock_abi());
    struct tier tier = tier_of_full_cell(landlock_abi());
    if (!spec->commands)
        tier.guards = MEANS_NONE;
    return tier;
}

enum means tier_limit(const struct limits *l, enum limit_kind kind)
{
    for (size_t i = 0; l && i < l->n_trees; i++) {
        if (l->trees[i].kinds & LIMIT_BIT(kind))
            return l->trees[i].v2 ? MEANS_CGROUP2 : MEANS_CGROUP1;
    }
    /* What is used of the processor cannot be taken back. */
    return kind == LIMIT_CPU ? MEANS_NONE : MEANS_WATCHED;
}
