/* SPDX-License-Identifier: MIT
 *
 * device_cache.h - reads and writes caches of the types that device_types.h lists for them, in the
 * common subset of C, C++ and GLSL: kernels of backend gpu and shaders of backend vulkan include it.
 * docs/formats.md describes the types.  A block is made as the host makes it for a cache
 * (core/quant/round_nearest.h): the range gives the scale, and each value gets the nearest code.
 *
 * Before this header, its user defines what device_decode.h names, and:
 *
 *     DEVICE_VALUES                  parameters that stand for the 32 values of a block
 *     DEVICE_GIVEN                   these, as arguments
 *     DEVICE_VALUE(j)                value j of them
 *     DEVICE_F16_BITS(x)             the nearest f16, clipped to the finite ones
 *     DEVICE_ABS, _MIN, _MAX         of floats
 *     DEVICE_UINT(x)                 a float that is not negative, rounded down */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_CACHE_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_CACHE_H

/* Value i of a row. */
DEVICE_FN float device_cache_value(DEVICE_ROW, uint32_t type, uint32_t i)
{
	uint32_t at = DEVICE_CACHE_BYTES(type) * (i >> 5), j = i & 31u;
	uint32_t q = DEVICE_U8(row, at + DEVICE_CACHE_NIBBLES(type) + (j & 15u)) >> (j >> 4) * 4u & 15u;
	float d = DEVICE_F16(DEVICE_U16(row, at));

	if (type == DEVICE_CACHE_IQ4_NL)
		return d * DEVICE_FLOAT(DEVICE_IQ4(q));
	if (DEVICE_CACHE_HAS_FIFTH(type))
		q |= (DEVICE_U8(row, at + DEVICE_CACHE_FIFTH(type) + (j >> 3)) >> (j & 7u) & 1u) << 4;
	if (DEVICE_CACHE_IS_RANGED(type))
		return DEVICE_FLOAT(q) * d + DEVICE_F16(DEVICE_U16(row, at + 2u));
	return DEVICE_FLOAT(DEVICE_INT(q) - (DEVICE_CACHE_HAS_FIFTH(type) ? 16 : 8)) * d;
}

DEVICE_FN float device_cache_least(DEVICE_VALUES)
{
	float least = DEVICE_VALUE(0u);

	for (uint32_t j = 1u; j < 32u; j++)
		least = DEVICE_MIN(least, DEVICE_VALUE(j));
	return least;
}

/* The scale with which the codes of a block are chosen. */
DEVICE_FN float device_cache_scale(DEVICE_VALUES, uint32_t type)
{
	float peak = 0.0f, most = DEVICE_VALUE(0u);

	for (uint32_t j = 0u; j < 32u; j++) {
		float v = DEVICE_VALUE(j);

		most = DEVICE_MAX(most, v);
		if (DEVICE_ABS(v) > DEVICE_ABS(peak))
			peak = v;
	}
	if (DEVICE_CACHE_IS_RANGED(type))
		return (most - device_cache_least(DEVICE_GIVEN)) /
		       (DEVICE_CACHE_HAS_FIFTH(type) ? 31.0f : 15.0f);
	return peak / (type == DEVICE_CACHE_IQ4_NL	 ? -127.0f
		       : DEVICE_CACHE_HAS_FIFTH(type) ? -16.0f
						      : -8.0f);
}

/* The index of the value of iq4_nl's codebook that is nearest to v. */
DEVICE_FN uint32_t device_cache_nearest(float v)
{
	uint32_t q = 0u;

	for (uint32_t n = 8u; n > 0u; n >>= 1)
		if (v > 0.5f * DEVICE_FLOAT(DEVICE_IQ4(q + n - 1u) + DEVICE_IQ4(q + n)))
			q += n;
	return q;
}

/* The code of a value, for the scale of above and the least value of the block. */
DEVICE_FN uint32_t device_cache_code(float v, uint32_t type, float scale, float least)
{
	float inverse = DEVICE_ABS(scale) > 1e-38f ? 1.0f / scale : 0.0f;
	float most = DEVICE_CACHE_HAS_FIFTH(type) ? 31.0f : 15.0f;
	float zero = DEVICE_CACHE_HAS_FIFTH(type) ? 16.0f : 8.0f;

	if (type == DEVICE_CACHE_IQ4_NL)
		return DEVICE_ABS(scale) > 1e-38f ? device_cache_nearest(v * inverse) : 0u;
	v = DEVICE_CACHE_IS_RANGED(type) ? (v - least) * inverse + 0.5f : v * inverse + (zero + 0.5f);
	return DEVICE_UINT(DEVICE_MIN(DEVICE_MAX(v, 0.0f), most));
}

/* The scale that the block has: for iq4_nl the one that fits its codes best. */
DEVICE_FN float device_cache_stored_scale(DEVICE_VALUES, uint32_t type, float scale)
{
	float products = 0.0f, squares = 0.0f;

	if (type != DEVICE_CACHE_IQ4_NL)
		return scale;
	for (uint32_t j = 0u; j < 32u; j++) {
		float x = DEVICE_VALUE(j);
		float v = DEVICE_FLOAT(DEVICE_IQ4(device_cache_code(x, type, scale, 0.0f)));

		products += x * x * v * x;
		squares += x * x * v * v;
	}
	return squares > 0.0f && squares < 3e38f && DEVICE_ABS(products) < 3e38f ? products / squares
										  : scale;
}

/* Byte i of a block with this scale, stored scale and least value. */
DEVICE_FN uint32_t device_cache_byte(DEVICE_VALUES, uint32_t type, float scale, float stored,
				     float least, uint32_t i)
{
	uint32_t v = 0u, j = i - DEVICE_CACHE_NIBBLES(type);

	if (i < 2u)
		return DEVICE_F16_BITS(stored) >> 8u * i & 255u;
	if (i < DEVICE_CACHE_FIFTH(type))
		return DEVICE_F16_BITS(least) >> 8u * (i - 2u) & 255u;
	if (i >= DEVICE_CACHE_NIBBLES(type))
		return (device_cache_code(DEVICE_VALUE(j), type, scale, least) & 15u) |
		       (device_cache_code(DEVICE_VALUE(j + 16u), type, scale, least) & 15u) << 4;
	j = 8u * (i - DEVICE_CACHE_FIFTH(type));
	for (uint32_t k = 0u; k < 8u; k++)
		v |= device_cache_code(DEVICE_VALUE(j + k), type, scale, least) >> 4 << k;
	return v;
}

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_CACHE_H */
