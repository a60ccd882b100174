/* SPDX-License-Identifier: MIT
 *
 * llamad.h - the library llamad: client.h, and what only the engine in this process can do.
 *
 * These functions need a client of the address "embedded:"; with a client of a server they return
 * LMD_UNSUPPORTED.  Any thread may call them. */
#ifndef LLAMAD_LLAMAD_H
#define LLAMAD_LLAMAD_H

#include "llamad/client.h"

LMD_BEGIN_DECLS

/* Rows of numbers.  Free v with lmd_client_free. */
struct lmd_rows {
	uint32_t struct_size;
	uint32_t n_row, width;
	float *v; /* [n_row][width] */
};

#define LMD_FORWARD_LAST 1u /* only the row of the last token */

/* Computes the logits of the next token after each of n tokens (n >= 1): rows of the size of the
 * vocabulary. */
LMD_EXPORT enum lmd_status lmd_client_forward(struct lmd_client *c, const char *model,
					      const lmd_token *tokens, size_t n, uint32_t flags,
					      struct lmd_rows *out, struct lmd_error *err);

enum lmd_embed_pooling {
	LMD_EMBED_MODEL = -1, /* as the model says; the mean if it says nothing */
	LMD_EMBED_NONE = 0,   /* a row for each token */
	LMD_EMBED_MEAN = 1,
	LMD_EMBED_CLS = 2,    /* the first token's row */
	LMD_EMBED_LAST = 3    /* the last token's row */
};
/* Computes the embedding of a text of n bytes: one row, unless pooling is LMD_EMBED_NONE.  The rows
 * are not normalised. */
LMD_EXPORT enum lmd_status lmd_client_embed(struct lmd_client *c, const char *model,
					    const char *text, size_t n, int32_t pooling,
					    struct lmd_rows *out, struct lmd_error *err);

struct lmd_sample {
	uint32_t struct_size;
	const char *chain; /* samplers as a JSON array, as in op generate; NULL = greedy */
	uint64_t seed;
	const lmd_token *history; /* [n_history] tokens generated before, for penalties.  Their
				   * number is the position of the draw: with the same seed, each
				   * position has a draw of its own */
	size_t n_history;
};
/* Chooses a token of logits[n].  o may be NULL for a greedy choice. */
LMD_EXPORT enum lmd_status lmd_client_sample(struct lmd_client *c, const struct lmd_sample *o,
					     const float *logits, size_t n, lmd_token *out,
					     struct lmd_error *err);

LMD_END_DECLS

#endif /* LLAMAD_LLAMAD_H */
