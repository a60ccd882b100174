/* SPDX-License-Identifier: MIT
 *
 * Jamba (arXiv 2403.19887): Mamba layers; every few layers have attention without rotation instead,
 * and every few have experts instead of the dense block.  A layer without key heads is a Mamba
 * layer; a layer with a router tensor has experts. */
#include <stdio.h>

#include "arch/common/ssm.h"
#include "arch/recurrent/recurrent.h"

struct jamba {
	struct lmi_hparams hp;
	struct lmi_ssm ssm;
};

static const struct lmd_tensor_row norm_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};
static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_OWN(norm_rows), LMI_SET_MAMBA1, LMI_SET_QKV,
	LMI_SET_FFN_NORM, LMI_SET_FFN,        LMI_SET_MOE};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	static const struct lmi_hp_opts opts = {.norm_kind = LMD_NORM_RMS, .no_rope = true};
	struct jamba *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct lmi_keys k;
	char name[64];

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	lmi_keys_init(&k, model, err);
	lmi_hp_read(&m->hp, &k, host, arena, params, &opts);
	lmi_ssm_read(&m->ssm, &m->hp, &k, 1);
	if (k.st != LMD_OK)
		return k.st;
	for (uint32_t il = 0; il < m->hp.n_layer; il++) {
		struct lmi_layer *l = &m->hp.layer[il];

		(void)snprintf(name, sizeof(name), "blk.%u.ffn_gate_inp.weight", il);
		l->cls = l->n_head_kv ? LMI_L_ATTN | LMI_L_FULL : LMI_L_RECURRENT;
		l->cls |=
			m->hp.n_expert && model->find_tensor(model, name) ? LMI_L_MOE : LMI_L_DENSE;
	}
	lmi_hp_memory(&m->hp, &k, 1);
	lmi_ssm_memory(&m->ssm, &m->hp, &k);
	lmi_hp_sites(&m->hp, &k, sets, LMD_LEN(sets));
	if (k.st == LMD_OK)
		lmi_hp_finish(&m->hp, &k, params, out);
	out->traits |= LMD_TRAIT_RECURRENT;
	return k.st;
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct jamba *m = state;
	int64_t d = lmi_ssm_dim(&m->ssm, symbol);

	return d ? d : lmi_hp_dim(state, symbol, layer);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct jamba *m = state;
	struct lmi_emit e;
	struct lmi_stream x = {.z = LMD_NONE};
	struct lmd_norm norm;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	lmi_emit_init(&e, b, &m->hp, key);
	x.x = lmi_embed(&e);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t cls = m->hp.layer[il].cls;
		struct lmi_io io;

		lmi_layer(&e, (int32_t)il);
		norm = lmi_norm_req(&e, LMD_NORM_RMS, &norm_rows[0]);
		io = (struct lmi_io){lmi_whole(&e, x.x), norm, x.x, 1.0f};
		if (cls & LMI_L_ATTN) {
			struct lmi_attn attn = lmi_attn_default(&e, 0);

			x.x = lmi_attn(&e, &io, &attn);
		} else {
			x.x = lmi_ssm(&e, &io, &m->ssm);
		}
		norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]);
		io = (struct lmi_io){lmi_whole(&e, x.x), norm, x.x, 1.0f};
		if (cls & LMI_L_MOE) {
			struct lmi_moe moe = lmi_moe_default(&e);

			x.x = lmi_moe(&e, &io, &moe);
		} else {
			struct lmi_ffn ffn = lmi_ffn_default();

			x.x = lmi_ffn(&e, &io, &ffn);
		}
	}
	norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &x, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_jamba = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class, .build = build,
};
