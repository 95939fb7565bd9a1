/* Keeps gate and worker on the caller's processor while calls come one at a time and close together.
 *
 * Then the three work in turns, never at once, and waking the next one on a processor that sleeps costs more than all
 * the work. The caller is not ours to hold: where the kernel moves it, two wakes of four are saved. With several
 * calls in flight, or a long answer, they can work at once and are let go, and so they are while others keep all processors
 * busy. Other threads call processor_any, since a new thread inherits where its maker may run. */
#ifndef SANDGATE_BASE_PROCESSOR_H
#define SANDGATE_BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

/* Which processors there are; once, before anything is locked. */
void processor_init(void);
unsigned processor_count(void);

/* Numbers of processors begin with 1; 0 is none in particular. */

/* The gate, for each call: where its worker is to be. */
uint32_t processor_for_call(bool alone);
/* The gate: both can work at once, or another process is about to be started. */
void processor_part(void);
/* The gate: a long answer comes in. It stays on this processor, which the worker avoids, until the next
 * call: else the kernel wakes it where the worker still runs, and neither gains anything. */
void processor_stay(uint32_t processor);
/* The gate: where it runs, for the worker to avoid; 0 where all processors are busy. Then nobody is held anywhere. */
uint32_t processor_here(void);

/* The calling thread. */
void processor_follow(uint32_t processor);
void processor_avoid(uint32_t processor);
void processor_any(void);
/* On the one that is `steps` behind `from`: threads that work together and wake each other are else gathered
 * on one by the kernel, while others stand idle. */
void processor_spread(uint32_t from, unsigned steps);

#endif
