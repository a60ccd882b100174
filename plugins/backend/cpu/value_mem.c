/* SPDX-License-Identifier: MIT
 *
 * Memory of values.  The host lets two values share memory if no op uses both.  If the work of two
 * ops is merged into one phase, that phase can use both; then the later value is moved to extra
 * memory, which serves one moved value after another. */
#include "cpu.h"

uint32_t cpu_value_uses(const struct lmd_plan *plan, uint32_t value, uint32_t *last)
{
	uint32_t n = 0;

	*last = 0;
	for (uint32_t i = 0; i < plan->n_op; i++) {
		const struct host_mem_opinfo *info = host_mem_opinfo(plan->ops[i].code);

		for (uint32_t j = 0; info && j < (uint32_t)info->n_in + info->n_out; j++) {
			const struct lmd_operand *o = host_mem_operand(
				&plan->ops[i],
				j < info->n_in ? info->in[j] : info->out[j - info->n_in]);

			if (o->src != LMD_SRC_VALUE || o->id != value)
				continue;
			*last = i;
			n += j < info->n_in;
		}
	}
	for (uint32_t i = 0; i < plan->n_output; i++)
		n += plan->outputs[i].value == value;
	return n;
}

bool cpu_value_kept(const struct lmd_plan *plan, uint32_t value)
{
	return (plan->values[value].flags & LMD_VALUE_KEEP) || (plan->key.flags & LMD_PLAN_KEEP);
}

static uint64_t bytes(const struct lmd_plan *plan, uint32_t value)
{
	const struct lmd_value *v = &plan->values[value];

	return (uint64_t)v->row_bytes * plan->max_rows[v->space];
}

bool cpu_value_shares(const struct lmd_compiled_plan *p, uint32_t value,
		      const struct lmd_operand *with)
{
	const struct lmd_value *a = &p->host_mem.plan->values[value], *b;

	if (with->src != LMD_SRC_VALUE || p->moved[value] || p->moved[with->id])
		return false;
	b = &p->host_mem.plan->values[with->id];
	return a->offset < b->offset + bytes(p->host_mem.plan, with->id) &&
	       b->offset < a->offset + bytes(p->host_mem.plan, value);
}

bool cpu_value_move(struct cpu_build *b, uint32_t value)
{
	struct lmd_compiled_plan *p = b->compiled_plan;
	uint32_t op = (uint32_t)(b->node - p->nodes), last;
	uint64_t n = bytes(p->host_mem.plan, value);

	(void)cpu_value_uses(p->host_mem.plan, value, &last);
	if ((p->moved_bytes && p->moved_until >= op) || n > SIZE_MAX / 4 ||
	    cpu_value_kept(p->host_mem.plan, value))
		return false;
	p->moved[value] = true;
	p->moved_until = last;
	p->moved_bytes = n > p->moved_bytes ? (size_t)n : p->moved_bytes;
	return true;
}
