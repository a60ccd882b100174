/* SPDX-License-Identifier: MIT
 *
 * attn_mla.c - the two forms of latent attention.  See attn_mla.h. */
#include <math.h>

#include "arch/common/attn_mla.h"

#define R LMD_TENSOR_REQUIRED
#define ROW(stem, d0, d1, d2, flags, split)                                                        \
	{                                                                                          \
		"blk.%d." stem, {d0, d1, d2}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, ARCH_L_ATTN, NULL          \
	}

const struct lmd_tensor_row arch_mla_rows[MLA_N] = {
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

struct arch_mla *arch_mla_read(struct arch_hparams *hp, struct arch_keys *k, bool low_q)
{
	struct arch_mla *m = arch_hp_alloc(hp, k, 1, sizeof(*m));
	const struct arch_layer *l0 = &hp->layer[0];
	uint32_t dk;

	if (!m || k->st != LMD_OK)
		return NULL;
	m->n_head = l0->n_head;
	if (low_q)
		m->rank_q = arch_key_u32(k, "attention.q_lora_rank", ARCH_REQUIRED, 1, 1,
					 ARCH_KEY_MAX_WIDTH);
	m->rank_kv = arch_key_u32(k, "attention.kv_lora_rank", ARCH_REQUIRED, 1, 1, ARCH_MAX_DK);
	m->absorbed = arch_key_has(k, "attention.key_length_mla");
	dk = arch_key_u32(k, "attention.key_length_mla", ARCH_OPTIONAL, l0->dk, 1, ARCH_MAX_DK);
	m->dv = arch_key_u32(k, "attention.value_length_mla", ARCH_OPTIONAL, l0->dv, 1,
			     ARCH_MAX_DK);
	m->n_rot = l0->n_rot;
	if (k->st == LMD_OK && (m->n_rot >= dk || m->n_rot % 2))
		arch_key_fail(k, LMD_INVALID,
			      "%s.rope.dimension_count: %u must be even and less than the key "
			      "length %u",
			      hp->model->arch, m->n_rot, dk);
	if (k->st != LMD_OK)
		return NULL;
	m->n_nope = dk - m->n_rot;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (l->n_head != m->n_head)
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "%s.attention.head_count: %u in layer %u but %u in layer 0",
				      hp->model->arch, l->n_head, il, m->n_head);
		l->n_head_kv = m->absorbed ? 1 : m->n_head;
		l->dk = m->absorbed ? m->rank_kv + m->n_rot : dk;
		l->dv = m->absorbed ? m->rank_kv : m->dv;
		l->cache_kind = m->absorbed ? LMD_CACHE_V_IN_K : LMD_CACHE_KV;
		l->heads_whole = true;
	}
	return k->st == LMD_OK ? m : NULL;
}

int64_t arch_mla_dim(const struct arch_mla *m, uint32_t symbol)
{
	switch (symbol) {
	case D_MLA_RANK_Q:
		return m->rank_q;
	case D_MLA_Q:
		return (int64_t)m->n_head * (m->n_nope + m->n_rot);
	case D_MLA_RANK_KV:
		return m->rank_kv;
	case D_MLA_KV_A:
		return (int64_t)m->rank_kv + m->n_rot;
	case D_MLA_KV_B:
		return (int64_t)m->n_head * (m->n_nope + m->dv);
	case D_MLA_NOPE:
		return m->n_nope;
	case D_MLA_DV:
		return m->dv;
	case D_MLA_O:
		return (int64_t)m->n_head * m->dv;
	default:
		return 0;
	}
}

int64_t arch_mla_hp_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;

	if (symbol >= D_MLA_RANK_Q && symbol < D_MLA_END)
		return hp->arch_data ? arch_mla_dim(hp->arch_data, symbol) : 0;
	return arch_hp_dim(state, symbol, layer);
}

/* ---- pieces ---- */

static void copy(struct arch_emit *e, struct lmd_operand x, struct lmd_operand y)
{
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	op.u.cast_copy.x = x;
	op.u.cast_copy.y = y;
	arch_emit_op(e, &op);
}

/* n heads of `width` columns that are `stride` columns apart. */
static struct lmd_operand part(uint32_t value, uint32_t col0, uint32_t n, uint32_t stride,
			       uint32_t width)
{
	struct lmd_operand o = arch_operand_heads(value, col0, n, width);

	o.head_stride = stride;
	return o;
}

struct projected {
	uint32_t q;           /* heads of [nope | rope] */
	uint32_t kv;          /* [latent | rope], not normalised */
	struct lmd_operand list; /* keys to attend to */
	uint32_t q_row_in;
};

static void add(struct lmd_op_linear *l, const struct arch_weight *w, struct lmd_operand y)
{
	l->w[l->n_w] = w->id;
	l->lora_site[l->n_w] = w->site;
	l->y[l->n_w++] = y;
}

static struct projected project(struct arch_emit *e, const struct arch_block_io *io,
				const struct arch_mla *m)
{
	const struct lmd_tensor_row *r = arch_mla_rows;
	struct arch_weight wkv = arch_weight_req(e, &r[MLA_KV_A]);
	struct arch_weight wq = arch_weight_req(e, &r[m->rank_q ? MLA_Q_A : MLA_Q]);
	struct projected s = {.kv = arch_value_f32(e, m->rank_kv + m->n_rot, "kv_a")};
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	struct lmd_norm norm;

	s.q = arch_value_f32(e, m->rank_q ? m->rank_q : (uint32_t)arch_mla_dim(m, D_MLA_Q), "q_a");
	op.u.linear.x = io->x;
	op.u.linear.pro = io->norm;
	add(&op.u.linear, &wq, arch_operand_all(e, s.q));
	add(&op.u.linear, &wkv, arch_operand_all(e, s.kv));
	arch_emit_op(e, &op);
	if (m->rank_q) {
		norm = arch_norm_req(e, LMD_NORM_RMS, &r[MLA_Q_A_NORM]);
		wq = arch_weight_req(e, &r[MLA_Q_B]);
		if (m->choose_keys) {
			uint32_t qr = arch_value_f32(e, m->rank_q, "q_a_norm");

			arch_put_norm(e, arch_operand_all(e, s.q), &norm, arch_operand_all(e, qr));
			s.list = m->choose_keys(e, io->x, arch_operand_all(e, qr));
			s.q = qr;
			norm = arch_no_norm();
		}
		s.q = arch_linear(e, arch_operand_all(e, s.q), &norm, &wq, LMD_VTYPE_ACT, "q");
	}
	return s;
}

/* One half of kv_b as a stack [H, ..]: the key part of each head, transposed, or the value part. */
static uint32_t from_kv_b(struct arch_emit *e, const struct arch_mla *m, bool keys)
{
	struct lmd_weight_part p = {
		.kind = LMD_WEIGHT_PART_TENSOR,
		.tensor = arch_tensor_index(e, &arch_mla_rows[MLA_KV_B], ".weight"),
		.row0 = keys ? 0 : m->n_nope,
		.n_row = keys ? m->n_nope : m->dv};
	const struct lmd_weight_ref w = {.struct_size = sizeof(w),
					 .n_part = 1,
					 .parts = &p,
					 .transform = keys ? LMD_TRANSFORM_HEAD_TRANSPOSE
							   : LMD_TRANSFORM_NONE,
					 .split = LMD_SPLIT_HEADS,
					 .n_head = m->n_head,
					 .head_rows = m->n_nope + m->dv,
					 .n_stack = m->n_head,
					 .scale = LMD_NONE,
					 .bias = LMD_NONE,
					 .name = keys ? "k_b of attn_kv_b" : "v_b of attn_kv_b"};

	if (p.tensor == LMD_NONE) {
		(void)arch_weight_req(
			e, &arch_mla_rows[keys ? MLA_K_B : MLA_V_B]); /* reports it missing */
		return 0;
	}
	return e->b->weight_ref(e->b->ctx, &w);
}

static void bmm(struct arch_emit *e, struct lmd_operand x, const struct arch_mla *m, bool keys,
		struct lmd_operand y)
{
	const struct lmd_tensor_row *row = &arch_mla_rows[keys ? MLA_K_B : MLA_V_B];
	struct lmd_op op = arch_op_empty(LMD_OP_BMM);

	op.u.bmm.x = x;
	op.u.bmm.w =
		arch_weight_exists(e, row) ? arch_weight_req(e, row).id : from_kv_b(e, m, keys);
	op.u.bmm.y = y;
	arch_emit_op(e, &op);
}

static struct lmd_operand scale_by_position(struct arch_emit *e, struct lmd_operand q,
					    uint32_t row_in)
{
	uint32_t y;

	if (row_in == LMD_NONE)
		return q;
	y = arch_value_act(e, q.n_head * q.width, "q_temp");
	arch_put_mul(e, q, arch_operand_row_input(row_in, 1),
		     arch_operand_heads(y, 0, q.n_head, q.width));
	return arch_operand_heads(y, 0, q.n_head, q.width);
}

/* Rotates the last n_rot columns of q and k, stores the keys, and attends. */
static uint32_t attend(struct arch_emit *e, const struct arch_mla *m, const struct projected *s,
		       struct lmd_operand q, struct lmd_operand k, struct lmd_operand v)
{
	const struct arch_layer *l = arch_current_layer(e);
	uint32_t q_rot = arch_value_act(e, q.n_head * q.width, "q_rot"),
		 y = arch_value_act(e, m->n_head * l->dv, "attn");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = q;
	op.u.rope_kv.k = k;
	op.u.rope_kv.v = v;
	op.u.rope_kv.q_out = q = arch_operand_heads(q_rot, 0, q.n_head, q.width);
	op.u.rope_kv.rope = arch_rope(e, l->rope, m->n_rot);
	op.u.rope_kv.rot0 = q.width - m->n_rot;
	op.u.rope_kv.cache = l->cache;
	op.u.rope_kv.append = LMD_APPEND_K | (v.src ? LMD_APPEND_V : 0);
	arch_emit_op(e, &op);

	op = arch_op_empty(LMD_OP_ATTN);
	op.u.attn.q = scale_by_position(e, q, s->q_row_in);
	op.u.attn.y = arch_operand_heads(y, 0, m->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head_kv;
	op.u.attn.src[0].kind = LMD_KV_CACHE;
	op.u.attn.src[0].cache = l->cache;
	op.u.attn.src[0].group = l->group;
	op.u.attn.scale = m->scale != 0.0f ? m->scale : 1.0f / sqrtf((float)(m->n_nope + m->n_rot));
	op.u.attn.tree = 1;
	op.u.attn.src[0].list = s->list;
	if (m->sinks)
		op.u.attn.sinks = arch_weight_req(e, m->sinks).id;
	arch_emit_op(e, &op);
	return y;
}

/* Copies the part of the key that all heads share, with a norm if the architecture has one. */
static void shared_key(struct arch_emit *e, const struct arch_mla *m, struct lmd_operand x,
		       struct lmd_operand y)
{
	struct lmd_norm norm;

	if (!m->k_norm) {
		copy(e, x, y);
		return;
	}
	norm = arch_norm_req(e, LMD_NORM_RMS, m->k_norm);
	arch_put_norm(e, x, &norm, y);
}

static uint32_t absorbed(struct arch_emit *e, const struct arch_mla *m, const struct projected *s)
{
	const uint32_t h = m->n_head, rank = m->rank_kv, dk = m->n_nope + m->n_rot,
		       dc = rank + m->n_rot;
	uint32_t q = arch_value_act(e, h * dc, "q_latent"), k = arch_value_act(e, dc, "k_latent");
	uint32_t y, out = arch_value_act(e, h * m->dv, "attn_v");
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_mla_rows[MLA_KV_A_NORM]);

	arch_put_norm(e, arch_operand_cols(s->kv, 0, rank), &norm, arch_operand_cols(k, 0, rank));
	shared_key(e, m, arch_operand_cols(s->kv, rank, m->n_rot),
		   arch_operand_cols(k, rank, m->n_rot));
	bmm(e, part(s->q, 0, h, dk, m->n_nope), m, true, part(q, 0, h, dc, rank));
	copy(e, part(s->q, m->n_nope, h, dk, m->n_rot), part(q, rank, h, dc, m->n_rot));
	y = attend(e, m, s, arch_operand_heads(q, 0, h, dc), arch_operand_all(e, k),
		   arch_operand_none());
	bmm(e, arch_operand_heads(y, 0, h, rank), m, false, arch_operand_heads(out, 0, h, m->dv));
	return out;
}

static uint32_t expanded(struct arch_emit *e, const struct arch_mla *m, const struct projected *s)
{
	const uint32_t h = m->n_head, rank = m->rank_kv, dk = m->n_nope + m->n_rot,
		       n = m->n_nope + m->dv;
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_mla_rows[MLA_KV_A_NORM]);
	struct arch_weight w = arch_weight_req(e, &arch_mla_rows[MLA_KV_B]);
	uint32_t kv =
		arch_linear(e, arch_operand_cols(s->kv, 0, rank), &norm, &w, LMD_VTYPE_ACT, "kv");
	uint32_t k = arch_value_act(e, h * dk, "k");

	copy(e, part(kv, 0, h, n, m->n_nope), part(k, 0, h, dk, m->n_nope));
	shared_key(e, m, part(s->kv, rank, h, 0, m->n_rot), part(k, m->n_nope, h, dk, m->n_rot));
	return attend(e, m, s, arch_operand_heads(s->q, 0, h, dk), arch_operand_heads(k, 0, h, dk),
		      part(kv, m->n_nope, h, n, m->dv));
}

/* y * sigmoid(W x), with one gate per head or per column. */
static uint32_t gated(struct arch_emit *e, const struct arch_mla *m, const struct arch_block_io *io,
		      uint32_t y)
{
	struct arch_weight w = arch_weight_req(e, m->gate);
	uint32_t g = arch_linear(e, io->x, &io->norm, &w, LMD_VTYPE_ACT, "gate");
	uint32_t out = arch_value_act(e, m->n_head * m->dv, "gated");
	struct arch_ew p = arch_ew();
	uint8_t r0 = arch_ew_in(&p, arch_operand_heads(g, 0, m->n_head, w.n / m->n_head));
	uint8_t r1 = arch_ew_in(&p, arch_operand_heads(y, 0, m->n_head, m->dv));

	r0 = arch_ew1(&p, LMD_EW_SIGMOID, r0);
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, r0, r1),
		    arch_operand_heads(out, 0, m->n_head, m->dv));
	return out;
}

uint32_t arch_mla(struct arch_emit *e, const struct arch_block_io *io, const struct arch_mla *m,
		  uint32_t q_row_in)
{
	struct arch_block_io in = *io;
	struct projected s;
	struct arch_weight w;
	uint32_t y;

	if (m->choose_keys || m->gate) { /* several readers */
		in.x = arch_normalised_input(e, io, "attn_norm");
		in.norm = arch_no_norm();
	}
	s = project(e, &in, m);
	s.q_row_in = q_row_in;
	y = m->absorbed ? absorbed(e, m, &s) : expanded(e, m, &s);
	if (m->gate)
		y = gated(e, m, &in, y);
	w = arch_weight_req(e, &arch_mla_rows[MLA_OUT]);
	return arch_block_out(e, arch_operand_all(e, y), NULL, &w, io);
}
