/* SPDX-License-Identifier: MIT */
#include "kern_data_test.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/quant/quant.h"
#include "tests/support.h"

bool kern_guarded_create(struct kern_guarded *g, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;

	g->map_bytes = body + page;
	g->map = mmap(NULL, g->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (g->map == MAP_FAILED)
		return false;
	if (mprotect(g->map + body, page, PROT_NONE)) {
		munmap(g->map, g->map_bytes);
		return false;
	}
	g->data = g->map + body - bytes;
	return true;
}

void kern_guarded_destroy(struct kern_guarded *g)
{
	munmap(g->map, g->map_bytes);
}

static uint16_t half(enum kern_data kind, uint64_t *seed)
{
	static const uint16_t extreme[] = {0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00};
	uint64_t r = lmd_rand(seed);

	if (kind == KERN_DATA_EXTREME && r % 4)
		return extreme[r / 4 % LMD_LEN(extreme)];
	/* 2^-10 .. 2^-3 of either sign */
	return (uint16_t)((r & 0x83ff) | (5 + r / 65536 % 8) << 10);
}

static void put(uint8_t *b, uint16_t v)
{
	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static void fill_block(uint8_t *b, const struct lmi_dtype *t, enum kern_data kind, uint64_t *seed)
{
	uint64_t r = lmd_rand(seed);
	uint8_t same = r % 2 ? 0xff : r % 4 ? 0x80 : 0x7f;

	for (uint32_t i = 0; i < t->block_bytes; i++)
		b[i] = kind == KERN_DATA_EXTREME && r / 8 % 2 ? same : (uint8_t)lmd_rand(seed);
	for (uint32_t i = 0; i < t->n_f16; i++)
		put(b + t->f16_at[i], half(kind, seed));
	if (t->id == LMD_DTYPE_IQ1_M) /* the f16 is spread over the top nibbles of 4 words */
		b[55] = (uint8_t)((b[55] & 0x0f) | 0x20);
	if (t->id == LMD_DTYPE_MXFP4)
		b[0] = (uint8_t)(kind == KERN_DATA_EXTREME ? 90 + r % 60 : 118 + r % 8);
	if (t->id == LMD_DTYPE_F16)
		put(b, half(kind, seed));
	for (int i = 0; i < 2 && t->id == LMD_DTYPE_Q8_A; i++) { /* upper halves of f32 numbers */
		put(b + 4 * i, 0);
		put(b + 4 * i + 2, half(kind, seed) & 0xbfff);
	}
}

/* Fills the header that a row begins with. */
static void fill_head(uint8_t *b, const struct lmi_dtype *t, enum kern_data kind, uint64_t *seed)
{
	float v;

	memset(b, 0, t->row_bytes_extra);
	if (kind == KERN_DATA_ZERO)
		return;
	if (t->row_bytes_extra == 2) {
		put(b, half(kind, seed));
	} else {
		kern_fill_floats(&v, 1, kind, seed);
		memcpy(b, &v, sizeof(v));
	}
}

static void fill_plain(uint8_t *b, const struct lmi_dtype *t, enum kern_data kind, uint64_t *seed)
{
	float v;
	double d;

	kern_fill_floats(&v, 1, kind, seed);
	d = v;
	if (t->id == LMD_DTYPE_BF16)
		memcpy(b, (const char *)&v + 2, 2);
	else if (t->id == LMD_DTYPE_F32)
		memcpy(b, &v, sizeof(v));
	else
		memcpy(b, &d, sizeof(d));
}

bool kern_fill_weights(void *w, uint32_t dtype, uint32_t k, uint32_t n_row, size_t stride,
		       enum kern_data kind, uint64_t *seed)
{
	const struct lmi_dtype *t = lmi_dtype(dtype);

	if (!t || !t->dequant)
		return false;
	for (uint32_t r = 0; r < n_row; r++) {
		uint8_t *b = (uint8_t *)w + r * stride;

		if (t->row_bytes_extra)
			fill_head(b, t, kind, seed);
		b += t->row_bytes_extra;
		for (uint32_t at = 0; at < k; at += t->block_elems, b += t->block_bytes) {
			if (kind == KERN_DATA_ZERO)
				memset(b, 0, t->block_bytes);
			else if (dtype == LMD_DTYPE_F32 || dtype == LMD_DTYPE_BF16 ||
				 dtype == LMD_DTYPE_F64)
				fill_plain(b, t, kind, seed);
			else
				fill_block(b, t, kind, seed);
		}
	}
	return true;
}

void kern_fill_floats(float *x, size_t n, enum kern_data kind, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t r = lmd_rand(seed);
		/* A sum of uniform numbers is nearly normal; sigma is 1. */
		float v = ((float)(r & 0xffff) + (float)(r >> 16 & 0xffff) +
			   (float)(r >> 32 & 0xffff) - 98302.5f) /
			  32768.0f;

		if (kind == KERN_DATA_ZERO)
			v = 0;
		if (kind == KERN_DATA_EXTREME) {
			/* Neighbours share a magnitude, from denormal to 2^40. */
			uint64_t block = i / 48 * 0x9E3779B97F4A7C15ull;

			v = ldexpf(v, (int)(block >> 40) % 180 - 140);
			v = r >> 48 & 7 ? v : 0;
			/* Or they all have the same magnitude, so that they become 127 or -127. */
			if (block >> 20 & 1)
				v = ldexpf(block >> 21 & 1 ? 1 : -1,
					   (int)(block >> 40) % 180 - 140);
		}
		x[i] = v;
	}
}
