/* SPDX-License-Identifier: MIT
 *
 * patch.h - the windows of PATCH (llamad/op.h), written down as rows.  No number changes. */
#ifndef LLAMAD_BACKEND_COMMON_PATCH_H
#define LLAMAD_BACKEND_COMMON_PATCH_H

#include "backend/common/view.h"

struct hm_patch {
	const struct hm_run *r;
	const struct lmd_op_patch *op;
	struct hm_view x, y;
	uint32_t space; /* of x */
};

struct hm_patch hm_patch(const struct hm_run *r, const struct lmd_op_patch *op);

/* The window of row `row` of y: columns of x times the places of the kernel, zeros outside of the
 * map and for rows beyond the last window. */
void hm_patch_window(const struct hm_patch *p, uint32_t row, float *out);

#endif /* LLAMAD_BACKEND_COMMON_PATCH_H */
