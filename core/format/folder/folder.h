/* SPDX-License-Identifier: MIT
 *
 * folder.h - a model as a Hugging Face folder: config.json, *.safetensors, a tokenizer.
 *
 * Its names and numbers are translated to those of GGUF files while it is opened, so that nothing
 * behind the view knows which of the two a model came from.
 *
 *     conf.c       values of config.json and its neighbours; keys of the model
 *     keys.c       keys that all families share: sizes, heads, rotation
 *     families.c   the table: model_type to architecture, rows of tensors, keys of its own
 *     fam_*.c      the families
 *     tensors.c    rows to tensors: which file tensors make one of ours
 *     shape.c      one of them: operation, shape, type
 *     recipe.c     its numbers: permuted, transposed, stacked, decoded
 *     scheme.c     quantised checkpoints: what belongs to one weight
 *     values.c     its values as floats
 *     codes.c      ... of codes; the codes as blocks
 *     vocab.c      the vocabulary, fitted to the model
 *     vocab_keys.c the same as keys
 *     pretok.c     the names of pre-tokenizers
 *     open.c       the order of all this
 *
 * Most tensors lie in their file as they are used and are mapped in place; the others are made
 * from it by their recipe.  What was made is part 0 of the model, whose file is config.json. */
#ifndef LLAMAD_CORE_FORMAT_FOLDER_FOLDER_H
#define LLAMAD_CORE_FORMAT_FOLDER_FOLDER_H

#include "core/base/json_tree.h"
#include "core/format/safetensors/safetensors.h"
#include "core/model/model.h"

struct lmi_folder;

#define LMI_FOLDER_STACKED 1u /* experts as one tensor each, as files for others have them;
			       * else a tensor for each expert, mapped */

/* Fills m, which is empty but for its arena: keys, vocabulary, tensors without data, parts.
 * path: a folder, its config.json, or one of its *.safetensors.  pre: name of the pre-tokenizer
 * that the keys shall state; NULL: found by its steps.  The folder refers to m and is
 * closed before it.  On failure m may be half filled. */
enum lmd_status lmi_folder_open(struct lmi_folder **out, struct lmi_model *m, const char *path,
				uint32_t flags, const char *pre, struct lmd_error *err);

/* Why the vocabulary is not among the keys; NULL: it is, or the folder has none. */
const char *lmi_folder_no_vocab(const struct lmi_folder *f);

/* NULL allowed. */
void lmi_folder_close(struct lmi_folder *f);

/* n rows (of dims[0] values) of tensor i from row0 on, in the tensor's type, or as floats.  Reads
 * the files: one that ends too early is LMD_IO. */
enum lmd_status lmi_folder_rows(struct lmi_folder *f, uint32_t i, uint64_t row0, uint64_t n,
				void *out, struct lmd_error *err);
enum lmd_status lmi_folder_floats(struct lmi_folder *f, uint32_t i, uint64_t row0, uint64_t n,
				  float *out, struct lmd_error *err);

/* Maps the files, makes what has a recipe, and sets the tensors' data. */
enum lmd_status lmi_folder_map(struct lmi_folder *f, uint32_t open_flags, struct lmd_error *err);

/* lmi_folder_open and lmi_folder_map by LMI_OPEN_* of format.h. */
enum lmd_status lmi_folder_open_model(struct lmi_model *m, const char *path, uint32_t open_flags,
				      struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_FOLDER_FOLDER_H */
