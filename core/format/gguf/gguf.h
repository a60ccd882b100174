/* SPDX-License-Identifier: MIT
 *
 * gguf.h - the layers of the GGUF reader.
 *
 * Each layer checks its own part of the file, so that the next one can trust what it gets:
 *
 *     header.c   magic, version, byte order, both counts against the size of the file
 *     meta.c     keys and values, copied to the model's arena
 *     tensors.c  the tensor table: types, shapes, offsets
 *     split.c    the files of a split set, the order of the layers, mapping
 *     swap.c     tensor data of big-endian files
 *
 * core/model interprets the keys (hyper-parameters, vocabulary).  docs/formats.md describes the
 * format and lists all limits. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_GGUF_H
#define LLAMAD_CORE_FORMAT_GGUF_GGUF_H

#include "core/format/gguf/byte_reader.h"
#include "core/model/model.h"

#define LMI_GGUF_MIN_ALIGN 8u
#define LMI_GGUF_MAX_ALIGN (1u << 20)
#define LMI_GGUF_MAX_PARTS 1024u

/* Value types as stored in the file. */
enum lmi_gguf_type {
	LMI_GGUF_U8 = 0,
	LMI_GGUF_I8 = 1,
	LMI_GGUF_U16 = 2,
	LMI_GGUF_I16 = 3,
	LMI_GGUF_U32 = 4,
	LMI_GGUF_I32 = 5,
	LMI_GGUF_F32 = 6,
	LMI_GGUF_BOOL = 7,
	LMI_GGUF_STRING = 8,
	LMI_GGUF_ARRAY = 9,
	LMI_GGUF_U64 = 10,
	LMI_GGUF_I64 = 11,
	LMI_GGUF_F64 = 12
};
#define LMI_GGUF_N_TYPES 13

struct lmi_gguf_header {
	uint32_t version;
	uint32_t n_keys, n_tensors; /* within their limits and possible in a file of this size */
};

/* Reads the header and sets the reader's byte order and width of counts. */
enum lmd_status lmi_gguf_read_header(struct lmi_model_byte_reader *r, struct lmi_gguf_header *h,
				     struct lmd_error *err);

/* Properties of one file that control how the rest of it is read. */
struct lmi_gguf_file_props {
	uint32_t alignment;
	bool has_split; /* split.count is present and > 1 */
	uint32_t split_no, split_count;
	int64_t split_tensors; /* split.tensors.count, -1 if absent */
};

/* Reads n keys into the model; the caller has reserved room for them. */
enum lmd_status lmi_gguf_read_meta(struct lmi_model_byte_reader *r, uint32_t n, struct lmi_model *m,
				   struct lmd_error *err);

/* Reads the general.alignment and split.* keys of a model that holds the keys of one file. */
enum lmd_status lmi_gguf_read_file_props(const struct lmi_model *m, struct lmi_gguf_file_props *f,
					 struct lmd_error *err);

/* Reads n tensors of part number `file` into the model; the caller has reserved room for them.
 * Checks types, shapes, alignment, that the data lies inside the file, and that no two tensors
 * overlap.  *data_at is the offset of the data section, or the file size if there is no data. */
enum lmd_status lmi_gguf_read_tensors(struct lmi_model_byte_reader *r, uint32_t n,
				      uint32_t alignment, uint32_t file, struct lmi_model *m,
				      uint64_t *data_at, struct lmd_error *err);

/* Swaps the big-endian data of a tensor to little-endian, in place.  Returns false if the type has
 * no big-endian form. */
bool lmi_gguf_swap(uint32_t type, uint8_t *data, uint64_t bytes);

/* Opens a file that begins with the GGUF magic, together with the other parts of its set.  Takes
 * ownership of *own_file in any case.  On failure the model may be half filled; the caller closes
 * it. */
enum lmd_status lmi_gguf_open(struct lmi_model *m, const char *path, struct lmi_file *own_file,
			      uint32_t flags, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_GGUF_GGUF_H */
