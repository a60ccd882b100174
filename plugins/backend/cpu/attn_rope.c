/* SPDX-License-Identifier: MIT
 *
 * ROPE_KV inside ATTN.  If every sequence has one row, the work item of a (row, key head)
 * rotates its own queries and stores the row's key and value before it reads them.  No other
 * item needs them, so no barrier is needed in between.  If the keys are split among threads,
 * each thread rotates the queries itself, and the one with the last keys stores the new key.
 *
 * The output of ATTN must not overlap the unrotated heads, which are still being read
 * (value_mem.c). */
#include "attn_block.h"

static bool same(const struct lmd_operand *a, const struct lmd_operand *b)
{
	return a->src == b->src && a->id == b->id && a->col0 == b->col0 && a->n_head == b->n_head &&
	       a->head_stride == b->head_stride && a->width == b->width;
}

static bool plain(const struct lmd_plan *plan, const struct lmd_operand *o)
{
	return o->src == LMD_SRC_NONE || (o->src == LMD_SRC_VALUE && o->fold <= 1 &&
					  plan->values[o->id].space == LMD_SPACE_TOKENS);
}

/* Is this op the only reader of the rotated queries? */
static bool queries_fit(const struct lmd_plan *plan, const struct lmd_op_rope_kv *o,
			const struct lmd_op_attn *a)
{
	uint32_t last;

	if (o->q.src == LMD_SRC_NONE)
		return true;
	return o->q_out.src == LMD_SRC_VALUE && same(&o->q_out, &a->q) &&
	       !cpu_value_kept(plan, a->q.id) && cpu_value_uses(plan, a->q.id, &last) == 1;
}

/* Do keys and values go, head by head, to the cache that this op reads? */
static bool keys_fit(const struct lmd_op_rope_kv *o, const struct lmd_op_attn *a)
{
	if (o->k.src == LMD_SRC_NONE && o->v.src == LMD_SRC_NONE)
		return true;
	return o->cache == a->src[0].cache && o->k_out.src == LMD_SRC_NONE &&
	       (o->k.src == LMD_SRC_NONE || o->k.n_head == a->n_kv_head) &&
	       (o->v.src == LMD_SRC_NONE || o->v.n_head == a->n_kv_head);
}

void attn_find_rope(struct cpu_build *b, const struct lmd_op_attn *a, struct attn_data *d)
{
	struct cpu_node *node = b->node == b->compiled_plan->nodes ? NULL : b->node - 1;
	const struct lmd_op_rope_kv *o;

	if (!d->tokens || !node || node->op->code != LMD_OP_ROPE_KV ||
	    a->src[0].kind != LMD_KV_CACHE || a->src[0].list.src != LMD_SRC_NONE ||
	    a->src[1].kind != LMD_KV_NONE || a->y.fold > 1 || a->q.fold > 1)
		return;
	o = &node->op->u.rope_kv;
	if (!plain(b->host_mem.plan, &o->q) || !plain(b->host_mem.plan, &o->k) ||
	    !plain(b->host_mem.plan, &o->v) || !queries_fit(b->host_mem.plan, o, a) ||
	    !keys_fit(o, a))
		return;
	if ((cpu_value_shares(b->compiled_plan, a->y.id, &o->q) ||
	     cpu_value_shares(b->compiled_plan, a->y.id, &o->k) ||
	     cpu_value_shares(b->compiled_plan, a->y.id, &o->v)) &&
	    !cpu_value_move(b, a->y.id))
		return;
	d->rope = node;
	((struct cpu_rope_data *)node->data)->attn = b->node;
}

bool attn_does_rope(const struct cpu_run *r, const struct cpu_node *n)
{
	const struct attn_data *d = n->data;

	return d->rope && r->single && !r->observed && !r->dev->half &&
	       !(attn_groups(r, n) > 1 && cpu_rope_little(r, d->rope));
}
