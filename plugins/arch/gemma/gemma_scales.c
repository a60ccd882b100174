/* SPDX-License-Identifier: MIT
 *
 * Scales shared by the Gemma models. */
#include <math.h>

#include "arch/gemma/gemma.h"

void lmi_gemma_embedding(struct lmi_hparams *hp, float ext)
{
	hp->embd_scale = sqrtf((float)hp->n_embd);
	hp->embd_scale_ext = ext != 0.0f ? ext : hp->embd_scale;
}

/* Sets the attention scale.  The largest model of a generation, identified by its depth, uses
 * 1/sqrt(n_embd / n_head); all others use 1/sqrt(head size). */
void lmi_gemma_attn_scale(struct lmi_hparams *hp, uint32_t n_layer_large)
{
	const struct lmi_layer *l = &hp->layer[0];
	double d = l->dk;

	if (hp->n_layer == n_layer_large)
		d = (double)(hp->n_embd / l->n_head);
	hp->attn_scale = (float)(1.0 / sqrt(d > 0.0 ? d : 1.0));
}
