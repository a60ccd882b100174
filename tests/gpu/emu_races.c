/* SPDX-License-Identifier: MIT
 *
 * Finds races between the threads of a launch.  For each byte the last write and the last reads of the
 * running launch are kept.  Blocks run one after the other, so what a block knows of others is that of
 * the launch's current block.
 *
 * The functions __tsan_* are those that compilers call in code for ThreadSanitizer; here they are ours. */
#include "tests/gpu/emu_races.h"

#include "tests/gpu/emu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	     4096u
#define N_BUCKET     4096u
#define MOST_THREADS 1024u
#define NOBODY	     UINT32_MAX
#define MANY	     (UINT32_MAX - 1) /* blocks */

struct cell {
	uint32_t launch, owner; /* the block that used it first */
	uint32_t w_block, w_thread, w_epoch, w_warp_epoch;
	uint32_t r_block, r_thread, r_epoch, r_warp_epoch; /* the latest epochs in which it was read */
	uint32_t r_who;					   /* enum who; r_thread is one of them */
};

enum who { ONE, OF_A_WARP, OF_WARPS };

struct page {
	struct page *next;
	uintptr_t number;
	struct cell cells[PAGE];
};

/* What a thread has told by incrementing a number. */
struct told {
	uint32_t block, thread, epoch;
};

struct counter {
	struct counter *next;
	const uint32_t *at;
	struct told *told;
	size_t n_told, cap;
};

struct emu_races {
	uint32_t number;
	struct counter *counters;
	/* of the current block: */
	struct counter *seen;		     /* that it has incremented, if it was fenced afterwards */
	size_t n_seen;			     /* how much of it was told then */
	uint32_t seen_thread, seen_epoch;    /* who knows it: this thread, others after the epoch */
	const struct counter *unfenced;	     /* incremented, without a fence until now */
	uint32_t unfenced_thread;
	uint32_t fenced[MOST_THREADS]; /* 1 + the epoch of a thread's last fence */
};

static struct page *buckets[N_BUCKET], *last_page;
static uint32_t n_launch;
static int without_fences, without_barriers;

/* ---- messages ---- */

static int is_shared(const struct emu_races_place *at, const void *p)
{
	return (const char *)p >= at->shared && (const char *)p < at->shared + at->shared_bytes;
}

static void fatal(const struct emu_races_place *at, const char *what, const void *p, const char *other,
		  uint32_t block, uint32_t thread, const void *caller)
{
	Dl_info where = {0};
	char who[64] = "another thread";

	if (block != MANY)
		(void)snprintf(who, sizeof(who), "thread %u of block %u", thread, block);
	(void)dladdr(caller, &where);
	(void)fprintf(stderr,
		      "gpu emulation: kernel %s: a race in %s: thread %u of block %u %s what %s %s (%s+0x%lx)\n",
		      at->kernel, is_shared(at, p) ? "shared memory" : "memory", at->thread, at->block,
		      what, who, other, where.dli_fname ? where.dli_fname : "?",
		      (unsigned long)((uintptr_t)caller - (uintptr_t)where.dli_fbase));
	abort();
}

static void *allocate(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p) {
		(void)fprintf(stderr, "gpu emulation: no memory to look for races\n");
		abort();
	}
	return p;
}

/* ---- what is known of each byte ---- */

/* What is known of a byte; nothing, if it belongs to a block that has ended. */
static struct cell *cell_of(const struct emu_races_place *at, const void *p)
{
	uint32_t launch = at->launch->number;
	uintptr_t number = (uintptr_t)p / PAGE;
	struct page *page = last_page;
	struct cell *c;

	if (!page || page->number != number) {
		struct page **bucket = &buckets[number % N_BUCKET];

		for (page = *bucket; page && page->number != number; page = page->next)
			;
		if (!page) {
			page = allocate(sizeof(*page));
			page->number = number;
			page->next = *bucket;
			*bucket = page;
		}
		last_page = page;
	}
	c = &page->cells[(uintptr_t)p % PAGE];
	if (c->launch != launch || (c->owner != at->block && is_shared(at, p)))
		*c = (struct cell){.launch = launch, .owner = at->block, .w_block = NOBODY, .r_block = NOBODY};
	return c;
}

/* Does the running thread know of what another block's thread did? */
static int knows(const struct emu_races_place *at, uint32_t block, uint32_t thread, uint32_t epoch)
{
	const struct emu_races *r = at->launch;

	if (!r->seen || (at->thread != r->seen_thread && at->epoch <= r->seen_epoch))
		return 0;
	for (size_t i = 0; i < r->n_seen; i++) {
		const struct told *t = &r->seen->told[i];

		if (t->block == block && (epoch < t->epoch || (epoch == t->epoch && thread == t->thread)))
			return 1;
	}
	return 0;
}

static int follows_write(const struct emu_races_place *at, const struct cell *c)
{
	if (c->w_block == NOBODY)
		return 1;
	if (c->w_block != at->block)
		return knows(at, c->w_block, c->w_thread, c->w_epoch);
	if (c->w_thread == at->thread || (c->w_epoch < at->epoch && !without_barriers))
		return 1;
	return c->w_thread / at->warp == at->thread / at->warp && c->w_warp_epoch < at->warp_epoch;
}

static int follows_reads(const struct emu_races_place *at, const struct cell *c)
{
	if (c->r_block == NOBODY)
		return 1;
	if (c->r_block != at->block)
		return c->r_block != MANY && knows(at, c->r_block, c->r_thread, c->r_epoch);
	if ((c->r_who == ONE && c->r_thread == at->thread) || (c->r_epoch < at->epoch && !without_barriers))
		return 1;
	return c->r_who != OF_WARPS && c->r_thread / at->warp == at->thread / at->warp &&
	       c->r_warp_epoch < at->warp_epoch;
}

static void note_read(const struct emu_races_place *at, struct cell *c)
{
	int same = c->r_block == at->block;

	if (!same || c->r_epoch != at->epoch)
		c->r_who = ONE;
	else if (c->r_thread / at->warp != at->thread / at->warp)
		c->r_who = OF_WARPS;
	else if (c->r_thread != at->thread && c->r_who == ONE)
		c->r_who = OF_A_WARP;
	if (c->r_who != OF_A_WARP || c->r_epoch != at->epoch || c->r_warp_epoch < at->warp_epoch)
		c->r_warp_epoch = at->warp_epoch;
	c->r_thread = at->thread;
	c->r_block = c->r_block == NOBODY || same ? at->block : MANY;
	c->r_epoch = at->epoch;
}

static int is_private(const struct emu_races_place *at, const void *p)
{
	return ((const char *)p >= at->stacks && (const char *)p < at->stacks + at->stack_bytes) ||
	       ((const char *)p >= (const char *)&emu_now && (const char *)p < (const char *)(&emu_now + 1));
}

static void read_at(const struct emu_races_place *at, const char *p, size_t bytes, const void *caller)
{
	for (size_t i = 0; i < bytes && !is_private(at, p); i++) {
		struct cell *c = cell_of(at, p + i);

		if (!follows_write(at, c))
			fatal(at, "reads", p + i, "has written", c->w_block, c->w_thread, caller);
		note_read(at, c);
	}
}

static void write_at(const struct emu_races_place *at, const char *p, size_t bytes, const void *caller)
{
	for (size_t i = 0; i < bytes && !is_private(at, p); i++) {
		struct cell *c = cell_of(at, p + i);

		if (!follows_write(at, c))
			fatal(at, "writes", p + i, "has written", c->w_block, c->w_thread, caller);
		if (!follows_reads(at, c))
			fatal(at, "writes", p + i, "has read", c->r_block, c->r_thread, caller);
		c->w_block = at->block;
		c->w_thread = at->thread;
		c->w_epoch = at->epoch;
		c->w_warp_epoch = at->warp_epoch;
	}
}

/* ---- what emu.c calls ---- */

struct emu_races *emu_races_begin(void)
{
	struct emu_races *r = allocate(sizeof(*r));

	r->number = ++n_launch;
	return r;
}

void emu_races_end(struct emu_races *r)
{
	while (r && r->counters) {
		struct counter *c = r->counters;

		r->counters = c->next;
		free(c->told);
		free(c);
	}
	free(r);
}

void emu_races_block(struct emu_races *r)
{
	r->seen = NULL;
	r->unfenced = NULL;
	memset(r->fenced, 0, sizeof(r->fenced));
}

void emu_races_read(const void *p, size_t bytes)
{
	struct emu_races_place at;

	if (emu_races_where(&at))
		read_at(&at, p, bytes, __builtin_return_address(0));
}

void emu_races_write(const void *p, size_t bytes)
{
	struct emu_races_place at;

	if (emu_races_where(&at))
		write_at(&at, p, bytes, __builtin_return_address(0));
}

void emu_races_late_write(const void *p, size_t bytes, uint32_t since)
{
	struct emu_races_place at, begun;

	if (!emu_races_where(&at))
		return;
	begun = at;
	begun.epoch = since; /* what others have done since then has no order with it */
	write_at(&begun, p, bytes, __builtin_return_address(0));
	write_at(&at, p, bytes, __builtin_return_address(0));
}

void emu_races_fence(void)
{
	struct emu_races_place at;
	struct emu_races *r;

	if (!emu_races_where(&at))
		return;
	r = at.launch;
	r->fenced[at.thread] = without_fences ? 0 : at.epoch + 1;
	if (!r->unfenced || r->unfenced_thread != at.thread)
		return;
	for (r->seen = r->counters; r->seen != r->unfenced; r->seen = r->seen->next)
		;
	r->n_seen = r->seen->n_told;
	r->seen_thread = at.thread;
	r->seen_epoch = at.epoch;
	r->unfenced = NULL;
}

static struct counter *counter_of(struct emu_races *r, const uint32_t *n)
{
	struct counter *c = r->counters;

	while (c && c->at != n)
		c = c->next;
	if (c)
		return c;
	c = allocate(sizeof(*c));
	c->at = n;
	c->next = r->counters;
	r->counters = c;
	return c;
}

static void tell(struct counter *c, struct told t)
{
	if (c->n_told == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		struct told *more = allocate(cap * sizeof(*more));

		if (c->n_told)
			memcpy(more, c->told, c->n_told * sizeof(*more));
		free(c->told);
		c->told = more;
		c->cap = cap;
	}
	c->told[c->n_told++] = t;
}

void emu_races_count_up(const uint32_t *n)
{
	struct emu_races_place at;
	struct counter *c;

	if (!emu_races_where(&at))
		return;
	if (is_shared(&at, n))
		return; /* a number of the block's own */
	c = counter_of(at.launch, n);
	if (at.launch->fenced[at.thread] == at.epoch + 1)
		tell(c, (struct told){at.block, at.thread, at.epoch});
	at.launch->unfenced = c;
	at.launch->unfenced_thread = at.thread;
}

void emu_races_break(int fences)
{
	without_fences = fences;
	without_barriers = !fences;
}

/* ---- what instrumented code calls ---- */

#define HOOK(name, what, bytes)                                                                    \
	void __tsan_##name(const void *p);                                                         \
	void __tsan_##name(const void *p)                                                          \
	{                                                                                          \
		struct emu_races_place at;                                                         \
                                                                                                   \
		if (emu_races_where(&at))                                                          \
			what(&at, p, bytes, __builtin_return_address(0));                          \
	}
#define HOOKS(bytes)                                                                               \
	HOOK(read##bytes, read_at, bytes)                                                          \
	HOOK(write##bytes, write_at, bytes)                                                        \
	HOOK(unaligned_read##bytes, read_at, bytes)                                                \
	HOOK(unaligned_write##bytes, write_at, bytes)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

#define RANGE_HOOK(name, what)                                                                     \
	void __tsan_##name(const void *p, size_t bytes);                                           \
	void __tsan_##name(const void *p, size_t bytes)                                            \
	{                                                                                          \
		struct emu_races_place at;                                                         \
                                                                                                   \
		if (emu_races_where(&at))                                                          \
			what(&at, p, bytes, __builtin_return_address(0));                          \
	}
RANGE_HOOK(read_range, read_at)
RANGE_HOOK(write_range, write_at)

/* clang calls these for copies. */
#define COPY_HOOK(name, function)                                                                  \
	void *__tsan_##name(void *to, const void *from, size_t bytes);                             \
	void *__tsan_##name(void *to, const void *from, size_t bytes)                              \
	{                                                                                          \
		__tsan_read_range(from, bytes);                                                    \
		__tsan_write_range(to, bytes);                                                     \
		return function(to, from, bytes);                                                  \
	}
COPY_HOOK(memcpy, memcpy)
COPY_HOOK(memmove, memmove)
void *__tsan_memset(void *to, int value, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes)
{
	__tsan_write_range(to, bytes);
	return memset(to, value, bytes);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller);
void __tsan_func_entry(const void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
