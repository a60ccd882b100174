/* SPDX-License-Identifier: MIT
 *
 * Repacks rows of block types when they are uploaded.  First the codes of a group of 32 values
 * are read into an array, whatever their order in the file, then they are written in the order of
 * planes.h; scales are copied as they are. */
#include "backend/common/planes.h"

#include <string.h>

#include "llamad/attr.h"
#include "llamad/types.h"

/* ---- a group of 32 codes in the order of values ---- */

static void halves(const uint8_t *qs, uint8_t *c)
{
	for (int j = 0; j < 16; j++) {
		c[j] = qs[j] & 15;
		c[j + 16] = qs[j] >> 4;
	}
}

/* Group g of a K block whose nibbles alternate between groups every 32 bytes. */
static void alternate(const uint8_t *qs, uint32_t g, uint8_t *c)
{
	for (int j = 0; j < 32; j++)
		c[j] = qs[32 * (g / 2) + j] >> 4 * (g % 2) & 15;
}

static void q6(const uint8_t *b, uint32_t g, uint8_t *c)
{
	uint32_t part = g % 4;
	const uint8_t *ql = b + 64 * (g / 4) + 32 * (part % 2), *qh = b + 128 + 32 * (g / 4);

	for (int j = 0; j < 32; j++)
		c[j] = (uint8_t)((ql[j] >> 4 * (part / 2) & 15) | (qh[j] >> 2 * part & 3) << 4);
}

/* ---- writing ---- */

static void put_nibbles(const uint8_t *c, uint8_t *out)
{
	for (int j = 0; j < 16; j++)
		out[j] = (uint8_t)((c[j] & 15) | c[j + 16] << 4);
}

/* Four nibbles in the 16 bits of each half word. */
static void put_book(const uint8_t *c, uint8_t *out)
{
	for (int i = 0; i < 4; i++) {
		const uint8_t *low = c + 4 * i, *high = c + 16 + 4 * i;

		out[4 * i] = (uint8_t)(low[0] | low[1] << 4);
		out[4 * i + 1] = (uint8_t)(low[2] | low[3] << 4);
		out[4 * i + 2] = (uint8_t)(high[0] | high[1] << 4);
		out[4 * i + 3] = (uint8_t)(high[2] | high[3] << 4);
	}
}

/* Bits from `shift` on: `bits` of each code, those of value 4i+j at bits * i of byte j; the last 16
 * values follow at `high`, bit `from`. */
static void put_upper(const uint8_t *c, int bits, uint8_t *low, uint8_t *high, int from)
{
	memset(low, 0, 4);
	memset(high, 0, 4);
	for (int i = 0; i < 16; i++)
		low[i % 4] |= (uint8_t)((c[i] >> 4) << bits * (i / 4));
	for (int i = 0; i < 16; i++)
		high[i % 4] |= (uint8_t)((c[i + 16] >> 4) << (bits * (i / 4) + from));
}

/* ---- types ---- */

static void blocks_32(uint32_t dtype, const uint8_t *row, uint32_t n, uint8_t *out)
{
	const uint32_t head = dtype == LMD_DTYPE_MXFP4 ? 1 : 2;

	for (uint32_t g = 0; g < n; g++) {
		const uint8_t *b = row + (head + 16) * g;
		uint8_t c[32];

		halves(b + head, c);
		if (dtype == LMD_DTYPE_Q4_0)
			put_nibbles(c, out + 16 * g);
		else
			put_book(c, out + 16 * g);
		memcpy(out + 16 * n + head * g, b, head);
	}
}

static void q8_0(const uint8_t *row, uint32_t n, uint8_t *out)
{
	for (uint32_t g = 0; g < n; g++) {
		memcpy(out + 16 * g, row + 34 * g + 2, 16);
		memcpy(out + 16 * (n + g), row + 34 * g + 18, 16);
		memcpy(out + 32 * n + 2 * g, row + 34 * g, 2);
	}
}

static void q4_k(const uint8_t *row, uint32_t n, uint8_t *out)
{
	for (uint32_t g = 0; g < n; g++) {
		const uint8_t *b = row + 144 * (g / 8);
		uint8_t c[32];

		alternate(b + 16, g % 8, c);
		put_nibbles(c, out + 16 * g);
		memcpy(out + 16 * n + 16 * (g / 8), b, 16);
	}
}

static void q5_k(const uint8_t *row, uint32_t n, uint8_t *out)
{
	for (uint32_t g = 0; g < n; g++) {
		const uint8_t *b = row + 176 * (g / 8);
		uint8_t c[32], low[4], high[4];

		alternate(b + 48, g % 8, c);
		for (int j = 0; j < 32; j++)
			c[j] |= (uint8_t)((b[16 + j] >> g % 8 & 1) << 4);
		put_nibbles(c, out + 16 * g);
		put_upper(c, 1, low, high, 4);
		for (int j = 0; j < 4; j++)
			out[16 * n + 4 * g + j] = low[j] | high[j];
		memcpy(out + 20 * n + 16 * (g / 8), b, 16);
	}
}

static void q6_k(const uint8_t *row, uint32_t n, uint8_t *out)
{
	for (uint32_t g = 0; g < n; g++) {
		const uint8_t *b = row + 210 * (g / 8);
		uint8_t c[32];

		q6(b, g % 8, c);
		put_nibbles(c, out + 16 * g);
		put_upper(c, 2, out + 16 * n + 8 * g, out + 16 * n + 8 * g + 4, 0);
		memcpy(out + 24 * n + 2 * g, b + 192 + 2 * (g % 8), 2);
		memcpy(out + 26 * n + 2 * (g / 8), b + 208, 2);
	}
}

static void iq4_xs(const uint8_t *row, uint32_t n, uint8_t *out)
{
	for (uint32_t g = 0; g < n; g++) {
		const uint8_t *b = row + 136 * (g / 8);
		uint8_t c[32];

		halves(b + 8 + 16 * (g % 8), c);
		put_book(c, out + 16 * g);
		memcpy(out + 16 * n + 8 * (g / 8), b, 8);
	}
}

bool host_mem_planes_has(uint32_t dtype)
{
	static const uint32_t types[] = {LMD_DTYPE_Q4_0,   LMD_DTYPE_Q8_0,   LMD_DTYPE_Q4_K,
					 LMD_DTYPE_Q5_K,   LMD_DTYPE_Q6_K,   LMD_DTYPE_IQ4_NL,
					 LMD_DTYPE_IQ4_XS, LMD_DTYPE_MXFP4};

	for (size_t i = 0; i < LMD_LEN(types); i++) {
		if (types[i] == dtype)
			return true;
	}
	return false;
}

void host_mem_planes_row(uint32_t dtype, const uint8_t *row, uint32_t k, uint8_t *out)
{
	switch (dtype) {
	case LMD_DTYPE_Q8_0:
		q8_0(row, k / 32, out);
		break;
	case LMD_DTYPE_Q4_K:
		q4_k(row, k / 32, out);
		break;
	case LMD_DTYPE_Q5_K:
		q5_k(row, k / 32, out);
		break;
	case LMD_DTYPE_Q6_K:
		q6_k(row, k / 32, out);
		break;
	case LMD_DTYPE_IQ4_XS:
		iq4_xs(row, k / 32, out);
		break;
	default:
		blocks_32(dtype, row, k / 32, out);
		break;
	}
}
