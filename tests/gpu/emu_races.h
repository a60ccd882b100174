/* SPDX-License-Identifier: MIT
 *
 * emu_races.h - races between the threads of a launch.  Kernels that are compiled with -fsanitize=thread tell
 * of every read and write; without that, nothing of this does anything.
 *
 * Two accesses to a byte, one of them a write, need an order between them:
 *   - threads of a block: a barrier of the block, or, in the same warp, of the warp.  Shuffles and matrix
 *     instructions are none: they order no memory.
 *   - threads of different blocks: gpu_last, that is: a fence and then an increment in one thread,
 *     then an increment of the same number and a fence in the other, with barriers around them. */
#ifndef LLAMAD_TESTS_GPU_EMU_RACES_H
#define LLAMAD_TESTS_GPU_EMU_RACES_H

#include <stddef.h>
#include <stdint.h>

#ifdef EMU_RACES

struct emu_races; /* what is known of a running launch */

/* Where the running thread is; NULL between launches. */
struct emu_races_place {
	struct emu_races *launch;
	const char *kernel;
	uint32_t block, thread, warp; /* warp: its number of threads */
	uint32_t epoch, warp_epoch;   /* barriers of the block, and of the warp, before now */
	const char *stacks, *shared;
	size_t stack_bytes, shared_bytes;
};
/* Says where the running thread is (emu.c); returns 0 between launches. */
int emu_races_where(struct emu_races_place *out);

struct emu_races *emu_races_begin(void);
void emu_races_end(struct emu_races *r); /* accepts NULL */
/* A block begins: it knows of no other. */
void emu_races_block(struct emu_races *r);

/* What emu.c does to memory on behalf of the running thread. */
void emu_races_read(const void *p, size_t bytes);
void emu_races_write(const void *p, size_t bytes);
/* An asynchronous copy has written, at any time since the thread's barrier number `since`. */
void emu_races_late_write(const void *p, size_t bytes, uint32_t since);
void emu_races_fence(void);
void emu_races_count_up(const uint32_t *n);
/* A mistake in all kernels, which has to be found: no barrier, or no fence, orders anything. */
void emu_races_break(int fences);

#else

#define emu_races_begin()		      NULL
#define emu_races_end(r)		      ((void)(r))
#define emu_races_block(r)		      ((void)(r))
#define emu_races_read(p, bytes)	      ((void)(p))
#define emu_races_write(p, bytes)	      ((void)(p))
#define emu_races_late_write(p, bytes, since) ((void)(p), (void)(since))
#define emu_races_fence()		      ((void)0)
#define emu_races_count_up(n)		      ((void)(n))
#define emu_races_break(fences)		      ((void)(fences))

#endif

#endif /* LLAMAD_TESTS_GPU_EMU_RACES_H */
