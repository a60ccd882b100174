/* SPDX-License-Identifier: MIT
 *
 * IQ2_K: P = (sc - 8) * (codebook[2 bits] + 5 in groups of 16 with the second codebook), with sc of 4
 * bits for 16 values; D = d. */
#if KERN_PART == KERN_PART_C || KERN_PART == KERN_PART_NEON

static inline void plain_iq2_k(const uint8_t *b, int j, struct kern_plain *o)
{
	o->d = kern_f16(b);
	for (int h = 0; h < 2; h++)
		o->sc[h] = kern_field(b + 4, 4, 2 * j + h) - 8;
	kern_plain_2(b + 12, j, kern_codebook_iq2k, 0, o->q);
	kern_plain_second(b + 2, j, KERN_SECOND_2, o->q);
}
KERN_PLAIN(iq2_k, 8)

#elif KERN_ON_X86

INLINE void head_iq2_k(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->d = block_factors(v[0]);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		h->sc[i] = scale_bytes(four_nibbles(v[1 + i / 2], i % 2 * 16),
				       _mm256_setzero_si256(), 8);
}

INLINE void codes_iq2_k(const struct head *h, const uint8_t *const w[8], size_t at, int i,
		struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		c->q[r] = look_up_2(LMD_DTYPE_IQ2_K, b + 12, i);
		c->q[r] = second_of_halves(c->q[r], b + 2, i, KERN_SECOND_2);
	}
	halves(h, i, c);
}

#endif
