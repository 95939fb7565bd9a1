#include "base/processor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* So many calls have to come one at a time, none later than this after the one before. Who is slower gains
 * nothing, and where it is the processor's fault we had better leave it. */
#define STREAK 32
#define GAP_NS 2000000u
/* After so many, look anew: the caller may be elsewhere by now. */
#define REVIEW 8192

/* How often to look whether all processors are busy: a look takes some 2 us. */
#define LOOK_NS 5000000u
/* What runs is averaged over about so many looks. */
#define LOOKS 4

static cpu_set_t all;
static bool several;
static uint32_t here; /* the gate is held there; 0: it is not held */
static bool stays;
static unsigned streak;
static unsigned held;
static uint64_t last_ns;
static int load_fd = -1; /* /proc/loadavg; -1: not open yet, -2: it cannot be read */
static uint64_t looked_ns;
static unsigned running; /* in 1/16, on average, us included */

void processor_init(void)
{
    several = sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 1;
}

unsigned processor_count(void)
{
    return several ? (unsigned)CPU_COUNT(&all) : 1;
}

/* Where the calling thread may run: on one, on all but one (as a negative number), or (0) anywhere. */
static void allow_processor(int64_t wanted)
{
    static _Thread_local int64_t at = INT64_MIN; /* as it was inherited */
    int64_t number = wanted < 0 ? -wanted : wanted;
    if (wanted == at || !several || number > CPU_SETSIZE)
        return;
    cpu_set_t set = all;
    if (wanted > 0)
        CPU_ZERO(&set);
    if (wanted > 0)
        CPU_SET((size_t)(number - 1), &set);
    else if (wanted < 0)
        CPU_CLR((size_t)(number - 1), &set);
    /* A processor that is not ours to use: we stay where we are, which is only slower. */
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        at = wanted;
}

void processor_follow(uint32_t processor)
{
    allow_processor(processor);
}

void processor_avoid(uint32_t processor)
{
    allow_processor(-(int64_t)processor);
}

/* How many threads of all processes run or could, at this moment; 0: not known. */
static unsigned count_running(void)
{
    char text[128];
    if (load_fd == -1)
        load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (load_fd < 0)
        load_fd = -2;
    ssize_t n = load_fd < 0 ? -1 : pread(load_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    /* Three averages, then as a fraction what runs and what there is. */
    char *at = text;
    for (int field = 0; at && field < 3; field++)
        at = strchr(at + (field > 0), ' ');
    long count = at ? strtol(at, NULL, 10) : 0;
    return count > 0 && count < 1 << 20 ? (unsigned)count : 0;
}

/* Whether others wait for every processor there is. Who is held to one then waits there while another is given away, up
 * to several milliseconds for each wake. */
static bool is_crowded(uint64_t now)
{
    if (now - looked_ns > LOOK_NS) {
        looked_ns = now;
        unsigned seen = 16 * count_running();
        running = running ? running + seen / LOOKS - running / LOOKS : seen;
    }
    return running > 16 * processor_count() + 8;
}

uint32_t processor_here(void)
{
    if (several && is_crowded(looked_ns))
        return 0;
    int now = several ? sched_getcpu() : -1;
    return now < 0 ? 0 : (uint32_t)now + 1;
}

void processor_any(void)
{
    allow_processor(0);
}

void processor_spread(uint32_t from, unsigned steps)
{
    uint32_t at = from;
    if (!several || from == 0)
        return;
    while (steps > 0) {
        at = at % CPU_SETSIZE + 1;
        steps -= CPU_ISSET((size_t)(at - 1), &all) ? 1 : 0;
    }
    allow_processor(at);
}

void processor_part(void)
{
    streak = 0;
    here = 0;
    stays = false;
    allow_processor(0);
}

void processor_stay(uint32_t processor)
{
    if (stays)
        return;
    processor_part();
    stays = processor != 0;
    allow_processor(processor);
}

/* Where the parent ran last, who as a rule is the one that calls. */
static int callers_processor(void)
{
    char path[40];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return sched_getcpu();
    text[n] = '\0';
    char *at = strrchr(text, ')');
    /* The 39th field; the name, which may have spaces, is the second. */
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at ? (int)strtol(at, NULL, 10) : sched_getcpu();
}

uint32_t processor_for_call(bool alone)
{
    uint64_t now = clock_mono_ns();
    bool late = now - last_ns > GAP_NS;
    last_ns = now;
    bool crowded = several && is_crowded(now);
    if (!alone || late || stays || crowded || (here && ++held > REVIEW))
        processor_part();
    if (here || !alone || !several || crowded || ++streak < STREAK)
        return here;
    int at = callers_processor();
    if (at < 0 || at >= CPU_SETSIZE || !CPU_ISSET(at, &all))
        return 0;
    held = 0;
    here = (uint32_t)at + 1;
    processor_follow(here);
    return here;
}
