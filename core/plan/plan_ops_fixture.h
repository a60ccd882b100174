/* SPDX-License-Identifier: MIT
 *
 * plan_ops_fixture.h - tests: a plan that contains every op in its main variants. */
#ifndef LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H
#define LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H

#include "core/plan/plan_fixture.h"

/* A change that a test makes in one op just before it is emitted. */
struct fx_edit {
	uint32_t code;     /* enum lmd_op_code */
	uint32_t nth;      /* index among the ops of that code */
	const char *field; /* name in the field table; with a suffix "#i": element i of an array */
	uint32_t member;   /* enum fx_member */
	double value;
	const char *text;  /* expected error message */
};
enum fx_member {
	FX_SELF = 0, /* the number itself */
	FX_SRC, FX_ID, FX_COL0, FX_N_HEAD, FX_STRIDE, FX_WIDTH, FX_FOLD, FX_NONE
};

/* A FORWARD plan with every op except SAMPLE, or a TAIL plan if the key says so.  fx->arg: struct
 * fx_edit or NULL. */
void fx_init_all_ops(struct fx *fx);

#endif /* LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H */
