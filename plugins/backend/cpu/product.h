/* SPDX-License-Identifier: MIT
 *
 * product.h - rows times a weight: what LINEAR, FFN, HEAD, MOE_FFN, BMM and PATCH have in common.
 *
 * First the rows of x are prepared: normed, gathered, and rounded to 8 bits where the kernel of a
 * weight wants them so.  Many rows are prepared by all threads in a phase of its own; few rows by
 * each thread for itself, which saves a barrier.  Then every thread multiplies all rows with
 * slices of the weight's rows, which it claims one after the other. */
#ifndef LLAMAD_CPU_PRODUCT_H
#define LLAMAD_CPU_PRODUCT_H

#include "kern/kern.h"
#include "norm.h"
#include "backend/common/view.h"
#include "cpu.h"

/* ---- prepared rows ---- */

/* Up to this many numbers of x every thread prepares them for itself. */
#define CPU_SMALL 8192u

struct cpu_x {
	uint32_t n, k;
	float *f;         /* [n][k] rows as floats, or NULL if none are kept */
	char *q;          /* [n][KERN_Q8_BYTES(k)], or NULL */
	const void **row; /* [n] where the floats of a row are */
};

/* What a weight wants: KERN_ACT_F32 or KERN_ACT_Q8. */
const struct kern_linear *cpu_kernel_of(const struct cpu_dev *dev, const struct lmd_weight *w);
bool cpu_wants_q8(const struct cpu_dev *dev, const struct lmd_weight *w);

/* Scratch of n prepared rows of k; then the same from a cursor, in the same order. */
void cpu_x_need(uint64_t *bytes, uint64_t n, uint32_t k, bool q8);
struct cpu_x cpu_x_take(char **cursor, uint64_t n, uint32_t k, bool q8);

/* Row i becomes the (row, head) of v, normed unless n is NULL or of kind NONE. */
void cpu_x_set(const struct cpu_run *r, const struct cpu_x *x, uint64_t i, const struct hm_view *v,
	       uint32_t row, uint32_t head, const struct cpu_norm *n);
/* Row i is what was written to x->f + i*k. */
void cpu_x_own(const struct cpu_run *r, const struct cpu_x *x, uint64_t i);

/* ---- products ---- */

/* Which rows of x: `list` [count] of item numbers, NULL = first..first+count; item i reads row
 * i / div. */
struct cpu_items {
	const uint32_t *list;
	uint32_t first, count, div;
};

static inline uint32_t cpu_item(const struct cpu_items *items, uint32_t i)
{
	return items->list ? items->list[i] : items->first + i;
}

/* v[0..n): outputs n0..n0+n of item i of a slice, before scale and bias; v is where `place` said,
 * or memory of the product's own. */
struct cpu_emit {
	void *arg;
	/* Where the n outputs of an item from n0 on should be put; without it: anywhere. */
	float *(*place)(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n);
	void (*done)(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v);
};

/* Rows lo..hi of a slice of a weight; `next`: what the thread will read after them, if that is
 * known (NULL: it is not), which begins to come from memory while these are multiplied. */
struct cpu_rows {
	uint32_t slice, lo, hi;
	const void *next;
};

/* Scratch of one part for products of up to n_item items. */
void cpu_product_need(struct cpu_build *b, uint64_t *bytes, const struct lmd_weight *w,
		      uint64_t n_item);
void cpu_product(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		 const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		 const struct cpu_emit *emit);

/* The same in float, whatever the device's activations. */
void cpu_product_f32(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		     const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		     const struct cpu_emit *emit);

/* How the work of a product is shared out, in lists of chunks of output rows.  A part claims
 * chunks of its own list first, in order, then those that others left in theirs.
 *   Few items: a list has a range of the output rows, for all items; so a thread reads a stretch of
 * the weight from one end to the other, and knows what it will read next.
 *   Many items (a prompt): a list has a range of the items, for all output rows; so a row's numbers
 * stay with one processor from phase to phase, since hm_slice gives it the same rows. */
struct cpu_grid {
	uint32_t n_list, own;
	uint32_t n_item;
	uint32_t chunk; /* output rows: a multiple of KERN_ROWS */
	bool by_item;
};

/* A claim: chunk number `chunk` of the list. */
struct cpu_claim {
	uint32_t list, chunk;
	bool last; /* of its list */
};

/* For n_item items and n_row output rows in all; the same for all parts but `own`. */
struct cpu_grid cpu_grid(uint32_t part, uint32_t n_part, uint32_t n_item, uint64_t n_row);
/* Chunks of list number `list` out of n: first and end. */
static inline void cpu_grid_list(const struct cpu_grid *g, uint32_t n, uint32_t list,
				 uint32_t *first, uint32_t *end)
{
	*first = g->by_item ? 0 : (uint32_t)((uint64_t)n * list / g->n_list);
	*end = g->by_item ? n : (uint32_t)((uint64_t)n * (list + 1) / g->n_list);
}
/* The next of n chunks of some list; false: none is left. */
bool cpu_grid_claim(const struct cpu_part *p, const struct cpu_grid *g, uint32_t n,
		    struct cpu_claim *c);
/* Items of a claim. */
static inline struct cpu_items cpu_grid_items(const struct cpu_grid *g, const struct cpu_claim *c)
{
	uint32_t n = g->by_item ? g->n_list : 1, i = g->by_item ? c->list : 0;
	uint32_t lo = (uint32_t)((uint64_t)g->n_item * i / n);
	uint32_t hi = (uint32_t)((uint64_t)g->n_item * (i + 1) / n);

	return (struct cpu_items){.first = lo, .count = hi - lo, .div = 1};
}

/* Chunks that n output rows make, and where chunk c ends. */
static inline uint32_t cpu_grid_chunks(const struct cpu_grid *g, uint64_t n)
{
	return (uint32_t)((n + g->chunk - 1) / g->chunk);
}

static inline uint64_t cpu_grid_end(const struct cpu_grid *g, uint64_t n, uint32_t c)
{
	return n - (uint64_t)c * g->chunk < g->chunk ? n : (uint64_t)(c + 1) * g->chunk;
}

/* All of slice 0 of w for n_item items, shared out. */
void cpu_product_shared(const struct cpu_run *r, const struct cpu_part *p, const struct cpu_x *x,
			uint32_t n_item, const struct lmd_weight *w, char *scratch,
			const struct cpu_emit *emit);
/* The first rows of slice 0 that a part multiplies when the rows of w are shared out alone. */
const void *cpu_grid_first(const struct lmd_weight *w, uint32_t part, uint32_t n_part);

/* ---- adapters ---- */

/* delta[0..n) = scale * B (A x) of the adapter of (slot, site), zeros without one; of an adapter
 * with slices, those of `slice`. */
void cpu_lora_row(const struct cpu_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t k, uint32_t n, float *delta);

#endif /* LLAMAD_CPU_PRODUCT_H */
