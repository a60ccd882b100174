/* SPDX-License-Identifier: MIT
 *
 * type_policy.h - the quantisation mix: which tensor of a file gets which tensor type.
 *
 * A file type names a mix: most weights get the tensor type of that name, those that lose the most
 * quality per saved byte (the head, attention values, the down projections of some layers) get a
 * better one, and a few get a cheaper one.  The rules are those of llama.cpp's quantiser, so that
 * files of both programs with the same type are equivalent; type_policy.c has the rules as a table.
 *
 * Some rules count tensors ("the first eighth of the ffn_down tensors"), so lmi_quantize_mix_type
 * must be called once for each tensor, in the order of lmi_quantize_mix_compare_names. */
#ifndef LLAMAD_CORE_QUANTIZE_TYPE_POLICY_H
#define LLAMAD_CORE_QUANTIZE_TYPE_POLICY_H

#include <stdbool.h>

#include "core/quantize/quantize.h"
#include "llamad/model.h"

/* The role of a tensor, derived from its name. */
enum lmi_quantize_tensor_role {
	LMI_QUANTIZE_ROLE_OTHER,
	LMI_QUANTIZE_ROLE_OUTPUT, /* output.weight */
	LMI_QUANTIZE_ROLE_EMBD,   /* token_embd.weight, per_layer_token_embd.weight */
	LMI_QUANTIZE_ROLE_Q,
	LMI_QUANTIZE_ROLE_K,
	LMI_QUANTIZE_ROLE_V, /* attn_v and tensors that contain it: attn_qkv, attn_kv_b */
	LMI_QUANTIZE_ROLE_O, /* attn_output */
	LMI_QUANTIZE_ROLE_UP,
	LMI_QUANTIZE_ROLE_GATE,
	LMI_QUANTIZE_ROLE_DOWN
};
enum lmi_quantize_tensor_role lmi_quantize_tensor_role_of(const char *name);

/* Properties of the model that the rules depend on. */
struct lmi_quantize_mix_params {
	struct lmd_quant_traits traits; /* of the architecture */
	int64_t n_layer;
	int64_t n_head, n_head_kv; /* of the first layer */
	int64_t n_expert;	   /* 0: dense */
	bool has_output;	   /* if false, the embedding is also the head */
	bool has_imatrix;
	int64_t n_v; /* number of tensors of LMI_QUANTIZE_ROLE_V */
};

struct lmi_quantize_mix {
	const struct lmi_ftype *ftype;
	struct lmi_quantize_mix_params params;
	int64_t i_v, i_down, i_up, i_gate; /* number of tensors of these roles so far */
};

void lmi_quantize_mix_init(struct lmi_quantize_mix *m, const struct lmi_ftype *ftype,
			   const struct lmi_quantize_mix_params *params);

/* Compares two names: tensors outside of layers come first, then layer by layer, bytewise within a
 * layer. */
int lmi_quantize_mix_compare_names(const char *a, const char *b);

/* The layer of "blk.7.x"; -1 for other names. */
int64_t lmi_quantize_mix_layer(const char *name);

/* True for a tensor that is never encoded, whatever the file type: vectors, norms, routers, position
 * tables, everything but "*.weight", and rows of the architecture with LMD_TENSOR_KEEP_TYPE.
 * arch: NULL = unknown. */
bool lmi_quantize_mix_keeps_type(const struct lmd_tensor *t, const char *name,
				 const struct lmd_arch_ops *arch);

/* The type that the rules give to a tensor that is encoded; `name` is its name in the new file. */
enum lmd_dtype lmi_quantize_mix_type(struct lmi_quantize_mix *m, const struct lmd_tensor *t,
				     const char *name);

/* A similar type whose blocks divide rows of n_col values: `type` itself if it does, else one with
 * blocks of 32, else f16. */
enum lmd_dtype lmi_quantize_mix_fallback(enum lmd_dtype type, int64_t n_col);

/* True if this tensor would be unusable when encoded without an importance matrix. */
bool lmi_quantize_mix_needs_imatrix(const char *name, enum lmd_dtype type,
				    const struct lmi_ftype *ftype);

#endif /* LLAMAD_CORE_QUANTIZE_TYPE_POLICY_H */
