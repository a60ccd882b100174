/* SPDX-License-Identifier: MIT
 *
 * format.h - from a path to a model descriptor.
 *
 * Opening validates in layers (container, tensor table, hyper-parameters, vocabulary)
 * before it allocates, points or casts, and refuses with a sentence that names the file,
 * the key or tensor, the value and the bound.  No file can make it crash, hang, or take
 * more than 256 MiB beyond the mapping. */
#ifndef LLAMAD_CORE_FORMAT_FORMAT_H
#define LLAMAD_CORE_FORMAT_FORMAT_H

#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_model;

#define LMI_OPEN_HEADER_ONLY 1u /* no tensor data: lmd_tensor.data is NULL */
#define LMI_OPEN_NO_MMAP     2u /* read into memory instead of mapping */
#define LMI_OPEN_MLOCK       4u /* keep resident; a refusal is no error, see lmi_model_file */
#define LMI_OPEN_DIRECT      8u /* NO_MMAP, and past the page cache where that can be */
#define LMI_OPEN_MEASURE     16u /* to be counted, not run: tensors that a folder would make read as
				  * zeros and take no memory */

/* Opens a model: a GGUF file (a split set by its first part), or a Hugging Face folder, also by its
 * config.json or one of its *.safetensors.  On success *out owns files, mappings and tables until
 * lmi_model_close.  Symlinks are followed; devices, FIFOs and other folders are refused.  A mapped
 * file that somebody shortens raises SIGBUS in the thread that reads its weights; the engine has
 * the handler.  Any thread. */
enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err);

/* The same for somebody who waits.  Mapping takes no time; what does is reading into memory (a
 * flag, or a big-endian file) and locking. */
struct lmi_open {
	uint32_t flags;	   /* LMI_OPEN_* */
	uint64_t max_copy; /* more bytes of files are not read into memory: LMD_NOMEM; 0 = no bound */
	/* Told in the calling thread; false gives up: LMD_CANCELLED.  NULL: nobody. */
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};
enum lmd_status lmi_model_open_with(struct lmi_model **out, const char *path,
				    const struct lmi_open *how, struct lmd_error *err);

/* The view that architectures and tokenizers read; lives until close. */
const struct lmd_model *lmi_model_view(const struct lmi_model *m);

/* Facts beside the view. */
struct lmi_model_file {
	const char *path;
	uint64_t bytes;
	bool locked; /* LMI_OPEN_MLOCK was asked for and granted */
	bool copied; /* its data is a copy in memory, not a mapping */
	bool mapped; /* tensors lie in it as they are used */
	uint64_t made; /* bytes of tensors that are made in memory from other files; this one names them */
};
uint32_t lmi_model_n_files(const struct lmi_model *m);
void lmi_model_file(const struct lmi_model *m, uint32_t i, struct lmi_model_file *out);

/* Reads n bytes of the data of tensor t, from byte `at` of it on, by read(2) and not through a
 * mapping: works on a model opened for its header alone, and a file that was shortened or
 * cannot be read is LMD_IO.  Whole elements or blocks: data of big-endian files is turned.
 * t is one of the model's.  Any thread. */
enum lmd_status lmi_model_read(const struct lmi_model *m, const struct lmd_tensor *t, uint64_t at,
			       void *buf, size_t n, struct lmd_error *err);

/* NULL allowed. */
void lmi_model_close(struct lmi_model *m);

#endif /* LLAMAD_CORE_FORMAT_FORMAT_H */
