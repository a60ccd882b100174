/* SPDX-License-Identifier: MIT
 *
 * Decodes packed codes: rows of them as floats, or as blocks of the type that holds the same
 * numbers (quant_scheme.c describes the layouts). */
#include <stdio.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/base/float16.h"
#include "core/quant/quant.h"

/* One row of codes: x = d q + m, or d (q - z). */
struct coded {
	uint8_t *q;       /* [cols] */
	float *d, *m;     /* [groups]; m: minimum or zero point */
	uint32_t *group;  /* [cols], or NULL: column / group size */
	bool zero_based;
};

/* GPTQ and AWQ store the codes by columns, so their tensors are read as a whole: qweight, qzeros,
 * scales, g_idx. */
static enum lmd_status load_whole(struct lmi_checkpoint *f,
				  const struct lmi_checkpoint_weight_source *s,
				  struct lmd_error *err)
{
	const struct lmi_st_tensor *all[4] = {s->w, s->zero, s->scale, s->order};
	uint64_t n = 0;
	enum lmd_status st = LMD_OK;
	uint8_t *p;

	if (f->whole_tensor == s->w)
		return LMD_OK;
	f->whole_tensor = NULL;
	for (size_t i = 0; i < LMD_LEN(all); i++)
		n += all[i] ? all[i]->bytes : 0;
	p = lmi_checkpoint_scratch_reserve(&f->whole, n, 1, err);
	if (!p)
		return LMD_NOMEM;
	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(all); i++) {
		if (!all[i])
			continue;
		st = lmi_checkpoint_source_read(f, all[i], 0, p, (size_t)all[i]->bytes, err);
		p += all[i]->bytes;
	}
	if (st == LMD_OK)
		f->whole_tensor = s->w;
	return st;
}

static void gptq_row(const struct lmi_checkpoint_weight_source *s, const uint8_t *w, uint64_t row,
		     struct coded *c)
{
	const uint8_t *zero = w + s->w->bytes, *scale = zero + s->zero->bytes;
	const uint8_t *order = scale + s->scale->bytes;
	uint32_t per = 32 / s->bits, mask = (1u << s->bits) - 1;
	uint64_t groups = s->cols / s->group, each = lmi_st_type_bytes(s->scale->type);

	for (uint64_t g = 0; g < groups; g++) {
		uint32_t z = lmi_get_le32(zero + 4 * (g * (s->rows / per) + row / per));

		lmi_checkpoint_st_decode(s->scale->type, scale + each * (g * s->rows + row),
					 &c->d[g], 1);
		c->m[g] = (float)((z >> row % per * s->bits & mask) + s->zero_offset);
	}
	for (uint64_t i = 0; i < s->cols; i++) {
		uint32_t v = lmi_get_le32(w + 4 * (i / per * s->rows + row));

		c->q[i] = (uint8_t)(v >> i % per * s->bits & mask);
		if (s->order)
			c->group[i] = lmi_get_le32(order + 4 * i);
	}
}

static void awq_row(const struct lmi_checkpoint_weight_source *s, const uint8_t *w, uint64_t row,
		    struct coded *c)
{
	static const uint8_t nibble[8] = {0, 4, 1, 5, 2, 6, 3, 7}; /* nibble of value k */
	const uint8_t *zero = w + s->w->bytes, *scale = zero + s->zero->bytes;
	uint64_t groups = s->cols / s->group, each = lmi_st_type_bytes(s->scale->type);
	uint64_t words = s->rows / 8;
	uint32_t shift = 4u * nibble[row % 8];

	for (uint64_t g = 0; g < groups; g++) {
		lmi_checkpoint_st_decode(s->scale->type, scale + each * (g * s->rows + row),
					 &c->d[g], 1);
		c->m[g] = (float)(lmi_get_le32(zero + 4 * (g * words + row / 8)) >> shift & 15);
	}
	for (uint64_t i = 0; i < s->cols; i++)
		c->q[i] = (uint8_t)(lmi_get_le32(w + 4 * (i * words + row / 8)) >> shift & 15);
}

/* Decodes a row stored as a little-endian stream of codes. */
static enum lmd_status stream_row(struct lmi_checkpoint *f,
				  const struct lmi_checkpoint_weight_source *s, uint64_t row,
				  struct coded *c, struct lmd_error *err)
{
	uint64_t bytes = s->cols * s->bits / 8, groups = s->cols / s->group;
	enum lmd_status st =
		lmi_checkpoint_source_values(f, s->scale, row * groups, groups, c->d, err);
	uint8_t *p;

	if (st == LMD_OK && s->zero)
		st = lmi_checkpoint_source_values(f, s->zero, row * groups, groups, c->m, err);
	for (uint64_t g = 0; !s->zero && g < groups; g++)
		c->m[g] = 8;
	p = st == LMD_OK ? lmi_checkpoint_scratch_reserve(&f->raw, bytes + 1, 1, err) : NULL;
	if (!p)
		return st == LMD_OK ? LMD_NOMEM : st;
	st = lmi_checkpoint_source_read(f, s->w, row * bytes, p, (size_t)bytes, err);
	p[bytes] = 0;
	for (uint64_t i = 0; st == LMD_OK && i < s->cols; i++) {
		uint64_t bit = i * s->bits;

		c->q[i] = (uint8_t)((uint32_t)(p[bit / 8] | p[bit / 8 + 1] << 8) >> bit % 8 &
				    ((1u << s->bits) - 1));
	}
	return st;
}

static enum lmd_status coded_row(struct lmi_checkpoint *f,
				 const struct lmi_checkpoint_weight_source *s, uint64_t row,
				 struct coded *c, struct lmd_error *err)
{
	uint64_t groups = s->cols / s->group;
	uint8_t *p = lmi_checkpoint_scratch_reserve(&f->codes, groups * 8 + s->cols * 5, 1, err);
	enum lmd_status st = LMD_OK;

	if (!p)
		return LMD_NOMEM;
	c->d = (float *)(void *)p;
	c->m = c->d + groups;
	c->group = s->order ? (uint32_t *)(void *)(c->m + groups) : NULL;
	c->q = p + groups * 8 + s->cols * 4;
	c->zero_based = s->scheme != LMI_CHECKPOINT_SCHEME_AFFINE;
	if (s->scheme != LMI_CHECKPOINT_SCHEME_GPTQ && s->scheme != LMI_CHECKPOINT_SCHEME_AWQ)
		return stream_row(f, s, row, c, err);
	st = load_whole(f, s, err);
	if (st != LMD_OK)
		return st;
	if (s->scheme == LMI_CHECKPOINT_SCHEME_AWQ)
		awq_row(s, f->whole.p, row, c);
	else
		gptq_row(s, f->whole.p, row, c);
	for (uint64_t i = 0; c->group && i < s->cols; i++)
		if (c->group[i] >= groups)
			return lmd_fail(err, LMD_CORRUPT,
					"tensor %.80s: element %llu is %u, must be below %llu",
					s->order->name, (unsigned long long)i, c->group[i],
					(unsigned long long)groups);
	return LMD_OK;
}

/* ---- MXFP4 ---- */

/* Reads n rows of blocks.  In a checkpoint two adjacent values share a byte; in our blocks a byte
 * holds one value of the first half and one of the second. */
static enum lmd_status mxfp4_rows(struct lmi_checkpoint *f,
				  const struct lmi_checkpoint_weight_source *s, uint64_t row0,
				  uint64_t n, uint8_t *out, struct lmd_error *err)
{
	enum { HALF = LMI_CHECKPOINT_SCHEME_BLOCK / 2 };
	uint64_t per = s->cols / LMI_CHECKPOINT_SCHEME_BLOCK, total = n * per;
	uint8_t *exps = lmi_checkpoint_scratch_reserve(&f->raw, total, HALF + 1, err),
		*codes = exps + total;
	enum lmd_status st;

	if (!exps)
		return LMD_NOMEM;
	st = lmi_checkpoint_source_read(f, s->scale, row0 * per, exps, (size_t)total, err);
	if (st == LMD_OK)
		st = lmi_checkpoint_source_read(f, s->w, row0 * per * HALF, codes,
						(size_t)total * HALF, err);
	for (uint64_t i = 0; st == LMD_OK && i < total; i++, codes += HALF) {
		*out++ = exps[i];
		for (unsigned j = 0; j < HALF; j++) {
			unsigned lo = codes[j / 2] >> j % 2 * 4 & 15;
			unsigned hi = codes[HALF / 2 + j / 2] >> j % 2 * 4 & 15;

			*out++ = (uint8_t)(lo | hi << 4);
		}
	}
	return st;
}

static enum lmd_status mxfp4_floats(struct lmi_checkpoint *f,
				    const struct lmi_checkpoint_weight_source *s, uint64_t row0,
				    uint64_t n, float *out, struct lmd_error *err)
{
	const struct lmi_dtype *type = lmi_dtype(LMD_DTYPE_MXFP4);
	uint64_t total = n * s->cols;
	uint8_t *p = lmi_checkpoint_scratch_reserve(&f->codes, total / LMI_CHECKPOINT_SCHEME_BLOCK,
						    type->block_bytes, err);
	enum lmd_status st = p ? mxfp4_rows(f, s, row0, n, p, err) : LMD_NOMEM;

	if (st == LMD_OK)
		type->dequant(p, out, (size_t)total);
	return st;
}

/* ---- rows ---- */

enum lmd_status lmi_checkpoint_source_coded_floats(struct lmi_checkpoint *f,
						   const struct lmi_checkpoint_weight_source *s,
						   uint64_t row0, uint64_t n, float *out,
						   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (s->scheme == LMI_CHECKPOINT_SCHEME_MXFP4)
		return mxfp4_floats(f, s, row0, n, out, err);
	for (uint64_t r = row0; st == LMD_OK && r < row0 + n; r++, out += s->cols) {
		struct coded c;

		st = coded_row(f, s, r, &c, err);
		for (uint64_t i = 0; st == LMD_OK && i < s->cols; i++) {
			uint64_t g = c.group ? c.group[i] : i / s->group;

			out[i] = c.zero_based ? c.d[g] * ((float)c.q[i] - c.m[g])
					      : c.d[g] * (float)c.q[i] + c.m[g];
		}
	}
	return st;
}

/* Packs 32 codes of a group into one block. */
static enum lmd_status put_block(const struct lmi_checkpoint_weight_source *s,
				 const struct coded *c, uint64_t at, enum lmd_dtype type,
				 uint8_t *b, struct lmd_error *err)
{
	const uint8_t *q = c->q + at;
	float d = c->d[at / s->group], m = c->m[at / s->group];
	float min = c->zero_based ? -d * m : m;
	bool mid = m == (s->bits == 8 ? 128 : 8);

	if (type == LMD_DTYPE_Q8_A) {
		lmi_put_le32(b, lmi_f32_bits(d));
		lmi_put_le32(b + 4, lmi_f32_bits(min));
		memcpy(b + 8, q, LMI_CHECKPOINT_SCHEME_BLOCK);
		return LMD_OK;
	}
	if ((type == LMD_DTYPE_Q4_1 && !(min >= -65504 && min <= 65504)) ||
	    !(d >= -65504 && d <= 65504))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tensor %.80s: scale %g with minimum %g, must be at most 65504 in "
				"f16",
				s->w->name, (double)d, (double)min);
	if (type != LMD_DTYPE_Q4_1 && !mid)
		return lmd_fail(err, LMD_CORRUPT,
				"tensor %.80s: a zero point is %g, but the configuration says that "
				"all are the middle code",
				s->w->name, (double)m);
	lmi_put_f16(b, d);
	b += 2;
	if (type == LMD_DTYPE_Q4_1) {
		lmi_put_f16(b, min);
		b += 2;
	}
	for (unsigned i = 0; i < LMI_CHECKPOINT_SCHEME_BLOCK; i++) {
		if (type == LMD_DTYPE_Q8_0)
			b[i] = (uint8_t)(q[i] - 128);
		else if (i < LMI_CHECKPOINT_SCHEME_BLOCK / 2)
			b[i] = (uint8_t)(q[i] | q[i + LMI_CHECKPOINT_SCHEME_BLOCK / 2] << 4);
	}
	return LMD_OK;
}

enum lmd_status lmi_checkpoint_source_blocks(struct lmi_checkpoint *f,
					     const struct lmi_checkpoint_weight_source *s,
					     uint64_t row0, uint64_t n, void *out,
					     struct lmd_error *err)
{
	enum lmd_dtype type = lmi_checkpoint_source_type(s, false);
	uint32_t each = lmi_dtype(type)->block_bytes;
	uint8_t *b = out;
	enum lmd_status st = LMD_OK;

	if (s->scheme == LMI_CHECKPOINT_SCHEME_MXFP4)
		return mxfp4_rows(f, s, row0, n, out, err);
	for (uint64_t r = row0; st == LMD_OK && r < row0 + n; r++) {
		struct coded c;

		st = coded_row(f, s, r, &c, err);
		for (uint64_t i = 0; st == LMD_OK && i < s->cols;
		     i += LMI_CHECKPOINT_SCHEME_BLOCK, b += each)
			st = put_block(s, &c, i, type, b, err);
	}
	return st;
}
