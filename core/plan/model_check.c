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
#include "core/base/printable.h"
#include "core/base/strmap.h"
#include "core/model/model.h"

#define MAX_MISSING 65536u /* more than this means that the table is wrong */

struct walk {
	const struct lmd_model *m;
	const struct lmd_arch_ops *arch;
	const struct lmd_arch_desc *desc;
	struct lmi_plan_model_tensor *tensors;
	uint32_t n, cap;
	struct lmi_strmap absent; /* names of missing tensors */
	struct lmd_arena *arena;
	enum lmd_status st;
	struct lmd_error *err;
};

/* Expectation of one row in one layer. */
struct expected {
	const struct lmd_tensor_row *row;
	int32_t layer;
	bool applies; /* the layer has this tensor */
	uint32_t n;   /* dimensions other than 1 */
	int64_t dims[LMD_MAX_DIMS];
	int64_t in, out, stack; /* dims 0, 1 and 2, including those that are 1 */
};

const char *lmi_plan_tensor_match_text(enum lmi_plan_tensor_match match)
{
	static const char *const text[LMI_PLAN_N_TENSOR_MATCH] = {"used",    "missing", "shape",
								  "ignored", "beyond",  "unknown"};

	return text[match];
}

static uint32_t squeeze(int64_t out[LMD_MAX_DIMS], const int64_t *dims, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n && i < LMD_MAX_DIMS; i++)
		if (dims[i] != 1)
			out[k++] = dims[i];
	return k;
}

const char *lmi_plan_dims_text(char *buf, size_t n, const int64_t *dims, uint32_t n_dim)
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
		struct lmi_plan_model_tensor *tensors =
			lmi_realloc(w->tensors, w->cap * 2, sizeof(*tensors));

		if (!tensors) {
			no_memory(w);
			return;
		}
		w->tensors = tensors;
		w->cap *= 2;
	}
	w->tensors[w->n] = (struct lmi_plan_model_tensor){
		.name = name, .match = LMI_PLAN_TENSOR_MISSING, .n_expected = n};
	memcpy(w->tensors[w->n++].expected, dims, n * sizeof(*dims));
}

static bool same_shape(const struct lmd_tensor *t, const int64_t *dims, uint32_t n)
{
	int64_t have[LMD_MAX_DIMS];
	uint32_t k = squeeze(have, t->dims, t->n_dim);

	return k == n && !memcmp(have, dims, n * sizeof(*have));
}

/* Looks up `name` and records how it fits.  Returns false if there is no such tensor. */
static bool visit(struct walk *w, const struct expected *expected, const char *name,
		  const int64_t *dims, uint32_t n)
{
	const struct lmd_tensor *t = w->m->find_tensor(w->m, name);
	struct lmi_plan_model_tensor *f;

	if (!t)
		return false;
	f = &w->tensors[t - w->m->tensors];
	if (expected->row->flags & LMD_TENSOR_ANY_SHAPE || same_shape(t, dims, n)) {
		if (expected->applies && !(expected->row->flags & LMD_TENSOR_UNUSED))
			f->match = LMI_PLAN_TENSOR_USED;
		else if (f->match !=
			 LMI_PLAN_TENSOR_USED) /* it does not fit another row of the stem */
			f->match = LMI_PLAN_TENSOR_IGNORED;
		else
			return true;
	} else if (f->match == LMI_PLAN_TENSOR_UNKNOWN && expected->applies) {
		f->match = LMI_PLAN_TENSOR_BAD_SHAPE;
	} else {
		return true;
	}
	if (!(expected->row->flags & LMD_TENSOR_ANY_SHAPE)) {
		f->n_expected = n;
		memcpy(f->expected, dims, n * sizeof(*dims));
	}
	return true;
}

/* Looks up a tensor under its name or its alternative name. */
static bool visit_either(struct walk *w, const struct expected *expected, const char *suffix,
			 const int64_t *dims, uint32_t n)
{
	char name[256];

	make_name(name, sizeof(name), expected->row->stem, expected->layer, 0, suffix);
	if (visit(w, expected, name, dims, n))
		return true;
	if (!expected->row->alt || expected->row->flags & LMD_TENSOR_PER_EXPERT)
		return false;
	make_name(name, sizeof(name), expected->row->alt, expected->layer, 0, suffix);
	return visit(w, expected, name, dims, n);
}

static void missing(struct walk *w, const struct expected *expected, const char *suffix,
		    const int64_t *dims, uint32_t n)
{
	char name[256];

	make_name(name, sizeof(name), expected->row->stem, expected->layer, 0, suffix);
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

static struct expected expect(const struct walk *w, const struct lmd_tensor_row *row, int32_t layer)
{
	struct expected expected = {.row = row, .layer = layer, .applies = true};
	int64_t d[LMD_MAX_DIMS];
	uint32_t cls = UINT32_MAX;

	if (w->arch->layer_class && layer >= 0)
		cls = w->arch->layer_class(w->desc->state, layer);
	if (row->when && !(row->when & cls))
		expected.applies = false;
	for (uint32_t i = 0; i < LMD_MAX_DIMS; i++) {
		d[i] = dim_value(w, row->dims[i], layer);
		if (d[i] <= 0 && !(row->flags & LMD_TENSOR_ANY_SHAPE))
			expected.applies = false;
	}
	expected.n = squeeze(expected.dims, d, LMD_MAX_DIMS);
	expected.in = d[0];
	expected.out = d[1];
	expected.stack = d[2];
	return expected;
}

/* Looks up one tensor per slice, as in older files. */
static bool visit_experts(struct walk *w, const struct expected *expected)
{
	char name[256];
	const int64_t d[] = {expected->in, expected->out};
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n = squeeze(dims, d, LMD_LEN(d));
	int64_t n_expert =
		expected->stack < LMI_MODEL_MAX_LAYERS ? expected->stack : LMI_MODEL_MAX_LAYERS;
	bool any = false;

	for (int64_t e = 0; e < n_expert && w->st == LMD_OK; e++) {
		make_name(name, sizeof(name), expected->row->alt, expected->layer, (int32_t)e,
			  ".weight");
		if (visit(w, expected, name, dims, n))
			any = true;
		else if (any)
			add_missing(w, name, dims, n);
		else
			break;
	}
	return any;
}

static const struct lmd_tensor *find_suffixed(struct walk *w, const struct expected *expected,
					      const char *suffix)
{
	const char *const stem[] = {expected->row->stem, expected->row->alt};
	const struct lmd_tensor *t = NULL;
	char name[256];

	for (size_t i = 0; i < LMD_LEN(stem) && !t; i++) {
		if (!stem[i] || (i && expected->row->flags & LMD_TENSOR_PER_EXPERT))
			continue;
		make_name(name, sizeof(name), stem[i], expected->layer, 0, suffix);
		t = w->m->find_tensor(w->m, name);
	}
	return t;
}

/* STEM.bias: as many values as the matrix has rows, for every slice; for norms the shape of the
 * table row. */
static void visit_bias(struct walk *w, const struct expected *expected)
{
	const struct lmd_tensor *t = find_suffixed(w, expected, ".bias");
	const bool matrix = expected->row->dims[1] != 0;
	const int64_t d[] = {matrix ? expected->out : expected->in, expected->stack};
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n = squeeze(dims, d, LMD_LEN(d));

	if (t && same_shape(t, expected->dims, expected->n))
		(void)visit(w, expected, t->name, expected->dims, expected->n);
	else if (t)
		(void)visit(w, expected, t->name, dims, n);
	else if (expected->applies && expected->row->flags & LMD_TENSOR_BIAS_REQ)
		missing(w, expected, ".bias", dims, n);
}

/* STEM.scale: one value, or one per row or slice. */
static void visit_scale(struct walk *w, const struct expected *expected)
{
	const struct lmd_tensor *t = find_suffixed(w, expected, ".scale");
	int64_t dims[LMD_MAX_DIMS];
	uint32_t n;

	if (!t)
		return;
	n = squeeze(dims, t->dims, t->n_dim);
	if (n > 1 || (n == 1 && dims[0] != expected->out && dims[0] != expected->stack)) {
		n = expected->stack != 1;
		dims[0] = expected->stack;
	}
	(void)visit(w, expected, t->name, dims, n);
}

static void check_row(struct walk *w, const struct lmd_tensor_row *row, int32_t layer)
{
	const char *suffix = row->flags & LMD_TENSOR_BARE ? "" : ".weight";
	const struct expected expected = expect(w, row, layer);
	bool found = visit_either(w, &expected, suffix, expected.dims, expected.n);

	if (!found && row->alt && row->flags & LMD_TENSOR_PER_EXPERT)
		found = visit_experts(w, &expected);
	if (!found && expected.applies && row->flags & LMD_TENSOR_REQUIRED)
		missing(w, &expected, suffix, expected.dims, expected.n);
	if (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ))
		visit_bias(w, &expected);
	if (row->flags & LMD_TENSOR_SCALE)
		visit_scale(w, &expected);
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
	if (w->desc->n_layer > LMI_MODEL_MAX_LAYERS)
		return lmd_fail(w->err, LMD_INVALID, "architecture %s: %u layers, at most %u",
				w->m->arch, w->desc->n_layer, LMI_MODEL_MAX_LAYERS);
	w->cap = w->m->n_tensors + 16;
	w->tensors = lmi_alloc(w->cap, sizeof(*w->tensors));
	if (!w->tensors) {
		no_memory(w);
		return w->st;
	}
	for (; w->n < w->m->n_tensors; w->n++)
		w->tensors[w->n] = (struct lmi_plan_model_tensor){.name = w->m->tensors[w->n].name,
								  .match = LMI_PLAN_TENSOR_UNKNOWN,
								  .tensor = &w->m->tensors[w->n]};
	return LMD_OK;
}

static bool is_after_trunk(const char *name, uint32_t n_layer)
{
	char *end;
	unsigned long block;

	if (strncmp(name, "blk.", 4) != 0 || name[4] < '0' || name[4] > '9')
		return false;
	block = strtoul(name + 4, &end, 10);
	return *end == '.' && block >= n_layer;
}

static enum lmd_status finish(struct walk *w, struct lmi_plan_model_check *out)
{
	struct lmi_plan_model_tensor *tensors =
		lmi_arena_array(w->arena, w->n ? w->n : 1, sizeof(*tensors));

	if (!tensors) {
		no_memory(w);
		return w->st;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		struct lmi_plan_model_tensor *f = &w->tensors[i];

		if (f->match == LMI_PLAN_TENSOR_UNKNOWN &&
		    is_after_trunk(f->name, w->desc->n_layer))
			f->match = LMI_PLAN_TENSOR_AFTER_TRUNK;
		out->count[f->match]++;
		tensors[i] = *f;
	}
	out->n = w->n;
	out->tensors = tensors;
	out->arena = w->arena;
	return LMD_OK;
}

enum lmd_status lmi_plan_model_check(struct lmi_plan_model_check *out, const struct lmd_model *m,
				     const struct lmd_arch_ops *arch,
				     const struct lmd_arch_desc *desc, struct lmd_error *err)
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
	lmi_free(w.tensors);
	if (st != LMD_OK)
		lmi_arena_destroy(w.arena);
	return st;
}

void lmi_plan_model_check_fini(struct lmi_plan_model_check *c)
{
	if (c)
		lmi_arena_destroy(c->arena);
}

enum lmd_status lmi_plan_model_check_status(const struct lmi_plan_model_check *c,
					    struct lmd_error *err)
{
	uint32_t bad = c->count[LMI_PLAN_TENSOR_MISSING] + c->count[LMI_PLAN_TENSOR_BAD_SHAPE];
	char expected[96], have[96], name[128], more[48] = "";

	if (!bad)
		return LMD_OK;
	if (bad > 1)
		(void)snprintf(more, sizeof(more), ", and %u more do not fit", bad - 1);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_plan_model_tensor *f = &c->tensors[i];

		(void)lmi_printable(name, sizeof(name), f->name, strlen(f->name));
		if (f->match == LMI_PLAN_TENSOR_BAD_SHAPE)
			return lmd_fail(err, LMD_INVALID, "tensor %s is %s, expected %s%s", name,
					lmi_plan_dims_text(have, sizeof(have), f->tensor->dims,
							   f->tensor->n_dim),
					lmi_plan_dims_text(expected, sizeof(expected), f->expected,
							   f->n_expected),
					more);
		if (f->match == LMI_PLAN_TENSOR_MISSING)
			return lmd_fail(err, LMD_NOTFOUND, "tensor %s is missing, expected %s%s",
					name,
					lmi_plan_dims_text(expected, sizeof(expected), f->expected,
							   f->n_expected),
					more);
	}
	return LMD_INTERNAL;
}
