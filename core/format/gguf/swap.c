/* SPDX-License-Identifier: MIT
 *
 * Byte-swaps tensor data of big-endian files.  An unquantised type is one number of its width.  In
 * a block, only the 16-bit scales are numbers and everything else is bytes; types that also pack
 * wider words (q5_0, iq2_xs, ...) have no agreed big-endian form and are rejected. */
#include "core/base/bytes.h"
#include "core/format/gguf/gguf.h"
#include "core/quant/quant.h"

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
	if (t->block_elems == 1)
		return true;
	if (!t->swappable)
		return false;
	for (uint64_t at = 0; at < bytes; at += t->block_bytes)
		for (uint32_t k = 0; k < t->n_f16; k++)
			swap_number(data + at + t->f16_at[k], 2);
	return true;
}
