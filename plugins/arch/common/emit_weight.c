/* SPDX-License-Identifier: MIT
 *
 * emit_weight.c - finds the weight of a tensor row in a layer; norms and rotation, which are
 * built from weights.
 *
 * Names come from the stems of rows.  A row with one tensor per expert ("blk.%d.ffn_up.%d") becomes
 * one stacked weight, as if the file had a merged tensor. */
#include <stdio.h>
#include <string.h>

#include "arch/common/emit.h"

void arch_tensor_name(const struct arch_emit *e, const struct lmd_tensor_row *row,
		      const char *suffix, char *out, size_t n)
{
	char stem[96];

	(void)snprintf(stem, sizeof(stem), row->stem, (int)e->il);
	(void)snprintf(out, n, "%s%s", stem, row->flags & LMD_TENSOR_BARE ? "" : suffix);
}

uint32_t arch_tensor_index(const struct arch_emit *e, const struct lmd_tensor_row *row,
			   const char *suffix)
{
	char name[128], alt[96];
	uint32_t t;

	arch_tensor_name(e, row, suffix, name, sizeof(name));
	t = arch_hp_tensor(e->hp, name);
	if (t != LMD_NONE || !row->alt || (row->flags & LMD_TENSOR_PER_EXPERT))
		return t;
	(void)snprintf(alt, sizeof(alt), row->alt, (int)e->il);
	(void)snprintf(name, sizeof(name), "%s%s", alt, suffix);
	return arch_hp_tensor(e->hp, name);
}

/* Index of one expert's tensor. */
static uint32_t expert_index(const struct arch_emit *e, const struct lmd_tensor_row *row,
			     uint32_t expert)
{
	char name[128], stem[96];

	(void)snprintf(stem, sizeof(stem), row->alt, (int)e->il, (int)expert);
	(void)snprintf(name, sizeof(name), "%s.weight", stem);
	return arch_hp_tensor(e->hp, name);
}

bool arch_weight_exists(const struct arch_emit *e, const struct lmd_tensor_row *row)
{
	if (arch_tensor_index(e, row, ".weight") != LMD_NONE)
		return true;
	return (row->flags & LMD_TENSOR_PER_EXPERT) && expert_index(e, row, 0) != LMD_NONE;
}

static struct arch_weight no_weight(void)
{
	return (struct arch_weight){.id = LMD_NONE, .site = LMD_NONE};
}

static struct arch_weight put_weight_ref(struct arch_emit *e, struct lmd_weight_ref *r,
					 const char *name)
{
	struct arch_weight w = no_weight();
	struct lmd_weight_ref info;

	r->struct_size = sizeof(*r);
	r->name = name;
	w.id = e->b->weight_ref(e->b->ctx, r);
	w.extras = r->scale != LMD_NONE || r->bias != LMD_NONE;
	if (e->b->weight_ref_info(e->b->ctx, w.id, &info)) {
		w.n = info.n;
		w.k = info.k;
	}
	return w;
}

static struct arch_weight from_tensor(struct arch_emit *e, const struct lmd_tensor_row *row,
				      uint32_t index, const struct arch_window *win, bool extras)
{
	const struct lmd_tensor *t = &e->hp->model->tensors[index];
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_TENSOR,
				       .tensor = index,
				       .row0 = win->row0,
				       .n_row = win->n_row,
				       .k0 = win->k0,
				       .n_k = win->n_k};
	struct lmd_weight_ref r = {.n_part = 1,
				   .parts = &part,
				   .split = row->split,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE};
	struct arch_weight w;

	if (extras && (row->flags & LMD_TENSOR_SCALE))
		r.scale = arch_tensor_index(e, row, ".scale");
	if (extras && !win->no_bias && (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ)))
		r.bias = arch_tensor_index(e, row, ".bias");
	if (extras && win->n_row) {
		r.extra0 = win->row0;
		r.n_extra = win->n_row;
	}
	r.n_stack = t->n_dim > 2 ? (uint32_t)t->dims[2] : 1;
	w = put_weight_ref(e, &r, t->name);
	w.site = e->hp->site_of_tensor ? e->hp->site_of_tensor[index] : LMD_NONE;
	return w;
}

static struct arch_weight stack_experts(struct arch_emit *e, const struct lmd_tensor_row *row,
					const struct arch_window *w)
{
	struct lmd_weight_part parts[ARCH_MAX_EXPERT];
	struct lmd_weight_ref r = {.n_part = e->hp->n_expert,
				   .parts = parts,
				   .transform = LMD_TRANSFORM_STACK_EXPERTS,
				   .split = row->split,
				   .n_stack = e->hp->n_expert,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE};
	char name[128];

	for (uint32_t i = 0; i < e->hp->n_expert; i++) {
		parts[i] = (struct lmd_weight_part){.tensor = expert_index(e, row, i),
						    .row0 = w->row0,
						    .n_row = w->n_row,
						    .k0 = w->k0,
						    .n_k = w->n_k};
		if (parts[i].tensor == LMD_NONE) {
			(void)snprintf(name, sizeof(name), row->alt, (int)e->il, (int)i);
			e->b->fail(
				e->b->ctx, LMD_NOTFOUND,
				"%s.weight: the file has no such tensor, but expert_count is %u",
				name, e->hp->n_expert);
			return no_weight();
		}
	}
	arch_tensor_name(e, row, ".weight", name, sizeof(name));
	return put_weight_ref(e, &r, name);
}

struct arch_weight arch_weight_opt(struct arch_emit *e, const struct lmd_tensor_row *row)
{
	uint32_t t = arch_tensor_index(e, row, ".weight");

	if (t != LMD_NONE)
		return from_tensor(e, row, t, &(struct arch_window){0}, true);
	if ((row->flags & LMD_TENSOR_PER_EXPERT) && expert_index(e, row, 0) != LMD_NONE)
		return stack_experts(e, row, &(struct arch_window){0});
	return no_weight();
}

static void fail_missing(struct arch_emit *e, const struct lmd_tensor_row *row)
{
	char name[128];

	arch_tensor_name(e, row, ".weight", name, sizeof(name));
	e->b->fail(e->b->ctx, LMD_NOTFOUND, "%s: the file has no such tensor", name);
}

struct arch_weight arch_weight_req(struct arch_emit *e, const struct lmd_tensor_row *row)
{
	struct arch_weight w = arch_weight_opt(e, row);

	if (w.id == LMD_NONE)
		fail_missing(e, row);
	return w;
}

struct arch_weight arch_weight_rows(struct arch_emit *e, const struct lmd_tensor_row *row,
				    uint32_t row0, uint32_t n_row)
{
	uint32_t t = arch_tensor_index(e, row, ".weight");

	if (t != LMD_NONE)
		return from_tensor(e, row, t,
				   &(struct arch_window){.row0 = row0, .n_row = n_row}, false);
	fail_missing(e, row);
	return no_weight();
}

struct arch_weight arch_weight_window(struct arch_emit *e, const struct lmd_tensor_row *row,
				      const struct arch_window *w)
{
	uint32_t t = arch_tensor_index(e, row, ".weight");

	if (t != LMD_NONE)
		return from_tensor(e, row, t, w, true);
	fail_missing(e, row);
	return no_weight();
}

const struct lmd_tensor *arch_weight_tensor(const struct arch_emit *e,
					    const struct lmd_tensor_row *row)
{
	uint32_t t = arch_tensor_index(e, row, ".weight");

	if (t == LMD_NONE && (row->flags & LMD_TENSOR_PER_EXPERT))
		t = expert_index(e, row, 0);
	return t == LMD_NONE ? NULL : &e->hp->model->tensors[t];
}

struct arch_weight arch_weight_of_experts(struct arch_emit *e, const struct lmd_tensor_row *row,
					  const struct arch_window *w, bool fused)
{
	uint32_t t = arch_tensor_index(e, row, ".weight");
	const int64_t *dims = t == LMD_NONE ? NULL : e->hp->model->tensors[t].dims;
	uint32_t n = dims ? (uint32_t)dims[2] : 0, n_row = dims ? (uint32_t)dims[1] : 0;
	struct lmd_weight_part parts[2] = {{.tensor = t,
					    .row0 = w->row0,
					    .n_row = w->n_row,
					    .k0 = w->k0,
					    .n_k = w->n_k}};
	struct lmd_weight_ref r = {.n_part = fused ? 2 : 1,
				   .parts = parts,
				   .split = row->split,
				   .n_stack = n,
				   .scale = LMD_NONE,
				   .bias = LMD_NONE};

	if (t == LMD_NONE)
		return stack_experts(e, row, w);
	parts[1] = parts[0];
	parts[1].row0 += n_row / 2;
	if (w->n_row) {
		r.n_head = n;
		r.head_rows = n_row;
	}
	if (row->flags & LMD_TENSOR_SCALE)
		r.scale = arch_tensor_index(e, row, ".scale");
	if (!w->no_bias && (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ)))
		r.bias = arch_tensor_index(e, row, ".bias");
	return put_weight_ref(e, &r, e->hp->model->tensors[t].name);
}

uint32_t arch_weight_named(struct arch_emit *e, const char *name)
{
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_TENSOR,
				       .tensor = arch_hp_tensor(e->hp, name)};
	struct lmd_weight_ref r = {
		.n_part = 1, .parts = &part, .n_stack = 1, .scale = LMD_NONE, .bias = LMD_NONE};

	return part.tensor == LMD_NONE ? LMD_NONE : put_weight_ref(e, &r, name).id;
}

bool arch_read_floats(struct arch_emit *e, const char *name, float *out, uint32_t n)
{
	const struct lmd_host *host = e->b->host;
	uint32_t i = arch_hp_tensor(e->hp, name);
	const struct lmd_tensor *t = i == LMD_NONE ? NULL : &e->hp->model->tensors[i];
	enum lmd_status st;

	if (!t) {
		e->b->fail(e->b->ctx, LMD_NOTFOUND, "%s: the file has no such tensor", name);
		return false;
	}
	if (t->n_dim != 1 || t->dims[0] < n) {
		e->b->fail(e->b->ctx, LMD_INVALID, "%s: %lld values, expected at least %u", name,
			   (long long)t->dims[0], n);
		return false;
	}
	if (!t->data) {
		e->b->fail(e->b->ctx, LMD_INVALID, "%s: its values are needed, but only the header "
			   "was opened", name);
		return false;
	}
	st = host->dequant_rows(host->ctx, (enum lmd_dtype)t->dtype, t->data, out, n);
	if (st != LMD_OK)
		e->b->fail(e->b->ctx, st, "%s: cannot decode tensor type %u", name, t->dtype);
	return st == LMD_OK;
}

/* ---- norms ---- */

struct lmd_norm arch_no_norm(void)
{
	return (struct lmd_norm){.kind = LMD_NORM_NONE};
}

struct lmd_norm arch_norm_heads(struct arch_emit *e, uint32_t kind,
				const struct lmd_tensor_row *row, uint32_t n_head, uint32_t width)
{
	struct lmd_norm n = {.kind = kind, .eps = e->hp->eps};
	char name[128];

	if (!row)
		return n;
	arch_tensor_name(e, row, ".weight", name, sizeof(name));
	n.g = arch_operand_weight_heads(arch_weight_named(e, name), n_head, width);
	arch_tensor_name(e, row, ".bias", name, sizeof(name));
	if (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ))
		n.b = arch_operand_weight_heads(arch_weight_named(e, name), n_head, width);
	return n;
}

/* Number of elements of a norm's tensor, 0 if absent. */
static uint32_t vector_width(struct arch_emit *e, const struct lmd_tensor_row *row)
{
	uint32_t t = row ? arch_tensor_index(e, row, ".weight") : LMD_NONE;

	return t == LMD_NONE ? 0 : (uint32_t)e->hp->model->tensors[t].dims[0];
}

struct lmd_norm arch_norm(struct arch_emit *e, uint32_t kind, const struct lmd_tensor_row *row)
{
	return arch_norm_heads(e, kind, row, 1, vector_width(e, row));
}

struct lmd_norm arch_norm_req(struct arch_emit *e, uint32_t kind, const struct lmd_tensor_row *row)
{
	if (!arch_weight_exists(e, row))
		fail_missing(e, row);
	return arch_norm(e, kind, row);
}

/* ---- rotation ---- */

/* Name of the tensor with the frequency divisors for this context length, or NULL. */
static const char *factor_tensor(const struct arch_emit *e, const struct arch_rope_hp *r)
{
	const char *name = e->hp->n_ctx > r->n_ctx_orig ? "rope_factors_long.weight"
							: "rope_factors_short.weight";

	if (!r->use_factors)
		return NULL;
	if (arch_hp_tensor(e->hp, "rope_freqs.weight") != LMD_NONE)
		return "rope_freqs.weight";
	return arch_hp_tensor(e->hp, name) != LMD_NONE ? name : NULL;
}

static uint32_t make_rope(struct arch_emit *e, const struct arch_rope_hp *r, uint32_t n_rot)
{
	const struct lmd_host *host = e->b->host;
	const char *name = factor_tensor(e, r);
	struct lmd_rope_params p = {
		.struct_size = sizeof(p),
		.n_rot = n_rot,
		.pairing = r->own_pairing ? r->own_pairing - 1 : e->hp->rope_pairing,
		.sections_kind = e->hp->sections_kind,
		.base = r->base,
		.freq_scale = r->freq_scale,
		.ext_factor = r->ext_factor,
		.attn_factor = r->attn_factor,
		.beta_fast = r->beta_fast,
		.beta_slow = r->beta_slow,
		.n_ctx_orig = r->n_ctx_orig,
	};
	float *f = NULL;
	uint32_t id = LMD_NONE;

	memcpy(p.sections, e->hp->sections, sizeof(p.sections));
	if (name) {
		f = host->alloc(host->ctx, sizeof(*f) * (n_rot / 2));
		if (!f) {
			e->b->fail(e->b->ctx, LMD_NOMEM, "%s: out of memory for %u values", name,
				   n_rot / 2);
			return LMD_NONE;
		}
		if (!arch_read_floats(e, name, f, n_rot / 2))
			goto done;
		p.factors = f;
		p.n_factors = n_rot / 2;
	}
	id = e->b->rope(e->b->ctx, &p);
done:
	host->free(host->ctx, f);
	return id;
}

uint32_t arch_rope(struct arch_emit *e, uint32_t set, uint32_t n_rot)
{
	const struct arch_rope_hp *r = set == LMD_NONE ? NULL : &e->hp->rope[set];
	uint32_t id;

	if (!r || !n_rot)
		return LMD_NONE;
	if (set != ARCH_ROPE_FULL && memcmp(r, &e->hp->rope[ARCH_ROPE_FULL], sizeof(*r)) == 0)
		set = ARCH_ROPE_FULL;
	for (uint32_t i = 0; i < e->n_rope; i++) {
		if (e->ropes[i].set == set && e->ropes[i].n_rot == n_rot)
			return e->ropes[i].id;
	}
	id = make_rope(e, r, n_rot);
	if (e->n_rope < LMD_LEN(e->ropes)) {
		e->ropes[e->n_rope].set = set;
		e->ropes[e->n_rope].n_rot = n_rot;
		e->ropes[e->n_rope++].id = id;
	}
	return id;
}
