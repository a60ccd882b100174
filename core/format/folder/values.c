/* SPDX-License-Identifier: MIT
 *
 * The values of a source: rows read from the files and decoded, as floats or as blocks. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/base/show.h"
#include "core/format/folder/inner.h"
#include "core/quant/codec.h"
#include "core/quant/half.h"
#include "core/quant/quant.h"

/* ---- reading ---- */

void *lmi_scratch(struct lmi_scratch *s, uint64_t n, uint64_t item_bytes, struct lmd_error *err)
{
	uint64_t bytes;

	if (!lmi_mul_ok(n, item_bytes, &bytes) || bytes > SIZE_MAX / 2) {
		(void)lmd_fail(err, LMD_NOMEM, "no memory for %llu values", (unsigned long long)n);
		return NULL;
	}
	if (bytes > s->bytes) {
		lmi_free(s->p);
		s->p = lmi_alloc((size_t)bytes, 1);
		s->bytes = s->p ? (size_t)bytes : 0;
	}
	if (!s->p)
		(void)lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of weights",
			       (unsigned long long)bytes);
	return s->p;
}

enum lmd_status lmi_source_read(struct lmi_folder *f, const struct lmi_st_tensor *t, uint64_t at,
				void *buf, size_t n, struct lmd_error *err)
{
	const struct lmi_model_part *p = &f->m->parts[t->part];
	enum lmd_status st = lmi_file_read(&p->file, t->offset + at, buf, n, err);
	char show[112];

	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_show_path(show, sizeof(show), p->path));
	return st;
}

static void widen(const uint8_t *p, float *dst, size_t n, uint32_t bytes)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bytes == 1   ? (float)p[i]
			 : bytes == 2 ? (float)lmi_get_le16(p + 2 * i)
				      : (float)lmi_get_le32(p + 4 * i);
}

void lmi_st_decode(enum lmi_st_type type, const void *src, float *dst, size_t n)
{
	switch (type) {
	case LMI_ST_F32: lmi_f32_dequant(src, dst, n); return;
	case LMI_ST_F16: lmi_f16_dequant(src, dst, n); return;
	case LMI_ST_BF16: lmi_bf16_dequant(src, dst, n); return;
	case LMI_ST_F64: lmi_f64_dequant(src, dst, n); return;
	case LMI_ST_F8_E4M3: lmi_f8_e4m3_dequant(src, dst, n); return;
	case LMI_ST_F8_E5M2: lmi_f8_e5m2_dequant(src, dst, n); return;
	case LMI_ST_I8: lmi_i8_dequant(src, dst, n); return;
	case LMI_ST_I16: lmi_i16_dequant(src, dst, n); return;
	case LMI_ST_I32: lmi_i32_dequant(src, dst, n); return;
	case LMI_ST_I64:
	case LMI_ST_U64: lmi_i64_dequant(src, dst, n); return;
	case LMI_ST_BOOL:
	case LMI_ST_U8: widen(src, dst, n, 1); return;
	case LMI_ST_U16: widen(src, dst, n, 2); return;
	case LMI_ST_U32: widen(src, dst, n, 4); return;
	case LMI_ST_F8_E8M0: /* 2^(b - 127); 255 is no number */
		for (size_t i = 0; i < n; i++) {
			uint8_t b = ((const uint8_t *)src)[i];

			dst[i] = lmi_bits_f32(b == 255 ? 0x7FC00000u
					      : b      ? (uint32_t)b << 23
						       : 0x00400000u);
		}
		return;
	case LMI_ST_N_TYPES: break;
	}
}

/* n values of a tensor from value `at` on. */
static enum lmd_status read_values(struct lmi_folder *f, const struct lmi_st_tensor *t, uint64_t at,
				   uint64_t n, float *out, struct lmd_error *err)
{
	uint32_t each = lmi_st_type_bytes(t->type);
	void *raw = lmi_scratch(&f->raw, n, each, err);
	enum lmd_status st;

	if (!raw)
		return LMD_NOMEM;
	st = lmi_source_read(f, t, at * each, raw, (size_t)(n * each), err);
	if (st == LMD_OK)
		lmi_st_decode(t->type, raw, out, (size_t)n);
	return st;
}

double lmi_folder_scalar(struct lmi_folder *f, const char *before, uint32_t il, const char *after)
{
	char text[LMI_ST_NAME_BYTES + 1];
	struct lmi_source s;
	float v = 0;

	(void)snprintf(text, sizeof(text), "%s%u%s", before, il, after);
	if (f->status != LMD_OK)
		return 0;
	if (!lmi_source_plain(f, text, &s))
		lmi_folder_fail(f, LMD_NOTFOUND, "%s: tensor %s is missing", f->dir, text);
	else
		f->status = read_values(f, s.w, 0, 1, &v, f->err);
	return (double)v;
}

/* Rows times their scales. */
static enum lmd_status scaled_row(struct lmi_folder *f, const struct lmi_source *s, uint64_t row,
				  float *out, struct lmd_error *err)
{
	const struct lmi_st_tensor *t = s->scale;
	uint64_t n = lmi_st_elems(t), k = 1, at = 0, wide;
	enum lmd_status st = read_values(f, s->w, row * s->cols, s->cols, out, err);
	float *scale;

	if (lmi_scaled_by_row(s)) {
		at = row;
	} else if (n > 1) { /* blocks of equal size but for the last ones */
		uint64_t tall = (s->rows + (uint64_t)t->dims[0] - 1) / (uint64_t)t->dims[0];

		k = (uint64_t)t->dims[1];
		at = row / tall * k;
	}
	scale = lmi_scratch(&f->values, k, sizeof(*scale), err);
	if (!scale)
		return LMD_NOMEM;
	if (st == LMD_OK)
		st = read_values(f, t, at, k, scale, err);
	wide = (s->cols + k - 1) / k;
	for (uint64_t c = 0; st == LMD_OK && c < s->cols; c++)
		out[c] *= scale[c / wide];
	return st;
}

/* ---- codes ---- */

/* One row: x = d q + m, or d (q - z). */
struct coded {
	uint8_t *q;       /* [cols] */
	float *d, *m;     /* [groups]; m: minimum, or zero point */
	uint32_t *group;  /* [cols], or NULL: column / group size */
	bool zero_based;
};

/* What GPTQ and AWQ store by columns is read at once: qweight, qzeros, scales, g_idx. */
static enum lmd_status load_whole(struct lmi_folder *f, const struct lmi_source *s,
				  struct lmd_error *err)
{
	const struct lmi_st_tensor *all[4] = {s->w, s->zero, s->scale, s->order};
	uint64_t n = 0;
	enum lmd_status st = LMD_OK;
	uint8_t *p;

	if (f->whole_of == s->w)
		return LMD_OK;
	f->whole_of = NULL;
	for (size_t i = 0; i < LMD_LEN(all); i++)
		n += all[i] ? all[i]->bytes : 0;
	p = lmi_scratch(&f->whole, n, 1, err);
	if (!p)
		return LMD_NOMEM;
	for (size_t i = 0; st == LMD_OK && i < LMD_LEN(all); i++) {
		if (!all[i])
			continue;
		st = lmi_source_read(f, all[i], 0, p, (size_t)all[i]->bytes, err);
		p += all[i]->bytes;
	}
	if (st == LMD_OK)
		f->whole_of = s->w;
	return st;
}

static void gptq_row(const struct lmi_source *s, const uint8_t *w, uint64_t row, struct coded *c)
{
	const uint8_t *zero = w + s->w->bytes, *scale = zero + s->zero->bytes;
	const uint8_t *order = scale + s->scale->bytes;
	uint32_t per = 32 / s->bits, mask = (1u << s->bits) - 1;
	uint64_t groups = s->cols / s->group, each = lmi_st_type_bytes(s->scale->type);

	for (uint64_t g = 0; g < groups; g++) {
		uint32_t z = lmi_get_le32(zero + 4 * (g * (s->rows / per) + row / per));

		lmi_st_decode(s->scale->type, scale + each * (g * s->rows + row), &c->d[g], 1);
		c->m[g] = (float)((z >> row % per * s->bits & mask) + s->zero_offset);
	}
	for (uint64_t i = 0; i < s->cols; i++) {
		uint32_t v = lmi_get_le32(w + 4 * (i / per * s->rows + row));

		c->q[i] = (uint8_t)(v >> i % per * s->bits & mask);
		if (s->order)
			c->group[i] = lmi_get_le32(order + 4 * i);
	}
}

static void awq_row(const struct lmi_source *s, const uint8_t *w, uint64_t row, struct coded *c)
{
	static const uint8_t place[8] = {0, 4, 1, 5, 2, 6, 3, 7}; /* of value k among the nibbles */
	const uint8_t *zero = w + s->w->bytes, *scale = zero + s->zero->bytes;
	uint64_t groups = s->cols / s->group, each = lmi_st_type_bytes(s->scale->type);
	uint64_t words = s->rows / 8;
	uint32_t shift = 4u * place[row % 8];

	for (uint64_t g = 0; g < groups; g++) {
		lmi_st_decode(s->scale->type, scale + each * (g * s->rows + row), &c->d[g], 1);
		c->m[g] = (float)(lmi_get_le32(zero + 4 * (g * words + row / 8)) >> shift & 15);
	}
	for (uint64_t i = 0; i < s->cols; i++)
		c->q[i] = (uint8_t)(lmi_get_le32(w + 4 * (i * words + row / 8)) >> shift & 15);
}

/* A little-endian stream of codes along the row. */
static enum lmd_status stream_row(struct lmi_folder *f, const struct lmi_source *s, uint64_t row,
				  struct coded *c, struct lmd_error *err)
{
	uint64_t bytes = s->cols * s->bits / 8, groups = s->cols / s->group;
	enum lmd_status st = read_values(f, s->scale, row * groups, groups, c->d, err);
	uint8_t *p;

	if (st == LMD_OK && s->zero)
		st = read_values(f, s->zero, row * groups, groups, c->m, err);
	for (uint64_t g = 0; !s->zero && g < groups; g++)
		c->m[g] = 8;
	p = st == LMD_OK ? lmi_scratch(&f->raw, bytes + 1, 1, err) : NULL;
	if (!p)
		return st == LMD_OK ? LMD_NOMEM : st;
	st = lmi_source_read(f, s->w, row * bytes, p, (size_t)bytes, err);
	p[bytes] = 0;
	for (uint64_t i = 0; st == LMD_OK && i < s->cols; i++) {
		uint64_t bit = i * s->bits;

		c->q[i] = (uint8_t)((uint32_t)(p[bit / 8] | p[bit / 8 + 1] << 8) >> bit % 8 &
				    ((1u << s->bits) - 1));
	}
	return st;
}

static enum lmd_status coded_row(struct lmi_folder *f, const struct lmi_source *s, uint64_t row,
				 struct coded *c, struct lmd_error *err)
{
	uint64_t groups = s->cols / s->group;
	uint8_t *p = lmi_scratch(&f->codes, groups * 8 + s->cols * 5, 1, err);
	enum lmd_status st = LMD_OK;

	if (!p)
		return LMD_NOMEM;
	c->d = (float *)(void *)p;
	c->m = c->d + groups;
	c->group = s->order ? (uint32_t *)(void *)(c->m + groups) : NULL;
	c->q = p + groups * 8 + s->cols * 4;
	c->zero_based = s->scheme != LMI_SCHEME_AFFINE;
	if (s->scheme != LMI_SCHEME_GPTQ && s->scheme != LMI_SCHEME_AWQ)
		return stream_row(f, s, row, c, err);
	st = load_whole(f, s, err);
	if (st != LMD_OK)
		return st;
	if (s->scheme == LMI_SCHEME_AWQ)
		awq_row(s, f->whole.p, row, c);
	else
		gptq_row(s, f->whole.p, row, c);
	for (uint64_t i = 0; c->group && i < s->cols; i++)
		if (c->group[i] >= groups)
			return lmd_fail(err, LMD_CORRUPT, "tensor %.80s: element %llu is %u, must "
					"be below %llu",
					s->order->name, (unsigned long long)i, c->group[i],
					(unsigned long long)groups);
	return LMD_OK;
}

enum lmd_status lmi_source_floats(struct lmi_folder *f, const struct lmi_source *s, uint64_t row0,
				  uint64_t n, float *out, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (s->scheme == LMI_SCHEME_PLAIN)
		return read_values(f, s->w, row0 * s->cols, n * s->cols, out, err);
	for (uint64_t r = row0; st == LMD_OK && r < row0 + n; r++, out += s->cols) {
		struct coded c;

		if (s->scheme == LMI_SCHEME_SCALED) {
			st = scaled_row(f, s, r, out, err);
			continue;
		}
		st = coded_row(f, s, r, &c, err);
		for (uint64_t i = 0; st == LMD_OK && i < s->cols; i++) {
			uint64_t g = c.group ? c.group[i] : i / s->group;

			out[i] = c.zero_based ? c.d[g] * ((float)c.q[i] - c.m[g])
					      : c.d[g] * (float)c.q[i] + c.m[g];
		}
	}
	return st;
}

/* 32 codes of a group as one block. */
static enum lmd_status put_block(const struct lmi_source *s, const struct coded *c, uint64_t at,
				 enum lmd_dtype type, uint8_t *b, struct lmd_error *err)
{
	const uint8_t *q = c->q + at;
	float d = c->d[at / s->group], m = c->m[at / s->group];
	float min = c->zero_based ? -d * m : m;
	bool mid = m == (s->bits == 8 ? 128 : 8);

	if ((type == LMD_DTYPE_Q4_1 && !(min >= -65504 && min <= 65504)) ||
	    !(d >= -65504 && d <= 65504))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tensor %.80s: scale %g with minimum %g, at most 65504 can be kept",
				s->w->name, (double)d, (double)min);
	if (type != LMD_DTYPE_Q4_1 && !mid)
		return lmd_fail(err, LMD_CORRUPT,
				"tensor %.80s: a zero point is %g, but the configuration says that "
				"all are in the middle",
				s->w->name, (double)m);
	lmi_put_f16(b, d);
	b += 2;
	if (type == LMD_DTYPE_Q4_1) {
		lmi_put_f16(b, min);
		b += 2;
	}
	for (unsigned i = 0; i < LMI_SCHEME_BLOCK; i++) {
		if (type == LMD_DTYPE_Q8_0)
			b[i] = (uint8_t)(q[i] - 128);
		else if (i < LMI_SCHEME_BLOCK / 2)
			b[i] = (uint8_t)(q[i] | q[i + LMI_SCHEME_BLOCK / 2] << 4);
	}
	return LMD_OK;
}

enum lmd_status lmi_source_blocks(struct lmi_folder *f, const struct lmi_source *s, uint64_t row0,
				  uint64_t n, void *out, struct lmd_error *err)
{
	enum lmd_dtype type = lmi_source_type(s, false);
	uint32_t each = lmi_dtype(type)->block_bytes;
	uint8_t *b = out;
	enum lmd_status st = LMD_OK;

	for (uint64_t r = row0; st == LMD_OK && r < row0 + n; r++) {
		struct coded c;

		st = coded_row(f, s, r, &c, err);
		for (uint64_t i = 0; st == LMD_OK && i < s->cols; i += LMI_SCHEME_BLOCK, b += each)
			st = put_block(s, &c, i, type, b, err);
	}
	return st;
}
