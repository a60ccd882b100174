/* SPDX-License-Identifier: MIT
 *
 * patch.h - copies the windows of PATCH (llamad/op.h) into rows; the numbers themselves do not
 * change. */
#ifndef LLAMAD_BACKEND_COMMON_PATCH_H
#define LLAMAD_BACKEND_COMMON_PATCH_H

#include "backend/common/view.h"

struct host_mem_patch {
	const struct host_mem_run *r;
	const struct lmd_op_patch *op;
	struct host_mem_view x, y;
	uint32_t space; /* space of x's rows */
};

struct host_mem_patch host_mem_patch(const struct host_mem_run *r, const struct lmd_op_patch *op);

/* Writes the window of row `row` of y: (columns of x) * (kernel positions) numbers; zeros outside
 * the map and for rows past the last window. */
void host_mem_patch_window(const struct host_mem_patch *p, uint32_t row, float *out);

#endif /* LLAMAD_BACKEND_COMMON_PATCH_H */
