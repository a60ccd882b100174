/* SPDX-License-Identifier: MIT
 *
 * Norms: sums in double, two passes for LAYER, so that nothing depends on the order of the columns.
 * */
#include "norm.h"

struct ref_norm ref_norm(const struct ref_run *r, const struct lmd_norm *n)
{
	struct ref_norm x = {.n = n};

	if (n->kind != LMD_NORM_NONE) {
		x.g = host_mem_view(&r->host_mem, &n->g);
		x.b = host_mem_view(&r->host_mem, &n->b);
	}
	return x;
}

void ref_norm_stat(const struct lmd_norm *n, double sum, double sq, uint64_t count, float stat[2])
{
	double inv;

	stat[0] = 0.0f;
	switch ((enum lmd_norm_kind)n->kind) {
	case LMD_NORM_NONE:
		stat[1] = 1.0f;
		break;
	case LMD_NORM_LAYER:
		stat[0] = (float)(sum / (double)count);
		stat[1] = (float)(1.0 / sqrt(sq / (double)count + (double)n->eps));
		break;
	case LMD_NORM_RMS:
		stat[1] = (float)(1.0 / sqrt(sq / (double)count + (double)n->eps));
		break;
	case LMD_NORM_L2:
		inv = sqrt(sq);
		stat[1] = (float)(1.0 / (inv > (double)n->eps ? inv : (double)n->eps));
		break;
	}
}

void ref_norm_scale(const struct ref_norm *n, uint32_t row, uint32_t head, uint32_t col0,
		    uint32_t count, const float *x, float *y, const float stat[2])
{
	uint32_t gh = n->g.n_head > 1 ? head : 0, bh = n->b.n_head > 1 ? head : 0;
	float one = n->n->g_plus_one ? 1.0f : 0.0f;

	for (uint32_t c = 0; c < count; c++) {
		float v = (x[c] - stat[0]) * stat[1];

		if (n->g.base)
			v *= host_mem_get(&n->g, row, gh, col0 + c) + one;
		if (n->b.base)
			v += host_mem_get(&n->b, row, bh, col0 + c);
		y[c] = v;
	}
}

void ref_norm_row(const struct ref_norm *n, uint32_t row, uint32_t head, const float *x, float *y,
		  uint32_t width, float *stat)
{
	uint32_t size = n->n->n ? n->n->n : width;

	for (uint32_t at = 0, group = 0; at < width; at += size, group++) {
		uint32_t count = width - at < size ? width - at : size;
		double sum = 0, sq = 0, mean = 0;
		float s[2];

		if (n->n->kind == LMD_NORM_LAYER) {
			for (uint32_t c = 0; c < count; c++)
				sum += (double)x[at + c];
			mean = sum / count;
		}
		for (uint32_t c = 0; c < count; c++)
			sq += ((double)x[at + c] - mean) * ((double)x[at + c] - mean);
		ref_norm_stat(n->n, sum, sq, count, s);
		ref_norm_scale(n, row, head, at, count, x + at, y + at, s);
		if (stat) {
			stat[2 * group] = s[0];
			stat[2 * group + 1] = s[1];
		}
	}
}
