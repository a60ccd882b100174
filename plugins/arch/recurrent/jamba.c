/* SPDX-License-Identifier: MIT
 *
 * Jamba (arXiv 2403.19887): Mamba layers; every few layers have attention without rotation instead,
 * and every few have experts instead of the dense block.  A layer without key heads is a Mamba
 * layer; a layer with a router tensor has experts. */
#include <stdio.h>

#include "arch/common/checkpoint.h"
#include "arch/common/ssm.h"
#include "arch/recurrent/recurrent.h"

struct jamba {
	struct arch_hparams hp;
	struct arch_ssm ssm;
};

static const struct lmd_tensor_row norm_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};
static const struct lmd_tensor_set sets[] = {ARCH_SET_GLOBAL,   ARCH_ROWS_OWN(norm_rows),
					     ARCH_SET_MAMBA1,   ARCH_SET_QKV,
					     ARCH_SET_FFN_NORM, ARCH_SET_FFN,
					     ARCH_SET_MOE};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct arch_hp_opts opts = {.norm_kind = LMD_NORM_RMS, .no_rope = true};
	struct jamba *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct arch_keys k;
	char name[64];

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	arch_keys_init(&k, model, err);
	arch_hp_read(&m->hp, &k, host, arena, params, &opts);
	arch_ssm_read(&m->ssm, &m->hp, &k, 1);
	if (k.st != LMD_OK)
		return k.st;
	for (uint32_t il = 0; il < m->hp.n_layer; il++) {
		struct arch_layer *l = &m->hp.layer[il];

		(void)snprintf(name, sizeof(name), "blk.%u.ffn_gate_inp.weight", il);
		l->cls = l->n_head_kv ? ARCH_L_ATTN | ARCH_L_FULL : ARCH_L_RECURRENT;
		l->cls |= m->hp.n_expert && model->find_tensor(model, name) ? ARCH_L_MOE
									    : ARCH_L_DENSE;
	}
	arch_hp_memory(&m->hp, &k, 1);
	arch_ssm_memory(&m->ssm, &m->hp, &k);
	arch_hp_sites(&m->hp, &k, sets, LMD_LEN(sets));
	if (k.st == LMD_OK)
		arch_hp_finish(&m->hp, &k, params, out);
	out->traits |= LMD_TRAIT_RECURRENT;
	return k.st;
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct jamba *m = state;
	int64_t d = arch_ssm_dim(&m->ssm, symbol);

	return d ? d : arch_hp_dim(state, symbol, layer);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct jamba *m = state;
	struct arch_emit e;
	struct arch_residual x = {.z = LMD_NONE};
	struct lmd_norm norm;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	arch_emit_init(&e, b, &m->hp, key);
	x.x = arch_embed(&e);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t cls = m->hp.layer[il].cls;
		struct arch_block_io io;

		arch_set_layer(&e, (int32_t)il);
		norm = arch_norm_req(&e, LMD_NORM_RMS, &norm_rows[0]);
		io = (struct arch_block_io){arch_operand_all(&e, x.x), norm, x.x, 1.0f};
		if (cls & ARCH_L_ATTN) {
			struct arch_attn attn = arch_attn_default(&e, 0);

			x.x = arch_attn(&e, &io, &attn);
		} else {
			x.x = arch_ssm(&e, &io, &m->ssm);
		}
		norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]);
		io = (struct arch_block_io){arch_operand_all(&e, x.x), norm, x.x, 1.0f};
		if (cls & ARCH_L_MOE) {
			struct arch_moe moe = arch_moe_default(&e);

			x.x = arch_moe(&e, &io, &moe);
		} else {
			struct arch_ffn ffn = arch_ffn_default();

			x.x = arch_ffn(&e, &io, &ffn);
		}
	}
	norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &x, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

/* Checkpoints. Jamba: attention every n-th layer, experts every m-th layer. */
static const struct lmd_checkpoint_row jamba_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"final_layernorm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.pre_ff_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.mamba.dt_layernorm", "blk.%d.ssm_dt_norm", {.layers = LMD_CKPT_IN_MIXER}},
	{"layers.%d.mamba.b_layernorm", "blk.%d.ssm_b_norm", {.layers = LMD_CKPT_IN_MIXER}},
	{"layers.%d.mamba.c_layernorm", "blk.%d.ssm_c_norm", {.layers = LMD_CKPT_IN_MIXER}},
	{"layers.%d.feed_forward.gate_proj", "blk.%d.ffn_gate", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.up_proj", "blk.%d.ffn_up", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.down_proj", "blk.%d.ffn_down", {.layers = LMD_CKPT_IN_DENSE}},
	{"layers.%d.feed_forward.router", "blk.%d.ffn_gate_inp", {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.feed_forward.experts.%d.gate_proj",
	 "blk.%d.ffn_gate_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.up_proj",
	 "blk.%d.ffn_up_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.feed_forward.experts.%d.down_proj",
	 "blk.%d.ffn_down_exps",
	 {.layers = LMD_CKPT_IN_MOE, .stack = LMD_CKPT_EXPERTS}},
};

static const struct lmd_checkpoint_row jamba_mixer[] = {ARCH_CKPT_MAMBA1("layers.%d.mamba.")};

static void jamba_layers(struct lmd_checkpoint *c)
{
	int64_t attn = c->get_int(c, "attn_layer_period", 8, 1, LMD_CKPT_MAX_LAYERS);
	int64_t attn0 = c->get_int(c, "attn_layer_offset", 4, 0, LMD_CKPT_MAX_LAYERS);
	int64_t moe = c->get_int(c, "expert_layer_period", 2, 1, LMD_CKPT_MAX_LAYERS);
	int64_t moe0 = c->get_int(c, "expert_layer_offset", 1, 0, LMD_CKPT_MAX_LAYERS);

	c->layers = c->alloc(c, c->n_layer, 1);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] =
			(uint8_t)((i % attn == attn0 ? 0 : LMD_CKPT_LAYER_MIXER) |
				  (c->n_expert > 1 && i % moe == moe0 ? LMD_CKPT_LAYER_MOE : 0));
}

static void checkpoint_jamba(struct lmd_checkpoint *c)
{
	int64_t expand = c->get_int(c, "mamba_expand", 2, 1, 64);

	arch_ckpt_put_ssm(c, "mamba_d_conv", expand * c->n_embd, "mamba_d_state",
			  arch_ckpt_rank(c, "mamba_dt_rank"));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "jamba",
	 .arch = "jamba",
	 .flags = LMD_CKPT_NO_ROPE | LMD_CKPT_KV_PER_LAYER,
	 .rows = {ARCH_CKPT_ROWS(jamba_rows), ARCH_CKPT_ROWS(jamba_mixer)},
	 .layers = jamba_layers,
	 .keys = checkpoint_jamba},
};

static const struct lmd_checkpoint_maps maps = ARCH_CKPT_MAPS(checkpoints);

const struct lmd_arch_ops arch_jamba = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
	.checkpoints = &maps,
};
