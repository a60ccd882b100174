/* SPDX-License-Identifier: MIT
 *
 * llamactl debug dequant and debug quant: convert blocks of a tensor type to float32 values and
 * back, with the reference code. */
#include <stdlib.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/show.h"
#include "core/quant/quant.h"

#define CHUNK_VALUES 65536u    /* decoded at once */
#define MAX_WIDTH    (1 << 20) /* of a row */

/* One run: the input, the output, and buffers for a piece of each. */
struct job {
	const struct lmi_dtype *type;
	struct lmi_file in;
	struct lmi_new_file out;
	uint8_t *src, *dst;
	float *values;
	uint64_t n_values, bytes; /* values processed; bytes of the output */
};

static enum lmd_status find_type(const char *name, const struct lmi_dtype **out,
				 struct lmd_error *err)
{
	char show[48];

	*out = lmi_dtype_by_name(name);
	if (!*out)
		return lmd_fail(err, LMD_NOTFOUND, "--type: no tensor type \"%s\"",
				lmi_show(show, sizeof(show), name, strlen(name)));
	return LMD_OK;
}

static enum lmd_status job_open(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *type = lmi_arg_str(&ctl->args, "type");
	enum lmd_status st;

	if (!type)
		return lmi_usage(ctl, err, "option '--type' is missing");
	st = find_type(type, &j->type, err);
	if (st == LMD_OK)
		st = lmi_file_open(&j->in, lmi_arg_pos(&ctl->args, 0), err);
	if (st == LMD_OK)
		st = lmi_new_file_open(&j->out, lmi_arg_pos(&ctl->args, 1), 0644, err);
	return st;
}

static enum lmd_status job_buffers(struct job *j, size_t src, size_t dst, size_t values,
				   struct lmd_error *err)
{
	j->src = lmi_alloc(src, 1);
	j->dst = lmi_alloc(dst, 1);
	j->values = lmi_alloc(values, sizeof(*j->values));
	if (!j->src || !j->dst || !j->values)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu values", values);
	return LMD_OK;
}

static void print_json(const struct job *j, const char *to)
{
	struct lmi_json out;

	lmi_json_init(&out, stdout);
	lmi_json_object(&out, NULL);
	lmi_json_str(&out, "path", to);
	lmi_json_str(&out, "type", j->type->name);
	lmi_json_uint(&out, "values", j->n_values);
	lmi_json_uint(&out, "bytes", j->bytes);
	lmi_json_end(&out);
	lmi_json_fini(&out);
}

/* Moves the output into place after success; with --json prints an object that describes it. */
static enum lmd_status job_end(struct job *j, struct lmi_ctl *ctl, enum lmd_status st,
			       struct lmd_error *err)
{
	j->bytes = j->out.bytes;
	if (st == LMD_OK)
		st = lmi_new_file_commit(&j->out, err);
	else
		lmi_new_file_abort(&j->out);
	lmi_file_close(&j->in);
	lmi_free(j->src);
	lmi_free(j->dst);
	lmi_free(j->values);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "json"))
		print_json(j, lmi_arg_pos(&ctl->args, 1));
	return st;
}

/* The input must be a whole number of pieces. */
static enum lmd_status check_size(const struct job *j, const char *path, uint64_t piece,
				  const char *what, struct lmd_error *err)
{
	char show[112];

	if (j->in.bytes % piece == 0)
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "%s: %llu bytes: not a multiple of %llu (%s)",
			lmi_show_path(show, sizeof(show), path), (unsigned long long)j->in.bytes,
			(unsigned long long)piece, what);
}

static enum lmd_status bad_width(const struct job *j, size_t width, struct lmd_error *err)
{
	return lmd_fail(err, LMD_INVALID, "--width %zu is not a multiple of the block length: "
					  "type %s has blocks of %u", width,
			j->type->name, j->type->block_elems);
}

/* width: values in a row if the type's rows have a header, otherwise values in a block. */
static enum lmd_status dequant_all(struct job *j, const char *path, size_t width,
				   struct lmd_error *err)
{
	size_t per = CHUNK_VALUES < width ? 1 : CHUNK_VALUES / width, block;
	uint64_t n_blocks, bytes = 0;
	enum lmd_status st;

	if (!lmi_row_bytes(j->type, width, &bytes))
		return bad_width(j, width, err);
	block = (size_t)bytes;
	n_blocks = j->in.bytes / block;
	st = check_size(j, path, block, width == j->type->block_elems ? "a block" : "a row", err);
	if (st == LMD_OK)
		st = job_buffers(j, per * block, per * width * 4, per * width, err);
	for (uint64_t i = 0; st == LMD_OK && i < n_blocks; i += per) {
		size_t k = n_blocks - i < per ? (size_t)(n_blocks - i) : per, n = k * width;

		st = lmi_file_read(&j->in, i * block, j->src, k * block, err);
		if (st != LMD_OK)
			return st;
		lmi_dequant_rows(j->type, j->src, j->values, width, k);
		for (size_t v = 0; v < n; v++)
			lmi_put_le32(j->dst + 4 * v, lmi_f32_bits(j->values[v]));
		st = lmi_new_file_write(&j->out, j->dst, 4 * n, err);
		j->n_values += n;
	}
	return st;
}

static enum lmd_status run_dequant(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.in.fd = -1, .out.fd = -1};
	bool given = lmi_arg_given(&ctl->args, "width");
	enum lmd_status st = job_open(&j, ctl, err);
	size_t width = 0;

	if (st == LMD_OK && j.type->row_bytes_extra && !given)
		st = lmd_fail(err, LMD_INVALID,
			      "type %s: each row has a header; give the number of values in a "
			      "row with --width",
			      j.type->name);
	if (st == LMD_OK)
		width = given ? (size_t)lmi_arg_int(&ctl->args, "width") : j.type->block_elems;
	if (st == LMD_OK)
		st = dequant_all(&j, lmi_arg_pos(&ctl->args, 0), width, err);
	return job_end(&j, ctl, st, err);
}

static void get_values(const uint8_t *src, float *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_bits_f32(lmi_get_le32(src + 4 * i));
}

/* The importance of each of `width` columns, or NULL in *out when no file is given. */
static enum lmd_status read_imatrix(const char *path, size_t width, float **out,
				    struct lmd_error *err)
{
	struct lmi_file f;
	struct lmi_map map = {0};
	enum lmd_status st;
	char show[112];

	*out = NULL;
	if (!path)
		return LMD_OK;
	st = lmi_file_open(&f, path, err);
	if (st != LMD_OK)
		return st;
	if (f.bytes != 4 * (uint64_t)width)
		st = lmd_fail(err, LMD_INVALID, "%s: %llu bytes, a row of %zu columns has %zu",
			      lmi_show_path(show, sizeof(show), path), (unsigned long long)f.bytes,
			      width, 4 * width);
	if (st == LMD_OK)
		st = lmi_map_read(&map, &f, 0, f.bytes, err);
	lmi_file_close(&f);
	if (st != LMD_OK)
		return st;
	*out = lmi_alloc(width, sizeof(**out));
	if (*out)
		get_values(map.ptr, *out, width);
	else
		st = lmd_fail(err, LMD_NOMEM, "no memory for %zu columns", width);
	lmi_map_close(&map);
	return st;
}

static enum lmd_status quant_all(struct job *j, const char *path, size_t width,
				 const float *importance, struct lmd_error *err)
{
	uint64_t row_bytes = 0, n_rows = j->in.bytes / (4 * width);
	enum lmd_status st = check_size(j, path, 4 * width, "a row of float32", err);

	if (st != LMD_OK)
		return st;
	if (!j->type->quant)
		return lmd_fail(err, LMD_UNSUPPORTED, "type %s: there is no encoder",
				j->type->name);
	if (j->type->needs_importance && !importance)
		return lmd_fail(err, LMD_INVALID, "type %s: needs an importance matrix (--imatrix)",
				j->type->name);
	if (!lmi_row_bytes(j->type, width, &row_bytes))
		return bad_width(j, width, err);
	st = job_buffers(j, 4 * width, (size_t)row_bytes, width, err);
	for (uint64_t i = 0; st == LMD_OK && i < n_rows; i++) {
		st = lmi_file_read(&j->in, i * 4 * width, j->src, 4 * width, err);
		if (st != LMD_OK)
			return st;
		get_values(j->src, j->values, width);
		j->type->quant(j->values, j->dst, width, importance);
		st = lmi_new_file_write(&j->out, j->dst, (size_t)row_bytes, err);
		j->n_values += width;
	}
	return st;
}

static enum lmd_status run_quant(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.in.fd = -1, .out.fd = -1};
	size_t width = (size_t)lmi_arg_int(&ctl->args, "width");
	float *importance = NULL;
	enum lmd_status st;

	if (!lmi_arg_given(&ctl->args, "width"))
		return lmi_usage(ctl, err, "option '--width' is missing");
	st = read_imatrix(lmi_arg_str(&ctl->args, "imatrix"), width, &importance, err);
	if (st == LMD_OK)
		st = job_open(&j, ctl, err);
	if (st == LMD_OK)
		st = quant_all(&j, lmi_arg_pos(&ctl->args, 0), width, importance, err);
	lmi_free(importance);
	return job_end(&j, ctl, st, err);
}

static const struct lmi_opt dequant_opts[] = {
	{.name = "type",
	 .type = LMI_OPT_STR,
	 .value = "T",
	 .doc = "Tensor type of the blocks: q4_k, mxfp4, ..."},
	{.name = "width",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = MAX_WIDTH,
	 .doc = "Number of values in a row; required for types whose rows have a header: iq4_ks, "
		"..."},
	LMI_OPT_JSON,
};

static const struct lmi_opt quant_opts[] = {
	{.name = "type",
	 .type = LMI_OPT_STR,
	 .value = "T",
	 .doc = "Tensor type to encode to: q4_k, mxfp4, ..."},
	{.name = "width",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = MAX_WIDTH,
	 .doc = "Number of values in a row, a multiple of the type's block length."},
	{.name = "imatrix",
	 .type = LMI_OPT_STR,
	 .value = "F.f32",
	 .doc = "File with the importance of each column: N float32 values."},
	LMI_OPT_JSON,
};

const struct lmi_cmd lmi_cmd_debug_dequant = {
	.name = "debug dequant",
	.args = "IN.blk OUT.f32",
	.brief = "Decode blocks of a tensor type to float32 values",
	.doc = "With --json an object with path, type, values and bytes of what was written.",
	.opts = dequant_opts,
	.n_opts = LMD_LEN(dequant_opts),
	.run = run_dequant,
};

const struct lmi_cmd lmi_cmd_debug_quant = {
	.name = "debug quant",
	.args = "IN.f32 OUT.blk",
	.brief = "Encode rows of float32 values as blocks of a tensor type",
	.doc = "With --json an object with path, type, values and bytes of what was written.",
	.opts = quant_opts,
	.n_opts = LMD_LEN(quant_opts),
	.run = run_quant,
};
