/* SPDX-License-Identifier: MIT
 *
 * naive_test.h - tests: evaluates all ops a second time, in double, written from llamad/op.h
 * alone.
 *
 * Nothing of the backend is used and nothing is fast: every value is an array of doubles, elements
 * are fetched by the definition of an operand, and every op is its formula. */
#ifndef LLAMAD_REF_NAIVE_TEST_H
#define LLAMAD_REF_NAIVE_TEST_H

#include "core/conformance/opcase_priv.h"

struct naive {
	const struct oc *c;
	const struct lmd_plan *p;
	const struct lmd_step *s;
	uint32_t n_q8;	       /* how often activations before block types are rounded */
	double **value;	       /* [n_value][rows][width] */
	double **weight;       /* [n_weight_ref][n_stack*n*k] */
	uint32_t *dtype;       /* [n_weight_ref] */
	double *k[16], *v[16]; /* caches: [sequence slot][key][columns]; states: [slot][...] */
};

/* Evaluates the plan and returns results like those of oc_execute; false if memory ran out. */
bool naive_run(const struct oc *c, uint32_t n_q8, struct oc_result *out);

/* ---- shared by the files of ops ---- */

double get(const struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t head,
	   uint32_t col);
void put(struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t head, uint32_t col,
	 double x);
/* Column j, counted across the heads. */
double get_flat(const struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t j);
void put_flat(struct naive *n, const struct lmd_operand *o, uint32_t row, uint32_t j, double x);
uint32_t cols(const struct lmd_operand *o);
/* Live rows of an operand that is a value or an input. */
uint32_t rows_of(const struct naive *n, const struct lmd_operand *o);
uint32_t space_of(const struct naive *n, const struct lmd_operand *o);

/* Row `row` of slice `slice` of a weight, and its scale and bias. */
const double *wrow(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row);
double wscale(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row);
double wbias(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row);
/* Sum of x[i]*w[i]; rounds x if n_q8 and the weight's type ask for it. */
double product(const struct naive *n, uint32_t weight_ref, uint32_t slice, uint32_t row,
	       const double *x);
/* The factor that the adapter of a row has for output i. */
double lora_factor(const struct naive *n, uint32_t site, uint32_t space, uint32_t row,
		   uint32_t slice, uint32_t i);
/* What the adapter of a row adds to output i of a slice at a site. */
double lora(const struct naive *n, uint32_t site, uint32_t space, uint32_t row, uint32_t slice,
	    const double *x, uint32_t i);

uint32_t seq_of(const struct naive *n, uint32_t space, uint32_t row);
void seq_rows(const struct naive *n, uint32_t space, uint32_t seq, uint32_t *first, uint32_t *len);
/* The row of TOKENS that a row stands for, or -1. */
int64_t token_of(const struct naive *n, uint32_t space, uint32_t row);

double act(uint32_t kind, const float *p, double x, const double *b);
/* y = norm(x) of one (row, head) with `width` columns. */
void norm_row(const struct naive *n, const struct lmd_norm *m, uint32_t row, uint32_t head,
	      const double *x, double *y, uint32_t width, double *stat);

/* Converts one row of a cache to the cache's type and back. */
void cache_store(const struct naive *n, uint32_t dtype, const double *x, double *to,
		 uint32_t count);

typedef void (*naive_op)(struct naive *n, const struct lmd_op *op);
void naive_embed(struct naive *n, const struct lmd_op *op);
void naive_norm(struct naive *n, const struct lmd_op *op);
void naive_linear(struct naive *n, const struct lmd_op *op);
void naive_rope_kv(struct naive *n, const struct lmd_op *op);
void naive_attn(struct naive *n, const struct lmd_op *op);
void naive_glu(struct naive *n, const struct lmd_op *op);
void naive_ffn(struct naive *n, const struct lmd_op *op);
void naive_head(struct naive *n, const struct lmd_op *op);
void naive_sample(struct naive *n, const struct lmd_op *op);
void naive_ew(struct naive *n, const struct lmd_op *op);
void naive_route(struct naive *n, const struct lmd_op *op);
void naive_moe_ffn(struct naive *n, const struct lmd_op *op);
void naive_bmm(struct naive *n, const struct lmd_op *op);
void naive_gather(struct naive *n, const struct lmd_op *op);
void naive_reduce(struct naive *n, const struct lmd_op *op);
void naive_softmax(struct naive *n, const struct lmd_op *op);
void naive_conv(struct naive *n, const struct lmd_op *op);
void naive_scan(struct naive *n, const struct lmd_op *op);
void naive_mix(struct naive *n, const struct lmd_op *op);
void naive_index(struct naive *n, const struct lmd_op *op);
void naive_cast_copy(struct naive *n, const struct lmd_op *op);
void naive_patch(struct naive *n, const struct lmd_op *op);

#endif /* LLAMAD_REF_NAIVE_TEST_H */
