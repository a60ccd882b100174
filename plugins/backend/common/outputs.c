/* SPDX-License-Identifier: MIT
 *
 * Copies rows of values out of a step. */
#include "backend/common/outputs.h"

#include <string.h>

enum lmd_status host_mem_check_outputs(const struct host_mem_run *r, const struct lmd_binding *out,
				       uint32_t n_out, const char *who, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->plan->n_output; i++) {
		const struct lmd_output *o = &r->plan->outputs[i];
		const struct lmd_value *v = &r->plan->values[o->value];
		const struct lmd_binding *b = host_mem_binding(out, n_out, o->id);

		if (b && (b->n_row < r->rows[v->space] || b->row_bytes < 4 * (uint64_t)v->width))
			return lmd_fail(err, LMD_INVALID,
					"%s: output %u has room for %u rows of %llu bytes, %u "
					"rows of %llu are needed",
					who, o->id, b->n_row, (unsigned long long)b->row_bytes,
					r->rows[v->space], 4 * (unsigned long long)v->width);
	}
	return LMD_OK;
}

void host_mem_copy_rows(const struct host_mem_run *r, uint32_t value, char *to, uint64_t row_bytes)
{
	const struct lmd_value *v = &r->plan->values[value];

	for (uint32_t row = 0; row < r->rows[v->space]; row++)
		memcpy(to + row_bytes * row, r->value[value] + (size_t)v->row_bytes * row,
		       4 * (size_t)v->width);
}

void host_mem_copy_outputs(const struct host_mem_run *r, const struct lmd_binding *out,
			   uint32_t n_out)
{
	for (uint32_t i = 0; i < r->plan->n_output; i++) {
		const struct lmd_output *o = &r->plan->outputs[i];
		const struct lmd_binding *b = host_mem_binding(out, n_out, o->id);

		if (b && r->value[o->value] != b->ptr)
			host_mem_copy_rows(r, o->value, b->ptr, b->row_bytes);
	}
}

size_t host_mem_max_value_elems(const struct host_mem_run *r)
{
	size_t most = 1;

	for (uint32_t i = 0; i < r->plan->n_value; i++) {
		const struct lmd_value *v = &r->plan->values[i];
		size_t n = (size_t)r->rows[v->space] * v->width;

		most = n > most ? n : most;
	}
	return most;
}

bool host_mem_observe(const struct host_mem_run *r, uint32_t i, float *rows, lmd_observe_fn fn,
		      void *arg)
{
	const struct lmd_op *op = &r->plan->ops[i];
	const struct host_mem_opinfo *info = host_mem_opinfo(op->code);
	uint32_t last = LMD_NONE;

	for (uint32_t j = 0; j < info->n_out; j++) {
		const struct lmd_operand *o = host_mem_operand(op, info->out[j]);
		struct lmd_observed seen = {.op = i, .value = o->id, .data = rows};

		if (o->src != LMD_SRC_VALUE || o->id == last)
			continue;
		last = o->id;
		seen.n_row = r->rows[r->plan->values[o->id].space];
		seen.width = r->plan->values[o->id].width;
		host_mem_copy_rows(r, o->id, (char *)rows, 4 * (uint64_t)seen.width);
		if (!fn(arg, &seen))
			return false;
	}
	return true;
}
