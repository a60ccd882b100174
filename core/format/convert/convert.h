/* SPDX-License-Identifier: MIT
 *
 * convert.h - a Hugging Face folder as a GGUF file.
 *
 *     lmi_convert_open(&c, "path/of/folder", &opts, err)       what it would be
 *     lmi_convert_run(c, "out.gguf", err)                      writes it
 *     lmi_convert_close(c)
 *
 * The file holds the keys, names and layouts that llama.cpp's converter gives it.  It appears under
 * its name when it is complete and on disk.  A run that fails or is stopped leaves nothing, or,
 * where opts.resume says so, the tensors that are whole: the next run goes on after them. */
#ifndef LLAMAD_CORE_FORMAT_CONVERT_CONVERT_H
#define LLAMAD_CORE_FORMAT_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/gguf/write.h"
#include "llamad/model.h"
#include "llamad/status.h"

/* Not a type of tensors: the 16-bit type of the first matrix, quantised weights as they are. */
#define LMI_CONVERT_AUTO 0xFFFFu

struct lmi_convert_opts {
	uint32_t type;   /* of matrices: F32, F16, BF16, Q8_0, or LMI_CONVERT_AUTO */
	const char *pre; /* name of the pre-tokenizer; NULL: found */
	const char *name; /* general.name; NULL: the folder's */
	/* Called after each write with bytes of the file; false gives up (LMD_CANCELLED). */
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	struct lmi_gguf_resume resume; /* zeroed: nothing stays of a run that does not end */
};

struct lmi_convert;

/* LMD_UNSUPPORTED when the vocabulary has no form in GGUF. */
enum lmd_status lmi_convert_open(struct lmi_convert **out, const char *path,
				 const struct lmi_convert_opts *opts, struct lmd_error *err);
void lmi_convert_close(struct lmi_convert *c);

/* The model as it is read: keys, and tensors with the types that they have there. */
const struct lmd_model *lmi_convert_model(const struct lmi_convert *c);
/* The type of tensor i in the new file, and its bytes. */
enum lmd_dtype lmi_convert_type(const struct lmi_convert *c, uint32_t i);
uint64_t lmi_convert_bytes(const struct lmi_convert *c, uint32_t i);
/* The type that most matrices get. */
enum lmd_dtype lmi_convert_file_type(const struct lmi_convert *c);

/* LMD_INVALID when a value does not fit the type (F16). */
enum lmd_status lmi_convert_run(struct lmi_convert *c, const char *path, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_CONVERT_CONVERT_H */
