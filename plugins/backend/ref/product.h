/* SPDX-License-Identifier: MIT
 *
 * product.h - rows times a weight, as used by LINEAR, FFN, HEAD, MOE_FFN, BMM and PATCH.
 *
 * First the rows of x are prepared (one phase): normed or gathered into separate memory, or used
 * in place; and rounded to int8 or int16 if the device was opened that way.  Then (another phase)
 * each part multiplies all of them with its share of the weight's rows: eight weight rows are
 * decoded at a time and used for every row of x.  A callback receives the results, at most eight at
 * a time. */
#ifndef LLAMAD_REF_PRODUCT_H
#define LLAMAD_REF_PRODUCT_H

#include "norm.h"
#include "backend/common/view.h"
#include "ref.h"

/* Number of weight rows that are decoded at a time. */
#define REF_TILE 8

/* Prepared rows. */
struct ref_x {
	const float **row; /* [n] */
	float *copy;       /* [n][k] */
	uint32_t k, n_q8;
	int8_t *q;         /* [n][n_q8][k] or NULL; see op_linear_int8.c */
	float *d;          /* [n][n_q8][k/32] */
};

/* Adds the scratch for n prepared rows; takes it from a cursor in the same order. */
void ref_x_need(struct ref_build *b, uint64_t n, uint32_t k);
struct ref_x ref_x_take(const struct ref_run *r, char **cursor, uint64_t n, uint32_t k);

/* Sets row i to a (row, head) of v, normed unless n is NULL or of kind NONE. */
void ref_x_set(const struct ref_x *x, uint64_t i, const struct host_mem_view *v, uint32_t row,
	       uint32_t head, const struct ref_norm *n);
/* Sets row i from what was written to its copy. */
void ref_x_own(const struct ref_x *x, uint64_t i);

/* Selects rows: `list` [count] holds item numbers, NULL = [first, first + count).  Item i reads row
 * i / div. */
struct ref_items {
	const uint32_t *list;
	uint32_t first, count, div;
};

static inline uint32_t ref_item(const struct ref_items *items, uint32_t i)
{
	return items->list ? items->list[i] : items->first + i;
}

/* Receives v[0..n): the outputs [n0, n0 + n) of item i, before scale and bias. */
typedef void (*ref_emit_fn)(void *arg, uint32_t i, uint32_t n0, uint32_t n, const float *v);

/* Adds the scratch that one part needs. */
void ref_product_need(struct ref_build *b, const struct lmd_weight *w);

/* Computes outputs [lo, hi), counted over all slices (output n of slice s is s*N + n). */
void ref_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		 const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		 ref_emit_fn emit, void *arg);

/* A part's share [lo, hi) of n outputs, in whole tiles. */
void ref_tiles(const struct host_mem_part *p, uint64_t n, uint64_t *lo, uint64_t *hi);

/* delta[0..n) = scale * B (A x) of the adapter of (slot, site), zeros without an adapter; for an
 * adapter with slices, those of `slice`. */
void ref_lora_row(const struct ref_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t n, float *delta);

/* op_linear_int8.c */
void ref_int8_quantise(const float *x, uint32_t k, uint32_t n_q8, int8_t *q, float *d);
uint64_t ref_int8_bytes(uint32_t k); /* scratch of one part */
void ref_int8_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		      const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		      ref_emit_fn emit, void *arg);

#endif /* LLAMAD_REF_PRODUCT_H */
