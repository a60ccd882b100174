/* SPDX-License-Identifier: MIT
 *
 * Apertus (arXiv 2509.14233): queries and keys are normalised; xIELU (arXiv 2411.13010) without a
 * gate.  The file has the alphas before softplus. */
#include <math.h>

#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,          ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_SET_ROPE_FACTORS,
};

static double softplus(double x)
{
	return x > 20.0 ? x : log1p(exp(x));
}

/* Computes the parameters of the activation function: alpha_n, alpha_p, beta, eps of each layer. */
static void activation(struct arch_hparams *hp, struct arch_keys *k)
{
	static const char *const key[LMD_N_ACT_FN_PARAM] = {"@xielu.alpha_n", "@xielu.alpha_p",
							    "@xielu.beta", "@xielu.eps"};
	double *v = arch_hp_alloc(hp, k, (size_t)hp->n_layer * LMD_N_ACT_FN_PARAM, sizeof(*v));
	float *p = arch_hp_alloc(hp, k, (size_t)hp->n_layer * LMD_N_ACT_FN_PARAM, sizeof(*p));
	uint32_t n = hp->n_layer;

	if (!v || !p)
		return;
	for (uint32_t i = 0; i < LMD_N_ACT_FN_PARAM; i++)
		(void)arch_key_f64s(k, key[i], ARCH_REQUIRED, v + (size_t)i * n, n, 0.0, -1e3, 1e3);
	for (uint32_t il = 0; il < n; il++) {
		p[il * 4 + 0] = (float)(v[2 * n + il] + softplus(v[il]));
		p[il * 4 + 1] = (float)softplus(v[n + il]);
		p[il * 4 + 2] = (float)v[2 * n + il];
		p[il * 4 + 3] = (float)v[3 * n + il];
	}
	hp->arch_data = p;
}

static void of_layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_ffn *f)
{
	const float *p = d->hp.arch_data;

	for (uint32_t i = 0; i < LMD_N_ACT_FN_PARAM; i++)
		f->p[i] = p[e->il * LMD_N_ACT_FN_PARAM + (int32_t)i];
}

/* Checkpoints. Apertus: xIELU, with four parameters stored as tensors in each layer. */
static const struct lmd_checkpoint_row apertus_rows[] = {
	{"layers.%d.attention_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.feedforward_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

static void checkpoint_apertus(struct lmd_checkpoint *c)
{
	static const struct {
		const char *name, *key;
	} rows[] = {{".mlp.act_fn.alpha_n", "@xielu.alpha_n"},
		    {".mlp.act_fn.alpha_p", "@xielu.alpha_p"},
		    {".mlp.act_fn.beta", "@xielu.beta"},
		    {".mlp.act_fn.eps", "@xielu.eps"}};

	for (size_t k = 0; k < LMD_LEN(rows) && !c->failed(c); k++) {
		double *v = c->alloc(c, c->n_layer, sizeof(*v));

		for (uint32_t i = 0; v && i < c->n_layer; i++)
			v[i] = c->scalar(c, "model.layers.", i, rows[k].name);
		c->put_floats(c, rows[k].key, v, c->n_layer);
	}
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "apertus",
	 .arch = "apertus",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(apertus_rows)},
	 .keys = checkpoint_apertus},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD,
	.act = LMD_ACT_FN_XIELU,
	.ffn_plain = true,
	.adjust = activation,
	.ffn = of_layer,
	.quant = {.v_layers = 80},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(apertus, traits, sets)
