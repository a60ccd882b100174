/* SPDX-License-Identifier: MIT
 *
 * norm.h - the norm of one (row, head), used by prologues and by op NORM. */
#ifndef LLAMAD_REF_NORM_H
#define LLAMAD_REF_NORM_H

#include "backend/common/view.h"
#include "ref.h"

struct ref_norm {
	const struct lmd_norm *n;
	struct host_mem_view g, b;
};

struct ref_norm ref_norm(const struct ref_run *r, const struct lmd_norm *n);

/* y = norm(x); y may be x.  stat: NULL, or [groups*2] that receives mean and 1/sigma. */
void ref_norm_row(const struct ref_norm *n, uint32_t row, uint32_t head, const float *x, float *y,
		  uint32_t width, float *stat);

/* The two halves of a norm.  ref_norm_stat computes mean and 1/sigma of `count` numbers from their
 * sum and their sum of squares (LAYER: of the deviations from the mean). */
void ref_norm_stat(const struct lmd_norm *n, double sum, double sq, uint64_t count, float stat[2]);
/* y = (x - mean) / sigma * g + b for columns [col0, col0 + count) of a row. */
void ref_norm_scale(const struct ref_norm *n, uint32_t row, uint32_t head, uint32_t col0,
		    uint32_t count, const float *x, float *y, const float stat[2]);

#endif /* LLAMAD_REF_NORM_H */
