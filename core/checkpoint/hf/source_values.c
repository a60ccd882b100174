/* SPDX-License-Identifier: MIT
 *
 * Values of a source: rows are read from the files and decoded to floats. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/quant/quant.h"
#include "core/base/float16.h"
#include "core/quant/quant.h"

/* ---- reading ---- */

void *lmi_checkpoint_scratch_reserve(struct lmi_checkpoint_scratch *s, uint64_t n,
				     uint64_t item_bytes, struct lmd_error *err)
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

enum lmd_status lmi_checkpoint_source_read(struct lmi_checkpoint *f, const struct lmi_st_tensor *t,
					   uint64_t at, void *buf, size_t n, struct lmd_error *err)
{
	const struct lmi_model_part *p = &f->m->parts[t->part];
	enum lmd_status st = lmi_file_read(&p->file, t->offset + at, buf, n, err);
	char show[112];

	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), p->path));
	return st;
}

static void widen(const uint8_t *p, float *dst, size_t n, uint32_t bytes)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bytes == 1   ? (float)p[i]
			 : bytes == 2 ? (float)lmi_get_le16(p + 2 * i)
				      : (float)lmi_get_le32(p + 4 * i);
}

void lmi_checkpoint_st_decode(enum lmi_st_type type, const void *src, float *dst, size_t n)
{
	switch (type) {
	case LMI_ST_F32:
		lmi_dtype(LMD_DTYPE_F32)->dequant(src, dst, n);
		return;
	case LMI_ST_F16:
		lmi_dtype(LMD_DTYPE_F16)->dequant(src, dst, n);
		return;
	case LMI_ST_BF16:
		lmi_dtype(LMD_DTYPE_BF16)->dequant(src, dst, n);
		return;
	case LMI_ST_F64:
		lmi_dtype(LMD_DTYPE_F64)->dequant(src, dst, n);
		return;
	case LMI_ST_F8_E4M3:
		lmi_quant_f8_e4m3.dequant(src, dst, n);
		return;
	case LMI_ST_F8_E5M2:
		lmi_quant_f8_e5m2.dequant(src, dst, n);
		return;
	case LMI_ST_I8:
		lmi_dtype(LMD_DTYPE_I8)->dequant(src, dst, n);
		return;
	case LMI_ST_I16:
		lmi_dtype(LMD_DTYPE_I16)->dequant(src, dst, n);
		return;
	case LMI_ST_I32:
		lmi_dtype(LMD_DTYPE_I32)->dequant(src, dst, n);
		return;
	case LMI_ST_I64:
	case LMI_ST_U64:
		lmi_dtype(LMD_DTYPE_I64)->dequant(src, dst, n);
		return;
	case LMI_ST_BOOL:
	case LMI_ST_U8: widen(src, dst, n, 1); return;
	case LMI_ST_U16: widen(src, dst, n, 2); return;
	case LMI_ST_U32: widen(src, dst, n, 4); return;
	case LMI_ST_F8_E8M0: /* 2^(b - 127); 255 is NaN */
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

enum lmd_status lmi_checkpoint_source_values(struct lmi_checkpoint *f,
					     const struct lmi_st_tensor *t, uint64_t at, uint64_t n,
					     float *out, struct lmd_error *err)
{
	uint32_t each = lmi_st_type_bytes(t->type);
	void *raw = lmi_checkpoint_scratch_reserve(&f->raw, n, each, err);
	enum lmd_status st;

	if (!raw)
		return LMD_NOMEM;
	st = lmi_checkpoint_source_read(f, t, at * each, raw, (size_t)(n * each), err);
	if (st == LMD_OK)
		lmi_checkpoint_st_decode(t->type, raw, out, (size_t)n);
	return st;
}

double lmi_checkpoint_read_scalar(struct lmi_checkpoint *f, const char *before, uint32_t il,
				  const char *after)
{
	char text[LMI_ST_NAME_BYTES + 1];
	struct lmi_checkpoint_weight_source s;
	float v = 0;

	(void)snprintf(text, sizeof(text), "%s%u%s", before, il, after);
	if (f->status != LMD_OK)
		return 0;
	if (!lmi_checkpoint_source_find_plain(f, text, &s))
		lmi_checkpoint_fail(f, LMD_NOTFOUND, "%s: tensor %s is missing", f->dir, text);
	else
		f->status = lmi_checkpoint_source_values(f, s.w, 0, 1, &v, f->err);
	return (double)v;
}
