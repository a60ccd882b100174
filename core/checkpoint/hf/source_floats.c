/* SPDX-License-Identifier: MIT
 *
 * Rows of a source as floats, whatever its scheme. */
#include "core/checkpoint/hf/checkpoint_impl.h"

/* Decodes a row and multiplies it with its scales. */
static enum lmd_status scaled_row(struct lmi_checkpoint *f,
				  const struct lmi_checkpoint_weight_source *s, uint64_t row,
				  float *out, struct lmd_error *err)
{
	const struct lmi_st_tensor *t = s->scale;
	uint64_t n = lmi_st_elems(t), k = 1, at = 0, wide;
	enum lmd_status st =
		lmi_checkpoint_source_values(f, s->w, row * s->cols, s->cols, out, err);
	float *scale;

	if (lmi_checkpoint_source_is_scaled_by_row(s)) {
		at = row;
	} else if (n > 1) { /* blocks have equal sizes except the last ones */
		uint64_t tall = (s->rows + (uint64_t)t->dims[0] - 1) / (uint64_t)t->dims[0];

		k = (uint64_t)t->dims[1];
		at = row / tall * k;
	}
	scale = lmi_checkpoint_scratch_reserve(&f->values, k, sizeof(*scale), err);
	if (!scale)
		return LMD_NOMEM;
	if (st == LMD_OK)
		st = lmi_checkpoint_source_values(f, t, at, k, scale, err);
	wide = (s->cols + k - 1) / k;
	for (uint64_t c = 0; st == LMD_OK && c < s->cols; c++)
		out[c] *= scale[c / wide];
	return st;
}

enum lmd_status lmi_checkpoint_source_floats(struct lmi_checkpoint *f,
					     const struct lmi_checkpoint_weight_source *s,
					     uint64_t row0, uint64_t n, float *out,
					     struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (s->scheme == LMI_CHECKPOINT_SCHEME_PLAIN)
		return lmi_checkpoint_source_values(f, s->w, row0 * s->cols, n * s->cols, out, err);
	if (s->scheme != LMI_CHECKPOINT_SCHEME_SCALED)
		return lmi_checkpoint_source_coded_floats(f, s, row0, n, out, err);
	for (uint64_t r = row0; st == LMD_OK && r < row0 + n; r++, out += s->cols)
		st = scaled_row(f, s, r, out, err);
	return st;
}
