/* SPDX-License-Identifier: MIT
 *
 * device_types.h - the block types that device_decode.h decodes on devices, for C and for shaders.
 * The others that devices decode have decoders of their own (gpu/kern/decode.h,
 * vulkan/shaders/decode.glsl). */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_TYPES_H

/* clang-format off */

/* M(A, constant without LMD_DTYPE_, name, its number, bytes at the start of a row, bytes of a block,
 * groups of 32 values in a block).  A is passed on. */
#define DEVICE_TYPES(M, A) \
	M(A, IQ2_XXS, iq2_xxs, 16u, 0u, 66u, 8u) \
	M(A, IQ2_XS, iq2_xs, 17u, 0u, 74u, 8u) \
	M(A, IQ3_XXS, iq3_xxs, 18u, 0u, 98u, 8u) \
	M(A, IQ1_S, iq1_s, 19u, 0u, 50u, 8u) \
	M(A, IQ3_S, iq3_s, 21u, 0u, 110u, 8u) \
	M(A, IQ2_S, iq2_s, 22u, 0u, 82u, 8u) \
	M(A, IQ1_M, iq1_m, 29u, 0u, 56u, 8u) \
	M(A, TQ1_0, tq1_0, 34u, 0u, 54u, 8u) \
	M(A, TQ2_0, tq2_0, 35u, 0u, 66u, 8u) \
	M(A, NVFP4, nvfp4, 40u, 0u, 36u, 2u) \
	M(A, Q1_0, q1_0, 41u, 0u, 18u, 4u) \
	M(A, Q2_0, q2_0, 42u, 0u, 18u, 2u) \
	M(A, Q8_A, q8_a, 63u, 0u, 40u, 1u) \
	M(A, Q6_0, q6_0, 133u, 0u, 26u, 1u) \
	M(A, IQ1_BN, iq1_bn, 134u, 2u, 13u, 2u) \
	M(A, IQ2_BN, iq2_bn, 135u, 4u, 16u, 2u) \
	M(A, IQ2_K, iq2_k, 137u, 0u, 76u, 8u) \
	M(A, IQ3_K, iq3_k, 138u, 0u, 110u, 8u) \
	M(A, IQ4_K, iq4_k, 139u, 0u, 144u, 8u) \
	M(A, IQ5_K, iq5_k, 140u, 0u, 176u, 8u) \
	M(A, IQ6_K, iq6_k, 141u, 0u, 212u, 8u) \
	M(A, PQ2_0, pq2_0, 142u, 0u, 34u, 4u) \
	M(A, IQ4_KS, iq4_ks, 144u, 4u, 136u, 8u) \
	M(A, IQ2_KS, iq2_ks, 145u, 2u, 70u, 8u) \
	M(A, IQ4_KSS, iq4_kss, 146u, 4u, 128u, 8u) \
	M(A, Q8_KV, q8_kv, 151u, 8u, 32u, 1u) \
	M(A, IQ5_KS, iq5_ks, 152u, 4u, 168u, 8u) \
	M(A, IQ2_KT, iq2_kt, 153u, 4u, 68u, 8u) \
	M(A, IQ3_KT, iq3_kt, 154u, 4u, 100u, 8u) \
	M(A, IQ4_KT, iq4_kt, 155u, 4u, 128u, 8u) \
	M(A, IQ3_KS, iq3_ks, 156u, 2u, 102u, 8u) \
	M(A, IQ2_KL, iq2_kl, 157u, 2u, 86u, 8u) \
	M(A, IQ1_KT, iq1_kt, 158u, 4u, 56u, 8u)

/* clang-format on */

/* ---- caches: blocks of 32 values of 4 or 5 bits (device_cache.h) ---- */

/* Numbers of enum lmd_dtype. */
#define DEVICE_CACHE_Q4_0   2u
#define DEVICE_CACHE_Q4_1   3u
#define DEVICE_CACHE_Q5_0   6u
#define DEVICE_CACHE_Q5_1   7u
#define DEVICE_CACHE_IQ4_NL 20u

#define DEVICE_CACHE_IS_BLOCKS(type)                                                               \
	((type) == DEVICE_CACHE_Q4_0 || (type) == DEVICE_CACHE_Q4_1 ||                             \
	 (type) == DEVICE_CACHE_Q5_0 || (type) == DEVICE_CACHE_Q5_1 ||                             \
	 (type) == DEVICE_CACHE_IQ4_NL)
/* Codes count from the least value, which follows the scale. */
#define DEVICE_CACHE_IS_RANGED(type) ((type) == DEVICE_CACHE_Q4_1 || (type) == DEVICE_CACHE_Q5_1)
/* Bit 4 of all codes precedes the others. */
#define DEVICE_CACHE_HAS_FIFTH(type) ((type) == DEVICE_CACHE_Q5_0 || (type) == DEVICE_CACHE_Q5_1)

/* Where in a block the fifth bits begin, or the nibbles if it has none; and where the nibbles do. */
#define DEVICE_CACHE_FIFTH(type)   (DEVICE_CACHE_IS_RANGED(type) ? 4u : 2u)
#define DEVICE_CACHE_NIBBLES(type)                                                                 \
	(DEVICE_CACHE_FIFTH(type) + (DEVICE_CACHE_HAS_FIFTH(type) ? 4u : 0u))
#define DEVICE_CACHE_BYTES(type)   (DEVICE_CACHE_NIBBLES(type) + 16u)

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_DEVICE_TYPES_H */
