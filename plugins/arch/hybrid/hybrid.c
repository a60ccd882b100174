/* SPDX-License-Identifier: MIT
 *
 * hybrid.c - the state of the family, and models whose layers are Mamba-2 or attention. */
#include <stdio.h>

#include "arch/hybrid/hybrid.h"

const struct lmd_tensor_row lmi_hybrid_norm_rows[1] = {
	{"blk.%d.attn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL},
};

void lmi_hybrid_layers(struct lmi_hparams *hp)
{
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!(l->cls & LMI_L_ATTN))
			l->cls |= LMI_L_RECURRENT;
	}
}

void lmi_hybrid_kinds(struct lmi_hparams *hp, struct lmi_keys *k, uint32_t n)
{
	static const char key[] = "attention.recurrent_layers";
	uint32_t *flag = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*flag));
	bool flags = flag && lmi_key_u32s(k, key, LMI_OPTIONAL, flag, hp->n_layer, 0, 0, 1);

	n = lmi_key_u32(k, "full_attention_interval", LMI_OPTIONAL, n, 1, LMI_MAX_LAYER);
	for (uint32_t il = 0; il < hp->n_layer && k->st == LMD_OK; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!(flags ? flag[il] : (il + 1) % n != 0)) {
			if (!(l->cls & LMI_L_ATTN))
				lmi_key_fail(k, LMD_INVALID,
					     "%s.attention.head_count_kv: 0 in layer %u, which has "
					     "attention", hp->model->arch, il);
			continue;
		}
		l->cls &= ~LMI_L_ATTN;
		l->cls |= LMI_L_RECURRENT;
	}
}

void lmi_hybrid_shared(struct lmi_hparams *hp)
{
	char name[64];

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		(void)snprintf(name, sizeof(name), "blk.%u.ffn_up_shexp.weight", il);
		if (lmi_hp_tensor(hp, name) == LMD_NONE)
			hp->layer[il].cls &= ~LMI_L_SHEXP;
	}
}

void lmi_hybrid_mamba2(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_ssm_read(&lmi_hybrid(hp)->ssm, hp, k, 2);
	lmi_hybrid_layers(hp);
}

void lmi_hybrid_mamba2_memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_ssm_memory(&lmi_hybrid(hp)->ssm, hp, k);
}

uint32_t lmi_hybrid_mamba2_mixer(struct lmi_emit *e, const struct lmi_decoder *d,
				 const struct lmi_io *io)
{
	const struct lmi_hybrid *h = d->hp.own_data;

	return lmi_ssm(e, io, &h->ssm);
}

void lmi_hybrid_kda_memory(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_kda_memory(&lmi_hybrid(hp)->kda, hp, k);
}

void lmi_hybrid_kda_mixer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	const struct lmi_hybrid *h = d->hp.own_data;
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_hybrid_norm_rows[0]);
	struct lmi_io io = lmi_read(e, s, &norm);

	s->x = lmi_cur(e)->cls & LMI_L_ATTN ? lmi_mla(e, &io, h->mla, LMD_NONE)
					    : lmi_kda(e, &io, &h->kda);
}

void lmi_hybrid_kda_layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
			  uint32_t pass)
{
	struct lmd_norm norm;
	struct lmi_io io;

	(void)pass;
	lmi_hybrid_kda_mixer(e, d, s);
	norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]);
	io = lmi_read(e, s, &norm);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

enum lmd_status lmi_hybrid_describe(const struct lmi_decoder_traits *t,
				    const struct lmd_tensor_set *sets, uint32_t n_sets,
				    const struct lmd_host *host, struct lmd_arena *arena,
				    const struct lmd_model *model,
				    const struct lmd_arch_params *params,
				    struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct lmi_decoder *d;
	struct lmi_keys k;

	lmi_keys_init(&k, model, err);
	d = lmi_decoder_open(sizeof(struct lmi_hybrid), t, &k, host, arena, params);
	if (!d)
		return k.st;
	d->hp.own_data = d;
	(void)lmi_decoder_close(d, &k, sets, n_sets, params, out); /* the status is also in k.st */
	for (uint32_t il = 0; k.st == LMD_OK && il < d->hp.n_layer; il++) {
		if (d->hp.layer[il].cls & LMI_L_RECURRENT)
			out->traits |= LMD_TRAIT_RECURRENT;
	}
	return k.st;
}

int64_t lmi_hybrid_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hybrid *h = state;
	int64_t v;

	if (symbol >= D_OWN)
		return symbol - D_OWN < LMI_HYBRID_N_DIM ? h->dims[symbol - D_OWN] : 0;
	v = lmi_ssm_dim(&h->ssm, symbol);
	v = v ? v : lmi_delta_dim(&h->delta, symbol);
	v = v ? v : lmi_kda_dim(&h->kda, symbol);
	v = v || !h->mla ? v : lmi_mla_dim(h->mla, symbol);
	return v ? v : lmi_hp_dim(state, symbol, layer);
}
