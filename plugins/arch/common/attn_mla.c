/* SPDX-License-Identifier: MIT
 *
 * attn_mla.c - the two forms of latent attention.  See attn_mla.h. */
#include <math.h>

#include "arch/common/attn_mla.h"

#define R LMD_TENSOR_REQUIRED
#define ROW(stem, d0, d1, d2, flags, split)                                                        \
	{"blk.%d." stem, {d0, d1, d2}, flags, LMD_SPLIT_##split, LMI_L_ATTN, NULL}

const struct lmd_tensor_row lmi_mla_rows[MLA_N] = {
	[MLA_Q_A] = ROW("attn_q_a", D_EMBD, D_MLA_RANK_Q, 0, LMD_TENSOR_SCALE, REPLICATE),
	[MLA_Q_A_NORM] = ROW("attn_q_a_norm", D_MLA_RANK_Q, 0, 0, 0, REPLICATE),
	[MLA_Q_B] = ROW("attn_q_b", D_MLA_RANK_Q, D_MLA_Q, 0, LMD_TENSOR_SCALE, HEADS),
	[MLA_Q] = ROW("attn_q", D_EMBD, D_MLA_Q, 0, LMD_TENSOR_SCALE, HEADS),
	[MLA_KV_A] = ROW("attn_kv_a_mqa", D_EMBD, D_MLA_KV_A, 0, R | LMD_TENSOR_SCALE, REPLICATE),
	[MLA_KV_A_NORM] = ROW("attn_kv_a_norm", D_MLA_RANK_KV, 0, 0, R, REPLICATE),
	[MLA_KV_B] = ROW("attn_kv_b", D_MLA_RANK_KV, D_MLA_KV_B, 0, 0, HEADS),
	[MLA_K_B] = ROW("attn_k_b", D_MLA_NOPE, D_MLA_RANK_KV, D_HEAD, 0, HEADS),
	[MLA_V_B] = ROW("attn_v_b", D_MLA_RANK_KV, D_MLA_DV, D_HEAD, 0, HEADS),
	[MLA_OUT] = ROW("attn_output", D_MLA_O, D_EMBD, 0, R | LMD_TENSOR_SCALE, COLS),
};

struct lmi_mla *lmi_mla_read(struct lmi_hparams *hp, struct lmi_keys *k, bool low_q)
{
	struct lmi_mla *m = lmi_hp_alloc(hp, k, 1, sizeof(*m));
	const struct lmi_layer *l0 = &hp->layer[0];
	uint32_t dk;

	if (!m || k->st != LMD_OK)
		return NULL;
	m->n_head = l0->n_head;
	if (low_q)
		m->rank_q =
			lmi_key_u32(k, "attention.q_lora_rank", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH);
	m->rank_kv = lmi_key_u32(k, "attention.kv_lora_rank", LMI_REQUIRED, 1, 1, LMI_MAX_DK);
	m->absorbed = lmi_key_has(k, "attention.key_length_mla");
	dk = lmi_key_u32(k, "attention.key_length_mla", LMI_OPTIONAL, l0->dk, 1, LMI_MAX_DK);
	m->dv = lmi_key_u32(k, "attention.value_length_mla", LMI_OPTIONAL, l0->dv, 1, LMI_MAX_DK);
	m->n_rot = l0->n_rot;
	if (k->st == LMD_OK && (m->n_rot >= dk || m->n_rot % 2))
		lmi_key_fail(k, LMD_INVALID,
			     "%s.rope.dimension_count: %u must be even and less than the key "
			     "length %u",
			     hp->model->arch, m->n_rot, dk);
	if (k->st != LMD_OK)
		return NULL;
	m->nope = dk - m->n_rot;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (l->n_head != m->n_head)
			lmi_key_fail(k, LMD_UNSUPPORTED,
				     "%s.attention.head_count: %u in layer %u but %u in layer 0",
				     hp->model->arch, l->n_head, il, m->n_head);
		l->n_head_kv = m->absorbed ? 1 : m->n_head;
		l->dk = m->absorbed ? m->rank_kv + m->n_rot : dk;
		l->dv = m->absorbed ? m->rank_kv : m->dv;
		l->cache_kind = m->absorbed ? LMD_CACHE_V_IN_K : LMD_CACHE_KV;
	}
	return k->st == LMD_OK ? m : NULL;
}

int64_t lmi_mla_dim(const struct lmi_mla *m, uint32_t symbol)
{
	switch (symbol) {
	case D_MLA_RANK_Q:
		return m->rank_q;
	case D_MLA_Q:
		return (int64_t)m->n_head * (m->nope + m->n_rot);
	case D_MLA_RANK_KV:
		return m->rank_kv;
	case D_MLA_KV_A:
		return (int64_t)m->rank_kv + m->n_rot;
	case D_MLA_KV_B:
		return (int64_t)m->n_head * (m->nope + m->dv);
	case D_MLA_NOPE:
		return m->nope;
	case D_MLA_DV:
		return m->dv;
	case D_MLA_O:
		return (int64_t)m->n_head * m->dv;
	default:
		return 0;
	}
}

int64_t lmi_mla_hp_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;

	if (symbol >= D_MLA_RANK_Q && symbol < D_MLA_END)
		return hp->own_data ? lmi_mla_dim(hp->own_data, symbol) : 0;
	return lmi_hp_dim(state, symbol, layer);
}

/* ---- pieces ---- */

static void copy(struct lmi_emit *e, struct lmd_opnd x, struct lmd_opnd y)
{
	struct lmd_op op = lmi_op(LMD_OP_CAST_COPY);

	op.u.cast_copy.x = x;
	op.u.cast_copy.y = y;
	lmi_put(e, &op);
}

/* n heads of `width` columns that are `stride` columns apart. */
static struct lmd_opnd part(uint32_t value, uint32_t col0, uint32_t n, uint32_t stride,
			    uint32_t width)
{
	struct lmd_opnd o = lmi_heads(value, col0, n, width);

	o.head_stride = stride;
	return o;
}

struct projected {
	uint32_t q;           /* heads of [nope | rope] */
	uint32_t kv;          /* [latent | rope], not normalised */
	struct lmd_opnd list; /* keys to attend to */
	uint32_t q_row_in;
};

static void add(struct lmd_op_linear *l, const struct lmi_w *w, struct lmd_opnd y)
{
	l->w[l->n_w] = w->id;
	l->lora_site[l->n_w] = w->site;
	l->y[l->n_w++] = y;
}

static struct projected project(struct lmi_emit *e, const struct lmi_io *io,
				const struct lmi_mla *m)
{
	const struct lmd_tensor_row *r = lmi_mla_rows;
	struct lmi_w wkv = lmi_w(e, &r[MLA_KV_A]);
	struct lmi_w wq = lmi_w(e, &r[m->rank_q ? MLA_Q_A : MLA_Q]);
	struct projected s = {.kv = lmi_f32(e, m->rank_kv + m->n_rot, "kv_a")};
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	struct lmd_norm norm;

	s.q = lmi_f32(e, m->rank_q ? m->rank_q : (uint32_t)lmi_mla_dim(m, D_MLA_Q), "q_a");
	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	add(&op.u.linear, &wq, lmi_whole(e, s.q));
	add(&op.u.linear, &wkv, lmi_whole(e, s.kv));
	lmi_put(e, &op);
	if (m->rank_q) {
		norm = lmi_norm_req(e, LMD_NORM_RMS, &r[MLA_Q_A_NORM]);
		wq = lmi_w(e, &r[MLA_Q_B]);
		if (m->choose) {
			uint32_t qr = lmi_f32(e, m->rank_q, "q_a_norm");

			lmi_put_norm(e, lmi_whole(e, s.q), &norm, lmi_whole(e, qr));
			s.list = m->choose(e, io->x, lmi_whole(e, qr));
			s.q = qr;
			norm = lmi_no_norm();
		}
		s.q = lmi_linear(e, lmi_whole(e, s.q), &norm, &wq, LMD_VTYPE_ACT, "q");
	}
	return s;
}

/* One half of kv_b as a stack [H, ..]: the key part of each head, transposed, or the value part. */
static uint32_t from_kv_b(struct lmi_emit *e, const struct lmi_mla *m, bool keys)
{
	struct lmd_wpart p = {.kind = LMD_WPART_TENSOR,
			      .tensor = lmi_tensor_index(e, &lmi_mla_rows[MLA_KV_B], ".weight"),
			      .row0 = keys ? 0 : m->nope, .n_row = keys ? m->nope : m->dv};
	const struct lmd_wref w = {.struct_size = sizeof(w),
				   .n_part = 1,
				   .parts = &p,
				   .xform = keys ? LMD_XFORM_HEAD_TRANSPOSE : LMD_XFORM_NONE,
				   .split = LMD_SPLIT_HEADS,
				   .n_head = m->n_head,
				   .head_rows = m->nope + m->dv,
				   .n_stack = m->n_head,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE,
				   .name = keys ? "k_b of attn_kv_b" : "v_b of attn_kv_b"};

	if (p.tensor == LMD_NONE) {
		(void)lmi_w(e, &lmi_mla_rows[keys ? MLA_K_B : MLA_V_B]); /* reports it missing */
		return 0;
	}
	return e->b->wref(e->b->ctx, &w);
}

static void bmm(struct lmi_emit *e, struct lmd_opnd x, const struct lmi_mla *m, bool keys,
		struct lmd_opnd y)
{
	const struct lmd_tensor_row *row = &lmi_mla_rows[keys ? MLA_K_B : MLA_V_B];
	struct lmd_op op = lmi_op(LMD_OP_BMM);

	op.u.bmm.x = x;
	op.u.bmm.w = lmi_has(e, row) ? lmi_w(e, row).id : from_kv_b(e, m, keys);
	op.u.bmm.y = y;
	lmi_put(e, &op);
}

static struct lmd_opnd temper(struct lmi_emit *e, struct lmd_opnd q, uint32_t row_in)
{
	uint32_t y;

	if (row_in == LMD_NONE)
		return q;
	y = lmi_act(e, q.n_head * q.width, "q_temp");
	lmi_put_mul(e, q, lmi_row_in(row_in, 1), lmi_heads(y, 0, q.n_head, q.width));
	return lmi_heads(y, 0, q.n_head, q.width);
}

/* Rotates the last n_rot columns of q and k, stores the keys, and attends. */
static uint32_t attend(struct lmi_emit *e, const struct lmi_mla *m, const struct projected *s,
		       struct lmd_opnd q, struct lmd_opnd k, struct lmd_opnd v)
{
	const struct lmi_layer *l = lmi_cur(e);
	uint32_t q_rot = lmi_act(e, q.n_head * q.width, "q_rot"),
		 y = lmi_act(e, m->n_head * l->dv, "attn");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = q;
	op.u.rope_kv.k = k;
	op.u.rope_kv.v = v;
	op.u.rope_kv.q_out = q = lmi_heads(q_rot, 0, q.n_head, q.width);
	op.u.rope_kv.rope = lmi_rope(e, l->rope, m->n_rot);
	op.u.rope_kv.rot0 = q.width - m->n_rot;
	op.u.rope_kv.cache = l->cache;
	op.u.rope_kv.append = LMD_APPEND_K | (v.src ? LMD_APPEND_V : 0);
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_ATTN);
	op.u.attn.q = temper(e, q, s->q_row_in);
	op.u.attn.y = lmi_heads(y, 0, m->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head_kv;
	op.u.attn.src[0].kind = LMD_KV_CACHE;
	op.u.attn.src[0].cache = l->cache;
	op.u.attn.src[0].group = l->group;
	op.u.attn.scale = m->scale != 0.0f ? m->scale : 1.0f / sqrtf((float)(m->nope + m->n_rot));
	op.u.attn.tree = 1;
	op.u.attn.src[0].list = s->list;
	if (m->sinks)
		op.u.attn.sinks = lmi_w(e, m->sinks).id;
	lmi_put(e, &op);
	return y;
}

/* Copies the part of the key that all heads share, with a norm if the architecture has one. */
static void shared_key(struct lmi_emit *e, const struct lmi_mla *m, struct lmd_opnd x,
		       struct lmd_opnd y)
{
	struct lmd_norm norm;

	if (!m->k_norm) {
		copy(e, x, y);
		return;
	}
	norm = lmi_norm_req(e, LMD_NORM_RMS, m->k_norm);
	lmi_put_norm(e, x, &norm, y);
}

static uint32_t absorbed(struct lmi_emit *e, const struct lmi_mla *m, const struct projected *s)
{
	const uint32_t h = m->n_head, rank = m->rank_kv, dk = m->nope + m->n_rot,
		       dc = rank + m->n_rot;
	uint32_t q = lmi_act(e, h * dc, "q_latent"), k = lmi_act(e, dc, "k_latent");
	uint32_t y, out = lmi_act(e, h * m->dv, "attn_v");
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_mla_rows[MLA_KV_A_NORM]);

	lmi_put_norm(e, lmi_cols(s->kv, 0, rank), &norm, lmi_cols(k, 0, rank));
	shared_key(e, m, lmi_cols(s->kv, rank, m->n_rot), lmi_cols(k, rank, m->n_rot));
	bmm(e, part(s->q, 0, h, dk, m->nope), m, true, part(q, 0, h, dc, rank));
	copy(e, part(s->q, m->nope, h, dk, m->n_rot), part(q, rank, h, dc, m->n_rot));
	y = attend(e, m, s, lmi_heads(q, 0, h, dc), lmi_whole(e, k), lmi_none());
	bmm(e, lmi_heads(y, 0, h, rank), m, false, lmi_heads(out, 0, h, m->dv));
	return out;
}

static uint32_t expanded(struct lmi_emit *e, const struct lmi_mla *m, const struct projected *s)
{
	const uint32_t h = m->n_head, rank = m->rank_kv, dk = m->nope + m->n_rot,
		       n = m->nope + m->dv;
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_mla_rows[MLA_KV_A_NORM]);
	struct lmi_w w = lmi_w(e, &lmi_mla_rows[MLA_KV_B]);
	uint32_t kv = lmi_linear(e, lmi_cols(s->kv, 0, rank), &norm, &w, LMD_VTYPE_ACT, "kv");
	uint32_t k = lmi_act(e, h * dk, "k");

	copy(e, part(kv, 0, h, n, m->nope), part(k, 0, h, dk, m->nope));
	shared_key(e, m, part(s->kv, rank, h, 0, m->n_rot), part(k, m->nope, h, dk, m->n_rot));
	return attend(e, m, s, lmi_heads(s->q, 0, h, dk), lmi_heads(k, 0, h, dk),
		      part(kv, m->nope, h, n, m->dv));
}

/* y * sigmoid(W x), with one gate per head or per column. */
static uint32_t gated(struct lmi_emit *e, const struct lmi_mla *m, const struct lmi_io *io,
		      uint32_t y)
{
	struct lmi_w w = lmi_w(e, m->gate);
	uint32_t g = lmi_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate");
	uint32_t out = lmi_act(e, m->n_head * m->dv, "gated");
	struct lmi_ew p = lmi_ew();
	uint8_t r0 = lmi_ew_in(&p, lmi_heads(g, 0, m->n_head, w.n / m->n_head));
	uint8_t r1 = lmi_ew_in(&p, lmi_heads(y, 0, m->n_head, m->dv));

	r0 = lmi_ew1(&p, LMD_EW_SIGMOID, r0);
	lmi_ew_out(e, &p, lmi_ew2(&p, LMD_EW_MUL, r0, r1), lmi_heads(out, 0, m->n_head, m->dv));
	return out;
}

uint32_t lmi_mla(struct lmi_emit *e, const struct lmi_io *io, const struct lmi_mla *m,
		 uint32_t q_row_in)
{
	struct lmi_io in = *io;
	struct projected s;
	struct lmi_w w;
	uint32_t y;

	if (m->choose || m->gate) { /* several readers */
		in.x = lmi_normed(e, io, "attn_norm");
		in.norm = lmi_no_norm();
	}
	s = project(e, &in, m);
	s.q_row_in = q_row_in;
	y = m->absorbed ? absorbed(e, m, &s) : expanded(e, m, &s);
	if (m->gate)
		y = gated(e, m, &in, y);
	w = lmi_w(e, &lmi_mla_rows[MLA_OUT]);
	return lmi_block_out(e, lmi_whole(e, y), NULL, &w, io);
}
