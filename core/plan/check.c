/* SPDX-License-Identifier: MIT
 *
 * Checks of a plan as a whole: each column is written by exactly one op, before anything reads it,
 * and in the end all columns have been written. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan_priv.h"

void lmi_plan_check_init(struct lmi_plan_check_state *c, const struct lmi_plan *p)
{
	memset(c, 0, sizeof(*c));
	c->p = p;
}

void lmi_plan_check_fini(struct lmi_plan_check_state *c)
{
	for (uint32_t i = 0; i < c->cap; i++)
		lmi_free(c->written[i].v);
	lmi_free(c->written);
	memset(c, 0, sizeof(*c));
}

static enum lmd_status reserve(struct lmi_plan_check_state *c, struct lmd_error *err)
{
	uint32_t cap = c->p->cap_value;
	struct lmi_plan_spans *s;

	if (c->cap >= c->p->view.n_value)
		return LMD_OK;
	s = lmi_realloc(c->written, cap, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "out of memory while checking a plan");
	c->written = s;
	c->cap = cap;
	return LMD_OK;
}

/* Called for each run of columns of an operand; folded columns map to the columns of the value. */
typedef enum lmd_status (*run_fn)(struct lmi_plan_check_state *c, const struct lmd_operand *o,
				  uint32_t a, uint32_t b, void *arg);

static enum lmd_status each_run(struct lmi_plan_check_state *c, const struct lmd_operand *o,
				run_fn fn, void *arg)
{
	uint32_t width = c->p->values[o->id].width;
	bool plain = o->n_head == 1 || o->head_stride == o->width;
	uint32_t n = plain ? 1 : o->n_head;
	uint64_t len = plain ? lmi_plan_operand_cols(o) : o->width;

	for (uint32_t h = 0; h < n; h++) {
		uint64_t a = o->col0 + (uint64_t)h * o->head_stride, first = a % width;
		uint64_t rest = first + len > width ? first + len - width : 0;
		enum lmd_status st;

		if (len >= width)
			return fn(c, o, 0, width, arg);
		st = fn(c, o, (uint32_t)first, (uint32_t)(first + len - rest), arg);
		if (st == LMD_OK && rest)
			st = fn(c, o, 0, (uint32_t)rest, arg);
		if (st != LMD_OK)
			return st;
		if (!o->head_stride)
			break;
	}
	return LMD_OK;
}

struct where {
	const struct lmd_op *op;
	uint32_t index;
	const char *field;
	struct lmd_error *err;
};

static enum lmd_status fail_at(const struct lmi_plan_check_state *c, const struct lmd_operand *o,
			       uint32_t a, uint32_t b, const struct where *w, const char *what)
{
	return lmd_fail(w->err, LMD_INVALID, "op %u %s (layer %d): %s: columns %u..%u of %s %s",
			w->index, lmi_plan_op_info(w->op->code)->name, w->op->layer, w->field, a, b,
			c->p->values[o->id].name, what);
}

static enum lmd_status read_run(struct lmi_plan_check_state *c, const struct lmd_operand *o,
				uint32_t a, uint32_t b, void *arg)
{
	if (lmi_plan_spans_has(&c->written[o->id], a, b))
		return LMD_OK;
	return fail_at(c, o, a, b, arg, "are read before they are written");
}

static enum lmd_status write_run(struct lmi_plan_check_state *c, const struct lmd_operand *o,
				 uint32_t a, uint32_t b, void *arg)
{
	const struct where *w = arg;

	switch (lmi_plan_spans_add(&c->written[o->id], a, b)) {
	case LMI_PLAN_SPANS_OK:
		return LMD_OK;
	case LMI_PLAN_SPANS_OVERLAP:
		return fail_at(c, o, a, b, arg, "are written twice");
	case LMI_PLAN_SPANS_NOMEM:
		break;
	}
	return lmd_fail(w->err, LMD_NOMEM, "out of memory while checking a plan");
}

static enum lmd_status each_value(struct lmi_plan_check_state *c, struct where *w,
				  enum lmi_plan_field_kind kind, run_fn fn)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(w->op->code);

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		if (f->kind != kind)
			continue;
		w->field = f->name;
		for (uint32_t j = 0; j < f->count; j++) {
			const struct lmd_operand *o = lmi_plan_field_get(f, w->op, j);
			enum lmd_status st;

			if (o->src != LMD_SRC_VALUE)
				continue;
			st = each_run(c, o, fn, w);
			if (st != LMD_OK)
				return st;
		}
	}
	return LMD_OK;
}

enum lmd_status lmi_plan_check_op(struct lmi_plan_check_state *c, struct lmd_op *op, uint32_t index,
				  struct lmd_error *err)
{
	struct where w = {.op = op, .index = index, .err = err};
	enum lmd_status st = lmi_plan_op_check(c->p, op, index, err);

	if (st == LMD_OK)
		st = reserve(c, err);
	if (st == LMD_OK)
		st = each_value(c, &w, LMI_PLAN_FIELD_IN, read_run);
	return st == LMD_OK ? each_value(c, &w, LMI_PLAN_FIELD_OUT, write_run) : st;
}

enum lmd_status lmi_plan_check_end(struct lmi_plan_check_state *c, struct lmd_error *err)
{
	const struct lmd_plan *p = &c->p->view;
	enum lmd_status st = reserve(c, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < p->n_value; i++) {
		const struct lmi_plan_spans *s = &c->written[i];
		uint32_t a = s->n && !s->v[0].a ? s->v[0].b : 0;

		if (a < p->values[i].width)
			return lmd_fail(err, LMD_INVALID,
					"value %s: column %u of %u is never written",
					p->values[i].name, a, p->values[i].width);
	}
	return LMD_OK;
}

enum lmd_status lmi_plan_check(struct lmi_plan *p, struct lmd_error *err)
{
	struct lmi_plan_check_state c;
	enum lmd_status st = LMD_OK;

	lmi_plan_check_init(&c, p);
	for (uint32_t i = 0; i < p->view.n_op && st == LMD_OK; i++)
		st = lmi_plan_check_op(&c, &p->ops[i], i, err);
	if (st == LMD_OK)
		st = lmi_plan_check_end(&c, err);
	lmi_plan_check_fini(&c);
	return st;
}
