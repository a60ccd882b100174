/* SPDX-License-Identifier: MIT
 *
 * Checks that all backends make before a step runs. */
#include "backend/common/step.h"

enum lmd_status host_mem_bad_index(struct lmd_error *err, const char *field, uint32_t at,
				   int64_t value, int64_t bound)
{
	return lmd_fail(err, LMD_INVALID, "step: %s[%u] is %lld, bound %lld", field, at,
			(long long)value, (long long)bound);
}

enum lmd_status host_mem_in_range(struct lmd_error *err, const char *field, const int32_t *v,
				  uint32_t n, int64_t lo, int64_t hi)
{
	if (n && !v)
		return lmd_fail(err, LMD_INVALID, "step: %s is missing", field);
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] < lo || v[i] >= hi)
			return host_mem_bad_index(err, field, i, v[i], v[i] < lo ? lo : hi);
	}
	return LMD_OK;
}

enum lmd_status host_mem_count_rows(struct host_mem_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->step;
	const char *const names[] = {"n_tok", "n_out", "n_seq"};

	r->rows[LMD_SPACE_TOKENS] = s->head->n_tok;
	r->rows[LMD_SPACE_OUTPUTS] = s->head->n_out;
	r->rows[LMD_SPACE_SEQS] = s->head->n_seq;
	for (uint32_t i = 0; i < LMD_LEN(names); i++) {
		if (r->rows[i] > r->plan->max_rows[i])
			return lmd_fail(err, LMD_INVALID,
					"step: %s is %u; the plan allows at most %u", names[i],
					r->rows[i], r->plan->max_rows[i]);
	}
	for (uint32_t k = 0; k < LMD_MAX_X; k++) {
		uint32_t most = r->plan->max_rows[LMD_SPACE_X0 + k];
		int32_t end;

		if (!s->x_off[k] || !most || !s->head->n_seq)
			continue;
		end = s->x_off[k][s->head->n_seq];
		if (end < 0 || (uint32_t)end > most)
			return host_mem_bad_index(err, "x_off", s->head->n_seq, end, most);
		r->rows[LMD_SPACE_X0 + k] = (uint32_t)end;
	}
	return LMD_OK;
}

enum lmd_status host_mem_check_inputs(const struct host_mem_run *r, const bool *needed,
				      struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->plan->n_input; i++) {
		const struct lmd_input *x = &r->plan->inputs[i];
		const struct lmd_binding *b = host_mem_binding(r->in, r->n_in, i);
		uint32_t n = b ? b->n_row : 0;

		if (n > 1 && b->row_bytes < 4 * (uint64_t)x->width)
			return lmd_fail(err, LMD_INVALID,
					"input %u (%s): rows have %llu bytes, %llu needed", i,
					x->name, (unsigned long long)b->row_bytes,
					4 * (unsigned long long)x->width);
		if ((!needed || needed[i]) && !x->own_rows && n < r->rows[x->space])
			return lmd_fail(err, LMD_INVALID, "input %u (%s): %u rows given, %u needed",
					i, x->name, n, r->rows[x->space]);
	}
	return LMD_OK;
}
