/* SPDX-License-Identifier: MIT
 *
 * norm.h - the norm of one (row, head), used by prologues and by op NORM. */
#ifndef LLAMAD_CPU_NORM_H
#define LLAMAD_CPU_NORM_H

#include "backend/common/view.h"
#include "cpu.h"

struct cpu_norm {
	const struct lmd_norm *n;
	struct host_mem_view g, b;
};

struct cpu_norm cpu_norm(const struct cpu_run *r, const struct lmd_norm *n);

/* y = norm(x); y may be x.  stat: NULL, or [groups*2] that receives mean and 1/sigma. */
void cpu_norm_row(const struct cpu_run *r, const struct cpu_norm *n, uint32_t row, uint32_t head,
		  const float *x, float *y, uint32_t width, float *stat);

/* The two halves of a norm.  cpu_norm_stat computes mean and 1/sigma of `count` numbers from their
 * mean and their sum of squares (LAYER: of the deviations from the mean). */
void cpu_norm_stat(const struct lmd_norm *n, float mean, float sq, uint64_t count, float stat[2]);
/* y = (x - mean) / sigma * g + b for columns [col0, col0 + count) of a row. */
void cpu_norm_scale(const struct cpu_run *r, const struct cpu_norm *n, uint32_t row, uint32_t head,
		    uint32_t col0, uint32_t count, const float *x, float *y, const float stat[2]);

#endif /* LLAMAD_CPU_NORM_H */
