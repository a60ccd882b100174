/* SPDX-License-Identifier: MIT
 *
 * plan_test.h - the suites of core/plan/plan_test. */
#ifndef LLAMAD_CORE_PLAN_PLAN_TEST_H
#define LLAMAD_CORE_PLAN_PLAN_TEST_H

#include "core/plan/plan.h"
#include "core/plan/plan_fixture.h"
#include "core/plan/plan_ops_fixture.h"
#include "tests/lmd_check.h"

TCase *plan_shape_cases(void);
TCase *plan_rope_cases(void);
TCase *plan_layout_cases(void);
TCase *plan_lower_cases(void);
TCase *plan_cut_cases(void);
TCase *plan_ranks_cases(void);
TCase *plan_model_cases(void);
TCase *plan_weight_ref_cases(void);

/* Builds the plan with every op; the test fails if it does not build. */
static inline struct lmi_plan *plan_of_all_ops(struct fx *fx)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;

	fx_init_all_ops(fx);
	ck_assert_msg(lmi_plan_build(&p, &fx->params, &err) == LMD_OK, "%s", err.text);
	return p;
}

#endif /* LLAMAD_CORE_PLAN_PLAN_TEST_H */
