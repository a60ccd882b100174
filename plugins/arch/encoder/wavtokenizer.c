/* SPDX-License-Identifier: MIT
 *
 * WavTokenizer's decoder (arXiv 2408.16532): from audio codes to spectrum frames.  It consists of a
 * convolution, "posnet" (residual convolutions with group norm over time, and one single-head
 * attention), and ConvNeXt blocks (arXiv 2201.03545).  All parts see the whole sequence. */
#include <math.h>
#include <stdio.h>

#include "arch/common/blocks.h"
#include "arch/encoder/encoder.h"

#define KERNEL     7u /* of the first convolution and of ConvNeXt */
#define KERNEL_POS 3u
#define MAX_POS    6u /* resnet, resnet, attention, resnet, resnet, norm */

struct wav {
	struct lmi_hparams hp;
	uint32_t n_out;       /* columns of a frame */
	uint32_t n;           /* width of posnet and ConvNeXt */
	uint32_t n_pos, n_next, n_ff;
	uint32_t n_group;     /* groups of the group norms */
	float eps_group;
	uint32_t batch;       /* the BATCH group */
};

enum { D_WAV_N = D_OWN, D_WAV_OUT, D_WAV_FF };
#define RG (LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL)
#define RGB (RG | LMD_TENSOR_BIAS_REQ)
#define KIND_RES  (LMI_L_OWN << 0)
#define KIND_ATTN (LMI_L_OWN << 1)
#define KIND_NORM (LMI_L_OWN << 2)
#define KIND_NEXT (LMI_L_OWN << 3)
#define ANY       (LMD_TENSOR_REQUIRED | LMD_TENSOR_BIAS_REQ | LMD_TENSOR_ANY_SHAPE)

static const struct lmd_tensor_row rows[] = {
	{"token_embd", {D_EMBD, D_VOCAB}, RG, LMD_SPLIT_REPLICATE, 0, NULL},
	{"conv1d", {LMD_DIM(KERNEL), D_EMBD, D_WAV_N}, RGB | LMD_TENSOR_ANY_SHAPE,
	 LMD_SPLIT_REPLICATE, 0, NULL},
	{"token_embd_norm", {D_WAV_N}, RGB, LMD_SPLIT_REPLICATE, 0, NULL},
	{"output_norm", {D_WAV_N}, RGB, LMD_SPLIT_REPLICATE, 0, NULL},
	{"output", {D_WAV_N, D_WAV_OUT}, RGB, LMD_SPLIT_REPLICATE, 0, NULL},
	{"posnet.%d.norm1", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_RES, NULL},
	{"posnet.%d.conv1", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_RES, NULL},
	{"posnet.%d.norm2", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_RES, NULL},
	{"posnet.%d.conv2", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_RES, NULL},
	{"posnet.%d.attn_norm", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_ATTN, NULL},
	{"posnet.%d.attn_q", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_ATTN, NULL},
	{"posnet.%d.attn_k", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_ATTN, NULL},
	{"posnet.%d.attn_v", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_ATTN, NULL},
	{"posnet.%d.attn_output", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_ATTN, NULL},
	{"posnet.%d.attn_norm", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_NORM, NULL},
	{"convnext.%d.dw", {LMD_DIM(KERNEL), D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_NEXT, NULL},
	{"convnext.%d.norm", {D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_NEXT, NULL},
	{"convnext.%d.pw1", {D_WAV_N, D_WAV_FF}, ANY, LMD_SPLIT_REPLICATE, KIND_NEXT, NULL},
	{"convnext.%d.pw2", {D_WAV_FF, D_WAV_N}, ANY, LMD_SPLIT_REPLICATE, KIND_NEXT, NULL},
	{"convnext.%d.gamma", {D_WAV_N}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, KIND_NEXT, NULL},
};

static const struct lmd_tensor_set sets[] = {LMI_OWN(rows)};

static uint32_t pos_kind(uint32_t i)
{
	return i == 2 ? KIND_ATTN : i == 5 ? KIND_NORM : KIND_RES;
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct lmi_hp_opts opts = {
		.norm_kind = LMD_NORM_LAYER, .no_rope = true, .no_heads = true};
	const struct lmd_group batch = {.name = "frames",
					.kind = LMD_GROUP_BATCH,
					.ratio = 1,
					.q_space = LMD_SPACE_TOKENS,
					.k_space = LMD_SPACE_TOKENS};
	struct wav *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct lmi_keys k;
	uint32_t n_next;

	lmi_keys_init(&k, model, err);
	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	lmi_hp_read(&m->hp, &k, host, arena, params, &opts);
	m->n_out = m->hp.n_embd;
	m->hp.n_embd = m->hp.n_embd_inp =
		lmi_key_u32(&k, "features_length", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH / 16);
	m->n = lmi_key_u32(&k, "posnet.embedding_length", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH / 16);
	n_next = lmi_key_u32(&k, "convnext.embedding_length", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH);
	m->n_pos = lmi_key_u32(&k, "posnet.block_count", LMI_REQUIRED, 1, 1, MAX_POS);
	m->n_next = lmi_key_u32(&k, "convnext.block_count", LMI_REQUIRED, 1, 1, LMI_MAX_LAYER);
	m->eps_group = (float)lmi_key_f64(&k, "attention.group_norm_epsilon", LMI_REQUIRED, 1e-6,
					  0.0, 1.0);
	m->n_group =
		lmi_key_u32(&k, "attention.group_norm_groups", LMI_REQUIRED, 1, 1, LMI_MAX_WIDTH);
	if (k.st == LMD_OK && (n_next != m->n || m->n % m->n_group))
		lmi_key_fail(
			&k, LMD_INVALID,
			"%s.posnet.embedding_length: %u must equal that of ConvNeXt, %u, and be "
			"divisible by the %u groups of the norms",
			model->arch, m->n, n_next, m->n_group);
	if (k.st != LMD_OK)
		return k.st;
	m->n_ff = m->hp.layer[0].n_ff;
	m->hp.causal = false;
	m->batch = lmi_hp_add_group(&m->hp, &k, &batch);
	lmi_hp_finish(&m->hp, &k, params, out);
	out->n_layer = m->n_pos > m->n_next ? m->n_pos : m->n_next;
	out->n_embd = m->hp.n_embd;
	out->n_embd_out = m->n_out;
	out->driver = LMD_DRIVER_CODEC;
	return k.st;
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct wav *m = state;

	switch (symbol) {
	case D_WAV_N:
		return m->n;
	case D_WAV_OUT:
		return m->n_out;
	case D_WAV_FF:
		return m->n_ff;
	default:
		return lmi_hp_dim(state, symbol, layer);
	}
}

static uint32_t layer_class(const void *state, int32_t il)
{
	const struct wav *m = state;
	uint32_t cls = 0;

	if (il >= 0 && (uint32_t)il < m->n_pos)
		cls |= pos_kind((uint32_t)il);
	if (il >= 0 && (uint32_t)il < m->n_next)
		cls |= KIND_NEXT;
	return cls;
}

/* ---- building ---- */

struct build {
	struct lmi_emit e;
	const struct wav *m;
	const char *part;     /* "posnet" or "convnext" */
	uint32_t i;           /* index of the block */
};

static void tensor_name(const struct build *b, const char *stem, const char *suffix, char *out,
			size_t n)
{
	if (b->part)
		(void)snprintf(out, n, "%s.%u.%s.%s", b->part, b->i, stem, suffix);
	else
		(void)snprintf(out, n, "%s.%s", stem, suffix);
}

/* The tensor as a matrix with k columns, with its bias. */
static uint32_t matrix(struct build *b, const char *stem, uint32_t n, uint32_t k)
{
	char name[96], bias[96];
	struct lmd_wpart part = {.kind = LMD_WPART_TENSOR};
	struct lmd_wref w = {.struct_size = sizeof(w),
			     .n_part = 1,
			     .parts = &part,
			     .n_stack = 1,
			     .n = n,
			     .k = k,
			     .scale = LMD_NONE,
			     .name = name};

	tensor_name(b, stem, "weight", name, sizeof(name));
	tensor_name(b, stem, "bias", bias, sizeof(bias));
	part.tensor = lmi_hp_tensor(&b->m->hp, name);
	w.bias = lmi_hp_tensor(&b->m->hp, bias);
	if (part.tensor == LMD_NONE) {
		b->e.b->fail(b->e.b->ctx, LMD_NOTFOUND, "%s: the file has no such tensor", name);
		return 0;
	}
	return b->e.b->wref(b->e.b->ctx, &w);
}

static struct lmd_opnd vector(struct build *b, const char *stem, const char *suffix, uint32_t n)
{
	char name[96];
	uint32_t w;

	tensor_name(b, stem, suffix, name, sizeof(name));
	w = lmi_w_named(&b->e, name);
	if (w == LMD_NONE)
		b->e.b->fail(b->e.b->ctx, LMD_NOTFOUND, "%s: the file has no such tensor", name);
	return lmi_wcols(w, n);
}

/* A convolution over time that keeps the number of rows; the kernel size must be odd. */
static uint32_t conv(struct build *b, uint32_t x, const char *stem, uint32_t kernel)
{
	const uint32_t c = lmi_width(&b->e, x), n = b->m->n;
	uint32_t y = lmi_f32(&b->e, n, stem);
	struct lmd_op op = lmi_op(LMD_OP_PATCH);

	op.u.patch.x = lmi_whole(&b->e, x);
	op.u.patch.w = matrix(b, stem, n, kernel * c);
	op.u.patch.y = lmi_whole(&b->e, y);
	op.u.patch.n_dim = 1;
	op.u.patch.kernel[0] = kernel;
	op.u.patch.stride[0] = 1;
	op.u.patch.pad[0] = kernel / 2;
	op.u.patch.dilation[0] = 1;
	lmi_put(&b->e, &op);
	return y;
}

static uint32_t norm(struct build *b, uint32_t x, const char *stem, bool group)
{
	const uint32_t n = b->m->n;
	uint32_t y = lmi_f32(&b->e, n, stem);
	struct lmd_op op = lmi_op(LMD_OP_NORM);

	op.u.norm.x = lmi_whole(&b->e, x);
	op.u.norm.y = lmi_whole(&b->e, y);
	op.u.norm.over_rows = group;
	op.u.norm.norm.kind = LMD_NORM_LAYER;
	op.u.norm.norm.eps = group ? b->m->eps_group : b->m->hp.eps;
	op.u.norm.norm.n = group ? n / b->m->n_group : 0;
	op.u.norm.norm.g = vector(b, stem, "weight", n);
	op.u.norm.norm.b = vector(b, stem, "bias", n);
	lmi_put(&b->e, &op);
	return y;
}

static uint32_t linear(struct build *b, uint32_t x, const char *stem, uint32_t n, uint32_t act)
{
	uint32_t y = lmi_f32(&b->e, n, stem);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);

	op.u.linear.x = lmi_whole(&b->e, x);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = matrix(b, stem, n, lmi_width(&b->e, x));
	op.u.linear.act = act;
	op.u.linear.y[0] = lmi_whole(&b->e, y);
	lmi_put(&b->e, &op);
	return y;
}

static uint32_t silu(struct build *b, uint32_t x)
{
	uint32_t y = lmi_f32(&b->e, b->m->n, "silu");

	lmi_put_glu(&b->e, LMD_ACT_SILU, NULL, lmi_whole(&b->e, x), lmi_none(),
		    lmi_whole(&b->e, y));
	return y;
}

static uint32_t add(struct build *b, uint32_t x, uint32_t z)
{
	uint32_t y = lmi_f32(&b->e, b->m->n, "x");

	lmi_put_scale_add(&b->e, lmi_whole(&b->e, x), 1.0f, lmi_whole(&b->e, z),
			  lmi_whole(&b->e, y));
	return y;
}

static uint32_t residual(struct build *b, uint32_t x)
{
	uint32_t y = conv(b, silu(b, norm(b, x, "norm1", true)), "conv1", KERNEL_POS);

	return add(b, conv(b, silu(b, norm(b, y, "norm2", true)), "conv2", KERNEL_POS), x);
}

static uint32_t attention(struct build *b, uint32_t x)
{
	const uint32_t n = b->m->n;
	uint32_t h = norm(b, x, "attn_norm", true), y = lmi_f32(&b->e, n, "attn");
	struct lmd_op op = lmi_op(LMD_OP_ATTN);

	op.u.attn.q = lmi_whole(&b->e, linear(b, h, "attn_q", n, LMD_ACT_NONE));
	op.u.attn.src[0].kind = LMD_KV_ROWS;
	op.u.attn.src[0].group = b->m->batch;
	op.u.attn.src[0].k = lmi_whole(&b->e, linear(b, h, "attn_k", n, LMD_ACT_NONE));
	op.u.attn.src[0].v = lmi_whole(&b->e, linear(b, h, "attn_v", n, LMD_ACT_NONE));
	op.u.attn.y = lmi_whole(&b->e, y);
	op.u.attn.n_kv_head = 1;
	op.u.attn.scale = 1.0f / sqrtf((float)n);
	lmi_put(&b->e, &op);
	return add(b, linear(b, y, "attn_output", n, LMD_ACT_NONE), x);
}

static uint32_t convnext(struct build *b, uint32_t x)
{
	const uint32_t n = b->m->n;
	uint32_t h = lmi_f32(&b->e, n, "dw"), y = lmi_f32(&b->e, n, "x");
	struct lmd_op op = lmi_op(LMD_OP_CONV);
	struct lmi_ew p = lmi_ew();
	uint8_t a, plus;

	op.u.conv.x = lmi_whole(&b->e, x);
	op.u.conv.y = lmi_whole(&b->e, h);
	op.u.conv.kind = LMD_CONV_DEPTHWISE;
	op.u.conv.w = matrix(b, "dw", n, KERNEL);
	op.u.conv.kernel = KERNEL;
	op.u.conv.dilation = 1;
	op.u.conv.left = KERNEL / 2;
	lmi_put(&b->e, &op);
	h = linear(b, norm(b, h, "norm", false), "pw1", b->m->n_ff, LMD_ACT_GELU);
	h = linear(b, h, "pw2", n, LMD_ACT_NONE);
	a = lmi_ew_in(&p, lmi_whole(&b->e, h));
	plus = lmi_ew_in(&p, lmi_whole(&b->e, x));
	a = lmi_ew3(&p, LMD_EW_FMA, a, lmi_ew_in(&p, vector(b, "gamma", "weight", n)), plus);
	lmi_ew_out(&b->e, &p, a, lmi_whole(&b->e, y));
	return y;
}

static enum lmd_status build(const void *state, const struct lmd_builder *bd,
			     const struct lmd_plan_key *key)
{
	const struct wav *m = state;
	const struct lmi_pool pool = {.rank_act = LMD_ACT_TANH};
	struct build b = {.m = m};
	uint32_t x;

	if (key->kind != LMD_PLAN_FORWARD || !(key->flags & LMD_PLAN_EMBED)) {
		bd->fail(bd->ctx, LMD_UNSUPPORTED, "architecture %s computes only frames",
			 bd->model->arch);
		return LMD_UNSUPPORTED;
	}
	lmi_emit_init(&b.e, bd, &m->hp, key);
	x = conv(&b, lmi_embed(&b.e), "conv1d", KERNEL);
	b.part = "posnet";
	for (b.i = 0; b.i < m->n_pos; b.i++) {
		lmi_layer(&b.e, (int32_t)b.i);
		x = pos_kind(b.i) == KIND_ATTN   ? attention(&b, x)
		    : pos_kind(b.i) == KIND_NORM ? norm(&b, x, "attn_norm", true)
						 : residual(&b, x);
	}
	b.part = NULL;
	x = norm(&b, x, "token_embd_norm", false);
	b.part = "convnext";
	for (b.i = 0; b.i < m->n_next && bd->status(bd->ctx) == LMD_OK; b.i++) {
		lmi_layer(&b.e, (int32_t)b.i);
		x = convnext(&b, x);
	}
	b.part = NULL;
	lmi_layer(&b.e, -1);
	x = linear(&b, norm(&b, x, "output_norm", false), "output", m->n_out, LMD_ACT_NONE);
	lmi_pool(&b.e, key, lmi_whole(&b.e, x), &pool);
	return bd->status(bd->ctx);
}

const struct lmd_arch_ops arch_wavtokenizer_dec = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = layer_class, .build = build,
};
