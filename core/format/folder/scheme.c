/* SPDX-License-Identifier: MIT
 *
 * Finds the weights of checkpoints, plain or quantised.  One weight consists of one to four file
 * tensors:
 *
 *     plain     STEM.weight
 *     scaled    STEM.weight, STEM.weight_scale_inv or weight_scale: one value, one per row, or
 *               one per block of rows and columns
 *     affine    STEM.weight (U32), STEM.scales, STEM.biases               x = s q + b      (MLX)
 *     GPTQ      STEM.qweight [in/8, out], qzeros, scales [groups, out], g_idx   x = s (q - z)
 *     AWQ       STEM.qweight [in, out/8], qzeros, scales; nibbles in the order 0 2 4 6 1 3 5 7
 *     packed    STEM.weight_packed [out, in/8], weight_scale, weight_shape      x = s (q - 8)
 *     MXFP4     STEM_blocks [experts, out, in/32, 16], STEM_scales: the exponent of each block
 *
 * MXFP4 is a tensor type of its own.  All others except the first two are codes with a scale and an
 * offset for each group of columns.  Q4_0, Q4_1, Q8_0 and, for other code widths, Q8_A have the
 * same form, so if the group size is a multiple of 32 the codes are kept as they are. */
#include <stdio.h>
#include <string.h>

#include "core/base/show.h"
#include "core/format/folder/inner.h"


/* ---- the configuration ---- */

void lmi_folder_scheme(struct lmi_folder *f)
{
	const struct lmi_jnode *q = lmi_conf(f, "quantization_config|compression_config");
	const struct lmi_jnode *m = lmi_jnode_get(q, "quant_method");
	char show[40];

	f->quant.bits = (uint32_t)lmi_conf_int(
		f, "quantization.bits|quantization_config.bits|quantization_config.w_bit", 4, 1,
		16);
	f->quant.group = (uint32_t)lmi_conf_int(
		f,
		"quantization.group_size|quantization_config.group_size|"
		"quantization_config.q_group_size",
		0, -1, 1 << 20);
	if (f->quant.group == UINT32_MAX) /* -1: a row is one group */
		f->quant.group = 0;
	f->quant.symmetric = lmi_conf_bool(f, "quantization_config.sym", false);
	f->quant.order = lmi_conf_bool(f, "quantization_config.desc_act", false);
	f->quant.zero_offset = true;
	if (lmi_conf_is(f, "quantization_config.checkpoint_format", "gptq_v2"))
		f->quant.zero_offset = false;
	if (lmi_jnode_eq(m, "gptq"))
		f->quant.scheme = LMI_SCHEME_GPTQ;
	else if (lmi_jnode_eq(m, "awq"))
		f->quant.scheme = LMI_SCHEME_AWQ;
	else if (m && !lmi_jnode_eq(m, "fp8") && !lmi_jnode_eq(m, "compressed-tensors") &&
		 !lmi_jnode_eq(m, "mlx") && !lmi_jnode_eq(m, "mxfp4"))
		lmi_folder_fail(
			f, LMD_UNSUPPORTED,
			"%s/config.json: \"quant_method\" \"%s\" is not supported, must be gptq, "
			"awq, fp8, mxfp4, mlx or compressed-tensors; use the model without "
			"quantisation",
			f->dir,
			m->type == LMI_JSTRING ? lmi_show(show, sizeof(show), m->u.s, m->n)
					       : lmi_jnode_kind(m));
}

/* ---- finding weights ---- */

static const struct lmi_st_tensor *find(struct lmi_folder *f, const char *stem, const char *suffix)
{
	char name[LMI_ST_NAME_BYTES + 32];
	const struct lmi_st_tensor *t;

	if (strlen(stem) > LMI_ST_NAME_BYTES)
		return NULL;
	(void)snprintf(name, sizeof(name), "%s%s", stem, suffix);
	t = lmi_st_find(&f->st, name);
	if (t)
		f->used[t - f->st.v] = 1;
	return t;
}

static void bad(struct lmi_folder *f, const struct lmi_st_tensor *t, const char *what)
{
	char show[80];

	lmi_folder_fail(f, LMD_UNSUPPORTED, "%s: tensor %s (%s, %u dimensions, %llu values): %s",
			f->dir, lmi_show(show, sizeof(show), t->name, strlen(t->name)),
			lmi_st_type_name(t->type), t->n_dim, (unsigned long long)lmi_st_elems(t),
			what);
}

/* Views the tensor as a matrix whose rows run along the last dimension. */
static void as_rows(struct lmi_source *s)
{
	const struct lmi_st_tensor *t = s->w;

	s->cols = t->n_dim ? (uint64_t)t->dims[t->n_dim - 1] : 1;
	s->rows = s->cols ? lmi_st_elems(t) / s->cols : 0;
}

static void check_plain(struct lmi_folder *f, struct lmi_source *s)
{
	as_rows(s);
	if (!s->rows || !s->cols)
		bad(f, s->w, "it is empty");
	else if (s->w->n_dim > LMD_MAX_DIMS)
		bad(f, s->w, "a weight cannot have so many dimensions");
	else if (s->w->type == LMI_ST_F8_E8M0 || s->w->type == LMI_ST_U64)
		bad(f, s->w, "weights cannot have this type");
}

bool lmi_source_plain(struct lmi_folder *f, const char *name, struct lmi_source *out)
{
	*out = (struct lmi_source){.w = find(f, name, "")};
	if (out->w)
		check_plain(f, out);
	return out->w && f->status == LMD_OK;
}

bool lmi_scaled_by_row(const struct lmi_source *s)
{
	const struct lmi_st_tensor *t = s->scale;

	return lmi_st_elems(t) == s->rows && s->rows > 1 &&
	       (t->n_dim == 1 || t->dims[t->n_dim - 1] == 1);
}

/* Checks that the scales cover rows and columns in whole blocks. */
static void check_scaled(struct lmi_folder *f, struct lmi_source *s)
{
	uint64_t n = lmi_st_elems(s->scale);
	bool one = n == 1, rows = lmi_scaled_by_row(s);
	bool blocks = s->scale->n_dim == 2 && s->w->n_dim == 2 && s->scale->dims[0] > 0 &&
		      s->scale->dims[1] > 0 && (uint64_t)s->scale->dims[0] <= s->rows &&
		      (uint64_t)s->scale->dims[1] <= s->cols;

	if (!one && !rows && !blocks)
		bad(f, s->scale,
		    "the scales match neither the tensor nor its rows nor blocks of it");
	if (s->w->n_dim > 3)
		bad(f, s->w, "a scaled weight cannot have so many dimensions");
}

/* Derives the group size from the number of scales in a row. */
static void set_groups(struct lmi_folder *f, struct lmi_source *s, uint64_t n_groups)
{
	if (!n_groups || s->cols % n_groups)
		bad(f, s->scale, "the groups do not divide the columns");
	else
		s->group = (uint32_t)(s->cols / n_groups);
}

/* MLX: layers may differ in bits, so the bits are derived from the group size. */
static void check_affine(struct lmi_folder *f, struct lmi_source *s)
{
	uint32_t n = s->w->n_dim;
	uint64_t words, groups, bits;

	if (n < 1 || n > 3 || s->scale->n_dim != n || !s->zero || s->zero->n_dim != n ||
	    memcmp(s->scale->dims, s->zero->dims, sizeof(s->zero->dims)) != 0 ||
	    s->scale->type != s->zero->type || !lmi_st_elems(s->scale)) {
		bad(f, s->w, "its scales or biases are missing or have another shape");
		return;
	}
	words = (uint64_t)s->w->dims[n - 1];
	groups = (uint64_t)s->scale->dims[n - 1];
	bits = words * 32 / groups; /* bits of one group */
	s->group = f->quant.group;
	if (!s->group || bits % s->group) /* group size not stated, or different in this layer */
		s->group = (uint32_t)(bits / f->quant.bits);
	if (!s->group) {
		bad(f, s->w, "the scales do not match codes of 1 to 8 bits");
		return;
	}
	bits /= s->group;
	s->bits = (uint32_t)bits;
	s->cols = groups * s->group;
	s->rows = lmi_st_elems(s->scale) / groups;
	if (bits < 1 || bits > 8 || words * 32 != groups * s->group * bits ||
	    lmi_st_elems(s->w) != s->rows * words)
		bad(f, s->w, "the scales do not match codes of 1 to 8 bits");
}

/* Shapes: [in / per, out] and [groups, out / per]. */
static void check_gptq(struct lmi_folder *f, struct lmi_source *s)
{
	uint32_t per;

	s->bits = f->quant.bits;
	if (s->bits != 4 && s->bits != 8) {
		bad(f, s->w,
		    "only GPTQ codes of 4 and 8 bits are supported: use the model without "
		    "quantisation");
		return;
	}
	per = 32 / s->bits;
	if (!s->scale || !s->zero || s->w->type != LMI_ST_I32 || s->w->n_dim != 2 ||
	    s->scale->n_dim != 2 || s->zero->n_dim != 2 || s->zero->type != LMI_ST_I32 ||
	    s->scale->dims[1] != s->w->dims[1] || s->zero->dims[0] != s->scale->dims[0] ||
	    s->zero->dims[1] * per != s->scale->dims[1]) {
		bad(f, s->w, "qzeros or scales are missing or have another shape");
		return;
	}
	s->cols = (uint64_t)s->w->dims[0] * per;
	s->rows = (uint64_t)s->w->dims[1];
	set_groups(f, s, (uint64_t)s->scale->dims[0]);
	s->symmetric = f->quant.symmetric;
	s->zero_offset = f->quant.zero_offset;
	if (!f->quant.order)
		s->order = NULL;
	else if (!s->order || s->order->type != LMI_ST_I32 || lmi_st_elems(s->order) != s->cols)
		bad(f, s->w, "g_idx is missing or has another shape");
}

/* Shapes: [in, out / 8] and [groups, out / 8]. */
static void check_awq(struct lmi_folder *f, struct lmi_source *s)
{
	s->bits = 4;
	if (f->quant.bits != 4 || !s->scale || !s->zero || s->w->type != LMI_ST_I32 ||
	    s->w->n_dim != 2 || s->scale->n_dim != 2 || s->zero->n_dim != 2 ||
	    s->zero->type != LMI_ST_I32 || s->w->dims[1] * 8 != s->scale->dims[1] ||
	    s->zero->dims[1] != s->w->dims[1] || s->zero->dims[0] != s->scale->dims[0]) {
		bad(f, s->w, "AWQ needs codes of 4 bits with qzeros and scales of matching shapes");
		return;
	}
	s->cols = (uint64_t)s->w->dims[0];
	s->rows = (uint64_t)s->scale->dims[1];
	set_groups(f, s, (uint64_t)s->scale->dims[0]);
}

static void check_packed(struct lmi_folder *f, struct lmi_source *s, bool has_zero)
{
	s->bits = 4;
	s->symmetric = true;
	if (has_zero || s->order) {
		bad(f, s->w,
		    "packed codes with zero points or an order are not supported: use the model "
		    "without quantisation");
		return;
	}
	if (!s->scale || s->w->type != LMI_ST_I32 || s->w->n_dim != 2 || s->scale->n_dim != 2 ||
	    s->scale->dims[0] != s->w->dims[0]) {
		bad(f, s->w, "weight_scale is missing or has another shape");
		return;
	}
	s->rows = (uint64_t)s->w->dims[0];
	s->cols = (uint64_t)s->w->dims[1] * 8;
	set_groups(f, s, (uint64_t)s->scale->dims[1]);
}

static void check_mxfp4(struct lmi_folder *f, struct lmi_source *s)
{
	const struct lmi_st_tensor *w = s->w, *e = s->scale;

	if (w->type != LMI_ST_U8 || w->n_dim != 4 || w->dims[3] != LMI_SCHEME_BLOCK / 2 || !e ||
	    e->type != LMI_ST_U8 || e->n_dim != 3 ||
	    memcmp(e->dims, w->dims, 3 * sizeof(*w->dims)) != 0) {
		bad(f, w, "blocks of 16 bytes need scales of a matching shape");
		return;
	}
	s->bits = 4;
	s->group = LMI_SCHEME_BLOCK;
	s->rows = (uint64_t)w->dims[0] * (uint64_t)w->dims[1]; /* no overflow: at most the number of
							        * values in the file */
	s->cols = (uint64_t)w->dims[2] * LMI_SCHEME_BLOCK;
}

/* Completes STEM.weight with the other tensors of its scheme. */
static void complete_weight(struct lmi_folder *f, const char *stem, struct lmi_source *s)
{
	s->scale = find(f, stem, ".weight_scale_inv");
	if (!s->scale)
		s->scale = find(f, stem, ".weight_scale");
	(void)find(f, stem, ".input_scale"); /* for activations, which are not quantised here */
	if (s->scale) {
		s->scheme = LMI_SCHEME_SCALED;
		check_plain(f, s);
		check_scaled(f, s);
		return;
	}
	s->scale = s->w->type == LMI_ST_U32 ? find(f, stem, ".scales") : NULL;
	if (s->scale) {
		s->scheme = LMI_SCHEME_AFFINE;
		s->zero = find(f, stem, ".biases");
		check_affine(f, s);
		return;
	}
	check_plain(f, s);
}

static bool find_any(struct lmi_folder *f, const char *stem, struct lmi_source *out)
{
	*out = (struct lmi_source){.w = find(f, stem, ".weight")};
	if (out->w) {
		complete_weight(f, stem, out);
		return f->status == LMD_OK;
	}
	out->w = find(f, stem, ".qweight");
	if (out->w) {
		out->scale = find(f, stem, ".scales");
		out->zero = find(f, stem, ".qzeros");
		out->order = find(f, stem, ".g_idx");
		out->scheme = f->quant.scheme == LMI_SCHEME_AWQ ? LMI_SCHEME_AWQ : LMI_SCHEME_GPTQ;
		if (out->scheme == LMI_SCHEME_AWQ)
			check_awq(f, out);
		else
			check_gptq(f, out);
		return f->status == LMD_OK;
	}
	out->w = find(f, stem, "_blocks");
	if (out->w) {
		out->scheme = LMI_SCHEME_MXFP4;
		out->scale = find(f, stem, "_scales");
		check_mxfp4(f, out);
		return f->status == LMD_OK;
	}
	out->w = find(f, stem, ".weight_packed");
	if (!out->w)
		return false;
	out->scheme = LMI_SCHEME_PACKED;
	out->scale = find(f, stem, ".weight_scale");
	out->order = find(f, stem, ".weight_g_idx");
	(void)find(f, stem, ".weight_shape");
	check_packed(f, out, find(f, stem, ".weight_zero_point") != NULL);
	return f->status == LMD_OK;
}

bool lmi_source_find(struct lmi_folder *f, const char *stem, struct lmi_source *out)
{
	bool coded;

	if (!find_any(f, stem, out))
		return false;
	coded = out->scheme != LMI_SCHEME_PLAIN && out->scheme != LMI_SCHEME_SCALED;
	if (!out->rows || !out->cols || (coded && !out->group))
		bad(f, out->w, "it is empty");
	return f->status == LMD_OK;
}

enum lmd_dtype lmi_source_type(const struct lmi_source *s, bool changed)
{
	bool blocks = !changed && s->group % LMI_SCHEME_BLOCK == 0 && s->group;

	switch ((enum lmi_scheme)s->scheme) {
	case LMI_SCHEME_PLAIN:
		switch ((enum lmi_st_type)s->w->type) {
		case LMI_ST_F16:
		case LMI_ST_F8_E4M3:
		case LMI_ST_F8_E5M2:
			return LMD_DTYPE_F16;
		case LMI_ST_BF16:
			return LMD_DTYPE_BF16;
		default:
			return LMD_DTYPE_F32;
		}
	case LMI_SCHEME_SCALED:
		return LMD_DTYPE_BF16;
	case LMI_SCHEME_AFFINE:
		if (!blocks)
			return LMD_DTYPE_F32;
		return s->bits == 4 ? LMD_DTYPE_Q4_1 : LMD_DTYPE_Q8_A;
	case LMI_SCHEME_AWQ:
		return blocks ? LMD_DTYPE_Q4_1 : LMD_DTYPE_F16;
	case LMI_SCHEME_GPTQ:
		if (!blocks || s->order)
			return LMD_DTYPE_F16;
		if (s->bits == 8)
			return s->symmetric ? LMD_DTYPE_Q8_0 : LMD_DTYPE_Q8_A;
		return s->symmetric ? LMD_DTYPE_Q4_0 : LMD_DTYPE_Q4_1;
	case LMI_SCHEME_PACKED:
		return blocks ? LMD_DTYPE_Q4_0 : LMD_DTYPE_F16;
	case LMI_SCHEME_MXFP4:
		return changed ? LMD_DTYPE_F32 : LMD_DTYPE_MXFP4;
	}
	return LMD_DTYPE_F32;
}
