/* SPDX-License-Identifier: MIT
 *
 * safetensors.h - the tensor table of safetensors files.
 *
 * A file is a length (u64), that many bytes of JSON, and data:
 *
 *     {"__metadata__": {"k": "text"}, "NAME": {"dtype": "F16", "shape": [2, 3],
 *      "data_offsets": [0, 12]}, ...}
 *
 * A sharded model has several files and a model.safetensors.index.json, whose weight_map says which
 * tensor is in which file.
 *
 *     header.c   one file: from JSON to rows; every number is checked before it is used
 *     shards.c   one file or the files of an index, as parts of a model
 *
 * core/format/folder interprets the names.  For the limits see docs/formats.md. */
#ifndef LLAMAD_CORE_FORMAT_SAFETENSORS_SAFETENSORS_H
#define LLAMAD_CORE_FORMAT_SAFETENSORS_SAFETENSORS_H

#include "core/model/model.h"

#define LMI_ST_HEADER_BYTES 100000000u /* of JSON */
#define LMI_ST_NAME_BYTES   255u
#define LMI_ST_META_BYTES   65536u /* limit for one text of __metadata__; longer ones are skipped */
#define LMI_ST_MAX_DIMS     8u
#define LMI_ST_MAX_SHARDS   1024u

enum lmi_st_type {
	LMI_ST_BOOL,
	LMI_ST_U8,
	LMI_ST_I8,
	LMI_ST_F8_E5M2,
	LMI_ST_F8_E4M3,
	LMI_ST_F8_E8M0,
	LMI_ST_I16,
	LMI_ST_U16,
	LMI_ST_F16,
	LMI_ST_BF16,
	LMI_ST_I32,
	LMI_ST_U32,
	LMI_ST_F32,
	LMI_ST_F64,
	LMI_ST_I64,
	LMI_ST_U64,
	LMI_ST_N_TYPES
};

struct lmi_st_tensor {
	const char *name; /* NUL-terminated, no NUL inside; in the model's arena */
	uint8_t type;     /* enum lmi_st_type */
	uint8_t n_dim;    /* 0..LMI_ST_MAX_DIMS */
	uint32_t part;    /* part number in the model */
	int64_t dims[LMI_ST_MAX_DIMS]; /* the last one is contiguous; each 0..2^40 */
	uint64_t offset, bytes; /* in the file; bytes = product of dims * bytes of the type */
};

/* Table over all files of a model.  A zeroed struct is empty.  lmi_st_fini frees `v`; the names
 * stay in the arena. */
struct lmi_st {
	struct lmi_st_tensor *v; /* [n], in the order of the files and of their headers */
	uint32_t n, cap;
	struct lmi_strmap names; /* name to index; in the model's arena */
};

const char *lmi_st_type_name(enum lmi_st_type type);
uint32_t lmi_st_type_bytes(enum lmi_st_type type);

static inline uint64_t lmi_st_elems(const struct lmi_st_tensor *t)
{
	return t->bytes / lmi_st_type_bytes((enum lmi_st_type)t->type);
}

/* True if these 16 bytes could begin a safetensors file. */
bool lmi_st_sniff(const uint8_t head[16]);

/* Appends the tensors of part number `part` to the table; the caller keeps ownership of the file.
 * Error messages name tensor, value and limit, but not the file. */
enum lmd_status lmi_st_read_header(struct lmi_st *st, struct lmd_arena *arena,
				   const struct lmi_file *f, uint32_t part, struct lmd_error *err);

/* Opens FOLDER/NAME or, if NAME is NULL, the model of the folder: model.safetensors, or the files
 * of model.safetensors.index.json, or the only *.safetensors there.  These files become the model's
 * parts from `first_part` on; room is reserved here and earlier parts stay.  On failure the model
 * may be half filled. */
enum lmd_status lmi_st_open(struct lmi_st *st, struct lmi_model *m, const char *folder,
			    const char *name, uint32_t first_part, struct lmd_error *err);

/* Returns NULL if there is none of that name. */
const struct lmi_st_tensor *lmi_st_find(const struct lmi_st *st, const char *name);

void lmi_st_fini(struct lmi_st *st);

#endif /* LLAMAD_CORE_FORMAT_SAFETENSORS_SAFETENSORS_H */
