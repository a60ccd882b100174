/* SPDX-License-Identifier: MIT
 *
 * bytes.h - reads and writes fixed-width integers in a given byte order, at any alignment, on any
 * host. */
#ifndef LLAMAD_CORE_BASE_BYTES_H
#define LLAMAD_CORE_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t lmi_get_le16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t lmi_get_le32(const void *p)
{
	const uint8_t *b = p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t lmi_get_le64(const void *p)
{
	const uint8_t *b = p;

	return lmi_get_le32(b) | (uint64_t)lmi_get_le32(b + 4) << 32;
}

static inline uint16_t lmi_get_be16(const void *p)
{
	return __builtin_bswap16(lmi_get_le16(p));
}

static inline uint32_t lmi_get_be32(const void *p)
{
	return __builtin_bswap32(lmi_get_le32(p));
}

static inline uint64_t lmi_get_be64(const void *p)
{
	return __builtin_bswap64(lmi_get_le64(p));
}

static inline void lmi_put_le16(void *p, uint16_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static inline void lmi_put_le32(void *p, uint32_t v)
{
	uint8_t *b = p;

	lmi_put_le16(b, (uint16_t)v);
	lmi_put_le16(b + 2, (uint16_t)(v >> 16));
}

static inline void lmi_put_le64(void *p, uint64_t v)
{
	uint8_t *b = p;

	lmi_put_le32(b, (uint32_t)v);
	lmi_put_le32(b + 4, (uint32_t)(v >> 32));
}

/* Conversion between a float and its bit pattern. */
static inline uint32_t lmi_f32_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float lmi_bits_f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint64_t lmi_f64_bits(double f)
{
	uint64_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline double lmi_bits_f64(uint64_t u)
{
	double f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

#endif /* LLAMAD_CORE_BASE_BYTES_H */
