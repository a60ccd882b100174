/* SPDX-License-Identifier: MIT
 *
 * Converts a checkpoint.  The keys are those of the checkpoint reader plus the keys that only files
 * have; tensors are streamed, several rows at a time.  Vectors, norms, routers and position tables
 * are F32, as in all files of this format; all other tensors get the requested type, or F16 if
 * their rows are not a multiple of the block. */
#include "core/checkpoint/convert/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/checkpoint/hf/checkpoint.h"
#include "core/format/gguf/write.h"
#include "core/format/source_digest.h"
#include "core/quant/quant.h"

#define PIECE_VALUES (1u << 20)
#define F16_MAX      65504.0f

struct lmi_convert {
	struct lmi_convert_opts o;
	struct lmi_model *m;
	struct lmi_checkpoint *f;
	uint32_t file_type; /* enum lmd_dtype */
	char size_label[48];
};

/* ---- types ---- */

static bool ends_in(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n >= k && !strcmp(s + n - k, tail);
}

/* Tensors that are F32 in every file. */
static bool stays_f32(const struct lmd_tensor *t)
{
	static const char *const tails[] = {
		"_norm.weight",          "ffn_gate_inp.weight",  "ffn_gate_inp_shexp.weight",
		"token_types.weight",    "position_embd.weight", "ssm_conv1d.weight",
		"shortconv.conv.weight",
	};

	if (t->n_dim <= 1)
		return true;
	for (size_t i = 0; i < LMD_LEN(tails); i++)
		if (ends_in(t->name, tails[i]))
			return true;
	return !ends_in(t->name, ".weight");
}

enum lmd_dtype lmi_convert_type(const struct lmi_convert *c, uint32_t i)
{
	const struct lmd_tensor *t = &c->m->tensors[i];
	uint64_t bytes;

	if (stays_f32(t))
		return LMD_DTYPE_F32;
	if (c->o.type == LMI_CONVERT_AUTO && lmi_dtype(t->dtype)->is_quant &&
	    !lmi_dtype(t->dtype)->memory_only)
		return (enum lmd_dtype)t->dtype;
	if (!lmi_quant_row_bytes(lmi_dtype(c->file_type), (uint64_t)t->dims[0], &bytes))
		return LMD_DTYPE_F16;
	return (enum lmd_dtype)c->file_type;
}

static uint64_t rows_of(const struct lmd_tensor *t)
{
	uint64_t n = 1;

	for (uint32_t d = 1; d < t->n_dim; d++)
		n *= (uint64_t)t->dims[d]; /* no overflow, checked by the reader */
	return n;
}

uint64_t lmi_convert_bytes(const struct lmi_convert *c, uint32_t i)
{
	const struct lmd_tensor *t = &c->m->tensors[i];
	uint64_t row = 0;

	(void)lmi_quant_row_bytes(lmi_dtype(lmi_convert_type(c, i)), (uint64_t)t->dims[0], &row);
	return row * rows_of(t);
}

enum lmd_dtype lmi_convert_file_type(const struct lmi_convert *c)
{
	return (enum lmd_dtype)c->file_type;
}

/* The type for LMI_CONVERT_AUTO, from the first matrix. */
static uint32_t auto_type(const struct lmi_model *m)
{
	for (uint32_t i = 0; i < m->view.n_tensors; i++)
		if (!stays_f32(&m->tensors[i]))
			return m->tensors[i].dtype == LMD_DTYPE_BF16 ? LMD_DTYPE_BF16
								     : LMD_DTYPE_F16;
	return LMD_DTYPE_F16;
}

/* The value of general.file_type: the type with the most bytes. */
static uint32_t file_type_number(const struct lmi_convert *c)
{
	uint64_t bytes[LMD_DTYPE_END] = {0};
	uint32_t best = LMD_DTYPE_F32;

	for (uint32_t i = 0; i < c->m->view.n_tensors; i++)
		if (!stays_f32(&c->m->tensors[i]))
			bytes[lmi_convert_type(c, i)] += lmi_convert_bytes(c, i);
	for (uint32_t t = 0; t < LMD_DTYPE_END; t++)
		best = bytes[t] > bytes[best] ? t : best;
	switch (best) {
	case LMD_DTYPE_F16: return 1;
	case LMD_DTYPE_Q4_0: return 2;
	case LMD_DTYPE_Q4_1: return 3;
	case LMD_DTYPE_Q8_0: return 7;
	case LMD_DTYPE_BF16: return 32;
	default: return 0;
	}
}

/* ---- opening ---- */

/* Formats a count as "7.6B", with two significant digits. */
static void format_count(double n, char *out, size_t room)
{
	static const struct {
		double scale;
		const char *unit;
	} units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
	size_t k = 0;

	while (k + 1 < LMD_LEN(units) && n < units[k].scale)
		k++;
	n /= units[k].scale;
	(void)snprintf(out, room, "%.*f%s", n < 10 ? 1 : 0, n, units[k].unit);
}

/* Sets size_label: "8B", or "8x7B" for models with experts. */
static void set_size_label(struct lmi_convert *c)
{
	double all = 0, experts = 0;
	uint64_t n_expert = 0;
	char text[24];

	for (uint32_t i = 0; i < c->m->view.n_tensors; i++) {
		const struct lmd_tensor *t = &c->m->tensors[i];
		double n = (double)t->dims[0] * (double)rows_of(t);

		all += n;
		if (!strstr(t->name, "_exps."))
			continue;
		experts += n;
		n_expert = (uint64_t)t->dims[t->n_dim - 1];
	}
	if (n_expert) {
		format_count(all - experts + experts / (double)n_expert, text, sizeof(text));
		(void)snprintf(c->size_label, sizeof(c->size_label), "%llux%s",
			       (unsigned long long)n_expert, text);
	} else {
		format_count(all, c->size_label, sizeof(c->size_label));
	}
}

static enum lmd_status open_folder(struct lmi_convert *c, const char *path, struct lmd_error *err)
{
	enum lmd_status st;

	c->m = lmi_model_create(LMI_MODEL_HEAP_BYTES);
	if (!c->m)
		return lmd_fail(err, LMD_NOMEM, "%.120s: no memory for a model", path);
	c->m->plugins = c->o.plugins;
	st = lmi_checkpoint_open(&c->f, c->m, path, LMI_CHECKPOINT_STACKED, c->o.pre, err);
	if (st != LMD_OK)
		return st;
	if (lmi_checkpoint_no_vocab_reason(c->f))
		return lmd_fail(err, LMD_UNSUPPORTED, "%.120s: cannot convert the tokenizer: %s",
				path, lmi_checkpoint_no_vocab_reason(c->f));
	if (c->o.type != LMI_CONVERT_AUTO && !(lmi_dtype(c->o.type) && lmi_dtype(c->o.type)->quant))
		return lmd_fail(err, LMD_INVALID, "type %u: there is no encoder for it",
				c->o.type);
	c->file_type = c->o.type == LMI_CONVERT_AUTO ? auto_type(c->m) : c->o.type;
	set_size_label(c);
	return LMD_OK;
}

enum lmd_status lmi_convert_open(struct lmi_convert **out, const char *path,
				 const struct lmi_convert_opts *opts, struct lmd_error *err)
{
	struct lmi_convert *c = lmi_alloc(1, sizeof(*c));
	enum lmd_status st;

	if (!c)
		return lmd_fail(err, LMD_NOMEM, "no memory for a conversion");
	c->o = *opts;
	st = open_folder(c, path, err);
	if (st == LMD_OK)
		*out = c;
	else
		lmi_convert_close(c);
	return st;
}

void lmi_convert_close(struct lmi_convert *c)
{
	if (!c)
		return;
	lmi_checkpoint_close(c->f);
	lmi_model_destroy(c->m);
	lmi_free(c);
}

const struct lmd_model *lmi_convert_model(const struct lmi_convert *c)
{
	return &c->m->view;
}

/* ---- writing ---- */

static void put_keys(struct lmi_convert *c, struct lmi_gguf_writer *w)
{
	const struct lmd_model *m = &c->m->view;

	for (uint32_t i = 0; i < m->n_meta; i++) {
		lmi_gguf_put_meta(w, &m->meta[i]);
		if (i != 1) /* after general.architecture and general.type */
			continue;
		lmi_gguf_put_str(w, "general.name", c->o.name ? c->o.name : m->name);
		lmi_gguf_put_str(w, "general.size_label", c->size_label);
		lmi_gguf_put_u32(w, "general.file_type", file_type_number(c));
		lmi_gguf_put_u32(w, "general.quantization_version", 2);
	}
	if (!m->tok->text) /* no token texts */
		lmi_gguf_put_str(w, "tokenizer.ggml.model", "no_vocab");
}

static enum lmd_status check_f16(const struct lmd_tensor *t, const float *v, uint64_t n,
				 struct lmd_error *err)
{
	for (uint64_t i = 0; i < n; i++)
		if (fabsf(v[i]) > F16_MAX && !isinf(v[i]))
			return lmd_fail(
				err, LMD_INVALID,
				"tensor %s: the value %g exceeds 65504, the largest of f16; use "
				"--outtype bf16",
				t->name, (double)v[i]);
	return LMD_OK;
}

/* Writes the rows of one tensor in the type of the new file. */
static enum lmd_status put_tensor(struct lmi_convert *c, struct lmi_gguf_writer *w, uint32_t i,
				  float *values, uint8_t *bytes, struct lmd_error *err)
{
	const struct lmd_tensor *t = &c->m->tensors[i];
	const struct lmi_dtype *type = lmi_dtype(lmi_convert_type(c, i));
	uint64_t rows = rows_of(t), width = (uint64_t)t->dims[0], row_bytes = 0;
	uint64_t per = PIECE_VALUES / width ? PIECE_VALUES / width : 1;
	enum lmd_status st = LMD_OK;

	(void)lmi_quant_row_bytes(type, width, &row_bytes);
	for (uint64_t r = 0; st == LMD_OK && r < rows; r += per) {
		uint64_t n = rows - r < per ? rows - r : per;

		if (type->is_quant && type->id == (enum lmd_dtype)t->dtype) {
			st = lmi_checkpoint_read_rows(c->f, i, r, n, bytes, err);
		} else {
			st = lmi_checkpoint_read_floats(c->f, i, r, n, values, err);
			if (st == LMD_OK && type->id == LMD_DTYPE_F16)
				st = check_f16(t, values, n * width, err);
			for (uint64_t k = 0; st == LMD_OK && k < n; k++)
				type->quant(values + k * width, bytes + k * row_bytes,
					    (size_t)width, NULL);
		}
		if (st == LMD_OK)
			st = lmi_gguf_writer_data(w, bytes, n * row_bytes, err);
	}
	return st;
}

static enum lmd_status put_tensors(struct lmi_convert *c, struct lmi_gguf_writer *w, uint32_t first,
				   struct lmd_error *err)
{
	uint64_t widest = 1;
	enum lmd_status st = LMD_OK;
	uint8_t *bytes;
	float *values;

	for (uint32_t i = 0; i < c->m->view.n_tensors; i++)
		if ((uint64_t)c->m->tensors[i].dims[0] > widest)
			widest = (uint64_t)c->m->tensors[i].dims[0];
	widest = widest > PIECE_VALUES ? widest : PIECE_VALUES;
	values = lmi_alloc((size_t)widest, sizeof(*values));
	bytes = lmi_alloc((size_t)widest, sizeof(float)); /* no type needs more bytes per value */
	if (!values || !bytes)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %llu values",
			      (unsigned long long)widest);
	for (uint32_t i = first; st == LMD_OK && i < c->m->view.n_tensors; i++)
		st = put_tensor(c, w, i, values, bytes, err);
	lmi_free(values);
	lmi_free(bytes);
	return st;
}

/* Digest of everything that the data depends on, except what the header contains. */
static enum lmd_status digest(const struct lmi_convert *c, uint8_t out[LMI_SHA256_BYTES],
			      struct lmd_error *err)
{
	struct lmi_sha256 h = {0};
	enum lmd_status st;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	st = lmi_model_source_digest_files(&h, c->m, err);
	lmi_model_source_digest_encoder(&h, lmi_convert_file_type(c));
	if (st != LMD_OK)
		lmi_sha256_fini(&h);
	else if (!lmi_sha256_final(&h, out))
		st = lmd_fail(err, LMD_INTERNAL, "cannot compute the digest of the folder");
	return st;
}

enum lmd_status lmi_convert_run(struct lmi_convert *c, const char *path, struct lmd_error *err)
{
	uint8_t key[LMI_SHA256_BYTES] = {0};
	struct lmi_gguf_writer *w;
	uint32_t n_done = 0;
	enum lmd_status st = lmi_gguf_writer_create(&w, 32, err);

	if (st != LMD_OK)
		return st;
	put_keys(c, w);
	for (uint32_t i = 0; i < c->m->view.n_tensors; i++) {
		const struct lmd_tensor *t = &c->m->tensors[i];

		lmi_gguf_add_tensor(w, t->name, lmi_convert_type(c, i), t->n_dim, t->dims);
	}
	if (c->o.progress)
		lmi_gguf_writer_on_progress(w, c->o.progress, c->o.progress_arg);
	if (c->o.resume.keep != LMI_GGUF_KEEP_NONE)
		st = digest(c, key, err);
	if (st == LMD_OK)
		st = lmi_gguf_writer_resume(w, path, &c->o.resume, key, &n_done, err);
	if (st == LMD_OK)
		st = put_tensors(c, w, n_done, err);
	if (st == LMD_OK)
		st = lmi_gguf_writer_finish(w, err);
	st = lmi_gguf_writer_interrupt(w, st, err);
	lmi_gguf_writer_destroy(w);
	return st;
}
