/* SPDX-License-Identifier: MIT
 *
 * adapter_file.h - adapter files written by tests. */
#ifndef LLAMAD_TESTS_ADAPTER_FILE_H
#define LLAMAD_TESTS_ADAPTER_FILE_H

#include <stdint.h>

#include "llamad/model.h"

/* Writes a GGUF file with a LoRA pair of this rank for each of n tensors of the base model; in embeddings A
 * has a row for each token. seed: of the numbers, which are within +-0.5; 0: they are zeros. */
void lmt_adapter_write(const char *path, const struct lmd_model *base, uint32_t rank,
		       const char *const *tensors, uint32_t n, uint64_t seed);
/* The same for the model in a file. */
void lmt_adapter_write_for(const char *path, const char *model, uint32_t rank,
			   const char *const *tensors, uint32_t n, uint64_t seed);

#endif /* LLAMAD_TESTS_ADAPTER_FILE_H */
