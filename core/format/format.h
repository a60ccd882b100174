/* SPDX-License-Identifier: MIT
 *
 * format.h - opens a model file and returns a model descriptor.
 *
 * Opening validates in layers (container, tensor table, hyper-parameters, vocabulary) before
 * anything is allocated, pointed to or cast.  Error messages name the file, the key or tensor, the
 * value and the limit.  No file can make it crash, hang, or take more than 256 MiB beyond the
 * mapping. */
#ifndef LLAMAD_CORE_FORMAT_FORMAT_H
#define LLAMAD_CORE_FORMAT_FORMAT_H

#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_model;
struct lmi_plugin_registry;

#define LMI_OPEN_HEADER_ONLY 1u /* no tensor data: lmd_tensor.data is NULL */
#define LMI_OPEN_NO_MMAP     2u /* read into memory instead of mapping */
#define LMI_OPEN_MLOCK       4u /* lock in memory; failure is not an error, see lmi_model_file */
#define LMI_OPEN_DIRECT      8u /* NO_MMAP, bypassing the page cache where possible */
#define LMI_OPEN_MEASURE     16u /* for measuring, not running: tensors that would be built in
				  * memory read as zeros and take no memory */

/* Options of lmi_model_open_with, with progress reports.  Mapping takes no time; reading into
 * memory (by flag, or for a big-endian file) and locking do. */
struct lmi_open_opts {
	uint32_t flags;	   /* LMI_OPEN_* */
	/* The plugins whose formats are tried as well; they must outlive the model.  NULL: only the
	 * built-in formats. */
	struct lmi_plugin_registry *plugins;
	/* The files of a split set in order, the first of which is the path; they are read during
	 * the call.  NULL: the others are found by the name of the first. */
	const char *const *files;
	uint32_t n_files;
	uint64_t max_copy; /* limit for file data read into memory, else LMD_NOMEM; 0 = no limit */
	/* Called in the calling thread; return false to cancel (LMD_CANCELLED).  May be NULL. */
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* The view that architectures and tokenizers read; valid until close. */
const struct lmd_model *lmi_model_view(const struct lmi_model *m);

/* State of one file of a model. */
struct lmi_model_file {
	const char *path;
	uint64_t bytes;
	bool locked; /* LMI_OPEN_MLOCK was requested and succeeded */
	bool copied; /* data was copied to memory, not mapped */
	bool mapped; /* tensors are used in place */
	uint64_t built_bytes; /* bytes of tensors built in memory, all listed under one file */
};
/* Where data of tensors are in memory. */
struct lmi_model_memory {
	const void *ptr;
	uint64_t bytes;
	int fd;	     /* the file of which this is a mapping; -1: the bytes are on the heap */
	uint64_t at; /* offset of the first byte in the file */
};
uint32_t lmi_model_n_memory(const struct lmi_model *m);
/* ptr is NULL if only the header is open. */
void lmi_model_memory(const struct lmi_model *m, uint32_t i, struct lmi_model_memory *out);

uint32_t lmi_model_n_files(const struct lmi_model *m);
/* i: also the file of a tensor, whose path is then that of the file to which it belongs. */
void lmi_model_file(const struct lmi_model *m, uint32_t i, struct lmi_model_file *out);

/* Reads n bytes of the data of tensor t from byte `at` on, with read(2) and not through a mapping.
 * This works on a model opened for its header alone; a file that was truncated or cannot be read is
 * LMD_IO.  Read whole elements or blocks: data of big-endian files is byte-swapped.  t must be one
 * of the model's.  Any thread. */
enum lmd_status lmi_model_read(const struct lmi_model *m, const struct lmd_tensor *t, uint64_t at,
			       void *buf, size_t n, struct lmd_error *err);

/* m may be NULL. */
void lmi_model_close(struct lmi_model *m);

#endif /* LLAMAD_CORE_FORMAT_FORMAT_H */
