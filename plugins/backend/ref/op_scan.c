/* SPDX-License-Identifier: MIT
 *
 * SCAN: one head of one sequence after the other, one row after the other.
 *
 * The state of a head is decoded from its slot, carried through the rows, and encoded wherever a
 * row asks for it.  S is stored as the formula writes it, the last index running fastest. */
#include "ops.h"
#include "backend/common/view.h"

#define N_IN LMD_SCAN_MAX_IN

struct scan {
	const struct ref_run *r;
	const struct lmd_op_scan *op;
	const struct hm_cache *cache;
	const float *w[2]; /* flat, or NULL */
	struct hm_view in[N_IN], y;
	uint32_t dk, dv;
	/* of the head at hand */
	uint32_t head, key_head;
	float *s;                   /* [dk*dv] */
	float *tmp[N_IN], *out, *d; /* in[] of a row; y [dv]; [dv] */
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_scan *o = &op->u.scan;
	enum lmd_status st = hm_need_cache(&b->cplan->hm, o->cache, err);

	for (int i = 0; st == LMD_OK && i < 2; i++)
		st = hm_flatten(&b->hm, o->w[i], err);
	hm_need(&b->hm.part_bytes, (uint64_t)o->dk * o->dv, sizeof(float));
	for (int i = 0; i < N_IN; i++)
		hm_need(&b->hm.part_bytes, o->dk > o->dv ? o->dk : o->dv, sizeof(float));
	hm_need(&b->hm.part_bytes, o->dv, sizeof(float));
	hm_need(&b->hm.part_bytes, o->dv, sizeof(float));
	return st;
}

/* S[n] = exp(dt A[n]) S[n] + dt B[n] x;  y = sum C[n] S[n] + D x */
static void mamba1(const struct scan *s, const float *const in[N_IN])
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
static void mamba2(const struct scan *s, const float *const in[N_IN])
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
static void rwkv6(const struct scan *s, const float *const in[N_IN])
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
static void rwkv7(const struct scan *s, const float *const in[N_IN])
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

/* Number of gates of a head: 1 or dk. */
static uint32_t gates(const struct scan *s)
{
	return hm_cols(&s->in[3]) == s->op->n_head ? 1 : s->dk;
}

/* S[i,j] = g[i] S[i,j] + k[i] v[j];  y[j] = scale sum_i q[i] S[i,j] */
static void gla(const struct scan *s, const float *const in[N_IN])
{
	const float *q = in[0], *k = in[1], *v = in[2], *g = in[3];
	bool one = gates(s) == 1;

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
static void delta(const struct scan *s, const float *const in[N_IN])
{
	const float *q = in[0], *k = in[1], *v = in[2], *g = in[3];
	float beta = in[4][0];
	bool one = gates(s) == 1;

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

static void (*const kinds[])(const struct scan *s, const float *const in[N_IN]) = {
	[LMD_SCAN_MAMBA1] = mamba1, [LMD_SCAN_MAMBA2] = mamba2, [LMD_SCAN_RWKV6] = rwkv6,
	[LMD_SCAN_RWKV7] = rwkv7,   [LMD_SCAN_GLA] = gla,       [LMD_SCAN_DELTA] = delta,
};

/* What a head reads of each input: columns of its own head, of its key head, or all of them. */
enum part { NONE, OWN_DK, OWN_DV, KEY_DK, ALL_DK, OWN_1, GATE };
static const uint8_t parts[][N_IN] = {
	[LMD_SCAN_MAMBA1] = {OWN_1, OWN_1, ALL_DK, ALL_DK},
	[LMD_SCAN_MAMBA2] = {OWN_DV, OWN_1, KEY_DK, KEY_DK},
	[LMD_SCAN_RWKV6] = {OWN_DK, OWN_DK, OWN_DV, OWN_DK},
	[LMD_SCAN_RWKV7] = {OWN_DK, OWN_DK, OWN_DK, OWN_DV, OWN_DK, OWN_DK},
	[LMD_SCAN_GLA] = {KEY_DK, KEY_DK, OWN_DV, GATE},
	[LMD_SCAN_DELTA] = {KEY_DK, KEY_DK, OWN_DV, GATE, OWN_1},
};

static void gather(const struct scan *s, uint32_t row)
{
	for (int i = 0; i < N_IN; i++) {
		uint32_t n = 0;
		size_t first = 0;

		switch ((enum part)parts[s->op->kind][i]) {
		case NONE:
			continue;
		case OWN_DK:
			n = s->dk;
			first = (size_t)s->head * n;
			break;
		case OWN_DV:
			n = s->dv;
			first = (size_t)s->head * n;
			break;
		case KEY_DK:
			n = s->dk;
			first = (size_t)s->key_head * n;
			break;
		case ALL_DK:
			n = s->dk;
			break;
		case OWN_1:
			n = 1;
			first = s->head;
			break;
		case GATE:
			n = gates(s);
			first = (size_t)s->head * n;
			break;
		}
		for (uint32_t c = 0; c < n; c++)
			s->tmp[i][c] = hm_cell_get(&s->in[i], row, first + c);
	}
}

static char *slot_memory(const struct scan *s, int32_t slot)
{
	const struct lmd_pool *p = s->r->cplan->hm.pools[s->cache->desc.group];

	return p->mem + (size_t)slot * p->unit_bytes + s->cache->k_off + s->head * s->cache->k_row;
}

static void load(const struct scan *s, uint32_t seq)
{
	int32_t slot = s->r->hm.step->group[s->cache->desc.group].state_in[seq];
	const float *v;

	if (slot < 0) {
		memset(s->s, 0, (size_t)s->cache->k_cols * sizeof(float));
		return;
	}
	v = ref_cache_decode(s->r->dev, s->cache->desc.k_dtype, slot_memory(s, slot), s->s,
			     s->cache->k_cols);
	if (v != s->s)
		memcpy(s->s, v, (size_t)s->cache->k_cols * sizeof(float));
}

static void one_head(struct scan *s, uint32_t seq)
{
	const struct lmd_step *step = s->r->hm.step;
	const float *in[N_IN];
	uint32_t first, n;

	for (int i = 0; i < N_IN; i++)
		in[i] = s->tmp[i];
	hm_seq_rows(&s->r->hm, LMD_SPACE_TOKENS, seq, &first, &n);
	load(s, seq);
	for (uint32_t row = first; row < first + n; row++) {
		int32_t out = step->group[s->cache->desc.group].state_out[row];

		gather(s, row);
		kinds[s->op->kind](s, in);
		for (uint32_t j = 0; j < s->dv; j++)
			*(float *)hm_cell(&s->y, row, (size_t)s->head * s->dv + j) = s->out[j];
		if (out >= 0)
			ref_cache_encode(s->r->dev, s->cache->desc.k_dtype, s->s,
					 slot_memory(s, out), s->cache->k_cols);
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct hm_part *p)
{
	const struct lmd_op_scan *o = &op->u.scan;
	struct scan s = {
		.r = r,
		.op = o,
		.cache = r->cplan->hm.caches[o->cache],
		.y = hm_view(&r->hm, &o->y),
		.dk = o->dk,
		.dv = o->dv,
	};
	uint32_t group = o->n_head / o->n_key_head;
	char *scratch = p->scratch;
	uint64_t lo, hi;

	s.s = hm_take(&scratch, (uint64_t)o->dk * o->dv, sizeof(float));
	for (int i = 0; i < N_IN; i++) {
		s.in[i] = hm_view(&r->hm, &o->in[i]);
		s.tmp[i] = hm_take(&scratch, o->dk > o->dv ? o->dk : o->dv, sizeof(float));
	}
	s.out = hm_take(&scratch, o->dv, sizeof(float));
	s.d = hm_take(&scratch, o->dv, sizeof(float));
	for (int i = 0; i < 2; i++)
		s.w[i] = o->w[i] == LMD_NONE ? NULL : r->cplan->hm.weights[o->w[i]]->flat;
	hm_slice(p, (uint64_t)r->hm.step->n_seq * o->n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		s.head = (uint32_t)(i % o->n_head);
		s.key_head = o->key_map == LMD_MAP_CYCLE ? s.head % o->n_key_head : s.head / group;
		one_head(&s, (uint32_t)(i / o->n_head));
	}
}

const struct ref_op ref_op_scan = {
	.plan = plan,
	.run = run,
};
