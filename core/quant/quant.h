/* SPDX-License-Identifier: MIT
 *
 * quant.h - what a tensor type is: one row of a table, one file per type.
 *
 * The reference code here is portable C without fused multiply-add; it is the oracle of
 * every kernel.  Layouts: docs/formats.md. */
#ifndef LLAMAD_CORE_QUANT_QUANT_H
#define LLAMAD_CORE_QUANT_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

/* Decodes n values (a multiple of the block length) of one row.  src needs no alignment; it is any
 * block of the row, and for a type whose rows have a header the row's beginning. */
typedef void (*lmi_dequant_fn)(const void *src, float *dst, size_t n);

/* Encodes n values of one row, and for a type whose rows have a header the whole row; importance
 * [n] weighs the columns, NULL = all equal.  NaN counts as 0, magnitudes are cut: any input gives
 * a block that decodes to finite values. */
typedef void (*lmi_quant_fn)(const float *src, void *dst, size_t n, const float *importance);

struct lmi_dtype {
	enum lmd_dtype id;
	const char *name;         /* lower case, as in file names and --json: "q4_k" */
	uint32_t block_elems;     /* 1 for plain types */
	uint32_t block_bytes;
	uint32_t row_bytes_extra; /* header of each row: a scale for all its blocks; mostly 0 */
	bool is_quant;            /* a block type (weights) */
	bool is_activation;       /* q8_1, q8_k: never a weight */
	bool needs_importance;    /* cannot be encoded without an importance matrix */
	bool memory_only;         /* q8_a: what folders become, in no file */
	lmi_dequant_fn dequant;   /* NULL: cannot be decoded to float (integers have one too) */
	lmi_quant_fn quant;       /* NULL: no encoder.  Searches for the least error: for files */
	lmi_quant_fn near;        /* plain rounding, for caches; NULL: quant is that already */
};

/* NULL for unknown or removed ids. */
const struct lmi_dtype *lmi_dtype(uint32_t id);

/* By name, case-insensitive; NULL if there is none. */
const struct lmi_dtype *lmi_dtype_by_name(const char *name);

/* Why an id has no row: "q4_2 was removed from the format", "type 77 is unknown". */
const char *lmi_dtype_refusal(uint32_t id, char *buf, size_t n);

/* The type that a file has where memory has `id`: f16 for what is in memory alone, else id. */
uint32_t lmi_dtype_in_file(uint32_t id);

/* Bytes of a row of n elements; false when n is no multiple of the block or overflows. */
bool lmi_row_bytes(const struct lmi_dtype *t, uint64_t n, uint64_t *out);

/* Decodes n_row rows of n values that lie one after the other, of a type with a decoder. */
void lmi_dequant_rows(const struct lmi_dtype *t, const void *src, float *dst, size_t n,
		      size_t n_row);

#endif /* LLAMAD_CORE_QUANT_QUANT_H */
