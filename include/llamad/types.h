/* SPDX-License-Identifier: MIT
 *
 * types.h - basic types that all other headers share: tokens, tensor types, byte spans. */
#ifndef LLAMAD_TYPES_H
#define LLAMAD_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/dtypes.h"

LMD_BEGIN_DECLS

/* A token id; ids of a vocabulary are >= 0.  Negative values are explained at step.token
 * (step.h). */
typedef int32_t lmd_token;

/* Type of the elements of a tensor.  The numbers are the type ids of the GGUF file format;
 * docs/formats.md lists them with block length, bytes and layout.  Ids 4, 5, 31-33 and 36-38 were
 * removed from the format and are rejected by name. */
#define LMD_DTYPE_CONSTANT(ID, name, number) LMD_DTYPE_##ID = number,
enum lmd_dtype {
	LMD_DTYPES_NUMBER(LMD_DTYPE_CONSTANT)
	LMD_DTYPES_WEIGHT(LMD_DTYPE_CONSTANT)
	LMD_DTYPES_ACTIVATION(LMD_DTYPE_CONSTANT)
	/* Only in memory, for caches and for weights that a device stores: never in a file, and not
	 * known to the host's decoders. */
	LMD_DTYPE_F8_E5M2 = 61,
	LMD_DTYPE_F8_E4M3_FNUZ = 62, /* 240 is the greatest number, one NaN, no negative zero */
};

/* One past the greatest id a file may contain; tables indexed by type have this length. */
#define LMD_DTYPE_END 160

/* Bytes with a length, not terminated; text from a file or a client is bytes and may contain NUL.
 * The memory belongs to the provider of the span. */
struct lmd_str {
	const char *ptr;
	size_t len;
};

/* The maximum number of dimensions of a tensor; dims[0] is the contiguous one. */
#define LMD_MAX_DIMS 4

LMD_END_DECLS

#endif /* LLAMAD_TYPES_H */
