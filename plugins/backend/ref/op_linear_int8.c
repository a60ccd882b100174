/* SPDX-License-Identifier: MIT
 *
 * Products with activations rounded to 8 or 16 bits.  This is the reference that integer kernels
 * must match bit for bit.
 *
 * Activations, for each 32 neighbouring values x[0..32) of a row:
 *     amax = max |x[i]|;  d = amax / 127.0f;  inv = amax > 0 ? 127.0f / amax : 0
 *     q[i] = x[i] * inv rounded to the nearest integer, ties to even          in -127..127
 *     s = sum of q[i];  e = d * (float)s                                       (s: integer)
 *
 * In each block b of 32, weights of the types below are integers P[i] with a factor D and, for the
 * types with a minimum, an offset M (all three exact in f32):
 *     w[i] = D * P[i] + M
 *
 *   type   P                          D            M
 *   q4_0   nibble - 8                 d            none
 *   q4_1   nibble                     d            m
 *   q5_0   5 bits - 16                d            none
 *   q5_1   5 bits                     d            m
 *   q8_0   q                          d            none
 *   q4_k   nibble                     d * sc       -(dmin * mn)      sc, mn: 6 bits for 32
 *   q5_k   5 bits                     d * sc       -(dmin * mn)
 *   q6_k   sc * (6 bits - 32)         d            none              sc: 8 bits for 16
 *   q3_k   (sc - 32) * (3 bits - 4)   d            none              sc: 6 bits for 16
 *   iq4_nl codebook[nibble]           d            none              see docs/formats.md
 *   iq4_xs codebook[nibble]           d * (sc-32)  none              sc: 6 bits for 32
 *   mxfp4  2 * E2M1 of the nibble     2^(e-128)    none
 *   nvfp4  2 * E2M1 of the nibble     scale / 2    the next scale / 2: D of the last 16 values
 *   q2_k   sc * (2 bits)              d            -dmin, times mn   sc, mn: 4 bits for 16
 *
 * In types with integer multiples of d / parts (HOST_MEM_INT8_MULTIPLES), P is the multiple, D is
 * d / parts, and there is no M.  With HOST_MEM_INT8_SCALES D is d times an integer scale of the
 * block, scale_of(), and P is the multiple divided by it, or 0 if it is 0.
 *
 * An output is computed in f32, with each operation rounded separately (no fused multiply-add) and
 * blocks in ascending order, as
 *     sum = 0
 *     for b:  i = sum over the block of P*q                                    (integer, < 2^24)
 *             sum = sum + ((D * d) * (float)i + M * e)                         types with M
 *             sum = sum + (D * d) * (float)i                                   all others
 * and for q2_k, which has a minimum for each 16 values, as
 *             j = mn0 * (sum of q, first half) + mn1 * (sum of q, second half)
 *             sum = sum + ((D * d) * (float)i + (M * d) * (float)j)
 * and for nvfp4, which has a scale for each 16 values, with the sums i0 and i1 of P*q over the
 * first and the last 16, as
 *             sum = sum + ((D * d) * (float)i0 + (M * d) * (float)i1)
 * Any other type is decoded and multiplied in float.
 *
 * Activations of 16 bits are two rows of 8 bits: that of x, and that of what it leaves out,
 *     r[i] = x[i] - d * (float)q[i]
 * rounded in the same way with a d of its own.  The output is the sum of the two outputs, that of x
 * first, each computed as above, added in f32. */
#include <string.h>

#include "backend/common/int8_types.h"
#include "kernels.h"
#include "product.h"

/* One weight row, unpacked. */
struct row {
	int16_t *p;   /* [k] */
	float *d, *m; /* [k/32] */
	int16_t *mn;  /* [k/16] minima of Q2_K */
};

static float f16(const uint8_t *p)
{
	uint32_t h = (uint32_t)p[0] | (uint32_t)p[1] << 8, exp = h >> 10 & 31, man = h & 1023, bits;
	float v = (float)man * 0x1p-24f;

	if (exp) {
		bits = (exp == 31 ? 255u : exp + 112) << 23 | man << 13;
		memcpy(&v, &bits, sizeof(v));
	}
	return h & 0x8000 ? -v : v;
}

static void nibbles(const uint8_t *qs, int16_t *p)
{
	for (int j = 0; j < 16; j++) {
		p[j] = qs[j] & 15;
		p[j + 16] = qs[j] >> 4;
	}
}

static void fifth_bits(const uint8_t *qh, int16_t *p)
{
	for (int j = 0; j < 32; j++)
		p[j] = (int16_t)(p[j] + ((qh[j / 8] >> (j % 8) & 1) << 4));
}

static void shift(int16_t *p, int by)
{
	for (int j = 0; j < 32; j++)
		p[j] = (int16_t)(p[j] - by);
}

static const int8_t book_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
				    1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t book_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void look_up(const int8_t *book, int16_t *p)
{
	for (int j = 0; j < 32; j++)
		p[j] = book[p[j]];
}

static void unpack_32(uint32_t dtype, const uint8_t *b, int16_t *p, float *d, float *m)
{
	*d = f16(b);
	*m = 0;
	switch (dtype) {
	case LMD_DTYPE_Q4_0:
		nibbles(b + 2, p);
		shift(p, 8);
		break;
	case LMD_DTYPE_Q4_1:
		*m = f16(b + 2);
		nibbles(b + 4, p);
		break;
	case LMD_DTYPE_Q5_0:
		nibbles(b + 6, p);
		fifth_bits(b + 2, p);
		shift(p, 16);
		break;
	case LMD_DTYPE_Q5_1:
		*m = f16(b + 2);
		nibbles(b + 8, p);
		fifth_bits(b + 4, p);
		break;
	case LMD_DTYPE_IQ4_NL:
		nibbles(b + 2, p);
		look_up(book_iq4, p);
		break;
	case LMD_DTYPE_MXFP4:
		*d = ldexpf(1, b[0] - 128);
		nibbles(b + 1, p);
		look_up(book_fp4, p);
		break;
	default: /* Q8_0 */
		for (int j = 0; j < 32; j++)
			p[j] = (int8_t)b[2 + j];
		break;
	}
}

/* The 6-bit scale and minimum of sub-block j. */
static void scale_min(const uint8_t *s, int j, int *sc, int *mn)
{
	if (j < 4) {
		*sc = s[j] & 63;
		*mn = s[j + 4] & 63;
	} else {
		*sc = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
		*mn = (s[j + 4] >> 4) | (s[j] >> 6) << 4;
	}
}

/* Q4_K, or Q5_K if `five`: the latter has the fifth bits before the nibbles. */
static void unpack_k45(bool five, const uint8_t *b, int16_t *p, float *d, float *m)
{
	float dall = f16(b), dmin = f16(b + 2);
	const uint8_t *qh = b + 16, *qs = b + (five ? 48 : 16);

	for (int j = 0; j < 8; j++) {
		int sc, mn;

		scale_min(b + 4, j, &sc, &mn);
		for (int l = 0; l < 32; l++) {
			int q = j % 2 ? qs[32 * (j / 2) + l] >> 4 : qs[32 * (j / 2) + l] & 15;

			if (five)
				q += (qh[l] >> j & 1) << 4;
			p[32 * j + l] = (int16_t)q;
		}
		d[j] = dall * (float)sc;
		m[j] = -(dmin * (float)mn);
	}
}

static void unpack_k6(const uint8_t *b, int16_t *p, float *d, float *m)
{
	float dall = f16(b + 208);

	for (int e = 0; e < 256; e++) {
		int h = e / 128, quarter = e % 128 / 32, l = e % 32;
		int low = b[64 * h + 32 * (quarter % 2) + l] >> 4 * (quarter / 2) & 15;
		int high = b[128 + 32 * h + l] >> 2 * quarter & 3;

		p[e] = (int16_t)((int8_t)b[192 + e / 16] * ((low | high << 4) - 32));
	}
	for (int j = 0; j < 8; j++) {
		d[j] = dall;
		m[j] = 0;
	}
}

static void unpack_k3(const uint8_t *b, int16_t *p, float *d, float *m)
{
	const uint8_t *qs = b + 32, *s = b + 96;

	for (int e = 0; e < 256; e++) {
		int h = e / 128, j = e % 128 / 32, l = e % 32, i = e / 16;
		int sc = (i < 8 ? s[i] & 15 : s[i - 8] >> 4) | (s[8 + i % 4] >> 2 * (i / 4) & 3)
								       << 4;
		int q = (qs[32 * h + l] >> 2 * j & 3) | (b[l] >> (4 * h + j) & 1) << 2;

		p[e] = (int16_t)((sc - 32) * (q - 4));
	}
	for (int j = 0; j < 8; j++) {
		d[j] = f16(b + 108);
		m[j] = 0;
	}
}

static void unpack_iq4_xs(const uint8_t *b, int16_t *p, float *d, float *m)
{
	uint32_t high = (uint32_t)b[2] | (uint32_t)b[3] << 8;

	for (int j = 0; j < 8; j++) {
		uint32_t sc = (b[4 + j / 2] >> 4 * (j % 2) & 15) | (high >> 2 * j & 3) << 4;

		nibbles(b + 8 + 16 * j, p + 32 * j);
		look_up(book_iq4, p + 32 * j);
		d[j] = f16(b) * ((float)sc - 32);
		m[j] = 0;
	}
}

/* The factor of the last 16 of 32 values goes to m. */
static void unpack_nvfp4(const uint8_t *b, int16_t *p, float *d, float *m)
{
	for (int i = 0; i < 64; i++) {
		int byte = 4 + i / 16 * 8 + i % 8;

		p[i] = book_fp4[i % 16 < 8 ? b[byte] & 15 : b[byte] >> 4];
	}
	for (int g = 0; g < 4; g++) {
		int exp = b[g] >> 3 & 15, man = b[g] & 7;
		float v = exp ? ldexpf((float)(8 + man), exp - 11) : ldexpf((float)man, -10);

		*(g % 2 ? &m[g / 2] : &d[g / 2]) = b[g] == 0x7f ? 0 : v;
	}
}

static void unpack_k2(const uint8_t *b, int16_t *p, float *d, float *m, int16_t *mn)
{
	for (int e = 0; e < 256; e++) {
		int q = b[16 + 32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3;

		p[e] = (int16_t)((b[e / 16] & 15) * q);
		mn[e / 16] = b[e / 16] >> 4;
	}
	for (int j = 0; j < 8; j++) {
		d[j] = f16(b + 80);
		m[j] = -f16(b + 82);
	}
}

/* The integer by which d is multiplied in block j of 32 of a larger block. */
static int scale_of(uint32_t dtype, const uint8_t *b, int j)
{
	switch (dtype) {
	case LMD_DTYPE_IQ2_KS:
		return (b[2 + j / 2] >> 4 * (j % 2) & 15) + 16 * (b[1] >> j & 1) - 16;
	case LMD_DTYPE_IQ3_KS:
		return (b[2 + j % 4] >> 4 * (j / 4) & 15) + 16 * (b[0] >> j & 1) - 16;
	default: /* IQ4_KS, IQ5_KS */
		return 2 * (b[j] / 2) - 127;
	}
}

/* d of a row of a type with HOST_MEM_INT8_ROW_D. */
static float row_factor(const struct host_mem_int8_type *t, const uint8_t *row)
{
	float d;

	if (t->d == 2)
		return f16(row);
	memcpy(&d, row, sizeof(d));
	return d;
}

/* Begins a row of one block at b with d = 1; returns where the block goes. */
static uint8_t *row_of_one(const struct host_mem_int8_type *t, uint8_t *b)
{
	const float one = 1;

	if (!(t->has & HOST_MEM_INT8_ROW_D))
		return b;
	memset(b, 0, (size_t)t->d);
	if (t->d == 2)
		b[1] = 0x3c;
	else
		memcpy(b, &one, sizeof(one));
	return b + t->d;
}

/* Unpacks a block of a type whose values are integer multiples of d / parts.  Decoding with d = 1
 * gives the multiples.  row: where the row begins. */
static void unpack_multiple(const struct lmd_host *h, const struct host_mem_int8_type *t,
			    const uint8_t *row, const uint8_t *raw, int16_t *p, float *d, float *m)
{
	const bool in_row = t->has & HOST_MEM_INT8_ROW_D;
	const float unit = 1.0f / (float)t->parts;
	uint8_t mem[8 + 256], *b = row_of_one(t, mem), half[2] = {0};
	float x[256];

	memcpy(b, raw, t->bytes);
	for (int i = 0; t->d < 0 && i < 4; i++) {
		uint8_t *top = b + t->bytes - 7 + 2 * i;

		half[i / 2] |= (uint8_t)(*top >> 4 << 4 * (i % 2));
		*top = (uint8_t)((*top & 15) | (0x3c00 >> 4 * i & 15) << 4);
	}
	if (t->d >= 0 && !in_row) {
		memcpy(half, b + t->d, 2);
		b[t->d] = 0;
		b[t->d + 1] = 0x3c;
	}
	(void)h->dequant_rows(h->ctx, t->dtype, mem, x, t->values); /* tried at load */
	for (uint32_t j = 0; j < t->values / 32u; j++) {
		const bool scaled = t->has & HOST_MEM_INT8_SCALES;
		const float scale = scaled ? (float)scale_of(t->dtype, b, (int)j) : unit;

		for (uint32_t e = 32 * j; e < 32 * (j + 1); e++)
			p[e] = (int16_t)(scale != 0 ? lrintf(x[e] / scale) : 0);
		d[j] = (in_row ? row_factor(t, row) : f16(half)) * scale;
		m[j] = 0;
	}
}

static void unpack(const struct lmd_host *h, const struct lmd_weight *w, const uint8_t *raw,
		   const struct row *out)
{
	const struct host_mem_int8_type *t = host_mem_int8_type(w->dtype);
	const uint8_t *row = raw;

	if (t->has & HOST_MEM_INT8_ROW_D)
		raw += t->d;
	for (uint32_t at = 0; at < w->k; at += w->block_elems, raw += w->block_bytes) {
		if (t->has & HOST_MEM_INT8_MULTIPLES)
			unpack_multiple(h, t, row, raw, out->p + at, out->d + at / 32, out->m + at / 32);
		else if (w->dtype == LMD_DTYPE_Q2_K)
			unpack_k2(raw, out->p + at, out->d + at / 32, out->m + at / 32,
				  out->mn + at / 16);
		else if (w->dtype == LMD_DTYPE_NVFP4)
			unpack_nvfp4(raw, out->p + at, out->d + at / 32, out->m + at / 32);
		else if (w->dtype == LMD_DTYPE_Q6_K)
			unpack_k6(raw, out->p + at, out->d + at / 32, out->m + at / 32);
		else if (w->dtype == LMD_DTYPE_Q3_K)
			unpack_k3(raw, out->p + at, out->d + at / 32, out->m + at / 32);
		else if (w->dtype == LMD_DTYPE_IQ4_XS)
			unpack_iq4_xs(raw, out->p + at, out->d + at / 32, out->m + at / 32);
		else if (w->block_elems == 256)
			unpack_k45(w->dtype == LMD_DTYPE_Q5_K, raw, out->p + at, out->d + at / 32,
				   out->m + at / 32);
		else
			unpack_32(w->dtype, raw, out->p + at, out->d + at / 32, out->m + at / 32);
	}
}

/* Rounds the n <= 32 numbers of a block and leaves in x what that leaves out. */
static void round_block(float *x, uint32_t n, int8_t *q, float *d)
{
	float amax = 0, inv;

	for (uint32_t i = 0; i < n; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	*d = amax / 127.0f;
	inv = amax > 0 ? 127.0f / amax : 0.0f;
	for (uint32_t i = 0; i < n; i++) {
		float t;

		q[i] = (int8_t)fmaxf(-127, fminf(127, rintf(x[i] * inv)));
		t = *d * (float)q[i];
		x[i] -= t;
	}
}

void ref_int8_quantise(const float *x, uint32_t k, uint32_t n_q8, int8_t *q, float *d)
{
	const uint32_t nb = (k + 31) / 32;

	for (uint32_t b = 0; b < nb; b++) {
		uint32_t n = k - 32 * b < 32 ? k - 32 * b : 32;
		float rest[32];

		memcpy(rest, x + (size_t)32 * b, n * sizeof(*x));
		for (uint32_t i = 0; i < n_q8; i++)
			round_block(rest, n, q + (size_t)32 * (i * nb + b), d + i * nb + b);
	}
}

uint64_t ref_int8_bytes(uint32_t k)
{
	uint64_t bytes = 0;

	for (uint32_t j = 0; j < REF_TILE; j++) {
		host_mem_need(&bytes, 1, k * sizeof(int16_t));
		host_mem_need(&bytes, 1, k / 32 * sizeof(float));
		host_mem_need(&bytes, 1, k / 32 * sizeof(float));
		host_mem_need(&bytes, 1, k / 16 * sizeof(int16_t));
	}
	host_mem_need(&bytes, 1, k / 16 * sizeof(int32_t));
	host_mem_need(&bytes, 1, k / 16 * sizeof(float));
	return bytes;
}

/* Sums of P*q over each half of a block. */
static void half_dots(const int16_t *p, const int8_t *q, uint32_t k, float *dots)
{
	for (uint32_t i = 0; i < k; i += 16) {
		int32_t s = 0;

		for (uint32_t e = 0; e < 16; e++)
			s += p[i + e] * q[i + e];
		dots[i / 16] = (float)s;
	}
}

/* dots: the sums of P*q over each block, for nvfp4 over each half of a block; sums: the sums of q
 * over each half of a block. */
static float output(const struct row *w, uint32_t has, const float *dots, const float *d,
		    const int32_t *sums, uint32_t k)
{
	float sum = 0;

	for (uint32_t b = 0; b < k / 32; b++) {
		float t = (w->d[b] * d[b]) * dots[has & HOST_MEM_INT8_TWO_D ? 2 * b : b];

		if (has & HOST_MEM_INT8_TWO_D)
			t += (w->m[b] * d[b]) * dots[2 * b + 1];
		else if (has & HOST_MEM_INT8_MINIMA)
			t += (w->m[b] * d[b]) * (float)(w->mn[2 * b] * sums[2 * b] +
							w->mn[2 * b + 1] * sums[2 * b + 1]);
		else if (has & HOST_MEM_INT8_MIN)
			t += w->m[b] * (d[b] * (float)(sums[2 * b] + sums[2 * b + 1]));
		sum += t;
	}
	return sum;
}

/* The rows that a part has unpacked. */
struct tile {
	struct row row[REF_TILE];
	uint32_t has, k, count;
	int32_t *sums; /* [k/16] */
	float *dots;   /* [k/16] */
};

/* out[0..count): the rows of the tile times q, a row of 8 bits. */
static void multiply(const struct ref_run *r, const struct tile *t, const int8_t *q, const float *d,
		     float *out)
{
	for (size_t b = 0; b < t->k / 16; b++) {
		t->sums[b] = 0;
		for (size_t e = 0; e < 16; e++)
			t->sums[b] += q[16 * b + e];
	}
	for (uint32_t j = 0; j < t->count; j++) {
		if (t->has & HOST_MEM_INT8_TWO_D)
			half_dots(t->row[j].p, q, t->k, t->dots);
		else
			r->dev->kernels->iblocks(t->row[j].p, q, t->k, t->dots);
		out[j] = output(&t->row[j], t->has, t->dots, d, t->sums, t->k);
	}
}

void ref_int8_product(const struct ref_run *r, const struct ref_x *x, const struct ref_items *items,
		      const struct lmd_weight *w, uint64_t lo, uint64_t hi, char *scratch,
		      ref_emit_fn emit, void *arg)
{
	struct tile t = {.has = host_mem_int8_type(w->dtype)->has, .k = w->k};
	size_t nb = w->k / 32;

	for (uint32_t j = 0; j < REF_TILE; j++) {
		t.row[j].p = host_mem_take(&scratch, 1, w->k * sizeof(int16_t));
		t.row[j].d = host_mem_take(&scratch, 1, nb * sizeof(float));
		t.row[j].m = host_mem_take(&scratch, 1, nb * sizeof(float));
		t.row[j].mn = host_mem_take(&scratch, 1, 2 * nb * sizeof(int16_t));
	}
	t.sums = host_mem_take(&scratch, 1, 2 * nb * sizeof(int32_t));
	t.dots = host_mem_take(&scratch, 1, 2 * nb * sizeof(float));
	for (uint64_t n = lo; n < hi; n += REF_TILE) {
		t.count = hi - n < REF_TILE ? (uint32_t)(hi - n) : REF_TILE;
		for (uint32_t j = 0; j < t.count; j++)
			unpack(r->host_mem.host, w,
			       host_mem_weight_at(w, (uint32_t)((n + j) / w->n),
						  (uint32_t)((n + j) % w->n)),
			       &t.row[j]);
		for (uint32_t i = 0; i < items->count; i++) {
			uint32_t it = ref_item(items, i);
			size_t row = (size_t)(it / items->div) * x->n_q8;
			float out[REF_TILE], more[REF_TILE];

			multiply(r, &t, x->q + row * nb * 32, x->d + row * nb, out);
			for (uint32_t a = 1; a < x->n_q8; a++) {
				row++;
				multiply(r, &t, x->q + row * nb * 32, x->d + row * nb, more);
				for (uint32_t j = 0; j < t.count; j++)
					out[j] += more[j];
			}
			emit(arg, it, (uint32_t)n, t.count, out);
		}
	}
}
