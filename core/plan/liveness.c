/* SPDX-License-Identifier: MIT
 *
 * Memory of the values.  A value lives from the first op that writes one of its columns to the last
 * op that uses it; two values whose lifetimes do not overlap may share bytes.  Values are placed in
 * order of decreasing size, each at the lowest offset that is free during its lifetime.  For plans,
 * whose large values come and go layer by layer, this is within a few per cent of the peak. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/plan_priv.h"

#define ALIGN 64u

struct life {
	uint32_t value;
	uint32_t first, last; /* range of ops */
	uint64_t offset, bytes;
};

static int by_size(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->value < y->value ? -1 : 1;
}

static int by_offset(const void *a, const void *b)
{
	const struct life *x = *(const struct life *const *)a;
	const struct life *y = *(const struct life *const *)b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void extend_life(struct life *life, uint32_t op)
{
	if (life->first == UINT32_MAX)
		life->first = op;
	life->last = op;
}

/* Values that are read after the run do not share memory. */
static void forever(struct life *life, uint32_t n_op)
{
	life->first = 0;
	life->last = n_op;
}

static void find_lifetimes(const struct lmd_plan *p, struct life *life)
{
	for (uint32_t i = 0; i < p->n_value; i++)
		life[i] = (struct life){.value = i, .first = UINT32_MAX};
	for (uint32_t i = 0; i < p->n_op; i++) {
		const struct lmi_plan_op_info *info = lmi_plan_op_info(p->ops[i].code);

		for (uint32_t j = 0; j < info->n_fields; j++) {
			const struct lmi_plan_field *f = &info->fields[j];

			if (f->kind != LMI_PLAN_FIELD_IN && f->kind != LMI_PLAN_FIELD_OUT)
				continue;
			for (uint32_t k = 0; k < f->count; k++) {
				const struct lmd_operand *o = lmi_plan_field_get(f, &p->ops[i], k);

				if (o->src == LMD_SRC_VALUE)
					extend_life(&life[o->id], i);
			}
		}
	}
	for (uint32_t i = 0; i < p->n_value; i++)
		if (p->values[i].flags & LMD_VALUE_KEEP || p->key.flags & LMD_PLAN_KEEP ||
		    life[i].first == UINT32_MAX)
			forever(&life[i], p->n_op);
	for (uint32_t i = 0; i < p->n_output; i++)
		forever(&life[p->outputs[i].value], p->n_op);
}

static enum lmd_status measure(struct lmi_plan *p, struct life *life, struct lmd_error *err)
{
	for (uint32_t i = 0; i < p->view.n_value; i++) {
		struct lmd_value *v = &p->values[i];
		uint64_t row;

		if (!lmi_mul_ok(v->width, lmi_plan_vtype_bytes(&p->view, v->vtype), &row) ||
		    !lmi_align_ok(row, ALIGN, &row) || row > UINT32_MAX ||
		    !lmi_mul_ok(row, p->view.max_rows[v->space], &life[i].bytes))
			return lmd_fail(err, LMD_INVALID,
					"value %s: %u rows of %u columns overflow", v->name,
					p->view.max_rows[v->space], v->width);
		v->row_bytes = (uint32_t)row;
	}
	return LMD_OK;
}

/* Returns the lowest free offset for `l` among the placed values whose lifetimes overlap; `near` is
 * scratch memory. */
static uint64_t find_offset(const struct life *placed, uint32_t n, const struct life *l,
			    const struct life **near)
{
	uint32_t n_near = 0;
	uint64_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		if (placed[i].bytes && placed[i].first <= l->last && l->first <= placed[i].last)
			near[n_near++] = &placed[i];
	qsort(near, n_near, sizeof(*near), by_offset);
	for (uint32_t i = 0; i < n_near; i++) {
		if (near[i]->offset >= at && near[i]->offset - at >= l->bytes)
			break;
		if (near[i]->offset + near[i]->bytes > at)
			at = near[i]->offset + near[i]->bytes;
	}
	return at;
}

enum lmd_status lmi_plan_layout(struct lmi_plan *p, struct lmd_error *err)
{
	uint32_t n = p->view.n_value;
	struct life *life = lmi_alloc(n ? n : 1, sizeof(*life));
	const struct life **near = lmi_alloc(n ? n : 1, sizeof(*near));
	enum lmd_status st = LMD_OK;
	uint64_t end = 0;

	if (!life || !near) {
		st = lmd_fail(err, LMD_NOMEM, "out of memory while laying out a plan");
		goto out;
	}
	find_lifetimes(&p->view, life);
	st = measure(p, life, err);
	if (st != LMD_OK)
		goto out;
	qsort(life, n, sizeof(*life), by_size);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t here;

		life[i].offset = find_offset(life, i, &life[i], near);
		if (!lmi_add_ok(life[i].offset, life[i].bytes, &here) || here > INT64_MAX) {
			st = lmd_fail(err, LMD_INVALID, "value %s: its offset overflows",
				      p->values[life[i].value].name);
			goto out;
		}
		p->values[life[i].value].offset = life[i].offset;
		end = here > end ? here : end;
	}
	p->view.scratch_bytes = end;
out:
	lmi_free(near);
	lmi_free(life);
	return st;
}
