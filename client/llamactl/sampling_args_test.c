/* SPDX-License-Identifier: MIT
 *
 * The defaults that the sampling options print are those of the engine. */
#include "client/llamactl/sampling_args.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/engine/sample.h"
#include "tests/lmd_check.h"

static const struct {
	const char *name, *def;
	enum lmi_opt_type type;
	size_t field; /* in struct lmi_sampler_params: int64_t for LMI_OPT_INT, else double */
} rows[] = {
#define ROW(type_, opt_, member_, field_, value_, min_, max_, def_, doc_)                          \
	{opt_, def_, LMI_OPT_##type_, offsetof(struct lmi_sampler_params, field_)},
	LMI_CTL_SAMPLING(ROW)
#undef ROW
};

START_TEST(defaults)
{
	const char *name = rows[_i].name, *def = rows[_i].def;
	struct lmi_sampler_params p;
	const void *field = (const char *)&p + rows[_i].field;

	lmi_sampler_params_default(&p);
	if (rows[_i].type == LMI_OPT_INT)
		ck_assert_msg(*(const int64_t *)field == strtoll(def, NULL, 10),
			      "--%s: the help says %s", name, def);
	else
		ck_assert_msg(*(const double *)field == strtod(def, NULL),
			      "--%s: the help says %s", name, def);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sampling_args");
	TCase *t = tcase_create("defaults");

	tcase_add_loop_test(t, defaults, 0, (int)LMD_LEN(rows));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
