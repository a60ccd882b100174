/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h - reads a Hugging Face checkpoint: config.json, *.safetensors, a tokenizer.
 *
 * Names and numbers are translated to those of GGUF files on opening, so that the users of the view
 * do not need to know which of the two a model came from.
 *
 *     config_json.c       values of config.json and related files; keys of the model
 *     model_keys.c        keys that all families share: sizes, heads, RoPE
 *     maps.c              finds the map of a model_type: tensor rows and keys (llamad/checkpoint.h)
 *     map_view.c          what the functions of a map can read and add
 *     tensors.c           from rows to tensors: which file tensors make up one model tensor
 *     tensor_build.c      operation, shape and type of one model tensor
 *     tensor_transform.c  its numbers: permuted, transposed, stacked, decoded
 *     quant_scheme.c      quantised checkpoints: which file tensors belong to one weight
 *     source_values.c     values of a weight as floats
 *     packed_codes.c      values of packed codes as floats; codes as blocks
 *     vocab.c             the vocabulary, adapted to the model
 *     vocab_keys.c the vocabulary as keys
 *     pretok.c            names of pre-tokenizers
 *     open.c              runs all of this in order
 *
 * Most tensors are mapped in place because the file stores them as they are used; the others are
 * built in memory by their transform.  The built ones are part 0 of the model, whose file is
 * config.json. */
#ifndef LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_H
#define LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_H

#include "core/base/json_tree.h"
#include "core/format/safetensors/safetensors.h"
#include "core/model/model.h"

struct lmi_checkpoint;

#define LMI_CHECKPOINT_STACKED                                                                     \
	1u /* one tensor for each stack of experts, as in GGUF files; otherwise
			       * one tensor for each expert, mapped */

/* Fills m, which is empty except for its arena and its plugins, one of which has a map of such
 * checkpoints: keys, vocabulary, tensors without data, parts.
 * path: a folder, its config.json, or one of its *.safetensors
 * pre: name of the pre-tokenizer to store in the keys; NULL: detect it from its steps
 *
 * The folder refers to m and must be closed before it.  On failure m may be half filled. */
enum lmd_status lmi_checkpoint_open(struct lmi_checkpoint **out, struct lmi_model *m,
				    const char *path, uint32_t flags, const char *pre,
				    struct lmd_error *err);

/* Why the vocabulary is not among the keys; NULL if it is, or if the folder has none. */
const char *lmi_checkpoint_no_vocab_reason(const struct lmi_checkpoint *f);

/* f may be NULL. */
void lmi_checkpoint_close(struct lmi_checkpoint *f);

/* Reads n rows (of dims[0] values) of tensor i from row0 on, in the tensor's type or as floats.
 * Reads the files; a truncated one is LMD_IO. */
enum lmd_status lmi_checkpoint_read_rows(struct lmi_checkpoint *f, uint32_t i, uint64_t row0,
					 uint64_t n, void *out, struct lmd_error *err);
enum lmd_status lmi_checkpoint_read_floats(struct lmi_checkpoint *f, uint32_t i, uint64_t row0,
					   uint64_t n, float *out, struct lmd_error *err);

/* Maps the files, builds the tensors that have a transform, and sets the tensors' data. */
enum lmd_status lmi_checkpoint_load(struct lmi_checkpoint *f, uint32_t open_flags,
				    struct lmd_error *err);

/* Runs lmi_checkpoint_open and lmi_checkpoint_load according to the LMI_CHECKPOINT_OPEN_* flags of
 * format.h. */
enum lmd_status lmi_checkpoint_open_model(struct lmi_model *m, const char *path,
					  uint32_t open_flags, struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_H */
