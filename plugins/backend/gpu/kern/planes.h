/* SPDX-License-Identifier: MIT
 *
 * planes.h - on the device: rows of block types in the order of backend/common/planes.h, so that
 * neighbouring threads read neighbouring vectors of 16 bytes.  A row begins at a multiple of 16. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_PLANES_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_PLANES_H

#include "backend/common/exact_math.h"
#include "backend/gpu/kern/types.h"

/* What one thread loads of a group. */
struct gpu_raw {
	struct gpu_four codes, more;
	uint32_t a, b;
};

/* A group as integers: value i is byte i % 4 of lo[i / 4], or of hi[i / 4 - 4], and stands for
 * d * factor * (byte - offset) + m; the factor is s0 for the first 16, s1 for the others. */
struct gpu_ints {
	uint32_t lo[4], hi[4];
	float d, m;
	int32_t s0, s1;
};

GPU_FN uint32_t gpu_plane2(const uint8_t *p)
{
	return *(const uint16_t *)(const void *)p;
}

GPU_FN uint32_t gpu_plane4(const uint8_t *p)
{
	return *(const uint32_t *)(const void *)p;
}

/* What belongs to group g besides its codes; n: groups of the row. */
GPU_FN void gpu_planes_load_rest(uint32_t type, const uint8_t *row, uint32_t g, uint32_t n,
				 struct gpu_raw *r)
{
	const uint8_t *after = row + 16 * n;

	switch (type) {
	case GPU_Q8_0:
		r->a = gpu_plane2(after + 16 * n + 2 * g);
		break;
	case GPU_Q4_K:
		r->more = gpu_stream16(after + 16 * (g / 8));
		break;
	case GPU_Q5_K:
		r->a = gpu_plane4(after + 4 * g);
		r->more = gpu_stream16(after + 4 * n + 16 * (g / 8));
		break;
	case GPU_Q6_K:
		r->more.v[0] = gpu_plane4(after + 8 * g);
		r->more.v[1] = gpu_plane4(after + 8 * g + 4);
		r->a = gpu_plane2(after + 8 * n + 2 * g);
		r->b = gpu_plane2(after + 10 * n + 2 * (g / 8));
		break;
	case GPU_IQ4_XS:
		r->a = gpu_plane4(after + 8 * (g / 8));
		r->b = gpu_plane4(after + 8 * (g / 8) + 4);
		break;
	case GPU_MXFP4:
		r->a = after[g];
		break;
	default: /* Q4_0, IQ4_NL */
		r->a = gpu_plane2(after + 2 * g);
		break;
	}
}

GPU_FN void gpu_planes_load(uint32_t type, const uint8_t *row, uint32_t g, uint32_t n,
			    struct gpu_raw *r)
{
	r->codes = gpu_stream16(row + 16 * g);
	if (type == GPU_Q8_0)
		r->more = gpu_stream16(row + 16 * (n + g));
	gpu_planes_load_rest(type, row, g, n, r);
}

/* Scale and minimum of group j of a K block, from the three words with its scales. */
GPU_FN void gpu_planes_scale(const struct gpu_four *head, uint32_t j, uint32_t *scale,
			     uint32_t *min)
{
	uint32_t shift = 8 * (j % 4), x = head->v[1] >> shift & 255, y = head->v[2] >> shift & 255,
		 z = head->v[3] >> shift & 255;

	*scale = j < 4 ? x & 63 : (z & 15) | x >> 6 << 4;
	*min = j < 4 ? y & 63 : z >> 4 | y >> 6 << 4;
}

/* The codebook's numbers for four nibbles. */
GPU_FN uint32_t gpu_planes_book(const uint32_t *book, uint32_t nibbles)
{
	uint32_t low = gpu_bytes(book[0], book[1], nibbles);
	uint32_t high = gpu_bytes(book[2], book[3], nibbles);

	return gpu_bytes(low, high, 0x3210u | (nibbles & 0x8888u) >> 1);
}

/* Bytes of word i of the codes: values 4i..4i+3 and 4i+16..4i+19; second: the second word of
 * Q8_0. */
GPU_FN void gpu_planes_word(uint32_t type, const struct gpu_raw *r, uint32_t i, uint32_t word,
			    uint32_t second, uint32_t *lo, uint32_t *hi)
{
	const uint32_t iq4[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
	const uint32_t fp4[4] = {0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu};

	if (type == GPU_Q8_0) {
		*lo = word;
		*hi = second;
	} else if (type == GPU_IQ4_NL || type == GPU_IQ4_XS || type == GPU_MXFP4) {
		*lo = gpu_planes_book(type == GPU_MXFP4 ? fp4 : iq4, word & 0xffff);
		*hi = gpu_planes_book(type == GPU_MXFP4 ? fp4 : iq4, word >> 16);
	} else {
		*lo = word & 0x0f0f0f0fu;
		*hi = word >> 4 & 0x0f0f0f0fu;
	}
	if (type == GPU_Q5_K) {
		*lo |= (r->a >> i & 0x01010101u) << 4;
		*hi |= (r->a >> (i + 4) & 0x01010101u) << 4;
	}
	if (type == GPU_Q6_K) {
		*lo |= (r->more.v[0] >> 2 * i & 0x03030303u) << 4;
		*hi |= (r->more.v[1] >> 2 * i & 0x03030303u) << 4;
	}
}

/* Factors of group g. */
GPU_FN void gpu_planes_factors(uint32_t type, const struct gpu_raw *r, uint32_t g,
			       struct gpu_ints *w)
{
	uint32_t sc, mn;

	w->m = 0;
	w->s0 = w->s1 = 1;
	switch (type) {
	case GPU_Q4_K:
	case GPU_Q5_K:
		gpu_planes_scale(&r->more, g % 8, &sc, &mn);
		w->d = gpu_half_to_float((uint16_t)r->more.v[0]) * (float)sc;
		w->m = -(gpu_half_to_float((uint16_t)(r->more.v[0] >> 16)) * (float)mn);
		break;
	case GPU_Q6_K:
		w->d = gpu_half_to_float((uint16_t)r->b);
		w->s0 = (int8_t)r->a;
		w->s1 = (int8_t)(r->a >> 8);
		break;
	case GPU_IQ4_XS:
		sc = (r->b >> 4 * (g % 8) & 15) | (r->a >> (16 + 2 * (g % 8)) & 3) << 4;
		w->d = gpu_half_to_float((uint16_t)r->a) * (float)((int32_t)sc - 32);
		break;
	case GPU_MXFP4:
		w->d = gpu_e8m0_half(r->a);
		break;
	default:
		w->d = gpu_half_to_float((uint16_t)r->a);
		break;
	}
}

GPU_FN void gpu_planes_unpack(uint32_t type, const struct gpu_raw *r, uint32_t g,
			      struct gpu_ints *w)
{
	GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++)
		gpu_planes_word(type, r, i, r->codes.v[i], type == GPU_Q8_0 ? r->more.v[i] : 0,
				&w->lo[i], &w->hi[i]);
	gpu_planes_factors(type, r, g, w);
}

/* What codes exceed their values by. */
GPU_FN int32_t gpu_planes_offset(uint32_t type)
{
	return type == GPU_Q4_0 ? 8 : type == GPU_Q6_K ? 32 : 0;
}

/* Decodes a group to f32, with the bits of formats.md. */
GPU_FN void gpu_planes_decode32(uint32_t type, const uint8_t *row, uint32_t g, uint32_t k,
				float *out)
{
	struct gpu_raw raw;
	struct gpu_ints w;

	gpu_planes_load(type, row, g, k / 32, &raw);
	gpu_planes_unpack(type, &raw, g, &w);
	GPU_UNROLL
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t word = i < 16 ? w.lo[i / 4] : w.hi[i / 4 - 4];
		int32_t v = (int8_t)(word >> 8 * (i % 4)) - gpu_planes_offset(type);

		out[i] = DEVICE_ADD(DEVICE_MUL(w.d, (float)(v * (i < 16 ? w.s0 : w.s1))), w.m);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_PLANES_H */
