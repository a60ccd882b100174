/* SPDX-License-Identifier: MIT
 *
 * SCAN: one head of one sequence at a time, one row after the other.
 *
 * The state of a head is decoded from its slot, updated row by row, and encoded after each row
 * that asks for it.  S is stored as the formula writes it, with the last index running fastest. */
#include <string.h>

#include "ops.h"
#include "backend/common/scan.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_scan *o = &op->u.scan;
	enum lmd_status st = host_mem_need_cache(&b->compiled_plan->host_mem, o->cache, err);

	for (int i = 0; st == LMD_OK && i < 2; i++)
		st = host_mem_flatten(&b->host_mem, o->w[i], err);
	host_mem_scan_need(&b->host_mem.part_bytes, o);
	return st;
}

/* S[n] = exp(dt A[n]) S[n] + dt B[n] x;  y = sum C[n] S[n] + D x */
static void mamba1(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	float x = in[0][0], dt = in[1][0], y = 0;

	for (uint32_t n = 0; n < s->dk; n++) {
		float a = s->w[0][(size_t)s->head * s->dk + n];

		s->s[n] = expf(dt * a) * s->s[n] + dt * in[2][n] * x;
		y += in[3][n] * s->s[n];
	}
	s->out[0] = y + (s->w[1] ? s->w[1][s->head] * x : 0.0f);
}

/* S[p,n] = exp(dt A) S[p,n] + dt x[p] B[n];  y[p] = sum_n C[n] S[p,n] + D x[p] */
static void mamba2(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	float dt = in[1][0], decay = expf(dt * s->w[0][s->head]);

	for (uint32_t p = 0; p < s->dv; p++) {
		float *row = s->s + (size_t)p * s->dk, x = in[0][p], y = 0;

		for (uint32_t n = 0; n < s->dk; n++) {
			row[n] = decay * row[n] + dt * x * in[2][n];
			y += in[3][n] * row[n];
		}
		s->out[p] = y + (s->w[1] ? s->w[1][s->head] * x : 0.0f);
	}
}

/* y[j] = sum_i r[i] (S[i,j] + u[i] k[i] v[j]);  S[i,j] = w[i] S[i,j] + k[i] v[j] */
static void rwkv6(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	const float *r = in[0], *k = in[1], *v = in[2], *w = in[3];
	const float *u = s->w[0] + (size_t)s->head * s->dk;

	memset(s->out, 0, s->dv * sizeof(*s->out));
	for (uint32_t i = 0; i < s->dk; i++) {
		float *row = s->s + (size_t)i * s->dv;

		for (uint32_t j = 0; j < s->dv; j++) {
			float kv = k[i] * v[j];

			s->out[j] += r[i] * (row[j] + u[i] * kv);
			row[j] = w[i] * row[j] + kv;
		}
	}
}

/* sa[j] = sum_i S[j,i] a[i];  S[j,i] = w[i] S[j,i] + sa[j] b[i] + v[j] k[i];
 * y[j] = sum_i S[j,i] r[i] */
static void rwkv7(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	const float *r = in[0], *w = in[1], *k = in[2], *v = in[3], *a = in[4], *b = in[5];

	for (uint32_t j = 0; j < s->dv; j++) {
		float *row = s->s + (size_t)j * s->dk, sa = 0, y = 0;

		for (uint32_t i = 0; i < s->dk; i++)
			sa += row[i] * a[i];
		for (uint32_t i = 0; i < s->dk; i++) {
			row[i] = w[i] * row[i] + sa * b[i] + v[j] * k[i];
			y += row[i] * r[i];
		}
		s->out[j] = y;
	}
}

/* S[i,j] = g[i] S[i,j] + k[i] v[j];  y[j] = scale sum_i q[i] S[i,j] */
static void gla(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	const float *q = in[0], *k = in[1], *v = in[2], *g = in[3];
	bool one = host_mem_scan_gates(s->op) == 1;

	memset(s->out, 0, s->dv * sizeof(*s->out));
	for (uint32_t i = 0; i < s->dk; i++) {
		float *row = s->s + (size_t)i * s->dv, gi = g[one ? 0 : i];

		for (uint32_t j = 0; j < s->dv; j++) {
			row[j] = gi * row[j] + k[i] * v[j];
			s->out[j] += q[i] * row[j];
		}
	}
	for (uint32_t j = 0; j < s->dv; j++)
		s->out[j] *= s->op->scale;
}

/* S[i,j] *= exp(g[i]);  d[j] = beta (v[j] - sum_i k[i] S[i,j]);  S[i,j] += k[i] d[j];
 * y[j] = scale sum_i q[i] S[i,j] */
static void delta(const struct host_mem_scan *s, const float *const in[HOST_MEM_SCAN_IN])
{
	const float *q = in[0], *k = in[1], *v = in[2], *g = in[3];
	float beta = in[4][0];
	bool one = host_mem_scan_gates(s->op) == 1;

	memset(s->d, 0, s->dv * sizeof(*s->d));
	memset(s->out, 0, s->dv * sizeof(*s->out));
	for (uint32_t i = 0; i < s->dk; i++) {
		float *row = s->s + (size_t)i * s->dv, decay = expf(g[one ? 0 : i]);

		for (uint32_t j = 0; j < s->dv; j++) {
			row[j] *= decay;
			s->d[j] += k[i] * row[j];
		}
	}
	for (uint32_t j = 0; j < s->dv; j++)
		s->d[j] = beta * (v[j] - s->d[j]);
	for (uint32_t i = 0; i < s->dk; i++) {
		float *row = s->s + (size_t)i * s->dv;

		for (uint32_t j = 0; j < s->dv; j++) {
			row[j] += k[i] * s->d[j];
			s->out[j] += q[i] * row[j];
		}
	}
	for (uint32_t j = 0; j < s->dv; j++)
		s->out[j] *= s->op->scale;
}

static void (*const kinds[])(const struct host_mem_scan *s,
			     const float *const in[HOST_MEM_SCAN_IN]) = {
	[LMD_SCAN_MAMBA1] = mamba1, [LMD_SCAN_MAMBA2] = mamba2, [LMD_SCAN_RWKV6] = rwkv6,
	[LMD_SCAN_RWKV7] = rwkv7,   [LMD_SCAN_GLA] = gla,       [LMD_SCAN_DELTA] = delta,
};

static void load(const struct ref_run *r, const struct host_mem_scan *s, uint32_t seq)
{
	int32_t slot = host_mem_scan_slot_in(s, seq);

	if (slot < 0)
		memset(s->s, 0, (size_t)s->cache->k_cols * sizeof(float));
	else
		ref_cache_read(r->dev, s->cache->desc.k_dtype,
			       host_mem_state_row(s->pool, s->cache, slot, s->head), s->s,
			       s->cache->k_cols);
}

static void one_head(const struct ref_run *r, const struct host_mem_scan *s, uint32_t seq)
{
	const float *in[HOST_MEM_SCAN_IN] = {NULL};
	uint32_t first, n;

	host_mem_seq_rows(&r->host_mem, LMD_SPACE_TOKENS, seq, &first, &n);
	load(r, s, seq);
	for (uint32_t row = first; row < first + n; row++) {
		int32_t slot = host_mem_scan_slot_out(s, row);

		host_mem_scan_gather(s, row, in);
		kinds[s->op->kind](s, in);
		host_mem_scan_put(s, row);
		if (slot >= 0)
			ref_cache_encode(r->dev, s->cache->desc.k_dtype, s->s,
					 host_mem_state_row(s->pool, s->cache, slot, s->head),
					 s->cache->k_cols);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_scan *o = &op->u.scan;
	char *scratch = p->scratch;
	struct host_mem_scan s =
		host_mem_scan_take(&scratch, &r->host_mem, &r->compiled_plan->host_mem, o);
	uint64_t lo, hi;

	host_mem_slice(p, (uint64_t)r->host_mem.step->head->n_seq * o->n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		host_mem_scan_set_head(&s, (uint32_t)(i % o->n_head));
		one_head(r, &s, (uint32_t)(i / o->n_head));
	}
}

const struct ref_op ref_op_scan = {
	.plan = plan,
	.run = run,
};
