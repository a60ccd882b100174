/* SPDX-License-Identifier: MIT
 *
 * Turns the weight operands of plans into weights on the device. Plans of one model refer to the
 * same tensors, so a weight is stored with the operand that created it and found again by comparing
 * operands. Scales and biases are converted to f32 here and live as long as the weights. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/repack_cache.h"
#include "core/engine/weights_impl.h"
#include "core/plan/weight_ref.h"
#include "core/quant/quant.h"

struct entry {
	const struct lmd_weight_ref *ref; /* belongs to a plan, which outlives this */
	struct lmd_weight *weight;
	struct lmi_weight_floats floats;
};

struct lmi_engine_weights {
	struct lmi_inst *inst;
	struct lmi_inst_device *device;
	struct entry *v;
	uint32_t n, cap;
	struct lmd_weight_piece *pieces; /* scratch [n_piece_max] */
	uint32_t n_piece_max;
};

enum lmd_status lmi_engine_weights_create(struct lmi_engine_weights **out, struct lmi_inst *inst,
					  struct lmi_inst_device *d, struct lmd_error *err)
{
	struct lmi_engine_weights *w = lmi_alloc(1, sizeof(*w));

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "weights: no memory");
	w->inst = inst;
	w->device = d;
	*out = w;
	return LMD_OK;
}

void lmi_engine_weights_floats_free(struct lmi_weight_floats *f)
{
	lmi_free(f->scale);
	lmi_free(f->bias);
	*f = (struct lmi_weight_floats){0};
}

void lmi_engine_weights_destroy(struct lmi_engine_weights *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++) {
		if (w->v[i].weight)
			w->device->ops->weight_destroy(w->device->state, w->v[i].weight);
		lmi_engine_weights_floats_free(&w->v[i].floats);
	}
	lmi_free(w->v);
	lmi_free(w->pieces);
	lmi_free(w);
}

static bool same_part(const struct lmd_weight_part *a, const struct lmd_weight_part *b, uint32_t k)
{
	if (a->kind != b->kind || a->n_row != b->n_row)
		return false;
	if (a->kind == LMD_WEIGHT_PART_LITERAL)
		return a->literal == b->literal ||
		       !memcmp(a->literal, b->literal, (size_t)a->n_row * k * sizeof(float));
	return a->tensor == b->tensor && a->row0 == b->row0 && a->k0 == b->k0 && a->n_k == b->n_k;
}

static bool same_ref(const struct lmd_weight_ref *a, const struct lmd_weight_ref *b)
{
	if (a->n_part != b->n_part || a->transform != b->transform || a->n_head != b->n_head ||
	    a->head_rows != b->head_rows || a->n_stack != b->n_stack || a->n != b->n ||
	    a->k != b->k || a->scale != b->scale || a->bias != b->bias ||
	    a->extra0 != b->extra0 || a->n_extra != b->n_extra)
		return false;
	for (uint32_t i = 0; i < a->n_part; i++)
		if (!same_part(&a->parts[i], &b->parts[i], a->k))
			return false;
	return true;
}

static struct entry *find(struct lmi_engine_weights *w, const struct lmd_weight_ref *ref)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (same_ref(w->v[i].ref, ref))
			return &w->v[i];
	return NULL;
}

static const struct lmd_model *target_of(const struct lmi_inst *inst)
{
	return inst->target ? inst->target->model : NULL;
}

/* Returns the values of a whole tensor as f32; the caller frees them. */
static enum lmd_status floats(const struct lmi_inst *inst, const struct lmd_weight_ref *ref,
			      uint32_t tensor, float **out, uint32_t *n, struct lmd_error *err)
{
	const struct lmd_tensor *t =
		&lmi_plan_weight_ref_model(ref, inst->model, target_of(inst))->tensors[tensor];
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t total = 1;

	for (int i = 0; i < LMD_MAX_DIMS; i++)
		total *= (uint64_t)t->dims[i]; /* at most the file's size, checked by the reader */
	if (!type || !type->dequant || total > UINT32_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: tensor %s has type %u, which does not store plain numbers",
				ref->name, t->name, t->dtype);
	*out = lmi_alloc((size_t)total, sizeof(**out));
	if (!*out)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for the %llu values of %s",
				ref->name, (unsigned long long)total, t->name);
	if (total)
		lmi_quant_dequant_rows(type, t->data, *out, (size_t)t->dims[0],
				       (size_t)(total / (uint64_t)t->dims[0]));
	*n = (uint32_t)total;
	return LMD_OK;
}

static enum lmd_status grow(struct lmi_engine_weights *w, uint32_t n_part, struct lmd_error *err)
{
	void *p;

	if (w->n == w->cap) {
		p = lmi_realloc(w->v, w->cap ? w->cap * 2 : 256, sizeof(*w->v));
		if (!p)
			return lmd_fail(err, LMD_NOMEM, "weights: no memory for %u of them", w->n);
		w->v = p;
		w->cap = w->cap ? w->cap * 2 : 256;
	}
	if (n_part > w->n_piece_max) {
		p = lmi_realloc(w->pieces, n_part, sizeof(*w->pieces));
		if (!p)
			return lmd_fail(err, LMD_NOMEM, "weights: no memory for %u parts", n_part);
		w->pieces = p;
		w->n_piece_max = n_part;
	}
	return LMD_OK;
}

/* Returns the elements of a scale or bias that belong to the weight. */
static const float *used(const struct lmd_weight_ref *ref, const float *v, uint32_t *n)
{
	if (!v || !ref->n_extra || *n < 2)
		return v;
	*n = ref->n_extra;
	return v + ref->extra0;
}

enum lmd_status lmi_engine_weights_describe(struct lmi_engine_weights *w, const struct lmd_weight_ref *ref,
					    struct lmi_weight_floats *f, struct lmd_weight_desc *d,
					    struct lmd_error *err)
{
	const struct lmi_inst *inst = w->inst;
	enum lmd_status st = grow(w, ref->n_part, err);

	*d = (struct lmd_weight_desc){
		.struct_size = sizeof(*d), .ref = ref, .n_piece = ref->n_part};
	if (st == LMD_OK)
		st = lmi_plan_weight_ref_pieces(ref, inst->model, target_of(inst), w->pieces,
						&d->dtype, err);
	if (st == LMD_OK && ref->scale != LMD_NONE)
		st = floats(inst, ref, ref->scale, &f->scale, &d->n_scale, err);
	if (st == LMD_OK && ref->bias != LMD_NONE)
		st = floats(inst, ref, ref->bias, &f->bias, &d->n_bias, err);
	d->pieces = w->pieces;
	d->scale = used(ref, f->scale, &d->n_scale);
	d->bias = used(ref, f->bias, &d->n_bias);
	return st;
}

/* Describes a weight with what the repack cache has of it. */
static enum lmd_status describe(struct lmi_engine_weights *w, struct entry *e, struct lmd_weight_desc *d,
				bool *stored, struct lmd_error *err)
{
	enum lmd_status st = lmi_engine_weights_describe(w, e->ref, &e->floats, d, err);

	*stored = st == LMD_OK &&
		  lmi_engine_repack_add(w->inst, (uint32_t)(w->device - w->inst->devices), e->ref, d);
	return st;
}

static enum lmd_status load(struct lmi_engine_weights *w, const struct lmd_weight_ref *ref,
			    struct lmd_weight **out, struct lmd_error *err)
{
	struct entry e = {.ref = ref};
	struct lmd_weight_desc d;
	bool stored;
	enum lmd_status st = describe(w, &e, &d, &stored, err);

	if (st == LMD_OK)
		st = w->device->ops->weight_load(w->device->state, &d, &e.weight, err);
	if (st != LMD_OK) {
		lmi_engine_weights_floats_free(&e.floats);
		return st;
	}
	w->device->n_from_cache += stored;
	w->v[w->n++] = e;
	*out = e.weight;
	return LMD_OK;
}

/* Returns approximately how many bytes of the file an operand refers to. */
static uint64_t ref_bytes(const struct lmi_engine_weights *w, const struct lmd_weight_ref *ref)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < ref->n_part; i++)
		if (ref->parts[i].kind == LMD_WEIGHT_PART_TENSOR)
			n += w->inst->model->tensors[ref->parts[i].tensor].bytes;
	return n;
}

uint64_t lmi_engine_weights_file_bytes(const struct lmi_engine_weights *w,
				       const struct lmd_plan *plan)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < plan->n_weight_ref; i++)
		n += ref_bytes(w, &plan->weight_refs[i]);
	return n;
}

enum lmd_status lmi_engine_weights_load(struct lmi_engine_weights *w, const struct lmd_plan *plan,
					struct lmd_weight **out, lmi_engine_load_fn fn, void *arg,
					uint64_t *done, uint64_t total, struct lmd_error *err)
{
	for (uint32_t i = 0; i < plan->n_weight_ref; i++) {
		const struct entry *e = find(w, &plan->weight_refs[i]);
		enum lmd_status st = LMD_OK;

		if (e)
			out[i] = e->weight;
		else
			st = load(w, &plan->weight_refs[i], &out[i], err);
		if (st != LMD_OK)
			return st;
		*done += fn ? ref_bytes(w, &plan->weight_refs[i]) : 0;
		if (fn && !fn(arg, LMI_ENGINE_LOAD_WEIGHTS, *done, total))
			return lmd_fail(err, LMD_CANCELLED, "cancelled after weight %s",
					plan->weight_refs[i].name);
	}
	return LMD_OK;
}

/* Has an earlier plan this weight? */
static bool was_counted(const struct lmd_plan *const *plans, uint32_t n_plan,
			const struct lmd_weight_ref *ref)
{
	for (uint32_t i = 0; i < n_plan; i++)
		for (uint32_t k = 0; k < plans[i]->n_weight_ref; k++)
			if (same_ref(&plans[i]->weight_refs[k], ref))
				return true;
	return false;
}

static enum lmd_status query(struct lmi_engine_weights *w, const struct lmd_plan *const *plans,
			     uint32_t n_plan, uint64_t *bytes, struct lmd_error *err)
{
	const struct lmd_plan *plan = plans[n_plan];

	for (uint32_t i = 0; i < plan->n_weight_ref; i++) {
		struct lmd_weight_plan wp = {.struct_size = sizeof(wp)};
		struct entry e = {.ref = &plan->weight_refs[i]};
		struct lmd_weight_desc d;
		enum lmd_status st;
		bool stored;

		if (find(w, e.ref) || was_counted(plans, n_plan, e.ref))
			continue;
		st = describe(w, &e, &d, &stored, err);
		if (st == LMD_OK)
			st = w->device->ops->weight_query(w->device->state, &d, &wp, err);
		lmi_engine_weights_floats_free(&e.floats);
		if (st != LMD_OK)
			return st;
		*bytes += wp.bytes;
	}
	return LMD_OK;
}

enum lmd_status lmi_engine_weights_query(struct lmi_engine_weights *w,
					 const struct lmd_plan *const *plans, uint32_t n_plan,
					 uint64_t *bytes, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	*bytes = 0;
	for (uint32_t i = 0; i < n_plan && st == LMD_OK; i++)
		st = query(w, plans, i, bytes, err);
	return st;
}
