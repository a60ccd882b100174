/* SPDX-License-Identifier: MIT
 *
 * shape.h - the sizes of well-known models, from a text file (models.shapes), and the memory that
 * follows from them. */
#ifndef LLAMAD_HUB_SHAPE_H
#define LLAMAD_HUB_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/status.h"

struct lmi_hub_shape {
	char name[64];
	uint32_t n_layer, width, ffn, n_head, n_kv_head, head, n_vocab, n_ctx;
	uint32_t n_used, n_expert;   /* experts of a token, and all of them; 0: one feed-forward */
	uint32_t window, one_global; /* tokens of a window; one of so many layers has none.  0: none */
	bool tied;		     /* the output matrix is the embedding */
};

/* Finds a model by name; "llama3-8b" means "llama3:8b".  LMD_NOTFOUND: the file has no such name;
 * LMD_CORRUPT: a line is wrong, with its number. */
LMD_NODISCARD enum lmd_status lmi_hub_shape_find(struct lmi_hub_shape *out, const char *file,
						 const char *name, struct lmd_error *err);

/* Finds models.shapes as lmi_hub_default_catalogue finds the catalogue. */
bool lmi_hub_default_shapes(char *path, size_t n);

/* Parameters of the matrices, and those that one token passes through. */
uint64_t lmi_hub_shape_params(const struct lmi_hub_shape *s);
uint64_t lmi_hub_shape_active(const struct lmi_hub_shape *s);

/* Bytes of keys and values of one sequence of n_ctx tokens in f16. */
uint64_t lmi_hub_shape_kv(const struct lmi_hub_shape *s, uint32_t n_ctx);
/* Longest context up to the trained one whose keys and values take at most that many bytes. */
uint32_t lmi_hub_shape_fit(const struct lmi_hub_shape *s, uint64_t bytes);

#endif /* LLAMAD_HUB_SHAPE_H */
