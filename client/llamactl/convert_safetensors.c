/* SPDX-License-Identifier: MIT
 *
 * A safetensors file is a u64 with the length of a JSON object, the object with type, shape and place of
 * each tensor, and the data. The output appears only when it is complete. */
#include "client/llamactl/convert_safetensors.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/float16.h"
#include "core/base/json_text.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/checkpoint/open.h"
#include "core/quant/quant.h"

#define PIECE_VALUES (1u << 18)	 /* about so many are converted at once: whole rows */
#define ROW_MAX	     (64u << 20) /* values of a row */

struct job {
	struct lmi_model *model;
	const struct lmd_model *m;
	int64_t type;
	struct lmi_new_file out;
	struct lmi_ctl_progress bar;
	uint64_t done, total; /* bytes of the output */
};

/* ---- types ---- */

static bool is_integer(uint32_t id)
{
	return id == LMD_DTYPE_I8 || id == LMD_DTYPE_I16 || id == LMD_DTYPE_I32 || id == LMD_DTYPE_I64;
}

static bool is_float(uint32_t id)
{
	return id == LMD_DTYPE_F32 || id == LMD_DTYPE_F16 || id == LMD_DTYPE_BF16 || id == LMD_DTYPE_F64;
}

/* The type that a tensor gets. */
static const struct lmi_dtype *output_type(const struct job *j, const struct lmd_tensor *t)
{
	if (is_integer(t->dtype) || (j->type < 0 && is_float(t->dtype)))
		return lmi_dtype(t->dtype);
	return lmi_dtype(j->type < 0 ? LMD_DTYPE_F16 : (uint32_t)j->type);
}

static uint64_t n_values(const struct lmd_tensor *t)
{
	uint64_t n = 1;

	for (uint32_t d = 0; d < t->n_dim; d++)
		n *= (uint64_t)t->dims[d];
	return n;
}

static uint64_t output_bytes(const struct job *j, const struct lmd_tensor *t)
{
	return n_values(t) * output_type(j, t)->block_bytes;
}

/* ---- the header ---- */

static void put_metadata(struct lmi_json_text *text, const struct lmd_model *m)
{
	lmi_json_text_key(text, "__metadata__");
	lmi_json_text_flat_object(text);
	for (uint32_t i = 0; i < m->n_meta; i++) {
		const struct lmd_meta *v = &m->meta[i];
		char number[32];

		if (v->type == LMD_META_STR && lmi_utf8_valid_prefix(v->v.s.ptr, v->v.s.len) < v->v.s.len)
			continue;
		if (v->type >= LMD_META_ARR_BOOL)
			continue;
		lmi_json_text_key(text, v->key);
		if (v->type == LMD_META_STR) {
			lmi_json_text_strn(text, v->v.s.ptr, v->v.s.len);
			continue;
		}
		if (v->type == LMD_META_F64)
			(void)lmi_printable_number(number, v->v.f);
		else if (v->type == LMD_META_U64)
			(void)snprintf(number, sizeof(number), "%" PRIu64, v->v.u);
		else if (v->type == LMD_META_I64)
			(void)snprintf(number, sizeof(number), "%" PRId64, v->v.i);
		else
			(void)snprintf(number, sizeof(number), "%s", v->v.i ? "true" : "false");
		lmi_json_text_str(text, number);
	}
	lmi_json_text_end(text);
}

static enum lmd_status put_header(struct job *j, struct lmd_error *err)
{
	static const char blanks[8] = "        ";
	struct lmi_json_text text = {0};
	uint64_t at = 0;
	uint8_t length[8];
	enum lmd_status st;

	lmi_json_text_flat_object(&text);
	put_metadata(&text, j->m);
	for (uint32_t i = 0; i < j->m->n_tensors; i++) {
		const struct lmd_tensor *t = &j->m->tensors[i];
		char name[16] = "";

		for (size_t k = 0; output_type(j, t)->name[k] && k < sizeof(name) - 1; k++)
			name[k] = (char)toupper((unsigned char)output_type(j, t)->name[k]);
		lmi_json_text_key(&text, t->name);
		lmi_json_text_flat_object(&text);
		lmi_json_text_key(&text, "dtype");
		lmi_json_text_str(&text, name);
		lmi_json_text_key(&text, "shape");
		lmi_json_text_flat_array(&text);
		for (uint32_t d = t->n_dim; d-- > 0;)
			lmi_json_text_int(&text, t->dims[d]);
		lmi_json_text_end(&text);
		lmi_json_text_key(&text, "data_offsets");
		lmi_json_text_flat_array(&text);
		lmi_json_text_uint(&text, at);
		at += output_bytes(j, t);
		lmi_json_text_uint(&text, at);
		lmi_json_text_end(&text);
		lmi_json_text_end(&text);
	}
	lmi_json_text_end(&text);
	st = lmi_json_text_finish(&text, err);
	j->total = at;
	if (st == LMD_OK) { /* the data begins at a multiple of 8 */
		size_t pad = (8 - text.bytes % 8) % 8;

		lmi_put_le64(length, text.bytes + pad);
		st = lmi_new_file_write(&j->out, length, sizeof(length), err);
		if (st == LMD_OK)
			st = lmi_new_file_write(&j->out, text.text, text.bytes, err);
		if (st == LMD_OK && pad)
			st = lmi_new_file_write(&j->out, blanks, pad, err);
	}
	lmi_json_text_fini(&text);
	return st;
}

/* ---- the data ---- */

/* Encodes n values in their place; returns false if one is beyond the range of f16. */
static bool encode(uint8_t *to, const float *from, size_t n, uint32_t type)
{
	for (size_t i = 0; i < n; i++) {
		if (type == LMD_DTYPE_F32) {
			lmi_put_le32(to + 4 * i, lmi_f32_bits(from[i]));
		} else if (type == LMD_DTYPE_BF16) {
			lmi_put_le16(to + 2 * i, lmi_f32_to_bf16(from[i]));
		} else {
			lmi_put_f16(to + 2 * i, from[i]);
			if (isfinite(from[i]) && !isfinite(lmi_f16_to_f32(lmi_get_le16(to + 2 * i))))
				return false;
		}
	}
	return true;
}

static enum lmd_status write_piece(struct job *j, const void *data, size_t n, struct lmd_error *err)
{
	enum lmd_status st = lmi_new_file_write(&j->out, data, n, err);

	j->done += n;
	lmi_ctl_progress_show(&j->bar, "convert", j->done, j->total);
	if (st == LMD_OK && lmi_ctl_interrupted())
		st = lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
	return st;
}

static enum lmd_status write_tensor(struct job *j, const struct lmd_tensor *t, struct lmd_error *err)
{
	const struct lmi_dtype *from = lmi_dtype(t->dtype), *to = output_type(j, t);
	uint64_t width = (uint64_t)t->dims[0], n_rows = width ? n_values(t) / width : 0, row_bytes;
	size_t step; /* rows */
	enum lmd_status st = LMD_OK;
	uint8_t *src, *dst;
	float *values;

	if (from != to && !from->dequant)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: type %s cannot be decoded", t->name, from->name);
	if (width > ROW_MAX || !lmi_quant_row_bytes(from, width, &row_bytes))
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: rows of %" PRIu64 " values; at most %u",
				t->name, width, ROW_MAX);
	step = width && width < PIECE_VALUES ? (size_t)(PIECE_VALUES / width) : 1;
	src = lmi_alloc(step, (size_t)row_bytes);
	values = lmi_alloc(step * (size_t)width, sizeof(*values));
	dst = lmi_alloc(step * (size_t)width, sizeof(*values));
	if (!src || !values || !dst)
		st = lmd_fail(err, LMD_NOMEM, "no memory to convert %s", t->name);
	for (uint64_t row = 0; row < n_rows && st == LMD_OK; row += step) {
		size_t n = n_rows - row < step ? (size_t)(n_rows - row) : step;

		st = lmi_model_read(j->model, t, row * row_bytes, src, n * (size_t)row_bytes, err);
		if (st != LMD_OK)
			break;
		if (from == to) {
			st = write_piece(j, src, n * (size_t)row_bytes, err);
			continue;
		}
		lmi_quant_dequant_rows(from, src, values, (size_t)width, n);
		if (!encode(dst, values, n * (size_t)width, to->id))
			st = lmd_fail(err, LMD_INVALID,
				      "%s has a value beyond the range of f16: --outtype bf16 or f32",
				      t->name);
		else
			st = write_piece(j, dst, n * (size_t)width * to->block_bytes, err);
	}
	lmi_free(src);
	lmi_free(values);
	lmi_free(dst);
	return st;
}

static enum lmd_status write_all(struct job *j, struct lmd_error *err)
{
	enum lmd_status st = put_header(j, err);

	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&j->bar);
	for (uint32_t i = 0; i < j->m->n_tensors && st == LMD_OK; i++)
		st = write_tensor(j, &j->m->tensors[i], err);
	lmi_ctl_progress_end(&j->bar);
	return st;
}

static void print_result(struct lmi_ctl *ctl, const struct job *j, const char *path)
{
	struct lmi_ctl_json o;
	char size[24];

	if (!lmi_arg_flag(&ctl->args, "json")) {
		printf("%s: %u tensors, %s\n", path, j->m->n_tensors,
		       lmi_ctl_show_bytes(size, sizeof(size), (int64_t)j->total));
		return;
	}
	lmi_ctl_json_init(&o, stdout);
	lmi_ctl_json_object(&o, NULL);
	lmi_ctl_json_str(&o, "file", path);
	lmi_ctl_json_uint(&o, "tensors", j->m->n_tensors);
	lmi_ctl_json_uint(&o, "bytes", j->total);
	lmi_ctl_json_end(&o);
	lmi_ctl_json_fini(&o);
}

enum lmd_status lmi_ctl_convert_safetensors(struct lmi_ctl *ctl, const char *in, const char *out,
					    int64_t type, struct lmd_error *err)
{
	struct job j = {.type = type};
	enum lmd_status st = lmi_model_open(&j.model, in, LMI_OPEN_HEADER_ONLY, err);

	if (st != LMD_OK)
		return st;
	j.m = lmi_model_view(j.model);
	st = lmi_new_file_open(&j.out, out, 0644, err);
	if (st == LMD_OK) {
		st = write_all(&j, err);
		if (st == LMD_OK)
			st = lmi_new_file_commit(&j.out, err);
		else
			lmi_new_file_abort(&j.out);
	}
	if (st == LMD_OK)
		print_result(ctl, &j, out);
	lmi_model_close(j.model);
	return st;
}
