/* SPDX-License-Identifier: MIT
 *
 * hybrid.c - the state of the family, and models whose layers are Mamba-2 or attention. */
#include <stdio.h>

#include "arch/hybrid/hybrid.h"

const struct lmd_tensor_row arch_hybrid_norm_rows[1] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

void arch_hybrid_layers(struct arch_hparams *hp)
{
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!(l->cls & ARCH_L_ATTN))
			l->cls |= ARCH_L_RECURRENT;
	}
}

void arch_hybrid_kinds(struct arch_hparams *hp, struct arch_keys *k, uint32_t n)
{
	static const char key[] = "attention.recurrent_layers";
	uint32_t *flag = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*flag));
	bool flags = flag && arch_key_u32s(k, key, ARCH_OPTIONAL, flag, hp->n_layer, 0, 0, 1);

	n = arch_key_u32(k, "full_attention_interval", ARCH_OPTIONAL, n, 1, ARCH_MAX_LAYER);
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!(flags ? flag[il] : (il + 1) % n != 0)) {
			if (!(l->cls & ARCH_L_ATTN))
				arch_key_fail(
					k, LMD_INVALID,
					"%s.attention.head_count_kv: 0 in layer %u, which has "
					"attention",
					hp->model->arch, il);
			continue;
		}
		l->cls &= ~ARCH_L_ATTN;
		l->cls |= ARCH_L_RECURRENT;
	}
}

void arch_hybrid_shared(struct arch_hparams *hp)
{
	char name[64];

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		(void)snprintf(name, sizeof(name), "blk.%u.ffn_up_shexp.weight", il);
		if (arch_hp_tensor(hp, name) == LMD_NONE)
			hp->layer[il].cls &= ~ARCH_L_SHEXP;
	}
}

void arch_hybrid_mamba2(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_ssm_read(&arch_hybrid(hp)->ssm, hp, k, 2);
	arch_hybrid_layers(hp);
}

void arch_hybrid_mamba2_memory(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_ssm_memory(&arch_hybrid(hp)->ssm, hp, k);
}

uint32_t arch_hybrid_mamba2_mixer(struct arch_emit *e, const struct arch_decoder *d,
				  const struct arch_block_io *io)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	return arch_ssm(e, io, &h->ssm);
}

void arch_hybrid_kda_memory(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_kda_memory(&arch_hybrid(hp)->kda, hp, k);
}

void arch_hybrid_kda_mixer(struct arch_emit *e, const struct arch_decoder *d,
			   struct arch_residual *s)
{
	const struct arch_hybrid *h = d->hp.arch_data;
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_hybrid_norm_rows[0]);
	struct arch_block_io io = arch_residual_read(e, s, &norm);

	s->x = arch_current_layer(e)->cls & ARCH_L_ATTN ? arch_mla(e, &io, h->mla, LMD_NONE)
							: arch_kda(e, &io, &h->kda);
}

void arch_hybrid_kda_layer(struct arch_emit *e, const struct arch_decoder *d,
			   struct arch_residual *s, uint32_t pass)
{
	struct lmd_norm norm;
	struct arch_block_io io;

	(void)pass;
	arch_hybrid_kda_mixer(e, d, s);
	norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]);
	io = arch_residual_read(e, s, &norm);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

enum lmd_status arch_hybrid_describe(const struct arch_decoder_traits *t,
				     const struct lmd_tensor_set *sets, uint32_t n_sets,
				     const struct lmd_host *host, struct lmd_arena *arena,
				     const struct lmd_model *model,
				     const struct lmd_arch_params *params,
				     struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct arch_decoder *d;
	struct arch_keys k;

	arch_keys_init(&k, model, err);
	d = arch_decoder_open(sizeof(struct arch_hybrid), t, &k, host, arena, params);
	if (!d)
		return k.st;
	d->hp.arch_data = d;
	(void)arch_decoder_close(d, &k, sets, n_sets, params, out); /* the status is also in k.st */
	for (uint32_t il = 0; k.st == LMD_OK && il < d->hp.n_layer; il++) {
		if (d->hp.layer[il].cls & ARCH_L_RECURRENT)
			out->traits |= LMD_TRAIT_RECURRENT;
	}
	return k.st;
}

int64_t arch_hybrid_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hybrid *h = state;
	int64_t v;

	if (symbol >= D_OWN)
		return symbol - D_OWN < ARCH_HYBRID_N_DIM ? h->dims[symbol - D_OWN] : 0;
	v = arch_ssm_dim(&h->ssm, symbol);
	v = v ? v : arch_delta_dim(&h->delta, symbol);
	v = v ? v : arch_kda_dim(&h->kda, symbol);
	v = v || !h->mla ? v : arch_mla_dim(h->mla, symbol);
	return v ? v : arch_hp_dim(state, symbol, layer);
}
