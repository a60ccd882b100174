/* SPDX-License-Identifier: MIT
 *
 * product.h - rows times a weight, as used by LINEAR, FFN, HEAD, MOE_FFN, BMM and PATCH.
 *
 * First the rows of x are prepared: normed, gathered, and rounded to int8, int16 or bf16 if the
 * weight's kernel takes that.  Many rows are prepared by all threads in a separate phase.  Few rows are
 * prepared by each thread for itself, which saves a barrier.  Then each thread multiplies all rows
 * with slices of the weight's rows, which it claims one after the other. */
#ifndef LLAMAD_CPU_PRODUCT_H
#define LLAMAD_CPU_PRODUCT_H

#include "kern/kern.h"
#include "norm.h"
#include "backend/common/view.h"
#include "cpu.h"

/* ---- prepared rows ---- */

/* Each thread prepares x for itself if it has at most this many numbers. */
#define CPU_SMALL 8192u

struct cpu_x {
	uint32_t n, k, n_q8;
	float *f;         /* [n][k] rows as floats; NULL if none are kept */
	char *q;          /* [n][n_q8][KERN_Q8_BYTES(k)], or NULL */
	char *bf16;       /* [n][KERN_BF16_BYTES(k)], or NULL */
	const void **row; /* [n] address of each row's floats */
};

/* The kernel for a weight. */
const struct kern_linear *cpu_kernel_of(const struct cpu_dev *dev, const struct lmd_weight *w);
/* What is prepared of a row of x besides its floats. */
struct cpu_forms {
	uint32_t n_q8; /* rows of 8 bits that stand for it */
	bool bf16;
};

/* The forms that the kernels of these n weights take, of which some may be NULL; and all that any
 * weight may need. */
struct cpu_forms cpu_forms_of(const struct cpu_dev *dev, const struct lmd_weight *const *w,
			      uint32_t n);
struct cpu_forms cpu_forms_all(const struct cpu_dev *dev);

/* Adds the scratch for n prepared rows of k; takes it from a cursor in the same order. */
void cpu_x_need(uint64_t *bytes, uint64_t n, uint32_t k, struct cpu_forms forms);
struct cpu_x cpu_x_take(char **cursor, uint64_t n, uint32_t k, struct cpu_forms forms);

/* Sets row i to a (row, head) of v, normed unless n is NULL or of kind NONE. */
void cpu_x_set(const struct cpu_run *r, const struct cpu_x *x, uint64_t i,
	       const struct host_mem_view *v, uint32_t row, uint32_t head,
	       const struct cpu_norm *n);
/* Sets row i from what was written to x->f + i*k. */
void cpu_x_own(const struct cpu_run *r, const struct cpu_x *x, uint64_t i);

/* ---- products ---- */

/* Selects rows of x: `list` [count] holds item numbers, NULL = [first, first + count).  Item i
 * reads row i / div. */
struct cpu_items {
	const uint32_t *list;
	uint32_t first, count, div;
};

static inline uint32_t cpu_item(const struct cpu_items *items, uint32_t i)
{
	return items->list ? items->list[i] : items->first + i;
}

/* Receives outputs.  v[0..n) are the outputs [n0, n0 + n) of an item of a slice, before scale and
 * bias; v is the address that `place` returned, or memory of the product. */
struct cpu_emit {
	void *arg;
	/* Optional: returns where the n outputs of an item from n0 on are to be written. */
	float *(*place)(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n);
	void (*done)(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v);
};

/* Rows [lo, hi) of a slice of a weight.  `next`: what the thread reads after them, which is
 * prefetched while they are multiplied; NULL if unknown. */
struct cpu_rows {
	uint32_t slice, lo, hi;
	const void *next;
};

/* Adds the scratch that one part needs for products of up to n_item items. */
void cpu_product_need(struct cpu_build *b, uint64_t *bytes, const struct lmd_weight *w,
		      uint64_t n_item);
void cpu_product(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		 const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		 const struct cpu_emit *emit);

/* Like cpu_product, but always in float, whatever the device's activations are. */
void cpu_product_f32(const struct cpu_run *r, const struct cpu_x *x, const struct cpu_items *items,
		     const struct lmd_weight *w, const struct cpu_rows *rows, char *scratch,
		     const struct cpu_emit *emit);

/* How a product is divided into lists of chunks of output rows.  A part claims the chunks of its
 * own list first, in order, and then those left in the lists of others.
 *
 * Few items: a list is a range of the output rows, for all items.  So a thread reads a stretch of
 * the weight from one end to the other, and knows what it reads next.
 *
 * Many items (a prompt): a list is a range of the items, for all output rows.  So the numbers of a
 * row stay with one processor from phase to phase, since host_mem_slice gives it the same rows. */
struct cpu_grid {
	uint32_t n_list, own;
	uint32_t n_item;
	uint32_t chunk; /* output rows, a multiple of KERN_ROWS */
	bool by_item;
};

/* A claimed chunk: number `chunk` of list `list`. */
struct cpu_claim {
	uint32_t list, chunk;
	bool last; /* last chunk of its list */
};

/* The grid for n_item items and n_row output rows in all; the same for all parts except `own`. */
struct cpu_grid cpu_grid(uint32_t part, uint32_t n_part, uint32_t n_item, uint64_t n_row);
/* The range of chunks, out of n, that belongs to list number `list`. */
static inline void cpu_grid_list(const struct cpu_grid *g, uint32_t n, uint32_t list,
				 uint32_t *first, uint32_t *end)
{
	*first = g->by_item ? 0 : (uint32_t)((uint64_t)n * list / g->n_list);
	*end = g->by_item ? n : (uint32_t)((uint64_t)n * (list + 1) / g->n_list);
}
/* Claims the next of n chunks; returns false if none is left. */
bool cpu_grid_claim(const struct cpu_part *p, const struct cpu_grid *g, uint32_t n,
		    struct cpu_claim *c);
/* The items of a claimed chunk. */
static inline struct cpu_items cpu_grid_items(const struct cpu_grid *g, const struct cpu_claim *c)
{
	uint32_t n = g->by_item ? g->n_list : 1, i = g->by_item ? c->list : 0;
	uint32_t lo = (uint32_t)((uint64_t)g->n_item * i / n);
	uint32_t hi = (uint32_t)((uint64_t)g->n_item * (i + 1) / n);

	return (struct cpu_items){.first = lo, .count = hi - lo, .div = 1};
}

/* Number of chunks of n output rows; and the end of chunk c. */
static inline uint32_t cpu_grid_chunks(const struct cpu_grid *g, uint64_t n)
{
	return (uint32_t)((n + g->chunk - 1) / g->chunk);
}

static inline uint64_t cpu_grid_end(const struct cpu_grid *g, uint64_t n, uint32_t c)
{
	return n - (uint64_t)c * g->chunk < g->chunk ? n : (uint64_t)(c + 1) * g->chunk;
}

/* Multiplies all of slice 0 of w for n_item items, divided among the parts. */
void cpu_product_shared(const struct cpu_run *r, const struct cpu_part *p, const struct cpu_x *x,
			uint32_t n_item, const struct lmd_weight *w, char *scratch,
			const struct cpu_emit *emit);
/* The first rows of slice 0 that a part multiplies if the rows of w are divided by output rows. */
const void *cpu_grid_first(const struct lmd_weight *w, uint32_t part, uint32_t n_part);

/* ---- adapters ---- */

/* delta[0..n) = scale * B (A x) of the adapter of (slot, site), zeros without an adapter; for an
 * adapter with slices, those of `slice`. */
void cpu_lora_row(const struct cpu_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t k, uint32_t n, float *delta);

#endif /* LLAMAD_CPU_PRODUCT_H */
