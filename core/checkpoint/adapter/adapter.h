/* SPDX-License-Identifier: MIT
 *
 * adapter.h - additions to a model: low-rank pairs (LoRA, arXiv 2106.09685) and control vectors
 * (arXiv 2310.01405).
 *
 *     gguf.c   GGUF files of general.type "adapter", and control vectors
 *     peft.c   PEFT folders: adapter_config.json and adapter_model.safetensors
 *
 * Numbers are stored as floats.  Every shape is checked against the base model. */
#ifndef LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_H
#define LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/model.h"
#include "llamad/status.h"

/* What an adapter does to one weight: scale * b (a x) is added to the weight's output for input x;
 * with rank 0, the vector scale * b is added.  With a magnitude (DoRA, arXiv 2402.09353), the rows of
 * weight and adapter together are scaled to these lengths. */
struct lmi_adapter_pair {
	const char *site; /* name of the weight without ".weight" */
	uint32_t rank, n, k;
	uint32_t n_slice; /* > 1: a stack of experts, one slice each */
	float *a;         /* [n_slice][rank][k]; k is the number of tokens for embeddings */
	float *b;         /* [n_slice][n][rank]; rank 0: [n] */
	float scale;      /* from the file: alpha / rank */
	float *magnitude; /* [n_slice][n], NaN: the row keeps its length; NULL: all do */
	float *gain;	  /* [n_slice][n] magnitude / length, from lmi_adapter_set_gains; NULL: none */
	bool has_magnitude;
};

struct lmi_adapter_file;
struct lmi_plugin_registry;

/* path: a GGUF file (adapter or control vector), a PEFT folder, or a file of one.
 * base: the model that the adapter is for; only used during the call
 * plugins: has the architecture, whose plugin knows the names in PEFT folders; only used during
 * the call
 *
 * Error messages name the file, the tensor and the limit. */
enum lmd_status lmi_adapter_open(struct lmi_adapter_file **out, const char *path,
				 const struct lmd_model *base,
				 struct lmi_plugin_registry *plugins, struct lmd_error *err);
/* Like lmi_adapter_open, but reads the sizes only: a and b of all pairs are NULL. */
enum lmd_status lmi_adapter_open_sizes(struct lmi_adapter_file **out, const char *path,
				       const struct lmd_model *base,
				       struct lmi_plugin_registry *plugins, struct lmd_error *err);
/* Computes the gains of all pairs with a magnitude from the base model's weights, whose data must be
 * mapped; the adapter's pairs will be applied with `scale` times their own.  Reads each such weight once.
 * LMD_CANCELLED: the word of the thread (cancel.h) was set. */
enum lmd_status lmi_adapter_set_gains(struct lmi_adapter_file *f, const struct lmd_model *base,
				      float scale, struct lmd_error *err);
/* f may be NULL. */
void lmi_adapter_close(struct lmi_adapter_file *f);

uint32_t lmi_adapter_n(const struct lmi_adapter_file *f);
/* Pair i, ordered by site; each site occurs once. */
const struct lmi_adapter_pair *lmi_adapter_pair(const struct lmi_adapter_file *f, uint32_t i);
/* The tokens from which on the adapter is active (aLoRA); with *n == 0 it always is. */
const int32_t *lmi_adapter_invocation(const struct lmi_adapter_file *f, uint32_t *n);

#endif /* LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_H */
