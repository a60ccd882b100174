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
 * The rows of tokens are looked up once, by rank 0, which also has the logits, and the others copy them.
 * So the tokens that its device has chosen itself need not be known to the others.
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
	bool embeds; /* exchanges are the lookups of tokens as well, which are the same in all ranks */
	uint32_t n_device; /* of the group; 1: there is none */
	struct lmd_op *ops;  /* as they were built */
	uint32_t *at;        /* [n_rank * n_exchange] their exchanges */
	uint32_t *first;     /* [n_rank + 1] first op of each rank */
	struct lmd_error *err;
};

static bool is_collective(const struct lmd_op *op)
{
	return op->code == LMD_OP_ALLREDUCE || op->code == LMD_OP_ALLGATHER;
}

static bool is_embed(const struct lmd_op *op)
{
	return op->code == LMD_OP_EMBED && op->u.embed.idx_kind == LMD_IDX_TOKEN;
}

static bool is_exchange(const struct merge *m, const struct lmd_op *op)
{
	return is_collective(op) || (m->embeds && is_embed(op));
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

/* Returns what a rank gets from an exchange. */
static const struct lmd_operand *result(const struct merge *m, uint32_t rank, uint32_t k)
{
	const struct lmd_op *op = exchange(m, rank, k);

	return is_embed(op) ? &op->u.embed.y : &op->u.collective.y;
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
	struct lmd_op op;

	lmi_plan_op_init(&op, LMD_OP_CAST_COPY);
	op.u.cast_copy.x = *x;
	op.u.cast_copy.y = *result(m, rank, k);
	return put(m, &op, rank, exchange(m, rank, k)->layer);
}

/* Adds a value of so many columns in the row space of y, with the type of x. */
static enum lmd_status add_value(struct merge *m, const struct lmd_operand *x,
				 const struct lmd_operand *y, uint32_t cols, uint32_t *id)
{
	struct lmd_value v = m->p->values[y->id];

	v.vtype = x->src == LMD_SRC_VALUE ? m->p->values[x->id].vtype : LMD_VTYPE_F32;
	v.width = cols;
	return lmi_plan_add_value(m->p, &v, -1, id, m->err);
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
		uint32_t id = 0;

		st = add_value(m, x, &op.u.collective.y, cols, &id);
		*x = (struct lmd_operand){.src = LMD_SRC_VALUE,
					  .id = id,
					  .n_head = sums ? x->n_head : 1,
					  .head_stride = sums ? x->width : 0,
					  .width = sums ? x->width : cols};
		if (st == LMD_OK)
			st = sums ? put_sum(m, r0, n, k, r0, x) : put_gather(m, r0, n, k, r0, x);
	}
	if (st == LMD_OK)
		st = put(m, &op, r0, op.layer);
	for (uint32_t r = r0 + 1; r < r0 + n && st == LMD_OK; r++)
		st = put_copy(m, r, k, &op.u.collective.y);
	return st;
}

/* y = zeros */
static enum lmd_status put_zeros(struct merge *m, uint32_t rank, const struct lmd_operand *y)
{
	struct lmi_plan_prog g;

	lmi_plan_prog_init(&g);
	lmi_plan_prog_out(&g, y, lmi_plan_prog_const(&g, 0));
	return put(m, &g.op, rank, -1);
}

/* The device of rank 0 looks up tokens for itself and the other devices of its group, whose part in the
 * collective is zeros.  It gathers and does not add, so that zeros keep their signs. */
static enum lmd_status put_embed_on_group(struct merge *m, uint32_t r0, uint32_t n, uint32_t k)
{
	struct lmd_op look = *exchange(m, 0, k), all;
	struct lmd_operand x = look.u.embed.y;
	const uint32_t cols = (uint32_t)lmi_plan_operand_cols(&x);
	uint32_t own = 0, id = 0;
	enum lmd_status st = add_value(m, &x, &x, cols * m->n_device, &id);

	if (st == LMD_OK && r0)
		st = add_value(m, &x, &x, cols, &own);
	if (r0)
		x = (struct lmd_operand){
			.src = LMD_SRC_VALUE, .id = own, .n_head = 1, .width = cols};
	if (st == LMD_OK)
		st = r0 ? put_zeros(m, r0, &x) : put(m, &look, 0, look.layer);
	lmi_plan_op_init(&all, LMD_OP_ALLGATHER);
	all.u.collective.x = x;
	all.u.collective.y = (struct lmd_operand){
		.src = LMD_SRC_VALUE, .id = id, .n_head = 1, .width = cols * m->n_device};
	if (st == LMD_OK)
		st = put(m, &all, r0, look.layer);
	x = look.u.embed.y;
	if (r0)
		x = (struct lmd_operand){.src = LMD_SRC_VALUE,
					 .id = id,
					 .n_head = x.n_head,
					 .head_stride = x.width,
					 .width = x.width};
	for (uint32_t r = r0 ? r0 : 1; r < r0 + n && st == LMD_OK; r++)
		st = put_copy(m, r, k, &x);
	return st;
}

/* The exchange of a rank without a group. */
static enum lmd_status put_exchange(struct merge *m, uint32_t rank, uint32_t k)
{
	const struct lmd_op *own = exchange(m, rank, k);
	struct lmd_op look = *own;

	if (is_embed(own))
		return rank ? put_copy(m, rank, k, result(m, 0, k)) : put(m, &look, 0, look.layer);
	return own->code == LMD_OP_ALLREDUCE
		       ? put_sum(m, 0, m->n_rank, k, rank, &own->u.collective.y)
		       : put_gather(m, 0, m->n_rank, k, rank, &own->u.collective.y);
}

/* ---- merging ---- */

/* Returns the next lookup of tokens of a rank from op i on. */
static uint32_t next_embed(const struct merge *m, uint32_t rank, uint32_t i)
{
	while (i < m->first[rank + 1] && !is_embed(&m->ops[i]))
		i++;
	return i;
}

/* Do two ops look up the same, into values of the same shape? */
static bool same_embed(struct lmd_op a, struct lmd_op b)
{
	a.rank = b.rank;
	a.u.embed.y.id = b.u.embed.y.id;
	return !memcmp(&a, &b, sizeof(a));
}

/* Does a rank look up the same tokens in the same tables as rank 0? */
static bool embeds_as_first(const struct merge *m, uint32_t rank)
{
	uint32_t i = next_embed(m, 0, m->first[0]), j = next_embed(m, rank, m->first[rank]);

	while (i < m->first[1] && j < m->first[rank + 1] && same_embed(m->ops[i], m->ops[j])) {
		i = next_embed(m, 0, i + 1);
		j = next_embed(m, rank, j + 1);
	}
	return i == m->first[1] && j == m->first[rank + 1];
}

/* Finds the exchanges of all ranks, which have to be the same. */
static enum lmd_status find_exchanges(struct merge *m)
{
	uint32_t n_op = m->p->view.n_op, n_collective = 0;

	m->embeds = true;
	for (uint32_t r = 1; r < m->n_rank && m->embeds; r++)
		m->embeds = embeds_as_first(m, r);
	for (uint32_t i = m->first[0]; i < m->first[1]; i++) {
		n_collective += is_collective(&m->ops[i]);
		m->n_exchange += is_exchange(m, &m->ops[i]);
	}
	if (!n_collective)
		return lmd_fail(m->err, LMD_UNSUPPORTED,
				"architecture %s: its matrices cannot be divided in %u parts",
				m->p->model ? m->p->model->arch : "?", m->n_rank);
	m->at = lmi_alloc((size_t)m->n_rank * m->n_exchange, sizeof(*m->at));
	if (!m->at)
		return no_memory(m->err);
	for (uint32_t r = 0; r < m->n_rank; r++) {
		uint32_t n = 0;

		for (uint32_t i = m->first[r]; i < m->first[r + 1] && i < n_op; i++) {
			if (!is_exchange(m, &m->ops[i]))
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

	if (k && m->n_device == 1 && !is_embed(exchange(m, rank, k - 1)))
		st = put_exchange(m, rank, k - 1);
	if (k)
		i = m->at[(size_t)rank * m->n_exchange + k - 1] + 1;
	if (k < m->n_exchange)
		end = m->at[(size_t)rank * m->n_exchange + k];
	for (; i < end && st == LMD_OK; i++)
		st = lmi_plan_add_op(m->p, &m->ops[i], m->err);
	return st;
}

/* Appends the lookup of tokens and its copies for all ranks, so that no rank waits for what rank 0 does
 * with them. */
static enum lmd_status put_embed(struct merge *m, uint32_t k)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t r = 0; r < m->n_rank && st == LMD_OK; r++)
		st = put_exchange(m, r, k);
	return st;
}

/* Appends all ops of the ranks of a device. */
static enum lmd_status put_device(struct merge *m, uint32_t device)
{
	uint32_t n = m->n_rank / m->n_device, r0 = device * n;
	enum lmd_status st = LMD_OK;

	for (uint32_t k = 0; k <= m->n_exchange && st == LMD_OK; k++) {
		const bool looks = k && is_embed(exchange(m, 0, k - 1));

		if (k && m->n_device > 1)
			st = looks ? put_embed_on_group(m, r0, n, k - 1)
				   : put_collective(m, r0, n, k - 1);
		else if (looks)
			st = put_embed(m, k - 1);
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
