/* SPDX-License-Identifier: MIT
 *
 * types.h - basic types that all other headers share: tokens, tensor types, byte spans. */
#ifndef LLAMAD_TYPES_H
#define LLAMAD_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"

LMD_BEGIN_DECLS

/* A token id; ids of a vocabulary are >= 0.  Negative values are explained at step.token
 * (step.h). */
typedef int32_t lmd_token;

/* Type of the elements of a tensor.  The numbers are the type ids of the GGUF file format;
 * docs/formats.md lists them with block length, bytes and layout.  Ids 4, 5, 31-33 and 36-38 were
 * removed from the format and are rejected by name. */
enum lmd_dtype {
	LMD_DTYPE_F32 = 0,
	LMD_DTYPE_F16 = 1,
	LMD_DTYPE_Q4_0 = 2,
	LMD_DTYPE_Q4_1 = 3,
	LMD_DTYPE_Q5_0 = 6,
	LMD_DTYPE_Q5_1 = 7,
	LMD_DTYPE_Q8_0 = 8,
	LMD_DTYPE_Q8_1 = 9,  /* activations only */
	LMD_DTYPE_Q2_K = 10,
	LMD_DTYPE_Q3_K = 11,
	LMD_DTYPE_Q4_K = 12,
	LMD_DTYPE_Q5_K = 13,
	LMD_DTYPE_Q6_K = 14,
	LMD_DTYPE_Q8_K = 15, /* activations only */
	LMD_DTYPE_IQ2_XXS = 16,
	LMD_DTYPE_IQ2_XS = 17,
	LMD_DTYPE_IQ3_XXS = 18,
	LMD_DTYPE_IQ1_S = 19,
	LMD_DTYPE_IQ4_NL = 20,
	LMD_DTYPE_IQ3_S = 21,
	LMD_DTYPE_IQ2_S = 22,
	LMD_DTYPE_IQ4_XS = 23,
	LMD_DTYPE_I8 = 24,
	LMD_DTYPE_I16 = 25,
	LMD_DTYPE_I32 = 26,
	LMD_DTYPE_I64 = 27,
	LMD_DTYPE_F64 = 28,
	LMD_DTYPE_IQ1_M = 29,
	LMD_DTYPE_BF16 = 30,
	LMD_DTYPE_TQ1_0 = 34,
	LMD_DTYPE_TQ2_0 = 35,
	LMD_DTYPE_MXFP4 = 39,
	LMD_DTYPE_NVFP4 = 40,
	LMD_DTYPE_Q1_0 = 41,
	LMD_DTYPE_Q2_0 = 42,
	/* Only in memory: of caches and of weights that a device stores, never in a file. */
	LMD_DTYPE_F8_E4M3 = 60,      /* 448 is the greatest number, no infinity */
	LMD_DTYPE_F8_E5M2 = 61,
	LMD_DTYPE_F8_E4M3_FNUZ = 62, /* 240 is the greatest number, one NaN, no negative zero */
	LMD_DTYPE_Q8_A = 63, /* only for weights in memory: never appears in a file */
	/* Types of the fork ik_llama.cpp.  Where docs/formats.md says so, rows have a header. */
	LMD_DTYPE_Q6_0 = 133,
	LMD_DTYPE_IQ1_BN = 134,
	LMD_DTYPE_IQ2_BN = 135,
	LMD_DTYPE_IQ2_K = 137,
	LMD_DTYPE_IQ3_K = 138,
	LMD_DTYPE_IQ4_K = 139,
	LMD_DTYPE_IQ5_K = 140,
	LMD_DTYPE_IQ6_K = 141,
	LMD_DTYPE_IQ4_KS = 144,
	LMD_DTYPE_IQ2_KS = 145,
	LMD_DTYPE_IQ4_KSS = 146,
	LMD_DTYPE_Q8_KV = 151,
	LMD_DTYPE_IQ5_KS = 152,
	LMD_DTYPE_IQ2_KT = 153,
	LMD_DTYPE_IQ3_KT = 154,
	LMD_DTYPE_IQ4_KT = 155,
	LMD_DTYPE_IQ3_KS = 156,
	LMD_DTYPE_IQ2_KL = 157,
	LMD_DTYPE_IQ1_KT = 158
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
