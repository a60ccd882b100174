/* SPDX-License-Identifier: MIT
 *
 * attn_gqa.c - grouped-query attention (arXiv 2305.13245) and its variants.
 *
 * One LINEAR computes [q | k | v] into one value, from one fused tensor or from three; one
 * ROPE_KV normalises, rotates and stores; one ATTN attends; one LINEAR projects back.  A layer
 * that reads another layer's keys computes only q.
 *
 * A rank of a tensor-parallel plan has some of the heads, with the rows of the projections and the
 * columns of the last matrix that belong to them. */
#include <math.h>
#include <string.h>

#include "arch/common/ranks.h"

const struct arch_attn_rows arch_attn_rows = {.q = &arch_rows[T_ATTN_Q],
					      .k = &arch_rows[T_ATTN_K],
					      .v = &arch_rows[T_ATTN_V],
					      .qkv = &arch_rows[T_ATTN_QKV],
					      .out = &arch_rows[T_ATTN_OUT]};

/* The projections side by side in one value. */
struct qkv {
	uint32_t value;
	uint32_t nq, nk, nv;   /* columns of each; nk = nv = 0: keys of another layer */
	struct lmd_operand q, k, v;
	/* of a rank: the heads before its own, and all columns of q and k in the file */
	uint32_t q_head0, kv_head0, all_q, all_k;
	bool part; /* of the heads */
};

struct arch_attn arch_attn_default(const struct arch_emit *e, uint32_t pass)
{
	const struct arch_hparams *hp = e->hp;
	const struct arch_layer *l = arch_current_layer(e);

	return (struct arch_attn){
		.rows = &arch_attn_rows,
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

void arch_alibi_slopes(uint32_t n_head, float max_bias, float *out)
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
static void add_weight(struct lmd_op_linear *l, const struct arch_weight *w, struct lmd_operand y)
{
	l->w[l->n_w] = w->id;
	l->lora_site[l->n_w] = w->site;
	l->y[l->n_w++] = y;
}

/* Adds the rows of a projection that belong to the rank's heads: n rows, after `before` rows of heads of
 * other ranks.  `base`: where the projection begins in the tensor of all three. */
static void add_part(struct arch_emit *e, const struct arch_attn *a, struct lmd_op_linear *l,
		     const struct lmd_tensor_row *row, uint32_t base, uint32_t before, uint32_t n,
		     struct lmd_operand y)
{
	bool fused = a->rows->qkv && arch_weight_exists(e, a->rows->qkv);
	const struct arch_window win = {.row0 = before + (fused ? base : 0), .n_row = n};
	struct arch_weight w = arch_weight_window(e, fused ? a->rows->qkv : row, &win);

	w.site = LMD_NONE;
	add_weight(l, &w, y);
}

static void project_part(struct arch_emit *e, const struct arch_attn *a, const struct qkv *s,
			 struct lmd_op_linear *l)
{
	const uint32_t n = e->n_rank;

	add_part(e, a, l, a->rows->q, 0, s->all_q / n * e->rank, s->nq,
		 arch_operand_cols(s->value, 0, s->nq));
	if (s->nk)
		add_part(e, a, l, a->rows->k, s->all_q, s->nk * e->rank, s->nk,
			 arch_operand_cols(s->value, s->nq, s->nk));
	if (s->nv)
		add_part(e, a, l, a->rows->v, s->all_q + s->all_k, s->nv * e->rank, s->nv,
			 arch_operand_cols(s->value, s->nq + s->nk, s->nv));
}

static void project(struct arch_emit *e, const struct arch_block_io *io, const struct arch_attn *a,
		    struct qkv *s)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;
	struct arch_weight w;

	l->x = io->x;
	l->pro = io->norm;
	if (a->clamp > 0.0f) {
		l->clamp_lo = -a->clamp;
		l->clamp_hi = a->clamp;
	}
	s->value = arch_value_act(e, s->nq + s->nk + s->nv, s->nk ? "qkv" : "q");
	if (s->part) {
		project_part(e, a, s, l);
	} else if (s->nk && a->rows->qkv && arch_weight_exists(e, a->rows->qkv)) {
		w = arch_weight_req(e, a->rows->qkv);
		add_weight(l, &w, arch_operand_cols(s->value, 0, s->nq + s->nk + s->nv));
	} else {
		w = arch_weight_req(e, a->rows->q);
		add_weight(l, &w, arch_operand_cols(s->value, 0, s->nq));
		if (s->nk) {
			w = arch_weight_req(e, a->rows->k);
			add_weight(l, &w, arch_operand_cols(s->value, s->nq, s->nk));
		}
		if (s->nv) {
			w = arch_weight_req(e, a->rows->v);
			add_weight(l, &w, arch_operand_cols(s->value, s->nq + s->nk, s->nv));
		}
	}
	arch_emit_op(e, &op);
}

static void windows(struct arch_emit *e, const struct arch_attn *a, const struct arch_layer *l,
		    struct qkv *s)
{
	s->q = arch_operand_heads(s->value, 0, l->n_head, l->dk);
	if (a->gate == ARCH_GATE_IN_Q)
		s->q.head_stride = 2 * l->dk;
	s->k = s->nk ? arch_operand_heads(s->value, s->nq, l->n_head_kv, l->dk)
		     : arch_operand_none();
	s->v = s->nv ? arch_operand_heads(s->value, s->nq + s->nk, l->n_head_kv, l->dv)
		     : arch_operand_none();
	if (s->nk && !s->nv)
		s->v = s->k; /* before its norm and rotation */
	if (a->v_norm && s->v.src) {
		struct lmd_norm n = {.kind = LMD_NORM_RMS, .eps = e->hp->eps};
		uint32_t v = arch_value_act(e, l->n_head_kv * l->dv, "v");

		arch_put_norm(e, s->v, &n, arch_operand_heads(v, 0, l->n_head_kv, l->dv));
		s->v = arch_operand_heads(v, 0, l->n_head_kv, l->dv);
	}
}

/* Norm over the full width, which ROPE_KV does not support. */
static struct lmd_operand full_norm(struct arch_emit *e, const struct arch_attn *a,
				    struct lmd_operand x, enum arch_t row, const char *name)
{
	uint32_t width = x.n_head * x.width, y;
	struct lmd_norm n;

	if (!x.src || !arch_weight_exists(e, &arch_rows[row]))
		return x;
	n = arch_norm(e, a->qk_norm_kind, &arch_rows[row]);
	n.eps = a->qk_norm_eps;
	y = arch_value_act(e, width, name);
	arch_put_norm(e, arch_operand_cols(x.id, x.col0, width), &n,
		      arch_operand_cols(y, 0, width));
	return arch_operand_heads(y, 0, x.n_head, x.width);
}

static struct lmd_norm head_norm(struct arch_emit *e, const struct arch_attn *a, enum arch_t row,
				 enum arch_t row_each, uint32_t head0, uint32_t n_head, uint32_t dk)
{
	struct lmd_norm n = {.kind = a->qk_norm_kind};

	if (a->qk_norm != ARCH_QKN_BARE) {
		if (!arch_weight_exists(e, &arch_rows[row]))
			return arch_no_norm();
		n = a->qk_norm == ARCH_QKN_HEAD
			    ? arch_norm(e, a->qk_norm_kind, &arch_rows[row])
			    : arch_norm_heads(e, a->qk_norm_kind, &arch_rows[row_each], n_head, dk);
	}
	if (a->qk_norm == ARCH_QKN_HEAD_OWN) {
		n.g.col0 += n.g.src ? head0 * dk : 0;
		n.b.col0 += n.b.src ? head0 * dk : 0;
	}
	n.eps = a->qk_norm_eps;
	return n;
}

/* Normalises, rotates and stores.  Updates s->q, and s->k if there is no cache, for ATTN. */
static void rope_kv(struct arch_emit *e, const struct arch_attn *a, const struct arch_layer *l,
		    struct qkv *s)
{
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);
	struct lmd_op_rope_kv *r = &op.u.rope_kv;
	bool per_head = a->qk_norm && a->qk_norm != ARCH_QKN_FULL;
	bool store = s->k.src && a->cache != LMD_NONE;
	bool touch;

	r->rope = arch_rope(e, l->rope, l->n_rot);
	if (per_head) {
		r->qn = head_norm(e, a, T_ATTN_Q_NORM, T_ATTN_Q_NORM_EACH, s->q_head0,
				  l->n_head, l->dk);
		r->kn = head_norm(e, a, T_ATTN_K_NORM, T_ATTN_K_NORM_EACH, s->kv_head0,
				  l->n_head_kv, l->dk);
		if (r->qn.kind || r->kn.kind)
			r->norm_when = a->qk_norm_after ? LMD_QKN_AFTER : LMD_QKN_BEFORE;
	}
	touch = r->rope != LMD_NONE || r->norm_when != LMD_QKN_NONE;
	if (!touch && !store)
		return;
	if (touch) {
		uint32_t q = arch_value_act(e, l->n_head * l->dk, "q_rot");

		r->q = s->q;
		r->q_out = s->q = arch_operand_heads(q, 0, l->n_head, l->dk);
	}
	if (s->k.src) {
		r->k = s->k;
		if (!store && touch) {
			uint32_t k = arch_value_act(e, l->n_head_kv * l->dk, "k_rot");

			r->k_out = s->k = arch_operand_heads(k, 0, l->n_head_kv, l->dk);
		}
	}
	if (store) {
		r->v = s->v;
		r->cache = a->cache;
		r->append = LMD_APPEND_K | LMD_APPEND_V;
	}
	arch_emit_op(e, &op);
}

static struct lmd_operand times(struct arch_emit *e, const struct arch_layer *l,
				struct lmd_operand q, struct lmd_operand factor, const char *name)
{
	uint32_t y = arch_value_act(e, l->n_head * l->dk, name);

	arch_put_mul(e, q, factor, arch_operand_heads(y, 0, l->n_head, l->dk));
	return arch_operand_heads(y, 0, l->n_head, l->dk);
}

/* Multiplies q, after its rotation, by a gain per head and a temperature per row. */
static struct lmd_operand scale_by_position(struct arch_emit *e, const struct arch_attn *a,
					    const struct arch_layer *l, uint32_t head0,
					    struct lmd_operand q)
{
	if (a->q_gain) {
		struct lmd_operand g = arch_operand_weight_heads(
			arch_weight_req(e, a->q_gain).id, l->n_head, 1);

		g.col0 = head0;
		q = times(e, l, q, g, "q_gain");
	}
	if (a->q_row_in != LMD_NONE)
		q = times(e, l, q, arch_operand_row_input(a->q_row_in, 1), "q_temp");
	return q;
}

static uint32_t attend(struct arch_emit *e, const struct arch_attn *a, const struct arch_layer *l,
		       const struct qkv *s)
{
	struct lmd_op op = arch_op_empty(LMD_OP_ATTN);
	struct lmd_op_attn *t = &op.u.attn;
	uint32_t y = arch_value_act(e, l->n_head * l->dv, "attn");
	float slopes[ARCH_MAX_HEAD];

	t->q = s->q;
	t->y = arch_operand_heads(y, 0, l->n_head, l->dv);
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
	if (a->key_list.src) {
		t->src[0].list = a->key_list;
		if (s->part && a->key_list.n_head > 1) {
			t->src[0].list.n_head = l->n_head_kv;
			t->src[0].list.col0 += s->kv_head0 * a->key_list.head_stride;
		}
		t->src[0].list_unit = a->key_list_unit;
	}
	if (a->sinks && s->part)
		t->sinks = arch_weight_window(e, a->sinks,
					      &(struct arch_window){.k0 = s->q_head0,
								    .n_k = l->n_head})
				   .id;
	else if (a->sinks)
		t->sinks = arch_weight_req(e, a->sinks).id;
	if (a->alibi_max > 0.0f) {
		arch_alibi_slopes(s->part ? l->n_head * e->n_rank : l->n_head, a->alibi_max, slopes);
		t->bias = LMD_BIAS_ALIBI;
		t->bias_w = arch_literal(e, slopes + s->q_head0, l->n_head, LMD_SPLIT_HEADS,
					 "alibi");
	}
	arch_emit_op(e, &op);
	return y;
}

static struct arch_weight gate_weight(struct arch_emit *e, const struct arch_attn *a,
				      const struct qkv *s)
{
	const struct lmd_tensor *t = arch_weight_tensor(e, a->gate_row);
	struct arch_window win = {0};

	if (!s->part || !t)
		return arch_weight_req(e, a->gate_row);
	win.n_row = (uint32_t)t->dims[1] / e->n_rank;
	win.row0 = win.n_row * e->rank;
	return arch_weight_window(e, a->gate_row, &win);
}

/* Applies the gate to y.  The gate is computed from the block's input, or by row q next to q. */
static uint32_t gate(struct arch_emit *e, const struct arch_block_io *io, const struct arch_attn *a,
		     const struct arch_layer *l, const struct qkv *s, uint32_t y)
{
	enum lmd_ew fn = a->gate == ARCH_GATE_SOFTPLUS ? LMD_EW_SOFTPLUS : LMD_EW_SIGMOID;
	uint32_t out = arch_value_act(e, l->n_head * l->dv, "gated");
	struct arch_ew p = arch_ew();
	struct lmd_operand g;
	uint8_t r0, r1;

	if (a->gate == ARCH_GATE_IN_Q) {
		g = arch_operand_heads(s->value, l->dk, l->n_head, l->dv);
		g.head_stride = 2 * l->dk;
	} else {
		struct arch_weight w = gate_weight(e, a, s);

		g = arch_operand_heads(arch_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate"),
				       0, l->n_head, w.n / l->n_head);
	}
	r0 = arch_ew_in(&p, g);
	r1 = arch_ew_in(&p, arch_operand_heads(y, 0, l->n_head, l->dv));

	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, arch_ew1(&p, fn, r0), r1),
		    arch_operand_heads(out, 0, l->n_head, l->dv));
	return out;
}

/* The projections, for all heads or those of the rank.  A norm over all heads needs all of them. */
static void make_qkv(struct arch_emit *e, const struct arch_block_io *io, const struct arch_attn *a,
		     const struct arch_layer *all, const struct arch_layer *own, struct qkv *s)
{
	const bool own_kv = all->kv_layer == (uint32_t)e->il, divided = own != all;
	const bool whole = !divided || a->qk_norm == ARCH_QKN_FULL;
	const struct arch_layer *l = whole ? all : own;
	const uint32_t per_head = a->gate == ARCH_GATE_IN_Q ? 2 * l->dk : l->dk;

	*s = (struct qkv){.nq = l->n_head * per_head,
			  .nk = own_kv ? l->n_head_kv * l->dk : 0,
			  .nv = own_kv ? l->n_head_kv * l->dv : 0,
			  .q_head0 = divided ? own->n_head * e->rank : 0,
			  .kv_head0 = divided ? own->n_head_kv * e->rank : 0,
			  .all_q = all->n_head * per_head,
			  .all_k = all->n_head_kv * all->dk,
			  .part = !whole};
	if (a->v_from_k && !arch_weight_exists(e, a->rows->v) &&
	    !arch_weight_exists(e, a->rows->qkv))
		s->nv = 0;
	project(e, io, a, s);
	windows(e, a, l, s);
	if (a->qk_norm == ARCH_QKN_FULL) {
		s->q = full_norm(e, a, s->q, T_ATTN_Q_NORM_FULL, "q_norm");
		s->k = full_norm(e, a, s->k, T_ATTN_K_NORM_FULL, "k_norm");
	}
	if (!divided || !whole)
		return;
	s->part = true;
	s->q.col0 += s->q_head0 * s->q.head_stride;
	s->k.col0 += s->kv_head0 * s->k.head_stride;
	s->v.col0 += s->kv_head0 * s->v.head_stride;
	s->q.n_head = own->n_head;
	s->k.n_head = s->k.src ? own->n_head_kv : 0;
	s->v.n_head = s->v.src ? own->n_head_kv : 0;
}

/* The last matrix, or the rank's columns of it. */
static uint32_t project_back(struct arch_emit *e, const struct arch_block_io *io,
			     const struct arch_attn *a, const struct arch_layer *l, bool part,
			     uint32_t y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_tensor_row row = *a->rows->out;
	const struct lmd_tensor *t = arch_weight_tensor(e, &row);
	const uint32_t n = l->n_head * l->dv;
	struct arch_window win = {0};
	struct arch_weight w;
	uint32_t out;

	if (part && (a->sub_norm || !t || !arch_columns_divide(e, t, n))) {
		y = arch_gather_ranks(e, y, "attn_all");
		part = false;
	}
	if (part)
		win = (struct arch_window){
			.k0 = n * e->rank, .n_k = n, .no_bias = e->rank > 0};
	if (a->out_bias_ignored)
		row.flags = (uint16_t)(row.flags & ~(LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ));
	w = arch_weight_window(e, &row, &win);
	op.u.linear.x = arch_operand_all(e, y);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	if (a->sub_norm)
		op.u.linear.pro = arch_norm_req(e, e->hp->norm_kind, a->sub_norm);
	if (part || io->res == LMD_NONE) {
		out = part ? arch_value_f32(e, w.n, "attn_part")
			   : arch_value_act(e, w.n, "attn_out");
		op.u.linear.y[0] = arch_operand_cols(out, 0, w.n);
	} else {
		out = arch_value_f32(e, w.n, "x_attn");
		op.u.linear.r_in[0] = arch_operand_cols(io->res, 0, w.n);
		op.u.linear.r_out[0] = arch_operand_cols(out, 0, w.n);
		op.u.linear.a = io->a;
	}
	arch_emit_op(e, &op);
	return part ? arch_sum_block(e, out, io, false, io->res == LMD_NONE ? "attn_out" : "x_attn")
		    : out;
}

uint32_t arch_attn(struct arch_emit *e, const struct arch_block_io *io, const struct arch_attn *a)
{
	const struct arch_layer *all = arch_current_layer(e), *l = all;
	struct arch_layer own = *all;
	struct qkv s;
	uint32_t y;

	if (arch_heads_divide(e->hp, all)) {
		own.n_head /= e->n_rank;
		own.n_head_kv /= e->n_rank;
		l = &own;
		if (a->kv_map != LMD_MAP_BLOCK && all->n_head != all->n_head_kv)
			e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
				   "architecture %s: heads that share keys in turns cannot be "
				   "divided",
				   e->hp->model->arch);
	}
	make_qkv(e, io, a, all, l, &s);
	rope_kv(e, a, l, &s);
	s.q = scale_by_position(e, a, l, s.q_head0, s.q);
	y = attend(e, a, l, &s);
	if (a->gate)
		y = gate(e, io, a, l, &s, y);
	return project_back(e, io, a, l, l != all, y);
}
