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

void lmi_tensor_name(const struct lmi_emit *e, const struct lmd_tensor_row *row, const char *suffix,
		     char *out, size_t n)
{
	char stem[96];

	(void)snprintf(stem, sizeof(stem), row->stem, (int)e->il);
	(void)snprintf(out, n, "%s%s", stem, row->flags & LMD_TENSOR_BARE ? "" : suffix);
}

uint32_t lmi_tensor_index(const struct lmi_emit *e, const struct lmd_tensor_row *row,
			  const char *suffix)
{
	char name[128], alt[96];
	uint32_t t;

	lmi_tensor_name(e, row, suffix, name, sizeof(name));
	t = lmi_hp_tensor(e->hp, name);
	if (t != LMD_NONE || !row->alt || (row->flags & LMD_TENSOR_PER_EXPERT))
		return t;
	(void)snprintf(alt, sizeof(alt), row->alt, (int)e->il);
	(void)snprintf(name, sizeof(name), "%s%s", alt, suffix);
	return lmi_hp_tensor(e->hp, name);
}

/* Index of one expert's tensor. */
static uint32_t expert_index(const struct lmi_emit *e, const struct lmd_tensor_row *row,
			     uint32_t expert)
{
	char name[128], stem[96];

	(void)snprintf(stem, sizeof(stem), row->alt, (int)e->il, (int)expert);
	(void)snprintf(name, sizeof(name), "%s.weight", stem);
	return lmi_hp_tensor(e->hp, name);
}

bool lmi_has(const struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	if (lmi_tensor_index(e, row, ".weight") != LMD_NONE)
		return true;
	return (row->flags & LMD_TENSOR_PER_EXPERT) && expert_index(e, row, 0) != LMD_NONE;
}

static struct lmi_w no_weight(void)
{
	return (struct lmi_w){.id = LMD_NONE, .site = LMD_NONE};
}

static struct lmi_w put_wref(struct lmi_emit *e, struct lmd_wref *r, const char *name)
{
	struct lmi_w w = no_weight();
	struct lmd_wref info;

	r->struct_size = sizeof(*r);
	r->name = name;
	w.id = e->b->wref(e->b->ctx, r);
	w.extras = r->scale != LMD_NONE || r->bias != LMD_NONE;
	if (e->b->wref_info(e->b->ctx, w.id, &info)) {
		w.n = info.n;
		w.k = info.k;
	}
	return w;
}

static struct lmi_w from_tensor(struct lmi_emit *e, const struct lmd_tensor_row *row,
				uint32_t index, uint32_t row0, uint32_t n_row, bool extras)
{
	const struct lmd_tensor *t = &e->hp->model->tensors[index];
	struct lmd_wpart part = {
		.kind = LMD_WPART_TENSOR, .tensor = index, .row0 = row0, .n_row = n_row};
	struct lmd_wref r = {
		.n_part = 1, .parts = &part, .split = row->split, .scale = LMD_NONE,
		.bias = LMD_NONE};
	struct lmi_w w;

	if (extras && (row->flags & LMD_TENSOR_SCALE))
		r.scale = lmi_tensor_index(e, row, ".scale");
	if (extras && (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ)))
		r.bias = lmi_tensor_index(e, row, ".bias");
	r.n_stack = t->n_dim > 2 ? (uint32_t)t->dims[2] : 1;
	w = put_wref(e, &r, t->name);
	w.site = e->hp->site_of_tensor ? e->hp->site_of_tensor[index] : LMD_NONE;
	return w;
}

static struct lmi_w stack_experts(struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	struct lmd_wpart parts[LMI_MAX_EXPERT];
	struct lmd_wref r = {
		.n_part = e->hp->n_expert, .parts = parts, .xform = LMD_XFORM_STACK_EXPERTS,
		.split = row->split, .n_stack = e->hp->n_expert, .scale = LMD_NONE,
		.bias = LMD_NONE};
	char name[128];

	memset(parts, 0, sizeof(parts[0]) * e->hp->n_expert);
	for (uint32_t i = 0; i < e->hp->n_expert; i++) {
		parts[i].tensor = expert_index(e, row, i);
		if (parts[i].tensor == LMD_NONE) {
			(void)snprintf(name, sizeof(name), row->alt, (int)e->il, (int)i);
			e->b->fail(
				e->b->ctx, LMD_NOTFOUND,
				"%s.weight: the file has no such tensor, but expert_count is %u",
				name, e->hp->n_expert);
			return no_weight();
		}
	}
	lmi_tensor_name(e, row, ".weight", name, sizeof(name));
	return put_wref(e, &r, name);
}

struct lmi_w lmi_w_opt(struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	uint32_t t = lmi_tensor_index(e, row, ".weight");

	if (t != LMD_NONE)
		return from_tensor(e, row, t, 0, 0, true);
	if ((row->flags & LMD_TENSOR_PER_EXPERT) && expert_index(e, row, 0) != LMD_NONE)
		return stack_experts(e, row);
	return no_weight();
}

static void fail_missing(struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	char name[128];

	lmi_tensor_name(e, row, ".weight", name, sizeof(name));
	e->b->fail(e->b->ctx, LMD_NOTFOUND, "%s: the file has no such tensor", name);
}

struct lmi_w lmi_w(struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	struct lmi_w w = lmi_w_opt(e, row);

	if (w.id == LMD_NONE)
		fail_missing(e, row);
	return w;
}

struct lmi_w lmi_w_part(struct lmi_emit *e, const struct lmd_tensor_row *row, uint32_t row0,
			uint32_t n_row)
{
	uint32_t t = lmi_tensor_index(e, row, ".weight");

	if (t != LMD_NONE)
		return from_tensor(e, row, t, row0, n_row, false);
	fail_missing(e, row);
	return no_weight();
}

uint32_t lmi_w_named(struct lmi_emit *e, const char *name)
{
	struct lmd_wpart part = {.kind = LMD_WPART_TENSOR, .tensor = lmi_hp_tensor(e->hp, name)};
	struct lmd_wref r = {.n_part = 1, .parts = &part, .n_stack = 1, .scale = LMD_NONE,
			     .bias = LMD_NONE};

	return part.tensor == LMD_NONE ? LMD_NONE : put_wref(e, &r, name).id;
}

bool lmi_read_floats(struct lmi_emit *e, const char *name, float *out, uint32_t n)
{
	const struct lmd_host *host = e->b->host;
	uint32_t i = lmi_hp_tensor(e->hp, name);
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

struct lmd_norm lmi_no_norm(void)
{
	return (struct lmd_norm){.kind = LMD_NORM_NONE};
}

struct lmd_norm lmi_norm_heads(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row,
			       uint32_t n_head, uint32_t width)
{
	struct lmd_norm n = {.kind = kind, .eps = e->hp->eps};
	char name[128];

	if (!row)
		return n;
	lmi_tensor_name(e, row, ".weight", name, sizeof(name));
	n.g = lmi_wheads(lmi_w_named(e, name), n_head, width);
	lmi_tensor_name(e, row, ".bias", name, sizeof(name));
	if (row->flags & (LMD_TENSOR_BIAS | LMD_TENSOR_BIAS_REQ))
		n.b = lmi_wheads(lmi_w_named(e, name), n_head, width);
	return n;
}

/* Number of elements of a norm's tensor, 0 if absent. */
static uint32_t vector_width(struct lmi_emit *e, const struct lmd_tensor_row *row)
{
	uint32_t t = row ? lmi_tensor_index(e, row, ".weight") : LMD_NONE;

	return t == LMD_NONE ? 0 : (uint32_t)e->hp->model->tensors[t].dims[0];
}

struct lmd_norm lmi_norm(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row)
{
	return lmi_norm_heads(e, kind, row, 1, vector_width(e, row));
}

struct lmd_norm lmi_norm_req(struct lmi_emit *e, uint32_t kind, const struct lmd_tensor_row *row)
{
	if (!lmi_has(e, row))
		fail_missing(e, row);
	return lmi_norm(e, kind, row);
}

/* ---- rotation ---- */

/* Name of the tensor with the frequency divisors for this context length, or NULL. */
static const char *factor_tensor(const struct lmi_emit *e, const struct lmi_rope_hp *r)
{
	const char *name = e->hp->n_ctx > r->n_ctx_orig ? "rope_factors_long.weight"
							: "rope_factors_short.weight";

	if (!r->use_factors)
		return NULL;
	if (lmi_hp_tensor(e->hp, "rope_freqs.weight") != LMD_NONE)
		return "rope_freqs.weight";
	return lmi_hp_tensor(e->hp, name) != LMD_NONE ? name : NULL;
}

static uint32_t make_rope(struct lmi_emit *e, const struct lmi_rope_hp *r, uint32_t n_rot)
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
		if (!lmi_read_floats(e, name, f, n_rot / 2))
			goto done;
		p.factors = f;
		p.n_factors = n_rot / 2;
	}
	id = e->b->rope(e->b->ctx, &p);
done:
	host->free(host->ctx, f);
	return id;
}

uint32_t lmi_rope(struct lmi_emit *e, uint32_t set, uint32_t n_rot)
{
	const struct lmi_rope_hp *r = set == LMD_NONE ? NULL : &e->hp->rope[set];
	uint32_t id;

	if (!r || !n_rot)
		return LMD_NONE;
	if (set != LMI_ROPE_FULL && memcmp(r, &e->hp->rope[LMI_ROPE_FULL], sizeof(*r)) == 0)
		set = LMI_ROPE_FULL;
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
