/* SPDX-License-Identifier: MIT
 *
 * The builder that an architecture's build function uses to fill a plan.  Every call is checked
 * when it is made.  The first error is sticky: later calls do nothing, and lmi_plan_build returns
 * that error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan_priv.h"
#include "core/plan/ranks.h"
#include "core/plan/weight_ref.h"
#include "core/quant/quant.h"

struct build {
	struct lmi_plan *p;
	struct lmi_plan_check_state check;
	int32_t layer;
	uint32_t rank, n_cache; /* of a tensor-parallel plan: the rank being built, caches of each */
	uint32_t n_input;       /* that the rank has declared */
	enum lmd_status st;
	struct lmd_error err;
};

static void b_layer(void *ctx, int32_t layer)
{
	struct build *b = ctx;

	b->layer = layer < 0 ? -1 : layer;
}

static bool space_exists(const struct lmd_plan *p, uint32_t space)
{
	return space < LMD_SPACE_X0 || space - LMD_SPACE_X0 < p->n_x;
}

static uint32_t b_value(void *ctx, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
			const char *name)
{
	struct build *b = ctx;
	struct lmd_value v = {
		.space = space,
		.vtype = vtype,
		.width = width,
		.flags = b->p->view.key.flags & LMD_PLAN_KEEP ? LMD_VALUE_KEEP : 0,
		.name = name,
	};
	uint32_t id = 0;

	if (b->st != LMD_OK)
		return 0;
	if (!space_exists(&b->p->view, v.space) || v.vtype > LMD_VTYPE_I32 || !width ||
	    width > LMI_PLAN_MAX_WIDTH)
		b->st = lmd_fail(
			&b->err, LMD_INVALID,
			"value %s (layer %d): space %u, type %u, width %u; widths are 1..%u",
			name ? name : "?", b->layer, v.space, v.vtype, width, LMI_PLAN_MAX_WIDTH);
	else
		b->st = lmi_plan_add_value(b->p, &v, b->layer, &id, &b->err);
	return id;
}

/* ---- weights ---- */

static bool same_parts(const struct lmd_weight_ref *a, const struct lmd_weight_ref *b)
{
	for (uint32_t i = 0; i < a->n_part; i++) {
		const struct lmd_weight_part *x = &a->parts[i], *y = &b->parts[i];
		size_t n = (size_t)x->n_row *
			   (a->transform == LMD_TRANSFORM_HEAD_TRANSPOSE ? a->n : a->k);

		if (x->kind != y->kind || x->tensor != y->tensor || x->row0 != y->row0 ||
		    x->n_row != y->n_row || x->k0 != y->k0 || x->n_k != y->n_k)
			return false;
		if (x->kind == LMD_WEIGHT_PART_LITERAL &&
		    memcmp(x->literal, y->literal, n * sizeof(float)))
			return false;
	}
	return true;
}

static bool same_weight_ref(const struct lmd_weight_ref *a, const struct lmd_weight_ref *b)
{
	return a->n_part == b->n_part && a->transform == b->transform && a->split == b->split &&
	       a->n_head == b->n_head && a->head_rows == b->head_rows && a->n_stack == b->n_stack &&
	       a->n == b->n && a->k == b->k && a->scale == b->scale && a->bias == b->bias &&
	       a->extra0 == b->extra0 && a->n_extra == b->n_extra && same_parts(a, b);
}

/* Default name if the architecture gave none: the name of the first tensor. */
static const char *weight_ref_name(const struct build *b, const struct lmd_weight_ref *w)
{
	const struct lmd_model *m = lmi_plan_weight_ref_model(w, b->p->model, b->p->target);

	if (w->name && *w->name)
		return w->name;
	if (w->n_part && w->parts && w->parts[0].kind != LMD_WEIGHT_PART_LITERAL && m &&
	    w->parts[0].tensor < m->n_tensors)
		return m->tensors[w->parts[0].tensor].name;
	return "literal";
}

/* Clears the members that do not apply to the kind of part, so that equal parts compare equal. */
static void normalise_part(struct lmd_weight_part *pt)
{
	if (pt->kind == LMD_WEIGHT_PART_LITERAL)
		pt->tensor = pt->row0 = 0;
	else
		pt->literal = NULL;
}

static enum lmd_status add_weight_ref(struct build *b, const struct lmd_weight_ref *given,
				      uint32_t *id)
{
	struct lmd_weight_ref w = *given;
	struct lmd_weight_part *parts;
	uint32_t dtype;
	enum lmd_status st;

	w.struct_size = sizeof(w);
	w.name = weight_ref_name(b, given);
	if (!w.n_part || !w.parts || w.n_part > 4096)
		return lmd_fail(&b->err, LMD_INVALID, "weight %s: %u parts, expected 1..4096",
				w.name, w.n_part);
	parts = lmi_alloc(w.n_part, sizeof(*parts));
	if (!parts)
		return lmd_fail(&b->err, LMD_NOMEM, "weight %s: out of memory", w.name);
	memcpy(parts, given->parts, w.n_part * sizeof(*parts));
	for (uint32_t i = 0; i < w.n_part; i++)
		normalise_part(&parts[i]);
	st = lmi_plan_weight_ref_resolve(&w, parts, b->p->model, b->p->target, &dtype, &b->err);
	if (st != LMD_OK)
		goto out;
	for (*id = 0; *id < b->p->view.n_weight_ref; ++*id)
		if (same_weight_ref(&b->p->weight_refs[*id], &w))
			goto out;
	st = lmi_plan_add_weight_ref(b->p, &w, dtype, id, &b->err);
out:
	lmi_free(parts);
	return st;
}

static uint32_t b_weight_ref(void *ctx, const struct lmd_weight_ref *w)
{
	struct build *b = ctx;
	uint32_t id = 0;

	if (b->st == LMD_OK)
		b->st = add_weight_ref(b, w, &id);
	return b->st == LMD_OK ? id : 0;
}

static uint32_t b_literal(void *ctx, const float *v, uint32_t n, uint32_t k, uint32_t split,
			  const char *name)
{
	struct lmd_weight_part part = {.kind = LMD_WEIGHT_PART_LITERAL, .n_row = n, .literal = v};
	struct lmd_weight_ref w = {
		.n_part = 1,
		.parts = &part,
		.n = n,
		.k = k,
		.split = split,
		.scale = LMD_NONE,
		.bias = LMD_NONE,
		.name = name,
	};

	return b_weight_ref(ctx, &w);
}

/* ---- rotation ---- */

static bool same_rope(const struct lmd_rope *a, const struct lmd_rope *b)
{
	uint32_t n = a->n_rot / 2;

	return a->n_rot == b->n_rot && a->pairing == b->pairing && a->magnitude == b->magnitude &&
	       !memcmp(a->freq, b->freq, n * sizeof(*a->freq)) &&
	       !memcmp(a->plane, b->plane, n * sizeof(*a->plane));
}

static uint32_t b_rope(void *ctx, const struct lmd_rope_params *params)
{
	struct build *b = ctx;
	struct lmd_rope rope;
	uint32_t id = 0;

	if (b->st != LMD_OK)
		return 0;
	b->st = lmi_plan_rope_make(&rope, b->p->arena, params, &b->err);
	if (b->st != LMD_OK)
		return 0;
	for (id = 0; id < b->p->view.n_rope; id++)
		if (same_rope(&b->p->ropes[id], &rope))
			return id;
	b->st = lmi_plan_add_rope(b->p, &rope, &id, &b->err);
	return b->st == LMD_OK ? id : 0;
}

/* ---- ops, inputs, outputs ---- */

/* The caches of a rank follow those of the ranks before it. */
static void own_caches(const struct build *b, struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count && f->kind == LMI_PLAN_FIELD_CACHE; j++) {
			uint32_t *id = lmi_plan_field_at(f, op, j);

			if (*id < b->n_cache)
				*id += b->rank * b->n_cache;
		}
	}
}

static void b_op(void *ctx, const struct lmd_op *given)
{
	struct build *b = ctx;
	struct lmd_op op = *given;

	if (b->st != LMD_OK)
		return;
	if (!lmi_plan_op_info(op.code)) {
		b->st = lmd_fail(&b->err, LMD_INVALID, "op %u (layer %d): code %u, expected 1..%d",
				 b->p->view.n_op, b->layer, op.code, LMD_N_OP - 1);
		return;
	}
	op.struct_size = sizeof(op);
	op.layer = b->layer;
	op.rank = b->rank;
	if (b->rank)
		own_caches(b, &op);
	lmi_plan_op_normalise(&op);
	op.space = lmi_plan_op_space(&b->p->view, &op);
	b->st = lmi_plan_check_op(&b->check, &op, b->p->view.n_op, &b->err);
	if (!(b->p->view.key.flags & LMD_PLAN_LORA))
		lmi_plan_op_clear(&op, LMI_PLAN_FIELD_SITE);
	if (b->st == LMD_OK)
		b->st = lmi_plan_add_op(b->p, &op, &b->err);
}

static bool output_exists(uint32_t id)
{
	return id <= LMD_OUT_TOPN_LOGIT || (id >= LMD_OUT_TAP && id < LMD_OUT_TAP + 48);
}

static void b_output(void *ctx, uint32_t id, uint32_t value)
{
	struct build *b = ctx;

	if (b->st != LMD_OK || b->rank) /* the outputs are those of rank 0 */
		return;
	if (!output_exists(id) || value >= b->p->view.n_value) {
		b->st = lmd_fail(&b->err, LMD_INVALID,
				 "output %u: value %u of %u; ids are 0..5 and "
				 "16..63",
				 id, value, b->p->view.n_value);
		return;
	}
	for (uint32_t i = 0; i < b->p->view.n_output; i++)
		if (b->p->outputs[i].id == id) {
			b->st = lmd_fail(&b->err, LMD_INVALID,
					 "output %u: cannot be value %s, it is already %s",
					 id, b->p->values[value].name,
					 b->p->values[b->p->outputs[i].value].name);
			return;
		}
	b->st = lmi_plan_add_output(b->p, id, value, &b->err);
}

static uint32_t b_input(void *ctx, const struct lmd_input *in)
{
	struct build *b = ctx;
	uint32_t id = 0;

	if (b->st != LMD_OK)
		return 0;
	if (!space_exists(&b->p->view, in->space) ||
	    (in->vtype != LMD_VTYPE_F32 && in->vtype != LMD_VTYPE_I32) || !in->width ||
	    in->width > LMI_PLAN_MAX_WIDTH || in->own_rows > 1)
		b->st = lmd_fail(&b->err, LMD_INVALID, "input %u: space %u, type %u, width %u",
				 b->p->view.n_input, in->space, in->vtype, in->width);
	else if (b->rank)
		id = b->n_input++; /* declared by rank 0 */
	else
		b->st = lmi_plan_add_input(b->p, in, &id, &b->err);
	return id;
}

static void LMD_PRINTF(3, 4) b_fail(void *ctx, enum lmd_status status, const char *fmt, ...)
{
	struct build *b = ctx;
	va_list ap;

	if (b->st != LMD_OK)
		return;
	b->st = status > LMD_OK && status < LMD_N_STATUS ? status : LMD_INTERNAL;
	b->err.status = b->st;
	va_start(ap, fmt);
	(void)vsnprintf(b->err.text, sizeof(b->err.text), fmt, ap);
	va_end(ap);
}

static enum lmd_status b_status(void *ctx)
{
	return ((const struct build *)ctx)->st;
}

static bool b_value_info(void *ctx, uint32_t value, struct lmd_value *out)
{
	const struct lmd_plan *p = &((const struct build *)ctx)->p->view;

	if (value >= p->n_value)
		return false;
	*out = p->values[value];
	return true;
}

static bool b_weight_ref_info(void *ctx, uint32_t weight_ref, struct lmd_weight_ref *out)
{
	const struct lmd_plan *p = &((const struct build *)ctx)->p->view;

	if (weight_ref >= p->n_weight_ref)
		return false;
	*out = p->weight_refs[weight_ref];
	return true;
}

/* ---- parts that describe() declared ---- */

static enum lmd_status check_cache_type(uint32_t i, uint32_t type, uint32_t width,
					struct lmd_error *err)
{
	const struct lmi_dtype *t = lmi_dtype(type);

	if (!t)
		return lmd_fail(err, LMD_INVALID, "cache %u: type %u is unknown", i, type);
	if (width % t->block_elems)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cache %u: type %s needs head widths that are multiples of %u, not "
				"%u",
				i, t->name, t->block_elems, width);
	return LMD_OK;
}

static enum lmd_status cache_dtypes(struct lmd_cache *c, uint32_t i,
				    const struct lmi_plan_params *p, struct lmd_error *err)
{
	const bool f32 = c->dtype_policy == LMD_KV_DTYPE_F32;
	enum lmd_status st;

	c->k_dtype = f32 ? LMD_DTYPE_F32 : p->k_dtype;
	c->v_dtype = f32 || c->kind != LMD_CACHE_KV ? c->k_dtype : p->v_dtype;
	st = check_cache_type(i, c->k_dtype, c->dk, err);
	return st == LMD_OK ? check_cache_type(i, c->v_dtype, c->dv, err) : st;
}

static enum lmd_status copy_declarations(struct lmi_plan *p, const struct lmd_arch_desc *d,
					 const struct lmi_plan_params *params,
					 struct lmd_error *err)
{
	const struct lmd_plan declared = {
		.n_group = d->n_group,
		.groups = d->groups,
		.n_cache = d->n_cache,
		.caches = d->caches,
		.n_row_in = d->n_row_in,
		.row_ins = d->row_ins,
	};
	struct lmd_plan *v = &p->view;
	enum lmd_status st = lmi_plan_copy_memory(p, &declared, err);

	for (uint32_t i = 0; i < v->n_cache && st == LMD_OK; i++)
		st = cache_dtypes(&p->caches[i], i, params, err);
	if (st != LMD_OK)
		return st;
	p->n_lora_site = d->n_lora_site;
	if (v->key.kind == LMD_PLAN_FORWARD && d->n_input_embd) {
		struct lmd_input rows = {.space = LMD_SPACE_TOKENS,
					 .vtype = LMD_VTYPE_F32,
					 .width = d->n_input_embd,
					 .own_rows = 1,
					 .name = "rows"};
		uint32_t id;

		if (rows.width > LMI_PLAN_MAX_WIDTH)
			return lmd_fail(err, LMD_INVALID, "n_input_embd is %u, at most %u",
					rows.width, LMI_PLAN_MAX_WIDTH);
		return lmi_plan_add_input(p, &rows, &id, err);
	}
	return LMD_OK;
}

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static enum lmd_status check_params(const struct lmi_plan_params *p, struct lmd_error *err)
{
	if (p->key.kind > LMD_PLAN_TAIL || p->key.pooling < LMD_POOL_UNSET ||
	    p->key.pooling > LMD_POOL_RANK)
		return lmd_fail(err, LMD_INVALID,
				"plan: kind %u, pooling %d; expected 0..%d and "
				"-1..%d",
				p->key.kind, p->key.pooling, LMD_PLAN_TAIL, LMD_POOL_RANK);
	if (p->act_dtype != LMD_DTYPE_F32 && p->act_dtype != LMD_DTYPE_F16 &&
	    p->act_dtype != LMD_DTYPE_BF16)
		return lmd_fail(err, LMD_INVALID,
				"plan: activations of type %u, expected f32, "
				"f16 or bf16",
				p->act_dtype);
	if (p->n_rank > LMI_PLAN_MAX_RANK || (p->n_rank > 1 && p->desc->n_cache % p->n_rank))
		return lmd_fail(err, LMD_INVALID,
				"plan: %u ranks with %u caches; at most %d ranks, each with as many",
				p->n_rank, p->desc->n_cache, LMI_PLAN_MAX_RANK);
	if (p->n_device > 1 && (p->n_rank % p->n_device || !is_power_of_two(p->n_rank / p->n_device)))
		return lmd_fail(err, LMD_INVALID,
				"plan: %u ranks on a group of %u devices; each runs 1, 2 or 4 of them",
				p->n_rank, p->n_device);
	for (int i = 0; i < LMD_N_SPACE; i++)
		if (p->max_rows[i] > 1u << 30)
			return lmd_fail(err, LMD_INVALID, "plan: %u rows in space %d, at most 2^30",
					p->max_rows[i], i);
	return lmi_plan_desc_check(p->desc, err);
}

static enum lmd_status run_build(struct build *b, const struct lmi_plan_params *params)
{
	const union {
		struct lmd_builder api;
		char room[LMD_HOST_TABLE_BYTES];
	} table = {.api = {
		.struct_size = sizeof(table.api),
		.ctx = b,
		.host = params->host,
		.model = params->model,
		.layer = b_layer,
		.value = b_value,
		.weight_ref = b_weight_ref,
		.literal = b_literal,
		.rope = b_rope,
		.op = b_op,
		.output = b_output,
		.fail = b_fail,
		.status = b_status,
		.value_info = b_value_info,
		.weight_ref_info = b_weight_ref_info,
		.input = b_input,
		.target = params->target,
	}};
	uint32_t first[LMI_PLAN_MAX_RANK + 1] = {0}, n_rank = params->n_rank > 1 ? params->n_rank : 1;
	uint32_t n_input = b->p->view.n_input;
	struct lmd_plan_key key = params->key;
	enum lmd_status st = LMD_OK;

	key.n_rank = params->n_rank;
	b->n_cache = b->p->view.n_cache / n_rank;
	for (uint32_t r = 0; r < n_rank && st == LMD_OK && b->st == LMD_OK; r++) {
		key.rank = b->rank = r;
		b->layer = -1;
		b->n_input = n_input;
		st = params->arch->build(params->desc->state, &table.api, &key);
		first[r + 1] = b->p->view.n_op;
	}
	if (b->st != LMD_OK)
		return b->st;
	if (st != LMD_OK)
		return lmd_fail(&b->err, st, "plan: the architecture's build function failed (%s)",
				lmd_status_text((int)st));
	if (!b->p->view.n_op)
		return lmd_fail(&b->err, LMD_INVALID, "plan: the architecture emitted 0 ops");
	if (n_rank > 1)
		return lmi_plan_merge_ranks(b->p, first, n_rank,
					    params->n_device > 1 ? params->n_device : 1, &b->err);
	return lmi_plan_check_end(&b->check, &b->err);
}

enum lmd_status lmi_plan_build(struct lmi_plan **out, const struct lmi_plan_params *params,
			       struct lmd_error *err)
{
	struct lmd_plan like = {.key = params->key, .act_dtype = params->act_dtype};
	struct build b = {.layer = -1};
	enum lmd_status st = check_params(params, err);

	if (st != LMD_OK)
		return st;
	like.n_x = params->desc->n_x;
	memcpy(like.max_rows, params->max_rows, sizeof(like.max_rows));
	st = lmi_plan_new(&b.p, &like, err);
	if (st != LMD_OK)
		return st;
	b.p->host = params->host;
	b.p->model = params->model;
	b.p->target = params->target;
	lmi_plan_check_init(&b.check, b.p);
	st = copy_declarations(b.p, params->desc, params, err);
	if (st == LMD_OK) {
		st = run_build(&b, params);
		if (st != LMD_OK && err)
			*err = b.err;
	}
	lmi_plan_check_fini(&b.check);
	if (st == LMD_OK)
		*out = b.p;
	else
		lmi_plan_destroy(b.p);
	return st;
}
