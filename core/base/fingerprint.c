/* SPDX-License-Identifier: MIT
 *
 * Four accumulators take one word of each block by "add, multiply by an odd number, fold". Each
 * step is invertible, so a word that differs changes its accumulator for good. At the end they are
 * folded together with the length. */
#include "core/base/fingerprint.h"

#include <string.h>

#include "core/base/bytes.h"

#define BLOCK LMI_FINGERPRINT_BLOCK
#define ODD   0x9E3779B97F4A7C15u /* 2^64 / golden ratio */

static uint64_t stir(uint64_t h, uint64_t v)
{
	h = (h + v) * ODD;
	return h ^ h >> 32;
}

static void add_blocks(struct lmi_fingerprint *f, const uint8_t *p, size_t n_block)
{
	uint64_t a = f->lane[0], b = f->lane[1], c = f->lane[2], d = f->lane[3];

	for (; n_block; n_block--, p += BLOCK) {
		a = stir(a, lmi_get_le64(p));
		b = stir(b, lmi_get_le64(p + 8));
		c = stir(c, lmi_get_le64(p + 16));
		d = stir(d, lmi_get_le64(p + 24));
	}
	f->lane[0] = a;
	f->lane[1] = b;
	f->lane[2] = c;
	f->lane[3] = d;
}

void lmi_fingerprint_init(struct lmi_fingerprint *f)
{
	*f = (struct lmi_fingerprint){.lane = {1, 2, 3, 4}};
}

void lmi_fingerprint_add(struct lmi_fingerprint *f, const void *data, size_t n)
{
	size_t have = (size_t)(f->bytes % BLOCK), fill = BLOCK - have;
	const uint8_t *p = data;

	f->bytes += n;
	if (have && n >= fill) {
		memcpy(f->rest + have, p, fill);
		add_blocks(f, f->rest, 1);
		p += fill;
		n -= fill;
		have = 0;
	}
	if (!have) {
		add_blocks(f, p, n / BLOCK);
		p += n / BLOCK * BLOCK;
		n %= BLOCK;
	}
	if (n)
		memcpy(f->rest + have, p, n);
}

uint64_t lmi_fingerprint_get(const struct lmi_fingerprint *f)
{
	struct lmi_fingerprint last = *f;
	uint64_t h = f->bytes;

	memset(last.rest + f->bytes % BLOCK, 0, BLOCK - (size_t)(f->bytes % BLOCK));
	add_blocks(&last, last.rest, 1);
	for (int i = 0; i < BLOCK / 8; i++)
		h = stir(h, last.lane[i]);
	return h;
}
