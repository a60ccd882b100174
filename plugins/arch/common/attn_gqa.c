/* SPDX-License-Identifier: MIT
 *
 * attn_gqa.c - grouped-query attention (arXiv 2305.13245) and its variants.
 *
 * One LINEAR computes [q | k | v] into one value, from one fused tensor or from three; one
 * ROPE_KV normalises, rotates and stores; one ATTN attends; one LINEAR projects back.  A layer
 * that reads another layer's keys computes only q. */
#include <math.h>
#include <string.h>

#include "arch/common/blocks.h"

const struct lmi_attn_rows lmi_attn_rows = {
	.q = &lmi_rows[T_ATTN_Q], .k = &lmi_rows[T_ATTN_K], .v = &lmi_rows[T_ATTN_V],
	.qkv = &lmi_rows[T_ATTN_QKV], .out = &lmi_rows[T_ATTN_OUT]};

/* The projections side by side in one value. */
struct qkv {
	uint32_t value;
	uint32_t nq, nk, nv;   /* columns of each; nk = nv = 0: keys of another layer */
	struct lmd_opnd q, k, v;
};

struct lmi_attn lmi_attn_default(const struct lmi_emit *e, uint32_t pass)
{
	const struct lmi_hparams *hp = e->hp;
	const struct lmi_layer *l = lmi_cur(e);

	return (struct lmi_attn){
		.rows = &lmi_attn_rows,
		.qk_norm_kind = LMD_NORM_RMS,
		.qk_norm_eps = hp->eps,
		.scale = hp->attn_scale != 0.0f ? hp->attn_scale : 1.0f / sqrtf((float)l->dk),
		.softcap = hp->attn_softcap,
		.clamp = hp->clamp_qkv,
		.alibi_max = hp->alibi_max,
		.kv_map = LMD_MAP_BLOCK,
		.q_row_in = LMD_NONE,
		.cache = l->cache == LMD_NONE ? LMD_NONE : l->cache + pass * hp->n_cache_pass,
	};
}

void lmi_alibi_slopes(uint32_t n_head, float max_bias, float *out)
{
	uint32_t two = 1;

	while (two * 2 <= n_head)
		two *= 2;
	for (uint32_t h = 0; h < n_head; h++) {
		double e =
			h < two ? (double)(h + 1) / two : (double)(2 * (h - two) + 1) / (2 * two);

		out[h] = (float)exp2(-(double)max_bias * e);
	}
}

/* Adds one projection to the op. */
static void add_weight(struct lmd_op_linear *l, const struct lmi_w *w, struct lmd_opnd y)
{
	l->w[l->n_w] = w->id;
	l->lora_site[l->n_w] = w->site;
	l->y[l->n_w++] = y;
}

static void project(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_attn *a,
		    struct qkv *s)
{
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	struct lmi_w w;

	l->x = io->x;
	l->pro = io->norm;
	if (a->clamp > 0.0f) {
		l->clamp_lo = -a->clamp;
		l->clamp_hi = a->clamp;
	}
	s->value = lmi_act(e, s->nq + s->nk + s->nv, s->nk ? "qkv" : "q");
	if (s->nk && a->rows->qkv && lmi_has(e, a->rows->qkv)) {
		w = lmi_w(e, a->rows->qkv);
		add_weight(l, &w, lmi_cols(s->value, 0, s->nq + s->nk + s->nv));
	} else {
		w = lmi_w(e, a->rows->q);
		add_weight(l, &w, lmi_cols(s->value, 0, s->nq));
		if (s->nk) {
			w = lmi_w(e, a->rows->k);
			add_weight(l, &w, lmi_cols(s->value, s->nq, s->nk));
		}
		if (s->nv) {
			w = lmi_w(e, a->rows->v);
			add_weight(l, &w, lmi_cols(s->value, s->nq + s->nk, s->nv));
		}
	}
	lmi_put(e, &op);
}

static void windows(struct lmi_emit *e, const struct lmi_attn *a, const struct lmi_layer *l,
		    struct qkv *s)
{
	s->q = lmi_heads(s->value, 0, l->n_head, l->dk);
	if (a->gate == LMI_GATE_IN_Q)
		s->q.head_stride = 2 * l->dk;
	s->k = s->nk ? lmi_heads(s->value, s->nq, l->n_head_kv, l->dk) : lmi_none();
	s->v = s->nv ? lmi_heads(s->value, s->nq + s->nk, l->n_head_kv, l->dv) : lmi_none();
	if (s->nk && !s->nv)
		s->v = s->k; /* before its norm and rotation */
	if (a->v_norm && s->v.src) {
		struct lmd_norm n = {.kind = LMD_NORM_RMS, .eps = e->hp->eps};
		uint32_t v = lmi_act(e, l->n_head_kv * l->dv, "v");

		lmi_put_norm(e, s->v, &n, lmi_heads(v, 0, l->n_head_kv, l->dv));
		s->v = lmi_heads(v, 0, l->n_head_kv, l->dv);
	}
}

/* Norm over the full width, which ROPE_KV does not support. */
static struct lmd_opnd full_norm(struct lmi_emit *e, const struct lmi_attn *a, struct lmd_opnd x,
				 enum lmi_t row, const char *name)
{
	uint32_t width = x.n_head * x.width, y;
	struct lmd_norm n;

	if (!x.src || !lmi_has(e, &lmi_rows[row]))
		return x;
	n = lmi_norm(e, a->qk_norm_kind, &lmi_rows[row]);
	n.eps = a->qk_norm_eps;
	y = lmi_act(e, width, name);
	lmi_put_norm(e, lmi_cols(x.id, x.col0, width), &n, lmi_cols(y, 0, width));
	return lmi_heads(y, 0, x.n_head, x.width);
}

static struct lmd_norm head_norm(struct lmi_emit *e, const struct lmi_attn *a, enum lmi_t row,
				 enum lmi_t row_each, uint32_t n_head, uint32_t dk)
{
	struct lmd_norm n = {.kind = a->qk_norm_kind};

	if (a->qk_norm != LMI_QKN_BARE) {
		if (!lmi_has(e, &lmi_rows[row]))
			return lmi_no_norm();
		n = a->qk_norm == LMI_QKN_HEAD
			    ? lmi_norm(e, a->qk_norm_kind, &lmi_rows[row])
			    : lmi_norm_heads(e, a->qk_norm_kind, &lmi_rows[row_each], n_head, dk);
	}
	n.eps = a->qk_norm_eps;
	return n;
}

/* Normalises, rotates and stores.  Updates s->q, and s->k if there is no cache, for ATTN. */
static void rope_kv(struct lmi_emit *e, const struct lmi_attn *a, const struct lmi_layer *l,
		    struct qkv *s)
{
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);
	struct lmd_op_rope_kv *r = &op.u.rope_kv;
	bool per_head = a->qk_norm && a->qk_norm != LMI_QKN_FULL;
	bool store = s->k.src && a->cache != LMD_NONE;
	bool touch;

	r->rope = lmi_rope(e, l->rope, l->n_rot);
	if (per_head) {
		r->qn = head_norm(e, a, T_ATTN_Q_NORM, T_ATTN_Q_NORM_EACH, l->n_head, l->dk);
		r->kn = head_norm(e, a, T_ATTN_K_NORM, T_ATTN_K_NORM_EACH, l->n_head_kv, l->dk);
		if (r->qn.kind || r->kn.kind)
			r->norm_when = a->qk_norm_after ? LMD_QKN_AFTER : LMD_QKN_BEFORE;
	}
	touch = r->rope != LMD_NONE || r->norm_when != LMD_QKN_NONE;
	if (!touch && !store)
		return;
	if (touch) {
		uint32_t q = lmi_act(e, l->n_head * l->dk, "q_rot");

		r->q = s->q;
		r->q_out = s->q = lmi_heads(q, 0, l->n_head, l->dk);
	}
	if (s->k.src) {
		r->k = s->k;
		if (!store && touch) {
			uint32_t k = lmi_act(e, l->n_head_kv * l->dk, "k_rot");

			r->k_out = s->k = lmi_heads(k, 0, l->n_head_kv, l->dk);
		}
	}
	if (store) {
		r->v = s->v;
		r->cache = a->cache;
		r->append = LMD_APPEND_K | LMD_APPEND_V;
	}
	lmi_put(e, &op);
}

static struct lmd_opnd times(struct lmi_emit *e, const struct lmi_layer *l, struct lmd_opnd q,
			     struct lmd_opnd factor, const char *name)
{
	uint32_t y = lmi_act(e, l->n_head * l->dk, name);

	lmi_put_mul(e, q, factor, lmi_heads(y, 0, l->n_head, l->dk));
	return lmi_heads(y, 0, l->n_head, l->dk);
}

/* Multiplies q, after its rotation, by a gain per head and a temperature per row. */
static struct lmd_opnd temper(struct lmi_emit *e, const struct lmi_attn *a,
			      const struct lmi_layer *l, struct lmd_opnd q)
{
	if (a->q_gain)
		q = times(e, l, q, lmi_wheads(lmi_w(e, a->q_gain).id, l->n_head, 1), "q_gain");
	if (a->q_row_in != LMD_NONE)
		q = times(e, l, q, lmi_row_in(a->q_row_in, 1), "q_temp");
	return q;
}

static uint32_t attend(struct lmi_emit *e, const struct lmi_attn *a, const struct lmi_layer *l,
		       const struct qkv *s)
{
	struct lmd_op op = lmi_op(LMD_OP_ATTN);
	struct lmd_op_attn *t = &op.u.attn;
	uint32_t y = lmi_act(e, l->n_head * l->dv, "attn");
	float slopes[LMI_MAX_HEAD];

	t->q = s->q;
	t->y = lmi_heads(y, 0, l->n_head, l->dv);
	t->n_kv_head = l->n_head_kv;
	t->kv_map = a->kv_map;
	t->scale = a->scale;
	t->softcap = a->softcap;
	t->tree = a->cache != LMD_NONE;
	t->src[0].group = l->group;
	if (a->cache != LMD_NONE) {
		t->src[0].kind = LMD_KV_CACHE;
		t->src[0].cache = a->cache;
	} else {
		t->src[0].kind = LMD_KV_ROWS;
		t->src[0].k = s->k;
		t->src[0].v = s->v;
	}
	if (a->list.src) {
		t->src[0].list = a->list;
		t->src[0].list_unit = a->list_unit;
	}
	if (a->sinks)
		t->sinks = lmi_w(e, a->sinks).id;
	if (a->alibi_max > 0.0f) {
		lmi_alibi_slopes(l->n_head, a->alibi_max, slopes);
		t->bias = LMD_BIAS_ALIBI;
		t->bias_w = lmi_literal(e, slopes, l->n_head, "alibi");
	}
	lmi_put(e, &op);
	return y;
}

/* Applies the gate to y.  The gate is computed from the block's input, or by row q next to q. */
static uint32_t gate(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_attn *a,
		     const struct lmi_layer *l, uint32_t qkv, uint32_t y)
{
	enum lmd_ew fn = a->gate == LMI_GATE_SOFTPLUS ? LMD_EW_SOFTPLUS : LMD_EW_SIGMOID;
	uint32_t out = lmi_act(e, l->n_head * l->dv, "gated");
	struct lmi_ew p = lmi_ew();
	struct lmd_opnd g;
	uint8_t r0, r1;

	if (a->gate == LMI_GATE_IN_Q) {
		g = lmi_heads(qkv, l->dk, l->n_head, l->dv);
		g.head_stride = 2 * l->dk;
	} else {
		struct lmi_w w = lmi_w(e, a->gate_row);

		g = lmi_heads(lmi_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate"), 0,
			      l->n_head, w.n / l->n_head);
	}
	r0 = lmi_ew_in(&p, g);
	r1 = lmi_ew_in(&p, lmi_heads(y, 0, l->n_head, l->dv));

	lmi_ew_out(e, &p, lmi_ew2(&p, LMD_EW_MUL, lmi_ew1(&p, fn, r0), r1),
		   lmi_heads(out, 0, l->n_head, l->dv));
	return out;
}

uint32_t lmi_attn(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_attn *a)
{
	const struct lmi_layer *l = lmi_cur(e);
	bool own_kv = l->kv_layer == (uint32_t)e->il;
	struct qkv s = {.nq = l->n_head * l->dk, .nk = own_kv ? l->n_head_kv * l->dk : 0};
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmi_w w;
	uint32_t y, out;

	if (a->gate == LMI_GATE_IN_Q)
		s.nq *= 2;
	s.nv = own_kv ? l->n_head_kv * l->dv : 0;
	if (a->v_from_k && !lmi_has(e, a->rows->v) && !lmi_has(e, a->rows->qkv))
		s.nv = 0;
	project(e, io, a, &s);
	windows(e, a, l, &s);
	if (a->qk_norm == LMI_QKN_FULL) {
		s.q = full_norm(e, a, s.q, T_ATTN_Q_NORM_FULL, "q_norm");
		s.k = full_norm(e, a, s.k, T_ATTN_K_NORM_FULL, "k_norm");
	}
	rope_kv(e, a, l, &s);
	s.q = temper(e, a, l, s.q);
	y = attend(e, a, l, &s);
	if (a->gate)
		y = gate(e, io, a, l, s.value, y);

	if (a->out_bias_ignored) {
		struct lmd_tensor_row row = *a->rows->out;

		row.flags = (uint16_t)(row.flags & ~(LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ));
		w = lmi_w(e, &row);
	} else {
		w = lmi_w(e, a->rows->out);
	}
	op.u.linear.x = lmi_cols(y, 0, l->n_head * l->dv);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	if (a->sub_norm)
		op.u.linear.pro = lmi_norm_req(e, e->hp->norm_kind, a->sub_norm);
	if (io->res == LMD_NONE) {
		out = lmi_act(e, w.n, "attn_out");
		op.u.linear.y[0] = lmi_cols(out, 0, w.n);
	} else {
		out = lmi_f32(e, w.n, "x_attn");
		op.u.linear.r_in[0] = lmi_cols(io->res, 0, w.n);
		op.u.linear.r_out[0] = lmi_cols(out, 0, w.n);
		op.u.linear.a = io->a;
	}
	lmi_put(e, &op);
	return out;
}
