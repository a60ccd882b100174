/* SPDX-License-Identifier: MIT
 *
 * Byte-swaps tensor data of big-endian files.  An unquantised type is one number of its width.  In
 * a block, only the 16-bit scales are numbers and everything else is bytes; types that also pack
 * wider words (q5_0, iq2_xs, ...) have no agreed big-endian form and are rejected. */
#include "core/base/bytes.h"
#include "core/format/gguf/gguf.h"
#include "core/quant/quant.h"

/* Offsets of the f16 scales in a block; -1 = none. */
static const struct {
	enum lmd_dtype type;
	int at[2];
} blocks[] = {
	{LMD_DTYPE_Q4_0, {0, -1}},   {LMD_DTYPE_Q4_1, {0, 2}},    {LMD_DTYPE_Q8_0, {0, -1}},
	{LMD_DTYPE_Q2_K, {80, 82}},  {LMD_DTYPE_Q3_K, {108, -1}}, {LMD_DTYPE_Q4_K, {0, 2}},
	{LMD_DTYPE_Q5_K, {0, 2}},    {LMD_DTYPE_Q6_K, {208, -1}}, {LMD_DTYPE_IQ4_NL, {0, -1}},
	{LMD_DTYPE_IQ2_S, {0, -1}},  {LMD_DTYPE_IQ3_S, {0, -1}},  {LMD_DTYPE_TQ1_0, {52, -1}},
	{LMD_DTYPE_TQ2_0, {64, -1}}, {LMD_DTYPE_MXFP4, {-1, -1}}, {LMD_DTYPE_NVFP4, {-1, -1}},
	{LMD_DTYPE_Q1_0, {0, -1}},   {LMD_DTYPE_Q2_0, {0, -1}},
};

static void swap_number(uint8_t *p, uint32_t width)
{
	for (uint32_t i = 0; i < width / 2; i++) {
		uint8_t t = p[i];

		p[i] = p[width - 1 - i];
		p[width - 1 - i] = t;
	}
}

bool lmi_gguf_swap(uint32_t type, uint8_t *data, uint64_t bytes)
{
	const struct lmi_dtype *t = lmi_dtype(type);

	for (uint64_t at = 0; t->block_elems == 1 && at < bytes; at += t->block_bytes)
		swap_number(data + at, t->block_bytes);
	for (size_t i = 0; t->block_elems > 1; i++) {
		if (i == LMD_LEN(blocks))
			return false;
		if (blocks[i].type != type)
			continue;
		for (uint64_t at = 0; at < bytes; at += t->block_bytes)
			for (int k = 0; k < 2; k++)
				if (blocks[i].at[k] >= 0)
					swap_number(data + at + blocks[i].at[k], 2);
		return true;
	}
	return true;
}
