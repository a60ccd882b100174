/* SPDX-License-Identifier: MIT
 *
 * deepseek4_attn.c - attention of DeepSeek-V4: one key head whose row is both key and value,
 * low-rank q, rotation of the last columns (reversed after attention), grouped low-rank output,
 * sinks.  Every layer sees a window of raw rows.  Layers with a compress ratio also see one row for
 * each block of `ratio` tokens, a softmax-weighted sum.  With ratio 4 the sum covers the block and
 * the previous one, and only rows chosen by an indexer are read; with ratio 128 all rows are. */
#include <math.h>

#include "arch/streams/deepseek4.h"

static uint32_t product(struct lmi_emit *e, struct lmd_opnd x, uint32_t row, float scale,
			const char *name)
{
	struct lmi_w w = lmi_w(e, &lmi_ds4_rows[row]);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t y = lmi_f32(e, w.n, name);

	op.u.linear.x = x;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.scale = scale;
	op.u.linear.y[0] = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

/* Computes one row for each block of tokens; normalises, rotates and stores it. */
static void compress(struct lmi_emit *e, const struct lmi_ds4 *m, struct lmd_opnd x,
		     uint32_t kv_row, uint32_t gate_row, uint32_t ape_row, uint32_t norm_row,
		     uint32_t width, uint32_t pool, uint32_t cache)
{
	const uint32_t r = m->ratio[e->il], g = lmi_ds4_which(r), over = r == DS4_OVERLAP_RATIO;
	uint32_t kv = product(e, x, kv_row, 1.0f, "block_kv"),
		 raw = product(e, x, gate_row, 1.0f, "block_gate");
	uint32_t ape = lmi_f32(e, lmi_width(e, raw), "block_ape"),
		 score = lmi_f32(e, lmi_width(e, raw), "score");
	uint32_t y = lmi_f32(e, width, "block");
	struct lmd_op op = lmi_op(LMD_OP_EMBED);

	op.u.embed.y = lmi_whole(e, ape);
	op.u.embed.table = lmi_w(e, &lmi_ds4_rows[ape_row]).id;
	op.u.embed.idx_kind = LMD_IDX_OPND;
	op.u.embed.idx = lmi_row_in(DS4_N_IN * g + DS4_IN_APE, 1);
	op.u.embed.n_id = 1;
	lmi_put(e, &op);
	lmi_put_scale_add(e, lmi_whole(e, raw), 1.0f, lmi_whole(e, ape), lmi_whole(e, score));

	op = lmi_op(LMD_OP_CONV);
	op.u.conv.kind = LMD_CONV_POOL;
	op.u.conv.x = lmi_whole(e, kv);
	op.u.conv.score = lmi_whole(e, score);
	op.u.conv.y = lmi_whole(e, y);
	op.u.conv.n = r;
	op.u.conv.overlap = over;
	op.u.conv.left = (over ? 2 * r : r) - 1;
	op.u.conv.group = m->group[g];
	op.u.conv.cache = pool;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_ROPE_KV);
	op.u.rope_kv.k = lmi_whole(e, y);
	op.u.rope_kv.kn = lmi_norm_req(e, LMD_NORM_RMS, &lmi_ds4_rows[norm_row]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = lmi_rope(e, LMI_ROPE_FULL, m->d.hp.layer[0].n_rot);
	op.u.rope_kv.rot0 = width - m->d.hp.layer[0].n_rot;
	op.u.rope_kv.pos = lmi_row_in(DS4_N_IN * g + DS4_IN_BLOCK, 1);
	op.u.rope_kv.cache = cache;
	op.u.rope_kv.append = LMD_APPEND_K;
	lmi_put(e, &op);
}

/* Chooses the blocks that a row attends to, by ReLU scores of a few small heads. */
static uint32_t choose(struct lmi_emit *e, const struct lmi_ds4 *m, struct lmd_opnd x, uint32_t qr)
{
	const uint32_t h = m->idx_head, d = m->idx_dk, n_rot = m->d.hp.layer[0].n_rot;
	uint32_t q = product(e, lmi_whole(e, qr), DS4_I_Q, 1.0f, "index_q"),
		 qq = lmi_f32(e, h * d, "index_q_rot");
	uint32_t w = product(e, x, DS4_I_PROJ, 1.0f / sqrtf((float)(h * d)), "index_w");
	uint32_t list = lmi_i32(e, m->idx_top, "index");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = lmi_heads(q, 0, h, d);
	op.u.rope_kv.q_out = lmi_heads(qq, 0, h, d);
	op.u.rope_kv.rope = lmi_rope(e, LMI_ROPE_FULL, n_rot);
	op.u.rope_kv.rot0 = d - n_rot;
	lmi_put(e, &op);

	op = lmi_op(LMD_OP_INDEX);
	op.u.index.q = lmi_heads(qq, 0, h, d);
	op.u.index.w = lmi_whole(e, w);
	op.u.index.y = lmi_whole(e, list);
	op.u.index.kind = LMD_INDEX_WEIGHTED;
	op.u.index.cache = m->index[e->il];
	op.u.index.n = m->idx_top;
	op.u.index.unit = 1;
	op.u.index.scale = 1.0f;
	lmi_put(e, &op);
	return list;
}

/* Output projection: reverses the rotation, then multiplies by a matrix per group and a common
 * one. */
static uint32_t output(struct lmi_emit *e, const struct lmi_ds4 *m, uint32_t y)
{
	const struct lmi_layer *l = lmi_cur(e);
	const uint32_t g = m->n_group_o, n = l->n_head * l->dk;
	uint32_t back = lmi_f32(e, n, "attn_back"), low = lmi_f32(e, g * m->rank_o, "attn_low");
	struct lmd_wpart part = {.kind = LMD_WPART_TENSOR,
				 .tensor = lmi_tensor_index(e, &lmi_ds4_rows[DS4_O_A], ".weight")};
	const struct lmd_wref wa = {.struct_size = sizeof(wa),
				    .n_part = 1,
				    .parts = &part,
				    .n_stack = g,
				    .n = m->rank_o,
				    .k = n / g,
				    .split = LMD_SPLIT_HEADS,
				    .scale = LMD_NONE,
				    .bias = LMD_NONE,
				    .name = "attn_output_a"};
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV);

	op.u.rope_kv.q = lmi_heads(y, 0, l->n_head, l->dk);
	op.u.rope_kv.q_out = lmi_heads(back, 0, l->n_head, l->dk);
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.rot0 = l->dk - l->n_rot;
	op.u.rope_kv.sign = -1.0f;
	lmi_put(e, &op);
	if (part.tensor == LMD_NONE) {
		(void)lmi_w(e, &lmi_ds4_rows[DS4_O_A]);
		return back;
	}
	op = lmi_op(LMD_OP_BMM);
	op.u.bmm.x = lmi_heads(back, 0, g, n / g);
	op.u.bmm.w = e->b->wref(e->b->ctx, &wa);
	op.u.bmm.y = lmi_heads(low, 0, g, m->rank_o);
	lmi_put(e, &op);
	return product(e, lmi_whole(e, low), DS4_O_B, 1.0f, "attn_out");
}

uint32_t lmi_ds4_attention(struct lmi_emit *e, const struct lmi_ds4 *m, struct lmd_opnd x)
{
	const struct lmi_layer *l = lmi_cur(e);
	const uint32_t r = m->ratio[e->il], n = l->n_head * l->dk;
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_ds4_rows[DS4_Q_A_NORM]);
	uint32_t qa = product(e, x, DS4_Q_A, 1.0f, "q_a"), qr = lmi_f32(e, m->rank_q, "q_a_norm"),
		 q, kv;
	uint32_t q_rot = lmi_f32(e, n, "q_rot"), y = lmi_f32(e, n, "attn");
	struct lmd_op op = lmi_op(LMD_OP_ROPE_KV), at = lmi_op(LMD_OP_ATTN);

	lmi_put_norm(e, lmi_whole(e, qa), &norm, lmi_whole(e, qr));
	q = product(e, lmi_whole(e, qr), DS4_Q_B, 1.0f, "q");
	kv = product(e, x, DS4_KV, 1.0f, "kv");
	op.u.rope_kv.q = lmi_heads(q, 0, l->n_head, l->dk);
	op.u.rope_kv.q_out = lmi_heads(q_rot, 0, l->n_head, l->dk);
	op.u.rope_kv.qn = (struct lmd_norm){.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	op.u.rope_kv.k = lmi_whole(e, kv);
	op.u.rope_kv.kn = lmi_norm_req(e, LMD_NORM_RMS, &lmi_ds4_rows[DS4_KV_NORM]);
	op.u.rope_kv.norm_when = LMD_QKN_BEFORE;
	op.u.rope_kv.rope = lmi_rope(e, l->rope, l->n_rot);
	op.u.rope_kv.rot0 = l->dk - l->n_rot;
	op.u.rope_kv.cache = m->raw[e->il];
	op.u.rope_kv.append = LMD_APPEND_K;
	lmi_put(e, &op);

	at.u.attn.q = lmi_heads(q_rot, 0, l->n_head, l->dk);
	at.u.attn.y = lmi_heads(y, 0, l->n_head, l->dk);
	at.u.attn.n_kv_head = 1;
	at.u.attn.scale = 1.0f / sqrtf((float)l->dk);
	at.u.attn.sinks = lmi_w(e, &lmi_ds4_rows[DS4_A_SINKS]).id;
	at.u.attn.src[0].kind = LMD_KV_CACHE;
	at.u.attn.src[0].cache = m->raw[e->il];
	at.u.attn.src[0].group = m->d.hp.caches[m->raw[e->il]].group;
	if (r) {
		compress(e, m, x, DS4_C_KV, DS4_C_GATE, DS4_C_APE, DS4_C_NORM, l->dk,
			 m->pool[e->il], m->comp[e->il]);
		at.u.attn.src[1].kind = LMD_KV_CACHE;
		at.u.attn.src[1].cache = m->comp[e->il];
		at.u.attn.src[1].group = m->group[lmi_ds4_which(r)];
	}
	if (r == DS4_OVERLAP_RATIO) {
		compress(e, m, x, DS4_IC_KV, DS4_IC_GATE, DS4_IC_APE, DS4_IC_NORM, m->idx_dk,
			 m->pool_idx[e->il], m->index[e->il]);
		at.u.attn.src[1].list = lmi_whole(e, choose(e, m, x, qr));
		at.u.attn.src[1].list_unit = 1;
	}
	lmi_put(e, &at);
	return output(e, m, y);
}
