/* SPDX-License-Identifier: MIT
 *
 * hparams.h - the hyperparameters of a model, resolved for each layer.
 *
 * arch_hp_read reads what (nearly) every file has.  An architecture then reads its own keys, by a
 * table of arch_key_f32 rows or by hand, and corrects the layers.  Finally it calls arch_hp_memory,
 * which turns the layers into groups and caches, and arch_hp_finish, which fills the description.
 *
 * The state of every architecture built on this library begins with a struct arch_hparams, so
 * that arch_hp_dim and arch_hp_layer_class serve all of them.
 *
 * All memory comes from the arena of describe(). */
#ifndef LLAMAD_ARCH_COMMON_HPARAMS_H
#define LLAMAD_ARCH_COMMON_HPARAMS_H

#include <stddef.h>

#include "arch/common/keys.h"
#include "arch/common/tensors.h"
#include "llamad/arch.h"

/* Parameters of the rotation (RoPE), from the keys.  Index ARCH_ROPE_FULL is for all layers;
 * ARCH_ROPE_WINDOW is for layers with a window, if they differ. */
struct arch_rope_hp {
	double base;
	double freq_scale;   /* 1 / factor */
	double ext_factor;   /* 0: no YaRN */
	double attn_factor;  /* magnitude, without YaRN's factor 1 + 0.1 ln(1/freq_scale) */
	double file_factor;  /* rope.scaling.attn_factor; included in attn_factor */
	double beta_fast, beta_slow;
	uint32_t n_ctx_orig;
	uint32_t use_factors; /* 1: divide by the tensors rope_freqs or rope_factors_* */
	uint32_t own_pairing; /* 0: as hp.rope_pairing; else 1 + enum lmd_rope_pairing */
};
#define ARCH_ROPE_FULL   0u
#define ARCH_ROPE_WINDOW 1u
#define ARCH_N_ROPE      4u /* the last two are for the architecture's own use */

struct arch_layer {
	uint32_t cls; /* ARCH_L_* */
	uint32_t n_head, n_head_kv;
	uint32_t dk, dv;      /* of a head */
	uint32_t cache_kind;  /* enum lmd_cache_kind of the keys */
	uint32_t n_rot;       /* rotated columns of a head */
	uint32_t rope;        /* index into arch_hparams.rope; LMD_NONE: no rotation */
	uint32_t window;      /* keys seen; 0: all */
	uint32_t chunk;       /* size of chunks; 0: none */
	uint32_t n_ff;
	/* n > 0: external rows' columns from n * n_embd, added before it */
	uint32_t deepstack_before;
	uint32_t deepstack_after; /* likewise, added after the layer */
	uint32_t kv_layer;        /* the layer whose keys and values it reads; usually itself */
	bool heads_whole;         /* every rank computes all heads (ranks.h) */
	/* set by arch_hp_memory */
	uint32_t group;       /* of the attention; LMD_NONE: no attention */
	uint32_t cache;       /* of kv_layer; LMD_NONE: keys are rows of the step */
};

struct arch_hparams {
	const struct lmd_host *host;
	const struct lmd_model *model;
	struct lmd_arena *arena;

	uint32_t n_layer;     /* without draft (next-token prediction) layers */
	uint32_t n_layer_all; /* with the draft layers, which come last */
	uint32_t n_draft;     /* draft layers that are described: layer[n_layer] and so on */
	uint32_t n_tap;       /* hidden rows are the streams before these layers; 0: after the last norm */
	uint32_t taps[LMD_MAX_TAP];
	uint32_t n_embd, n_vocab;
	uint32_t n_ctx_train, n_ctx;
	struct arch_layer *layer; /* [n_layer_all]; of the draft layers only n_draft are set */
	bool causal;

	uint32_t norm_kind;   /* enum lmd_norm_kind of the residual stream's norms */
	float eps;
	float eps_post;          /* for norms after a block; 0: eps */
	uint32_t norm_placement; /* enum arch_norm_placement of the shared decoder */

	struct arch_rope_hp rope[ARCH_N_ROPE];
	uint32_t rope_pairing;  /* enum lmd_rope_pairing */
	uint32_t sections_kind; /* enum lmd_rope_sections; NONE if the key is absent */
	uint32_t sections[4];

	uint32_t n_expert, n_expert_used, n_expert_shared, n_expert_group, n_expert_group_used;
	uint32_t n_ff_exp, n_ff_shexp, n_dense_lead;
	uint32_t route_fn;    /* enum lmd_route_fn */
	bool route_renorm;
	float route_scale;

	/* 0 if neither the file nor the architecture sets them */
	float embd_scale;     /* factor of token embeddings */
	float embd_scale_ext; /* factor of external rows; 0: 1 */
	float residual_scale; /* factor of what is added to the residual stream */
	float attn_scale;     /* factor of q k^T; 0: 1/sqrt(dk) */
	float logit_scale;    /* factor of the logits (describe inverts divisors) */
	float attn_softcap, logit_softcap;
	float clamp_qkv;
	float alibi_max;

	/* attention temperature: queries at position p are multiplied by
	 * 1 + scale ln(1 + floor((p + offset) / len)); scale 0: no temperature */
	float attn_temp_scale, attn_temp_offset;
	uint32_t attn_temp_len;

	int32_t pooling; /* enum lmd_pooling of the file */
	uint32_t n_cls, n_dense2, n_dense3;
	uint32_t n_embd_inp;  /* width of an external row */

	/* for the hooks of one architecture */
	uint32_t arch_u32[4];
	const void *arch_data;

	/* memory */
	struct lmd_group *groups;
	struct lmd_cache *caches;
	uint32_t n_group, n_cache;
	uint32_t n_rank;       /* > 1: plans are built for this number of ranks (ranks.h) */
	uint32_t n_pass;       /* number of passes over the layers; each has its own caches */
	uint32_t n_cache_pass; /* caches of one pass */

	/* adapter sites */
	uint32_t *site_of_tensor; /* [model->n_tensors] site of each tensor, or LMD_NONE */
	uint32_t site_output;     /* site of the head if it shares the embedding matrix */
	const char **sites;
	uint32_t n_site;
};

/* What an architecture has to tell arch_hp_read. */
struct arch_hp_opts {
	uint32_t norm_kind;      /* determines which epsilon key is required */
	bool eps_either;         /* accept the other epsilon key if that one is absent */
	uint32_t rope_pairing;
	uint32_t sections_kind;  /* meaning of rope.dimension_sections */
	bool sections_required;
	bool no_rope;            /* no rotation in any layer */
	bool yarn_log;           /* read rope.scaling.yarn_log_multiplier */
	bool no_rope_factors;    /* ignore frequency factors of the file */
	bool window;             /* read the window keys */
	uint32_t window_need;    /* ARCH_REQUIRED: attention.sliding_window is required */
	uint32_t window_default; /* if that key is absent; 0: no window */
	uint32_t window_period;  /* if the file has no pattern: every period-th layer is full;
				  * 0: all layers have the window */
	bool window_dense_first; /* the full layer is the first of a period, not the last */
	bool n_head_zero;        /* a layer may have 0 heads */
	bool no_heads;           /* the architecture has no attention at all */
	uint32_t route_fn;       /* default if expert_gating_func is absent */
	bool route_renorm;       /* default if expert_weights_norm is absent */
	bool route_scaled;       /* read expert_weights_scale */
	bool route_by_key;       /* read that, expert_gating_func and expert_weights_norm */
};

/* Reads and checks sizes, heads, norm epsilon, rotation, windows, experts and pooling.  hp must be
 * zeroed.  Errors go to k. */
void arch_hp_read(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_host *host,
		  struct lmd_arena *arena, const struct lmd_arch_params *params,
		  const struct arch_hp_opts *o);

/* Tables of plain float keys that are stored in members of the state; ARCH_HP gives the offset of a
 * member. */
#define ARCH_HP(member) ((uint32_t)offsetof(struct arch_hparams, member))
struct arch_key_f32 {
	const char *key;
	uint32_t offset;      /* of a float in the state */
	uint32_t need;        /* enum arch_need */
	float def, lo, hi;
};
void arch_hp_floats(void *state, struct arch_keys *k, const struct arch_key_f32 *rows, uint32_t n);

/* Sets the window and rope index of each layer from attention.sliding_window(_pattern).  Called by
 * arch_hp_read if opts.window.  The pattern is an array (one flag per layer) or a period. */
void arch_hp_windows(struct arch_hparams *hp, struct arch_keys *k, const struct arch_hp_opts *o);

/* Sets windows for an architecture whose GGUF files have none, but whose checkpoints may: reads
 * folder.attention.sliding_window(_pattern), which only the checkpoint reader provides.  The
 * rotation is the same in all layers. */
void arch_hp_checkpoint_windows(struct arch_hparams *hp, struct arch_keys *k);

/* Gives layers with a window their own rotation, whose base is rope.freq_base_swa or def_base;
 * `unscaled`: without context scaling.  If not called, they rotate as all other layers do. */
void arch_hp_rope_window(struct arch_hparams *hp, struct arch_keys *k, double def_base,
			 bool unscaled);

/* Reads only the rotation keys, for architectures that do not call arch_hp_read. */
void arch_hp_rope(struct arch_hparams *hp, struct arch_keys *k, const struct arch_hp_opts *o);

/* Reads n_deepstack_layers: image rows carry that many more embeddings, which are added to the
 * stream after the first layers, one after each (DeepStack, arXiv 2406.04334). */
void arch_hp_deepstack(struct arch_hparams *hp, struct arch_keys *k);

/* Zeroed memory from the arena.  On failure sets LMD_NOMEM in k and returns NULL. */
void *arch_hp_alloc(struct arch_hparams *hp, struct arch_keys *k, size_t n, size_t size);

/* Creates groups and caches from the layers: one PAGED group for each distinct (window, chunk),
 * full attention first, and n_pass KV caches for each layer that has its own keys.  If not
 * hp->causal, BATCH groups and no caches.  Groups that the architecture added before the call are
 * kept, in front. */
void arch_hp_memory(struct arch_hparams *hp, struct arch_keys *k, uint32_t n_pass);
/* Add a group or cache; return its index, or LMD_NONE after an error. */
uint32_t arch_hp_add_group(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_group *g);
uint32_t arch_hp_add_cache(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_cache *c);

/* Create the adapter sites from the tensor sets; fill the description from hp. */
void arch_hp_sites(struct arch_hparams *hp, struct arch_keys *k, const struct lmd_tensor_set *sets,
		   uint32_t n_sets);
void arch_hp_finish(struct arch_hparams *hp, struct arch_keys *k,
		    const struct lmd_arch_params *params, struct lmd_arch_desc *out);

/* lmd_arch_ops.dim and .layer_class for states that begin with struct arch_hparams. */
int64_t arch_hp_dim(const void *state, uint32_t symbol, int32_t layer);
uint32_t arch_hp_layer_class(const void *state, int32_t il);

/* Index of a tensor by its full name, or LMD_NONE. */
uint32_t arch_hp_tensor(const struct arch_hparams *hp, const char *name);

#endif /* LLAMAD_ARCH_COMMON_HPARAMS_H */
