/* SPDX-License-Identifier: MIT
 *
 * product.h - rows times a weight: what LINEAR, FFN, HEAD, MOE_FFN, BMM and PATCH have in common.
 *
 * First the rows of x are prepared (one phase): normed or gathered into memory of their own or
 * used where they are, and rounded to int8 if the device was opened so.  Then (another phase) each
 * part multiplies all of them with its share of the weight's rows: eight rows are decoded, used
 * for every row of x, and forgotten.  Results leave by a callback, eight or fewer at a time. */
#ifndef LLAMAD_REF_PRODUCT_H
#define LLAMAD_REF_PRODUCT_H

#include "norm.h"
#include "backend/common/view.h"
#include "ref.h"

/* Weight rows that are decoded at a time. */
#define REF_TILE 8

/* Prepared rows. */
struct ref_x {
	const float **row; /* [n] */
	float *copy;       /* [n][k] */
	int8_t *q;         /* [n][k] or NULL; see op_linear_int8.c */
	float *d;          /* [n][k/32] */
	uint32_t k;
};

/* Scratch of n prepared rows; then the same from a cursor, in the same order. */
void ref_x_need(struct ref_build *b, uint64_t n, uint32_t k);
struct ref_x ref_x_take(const struct ref_run *r, char **cursor, uint64_t n, uint32_t k);

/* Row i becomes the (row, head) of v, normed unless n is NULL or of kind NONE. */
void ref_x_set(const struct ref_x *x, uint64_t i, const struct hm_view *v, uint32_t row,
	       uint32_t head, const struct ref_norm *n);
/* Row i is what was written to its copy. */
void ref_x_own(const struct ref_x *x, uint64_t i);

/* Which rows: `list` [count] of item numbers, NULL = first..first+count; item i reads row i / div.
 * */
struct ref_items {
	const uint32_t *list;
	uint32_t first, count, div;
};

static inline uint32_t ref_item(const struct ref_items *items, uint32_t i)
{
	return items->list ? items->list[i] : items->first + i;
}

/* v[0..n): outputs n0..n0+n of item i, before scale and bias. */
typedef void (*ref_emit_fn)(void *arg, uint32_t i, uint32_t n0, uint32_t n, const float *v);

/* Scratch of one part. */
void ref_product_need(struct ref_build *b, const struct lmd_weight *w);

/* Outputs lo..hi, counted over all slices (output n of slice s is s*N + n). */
void ref_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		 const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		 ref_emit_fn emit, void *arg);

/* A part's share of n outputs, in whole tiles. */
void ref_tiles(const struct hm_part *p, uint64_t n, uint64_t *lo, uint64_t *hi);

/* delta[0..n) = scale * B (A x) of the adapter of (slot, site), zeros without one; of an adapter
 * with slices, those of `slice`. */
void ref_lora_row(const struct ref_run *r, uint32_t site, uint32_t slot, uint32_t slice,
		  const float *x, uint32_t n, float *delta);

/* op_linear_int8.c */
bool ref_int8_type(uint32_t dtype);
void ref_int8_quantise(const float *x, uint32_t k, int8_t *q, float *d);
uint64_t ref_int8_bytes(uint32_t k); /* scratch of one part */
void ref_int8_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		      const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		      ref_emit_fn emit, void *arg);

#endif /* LLAMAD_REF_PRODUCT_H */
