/* SPDX-License-Identifier: MIT
 *
 * Vision towers in files of the architecture clip (mmproj): the encoders of CLIP (arXiv 2103.00020),
 * SigLIP (arXiv 2303.15343) and Qwen2-VL (arXiv 2409.12191), which are blocks with a norm before each
 * part, and a projector.
 *
 * The rows are patches in the order of their blocks, so that a projector that merges blocks folds
 * neighbouring rows. Attention does not depend on the order of rows; positions come with them. */
#include "arch/encoder/tower.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/encoder/encoder.h"

#define N_CHANNEL  3u
#define MAX_PATCH  256u
#define MAX_MERGE  16u
#define MAX_PIXELS (1u << 16) /* of a side */
#define MAX_ROWS   16384u     /* patches of a picture */

#define REQ (LMD_TENSOR_REQUIRED | LMD_TENSOR_BIAS)
#define GLB LMD_TENSOR_GLOBAL
#define ANY LMD_TENSOR_ANY_SHAPE
#define ROW(stem, d0, d1, flags) {stem, {d0, d1}, flags, LMD_SPLIT_REPLICATE, 0, NULL}
const struct lmd_tensor_row arch_tower_rows[TW_N] = {
	[TW_PATCH] = ROW("v.patch_embd", D_EMBD, 0, REQ | GLB | ANY),
	[TW_POS] = ROW("v.position_embd", D_EMBD, 0, GLB | ANY),
	[TW_PRE_NORM] = ROW("v.pre_ln", D_EMBD, 0, LMD_TENSOR_BIAS | GLB),
	[TW_POST_NORM] = ROW("v.post_ln", D_EMBD, 0, LMD_TENSOR_BIAS | GLB),
	[TW_LN1] = ROW("v.blk.%d.ln1", D_EMBD, 0, REQ),
	[TW_LN2] = ROW("v.blk.%d.ln2", D_EMBD, 0, REQ),
	[TW_Q] = ROW("v.blk.%d.attn_q", D_EMBD, D_EMBD, LMD_TENSOR_BIAS),
	[TW_K] = ROW("v.blk.%d.attn_k", D_EMBD, D_EMBD, LMD_TENSOR_BIAS),
	[TW_V] = ROW("v.blk.%d.attn_v", D_EMBD, D_EMBD, LMD_TENSOR_BIAS),
	[TW_QKV] = ROW("v.blk.%d.attn_qkv", D_EMBD, D_QKV, LMD_TENSOR_BIAS),
	[TW_OUT] = ROW("v.blk.%d.attn_out", D_EMBD, D_EMBD, REQ),
	[TW_UP] = ROW("v.blk.%d.ffn_up", D_EMBD, D_FF, REQ | ANY),
	[TW_DOWN] = ROW("v.blk.%d.ffn_down", D_FF, D_EMBD, REQ | ANY),
	[TW_FC] = ROW("mm.model.fc", D_EMBD, 0, LMD_TENSOR_BIAS | GLB | ANY),
	[TW_MM_0] = ROW("mm.0", D_EMBD, 0, LMD_TENSOR_BIAS | GLB | ANY),
	[TW_MM_2] = ROW("mm.2", D_EMBD, 0, LMD_TENSOR_BIAS | GLB | ANY),
	[TW_MM_INPUT] = ROW("mm.input_projection", D_EMBD, 0, GLB | ANY),
	[TW_MM_NORM] = ROW("mm.soft_emb_norm", D_EMBD, 0, GLB),
};

/* The second half of a kernel over two frames, and the embedding of the class token. */
static const struct lmd_tensor_row bare[] = {
	{"v.patch_embd.weight.1", {D_EMBD}, GLB | ANY | LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, 0, NULL},
	{"v.class_embd", {D_EMBD}, GLB | LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set sets[] = {
	{arch_tower_rows, TW_N, 0},
	ARCH_ROWS_OWN(bare),
};

/* ---- description ---- */

static void read_projector(struct arch_tower *m, struct arch_keys *k)
{
	struct lmd_str name = arch_key_str(k, "projector_type", ARCH_OPTIONAL);
	char names[128];

	if (!name.ptr)
		name = arch_key_str(k, "vision.projector_type", ARCH_OPTIONAL);
	if (!name.ptr)
		name = (struct lmd_str){"mlp", 3};
	if (arch_key_has(k, "vision.image_grid_pinpoints") || arch_key_has(k, "vision.feature_layer"))
		arch_key_fail(k, LMD_UNSUPPORTED,
			      "clip.vision.%s: towers with cut pictures of many sizes (LLaVA 1.6) or several "
			      "output layers are not supported",
			      arch_key_has(k, "vision.feature_layer") ? "feature_layer"
								      : "image_grid_pinpoints");
	m->projector = arch_projector_find(name);
	if (m->projector)
		return;
	arch_projector_names(names, sizeof(names));
	arch_key_fail(k, LMD_UNSUPPORTED,
		      "clip.projector_type is %.*s; the projectors that are supported are %s",
		      (int)(name.len < 60 ? name.len : 60), name.ptr, names);
}

static void read_picture(struct arch_tower *m, struct arch_keys *k)
{
	struct lmd_picture *p = &m->picture;
	double v[2][3];

	*p = m->projector->picture;
	p->struct_size = sizeof(*p);
	p->patch = arch_key_u32(k, "vision.patch_size", ARCH_REQUIRED, 1, 1, MAX_PATCH);
	p->merge = m->projector->merge;
	if (!p->merge)
		p->merge = arch_key_u32(k, "vision.projector.scale_factor", ARCH_OPTIONAL, 4, 1,
					MAX_MERGE);
	p->size = arch_key_u32(k, "vision.image_size", ARCH_REQUIRED, 1, 1, MAX_PIXELS);
	p->longest = arch_key_u32(k, "vision.preproc_image_size", ARCH_OPTIONAL, 4 * p->size, 1,
				  MAX_PIXELS);
	p->n_first = arch_hp_tensor(&m->hp, "v.class_embd") != LMD_NONE;
	p->min_pixels *= p->patch * p->patch;
	p->max_pixels *= p->patch * p->patch;
	p->by_line = m->projector->rope;
	for (int i = 0; i < 2; i++) {
		(void)arch_key_f64s(k, i ? "vision.image_std" : "vision.image_mean", ARCH_REQUIRED,
				    v[i], 3, 1, i ? 1e-6 : -1e6, 1e6);
		for (int c = 0; c < 3; c++)
			(i ? p->deviation : p->mean)[c] = (float)v[i][c];
	}
	if (k->st != LMD_OK || p->fit == LMD_PICTURE_FREE)
		return;
	if (p->size % (p->patch * p->merge) || p->longest % p->size || p->longest / p->size > 16)
		arch_key_fail(k, LMD_INVALID,
			      "clip.vision.image_size: %u must be a multiple of the patches of %u times "
			      "%u, and %u a multiple of it, at most 16 times as much",
			      p->size, p->patch, p->merge, p->longest);
}

/* Checks the tensors whose shapes depend on more than the keys. */
static void check_tensors(struct arch_tower *m, struct arch_keys *k)
{
	const struct lmd_model *model = m->hp.model;
	uint32_t patch = arch_hp_tensor(&m->hp, "v.patch_embd.weight");
	uint32_t pos = arch_hp_tensor(&m->hp, "v.position_embd.weight");
	uint32_t last = arch_hp_tensor(&m->hp, m->projector->required);
	uint64_t side = m->picture.size / m->picture.patch, need = side * side + m->picture.n_first, n = 1;

	if (k->st != LMD_OK)
		return;
	if (last == LMD_NONE || patch == LMD_NONE) {
		arch_key_fail(k, LMD_NOTFOUND, "%s: the file has no such tensor",
			      patch == LMD_NONE ? "v.patch_embd.weight" : m->projector->required);
		return;
	}
	for (uint32_t i = 0; i < model->tensors[patch].n_dim; i++)
		n *= (uint64_t)model->tensors[patch].dims[i];
	m->n_patch = m->picture.patch * m->picture.patch * N_CHANNEL;
	if (n != (uint64_t)m->n_patch * m->hp.n_embd)
		arch_key_fail(k, LMD_INVALID,
			      "v.patch_embd.weight has %llu numbers, expected %u for patches of %u pixels "
			      "and %u columns",
			      (unsigned long long)n, m->n_patch * m->hp.n_embd, m->picture.patch,
			      m->hp.n_embd);
	if (m->projector->rope == (pos != LMD_NONE) ||
	    (pos != LMD_NONE && ((uint64_t)model->tensors[pos].dims[1] < need ||
				 model->tensors[pos].dims[0] != m->hp.n_embd)))
		arch_key_fail(k, LMD_INVALID,
			      "v.position_embd.weight: projector %s needs %s of %llu rows of %u",
			      m->projector->name, m->projector->rope ? "none, not a table" : "a table",
			      (unsigned long long)need, m->hp.n_embd);
	if (m->picture.n_first && m->picture.merge > 1)
		arch_key_fail(k, LMD_INVALID, "v.class_embd: projector %s has no use for it",
			      m->projector->name);
}

/* The width of what the projector makes. */
static uint32_t width_of(const struct arch_tower *m, const char *tensor)
{
	const struct lmd_tensor *t = &m->hp.model->tensors[arch_hp_tensor(&m->hp, tensor)];
	int64_t n = !strcmp(tensor, "mm.input_projection.weight") ? t->dims[0] : t->dims[1];

	return n > 0 && n <= ARCH_KEY_MAX_WIDTH ? (uint32_t)n : 0;
}

static void read_layers(struct arch_tower *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->hp;
	uint32_t n_head, n_ff;

	hp->n_layer = hp->n_layer_all =
		arch_key_u32(k, "vision.block_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_LAYER);
	hp->n_embd = arch_key_u32(k, "vision.embedding_length", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	n_ff = arch_key_u32(k, "vision.feed_forward_length", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	n_head = arch_key_u32(k, "vision.attention.head_count", ARCH_REQUIRED, 1, 1, ARCH_MAX_HEAD);
	hp->eps = (float)arch_key_f64(k, "vision.attention.layer_norm_epsilon", ARCH_REQUIRED, 1e-6, 0, 1);
	hp->norm_kind = LMD_NORM_LAYER;
	m->act = arch_key_bool(k, "use_gelu", ARCH_OPTIONAL, false)   ? LMD_ACT_FN_GELU
		 : arch_key_bool(k, "use_silu", ARCH_OPTIONAL, false) ? LMD_ACT_FN_SILU
								      : LMD_ACT_FN_GELU_QUICK;
	if (k->st == LMD_OK && hp->n_embd % n_head)
		arch_key_fail(k, LMD_INVALID,
			      "clip.vision.attention.head_count: %u heads do not divide %u columns", n_head,
			      hp->n_embd);
	hp->layer = k->st == LMD_OK ? arch_hp_alloc(hp, k, hp->n_layer, sizeof(*hp->layer)) : NULL;
	for (uint32_t i = 0; hp->layer && i < hp->n_layer; i++)
		hp->layer[i] = (struct arch_layer){.cls = ARCH_L_ATTN | ARCH_L_DENSE | ARCH_L_FULL,
						   .n_head = n_head,
						   .n_head_kv = n_head,
						   .dk = hp->n_embd / n_head,
						   .dv = hp->n_embd / n_head,
						   .rope = LMD_NONE,
						   .n_ff = n_ff,
						   .kv_layer = i,
						   .cache = LMD_NONE};
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct lmd_group batch = {.name = "patches",
					       .kind = LMD_GROUP_BATCH,
					       .ratio = 1,
					       .q_space = LMD_SPACE_TOKENS,
					       .k_space = LMD_SPACE_TOKENS};
	struct arch_tower *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	uint64_t rows;
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	m->hp.host = host;
	m->hp.model = model;
	m->hp.arena = arena;
	m->hp.n_vocab = 1;
	m->hp.pooling = LMD_POOL_NONE;
	m->hp.n_rank = 1;
	read_projector(m, &k);
	if (k.st == LMD_OK)
		read_layers(m, &k);
	if (k.st == LMD_OK)
		read_picture(m, &k);
	check_tensors(m, &k);
	if (k.st != LMD_OK)
		return k.st;
	m->hp.n_embd_inp = m->n_patch;
	rows = m->picture.fit == LMD_PICTURE_FREE
		       ? m->picture.max_pixels / (m->picture.patch * m->picture.patch)
		       : (uint64_t)(m->picture.size / m->picture.patch) *
					 (m->picture.size / m->picture.patch);
	m->hp.n_ctx_train = (uint32_t)rows + m->picture.n_first;
	if (rows > MAX_ROWS)
		arch_key_fail(&k, LMD_UNSUPPORTED, "a picture has %llu patches, the maximum is %u",
			      (unsigned long long)rows, MAX_ROWS);
	m->group = arch_hp_add_group(&m->hp, &k, &batch);
	arch_hp_sites(&m->hp, &k, sets, LMD_LEN(sets));
	if (k.st != LMD_OK)
		return k.st;
	arch_hp_finish(&m->hp, &k, params, out);
	m->n_out = width_of(m, m->projector->required);
	m->x_ratio = m->picture.merge * m->picture.merge;
	out->driver = LMD_DRIVER_TOWER;
	out->n_embd_out = m->n_out;
	out->pooling = LMD_POOL_NONE;
	out->picture = &m->picture;
	if (m->picture.merge > 1) {
		out->n_x = 1;
		out->x_ratio = &m->x_ratio;
	}
	return k.st;
}

/* ---- the encoder ---- */

static uint32_t patches(struct arch_emit *e, const struct arch_tower *m)
{
	struct lmd_op op = arch_op_empty(LMD_OP_GATHER);
	uint32_t y = arch_value_act(e, m->n_patch, "patches");

	op.u.gather.x = (struct lmd_operand){.src = LMD_SRC_INPUT,
					     .n_head = 1,
					     .head_stride = m->n_patch,
					     .width = m->n_patch,
					     .fold = 1};
	op.u.gather.y = arch_operand_all(e, y);
	op.u.gather.idx_kind = LMD_IDX_EXT;
	arch_emit_op(e, &op);
	return y;
}

/* The embeddings of positions, and of the class token. */
static uint32_t positions(struct arch_emit *e, const struct arch_tower *m)
{
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct arch_weight pos = arch_weight_req(e, &arch_tower_rows[TW_POS]);
	uint32_t x = arch_value_f32(e, m->hp.n_embd, "pos"), first = arch_weight_named(e, "v.class_embd");

	op.u.embed.y = arch_operand_all(e, x);
	op.u.embed.table = first != LMD_NONE ? first : pos.id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.neg = LMD_NEG_ZERO;
	op.u.embed.pos_table = pos.id;
	arch_emit_op(e, &op);
	return x;
}

/* The matrix of a convolution whose windows are patches. */
static uint32_t patch_weight(struct arch_emit *e, const struct arch_tower *m, const char *name, bool bias)
{
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_TENSOR,
				       .tensor = arch_hp_tensor(&m->hp, name)};
	const struct lmd_weight_ref w = {.struct_size = sizeof(w),
					 .n_part = 1,
					 .parts = &part,
					 .n = m->hp.n_embd,
					 .k = m->n_patch,
					 .n_stack = 1,
					 .scale = LMD_NONE,
					 .bias = bias ? arch_hp_tensor(&m->hp, "v.patch_embd.bias") : LMD_NONE,
					 .name = name};

	return part.tensor == LMD_NONE ? LMD_NONE : e->b->weight_ref(e->b->ctx, &w);
}

/* y = x W^T + r; r may be LMD_NONE. */
static uint32_t add_linear(struct arch_emit *e, uint32_t x, uint32_t w, uint32_t r, const char *name)
{
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t y = arch_value_f32(e, e->hp->n_embd, name);

	op.u.linear.x = arch_operand_all(e, x);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w;
	if (r == LMD_NONE) {
		op.u.linear.y[0] = arch_operand_all(e, y);
	} else {
		op.u.linear.r_in[0] = arch_operand_all(e, r);
		op.u.linear.r_out[0] = arch_operand_all(e, y);
		op.u.linear.a = 1.0f;
	}
	arch_emit_op(e, &op);
	return y;
}

static uint32_t norm_of(struct arch_emit *e, uint32_t x, const struct lmd_tensor_row *row)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_LAYER, row);
	uint32_t y = arch_value_f32(e, arch_width(e, x), "x_norm");

	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, y));
	return y;
}

static uint32_t embed(struct arch_emit *e, const struct arch_tower *m)
{
	uint32_t p = patches(e, m), x = m->projector->rope ? LMD_NONE : positions(e, m);
	uint32_t second = patch_weight(e, m, "v.patch_embd.weight.1", false);

	x = add_linear(e, p, patch_weight(e, m, "v.patch_embd.weight", true), x, "x");
	if (second != LMD_NONE) /* both frames are the picture */
		x = add_linear(e, p, second, x, "x");
	return arch_weight_exists(e, &arch_tower_rows[TW_PRE_NORM])
		       ? norm_of(e, x, &arch_tower_rows[TW_PRE_NORM])
		       : x;
}

/* Queries, keys and values side by side. */
static uint32_t project(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	static const uint32_t each[] = {TW_Q, TW_K, TW_V};
	uint32_t n = m->hp.n_embd, y = arch_value_act(e, 3 * n, "qkv");
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_LAYER, &arch_tower_rows[TW_LN1]);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);

	op.u.linear.x = arch_operand_all(e, x);
	op.u.linear.pro = norm;
	if (arch_weight_exists(e, &arch_tower_rows[TW_QKV])) {
		op.u.linear.n_w = 1;
		op.u.linear.w[0] = arch_weight_req(e, &arch_tower_rows[TW_QKV]).id;
		op.u.linear.y[0] = arch_operand_all(e, y);
	} else {
		op.u.linear.n_w = 3;
		for (uint32_t i = 0; i < 3; i++) {
			op.u.linear.w[i] = arch_weight_req(e, &arch_tower_rows[each[i]]).id;
			op.u.linear.y[i] = arch_operand_cols(y, i * n, n);
		}
	}
	arch_emit_op(e, &op);
	return y;
}

/* Rotates queries and keys by line and column: half of the columns each. */
static uint32_t rotate(struct arch_emit *e, const struct arch_tower *m, uint32_t qkv)
{
	const struct arch_layer *l = arch_current_layer(e);
	const struct lmd_rope_params p = {.struct_size = sizeof(p),
					  .n_rot = l->dk,
					  .pairing = LMD_ROPE_HALVES,
					  .sections_kind = LMD_SECTIONS_2D,
					  .base = 10000,
					  .freq_scale = 1,
					  .attn_factor = 1,
					  .beta_fast = 32,
					  .beta_slow = 1};
	uint32_t n = m->hp.n_embd, y = arch_value_act(e, 2 * n, "qk_rot");
	struct lmd_op op = arch_op_empty(LMD_OP_ROPE_KV);

	if (!e->n_rope++)
		e->ropes[0].id = e->b->rope(e->b->ctx, &p);
	op.u.rope_kv.rope = e->ropes[0].id;
	op.u.rope_kv.q = arch_operand_heads(qkv, 0, l->n_head, l->dk);
	op.u.rope_kv.k = arch_operand_heads(qkv, n, l->n_head, l->dk);
	op.u.rope_kv.q_out = arch_operand_heads(y, 0, l->n_head, l->dk);
	op.u.rope_kv.k_out = arch_operand_heads(y, n, l->n_head, l->dk);
	arch_emit_op(e, &op);
	return y;
}

static uint32_t attend(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	const struct arch_layer *l = arch_current_layer(e);
	uint32_t n = m->hp.n_embd, qkv = project(e, m, x), qk = m->projector->rope ? rotate(e, m, qkv) : qkv;
	uint32_t y = arch_value_act(e, n, "attn");
	struct lmd_op op = arch_op_empty(LMD_OP_ATTN);

	op.u.attn.q = arch_operand_heads(qk, 0, l->n_head, l->dk);
	op.u.attn.y = arch_operand_heads(y, 0, l->n_head, l->dv);
	op.u.attn.n_kv_head = l->n_head;
	op.u.attn.scale = 1.0f / sqrtf((float)l->dk);
	op.u.attn.src[0].kind = LMD_KV_ROWS;
	op.u.attn.src[0].group = m->group;
	op.u.attn.src[0].k = arch_operand_heads(qk, n, l->n_head, l->dk);
	op.u.attn.src[0].v = arch_operand_heads(qkv, 2 * n, l->n_head, l->dv);
	arch_emit_op(e, &op);
	return add_linear(e, y, arch_weight_req(e, &arch_tower_rows[TW_OUT]).id, x, "x_attn");
}

static uint32_t feed_forward(struct arch_emit *e, const struct arch_tower *m, uint32_t x)
{
	struct arch_weight up = arch_weight_req(e, &arch_tower_rows[TW_UP]),
			   down = arch_weight_req(e, &arch_tower_rows[TW_DOWN]);
	uint32_t y = arch_value_f32(e, m->hp.n_embd, "x");
	struct lmd_op op = arch_op_empty(LMD_OP_FFN);

	if (up.k != m->hp.n_embd) { /* older files have the two names the other way round */
		struct arch_weight w = up;

		up = down;
		down = w;
	}
	op.u.ffn.x = op.u.ffn.r_in = arch_operand_all(e, x);
	op.u.ffn.norm = arch_norm_req(e, LMD_NORM_LAYER, &arch_tower_rows[TW_LN2]);
	op.u.ffn.up = up.id;
	op.u.ffn.down = down.id;
	op.u.ffn.act = m->act;
	op.u.ffn.a = 1.0f;
	op.u.ffn.r_out = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct arch_tower *m = state;
	struct arch_emit e;
	uint32_t x;

	if (key->kind != LMD_PLAN_FORWARD || (key->flags & LMD_PLAN_LOGITS) || key->n_rank > 1) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture %s computes only rows of pictures, undivided",
			b->model->arch);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &m->hp, key);
	x = embed(&e, m);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		x = feed_forward(&e, m, attend(&e, m, x));
	}
	arch_set_layer(&e, -1);
	if (arch_weight_exists(&e, &arch_tower_rows[TW_POST_NORM]))
		x = norm_of(&e, x, &arch_tower_rows[TW_POST_NORM]);
	b->output(b->ctx, LMD_OUT_EMBED, m->projector->emit(&e, m, x));
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_clip = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = arch_hp_dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
};
