/* SPDX-License-Identifier: MIT
 *
 * siphash.h - a keyed hash for hash tables whose keys come from outside. */
#ifndef LLAMAD_CORE_BASE_SIPHASH_H
#define LLAMAD_CORE_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/bytes.h"

static inline uint64_t lmi_siphash_rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static inline void lmi_siphash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = lmi_siphash_rotl(v[1], 13) ^ v[0];
	v[3] = lmi_siphash_rotl(v[3], 16) ^ v[2];
	v[0] = lmi_siphash_rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = lmi_siphash_rotl(v[1], 17) ^ v[2];
	v[3] = lmi_siphash_rotl(v[3], 21) ^ v[0];
	v[2] = lmi_siphash_rotl(v[2], 32);
}

/* SipHash-1-3: one round per word and three at the end (Aumasson and Bernstein, 2012). */
static inline uint64_t lmi_siphash(const uint64_t key[2], const void *bytes, size_t len)
{
	const char *s = bytes;
	uint64_t v[4] = {key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du,
			 key[0] ^ 0x6C7967656E657261u, key[1] ^ 0x7465646279746573u};
	uint8_t last[8] = {0};
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t w = lmi_get_le64(s + i);

		v[3] ^= w;
		lmi_siphash_round(v);
		v[0] ^= w;
	}
	memcpy(last, s + i, len - i);
	last[7] = (uint8_t)len;
	v[3] ^= lmi_get_le64(last);
	lmi_siphash_round(v);
	v[0] ^= lmi_get_le64(last);
	v[2] ^= 0xFF;
	for (i = 0; i < 3; i++)
		lmi_siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* LLAMAD_CORE_BASE_SIPHASH_H */
