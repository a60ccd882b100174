/* SPDX-License-Identifier: MIT
 *
 * gguf.h - the layers of the GGUF reader.
 *
 * Each layer checks its own part of the file and hands the next one something it may trust:
 *
 *     header.c   magic, version, byte order, the two counts against the bytes that follow
 *     meta.c     keys and values, copied to the model's arena
 *     tensors.c  the tensor table: types, shapes, places in the file
 *     split.c    the files of a set, the order of the layers, mapping
 *     swap.c     data of big-endian files
 *
 * What the keys mean (hyper-parameters, vocabulary) is core/model's.  The format and all
 * bounds: docs/formats.md. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_GGUF_H
#define LLAMAD_CORE_FORMAT_GGUF_GGUF_H

#include "core/format/gguf/reader.h"
#include "core/model/model.h"

#define LMI_GGUF_KEY_BYTES    65535u
#define LMI_GGUF_NAME_BYTES   63u
#define LMI_GGUF_STRING_BYTES (16ull << 20)
#define LMI_GGUF_TEXT_BYTES   (64ull << 20) /* templates and tokenizer.json */
#define LMI_GGUF_MIN_ALIGN    8u
#define LMI_GGUF_MAX_ALIGN    (1u << 20)
#define LMI_GGUF_MAX_PARTS    1024u

/* Types of values in the file. */
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
	uint32_t n_keys, n_tensors; /* below their caps and possible in a file of this size */
};

/* Reads the header and sets the reader's byte order and width of counts. */
enum lmd_status lmi_gguf_read_header(struct lmi_reader *r, struct lmi_gguf_header *h,
				     struct lmd_error *err);

/* Facts of one file that steer the reading of the rest. */
struct lmi_gguf_facts {
	uint32_t alignment;
	bool has_split; /* split.count is there and > 1 */
	uint32_t split_no, split_count;
	int64_t split_tensors; /* split.tensors.count, -1 if absent */
};

/* Reads n keys into the model (reserved before). */
enum lmd_status lmi_gguf_read_meta(struct lmi_reader *r, uint32_t n, struct lmi_model *m,
				   struct lmd_error *err);

/* The general.alignment and split.* keys of a model that holds the keys of one file. */
enum lmd_status lmi_gguf_read_facts(const struct lmi_model *m, struct lmi_gguf_facts *f,
				    struct lmd_error *err);

/* Reads n tensors of part number `file` into the model (reserved before); checks types,
 * shapes, alignment, the span inside of the file, and that none overlap.  *data_at is the
 * offset of the data section, == file size when there is none. */
enum lmd_status lmi_gguf_read_tensors(struct lmi_reader *r, uint32_t n, uint32_t alignment,
				      uint32_t file, struct lmi_model *m, uint64_t *data_at,
				      struct lmd_error *err);

/* Turns big-endian data of a tensor into the order that everything else expects, in place;
 * false for a type that has no big-endian form. */
bool lmi_gguf_swap(uint32_t type, uint8_t *data, uint64_t bytes);

/* Opens a file whose first bytes are the magic, with the other parts of its set.  *own_file
 * is taken in any case.  On failure the model may be half filled; the caller closes it. */
enum lmd_status lmi_gguf_open(struct lmi_model *m, const char *path, struct lmi_file *own_file,
			      uint32_t flags, struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_GGUF_GGUF_H */
