/* SPDX-License-Identifier: MIT
 *
 * quant.h - the table of tensor types: one row per type, one file per type.
 *
 * The code in this folder is portable reference code in C without fused multiply-add; it is the
 * oracle of every kernel.  Layouts: docs/formats.md. */
#ifndef LLAMAD_CORE_QUANT_QUANT_H
#define LLAMAD_CORE_QUANT_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quant/ftype.h"
#include "llamad/dtypes.h"
#include "llamad/status.h"
#include "llamad/types.h"

/* Decodes n values (a multiple of the block length) of one row.  src needs no alignment; it may be
 * any block of the row, or must be the start of the row if rows of the type have a header. */
typedef void (*lmi_quant_dequant_fn)(const void *src, float *dst, size_t n);

/* Encodes n values of one row, or a whole row if rows of the type have a header.  importance [n]
 * weights the columns; NULL = equal weights.  NaN counts as 0 and magnitudes are clipped, so any
 * input gives a block that decodes to finite values. */
typedef void (*lmi_quant_encode_fn)(const float *src, void *dst, size_t n, const float *importance);

struct lmi_dtype {
	enum lmd_dtype id;
	const char *name;         /* lower case, as in file names and --json: "q4_k" */
	uint32_t block_elems;     /* 1 for plain types */
	uint32_t block_bytes;
	uint32_t row_bytes_extra; /* header of each row, such as a scale for all blocks; usually
				   * 0 */
	bool is_quant;            /* a block type (weights) */
	bool is_activation;       /* never a weight */
	bool for_cache;           /* an activation that KV caches can store; of other types see
				   * lmi_dtype_is_for_cache */
	bool needs_importance;    /* cannot be encoded without an importance matrix */
	bool memory_only;         /* loaded checkpoints only, never in a file */
	bool swappable; /* in big-endian files only the f16 numbers of a block are swapped; false:
			 * there is no agreed form */
	uint8_t n_f16, f16_at[2]; /* offsets of f16 numbers in a block, such as scales */
	struct lmi_ftype file_type;   /* files whose types are all this one; name NULL: none */
	lmi_quant_dequant_fn dequant; /* NULL: cannot be decoded to float (integers can) */
	lmi_quant_encode_fn quant; /* searches for the least error, for files; NULL: no encoder */
	lmi_quant_encode_fn quant_nearest; /* plain rounding, for KV caches; NULL: use quant */
	uint64_t decode_hash; /* of values decoded from fixed bytes, for tests (decode_test.h) */
};

/* Returns NULL for unknown or removed ids. */
const struct lmi_dtype *lmi_dtype(uint32_t id);

/* 8-bit floats of checkpoints.  F8_E4M3 is also a type of KV caches; F8_E5M2 is not in the table. */
extern const struct lmi_dtype lmi_quant_f8_e4m3, lmi_quant_f8_e5m2;

/* Looks up a type by name, case-insensitive; returns NULL if there is none. */
const struct lmi_dtype *lmi_dtype_by_name(const char *name);

/* Can rows of a KV cache have this type?  t may be NULL. */
bool lmi_dtype_is_for_cache(const struct lmi_dtype *t);

/* Names of types for keys and values.  NULL, "" and "auto": not set. */
struct lmi_dtype_cache_names {
	const char *both, *k, *v; /* k and v override both */
};
/* Parses them; -1: not set.  Error messages name the key "kv_type_k", or the option "--kv-type-k". */
enum lmd_status lmi_dtype_parse_cache(const struct lmi_dtype_cache_names *names, bool is_option,
				      int32_t *k_dtype, int32_t *v_dtype, struct lmd_error *err);

/* Explains why an id has no type: "q4_2 was removed from the format", "type 77 is unknown". */
const char *lmi_dtype_explain_unknown(uint32_t id, char *buf, size_t n);

/* Returns the type used in files for a type in memory: f16 for types that exist only in memory,
 * otherwise id. */
uint32_t lmi_dtype_in_file(uint32_t id);

/* Computes the bytes of a row of n elements; returns false if n is not a multiple of the block
 * length or the size overflows. */
bool lmi_quant_row_bytes(const struct lmi_dtype *t, uint64_t n, uint64_t *out);

/* Decodes n_row consecutive rows of n values each.  The type must have a decoder. */
void lmi_quant_dequant_rows(const struct lmi_dtype *t, const void *src, float *dst, size_t n,
			    size_t n_row);

#endif /* LLAMAD_CORE_QUANT_QUANT_H */
