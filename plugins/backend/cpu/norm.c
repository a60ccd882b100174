/* SPDX-License-Identifier: MIT
 *
 * Norms: sums in f32 over SIMD lanes, two passes for LAYER. */
#include "norm.h"

#include "kern/float.h"

struct cpu_norm cpu_norm(const struct cpu_run *r, const struct lmd_norm *n)
{
	struct cpu_norm x = {.n = n};

	if (n->kind != LMD_NORM_NONE) {
		x.g = host_mem_view(&r->host_mem, &n->g);
		x.b = host_mem_view(&r->host_mem, &n->b);
	}
	return x;
}

void cpu_norm_stat(const struct lmd_norm *n, float mean, float sq, uint64_t count, float stat[2])
{
	float sigma;

	stat[0] = n->kind == LMD_NORM_LAYER ? mean : 0.0f;
	stat[1] = 1.0f;
	if (n->kind == LMD_NORM_L2) {
		sigma = sqrtf(sq);
		stat[1] = 1.0f / (sigma > n->eps ? sigma : n->eps);
	} else if (n->kind != LMD_NORM_NONE) {
		stat[1] = 1.0f / sqrtf(sq / (float)count + n->eps);
	}
}

/* Columns col0 ... of gain or offset; NULL if there is none or if they are not contiguous. */
static const float *vector(const struct host_mem_view *v, uint32_t row, uint32_t head,
			   uint32_t col0)
{
	head = v->n_head > 1 ? head : 0;
	if (!v->base || v->i32 || !host_mem_whole(v, head))
		return NULL;
	return (const float *)host_mem_el(v, row, head, 0) + col0;
}

void cpu_norm_scale(const struct cpu_run *r, const struct cpu_norm *n, uint32_t row, uint32_t head,
		    uint32_t col0, uint32_t count, const float *x, float *y, const float stat[2])
{
	const float *g = vector(&n->g, row, head, col0), *b = vector(&n->b, row, head, col0);
	float one = n->n->g_plus_one ? 1.0f : 0.0f;

	r->dev->fl->norm(x, y, count, stat[0], stat[1], g, one, b);
	for (uint32_t c = 0; n->g.base && !g && c < count; c++)
		y[c] *= host_mem_get(&n->g, row, n->g.n_head > 1 ? head : 0, col0 + c) + one;
	for (uint32_t c = 0; n->b.base && !b && c < count; c++)
		y[c] += host_mem_get(&n->b, row, n->b.n_head > 1 ? head : 0, col0 + c);
}

void cpu_norm_row(const struct cpu_run *r, const struct cpu_norm *n, uint32_t row, uint32_t head,
		  const float *x, float *y, uint32_t width, float *stat)
{
	const struct cpu_float *fl = r->dev->fl;
	uint32_t size = n->n->n ? n->n->n : width;

	for (uint32_t at = 0, group = 0; at < width; at += size, group++) {
		uint32_t count = width - at < size ? width - at : size;
		float mean =
			n->n->kind == LMD_NORM_LAYER ? fl->sum(x + at, count) / (float)count : 0;
		float s[2];

		cpu_norm_stat(n->n, mean, fl->sum_sq(x + at, mean, count), count, s);
		cpu_norm_scale(r, n, row, head, at, count, x + at, y + at, s);
		if (stat) {
			stat[2 * group] = s[0];
			stat[2 * group + 1] = s[1];
		}
	}
}
