/* SPDX-License-Identifier: MIT
 *
 * thread.h - the name of a thread and how the kernel schedules it. */
#ifndef LLAMAD_BASE_THREAD_H
#define LLAMAD_BASE_THREAD_H

/* Added to the nice value of background threads: beside a busy thread of the daemon on the same
 * processor they get about a quarter of it. With 19 it would be a seventieth, and long prompts
 * would wait for half a minute while the processors compute tokens. */
#define LMI_THREAD_BACKGROUND_NICE 5

/* Linux gives a thread that wakes the processor of another one if its time slice is shorter (EEVDF with
 * slices of threads, since 6.12); older kernels ignore slices of ordinary threads. The share of time does
 * not depend on the slice. */
#define LMI_THREAD_PROMPT_SLICE_NS     300000u
#define LMI_THREAD_BACKGROUND_SLICE_NS 20000000u

enum lmi_thread_kind {
	LMI_THREAD_ORDINARY,  /* the kernel's defaults */
	LMI_THREAD_PROMPT,    /* short pieces of work that clients wait for: a short slice */
	LMI_THREAD_BACKGROUND /* long computations that must not delay tokens: SCHED_BATCH, a long slice
			       * and a higher nice value, which the thread cannot lower again */
};

/* Sets the name (at most 15 bytes; NULL keeps it) and the scheduling of the calling thread; threads inherit
 * both from the thread that creates them. A thread with another policy than SCHED_OTHER keeps its scheduling:
 * the administrator of the daemon chose it, or a background thread created the thread. Needs no privilege;
 * where a sandbox forbids the calls, nothing changes. */
void lmi_thread_begin(const char *name, enum lmi_thread_kind kind);

#endif /* LLAMAD_BASE_THREAD_H */
