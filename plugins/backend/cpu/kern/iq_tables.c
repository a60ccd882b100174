/* SPDX-License-Identifier: MIT
 *
 * Derives the tables of iq_tables.h from the host's decoder: it decodes blocks that hold one point
 * after the other, with d = 1, scale = 0 and no signs. */
#include <math.h>

#include "iq_tables.h"

#define MOST 110 /* size of the largest block */

/* Writes point number n as value group p of an empty block. */
static void put_point(uint32_t dtype, uint8_t *b, uint32_t p, uint32_t n)
{
	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		b[2 + 8 * (p / 4) + p % 4] = (uint8_t)n;
		break;
	case LMD_DTYPE_IQ2_XS:
		b[2 + 2 * p] = (uint8_t)n;
		b[3 + 2 * p] = (uint8_t)(n >> 8);
		break;
	case LMD_DTYPE_IQ2_S:
		b[2 + p] = (uint8_t)n;
		b[66 + p / 4] |= (uint8_t)(n >> 8 << 2 * (p % 4));
		break;
	case LMD_DTYPE_IQ1_S:
		b[2 + p] = (uint8_t)n;
		b[34 + 2 * (p / 4)] |= (uint8_t)(n >> 8 << 3 * (p % 4));
		b[35 + 2 * (p / 4)] |= (uint8_t)(n >> 8 << 3 * (p % 4) >> 8);
		break;
	default: /* IQ3_XXS, IQ3_S */
		b[2 + p] = (uint8_t)n;
		if (dtype == LMD_DTYPE_IQ3_S)
			b[66 + p / 8] |= (uint8_t)(n >> 8 << p % 8);
	}
}

/* A value of a block with d = 1 and scale = 0 as a byte of the tables. */
static uint64_t byte_of(uint32_t dtype, float x)
{
	return (uint64_t)lrintf(x / kern_point_unit(dtype)) +
	       (dtype == LMD_DTYPE_IQ1_S ? 15u : 0u);
}

/* Fills one of the two tables with n points of `size` values. */
static enum lmd_status fill(const struct lmd_host *h, uint32_t dtype, uint32_t n, uint32_t size,
			    uint64_t *eight, uint32_t *four)
{
	uint32_t per = 256 / size;

	for (uint32_t first = 0; first < n; first += per) {
		uint8_t block[MOST] = {0, 0x3c};
		float x[256];
		enum lmd_status st;

		for (uint32_t p = 0; p < per; p++)
			put_point(dtype, block, p, first + p);
		st = h->dequant_rows(h->ctx, dtype, block, x, 256);
		if (st != LMD_OK)
			return st;
		for (uint32_t p = 0; p < per; p++) {
			uint64_t v = 0;

			for (uint32_t i = 0; i < size; i++)
				v |= byte_of(dtype, x[p * size + i]) << 8 * i;
			if (eight)
				eight[first + p] = v;
			else
				four[first + p] = (uint32_t)v;
		}
	}
	return LMD_OK;
}

/* Fills a table of nibbles from one of bytes: values divided by 2^shift. */
static void fill_nibbles(const uint32_t *four, uint32_t n, uint32_t shift, uint16_t *nibbles)
{
	for (uint32_t p = 0; p < n; p++) {
		nibbles[p] = 0;
		for (uint32_t i = 0; i < 4; i++)
			nibbles[p] |= (uint16_t)((four[p] >> 8 * i & 255) >> shift << 4 * i);
	}
}

/* Numbers of levels: magnitudes of IQ2 divided by 20, of IQ3 by a power of two. */
static void fill_levels(struct kern_iq_levels *l, const struct kern_iq_tables *t)
{
	struct {
		const uint64_t *eight;
		const uint32_t *four;
		uint32_t n, divisor;
		uint8_t *out;
	} all[] = {
		{t->iq2_xxs, NULL, 256, 20, l->iq2_xxs}, {t->iq2_xs, NULL, 512, 20, l->iq2_xs},
		{NULL, t->iq3_xxs, 256, 8, l->iq3_xxs},
		{NULL, t->iq3_s, 512, 2, l->iq3_s},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const uint32_t size = all[i].eight ? 8 : 4, bits = 16 / size;

		for (uint32_t p = 0; p < all[i].n; p++) {
			uint64_t v = all[i].eight ? all[i].eight[p] : all[i].four[p];
			uint32_t word = 0;

			for (uint32_t j = 0; j < size; j++)
				word |= (uint32_t)(v >> 8 * j & 255) / all[i].divisor << bits * j;
			all[i].out[p] = (uint8_t)word;
			all[i].out[all[i].n + p] = (uint8_t)(word >> 8);
		}
	}
}

enum lmd_status kern_iq_tables_init(struct kern_iq_tables *t, const struct lmd_host *host)
{
	enum lmd_status st = fill(host, LMD_DTYPE_IQ2_XXS, 256, 8, t->iq2_xxs, NULL);

	if (st == LMD_OK)
		st = fill(host, LMD_DTYPE_IQ2_XS, 512, 8, t->iq2_xs, NULL);
	if (st == LMD_OK)
		st = fill(host, LMD_DTYPE_IQ2_S, 1024, 8, t->iq2_s, NULL);
	if (st == LMD_OK)
		st = fill(host, LMD_DTYPE_IQ1_S, 2048, 8, t->iq1, NULL);
	if (st == LMD_OK)
		st = fill(host, LMD_DTYPE_IQ3_XXS, 256, 4, NULL, t->iq3_xxs);
	if (st == LMD_OK)
		st = fill(host, LMD_DTYPE_IQ3_S, 512, 4, NULL, t->iq3_s);
	if (st == LMD_OK) {
		fill_nibbles(t->iq3_xxs, 256, 3, t->iq3_xxs_nibbles);
		fill_nibbles(t->iq3_s, 512, 0, t->iq3_s_nibbles);
		fill_levels((struct kern_iq_levels *)(uintptr_t)kern_iq_levels(t), t);
	}
	return st;
}

size_t kern_iq_tables_bytes(void)
{
	return sizeof(struct kern_iq_tables);
}
