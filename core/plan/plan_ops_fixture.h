/* SPDX-License-Identifier: MIT
 *
 * plan_ops_fixture.h - tests: a plan in which every op of the list occurs in its main forms. */
#ifndef LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H
#define LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H

#include "core/plan/plan_fixture.h"

/* What a test changes in one op just before it is emitted. */
struct fx_edit {
	uint32_t code;     /* enum lmd_op_code */
	uint32_t nth;      /* occurrence of that code */
	const char *field; /* name in the field table; "#i" behind it: element i of an array */
	uint32_t member;   /* enum fx_member */
	double value;
	const char *text;  /* what the refusal says */
};
enum fx_member {
	FX_SELF = 0, /* the number itself */
	FX_SRC, FX_ID, FX_COL0, FX_N_HEAD, FX_STRIDE, FX_WIDTH, FX_FOLD, FX_NONE
};

/* A FORWARD plan (every op but SAMPLE), or a TAIL plan when the key says so.  fx->arg: struct
 * fx_edit or NULL. */
void fx_init_all_ops(struct fx *fx);

#endif /* LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_H */
