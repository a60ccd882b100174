/* SPDX-License-Identifier: MIT
 *
 * hparams.h - the numbers of a model, resolved for each layer.
 *
 * lmi_hp_read fills what (nearly) every file has; an architecture then reads its own keys by a
 * table of lmi_key_f32 rows or by hand, corrects layers, and calls lmi_hp_memory, which turns the
 * layers into groups and caches, and lmi_hp_finish, which fills the description.
 *
 * The state of every architecture built on this library begins with a struct lmi_hparams, so
 * that lmi_hp_dim and lmi_hp_layer_class serve all of them.
 *
 * Everything lives in the arena of describe(). */
#ifndef LLAMAD_ARCH_COMMON_HPARAMS_H
#define LLAMAD_ARCH_COMMON_HPARAMS_H

#include <stddef.h>

#include "arch/common/keys.h"
#include "arch/common/tensors.h"
#include "llamad/arch.h"

/* Rotation as the keys say it; index 0 serves all layers, 1 those with a window when a file or an
 * architecture gives them their own. */
struct lmi_rope_hp {
	double base;
	double freq_scale;   /* 1 / factor */
	double ext_factor;   /* 0: no YaRN */
	double attn_factor;  /* magnitude before the 1 + 0.1 ln(1/freq_scale) of YaRN */
	double file_factor;  /* rope.scaling.attn_factor, which is part of it */
	double beta_fast, beta_slow;
	uint32_t n_ctx_orig;
	uint32_t use_factors; /* 1: divide by the tensors rope_freqs or rope_factors_* */
	uint32_t own_pairing; /* 0: that of the model; else 1 + enum lmd_rope_pairing */
};
#define LMI_ROPE_FULL   0u
#define LMI_ROPE_WINDOW 1u
#define LMI_N_ROPE      4u /* two are the architecture's own */

struct lmi_layer {
	uint32_t cls;         /* LMI_L_* */
	uint32_t n_head, n_head_kv;
	uint32_t dk, dv;      /* of a head */
	uint32_t cache_kind;  /* enum lmd_cache_kind of its keys */
	uint32_t n_rot;       /* rotated columns of a head */
	uint32_t rope;        /* index into lmi_hparams.rope; LMD_NONE: no rotation */
	uint32_t window;      /* keys seen; 0: all */
	uint32_t chunk;       /* size of chunks; 0: none */
	uint32_t n_ff;
	uint32_t deep_before; /* > 0: columns n * n_embd of external rows join before the layer */
	uint32_t deep_after;  /* ... after it */
	uint32_t kv_layer;    /* the layer whose keys and values it reads; usually itself */
	uint32_t group;       /* set by lmi_hp_memory: of its attention; LMD_NONE: no attention */
	uint32_t cache;       /* ... of kv_layer; LMD_NONE: keys are rows of the step */
};

struct lmi_hparams {
	const struct lmd_host *host;
	const struct lmd_model *model;
	struct lmd_arena *arena;

	uint32_t n_layer;     /* trunk */
	uint32_t n_layer_all; /* with draft blocks after it */
	uint32_t n_embd, n_vocab;
	uint32_t n_ctx_train, n_ctx;
	struct lmi_layer *layer; /* [n_layer] */
	bool causal;

	uint32_t norm_kind;   /* enum lmd_norm_kind of the residual stream's norms */
	float eps;
	float eps_post;       /* of norms after a block; 0: eps */
	uint32_t place;       /* the shared decoder's enum lmi_place */

	struct lmi_rope_hp rope[LMI_N_ROPE];
	uint32_t rope_pairing;  /* enum lmd_rope_pairing */
	uint32_t sections_kind; /* enum lmd_rope_sections; NONE without the key */
	uint32_t sections[4];

	uint32_t n_expert, n_expert_used, n_expert_shared, n_expert_group, n_expert_group_used;
	uint32_t n_ff_exp, n_ff_shexp, n_dense_lead;
	uint32_t route_fn;    /* enum lmd_route_fn */
	bool route_renorm;
	float route_scale;

	/* 0 where the file and the architecture say nothing */
	float embd_scale;     /* times the embeddings of tokens */
	float embd_scale_ext; /* times external rows; 0: 1 */
	float residual_scale; /* times what is added to the residual stream */
	float attn_scale;     /* times q k^T; 0: 1/sqrt(dk) */
	float logit_scale;    /* times the logits (divisors are turned around in describe) */
	float attn_softcap, logit_softcap;
	float clamp_qkv;
	float alibi_max;

	/* queries of position p times 1 + scale ln(1 + floor((p + offset) / length)); scale 0:
	 * they are not */
	float temp_scale, temp_offset;
	uint32_t temp_len;

	int32_t pooling;      /* enum lmd_pooling of the file */
	uint32_t n_cls, n_dense2, n_dense3;
	uint32_t n_embd_inp;  /* width of an external row */

	/* of one architecture alone: what its hooks want to know */
	uint32_t own[4];
	const void *own_data;

	/* memory */
	struct lmd_group *groups;
	struct lmd_cache *caches;
	uint32_t n_group, n_cache;
	uint32_t n_copy;      /* passes over the layers, each with caches of its own */
	uint32_t n_cache_pass; /* caches of one pass */

	/* adapter sites: the site of each tensor of the file, or LMD_NONE */
	uint32_t *site_of_tensor; /* [model->n_tensors] */
	uint32_t site_output;     /* the head when it shares the embedding */
	const char **sites;
	uint32_t n_site;
};

/* What lmi_hp_read cannot know. */
struct lmi_hp_opts {
	uint32_t norm_kind;      /* decides which epsilon key is required */
	bool eps_either;         /* where it is absent the other one will do */
	uint32_t rope_pairing;
	uint32_t sections_kind;  /* what rope.dimension_sections means here */
	bool sections_required;
	bool no_rope;            /* nothing rotates */
	bool yarn_log;           /* reads rope.scaling.yarn_log_multiplier */
	bool no_rope_factors;    /* frequency factors that a file has are not applied */
	bool window;             /* reads window keys */
	uint32_t window_need;    /* LMI_REQUIRED: attention.sliding_window must be there */
	uint32_t window_default; /* without the key; 0: no window then */
	uint32_t window_period;  /* without a pattern in the file: every period-th layer is full;
				  * 0: all layers have the window */
	bool window_dense_first; /* the full layer is the first of a period, not the last */
	bool n_head_zero;        /* a layer may have 0 heads */
	bool no_heads;           /* the architecture has no attention at all */
	uint32_t route_fn;       /* when expert_gating_func is absent */
	bool route_renorm;       /* when expert_weights_norm is absent */
	bool route_scaled;       /* reads expert_weights_scale */
	bool route_by_key;       /* ... and expert_gating_func and expert_weights_norm */
};

/* Reads and checks sizes, heads, norm epsilon, rotation, windows, experts, pooling.
 * hp is zeroed; err through k. */
void lmi_hp_read(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmd_host *host,
		 struct lmd_arena *arena, const struct lmd_arch_params *params,
		 const struct lmi_hp_opts *o);

/* Rows of a table of plain float keys that go to members of the state; LMI_HP names one. */
#define LMI_HP(member) ((uint32_t)offsetof(struct lmi_hparams, member))
struct lmi_key_f32 {
	const char *key;
	uint32_t offset;      /* of a float in the state */
	uint32_t need;        /* enum lmi_need */
	float def, lo, hi;
};
void lmi_hp_floats(void *state, struct lmi_keys *k, const struct lmi_key_f32 *rows, uint32_t n);

/* Sets window and rope index of every layer from attention.sliding_window(_pattern); part of
 * lmi_hp_read when opts.window.  A pattern in the file is an array (a flag a layer) or a period. */
void lmi_hp_windows(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmi_hp_opts *o);

/* The same of an architecture whose files have no windows and whose checkpoints may: what a model
 * that was opened as a folder says in folder.attention.sliding_window(_pattern), keys that no file
 * has.  Rotation is the same in all layers. */
void lmi_hp_folder_window(struct lmi_hparams *hp, struct lmi_keys *k);

/* Gives the layers with a window their own rotation: base from rope.freq_base_swa or def_base,
 * without stretching when `unscaled`.  Otherwise they turn as the others do. */
void lmi_hp_rope_window(struct lmi_hparams *hp, struct lmi_keys *k, double def_base,
			bool unscaled);

/* Rotation keys alone, for architectures that do without lmi_hp_read. */
void lmi_hp_rope(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmi_hp_opts *o);

/* Reads n_deepstack_layers: rows of pictures carry that many further embeddings, which join the
 * stream after the first layers (DeepStack, arXiv 2406.04334). */
void lmi_hp_deepstack(struct lmi_hparams *hp, struct lmi_keys *k);

/* Zeroed memory in the arena; on failure sticks LMD_NOMEM in k and returns NULL. */
void *lmi_hp_alloc(struct lmi_hparams *hp, struct lmi_keys *k, size_t n, size_t size);

/* Groups and caches from the layers: one PAGED group for each distinct (window, chunk), full ones
 * first, one KV cache for each layer that owns its keys, times n_copy; without `causal` BATCH
 * groups and no caches.  May be called after an architecture put groups of its own in front:
 * those that are there stay. */
void lmi_hp_memory(struct lmi_hparams *hp, struct lmi_keys *k, uint32_t n_copy);
/* Room for further ones; return the index. */
uint32_t lmi_hp_add_group(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmd_group *g);
uint32_t lmi_hp_add_cache(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmd_cache *c);

/* Adapter sites from the tensor sets, then the description: everything that hp knows. */
void lmi_hp_sites(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmd_tensor_set *sets,
		  uint32_t n_sets);
void lmi_hp_finish(struct lmi_hparams *hp, struct lmi_keys *k, const struct lmd_arch_params *params,
		   struct lmd_arch_desc *out);

/* lmd_arch_ops.dim and .layer_class for states that begin with struct lmi_hparams. */
int64_t lmi_hp_dim(const void *state, uint32_t symbol, int32_t layer);
uint32_t lmi_hp_layer_class(const void *state, int32_t il);

/* Index of a tensor by its whole name, or LMD_NONE. */
uint32_t lmi_hp_tensor(const struct lmi_hparams *hp, const char *name);

#endif /* LLAMAD_ARCH_COMMON_HPARAMS_H */
