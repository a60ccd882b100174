/* SPDX-License-Identifier: MIT
 *
 * Checks the rows of an architecture's tables against the layers of a model.  A stem may occur in
 * several rows with different shapes: a tensor fits if one of them does.  In stems only "%d" is
 * expanded here, so a table cannot inject another conversion. */
#include "core/plan/model_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/show.h"
#include "core/base/strmap.h"
#include "core/model/model.h"

#define MAX_MISSING 65536u /* more than this means that the table is wrong */

struct walk {
	const struct lmd_model *m;
	const struct lmd_arch_ops *arch;
	const struct lmd_arch_desc *desc;
	struct lmi_model_fit *fits;
	uint32_t n, cap;
	struct lmi_strmap absent; /* names of missing tensors */
	struct lmd_arena *arena;
	enum lmd_status st;
	struct lmd_error *err;
};

/* Expectation of one row in one layer. */
struct want {
	const struct lmd_tensor_row *row;
	int32_t layer;
	bool applies; /* the layer has this tensor */
	uint32_t n;   /* dimensions other than 1 */
	int64_t dims[LMD_MAX_DIMS];
	int64_t in, out, stack; /* dims 0, 1 and 2, including those that are 1 */
};

const char *lmi_fit_text(enum lmi_fit fit)
{
	static const char *const text[LMI_N_FIT] = {"used",    "missing", "shape",
						    "ignored", "beyond",  "unknown"};

	return text[fit];
}

static uint32_t squeeze(int64_t out[LMD_MAX_DIMS], const int64_t *dims, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n && i < LMD_MAX_DIMS; i++)
		if (dims[i] != 1)
			out[k++] = dims[i];
	return k;
}

const char *lmi_shape_text(char *buf, size_t n, const int64_t *dims, uint32_t n_dim)
{
	int64_t s[LMD_MAX_DIMS];
	uint32_t k = squeeze(s, dims, n_dim);
	size_t at = 0;

	if (!k) {
		(void)snprintf(buf, n, "[1]");
		return buf;
	}
	for (uint32_t i = 0; i < k && at < n; i++)
		at += (size_t)snprintf(buf + at, n - at, "%s%lld", i ? ", " : "[", (long long)s[i]);
	if (at < n)
		(void)snprintf(buf + at, n - at, "]");
	return buf;
}

/* ---- names ---- */

/* Writes the stem with its "%d"s replaced by the layer and the expert, and a suffix. */
static void make_name(char *out, size_t n, const char *stem, int32_t layer, int32_t expert,
		      const char *suffix)
{
	const int32_t number[] = {layer, expert};
	uint32_t used = 0;
	size_t at = 0;

	while (*stem && at + 16 < n) {
		if (stem[0] == '%' && stem[1] == 'd' && used < LMD_LEN(number)) {
			at += (size_t)snprintf(out + at, n - at, "%d", number[used++]);
			stem += 2;
		} else {
			out[at++] = *stem++;
		}
	}
	(void)snprintf(out + at, n - at, "%s", suffix);
}

/* ---- entries ---- */

static void no_memory(struct walk *w)
{
	w->st = lmd_fail(w->err, LMD_NOMEM, "out of memory while checking %u tensors",
			 w->m->n_tensors);
}

/* Returns whether the name is new, after making room for an entry.  Two rows may ask for one
 * tensor. */
static bool is_new_missing(struct walk *w, const char *name)
{
	if (!w->absent.slots && !lmi_strmap_init(&w->absent, w->arena, MAX_MISSING)) {
		no_memory(w);
		return false;
	}
	if (w->n - w->m->n_tensors == MAX_MISSING) {
		w->st = lmd_fail(w->err, LMD_INVALID,
				 "architecture %s: more than %u tensors are "
				 "missing",
				 w->m->arch, MAX_MISSING);
		return false;
	}
	return lmi_strmap_add(&w->absent, name, w->n);
}

static void add_missing(struct walk *w, const char *text, const int64_t *dims, uint32_t n)
{
	const char *name = lmi_arena_strndup(w->arena, text, strlen(text));

	if (!name) {
		no_memory(w);
		return;
	}
	if (!is_new_missing(w, name))
		return;
	if (w->n == w->cap) {
		struct lmi_model_fit *fits = lmi_realloc(w->fits, w->cap * 2, sizeof(*fits));

		if (!fits) {
			no_memory(w);
			return;
		}
		w->fits = fits;
		w->cap *= 2;
	}
	w->fits[w->n] = (struct lmi_model_fit){.name = name, .fit = LMI_FIT_MISSING, .n_want = n};
	memcpy(w->fits[w->n++].want, dims, n * sizeof(*dims));
}

static bool same_shape(const struct lmd_tensor *t, const int64_t *dims, uint32_t n)
{
	int64_t have[LMD_MAX_DIMS];
	uint32_t k = squeeze(have, t->dims, t->n_dim);

	return k == n && !memcmp(have, dims, n * sizeof(*have));
}

/* Looks up `name` and records how it fits.  Returns false if there is no such tensor. */
static bool visit(struct walk *w, const struct want *want, const char *name, const int64_t *dims,
		  uint32_t n)
{
	const struct lmd_tensor *t = w->m->find_tensor(w->m, name);
	struct lmi_model_fit *f;

	if (!t)
		return false;
	f = &w->fits[t - w->m->tensors];
	if (want->row->flags & LMD_TENSOR_ANY_SHAPE || same_shape(t, dims, n)) {
		if (want->applies && !(want->row->flags & LMD_TENSOR_UNUSED))
			f->fit = LMI_FIT_USED;
		else if (f->fit != LMI_FIT_USED) /* it does not fit another row of the stem */
			f->fit = LMI_FIT_IGNORED;
		else
			return true;
	} else if (f->fit == LMI_FIT_UNKNOWN && want->applies) {
		f->fit = LMI_FIT_SHAPE;
	} else {
		return true;
	}
	if (!(want->row->flags & LMD_TENSOR_ANY_SHAPE)) {
		f->n_want = n;
		memcpy(f->want, dims, n * sizeof(*dims));
	}
	return true;
}

/* Looks up a tensor under its name or its alternative name. */
static bool visit_either(struct walk *w, const struct want *want, const char *suffix,
			 const int64_t *dims, uint32_t n)
{
	char name[256];

	make_name(name, sizeof(name), want->row->stem, want->layer, 0, suffix);
	if (visit(w, want, name, dims, n))
		return true;
	if (!want->row->alt || want->row->flags & LMD_TENSOR_PER_EXPERT)
		return false;
	make_name(name, sizeof(name), want->row->alt, want->layer, 0, suffix);
	return visit(w, want, name, dims, n);
}

static void missing(struct walk *w, const struct want *want, const char *suffix,
		    const int64_t *dims, uint32_t n)
{
	char name[256];

	make_name(name, sizeof(name), want->row->stem, want->layer, 0, suffix);
	add_missing(w, name, dims, n);
}

/* ---- rows ---- */

static int64_t dim_value(const struct walk *w, uint16_t symbol, int32_t layer)
{
	if (!symbol)
		return 1;
	if (symbol & LMD_DIM_CONST)
		return symbol & ~LMD_DIM_CONST;
	return w->arch->dim ? w->arch->dim(w->desc->state, symbol, layer) : 0;
}

static struct want expect(const struct walk *w, const struct lmd_tensor_row *row, int32_t layer)
{
	struct want want = {.row = row, .layer = layer, .applies = true};
	int64_t d[LMD_MAX_DIMS];
	uint32_t cls = UINT32_MAX;

	if (w->arch->layer_class && layer >= 0)
		cls = w->arch->layer_class(w->desc->state, layer);
	if (row->when && !(row->when & cls))
		want.applies = false;
	for (uint32_t i = 0; i < LMD_MAX_DIMS; i++) {
		d[i] = dim_value(w, row->dims[i], layer);
		if (d[i] <= 0 && !(row->flags & LMD_TENSOR_ANY_SHAPE))
			want.applies = false;
	}
	want.n = squeeze(want.dims, d, LMD_MAX_DIMS);
	want.in = d[0];
	want.out = d[1];
	want.stack = d[2];
	return want;
}

/* Looks up one tensor per slice, as in older files. */
static bool visit_experts(struct walk *w, const struct want *want)
{
	char name[256];
	const int64_t d[] = {want->in, want->out};
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n = squeeze(dims, d, LMD_LEN(d));
	int64_t n_expert = want->stack < LMI_MAX_LAYERS ? want->stack : LMI_MAX_LAYERS;
	bool any = false;

	for (int64_t e = 0; e < n_expert && w->st == LMD_OK; e++) {
		make_name(name, sizeof(name), want->row->alt, want->layer, (int32_t)e, ".weight");
		if (visit(w, want, name, dims, n))
			any = true;
		else if (any)
			add_missing(w, name, dims, n);
		else
			break;
	}
	return any;
}

static const struct lmd_tensor *find_suffixed(struct walk *w, const struct want *want,
					      const char *suffix)
{
	const char *const stem[] = {want->row->stem, want->row->alt};
	const struct lmd_tensor *t = NULL;
	char name[256];

	for (size_t i = 0; i < LMD_LEN(stem) && !t; i++) {
		if (!stem[i] || (i && want->row->flags & LMD_TENSOR_PER_EXPERT))
			continue;
		make_name(name, sizeof(name), stem[i], want->layer, 0, suffix);
		t = w->m->find_tensor(w->m, name);
	}
	return t;
}

/* STEM.bias: as many values as the matrix has rows, for every slice; for norms the shape of the
 * table row. */
static void visit_bias(struct walk *w, const struct want *want)
{
	const struct lmd_tensor *t = find_suffixed(w, want, ".bias");
	const bool matrix = want->row->dims[1] != 0;
	const int64_t d[] = {matrix ? want->out : want->in, want->stack};
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n = squeeze(dims, d, LMD_LEN(d));

	if (t && same_shape(t, want->dims, want->n))
		(void)visit(w, want, t->name, want->dims, want->n);
	else if (t)
		(void)visit(w, want, t->name, dims, n);
	else if (want->applies && want->row->flags & LMD_TENSOR_BIAS_REQ)
		missing(w, want, ".bias", dims, n);
}

/* STEM.scale: one value, or one per row or slice. */
static void visit_scale(struct walk *w, const struct want *want)
{
	const struct lmd_tensor *t = find_suffixed(w, want, ".scale");
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n;

	if (!t)
		return;
	n = squeeze(dims, t->dims, t->n_dim);
	if (n > 1 || (n == 1 && dims[0] != want->out && dims[0] != want->stack)) {
		n = want->stack != 1;
		dims[0] = want->stack;
	}
	(void)visit(w, want, t->name, dims, n);
}

static void check_row(struct walk *w, const struct lmd_tensor_row *row, int32_t layer)
{
	const char *suffix = row->flags & LMD_TENSOR_BARE ? "" : ".weight";
	const struct want want = expect(w, row, layer);
	bool found = visit_either(w, &want, suffix, want.dims, want.n);

	if (!found && row->alt && row->flags & LMD_TENSOR_PER_EXPERT)
		found = visit_experts(w, &want);
	if (!found && want.applies && row->flags & LMD_TENSOR_REQUIRED)
		missing(w, &want, suffix, want.dims, want.n);
	if (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ))
		visit_bias(w, &want);
	if (row->flags & LMD_TENSOR_SCALE)
		visit_scale(w, &want);
}

static void check_sets(struct walk *w)
{
	for (uint32_t s = 0; s < w->arch->n_sets; s++)
		for (uint32_t r = 0; r < w->arch->sets[s].n_rows; r++) {
			const struct lmd_tensor_row *row = &w->arch->sets[s].rows[r];
			uint32_t n = row->flags & LMD_TENSOR_GLOBAL ? 1 : w->desc->n_layer;

			for (uint32_t i = 0; i < n && w->st == LMD_OK; i++)
				check_row(w, row, row->flags & LMD_TENSOR_GLOBAL ? -1 : (int32_t)i);
		}
}

/* ---- entry points ---- */

static enum lmd_status start(struct walk *w)
{
	if (w->desc->n_layer > LMI_MAX_LAYERS)
		return lmd_fail(w->err, LMD_INVALID, "architecture %s: %u layers, at most %u",
				w->m->arch, w->desc->n_layer, LMI_MAX_LAYERS);
	w->cap = w->m->n_tensors + 16;
	w->fits = lmi_alloc(w->cap, sizeof(*w->fits));
	if (!w->fits) {
		no_memory(w);
		return w->st;
	}
	for (; w->n < w->m->n_tensors; w->n++)
		w->fits[w->n] = (struct lmi_model_fit){.name = w->m->tensors[w->n].name,
						       .fit = LMI_FIT_UNKNOWN,
						       .tensor = &w->m->tensors[w->n]};
	return LMD_OK;
}

static bool beyond(const char *name, uint32_t n_layer)
{
	char *end;
	unsigned long block;

	if (strncmp(name, "blk.", 4) != 0 || name[4] < '0' || name[4] > '9')
		return false;
	block = strtoul(name + 4, &end, 10);
	return *end == '.' && block >= n_layer;
}

static enum lmd_status finish(struct walk *w, struct lmi_model_check *out)
{
	struct lmi_model_fit *fits = lmi_arena_array(w->arena, w->n ? w->n : 1, sizeof(*fits));

	if (!fits) {
		no_memory(w);
		return w->st;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		struct lmi_model_fit *f = &w->fits[i];

		if (f->fit == LMI_FIT_UNKNOWN && beyond(f->name, w->desc->n_layer))
			f->fit = LMI_FIT_BEYOND;
		out->count[f->fit]++;
		fits[i] = *f;
	}
	out->n = w->n;
	out->fits = fits;
	out->arena = w->arena;
	return LMD_OK;
}

enum lmd_status lmi_model_check(struct lmi_model_check *out, const struct lmd_model *m,
				const struct lmd_arch_ops *arch, const struct lmd_arch_desc *desc,
				struct lmd_error *err)
{
	struct walk w = {.m = m, .arch = arch, .desc = desc, .err = err};
	enum lmd_status st;

	memset(out, 0, sizeof(*out));
	w.arena = lmi_arena_create(64u << 20);
	if (!w.arena) {
		no_memory(&w);
		return w.st;
	}
	st = start(&w);
	if (st == LMD_OK) {
		check_sets(&w);
		st = w.st;
	}
	if (st == LMD_OK)
		st = finish(&w, out);
	lmi_free(w.fits);
	if (st != LMD_OK)
		lmi_arena_destroy(w.arena);
	return st;
}

void lmi_model_check_fini(struct lmi_model_check *c)
{
	if (c)
		lmi_arena_destroy(c->arena);
}

enum lmd_status lmi_model_check_verdict(const struct lmi_model_check *c, struct lmd_error *err)
{
	uint32_t bad = c->count[LMI_FIT_MISSING] + c->count[LMI_FIT_SHAPE];
	char want[96], have[96], name[128], more[48] = "";

	if (!bad)
		return LMD_OK;
	if (bad > 1)
		(void)snprintf(more, sizeof(more), ", and %u more do not fit", bad - 1);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_model_fit *f = &c->fits[i];

		(void)lmi_show(name, sizeof(name), f->name, strlen(f->name));
		if (f->fit == LMI_FIT_SHAPE)
			return lmd_fail(err, LMD_INVALID, "tensor %s is %s, expected %s%s", name,
					lmi_shape_text(have, sizeof(have), f->tensor->dims,
						       f->tensor->n_dim),
					lmi_shape_text(want, sizeof(want), f->want, f->n_want),
					more);
		if (f->fit == LMI_FIT_MISSING)
			return lmd_fail(
				err, LMD_NOTFOUND, "tensor %s is missing, expected %s%s", name,
				lmi_shape_text(want, sizeof(want), f->want, f->n_want), more);
	}
	return LMD_INTERNAL;
}
