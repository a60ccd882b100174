/* SPDX-License-Identifier: MIT
 *
 * Text model of CogVLM (arXiv 2311.03079): LLaMA with a second set of matrices ("visual expert")
 * for image rows.  Image and text rows never share a step; plan variant 1 is for images. */
#include "arch/dense/dense.h"

#define VIS_SPLIT(stem, d0, d1, split)                                                             \
	{                                                                                          \
		stem, {d0, d1, 0, 0}, LMD_TENSOR_REQUIRED, split, 0, NULL                          \
	}
enum { VIS_QKV, VIS_OUT, VIS_GATE, VIS_UP, VIS_DOWN };
static const struct lmd_tensor_row own_rows[] = {
	[VIS_QKV] = VIS_SPLIT("blk.%d.vis_attn_qkv", D_EMBD, D_QKV, LMD_SPLIT_HEADS),
	[VIS_OUT] = VIS_SPLIT("blk.%d.vis_attn_output", D_O, D_EMBD, LMD_SPLIT_COLS),
	[VIS_GATE] = VIS_SPLIT("blk.%d.vis_gate", D_EMBD, D_FF, LMD_SPLIT_ROWS),
	[VIS_UP] = VIS_SPLIT("blk.%d.vis_up", D_EMBD, D_FF, LMD_SPLIT_ROWS),
	[VIS_DOWN] = VIS_SPLIT("blk.%d.vis_down", D_FF, D_EMBD, LMD_SPLIT_COLS),
};
static const struct lmi_attn_rows vis_attn = {.q = &own_rows[VIS_QKV],
					      .k = &own_rows[VIS_QKV],
					      .v = &own_rows[VIS_QKV],
					      .qkv = &own_rows[VIS_QKV],
					      .out = &own_rows[VIS_OUT]};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_OWN(own_rows),
};

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	if (d->key->variant == 1)
		a->rows = &vis_attn;
}

static void ffn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_ffn *f)
{
	(void)e;
	if (d->key->variant != 1)
		return;
	f->gate = &own_rows[VIS_GATE];
	f->up = &own_rows[VIS_UP];
	f->down = &own_rows[VIS_DOWN];
}

static void describe(struct lmi_hparams *hp, struct lmd_arch_desc *out)
{
	(void)hp;
	out->traits |= LMD_TRAIT_NO_MIX;
	out->n_variant = 2;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.attn = attn,
	.ffn = ffn,
	.describe = describe,
};

LMI_DECODER_ARCH(cogvlm, traits, sets)
