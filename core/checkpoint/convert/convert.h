/* SPDX-License-Identifier: MIT
 *
 * convert.h - converts a Hugging Face checkpoint to a GGUF file.
 *
 *     lmi_convert_open(&c, "path/of/folder", &opts, err)       plans the conversion
 *     lmi_convert_run(c, "out.gguf", err)                      writes the file
 *     lmi_convert_close(c)
 *
 * Keys, names and layouts are those that llama.cpp's converter writes.  The file appears under its
 * name when it is complete and on disk.  A run that fails or is stopped leaves nothing, or with
 * opts.resume the completed tensors, which the next run reuses. */
#ifndef LLAMAD_CORE_CHECKPOINT_CONVERT_CONVERT_H
#define LLAMAD_CORE_CHECKPOINT_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/gguf/write.h"
#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_plugin_registry;

/* Not a tensor type: use the 16-bit type of the first matrix and keep quantised weights as they
 * are. */
#define LMI_CONVERT_AUTO 0xFFFFu

struct lmi_convert_opts {
	uint32_t type;   /* for matrices: F32, F16, BF16, Q8_0, or LMI_CONVERT_AUTO */
	/* has the architectures, whose plugins know their checkpoints; must outlive this */
	struct lmi_plugin_registry *plugins;
	const char *pre; /* name of the pre-tokenizer; NULL: detect it */
	const char *name; /* general.name; NULL: from the folder */
	/* Called after each write with bytes of the file; return false to cancel
	 * (LMD_CANCELLED). */
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	struct lmi_gguf_resume resume; /* zeroed: an interrupted run leaves nothing */
};

struct lmi_convert;

/* Returns LMD_UNSUPPORTED if GGUF cannot represent the vocabulary. */
enum lmd_status lmi_convert_open(struct lmi_convert **out, const char *path,
				 const struct lmi_convert_opts *opts, struct lmd_error *err);
void lmi_convert_close(struct lmi_convert *c);

/* The source model: keys, and tensors with their types in the checkpoint. */
const struct lmd_model *lmi_convert_model(const struct lmi_convert *c);
/* Type and size in bytes of tensor i in the new file. */
enum lmd_dtype lmi_convert_type(const struct lmi_convert *c, uint32_t i);
uint64_t lmi_convert_bytes(const struct lmi_convert *c, uint32_t i);
/* The type that most matrices get. */
enum lmd_dtype lmi_convert_file_type(const struct lmi_convert *c);

/* Returns LMD_INVALID if a value does not fit the type (F16). */
enum lmd_status lmi_convert_run(struct lmi_convert *c, const char *path, struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_CONVERT_CONVERT_H */
