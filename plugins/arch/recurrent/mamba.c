/* SPDX-License-Identifier: MIT
 *
 * Mamba (arXiv 2312.00752) and Mamba-2 (arXiv 2405.21060): only state space layers.  Falcon-Mamba
 * (arXiv 2410.05355) adds norms without weights on dt, B and C. */
#include "arch/common/checkpoint.h"
#include "arch/common/ssm.h"
#include "arch/recurrent/recurrent.h"

struct mamba {
	struct arch_hparams hp;
	struct arch_ssm ssm;
};

static const struct lmd_tensor_row norm_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set sets1[] = {ARCH_SET_GLOBAL, ARCH_ROWS_OWN(norm_rows),
					      ARCH_SET_MAMBA1};
static const struct lmd_tensor_set sets2[] = {ARCH_SET_GLOBAL, ARCH_ROWS_OWN(norm_rows),
					      ARCH_SET_MAMBA2};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err, uint32_t version)
{
	static const struct arch_hp_opts opts = {
		.norm_kind = LMD_NORM_RMS, .no_rope = true, .no_heads = true};
	struct mamba *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	arch_keys_init(&k, model, err);
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	arch_ssm_read(&m->ssm, &m->hp, &k, version);
	if (k.st != LMD_OK)
		return k.st;
	for (uint32_t il = 0; il < m->hp.n_layer; il++)
		m->hp.layer[il].cls = ARCH_L_RECURRENT;
	arch_ssm_memory(&m->ssm, &m->hp, &k);
	arch_hp_sites(&m->hp, &k, version == 2 ? sets2 : sets1, LMD_LEN(sets1));
	arch_hp_finish(&m->hp, &k, params, out);
	out->traits |= LMD_TRAIT_RECURRENT;
	return k.st;
}

static enum lmd_status describe1(const struct lmd_host *host, struct lmd_arena *arena,
				 const struct lmd_model *model,
				 const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				 struct lmd_error *err)
{
	return describe(host, arena, model, params, out, err, 1);
}

static enum lmd_status describe2(const struct lmd_host *host, struct lmd_arena *arena,
				 const struct lmd_model *model,
				 const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				 struct lmd_error *err)
{
	return describe(host, arena, model, params, out, err, 2);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct mamba *m = state;
	int64_t d = arch_ssm_dim(&m->ssm, symbol);

	return d ? d : arch_hp_dim(state, symbol, layer);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct mamba *m = state;
	struct arch_emit e;
	struct arch_residual x = {.z = LMD_NONE};
	struct lmd_norm norm;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	arch_emit_init(&e, b, &m->hp, key);
	x.x = arch_embed(&e);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		struct arch_block_io io;

		arch_set_layer(&e, (int32_t)il);
		norm = arch_norm_req(&e, LMD_NORM_RMS, &norm_rows[0]);
		io = (struct arch_block_io){arch_operand_all(&e, x.x), norm, x.x, 1.0f};
		x.x = arch_ssm(&e, &io, &m->ssm);
	}
	norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &x, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

/* Checkpoints. Mamba. */
static void all_mixers(struct lmd_checkpoint *c)
{
	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] = LMD_CKPT_LAYER_MIXER;
}

static const struct lmd_checkpoint_row mamba_head[] = {
	{"embeddings", "token_embd", {0}},
	{"norm_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.norm", "blk.%d.attn_norm", {0}},
};

static const struct lmd_checkpoint_row mamba_rows[] = {ARCH_CKPT_MAMBA1("layers.%d.mixer.")};

static void checkpoint_mamba(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	arch_ckpt_put_ssm(c, "conv_kernel",
			  c->get_int(c, "intermediate_size", 2 * (int64_t)c->n_embd, 1, 1 << 20),
			  "state_size", arch_ckpt_rank(c, "time_step_rank"));
	c->put_bool(c, "ssm.dt_b_c_rms", c->is_text(c, "model_type", "falcon_mamba"));
}

static const struct lmd_checkpoint_row mamba2_rows[] = {ARCH_CKPT_MAMBA2("layers.%d.mixer.")};

static void mamba2(struct lmd_checkpoint *c)
{
	int64_t heads = c->need_int(c, "num_heads", 1, 1 << 16);
	int64_t dim = c->get_int(c, "head_dim", 64, 1, 1 << 14);

	arch_ckpt_put_ssm(c, "conv_kernel", heads * dim, "state_size", heads);
	arch_ckpt_put_groups(c, "n_groups");
	arch_ckpt_require_bool(c, "norm_before_gate", false);
}

static const struct lmd_checkpoint_map mamba_checkpoints[] = {
	{.type = "mamba",
	 .arch = "mamba",
	 .flags = LMD_CKPT_NO_HEADS | LMD_CKPT_NO_ROPE,
	 .rows = {ARCH_CKPT_ROWS(mamba_head), ARCH_CKPT_ROWS(mamba_rows)},
	 .layers = all_mixers,
	 .keys = checkpoint_mamba},
	/* As Mamba, with norms that have no weights. */
	{.type = "falcon_mamba",
	 .arch = "mamba",
	 .flags = LMD_CKPT_NO_HEADS | LMD_CKPT_NO_ROPE,
	 .rows = {ARCH_CKPT_ROWS(mamba_head), ARCH_CKPT_ROWS(mamba_rows)},
	 .layers = all_mixers,
	 .keys = checkpoint_mamba},
};

static const struct lmd_checkpoint_map mamba2_checkpoints[] = {
	{.type = "mamba2",
	 .arch = "mamba2",
	 .flags = LMD_CKPT_NO_HEADS | LMD_CKPT_NO_ROPE,
	 .rows = {ARCH_CKPT_ROWS(mamba_head), ARCH_CKPT_ROWS(mamba2_rows)},
	 .layers = all_mixers,
	 .keys = mamba2},
};

static const struct lmd_checkpoint_maps maps1 = ARCH_CKPT_MAPS(mamba_checkpoints);
static const struct lmd_checkpoint_maps maps2 = ARCH_CKPT_MAPS(mamba2_checkpoints);

#define MAMBA_OPS(n)                                                                               \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets##n),                                                        \
		.sets = sets##n,                                                                   \
		.describe = describe##n,                                                           \
		.dim = dim,                                                                        \
		.layer_class = arch_hp_layer_class,                                                \
		.build = build,                                                                    \
		.checkpoints = &maps##n,                                                           \
	}

const struct lmd_arch_ops arch_mamba = MAMBA_OPS(1);
const struct lmd_arch_ops arch_mamba2 = MAMBA_OPS(2);
