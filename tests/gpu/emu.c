/* SPDX-License-Identifier: MIT
 *
 * Runs kernels on the host: fibres and their scheduler.  A kernel whose threads wait for another device
 * keeps its fibres in a context of its own, so that kernels of other devices can run meanwhile. */
#include "tests/gpu/emu.h"

#include "tests/gpu/emu_races.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#define MOST_THREADS 1024u
#define STACK_BYTES  (64u * 1024)
#define POISON       0xff /* NaN in every float */

struct emu_grid emu_now;
char *emu_shared_memory;

enum state { RUNNABLE, AT_WARP, AT_BLOCK, PAUSED, ENDED };

#define MOST_WGMMA 8u
struct wgmma {
	float *c;
	uint64_t a, b;
	int bf16;
};

#define MOST_COPIES 16u
struct copy {
	void *to;
	const void *from; /* NULL: zeros */
	unsigned group;
	uint32_t epoch; /* of its thread when it began */
};

struct fibre {
#ifdef __x86_64__
	void *sp;
#else
	ucontext_t context;
#endif
	enum state state;
	float value; /* what it shows to its warp */
	const uint32_t *a, *b; /* its fragments */
	struct copy copies[MOST_COPIES];
	unsigned n_copy, group; /* begun; the number of its next group */
	struct wgmma wgmma[MOST_WGMMA]; /* that run */
	unsigned n_wgmma;
	bool fenced, proxy_fenced; /* since its last instruction; since its last copy */
	uint32_t epoch, warp_epoch; /* barriers of the block and of the warp that it has passed */
};

struct emu_context {
	struct fibre fibres[MOST_THREADS];
	struct fibre scheduler;
	char *stacks, *shared;
	struct emu_launch launch;
	const char *name;
	struct emu_grid now; /* while it does not run */
	unsigned n_ended;
	int in_block;
	struct emu_races *races;
	struct emu_context *next; /* of those that are free */
};

static struct emu_context *emu, *free_contexts; /* the one that runs */
static bool running; /* a kernel */
static uint64_t rng;

static void fatal(const char *what)
{
	(void)fprintf(stderr, "gpu emulation: kernel %s: %s (thread %u of block %u,%u)\n", emu->name,
		      what, emu_now.tid, emu_now.block_x, emu_now.block_y);
	abort();
}

/* ---- switching ---- */

static void entry(void)
{
	emu->launch.kernel(emu->launch.args);
	emu->fibres[emu_now.tid].state = ENDED;
	emu->n_ended++;
	for (;;) {
#ifdef __x86_64__
		extern void emu_switch(void **save, void *load);
		void *unused;

		emu_switch(&unused, emu->scheduler.sp);
#else
		setcontext(&emu->scheduler.context);
#endif
	}
}

#ifdef __x86_64__
void emu_switch(void **save, void *load);
__asm__(".pushsection .text\n"
	".globl emu_switch\n"
	".hidden emu_switch\n"
	"emu_switch:\n"
	"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
	"ret\n"
	".popsection\n");

static void prepare(struct fibre *f, char *stack)
{
	void **top = (void **)(void *)(stack + STACK_BYTES);

	*--top = NULL; /* where entry would return to */
	*--top = (void *)(uintptr_t)entry;
	for (int i = 0; i < 6; i++)
		*--top = NULL;
	f->sp = top;
}

static void run_fibre(struct fibre *f)
{
	emu_switch(&emu->scheduler.sp, f->sp);
}

static void leave_fibre(struct fibre *f)
{
	emu_switch(&f->sp, emu->scheduler.sp);
}
#else
static void prepare(struct fibre *f, char *stack)
{
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = stack;
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = NULL;
	makecontext(&f->context, entry, 0);
}

static void run_fibre(struct fibre *f)
{
	swapcontext(&emu->scheduler.context, &f->context);
}

static void leave_fibre(struct fibre *f)
{
	swapcontext(&f->context, &emu->scheduler.context);
}
#endif

static void wait_as(enum state s)
{
	struct fibre *f = &emu->fibres[emu_now.tid];

	f->state = s;
	leave_fibre(f);
}

/* ---- what kernels call ---- */

void emu_pause(void)
{
	wait_as(PAUSED);
}

void emu_sync(void)
{
	wait_as(AT_BLOCK);
	emu->fibres[emu_now.tid].epoch++;
}

void emu_sync_warp(void)
{
	wait_as(AT_WARP);
	emu->fibres[emu_now.tid].warp_epoch++;
}

void emu_fence(void)
{
	emu_races_fence();
}

uint32_t emu_count_up(uint32_t *n)
{
	emu_races_count_up(n);
	return (*n)++;
}

#ifdef EMU_RACES
int emu_races_where(struct emu_races_place *out)
{
	if (!running)
		return 0;
	*out = (struct emu_races_place){.launch = emu->races,
					.kernel = emu->name,
					.block = emu_now.block_y * emu_now.grid_x + emu_now.block_x,
					.thread = emu_now.tid,
					.warp = emu_now.warp,
					.warp_epoch = emu->fibres[emu_now.tid].warp_epoch,
					.epoch = emu->fibres[emu_now.tid].epoch,
					.stacks = emu->stacks,
					.stack_bytes = (size_t)MOST_THREADS * STACK_BYTES,
					.shared = emu->shared,
					.shared_bytes = emu->launch.shared};
	return 1;
}
#endif

float emu_shfl_xor(float v, unsigned mask)
{
	struct fibre *f = &emu->fibres[emu_now.tid];
	unsigned first = emu_now.tid / emu_now.warp * emu_now.warp;
	float r;

	f->value = v;
	wait_as(AT_WARP);
	r = emu->fibres[first + ((emu_now.tid - first) ^ mask)].value;
	wait_as(AT_WARP);
	return r;
}

struct gpu_four emu_load16(const void *p)
{
	struct gpu_four r;

	if ((uintptr_t)p % sizeof(r))
		fatal("a load of 16 bytes from an address that is not a multiple of 16");
	emu_races_read(p, sizeof(r));
	memcpy(&r, p, sizeof(r));
	return r;
}

/* Byte k of a row or column, whose four-byte words are those of four neighbouring lanes. */
static int element(const struct fibre *lanes, bool b, unsigned line, unsigned k)
{
	/* a: rows q and q + 8 alternate, columns 0..15 before 16..31;  b: column q */
	const struct fibre *f = &lanes[line % 8 * 4 + k % 16 / 4];
	uint32_t word = b ? f->b[k / 16] : f->a[k / 16 * 2 + line / 8];

	return (int8_t)(word >> 8 * (k % 4));
}

/* Begins a matrix instruction of warps of `warp` threads: shows a and b to the other lanes, and
 * returns the warp's lanes. */
static const struct fibre *offer(unsigned warp, const uint32_t *a, const uint32_t *b)
{
	struct fibre *f = &emu->fibres[emu_now.tid];

	if (emu_now.warp != warp)
		fatal("a matrix instruction for warps with another number of threads");
	f->a = a;
	f->b = b;
	wait_as(AT_WARP);
	return &emu->fibres[emu_now.tid / warp * warp];
}

static void mma(int32_t *c, const uint32_t *a, const uint32_t *b, unsigned n)
{
	const struct fibre *lanes = offer(32, a, b);
	unsigned lane = emu_now.tid % 32;

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < n; k++)
			c[i] += element(lanes, false, lane / 4 + i / 2 * 8, k) *
				element(lanes, true, lane % 4 * 2 + i % 2, k);
	}
	wait_as(AT_WARP);
}

void emu_mma_k32(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	mma(c, a, b, 32);
}

void emu_mma_k16(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	mma(c, a, b, 16);
}

/* Value k of a row or column of 16-bit floats. */
static double half_element(const struct fibre *lanes, bool b, unsigned line, unsigned k, bool bf16)
{
	const struct fibre *f = &lanes[line % 8 * 4 + k % 8 / 2];
	uint32_t word = b ? f->b[k / 8] : f->a[k / 8 * 2 + line / 8];

	word = k % 2 ? word >> 16 : word & 0xffff;
	return (double)(bf16 ? gpu_bits_float(word << 16) : gpu_half_to_float((uint16_t)word));
}

static void mma_half(float *c, const uint32_t *a, const uint32_t *b, bool bf16)
{
	const struct fibre *lanes = offer(32, a, b);
	unsigned lane = emu_now.tid % 32;

	for (unsigned i = 0; i < 4; i++) {
		double sum = 0;

		for (unsigned k = 0; k < 16; k++)
			sum += half_element(lanes, false, lane / 4 + i / 2 * 8, k, bf16) *
			       half_element(lanes, true, lane % 4 * 2 + i % 2, k, bf16);
		c[i] = (float)(c[i] + sum);
	}
	wait_as(AT_WARP);
}

void emu_mma_f16(float *c, const uint32_t *a, const uint32_t *b)
{
	mma_half(c, a, b, false);
}

void emu_mma_bf16(float *c, const uint32_t *a, const uint32_t *b)
{
	mma_half(c, a, b, true);
}

/* Lane q + 16 i has columns 4i..4i+3 of row q of a, and the same of b transposed. */
void emu_mfma_i8(int32_t *c, uint32_t a, uint32_t b)
{
	const struct fibre *lanes = offer(64, &a, &b);
	unsigned lane = emu_now.tid % 64;

	for (unsigned r = 0; r < 4; r++) {
		for (unsigned k = 0; k < 16; k++)
			c[r] += (int8_t)(*lanes[lane / 16 * 4 + r + k / 4 * 16].a >> 8 * (k % 4)) *
				(int8_t)(*lanes[lane % 16 + k / 4 * 16].b >> 8 * (k % 4));
	}
	wait_as(AT_WARP);
}

static double half_of(const uint32_t *words, unsigned i, int bf16)
{
	uint32_t h = words[i / 2] >> i % 2 * 16 & 0xffff;

	return (double)(bf16 ? gpu_bits_float(h << 16) : gpu_half_to_float((uint16_t)h));
}

void emu_mfma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b)
{
	const struct fibre *lanes = offer(64, a, b);
	unsigned lane = emu_now.tid % 64;

	for (unsigned r = 0; r < 4; r++) {
		double sum = 0;

		for (unsigned k = 0; k < 16; k++)
			sum += half_of(lanes[lane / 16 * 4 + r + k / 4 * 16].a, k % 4, bf16) *
			       half_of(lanes[lane % 16 + k / 4 * 16].b, k % 4, bf16);
		c[r] = (float)(c[r] + sum);
	}
	wait_as(AT_WARP);
}

/* Begins a matrix instruction of which the two halves of a warp show the same words. */
static const struct fibre *offer_twice(const uint32_t *a, const uint32_t *b, size_t bytes)
{
	const struct fibre *lanes = offer(32, a, b);
	unsigned other = (emu_now.tid + 16) % 32;

	if (memcmp(a, lanes[other].a, bytes) || memcmp(b, lanes[other].b, bytes))
		fatal("a matrix instruction whose lanes 0..15 and 16..31 differ");
	return lanes;
}

/* Lanes q and q + 16 have all 16 columns of row q of a, and the same of b transposed. */
void emu_wmma_i8(int32_t *c, const uint32_t *a, const uint32_t *b)
{
	const struct fibre *lanes = offer_twice(a, b, 16);
	unsigned lane = emu_now.tid % 32;

	for (unsigned r = 0; r < 8; r++) {
		const uint32_t *row = lanes[2 * r + lane / 16].a;

		for (unsigned k = 0; k < 16; k++)
			c[r] += (int8_t)(row[k / 4] >> 8 * (k % 4)) *
				(int8_t)(b[k / 4] >> 8 * (k % 4));
	}
	wait_as(AT_WARP);
}

void emu_wmma_16(int bf16, float *c, const uint32_t *a, const uint32_t *b)
{
	const struct fibre *lanes = offer_twice(a, b, 32);
	unsigned lane = emu_now.tid % 32;

	for (unsigned r = 0; r < 8; r++) {
		double sum = 0;

		for (unsigned k = 0; k < 16; k++)
			sum += half_of(lanes[2 * r + lane / 16].a, k, bf16) * half_of(b, k, bf16);
		c[r] = (float)(c[r] + sum);
	}
	wait_as(AT_WARP);
}

/* ---- instructions of warp groups ---- */

uint32_t emu_shared_address(const void *p)
{
	return (uint32_t)((const char *)p - emu_shared_memory);
}

void emu_wgmma_fence(void)
{
	emu->fibres[emu_now.tid].fenced = true;
}

void emu_proxy_fence(void)
{
	emu->fibres[emu_now.tid].proxy_fenced = true;
}

/* Value k of a row that a descriptor of PTX names, with swizzle of 32 bytes. */
static const char *described(uint64_t rows, unsigned line, unsigned k)
{
	uint32_t at = (uint32_t)(rows & 0x3fff) << 4, stride = (uint32_t)(rows >> 32 & 0x3fff) << 4;

	if (rows >> 62 != 3 || (rows >> 49 & 7) || at % 256 || stride % 256)
		fatal("rows for a warp group that are not in blocks of 256 bytes with swizzle of 32");
	at += line / 8 * stride + line % 8 * 32 + 2 * k;
	at ^= (at >> 7 & 1) << 4;
	if (at + 2 > emu->launch.shared)
		fatal("rows for a warp group outside of shared memory");
	return emu_shared_memory + at;
}

static void show_reads(const struct wgmma *m)
{
	unsigned row = emu_now.tid % 128; /* each thread stands for a row of both */

	for (unsigned k = 0; k < 16; k += 8) {
		emu_races_read(described(row < 64 ? m->a : m->b, row % 64, k), 16);
	}
}

void emu_wgmma(int bf16, float *c, uint64_t a, uint64_t b)
{
	struct fibre *f = &emu->fibres[emu_now.tid];

	if (emu_now.warp != 32 || emu_now.threads % 128)
		fatal("a matrix instruction of warp groups in a block that has none");
	if (!f->fenced || !f->proxy_fenced)
		fatal("a matrix instruction of a warp group without fences in front of it");
	if (f->n_wgmma == MOST_WGMMA)
		fatal("too many matrix instructions that nobody has waited for");
	f->wgmma[f->n_wgmma] = (struct wgmma){c, a, b, bf16};
	show_reads(&f->wgmma[f->n_wgmma++]);
}

static double described_half(const struct wgmma *m, uint64_t rows, unsigned line, unsigned k)
{
	uint16_t h;

	memcpy(&h, described(rows, line, k), sizeof(h));
	return (double)(m->bf16 ? gpu_bits_float((uint32_t)h << 16) : gpu_half_to_float(h));
}

void emu_wgmma_wait(void)
{
	struct fibre *f = &emu->fibres[emu_now.tid];
	unsigned warp = emu_now.tid % 128 / 32, lane = emu_now.tid % 32;

	for (unsigned n = 0; n < f->n_wgmma; n++) {
		const struct wgmma *m = &f->wgmma[n];

		show_reads(m);
		for (unsigned i = 0; i < 32; i++) {
			unsigned row = 16 * warp + lane / 4 + 8 * (i / 2 % 2),
				 column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
			double sum = 0;

			for (unsigned k = 0; k < 16; k++)
				sum += described_half(m, m->a, row, k) * described_half(m, m->b, column, k);
			m->c[i] = (float)(m->c[i] + sum);
		}
	}
	f->n_wgmma = 0;
	f->fenced = false;
}

/* ---- copies ---- */

static void load_matrices(uint32_t *r, const void *row, bool transposed)
{
	struct fibre *f = &emu->fibres[emu_now.tid];
	const struct fibre *lanes = &emu->fibres[emu_now.tid / 32 * 32];
	unsigned lane = emu_now.tid % 32;

	if (emu_now.warp != 32 || (uintptr_t)row % 16)
		fatal("matrices in rows that do not begin at multiples of 16 bytes");
	f->a = row;
	emu_races_read(row, 16);
	wait_as(AT_WARP);
	for (unsigned j = 0; j < 4; j++) {
		const uint32_t *first = lanes[8 * j + lane % 4 * 2].a + lane / 8,
			       *second = lanes[8 * j + lane % 4 * 2 + 1].a + lane / 8;
		unsigned shift = lane / 4 % 2 * 16; /* value lane / 4 of a row */

		r[j] = transposed ? (*first >> shift & 0xffff) | *second >> shift << 16
				  : lanes[8 * j + lane / 4].a[lane % 4];
	}
	wait_as(AT_WARP);
}

void emu_ldmatrix(uint32_t *r, const void *row)
{
	load_matrices(r, row, false);
}

void emu_ldmatrix_t(uint32_t *r, const void *row)
{
	load_matrices(r, row, true);
}

void emu_async16_or_zero(void *shared, const void *from, int copy)
{
	emu_async16(shared, from);
	if (!copy)
		emu->fibres[emu_now.tid].copies[emu->fibres[emu_now.tid].n_copy - 1].from = NULL;
}

void emu_async16(void *shared, const void *from)
{
	struct fibre *f = &emu->fibres[emu_now.tid];

	if ((uintptr_t)shared % 16 || (uintptr_t)from % 16)
		fatal("a copy of 16 bytes from or to an address that is not a multiple of 16");
	if (f->n_copy == MOST_COPIES)
		fatal("too many copies that nobody has waited for");
	f->copies[f->n_copy++] = (struct copy){shared, from, f->group, f->epoch};
}

void emu_async_commit(void)
{
	emu->fibres[emu_now.tid].group++;
}

void emu_async_wait(uint32_t n)
{
	struct fibre *f = &emu->fibres[emu_now.tid];
	unsigned kept = 0;

	for (unsigned i = 0; i < f->n_copy; i++) {
		const struct copy c = f->copies[i];

		if (c.group + n >= f->group) {
			f->copies[kept++] = c;
			continue;
		}
		emu_races_late_write(c.to, 16, c.epoch);
		if (c.from) {
			emu_races_read(c.from, 16);
			memcpy(c.to, c.from, 16);
		} else {
			memset(c.to, 0, 16);
		}
	}
	f->n_copy = kept;
	f->proxy_fenced = false;
}

/* ---- the scheduler ---- */

static unsigned draw(unsigned n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(rng >> 33) % n;
}

/* Runs every thread of a warp that can; returns whether there was one. */
static int run_lanes(unsigned first, unsigned n)
{
	unsigned start = emu->launch.order == EMU_SHUFFLED ? draw(n) : 0;
	int any = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned lane = emu->launch.order == EMU_REVERSE
					? n - 1 - i
					: (start + i * (start % 2 ? 1 : n - 1)) % n;

		if (emu->launch.order == EMU_FORWARD)
			lane = i;
		if (emu->fibres[first + lane].state != RUNNABLE)
			continue;
		emu_now.tid = first + lane;
		run_fibre(&emu->fibres[first + lane]);
		any = 1;
	}
	return any;
}

/* Runs a warp until its threads have ended, wait at a barrier of the block or have paused. */
static void run_warp(unsigned first, unsigned n)
{
	for (;;) {
		unsigned waiting = 0, ended = 0, paused = 0;

		while (run_lanes(first, n))
			;
		for (unsigned i = 0; i < n; i++) {
			waiting += emu->fibres[first + i].state == AT_WARP;
			ended += emu->fibres[first + i].state == ENDED;
			paused += emu->fibres[first + i].state == PAUSED;
		}
		if (!waiting || paused)
			return;
		if (waiting != n)
			fatal(ended ? "a shuffle lacks threads that have ended"
				    : "a shuffle lacks threads that wait for the block");
		for (unsigned i = 0; i < n; i++)
			emu->fibres[first + i].state = RUNNABLE;
	}
}

static void begin_block(void)
{
	memset(emu_shared_memory, POISON, emu->launch.shared);
	emu_races_block(emu->races);
	emu->n_ended = 0;
	for (unsigned i = 0; i < emu->launch.threads; i++) {
		emu->fibres[i].state = RUNNABLE;
		emu->fibres[i].n_copy = emu->fibres[i].group = emu->fibres[i].epoch = 0;
		emu->fibres[i].warp_epoch = emu->fibres[i].n_wgmma = 0;
		emu->fibres[i].fenced = emu->fibres[i].proxy_fenced = false;
		prepare(&emu->fibres[i], emu->stacks + (size_t)i * STACK_BYTES);
	}
}

/* Lets the threads go on that are in a state; returns how many there were. */
static unsigned wake(enum state s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < emu->launch.threads; i++) {
		if (emu->fibres[i].state != s)
			continue;
		emu->fibres[i].state = RUNNABLE;
		n++;
	}
	return n;
}

static unsigned n_paused(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < emu->launch.threads; i++)
		n += emu->fibres[i].state == PAUSED;
	return n;
}

/* Runs a block; returns 0 if threads have paused before its end. */
static int run_block(void)
{
	unsigned n = emu->launch.threads, warp = emu->launch.warp;

	if (!emu->in_block)
		begin_block();
	emu->in_block = 1;
	(void)wake(PAUSED);
	for (;;) {
		for (unsigned w = 0; w < n; w += warp)
			run_warp(w, n - w < warp ? n - w : warp);
		if (emu->n_ended == n)
			break;
		if (n_paused())
			return 0;
		if (emu->n_ended)
			fatal("a barrier lacks threads that have ended");
		(void)wake(AT_BLOCK);
	}
	emu->in_block = 0;
	return 1;
}

/* ---- launches ---- */

static struct emu_context *take_context(void)
{
	struct emu_context *c = free_contexts;

	if (c) {
		free_contexts = c->next;
		return c;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->stacks = mmap(NULL, (size_t)MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!c || c->stacks == MAP_FAILED) {
		(void)fprintf(stderr, "gpu emulation: no memory for stacks\n");
		abort();
	}
	return c;
}

struct emu_context *emu_begin(const struct emu_launch *l, const char *name)
{
	struct emu_context *c = take_context();

	emu = c;
	c->name = name;
	c->launch = *l;
	c->in_block = 0;
	if (!l->threads || l->threads > MOST_THREADS || l->threads % l->warp)
		fatal("a block of that many threads");
	c->shared = malloc(l->shared + 64);
	if (!c->shared)
		fatal("no shared memory");
	c->races = emu_races_begin();
	c->now = (struct emu_grid){
		.threads = l->threads, .grid_x = l->grid_x, .grid_y = l->grid_y, .warp = l->warp};
	return c;
}

int emu_go_on(struct emu_context *c)
{
	emu = c;
	emu_now = c->now;
	emu_shared_memory = c->shared;
	while (emu_now.block_y < c->launch.grid_y) {
		running = true;
		if (!run_block()) {
			c->now = emu_now;
			running = false;
			return 0;
		}
		running = false;
		if (++emu_now.block_x == c->launch.grid_x) {
			emu_now.block_x = 0;
			emu_now.block_y++;
		}
	}
	emu_abandon(c);
	return 1;
}

void emu_abandon(struct emu_context *c)
{
	emu_races_end(c->races);
	free(c->shared);
	c->next = free_contexts;
	free_contexts = c;
}
