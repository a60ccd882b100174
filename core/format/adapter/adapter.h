/* SPDX-License-Identifier: MIT
 *
 * adapter.h - what is added to a model: low-rank pairs (LoRA, arXiv 2106.09685) and control vectors
 * (arXiv 2310.01405).
 *
 *     gguf.c   GGUF files of general.type "adapter", and control vectors
 *     peft.c   folders of PEFT: adapter_config.json and adapter_model.safetensors
 *
 * Numbers are kept as floats, with every shape checked against the model that they are for. */
#ifndef LLAMAD_CORE_FORMAT_ADAPTER_ADAPTER_H
#define LLAMAD_CORE_FORMAT_ADAPTER_ADAPTER_H

#include <stdint.h>

#include "llamad/model.h"
#include "llamad/status.h"

/* One weight's share: to what the weight gives for x is added scale * b (a x), or with rank 0 the
 * vector scale * b. */
struct lmi_adapter_pair {
	const char *site; /* the weight's name without ".weight" */
	uint32_t rank, n, k;
	uint32_t n_slice; /* > 1: a stack of experts, slice after slice */
	float *a;         /* [n_slice][rank][k]; for embeddings k counts tokens */
	float *b;         /* [n_slice][n][rank]; rank 0: [n] */
	float scale;      /* of the file: alpha / rank */
};

struct lmi_adapter_file;

/* path: a GGUF file (adapter or control vector), a PEFT folder, or a file of one.  base: the model,
 * which outlives nothing here.  Refusals name the file, the tensor and the bound. */
enum lmd_status lmi_adapter_open(struct lmi_adapter_file **out, const char *path,
				 const struct lmd_model *base, struct lmd_error *err);
/* The same for the sizes alone: no number is read, a and b of the pairs are NULL. */
enum lmd_status lmi_adapter_measure(struct lmi_adapter_file **out, const char *path,
				    const struct lmd_model *base, struct lmd_error *err);
/* NULL allowed. */
void lmi_adapter_close(struct lmi_adapter_file *f);

uint32_t lmi_adapter_n(const struct lmi_adapter_file *f);
/* Ordered by site, each site once. */
const struct lmi_adapter_pair *lmi_adapter_pair(const struct lmi_adapter_file *f, uint32_t i);
/* Tokens after which alone it acts (aLoRA); *n 0: it always acts. */
const int32_t *lmi_adapter_invocation(const struct lmi_adapter_file *f, uint32_t *n);

#endif /* LLAMAD_CORE_FORMAT_ADAPTER_ADAPTER_H */
