/* SPDX-License-Identifier: MIT
 *
 * Mamba (arXiv 2312.00752) and Mamba-2 (arXiv 2405.21060): only state space layers.  Falcon-Mamba
 * (arXiv 2410.05355) adds norms without weights on dt, B and C. */
#include "arch/common/ssm.h"
#include "arch/recurrent/recurrent.h"

struct mamba {
	struct lmi_hparams hp;
	struct lmi_ssm ssm;
};

static const struct lmd_tensor_row norm_rows[] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

static const struct lmd_tensor_set sets1[] = {LMI_SET_GLOBAL, LMI_OWN(norm_rows), LMI_SET_MAMBA1};
static const struct lmd_tensor_set sets2[] = {LMI_SET_GLOBAL, LMI_OWN(norm_rows), LMI_SET_MAMBA2};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err, uint32_t version)
{
	static const struct lmi_hp_opts opts = {
		.norm_kind = LMD_NORM_RMS, .no_rope = true, .no_heads = true};
	struct mamba *m = host->arena_alloc(host->ctx, arena, sizeof(*m), 16);
	struct lmi_keys k;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "architecture %s: out of memory", model->arch);
	lmi_keys_init(&k, model, err);
	lmi_hp_read(&m->hp, &k, host, arena, params, &opts);
	lmi_ssm_read(&m->ssm, &m->hp, &k, version);
	if (k.st != LMD_OK)
		return k.st;
	for (uint32_t il = 0; il < m->hp.n_layer; il++)
		m->hp.layer[il].cls = LMI_L_RECURRENT;
	lmi_ssm_memory(&m->ssm, &m->hp, &k);
	lmi_hp_sites(&m->hp, &k, version == 2 ? sets2 : sets1, LMD_LEN(sets1));
	lmi_hp_finish(&m->hp, &k, params, out);
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
	int64_t d = lmi_ssm_dim(&m->ssm, symbol);

	return d ? d : lmi_hp_dim(state, symbol, layer);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct mamba *m = state;
	struct lmi_emit e;
	struct lmi_stream x = {.z = LMD_NONE};
	struct lmd_norm norm;

	if (key->kind != LMD_PLAN_FORWARD)
		return LMD_UNSUPPORTED;
	lmi_emit_init(&e, b, &m->hp, key);
	x.x = lmi_embed(&e);
	for (uint32_t il = 0; il < m->hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		struct lmi_io io;

		lmi_layer(&e, (int32_t)il);
		norm = lmi_norm_req(&e, LMD_NORM_RMS, &norm_rows[0]);
		io = (struct lmi_io){lmi_whole(&e, x.x), norm, x.x, 1.0f};
		x.x = lmi_ssm(&e, &io, &m->ssm);
	}
	norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &x, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

#define MAMBA_OPS(n)                                                                               \
	{                                                                                          \
		.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets##n),            \
		.sets = sets##n, .describe = describe##n, .dim = dim,                              \
		.layer_class = lmi_hp_layer_class, .build = build,                                 \
	}

const struct lmd_arch_ops arch_mamba = MAMBA_OPS(1);
const struct lmd_arch_ops arch_mamba2 = MAMBA_OPS(2);
