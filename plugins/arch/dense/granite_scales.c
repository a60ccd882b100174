/* SPDX-License-Identifier: MIT
 *
 * Scales and DeepStack keys shared by the Granite architectures. */
#include "arch/dense/dense.h"

void arch_granite_scales(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->embd_scale = (float)arch_key_f64(k, "embedding_scale", ARCH_OPTIONAL, 0.0, 0.0, 1e6);
	hp->embd_scale_ext = hp->embd_scale;
	hp->residual_scale = (float)arch_key_f64(k, "residual_scale", ARCH_OPTIONAL, 0.0, 0.0, 1e6);
	hp->attn_scale = (float)arch_key_f64(k, "attention.scale", ARCH_OPTIONAL, 0.0, 0.0, 1e3);
	/* the file has a divisor */
	hp->logit_scale =
		(float)(1.0 / arch_key_f64(k, "logit_scale", ARCH_REQUIRED, 1.0, 1e-6, 1e6));
}

/* Reads which block of columns each layer adds (-1 = none; block 0 is the embedding itself). */
void arch_granite_deepstack(struct arch_hparams *hp, struct arch_keys *k)
{
	static const char key[] = "deepstack_mapping";
	uint64_t seen = 0;
	double *map;

	if (!arch_key_has(k, key))
		return;
	map = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*map));
	if (!map || !arch_key_f64s(k, key, ARCH_REQUIRED, map, hp->n_layer, -1.0, -1.0, 63.0))
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (map[il] < 0.0)
			continue;
		seen |= 1ull << (uint32_t)map[il];
		hp->layer[il].deepstack_before = il ? (uint32_t)map[il] : 0;
	}
	hp->n_embd_inp = hp->n_embd * (1 + (uint32_t)__builtin_popcountll(seen));
}
