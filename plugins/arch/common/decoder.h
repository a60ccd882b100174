/* SPDX-License-Identifier: MIT
 *
 * decoder.h - the shared decoder of most architectures, driven by a table of traits.
 *
 * A variation becomes a trait when a second architecture needs it; until then it is code in
 * that architecture's file, called through the hooks at the end of the table.  An architecture
 * whose layers do not fit at all uses hparams, emit and blocks directly.
 *
 *     static const struct lmd_tensor_set sets[] = { LMI_SET_GLOBAL, ... };
 *     static const struct lmi_decoder_traits traits = { .hp = { ... }, .act = LMD_ACT_SILU };
 *     LMI_DECODER_ARCH(llama, traits, sets)
 */
#ifndef LLAMAD_ARCH_COMMON_DECODER_H
#define LLAMAD_ARCH_COMMON_DECODER_H

#include "arch/common/blocks.h"

enum lmi_place {
	LMI_PRE = 0,      /* norm, block, add */
	LMI_POST = 1,     /* block, norm, add */
	LMI_SANDWICH = 2, /* norm, block, norm, add */
	LMI_PARALLEL = 3  /* attention and feed-forward read the same normalised stream */
};

enum lmi_embd_norm { LMI_EMBD_NORM_NONE = 0, LMI_EMBD_NORM_ROW = 1, LMI_EMBD_NORM_BARE = 2 };

struct lmi_decoder;

struct lmi_decoder_traits {
	struct lmi_hp_opts hp;
	const struct lmi_key_f32 *floats; /* more float keys; offsets into struct lmi_hparams */
	uint32_t n_floats;

	uint32_t place;         /* enum lmi_place; the adjust hook may change hp->place */
	bool bare_norm;         /* norms of the stream have no weights */
	uint32_t embd_norm;     /* enum lmi_embd_norm */
	bool pos_embd;          /* add learned positions if the file has them */
	/* norm rows; 0: attn_norm, ffn_norm, post_attention_norm, post_ffw_norm */
	uint32_t t_attn_norm, t_ffn_norm, t_attn_post, t_ffn_post;
	const struct lmd_tensor_row *final_norm; /* NULL: output_norm */

	uint32_t qk_norm;       /* enum lmi_qk_norm */
	uint32_t qk_norm_kind;  /* enum lmd_norm_kind; 0: RMS */
	bool qk_norm_after;
	bool sinks;
	uint32_t gate;          /* enum lmi_gate; reads the row attn_gate */
	uint32_t nope_period;   /* every period-th layer has no rotation; 0: none */
	bool nope_full;         /* if any layer has a window, those without have no rotation */
	bool out_bias_ignored;

	uint32_t act;           /* enum lmd_act; 0: SiLU */
	bool ffn_plain;         /* no gate */
	bool ffn_fused;         /* ffn_up holds [gate | up] */
	bool moe_gate;          /* experts must have a gate */
	bool shared_fused;      /* ffn_up_shexp holds [gate | up] */
	struct lmi_pool pool;

	/* All hooks may be NULL. */

	/* Called after the common keys are read and before memory is declared: reads the
	 * architecture's own keys, sets its defaults and the classes of layers. */
	void (*adjust)(struct lmi_hparams *hp, struct lmi_keys *k);
	/* Called after the usual groups and caches are declared: declares more of them. */
	void (*memory)(struct lmi_hparams *hp, struct lmi_keys *k);
	/* Override the attention, feed-forward block and experts of the current layer. */
	void (*attn)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a);
	void (*ffn)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_ffn *f);
	void (*moe)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m);
	/* Replaces the token embedding; returns the stream. */
	uint32_t (*embed)(struct lmi_emit *e, const struct lmi_decoder *d);
	/* Called before the first layer. */
	void (*begin)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s);
	/* Replaces the attention in layers of class LMI_L_RECURRENT. */
	uint32_t (*mixer)(struct lmi_emit *e, const struct lmi_decoder *d, const struct lmi_io *io);
	/* Replaces a whole layer. */
	void (*layer)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		      uint32_t pass);
	/* Called after each layer, and between two passes over all layers. */
	void (*after)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s);
	void (*between)(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s);
	/* Returns a wref [V] that is added to the logits. */
	uint32_t (*logit_bias)(struct lmi_emit *e, const struct lmi_decoder *d);
	/* Changes the description after everything else is filled in. */
	void (*describe)(struct lmi_hparams *hp, struct lmd_arch_desc *out);
};

/* State of a decoder. */
struct lmi_decoder {
	struct lmi_hparams hp;
	const struct lmi_decoder_traits *traits;
	const struct lmd_plan_key *key; /* set while a plan is built */
};

enum lmd_status lmi_decoder_describe(const struct lmi_decoder_traits *t,
				     const struct lmd_tensor_set *sets, uint32_t n_sets,
				     const struct lmd_host *host, struct lmd_arena *arena,
				     const struct lmd_model *model,
				     const struct lmd_arch_params *params,
				     struct lmd_arch_desc *out, struct lmd_error *err);
enum lmd_status lmi_decoder_build(const void *state, const struct lmd_builder *b,
				  const struct lmd_plan_key *key);
/* Fills row input 0 for architectures that scale queries by position (hp->temp_len). */
enum lmd_status lmi_decoder_rows(const void *state, const struct lmd_rows_in *in,
				 struct lmd_rows_out *out);

/* The two halves of lmi_decoder_describe, for architectures with a larger state.  bytes: size of
 * that state, which must begin with struct lmi_decoder.  open returns NULL after an error. */
struct lmi_decoder *lmi_decoder_open(size_t bytes, const struct lmi_decoder_traits *t,
				     struct lmi_keys *k, const struct lmd_host *host,
				     struct lmd_arena *arena, const struct lmd_arch_params *params);
enum lmd_status lmi_decoder_close(struct lmi_decoder *d, struct lmi_keys *k,
				  const struct lmd_tensor_set *sets, uint32_t n_sets,
				  const struct lmd_arch_params *params, struct lmd_arch_desc *out);

/* Parts of the usual layer, for use in hooks. */
struct lmd_norm lmi_decoder_norm(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t row,
				 uint32_t def);
struct lmi_attn lmi_decoder_attn(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t pass);
struct lmi_ffn lmi_decoder_ffn(struct lmi_emit *e, const struct lmi_decoder *d);
/* Dense feed-forward block or experts, depending on the layer's class. */
uint32_t lmi_decoder_ffn_block(struct lmi_emit *e, const struct lmi_decoder *d,
			       const struct lmi_io *io);
void lmi_decoder_layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		       uint32_t pass);

#define LMI_DECODER_ARCH(ident, traits_, sets_)                                                    \
	static enum lmd_status ident##_describe(                                                   \
		const struct lmd_host *host, struct lmd_arena *arena,                              \
		const struct lmd_model *model, const struct lmd_arch_params *params,               \
		struct lmd_arch_desc *out, struct lmd_error *err)                                  \
	{                                                                                          \
		return lmi_decoder_describe(&(traits_), sets_, LMD_LEN(sets_), host, arena, model, \
					    params, out, err);                                     \
	}                                                                                          \
	const struct lmd_arch_ops lmi_arch_##ident = {                                             \
		.struct_size = sizeof(struct lmd_arch_ops),                                        \
		.n_sets = LMD_LEN(sets_),                                                          \
		.sets = sets_,                                                                     \
		.describe = ident##_describe,                                                      \
		.dim = lmi_hp_dim,                                                                 \
		.layer_class = lmi_hp_layer_class,                                                 \
		.build = lmi_decoder_build,                                                        \
		.rows = lmi_decoder_rows,                                                          \
	};

#endif /* LLAMAD_ARCH_COMMON_DECODER_H */
