/* SPDX-License-Identifier: MIT
 *
 * Llama 4 (model cards meta-llama/Llama-4-Scout-17B-16E, -Maverick-17B-128E).  In three of four
 * layers attention is limited to chunks of 8192 positions, with rotation and, in the small model,
 * normalised queries and keys.  The fourth layer has full attention, no rotation, and an attention
 * temperature that grows with the position.  The router's sigmoid multiplies the input of the
 * experts.  Files with a window of 0 have rotation in all layers and no chunks. */
#include "arch/moe/moe.h"

#define CHUNK      8192u
#define PERIOD     4u
#define TEMP_SCALE 0.1f

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FREQS,
};

/* The keys for windows say which layers have chunks. */
static const struct arch_hp_opts chunks = {
	.window = true, .window_default = CHUNK, .window_period = PERIOD};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t step =
		arch_key_u32(k, "interleave_moe_layer_step", ARCH_REQUIRED, 1, 0, ARCH_MAX_LAYER);

	hp->n_ff_shexp = hp->n_ff_exp;
	hp->n_dense_lead = 0;
	arch_moe_by_step(hp, step);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
	arch_hp_windows(hp, k, &chunks);
	if (arch_key_u32(k, "attention.sliding_window", ARCH_OPTIONAL, CHUNK, 0, ARCH_MAX_CTX) == 0)
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->chunk = l->window ? CHUNK : 0;
		l->window = 0;
		if ((il + 1) % PERIOD == 0)
			l->rope = LMD_NONE;
	}
	hp->attn_temp_scale = TEMP_SCALE;
	hp->attn_temp_offset = 1.0f;
	hp->attn_temp_len = CHUNK;
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	if (arch_current_layer(e)->rope == LMD_NONE)
		return;
	a->q_row_in = LMD_NONE;
	if (d->hp.n_expert != 128) /* the large model */
		a->qk_norm = ARCH_QKN_BARE;
}

static void moe(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)e;
	(void)d;
	m->weight_before = true;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_fn = LMD_ROUTE_SIGMOID},
	.qk_norm_after = true,
	.adjust = adjust,
	.attn = attn,
	.moe = moe,
};
ARCH_DECODER_ARCH(llama4, traits, sets)
