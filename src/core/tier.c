#include "core/tier.h"

static const char *const tier_names[] = {
    [TIER_NONE] = "none", [TIER_LANDLOCK] = "landlock", [TIER_FULL] = "full"};

static const char *const means_names[] = {
    [MEANS_NONE] = "nothing",        [MEANS_MOUNTS] = "mounts",     [MEANS_COVERS] = "mount covers",
    [MEANS_NAMESPACE] = "namespace", [MEANS_LANDLOCK] = "landlock", [MEANS_SECCOMP] = "seccomp",
    [MEANS_CGROUP2] = "cgroup2",     [MEANS_CGROUP1] = "cgroup1",   [MEANS_WATCHED] = "watched",
};

const char *tier_name(enum tier_id id)
{
    return tier_names[id];
}

const char *means_name(enum means means)
{
    return means_names[means];
}

void tier_write(const struct tier *tier, struct json_out *j)
{
    jo_kown(j, "files", means_name(tier->files));
    jo_kown(j, "guards", means_name(tier->guards));
    jo_kown(j, "network", means_name(tier->network));
    jo_kown(j, "processes", means_name(tier->processes));
    jo_kint(j, "landlock", tier->landlock);
    jo_kbool(j, "seccomp", tier->seccomp);
    jo_key(j, "limits");
    jo_open(j, '{');
    jo_kown(j, "memory", means_name(tier->memory));
    jo_kown(j, "processes", means_name(tier->process_count));
    jo_kown(j, "cpu", means_name(tier->cpu));
    jo_close(j, '}');
}
