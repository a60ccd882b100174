/* SPDX-License-Identifier: MIT
 *
 * Chooses a device for each op of a plan.  An op that its device lacks is decomposed if the device can
 * then run a part of it that has weights; otherwise it runs as a whole on the fallback device.  The ops
 * that use a cache run where the cache is: writers and readers see the same memory. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/lower.h"

struct placer {
	const struct lmi_plan_placement *in;
	struct lmi_plan *p;
	uint8_t *device_of; /* [n_op] */
	/* Caches that one op uses belong together; index n_cache stands for the external inputs. */
	uint32_t *class_of; /* [n_cache + 1] */
	bool in_layers;	    /* a layer has begun */
	struct lmd_error *err;
};

/* ---- ops ---- */

static uint32_t wanted(struct placer *w, const struct lmd_plan *plan, const struct lmd_op *op)
{
	const struct lmi_plan_placement *in = w->in;
	uint32_t device;

	w->in_layers |= op->layer >= 0;
	if (in->override && in->override(in->arg, plan, op, &device))
		return device;
	if (in->rank_device)
		return in->rank_device[op->rank];
	if (op->layer >= 0 && in->n_layer)
		return in->layer_device[(uint32_t)op->layer < in->n_layer ? (uint32_t)op->layer
									  : in->n_layer - 1];
	return w->in_layers ? in->after : in->before;
}

static bool supported(const struct placer *w, uint32_t device, const struct lmd_plan *plan,
		      const struct lmd_op *op, char *reason, size_t n)
{
	return w->in->support(w->in->arg, device, plan, op, reason, n);
}

static bool on_wanted(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		      size_t n)
{
	struct placer *w = arg;

	return supported(w, wanted(w, plan, op), plan, op, reason, n);
}

static bool on_fallback(void *arg, const struct lmd_plan *plan, const struct lmd_op *op)
{
	struct placer *w = arg;

	return w->in->fallback < w->in->n_device &&
	       supported(w, w->in->fallback, plan, op, NULL, 0);
}

static enum lmd_status impossible(struct placer *w, const struct lmd_op *op, const char *reason)
{
	return lmd_fail(w->err, LMD_UNSUPPORTED, "op %s (layer %d): no device can run it%s%s",
			lmi_plan_op_info(op->code)->name, op->layer, reason[0] ? ": " : "",
			reason);
}

static void moved(const struct placer *w, const struct lmd_op *op, uint32_t from, uint32_t to,
		  const char *reason)
{
	if (w->in->moved)
		w->in->moved(w->in->arg, op, from, to, reason);
}

static enum lmd_status place_ops(struct placer *w)
{
	const struct lmd_plan *v = &w->p->view;

	w->in_layers = false;
	for (uint32_t i = 0; i < v->n_op; i++) {
		uint32_t device = wanted(w, v, &v->ops[i]);
		char reason[96] = "";

		if (!supported(w, device, v, &v->ops[i], reason, sizeof(reason))) {
			if (!on_fallback(w, v, &v->ops[i]))
				return impossible(w, &v->ops[i], reason);
			moved(w, &v->ops[i], device, w->in->fallback,
			      reason[0] ? reason : "the device does not have this op");
			device = w->in->fallback;
		}
		w->device_of[i] = (uint8_t)device;
	}
	return LMD_OK;
}

/* ---- caches and inputs ---- */

static uint32_t root(const uint32_t *class_of, uint32_t i)
{
	while (class_of[i] != i)
		i = class_of[i];
	return i;
}

/* Returns the class of the caches that an op uses, after joining them; LMD_NONE: it uses none. */
static uint32_t class_of_op(struct placer *w, const struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);
	uint32_t class = LMD_NONE;

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count; j++) {
			const void *at = lmi_plan_field_get(f, op, j);
			uint32_t id = LMD_NONE;

			if (f->kind == LMI_PLAN_FIELD_CACHE)
				id = *(const uint32_t *)at;
			else if (f->kind == LMI_PLAN_FIELD_IN &&
				 ((const struct lmd_operand *)at)->src == LMD_SRC_INPUT)
				id = w->p->view.n_cache;
			if (id == LMD_NONE)
				continue;
			id = root(w->class_of, id);
			if (class != LMD_NONE)
				w->class_of[class] = id;
			class = id;
		}
	}
	return class;
}

static uint8_t *place_of(const struct placer *w, uint32_t cache)
{
	return cache == w->p->view.n_cache ? w->in->input_device : &w->in->cache_device[cache];
}

/* Can a device run all ops of a class?  If not, *which is one that it cannot run. */
static bool runs_class(struct placer *w, uint32_t class, uint32_t device, uint32_t *which,
		       char *reason, size_t n)
{
	const struct lmd_plan *v = &w->p->view;

	for (*which = 0; *which < v->n_op; (*which)++) {
		uint32_t c = class_of_op(w, &v->ops[*which]);

		if (c != LMD_NONE && root(w->class_of, c) == class &&
		    !supported(w, device, v, &v->ops[*which], reason, n))
			return false;
	}
	return true;
}

/* Chooses the device of a class whose first op is `first`. */
static enum lmd_status choose_device(struct placer *w, uint32_t class, uint32_t first,
				     uint32_t *device)
{
	const struct lmd_plan *v = &w->p->view;
	char reason[96] = "";
	uint32_t which;
	bool fixed = false;

	*device = w->device_of[first];
	for (uint32_t i = 0; i <= v->n_cache && !fixed; i++) {
		if (root(w->class_of, i) != class || *place_of(w, i) == LMI_PLAN_ANYWHERE)
			continue;
		*device = *place_of(w, i);
		fixed = true;
	}
	if (runs_class(w, class, *device, &which, reason, sizeof(reason)))
		return LMD_OK;
	if (!fixed && w->in->fallback < w->in->n_device &&
	    runs_class(w, class, w->in->fallback, &which, reason, sizeof(reason))) {
		*device = w->in->fallback;
		return LMD_OK;
	}
	return impossible(w, &v->ops[which], reason);
}

static enum lmd_status place_class(struct placer *w, uint32_t class, uint32_t first)
{
	const struct lmd_plan *v = &w->p->view;
	uint32_t device;
	enum lmd_status st = choose_device(w, class, first, &device);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = first; i < v->n_op; i++) {
		uint32_t c = class_of_op(w, &v->ops[i]);

		if (c == LMD_NONE || root(w->class_of, c) != class || w->device_of[i] == device)
			continue;
		moved(w, &v->ops[i], w->device_of[i], device,
		      class == root(w->class_of, v->n_cache) ? "the input is there"
							      : "its cache is there");
		w->device_of[i] = (uint8_t)device;
	}
	for (uint32_t i = 0; i <= v->n_cache; i++)
		if (root(w->class_of, i) == class)
			*place_of(w, i) = (uint8_t)device;
	return LMD_OK;
}

static enum lmd_status place_classes(struct placer *w)
{
	const struct lmd_plan *v = &w->p->view;
	enum lmd_status st = LMD_OK;
	bool *done = lmi_alloc(v->n_cache + (size_t)1, sizeof(*done));

	if (!done)
		return lmd_fail(w->err, LMD_NOMEM, "out of memory while placing a plan");
	for (uint32_t i = 0; i < v->n_op; i++)
		(void)class_of_op(w, &v->ops[i]); /* joins */
	for (uint32_t i = 0; i < v->n_op && st == LMD_OK; i++) {
		uint32_t c = class_of_op(w, &v->ops[i]);

		if (c == LMD_NONE)
			continue;
		c = root(w->class_of, c);
		if (!done[c])
			st = place_class(w, c, i);
		done[c] = true;
	}
	lmi_free(done);
	return st;
}

enum lmd_status lmi_plan_place(struct lmi_plan *p, const struct lmi_plan_placement *in,
			       uint8_t **device_of, struct lmd_error *err)
{
	struct placer w = {.in = in, .p = p, .err = err};
	enum lmd_status st = lmi_plan_lower_or_keep(p, on_wanted, on_fallback, &w, err);

	if (st != LMD_OK)
		return st;
	w.device_of = lmi_alloc(p->view.n_op + (size_t)1, sizeof(*w.device_of));
	w.class_of = lmi_alloc(p->view.n_cache + (size_t)1, sizeof(*w.class_of));
	if (!w.device_of || !w.class_of)
		st = lmd_fail(err, LMD_NOMEM, "out of memory while placing a plan");
	for (uint32_t i = 0; st == LMD_OK && i <= p->view.n_cache; i++)
		w.class_of[i] = i;
	if (st == LMD_OK)
		st = place_ops(&w);
	if (st == LMD_OK)
		st = place_classes(&w);
	lmi_free(w.class_of);
	if (st == LMD_OK)
		*device_of = w.device_of;
	else
		lmi_free(w.device_of);
	return st;
}
