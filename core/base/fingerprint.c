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

static uint64_t mix_word(uint64_t h, uint64_t v)
{
	h = (h + v) * ODD;
	return h ^ h >> 32;
}

static void add_blocks(struct lmi_fingerprint *f, const uint8_t *p, size_t n_block)
{
	uint64_t a = f->acc[0], b = f->acc[1], c = f->acc[2], d = f->acc[3];

	for (; n_block; n_block--, p += BLOCK) {
		a = mix_word(a, lmi_get_le64(p));
		b = mix_word(b, lmi_get_le64(p + 8));
		c = mix_word(c, lmi_get_le64(p + 16));
		d = mix_word(d, lmi_get_le64(p + 24));
	}
	f->acc[0] = a;
	f->acc[1] = b;
	f->acc[2] = c;
	f->acc[3] = d;
}

void lmi_fingerprint_init(struct lmi_fingerprint *f)
{
	*f = (struct lmi_fingerprint){.acc = {1, 2, 3, 4}};
}

void lmi_fingerprint_add(struct lmi_fingerprint *f, const void *data, size_t n)
{
	size_t have = (size_t)(f->bytes % BLOCK), fill = BLOCK - have;
	const uint8_t *p = data;

	f->bytes += n;
	if (have && n >= fill) {
		memcpy(f->partial + have, p, fill);
		add_blocks(f, f->partial, 1);
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
		memcpy(f->partial + have, p, n);
}

uint64_t lmi_fingerprint_get(const struct lmi_fingerprint *f)
{
	struct lmi_fingerprint last = *f;
	uint64_t h = f->bytes;

	memset(last.partial + f->bytes % BLOCK, 0, BLOCK - (size_t)(f->bytes % BLOCK));
	add_blocks(&last, last.partial, 1);
	for (int i = 0; i < BLOCK / 8; i++)
		h = mix_word(h, last.acc[i]);
	return h;
}
