/* SPDX-License-Identifier: MIT
 *
 * Decides the type of each tensor.  The mix needs the tensors in its own order; the items stay in
 * the order of the source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"
#include "core/quantize/model_params.h"
#include "core/quantize/type_policy.h"
#include "core/quantize/tensor_patterns.h"

#define SHOW 80

static const char *show_name(char buf[SHOW], const char *name)
{
	return lmi_printable(buf, SHOW, name, strlen(name));
}

static bool is_pruned(const struct lmi_quantize_opts *o, int64_t layer)
{
	for (uint32_t i = 0; i < o->n_prune; i++)
		if (o->prune[i] == layer)
			return true;
	return false;
}

static enum lmd_status check_prune(struct lmi_quantize_plan *p, struct lmd_error *err)
{
	const struct lmi_quantize_opts *o = &p->opts;

	p->n_layer_out = p->n_layer;
	for (uint32_t i = 0; i < o->n_prune; i++) {
		if (o->prune[i] >= p->n_layer)
			return lmd_fail(err, LMD_INVALID,
					"layer %u cannot be pruned, must be 0..%lld",
					o->prune[i], (long long)p->n_layer - 1);
		for (uint32_t k = 0; k < i; k++)
			if (o->prune[k] == o->prune[i])
				return lmd_fail(err, LMD_INVALID, "layer %u is pruned twice",
						o->prune[i]);
		p->n_layer_out--;
	}
	if (o->n_prune && p->n_layer_out < 1)
		return lmd_fail(err, LMD_INVALID, "cannot prune all %lld layers",
				(long long)p->n_layer);
	return LMD_OK;
}

/* Returns the name in the new file, with the layer number reduced by the layers pruned before it.
 * *out is NULL if the tensor itself is pruned. */
static enum lmd_status new_name(const struct lmi_quantize_opts *o, const char *name, char **out,
				struct lmd_error *err)
{
	int64_t layer = lmi_quantize_mix_layer(name), to = layer;
	size_t n = strlen(name) + 24;

	*out = NULL;
	if (layer >= 0 && is_pruned(o, layer))
		return LMD_OK;
	for (uint32_t i = 0; i < o->n_prune; i++)
		to -= layer >= 0 && o->prune[i] < layer;
	*out = lmi_alloc(n, 1);
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "no memory for a name");
	if (to == layer)
		(void)snprintf(*out, n, "%s", name);
	else
		(void)snprintf(*out, n, "blk.%lld%s", (long long)to, strchr(name + 4, '.'));
	return LMD_OK;
}

static enum lmd_status list_items(struct lmi_quantize_plan *p, struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(p->model);

	p->items = lmi_alloc(v->n_tensors + 1, sizeof(*p->items));
	if (!p->items)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u tensors", v->n_tensors);
	for (uint32_t i = 0; i < v->n_tensors; i++) {
		struct lmi_quantize_item *it = &p->items[p->n_items];
		char *name;
		enum lmd_status st = new_name(&p->opts, v->tensors[i].name, &name, err);

		if (st != LMD_OK)
			return st;
		if (!name)
			continue;
		*it = (struct lmi_quantize_item){
			.src = &v->tensors[i],
			.name = name,
			.type = lmi_dtype_in_file(v->tensors[i].dtype)};
		p->n_items++;
	}
	return LMD_OK;
}

/* Checks that a type given in the options has an encoder. */
static enum lmd_status check_type(const char *what, int32_t type, struct lmd_error *err)
{
	const struct lmi_dtype *t = type >= 0 ? lmi_dtype((uint32_t)type) : NULL;

	if (type < 0 || (t && t->quant && !t->is_activation && t->id != LMD_DTYPE_F64))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID, "%s: weights cannot have type %s", what,
			t ? t->name : "(unknown)");
}

static enum lmd_status check_types(const struct lmi_quantize_opts *o, struct lmd_error *err)
{
	enum lmd_status st = check_type("output tensor", o->output_type, err);
	char show[SHOW];

	if (st == LMD_OK)
		st = check_type("token embedding", o->embedding_type, err);
	for (uint32_t i = 0; st == LMD_OK && i < o->n_rules; i++)
		st = check_type(show_name(show, o->rules[i].pattern), (int32_t)o->rules[i].type,
				err);
	return st;
}

/* Chooses the type of a tensor.  Precedence: explicit types of embedding and output, then patterns,
 * then `pure`, then the rules of the mix. */
static enum lmd_status choose(struct lmi_quantize_plan *p, struct lmi_quantize_mix *mix,
			      struct lmi_quantize_patterns *patterns, struct lmi_quantize_item *it,
			      struct lmd_error *err)
{
	const struct lmi_quantize_opts *o = &p->opts;
	enum lmi_quantize_tensor_role role = lmi_quantize_tensor_role_of(it->name);
	enum lmd_dtype type = o->ftype->type;
	enum lmd_status st;
	int32_t manual = -1;

	if (lmi_quantize_mix_keeps_type(it->src, it->name, o->arch) ||
	    (o->leave_output && role == LMI_QUANTIZE_ROLE_OUTPUT))
		return LMD_OK;
	if (role == LMI_QUANTIZE_ROLE_EMBD && o->embedding_type >= 0) {
		manual = o->embedding_type;
	} else if (role == LMI_QUANTIZE_ROLE_OUTPUT && o->output_type >= 0) {
		manual = o->output_type;
	} else {
		st = lmi_quantize_patterns_find(patterns, it->name, &manual, err);
		if (st != LMD_OK)
			return st;
	}
	if (manual >= 0)
		type = (enum lmd_dtype)manual;
	else if (role == LMI_QUANTIZE_ROLE_EMBD && !mix->params.has_output && o->output_type >= 0 &&
		 !o->pure)
		type = (enum lmd_dtype)o->output_type;
	else if (!o->pure && lmi_dtype(type)->is_quant)
		type = lmi_quantize_mix_type(mix, it->src, it->name);
	it->type = lmi_quantize_mix_fallback(type, it->src->dims[0]);
	it->fell_back = it->type != type;
	return LMD_OK;
}

static int by_mix_order(const void *a, const void *b)
{
	const struct lmi_quantize_item *const *x = a, *const *y = b;

	return lmi_quantize_mix_compare_names((*x)->src->name, (*y)->src->name);
}

static enum lmd_status choose_all(struct lmi_quantize_plan *p, struct lmd_error *err)
{
	struct lmi_quantize_item **order = lmi_alloc(p->n_items + 1u, sizeof(*order));
	struct lmi_quantize_patterns *patterns = NULL;
	struct lmi_quantize_mix_params params;
	struct lmi_quantize_mix mix;
	enum lmd_status st;

	if (!order)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u tensors", p->n_items);
	st = lmi_quantize_patterns_create(&patterns, p->opts.rules, p->opts.n_rules, err);
	lmi_quantize_model_params(&p->opts, lmi_model_view(p->model), &params);
	for (uint32_t i = 0; i < p->n_items; i++) {
		order[i] = &p->items[i];
		params.n_v += lmi_quantize_tensor_role_of(order[i]->name) == LMI_QUANTIZE_ROLE_V;
	}
	qsort(order, p->n_items, sizeof(*order), by_mix_order);
	lmi_quantize_mix_init(&mix, p->opts.ftype, &params);
	for (uint32_t i = 0; st == LMD_OK && i < p->n_items; i++)
		st = choose(p, &mix, patterns, order[i], err);
	lmi_quantize_patterns_destroy(patterns);
	lmi_free(order);
	return st;
}

/* Finds the importances of a tensor, which must match its shape: one row of columns, or one per
 * matrix of a stack.  A mismatch is ignored for the embedding, which is looked up and not
 * multiplied. */
static enum lmd_status find_importance(const struct lmi_quantize_plan *p,
				       struct lmi_quantize_item *it, struct lmd_error *err)
{
	const struct lmi_imatrix_entry *e;
	const struct lmd_tensor *t = it->src;
	uint64_t n_mat = t->n_dim > 2 ? (uint64_t)t->dims[2] : 1, n;
	char show[SHOW];

	e = p->opts.imatrix ? lmi_imatrix_find(p->opts.imatrix, t->name) : NULL;
	if (!e)
		return LMD_OK;
	if (lmi_mul_ok((uint64_t)t->dims[0], n_mat, &n) && e->n == n) {
		it->importance = e;
		return LMD_OK;
	}
	if (lmi_quantize_tensor_role_of(t->name) == LMI_QUANTIZE_ROLE_EMBD)
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"tensor %s: %lld columns in %llu matrices, but the importance matrix has "
			"%llu values; was it made from another model?",
			show_name(show, t->name), (long long)t->dims[0], (unsigned long long)n_mat,
			(unsigned long long)e->n);
}

static enum lmd_status count_item(struct lmi_quantize_plan *p, struct lmi_quantize_item *it,
				  struct lmd_error *err)
{
	const struct lmd_tensor *t = it->src;
	uint64_t rows = 1, row;
	enum lmd_status st = LMD_OK;
	char show[SHOW];

	for (uint32_t i = 1; i < t->n_dim; i++)
		rows *= (uint64_t)t->dims[i]; /* no overflow, checked by the reader */
	if (!lmi_quant_row_bytes(lmi_dtype(it->type), (uint64_t)t->dims[0], &row) ||
	    !lmi_mul_ok(row, rows, &it->bytes))
		return lmd_fail(err, LMD_INVALID, "tensor %s: its size overflows with type %s",
				show_name(show, it->name), lmi_dtype(it->type)->name);
	if (it->type != t->dtype) {
		st = find_importance(p, it, err);
		it->requantized = lmi_dtype(t->dtype)->is_quant &&
				  it->type != lmi_dtype_in_file(t->dtype);
		it->lacks_imatrix = !it->importance && lmi_quantize_mix_needs_imatrix(
							       it->name, it->type, p->opts.ftype);
	}
	p->elements += rows * (uint64_t)t->dims[0];
	p->bytes_in += t->bytes;
	p->bytes_out += it->bytes;
	p->n_fell_back += it->fell_back;
	p->n_requantized += it->requantized;
	p->n_lacks_imatrix += it->lacks_imatrix;
	return st;
}

enum lmd_status lmi_quantize_plan(struct lmi_quantize_plan **out, const struct lmi_model *model,
				  const struct lmi_quantize_opts *opts, struct lmd_error *err)
{
	struct lmi_quantize_plan *p = lmi_alloc(1, sizeof(*p));
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for a plan");
	p->model = model;
	p->opts = *opts;
	p->n_layer = lmi_quantize_find_int(opts, lmi_model_view(model), "block_count", 0);
	p->n_files = opts->keep_split ? lmi_model_n_files(model) : 1;
	st = check_types(opts, err);
	if (st == LMD_OK)
		st = check_prune(p, err);
	if (st == LMD_OK)
		st = list_items(p, err);
	if (st == LMD_OK && opts->ftype)
		st = choose_all(p, err);
	for (uint32_t i = 0; st == LMD_OK && i < p->n_items; i++)
		st = count_item(p, &p->items[i], err);
	if (st == LMD_OK)
		*out = p;
	else
		lmi_quantize_free(p);
	return st;
}

void lmi_quantize_free(struct lmi_quantize_plan *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_items; i++)
		lmi_free((char *)(uintptr_t)p->items[i].name);
	lmi_free(p->items);
	lmi_free(p);
}

enum lmd_status lmi_quantize_check(const struct lmi_quantize_plan *p, struct lmd_error *err)
{
	char show[SHOW];

	for (uint32_t i = 0; i < p->n_items; i++) {
		const struct lmi_quantize_item *it = &p->items[i];

		show_name(show, it->name);
		if (it->requantized && !p->opts.allow_requantize)
			return lmd_fail(err, LMD_INVALID,
					"tensor %s is already %s, and encoding it again loses more "
					"quality: start from an f16 or f32 file, or allow it with "
					"--allow-requantize",
					show, lmi_dtype(it->src->dtype)->name);
		if (it->lacks_imatrix)
			return lmd_fail(err, LMD_INVALID,
					"tensor %s would be unusable as %s without importances: %s "
					"(pass one with --imatrix; `llamactl imatrix` makes one)",
					show, lmi_dtype(it->type)->name,
					p->opts.imatrix ? "the importance matrix has none"
							: "an importance matrix is needed");
	}
	return LMD_OK;
}
