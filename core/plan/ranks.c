/* SPDX-License-Identifier: MIT
 *
 * A tensor-parallel plan as one list of ops.  The architecture has built one plan for each rank, one
 * after another, with ALLREDUCE and ALLGATHER where the ranks exchange results.  The k-th exchange of
 * all ranks is one and the same.  This interleaves the ranks: the ops of every rank up to the first
 * exchange, then those up to the second, and so on.  Each exchange becomes ops of the ranks that read
 * the values of the others, so any devices can run the ranks, and cutting the plan by device makes the
 * copies.
 *
 * If the devices form a group, each exchange becomes one collective of theirs.  The ranks of one device
 * are merged as above; what they exchange with the others is their sum, or their columns side by side.
 * The ops of a device then follow one another: it runs them in one piece.
 *
 * Sums are in pairs, as ALLREDUCE is defined (llamad/op.h): the result does not depend on where a rank
 * runs, nor on the way. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/lower.h"
#include "core/plan/ranks.h"

struct merge {
	struct lmi_plan *p;
	uint32_t n_rank, n_exchange;
	uint32_t n_device; /* of the group; 1: there is none */
	struct lmd_op *ops;  /* as they were built */
	uint32_t *at;        /* [n_rank * n_exchange] their exchanges */
	uint32_t *first;     /* [n_rank + 1] first op of each rank */
	struct lmd_error *err;
};

static bool is_exchange(const struct lmd_op *op)
{
	return op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER;
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "out of memory while merging the ranks of a plan");
}

static enum lmd_status put(struct merge *m, struct lmd_op *op, uint32_t rank, int32_t layer)
{
	op->struct_size = sizeof(*op);
	op->rank = rank;
	op->layer = layer;
	lmi_plan_op_normalise(op);
	op->space = lmi_plan_op_space(&m->p->view, op);
	return lmi_plan_add_op(m->p, op, m->err);
}

static const struct lmd_op *exchange(const struct merge *m, uint32_t rank, uint32_t k)
{
	return &m->ops[m->at[(size_t)rank * m->n_exchange + k]];
}

/* y = the sum of what ranks [r0, r0 + n) exchange. */
static enum lmd_status put_sum(struct merge *m, uint32_t r0, uint32_t n, uint32_t k, uint32_t rank,
			       const struct lmd_operand *y)
{
	struct lmi_plan_prog g;
	uint8_t v[LMI_PLAN_MAX_RANK] = {0};

	lmi_plan_prog_init(&g);
	for (uint32_t i = 0; i < n; i++)
		v[i] = lmi_plan_prog_in(&g, &exchange(m, r0 + i, k)->u.collective.x);
	for (; n > 1; n = (n + 1) / 2) {
		for (uint32_t i = 0; i < n / 2; i++)
			v[i] = lmi_plan_prog_ins(&g, LMD_EW_ADD, v[2 * i], v[2 * i + 1], 0);
		if (n % 2)
			v[n / 2] = v[n - 1];
	}
	lmi_plan_prog_out(&g, y, v[0]);
	return put(m, &g.op, rank, exchange(m, rank, k)->layer);
}

/* y = their columns side by side. */
static enum lmd_status put_gather(struct merge *m, uint32_t r0, uint32_t n_rank, uint32_t k,
				  uint32_t rank, const struct lmd_operand *y)
{
	uint32_t col = y->col0;
	enum lmd_status st = LMD_OK;

	for (uint32_t r = r0; r < r0 + n_rank && st == LMD_OK; r++) {
		const struct lmd_operand *x = &exchange(m, r, k)->u.collective.x;
		uint32_t n = (uint32_t)lmi_plan_operand_cols(x);
		struct lmd_op op;

		lmi_plan_op_init(&op, LMD_OP_CAST_COPY);
		op.u.cast_copy.x = *x;
		op.u.cast_copy.y = (struct lmd_operand){
			.src = LMD_SRC_VALUE, .id = y->id, .col0 = col, .n_head = 1, .width = n};
		col += n;
		st = put(m, &op, rank, exchange(m, rank, k)->layer);
	}
	return st;
}

static enum lmd_status put_copy(struct merge *m, uint32_t rank, uint32_t k,
				const struct lmd_operand *x)
{
	const struct lmd_op *own = exchange(m, rank, k);
	struct lmd_op op;

	lmi_plan_op_init(&op, LMD_OP_CAST_COPY);
	op.u.cast_copy.x = *x;
	op.u.cast_copy.y = own->u.collective.y;
	return put(m, &op, rank, own->layer);
}

/* The exchange of the ranks [r0, r0 + n) of one device with those of the others of its group. */
static enum lmd_status put_collective(struct merge *m, uint32_t r0, uint32_t n, uint32_t k)
{
	struct lmd_op op = *exchange(m, r0, k);
	const bool sums = op.code == LMD_OP_ALLREDUCE;
	struct lmd_operand *x = &op.u.collective.x;
	enum lmd_status st = LMD_OK;

	if (n > 1) {
		const uint32_t cols = (uint32_t)lmi_plan_operand_cols(x) * (sums ? 1 : n);
		struct lmd_value v = m->p->values[x->id];

		v.width = cols;
		*x = (struct lmd_operand){.src = LMD_SRC_VALUE,
					  .n_head = sums ? x->n_head : 1,
					  .head_stride = sums ? x->width : 0,
					  .width = sums ? x->width : cols};
		st = lmi_plan_add_value(m->p, &v, -1, &x->id, m->err);
		if (st == LMD_OK)
			st = sums ? put_sum(m, r0, n, k, r0, x) : put_gather(m, r0, n, k, r0, x);
	}
	if (st == LMD_OK)
		st = put(m, &op, r0, op.layer);
	for (uint32_t r = r0 + 1; r < r0 + n && st == LMD_OK; r++)
		st = put_copy(m, r, k, &op.u.collective.y);
	return st;
}

/* The exchange of a rank without a group. */
static enum lmd_status put_exchange(struct merge *m, uint32_t rank, uint32_t k)
{
	const struct lmd_op *own = exchange(m, rank, k);

	return own->code == LMD_OP_ALLREDUCE
		       ? put_sum(m, 0, m->n_rank, k, rank, &own->u.collective.y)
		       : put_gather(m, 0, m->n_rank, k, rank, &own->u.collective.y);
}

/* ---- merging ---- */

/* Finds the exchanges of all ranks, which have to be the same. */
static enum lmd_status find_exchanges(struct merge *m)
{
	uint32_t n_op = m->p->view.n_op;

	for (uint32_t i = m->first[0]; i < m->first[1]; i++)
		m->n_exchange += is_exchange(&m->ops[i]);
	if (!m->n_exchange)
		return lmd_fail(m->err, LMD_UNSUPPORTED,
				"architecture %s: its matrices cannot be divided in %u parts",
				m->p->model ? m->p->model->arch : "?", m->n_rank);
	m->at = lmi_alloc((size_t)m->n_rank * m->n_exchange, sizeof(*m->at));
	if (!m->at)
		return no_memory(m->err);
	for (uint32_t r = 0; r < m->n_rank; r++) {
		uint32_t n = 0;

		for (uint32_t i = m->first[r]; i < m->first[r + 1] && i < n_op; i++) {
			if (!is_exchange(&m->ops[i]))
				continue;
			if (n < m->n_exchange)
				m->at[(size_t)r * m->n_exchange + n] = i;
			if (n < m->n_exchange && m->ops[i].code != exchange(m, 0, n)->code)
				n = m->n_exchange;
			n++;
		}
		if (n != m->n_exchange)
			return lmd_fail(m->err, LMD_INTERNAL,
					"architecture %s: rank %u exchanges other values than rank 0",
					m->p->model ? m->p->model->arch : "?", r);
	}
	return LMD_OK;
}

/* Appends the ops of a rank between two exchanges. */
static enum lmd_status put_part(struct merge *m, uint32_t rank, uint32_t k)
{
	uint32_t i = m->first[rank], end = m->first[rank + 1];
	enum lmd_status st = LMD_OK;

	if (k && m->n_device == 1)
		st = put_exchange(m, rank, k - 1);
	if (k)
		i = m->at[(size_t)rank * m->n_exchange + k - 1] + 1;
	if (k < m->n_exchange)
		end = m->at[(size_t)rank * m->n_exchange + k];
	for (; i < end && st == LMD_OK; i++)
		st = lmi_plan_add_op(m->p, &m->ops[i], m->err);
	return st;
}

/* Appends all ops of the ranks of a device. */
static enum lmd_status put_device(struct merge *m, uint32_t device)
{
	uint32_t n = m->n_rank / m->n_device, r0 = device * n;
	enum lmd_status st = LMD_OK;

	for (uint32_t k = 0; k <= m->n_exchange && st == LMD_OK; k++) {
		if (k && m->n_device > 1)
			st = put_collective(m, r0, n, k - 1);
		for (uint32_t r = r0; r < r0 + n && st == LMD_OK; r++)
			st = put_part(m, r, k);
	}
	return st;
}

enum lmd_status lmi_plan_merge_ranks(struct lmi_plan *p, uint32_t *first, uint32_t n_rank,
				     uint32_t n_device, struct lmd_error *err)
{
	struct merge m = {.p = p, .n_rank = n_rank, .n_device = n_device, .ops = p->ops,
			  .first = first, .err = err};
	enum lmd_status st = find_exchanges(&m);

	p->ops = NULL;
	p->view.ops = NULL;
	p->view.n_op = p->cap_op = 0;
	for (uint32_t d = 0; d < n_device && st == LMD_OK; d++)
		st = put_device(&m, d);
	if (n_device > 1)
		p->view.key.n_rank = n_device;
	lmi_free(m.at);
	lmi_free(m.ops);
	return st == LMD_OK ? lmi_plan_check(p, err) : st;
}
