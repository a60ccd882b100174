/* SPDX-License-Identifier: MIT
 *
 * From the rows of a family to tensors with recipes.  A name in the files that no row explains is
 * refused: a model without some of its weights would run and answer nonsense. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/show.h"
#include "core/format/folder/inner.h"
#include "core/quant/quant.h"

#define NAME 320u

/* Where the names of the language model may begin. */
static const char *const prefixes[] = {
	"model.", "", "transformer.", "gpt_neox.", "model.language_model.",
	"language_model.model.", "language_model.", "bert.", "roberta.",
};

/* In files, and of no use here: tables that are computed, parts of other kinds. */
static const char *const ends[] = {
	".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attention.bias",
	".attention.masked_bias", ".k_scale", ".v_scale", ".kv_scale", ".self_attn.rotary_emb.inv_freq",
};
static const char *const begins[] = {
	"vision_tower.", "model.vision_tower.", "multi_modal_projector.",
	"model.multi_modal_projector.", "visual.", "model.visual.", "audio_tower.",
	"model.audio_tower.", "model.embed_audio.", "model.embed_vision.", "mtp.", "model.mtp.",
};

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void find_prefix(struct lmi_folder *f)
{
	const char *embd = f->fam->rows[0].v[0].hf;
	size_t n = strlen(embd);

	for (size_t k = 0; k < LMD_LEN(prefixes); k++) {
		size_t m = strlen(prefixes[k]);

		for (uint32_t i = 0; i < f->st.n; i++) {
			const char *name = f->st.v[i].name;

			if (!starts(name, prefixes[k]) || strncmp(name + m, embd, n) != 0 ||
			    name[m + n] != '.')
				continue;
			f->prefix = prefixes[k];
			return;
		}
	}
	lmi_folder_fail(f, LMD_NOTFOUND, "%s: no tensor %s.weight, as models of the type \"%s\" have it",
			f->dir, embd, f->fam->type);
}

/* ---- one tensor ---- */

/* Room for one more. */
static bool grow(struct lmi_folder *f)
{
	uint32_t cap = f->cap ? 2 * f->cap : 256;
	struct lmi_recipe *r;

	if (f->m->view.n_tensors < f->cap)
		return true;
	r = lmi_realloc(f->recipes, cap, sizeof(*r));
	if (!r) {
		lmi_folder_fail(f, LMD_NOMEM, "no memory for %u tensors", cap);
		return false;
	}
	f->recipes = r;
	f->cap = cap;
	return true;
}

/* The shape of one source, contiguous dimension first. */
static void dims_of(const struct lmi_source *s, bool keep, struct lmd_tensor *t)
{
	uint32_t n = s->w->n_dim;

	for (int i = 0; i < LMD_MAX_DIMS; i++)
		t->dims[i] = 1;
	if (s->scheme == LMI_SCHEME_PLAIN || s->scheme == LMI_SCHEME_SCALED) {
		/* outer sizes of 1 say nothing */
		while (!keep && n > 1 && s->w->dims[s->w->n_dim - n] == 1)
			n--;
		for (uint32_t i = 0; i < n; i++)
			t->dims[i] = s->w->dims[s->w->n_dim - 1 - i];
		t->n_dim = n ? n : 1;
		return;
	}
	t->n_dim = n < 2 ? 2 : n;
	t->dims[0] = (int64_t)s->cols;
	t->dims[1] = (int64_t)s->rows;
	if (n == 3) {
		t->dims[2] = s->w->dims[0];
		t->dims[1] /= t->dims[2];
	}
}

static void refuse(struct lmi_folder *f, const struct lmi_source *s, const char *what)
{
	char show[80];

	lmi_folder_fail(f, LMD_CORRUPT, "%s: tensor %s [%llu, %llu]: %s", f->dir,
			lmi_show(show, sizeof(show), s->w->name, strlen(s->w->name)),
			(unsigned long long)s->rows, (unsigned long long)s->cols, what);
}

/* The operation that the flags of a row ask for, with its sizes checked. */
static void set_op(struct lmi_folder *f, const struct lmi_row *row, bool vector, bool bias,
		   struct lmi_recipe *r, struct lmd_tensor *t)
{
	struct lmi_source *s = &r->src[0];
	uint64_t heads = row->flags & LMI_ROW_ROPE_K ? f->n_head_kv : f->n_head;

	r->rows = s->rows;
	r->head_dim = f->head_dim;
	r->n_head = f->n_head;
	r->n_kv = f->n_head_kv;
	if (row->flags & (LMI_ROW_ROPE_Q | LMI_ROW_ROPE_K)) {
		r->op = LMI_OP_ROPE;
		if (s->rows != heads * f->head_dim || f->head_dim % 2)
			refuse(f, s, "rows are not heads of an even size");
	} else if (row->flags & LMI_ROW_QKV) {
		r->op = LMI_OP_QKV;
		if (s->rows != (f->n_head + 2ull * f->n_head_kv) * f->head_dim)
			refuse(f, s, "rows are not those of all queries, keys and values");
	} else if (row->flags & LMI_ROW_CONV1D && !vector) {
		int64_t d = t->dims[0];

		r->op = LMI_OP_TRANSPOSE;
		if (t->n_dim != 2 || s->scheme != LMI_SCHEME_PLAIN)
			refuse(f, s, "is no plain matrix");
		t->dims[0] = t->dims[1];
		t->dims[1] = d;
	} else if (row->flags & (LMI_ROW_HALF0 | LMI_ROW_HALF1)) {
		r->op = LMI_OP_HALF;
		r->half = row->flags & LMI_ROW_HALF1 ? 1 : 0;
		r->per = (uint64_t)(vector ? t->dims[0] : t->dims[1]);
		if (r->per % 2)
			refuse(f, s, "rows have no halves");
		t->dims[vector ? 0 : 1] /= 2;
		r->rows /= 2;
	}
	if (row->flags & LMI_ROW_BEHIND_PAD && f->n_pad_rows) {
		if (t->n_dim != 2 || s->rows <= f->n_pad_rows)
			refuse(f, s, "has no rows behind those of padding");
		r->row0 = f->n_pad_rows;
		r->rows -= r->row0;
		t->dims[1] -= (int64_t)r->row0;
	}
	if (row->flags & LMI_ROW_ADD1 && !bias)
		r->add = 1;
}

static bool same_shape(const struct lmi_source *a, const struct lmi_source *b)
{
	return a->scheme == b->scheme && a->rows == b->rows && a->cols == b->cols &&
	       a->bits == b->bits && a->group == b->group && a->symmetric == b->symmetric &&
	       a->w->n_dim == b->w->n_dim;
}

static void place(struct lmi_folder *f, struct lmi_recipe *r, struct lmd_tensor *t)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	const struct lmi_source *s = r->n_src ? &r->src[0] : NULL;
	uint64_t n = 1;

	for (uint32_t i = 1; i < t->n_dim; i++)
		if (!lmi_mul_ok(n, (uint64_t)t->dims[i], &n))
			n = UINT64_MAX;
	if (!lmi_row_bytes(type, (uint64_t)t->dims[0], &t->bytes) ||
	    !lmi_mul_ok(t->bytes, n, &t->bytes)) {
		lmi_folder_fail(f, LMD_INVALID,
				"tensor %s: rows of %lld values do not fit blocks of type %s",
				t->name, (long long)t->dims[0], type->name);
		return;
	}
	r->in_place = s && r->n_src == 1 && r->op == LMI_OP_NONE && r->add == 0 && !r->row0 &&
		      s->scheme == LMI_SCHEME_PLAIN && s->w->bytes == t->bytes &&
		      ((t->dtype == LMD_DTYPE_F32 && s->w->type == LMI_ST_F32) ||
		       (t->dtype == LMD_DTYPE_F16 && s->w->type == LMI_ST_F16) ||
		       (t->dtype == LMD_DTYPE_BF16 && s->w->type == LMI_ST_BF16)) &&
		      s->w->offset % type->block_bytes == 0;
	if (r->in_place) {
		t->file = s->w->part;
		t->offset = s->w->offset;
	}
}

static void add(struct lmi_folder *f, struct lmi_recipe *r, struct lmd_tensor *t)
{
	if (f->status != LMD_OK || !grow(f))
		return;
	place(f, r, t);
	if (f->status != LMD_OK)
		return;
	f->recipes[f->m->view.n_tensors] = *r;
	f->status = lmi_model_add_tensor(f->m, t, f->err);
}

/* ".weight" or ".bias" of a row from sources of one shape. */
static void add_from(struct lmi_folder *f, const struct lmi_row *row, struct lmi_source *src,
		     uint32_t n, bool bias, const char *to)
{
	struct lmi_recipe r = {.src = lmi_folder_alloc(f, n, sizeof(*src)), .n_src = n};
	struct lmd_tensor t = {0};
	bool vector;

	if (!r.src)
		return;
	for (uint32_t i = 1; i < n; i++)
		if (!same_shape(&src[0], &src[i]))
			refuse(f, &src[i], "differs in shape or type from the one before it");
	dims_of(&src[0], row->flags & LMI_ROW_KEEP_DIMS, &t);
	vector = t.n_dim == 1;
	if (vector) { /* operations on rows are those on its values */
		for (uint32_t i = 0; i < n; i++) {
			src[i].rows *= src[i].cols;
			src[i].cols = 1;
		}
	}
	memcpy(r.src, src, n * sizeof(*src));
	set_op(f, row, vector, bias, &r, &t);
	if (n > 1) {
		if (t.n_dim == LMD_MAX_DIMS)
			refuse(f, &src[0], "too many dimensions to be stacked");
		else
			t.dims[t.n_dim++] = n;
	}
	t.dtype = vector && !(row->flags & LMI_ROW_EXPERT)
			  ? LMD_DTYPE_F32
			  : lmi_source_type(&src[0], r.add != 0 || r.op == LMI_OP_TRANSPOSE);
	if (r.add != 0)
		t.dtype = LMD_DTYPE_F32;
	t.name = lmi_arena_printf(f->m->arena, "%s%s", to, bias ? ".bias" : ".weight");
	if (!t.name)
		lmi_folder_fail(f, LMD_NOMEM, "no memory for the name of a tensor");
	add(f, &r, &t);
}

/* ---- rows ---- */

/* "%d" once or twice; the table is ours, so the formats are. */
static void expand(char *out, const char *pattern, uint32_t il, uint32_t k)
{
	size_t n = 0;
	uint32_t nth = 0;

	for (const char *p = pattern; *p && n + 12 < NAME; p++) {
		if (p[0] == '%' && p[1] == 'd') {
			n += (size_t)snprintf(out + n, NAME - n, "%u", nth++ ? k : il);
			p++;
		} else {
			out[n++] = *p;
		}
	}
	out[n] = 0;
}

/* A weight or a bias by its stem in the files. */
static bool get(struct lmi_folder *f, const struct lmi_row *row, const char *stem, bool bias,
		struct lmi_source *out)
{
	char name[NAME + 8];

	if (!bias && !(row->flags & LMI_ROW_BARE))
		return lmi_source_find(f, stem, out);
	if (bias && row->flags & LMI_ROW_BARE)
		return false;
	(void)snprintf(name, sizeof(name), "%s%s", stem, bias ? ".bias" : "");
	return lmi_source_plain(f, name, out);
}

static void stem_of(const struct lmi_folder *f, const struct lmi_row *row, uint32_t il, uint32_t k,
		    char out[2 * NAME])
{
	char name[NAME];

	expand(name, row->hf, il, k);
	(void)snprintf(out, 2 * NAME, "%s%s", row->flags & LMI_ROW_ROOT ? "" : f->prefix, name);
}

/* One tensor for each expert: as many as there are, each of its own. */
static bool add_each(struct lmi_folder *f, const struct lmi_row *row, uint32_t il, bool bias)
{
	struct lmi_source src;
	char stem[2 * NAME], to[NAME + 12], base[NAME];
	uint32_t k = 0;

	expand(base, row->to, il, 0);
	base[strlen(base) - strlen("_exps")] = 0; /* blk.0.ffn_up.3 */
	for (; k < f->n_expert && f->status == LMD_OK; k++) {
		stem_of(f, row, il, k, stem);
		if (!get(f, row, stem, bias, &src))
			break;
		(void)snprintf(to, sizeof(to), "%s.%u", base, k);
		add_from(f, row, &src, 1, bias, to);
	}
	return k > 0;
}

/* All of them as one. */
static bool add_stacked(struct lmi_folder *f, const struct lmi_row *row, uint32_t il, bool bias)
{
	uint32_t n = row->flags & LMI_ROW_EXPERT  ? f->n_expert
		     : !(row->flags & LMI_ROW_HEADS) ? 1
		     : strstr(row->to, "_k_")        ? f->n_head_kv
						      : f->n_head;
	struct lmi_source *src = lmi_alloc(n ? n : 1, sizeof(*src));
	char stem[2 * NAME], to[NAME];
	uint32_t k = 0;

	if (!src) {
		lmi_folder_fail(f, LMD_NOMEM, "no memory for %u experts", n);
		return false;
	}
	expand(to, row->to, il, 0);
	for (; k < n && f->status == LMD_OK; k++) {
		stem_of(f, row, il, k, stem);
		if (!get(f, row, stem, bias, &src[k]))
			break;
	}
	if (k && k == n)
		add_from(f, row, src, n, bias, to);
	else if (k)
		lmi_folder_fail(f, LMD_CORRUPT, "%s: tensor %.120s is missing, %u before it are there",
				f->dir, stem, k);
	lmi_free(src);
	return k > 0;
}

static bool add_row(struct lmi_folder *f, const struct lmi_row *row, uint32_t il, bool bias)
{
	bool each = row->flags & LMI_ROW_EXPERT && !(f->flags & LMI_FOLDER_STACKED);

	return each ? add_each(f, row, il, bias) : add_stacked(f, row, il, bias);
}

static void do_row(struct lmi_folder *f, const struct lmi_row *row, uint32_t il)
{
	char stem[2 * NAME];
	bool there;

	if (f->status != LMD_OK || (f->tied && !strcmp(row->to, "output")))
		return;
	if (row->flags & LMI_ROW_IGNORE) {
		struct lmi_source none;

		stem_of(f, row, il, 0, stem);
		if (get(f, row, stem, false, &none))
			(void)get(f, row, stem, true, &none);
		return;
	}
	there = add_row(f, row, il, false);
	if (there && !(row->flags & LMI_ROW_NO_BIAS) && f->status == LMD_OK)
		(void)add_row(f, row, il, true);
	if (there || row->flags & LMI_ROW_OPT)
		return;
	stem_of(f, row, il, 0, stem);
	lmi_folder_fail(f, LMD_NOTFOUND, "%s: tensor %.200s%s is missing", f->dir, stem,
			row->flags & LMI_ROW_BARE ? "" : ".weight");
}

static bool is_layered(const struct lmi_row *row)
{
	return strstr(row->hf, "%d") != NULL;
}

/* rope_freqs and rope_factors_*. */
static void add_values(struct lmi_folder *f, const char *name, const float *v)
{
	struct lmi_recipe r = {.op = LMI_OP_VALUES, .values = v};
	struct lmd_tensor t = {.name = name,
			       .dtype = LMD_DTYPE_F32,
			       .n_dim = 1,
			       .dims = {f->n_rope_freqs, 1, 1, 1}};

	if (v && f->n_rope_freqs)
		add(f, &r, &t);
}

/* ---- what is left ---- */

/* "layers.61." of a model with 61 layers: a block for drafts. */
static bool beyond(const struct lmi_folder *f, const char *name)
{
	static const char *const words[] = {"layers.", "h.", "blocks."};
	size_t n = strlen(f->prefix);

	if (!starts(name, f->prefix))
		return false;
	for (size_t i = 0; i < LMD_LEN(words); i++)
		if (starts(name + n, words[i]))
			return strtoul(name + n + strlen(words[i]), NULL, 10) >= f->n_layer;
	return false;
}

static bool of_no_use(const struct lmi_folder *f, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < LMD_LEN(ends); i++)
		if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	for (size_t i = 0; i < LMD_LEN(begins); i++)
		if (starts(name, begins[i]))
			return true;
	return beyond(f, name) || (f->tied && starts(name, "lm_head."));
}

static void check_used(struct lmi_folder *f)
{
	char show[112];

	for (uint32_t i = 0; f->status == LMD_OK && i < f->st.n; i++) {
		const char *name = f->st.v[i].name;

		if (!f->used[i] && !of_no_use(f, name))
			lmi_folder_fail(f, LMD_UNSUPPORTED,
					"%s: tensor %s: models of the type \"%s\" have no such "
					"tensor here",
					f->dir, lmi_show(show, sizeof(show), name, strlen(name)),
					f->fam->type);
	}
}

void lmi_folder_tensors(struct lmi_folder *f)
{
	find_prefix(f);
	if (f->status == LMD_OK)
		f->status = lmi_model_reserve_tensors(f->m, 2 * f->st.n + 8, f->err);
	for (uint32_t k = 0; k < LMI_MAX_ROWS; k++)
		for (uint32_t i = 0; i < f->fam->rows[k].n; i++)
			if (!is_layered(&f->fam->rows[k].v[i]))
				do_row(f, &f->fam->rows[k].v[i], 0);
	add_values(f, "rope_freqs.weight", f->rope_freqs);
	add_values(f, "rope_factors_long.weight", f->rope_long);
	add_values(f, "rope_factors_short.weight", f->rope_short);
	for (uint32_t il = 0; il < f->n_layer; il++)
		for (uint32_t k = 0; k < LMI_MAX_ROWS; k++)
			for (uint32_t i = 0; i < f->fam->rows[k].n; i++)
				if (is_layered(&f->fam->rows[k].v[i]))
					do_row(f, &f->fam->rows[k].v[i], il);
	check_used(f);
}
