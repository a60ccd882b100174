/* SPDX-License-Identifier: MIT
 *
 * decoder.h - the shared decoder of most architectures, driven by a table of traits.
 *
 * A variation becomes a trait when a second architecture needs it; until then it is code in
 * that architecture's file, called through the hooks at the end of the table.  An architecture
 * whose layers do not fit at all uses hparams, emit and blocks directly.
 *
 *     static const struct lmd_tensor_set sets[] = { ARCH_SET_GLOBAL, ... };
 *     static const struct arch_decoder_traits traits = { .hp = { ... }, .act = LMD_ACT_FN_SILU };
 *     ARCH_DECODER_ARCH(llama, traits, sets)
 */
#ifndef LLAMAD_ARCH_COMMON_DECODER_H
#define LLAMAD_ARCH_COMMON_DECODER_H

#include "arch/common/blocks.h"

enum arch_norm_placement {
	ARCH_NORM_PRE = 0,      /* norm, block, add */
	ARCH_NORM_POST = 1,     /* block, norm, add */
	ARCH_NORM_SANDWICH = 2, /* norm, block, norm, add */
	ARCH_NORM_PARALLEL = 3  /* attention and feed-forward read the same normalised stream */
};

enum arch_embd_norm { ARCH_EMBD_NORM_NONE = 0, ARCH_EMBD_NORM_ROW = 1, ARCH_EMBD_NORM_BARE = 2 };

struct arch_decoder;

struct arch_decoder_traits {
	struct arch_hp_opts hp;
	const struct arch_key_f32 *floats; /* more float keys; offsets into struct arch_hparams */
	uint32_t n_floats;

	/* enum arch_norm_placement; the adjust hook may change hp->norm_placement */
	uint32_t norm_placement;
	bool bare_norm;         /* norms of the stream have no weights */
	uint32_t embd_norm;     /* enum arch_embd_norm */
	bool pos_embd;          /* add learned positions if the file has them */
	/* norm rows; 0: attn_norm, ffn_norm, post_attention_norm, post_ffw_norm */
	uint32_t t_attn_norm, t_ffn_norm, t_attn_post, t_ffn_post;
	const struct lmd_tensor_row *final_norm; /* NULL: output_norm */

	uint32_t qk_norm;       /* enum arch_qk_norm */
	uint32_t qk_norm_kind;  /* enum lmd_norm_kind; 0: RMS */
	bool qk_norm_after;
	bool sinks;
	uint32_t gate;          /* enum arch_gate; reads the row attn_gate */
	uint32_t nope_period;   /* every period-th layer has no rotation; 0: none */
	bool nope_full;         /* if any layer has a window, those without have no rotation */
	bool out_bias_ignored;

	uint32_t act;           /* enum lmd_act_fn; 0: SiLU */
	bool ffn_plain;         /* no gate */
	bool ffn_fused;         /* ffn_up holds [gate | up] */
	bool moe_gate;          /* experts must have a gate */
	bool shared_fused;      /* ffn_up_shexp holds [gate | up] */
	bool draft_layer;       /* the hook `layer` serves draft layers as well */
	bool draft_differs;     /* they are not run: unlike the trunk's layers, or unknown */
	bool draft_window;      /* they are like the trunk's last layer with a window */
	bool draft_stream;      /* they read streams before the last norm */
	bool own_plan; /* no plan is built by arch_decoder_build: draft layers and taps are described by
				 * the architecture, if it has any */
	uint32_t draft_norm;    /* enum lmd_norm_kind of the norm before their head; 0: as others */
	struct arch_pooling pool;
	struct lmd_quant_traits quant;
	struct lmd_checkpoint_maps checkpoints;

	/* All hooks may be NULL. */

	/* Called after the common keys are read and before memory is declared: reads the
	 * architecture's own keys, sets its defaults and the classes of layers. */
	void (*adjust)(struct arch_hparams *hp, struct arch_keys *k);
	/* Called after the usual groups and caches are declared: declares more of them. */
	void (*memory)(struct arch_hparams *hp, struct arch_keys *k);
	/* Changes the description of a draft layer where it differs from that of the trunk's layer that it is like:
	 * the last one that attends to all keys, unless draft_window is set. */
	void (*draft)(struct arch_hparams *hp, uint32_t il);
	/* Override the attention, feed-forward block and experts of the current layer. */
	void (*attn)(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a);
	void (*ffn)(struct arch_emit *e, const struct arch_decoder *d, struct arch_ffn *f);
	void (*moe)(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m);
	/* Replaces the token embedding; returns the stream. */
	uint32_t (*embed)(struct arch_emit *e, const struct arch_decoder *d);
	/* Called before the first layer. */
	void (*begin)(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s);
	/* Replaces the attention in layers of class ARCH_L_RECURRENT. */
	uint32_t (*mixer)(struct arch_emit *e, const struct arch_decoder *d,
			  const struct arch_block_io *io);
	/* Replaces a whole layer. */
	void (*layer)(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		      uint32_t pass);
	/* Called after each layer, and between two passes over all layers. */
	void (*after)(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s);
	void (*between)(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s);
	/* Returns a weight_ref [V] that is added to the logits. */
	uint32_t (*logit_bias)(struct arch_emit *e, const struct arch_decoder *d);
	/* Changes the description after everything else is filled in. */
	void (*describe)(struct arch_hparams *hp, struct lmd_arch_desc *out);
};

/* State of a decoder. */
struct arch_decoder {
	struct arch_hparams hp;
	const struct arch_decoder_traits *traits;
	const struct lmd_plan_key *key; /* set while a plan is built */
};

enum lmd_status arch_decoder_describe(const struct arch_decoder_traits *t,
				      const struct lmd_tensor_set *sets, uint32_t n_sets,
				      const struct lmd_host *host, struct lmd_arena *arena,
				      const struct lmd_model *model,
				      const struct lmd_arch_params *params,
				      struct lmd_arch_desc *out, struct lmd_error *err);
enum lmd_status arch_decoder_build(const void *state, const struct lmd_builder *b,
				   const struct lmd_plan_key *key);
/* Fills row input 0 for architectures that scale queries by position (hp->attn_temp_len). */
enum lmd_status arch_decoder_rows(const void *state, const struct lmd_rows_in *in,
				  struct lmd_rows_out *out);

/* The two halves of arch_decoder_describe, for architectures with a larger state.  bytes: size of
 * that state, which must begin with struct arch_decoder.  open returns NULL after an error. */
struct arch_decoder *arch_decoder_open(size_t bytes, const struct arch_decoder_traits *t,
				       struct arch_keys *k, const struct lmd_host *host,
				       struct lmd_arena *arena,
				       const struct lmd_arch_params *params);
enum lmd_status arch_decoder_close(struct arch_decoder *d, struct arch_keys *k,
				   const struct lmd_tensor_set *sets, uint32_t n_sets,
				   const struct lmd_arch_params *params, struct lmd_arch_desc *out);

/* nextn.c: describes as many draft layers as the host asks for, if the file and the traits have any
 * that can be run; call it after the adjust hook. */
void arch_nextn_describe(struct arch_decoder *d, const struct lmd_arch_params *params);
/* Emits the plan of a draft layer; d->key is set. */
void arch_nextn_build(struct arch_emit *e, const struct arch_decoder *d);

/* Parts of them, for architectures that build their plans themselves. */
enum arch_nextn_row {
	ARCH_NEXTN_JOIN, /* the matrix that joins an embedding and a hidden row */
	ARCH_NEXTN_E_NORM,
	ARCH_NEXTN_H_NORM,
	ARCH_NEXTN_EMBED,
	ARCH_NEXTN_HEAD_NORM,
	ARCH_NEXTN_LAYER_NORM,
	ARCH_NEXTN_HEAD,
	ARCH_NEXTN_N
};
extern const struct lmd_tensor_row arch_nextn_rows[ARCH_NEXTN_N];
/* How many draft layers the file has of those that the host asks for. */
uint32_t arch_nextn_count(const struct arch_hparams *hp, const struct lmd_arch_params *params);
/* The embedding of the tokens, by the layer's own matrix or the model's. */
uint32_t arch_nextn_embed(struct arch_emit *e);
/* The row of the norm before the layer's head; NULL: it is the model's last norm. */
const struct lmd_tensor_row *arch_nextn_head_norm(const struct arch_emit *e);
/* The logits of normalised rows, by the layer's own head or the model's. */
void arch_nextn_head(struct arch_emit *e, struct lmd_operand x, uint32_t bias);

/* taps.c: takes over which streams the hidden rows are made of, if the decoder can put them out. */
void arch_taps_describe(struct arch_hparams *hp, const struct lmd_arch_params *params);
/* Keep the streams before layer il (n_layer: after the last one). */
void arch_taps_keep(struct arch_emit *e, const struct lmd_plan_key *key, struct arch_residual *s,
		    uint32_t il);

/* Parts of the usual layer, for use in hooks. */
struct lmd_norm arch_decoder_norm(struct arch_emit *e, const struct arch_decoder *d, uint32_t row,
				  uint32_t def);
struct arch_attn arch_decoder_attn(struct arch_emit *e, const struct arch_decoder *d,
				   uint32_t pass);
struct arch_ffn arch_decoder_ffn(struct arch_emit *e, const struct arch_decoder *d);
/* Dense feed-forward block or experts, depending on the layer's class. */
uint32_t arch_decoder_ffn_block(struct arch_emit *e, const struct arch_decoder *d,
				const struct arch_block_io *io);
void arch_decoder_layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
			uint32_t pass);

#define ARCH_DECODER_ARCH(ident, traits_, sets_)                                                   \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return arch_decoder_describe(&(traits_), sets_, LMD_LEN(sets_), host, arena,       \
					     model, params, out, err);                             \
	}                                                                                          \
	const struct lmd_arch_ops arch_##ident = {                                                 \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = arch_hp_dim,                                                                \
		.layer_class = arch_hp_layer_class,                                                \
		.build = arch_decoder_build,                                                       \
		.rows = arch_decoder_rows,                                                         \
		.quant = &(traits_).quant,                                                         \
		.checkpoints = &(traits_).checkpoints,                                             \
	};

#endif /* LLAMAD_ARCH_COMMON_DECODER_H */
