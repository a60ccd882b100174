/* SPDX-License-Identifier: MIT
 *
 * mix.h - which tensor of a file of some type gets which tensor type.
 *
 * A file type names a mix: most weights get its own type, the ones that cost more quality than
 * bytes (the head, attention values, the down projections of some layers) get a better one, a
 * few get a cheaper one.  The rules are those of llama.cpp's quantiser, so that a file of either
 * program is what its name promises; mix.c has them as a table.
 *
 * The rules count: "the first eighth of the ffn_down tensors".  So tensors are asked for in the
 * order of lmi_mix_order, each once. */
#ifndef LLAMAD_CORE_QUANTIZE_MIX_H
#define LLAMAD_CORE_QUANTIZE_MIX_H

#include <stdbool.h>

#include "core/quantize/ftype.h"
#include "llamad/model.h"

/* What a tensor is for, by its name. */
enum lmi_role {
	LMI_ROLE_OTHER,
	LMI_ROLE_OUTPUT, /* output.weight */
	LMI_ROLE_EMBD,	 /* token_embd.weight, per_layer_token_embd.weight */
	LMI_ROLE_Q,
	LMI_ROLE_K,
	LMI_ROLE_V, /* attn_v, and what holds it: attn_qkv, attn_kv_b */
	LMI_ROLE_O, /* attn_output */
	LMI_ROLE_UP,
	LMI_ROLE_GATE,
	LMI_ROLE_DOWN
};
enum lmi_role lmi_role(const char *name);

/* Facts of the model that rules look at. */
struct lmi_mix_facts {
	const char *arch;
	int64_t n_layer;
	int64_t n_head, n_head_kv; /* of the first layer */
	int64_t n_expert;	   /* 0: dense */
	bool has_output;	   /* without output.weight the embedding is the head too */
	bool has_imatrix;
	int64_t n_v; /* tensors of LMI_ROLE_V */
};

struct lmi_mix {
	const struct lmi_ftype *ftype;
	struct lmi_mix_facts facts;
	int64_t i_v, i_down, i_up, i_gate; /* tensors of these roles so far */
};

void lmi_mix_init(struct lmi_mix *m, const struct lmi_ftype *ftype,
		  const struct lmi_mix_facts *facts);

/* Order of two names: tensors outside of layers first, then layer by layer, by bytes within. */
int lmi_mix_order(const char *a, const char *b);

/* The layer of "blk.7.x", -1 for other names. */
int64_t lmi_mix_layer(const char *name);

/* A tensor that is never encoded, whatever the file type: vectors, norms, routers, small
 * matrices that recurrent layers are sensitive to, position tables, all but "*.weight". */
bool lmi_mix_keeps(const struct lmd_tensor *t, const char *name);

/* The type of a tensor that is encoded, by the rules; `name` as in the new file. */
enum lmd_dtype lmi_mix_type(struct lmi_mix *m, const struct lmd_tensor *t, const char *name);

/* A type whose blocks divide rows of n_col values, near to `type`: that itself if it does, else
 * one with blocks of 32, else f16. */
enum lmd_dtype lmi_mix_fallback(enum lmd_dtype type, int64_t n_col);

/* Would this tensor be garbage without an importance matrix? */
bool lmi_mix_needs_imatrix(const char *name, enum lmd_dtype type, const struct lmi_ftype *ftype);

#endif /* LLAMAD_CORE_QUANTIZE_MIX_H */
