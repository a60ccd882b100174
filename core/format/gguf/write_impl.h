/* SPDX-License-Identifier: MIT
 *
 * write_impl.h - shared between write.c (keys, tensor table) and write_file.c (the file). */
#ifndef LLAMAD_CORE_FORMAT_GGUF_WRITE_IMPL_H
#define LLAMAD_CORE_FORMAT_GGUF_WRITE_IMPL_H

#include "core/base/resumable_file.h"
#include "core/format/gguf/write.h"

struct lmi_gguf_buf {
	uint8_t *p;
	size_t n, cap;
};

struct lmi_gguf_tensor_entry {
	char name[LMI_MODEL_NAME_BYTES + 1];
	uint32_t type, n_dim;
	int64_t dims[LMD_MAX_DIMS];
	uint64_t offset, bytes; /* offset in the data section */
};

struct lmi_gguf_writer {
	uint32_t alignment;
	struct lmi_gguf_buf keys;
	uint64_t n_keys;
	char **key_names; /* to detect duplicates */
	size_t cap_keys;
	struct lmi_gguf_tensor_entry *tensors;
	uint32_t n_tensors, cap_tensors;
	uint64_t data_bytes; /* end of the last tensor, padded */
	struct lmi_gguf_buf head;
	struct lmd_error err; /* the first error of a put or add */
	struct lmi_resumable_file out; /* only `file` is used if not resumable */
	bool is_open, resumable;
	uint32_t current; /* the tensor being written */
	uint64_t written; /* bytes of it so far */
	uint64_t total;	  /* size of the whole file */
	lmi_gguf_progress_fn progress; /* may be NULL */
	void *progress_arg;
};

#endif /* LLAMAD_CORE_FORMAT_GGUF_WRITE_IMPL_H */
