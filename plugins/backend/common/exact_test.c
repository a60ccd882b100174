/* SPDX-License-Identifier: MIT
 *
 * How devices are opened with `deterministic`: what is refused, and what the message says. */
#include <string.h>

#include "backend/common/exact.h"

#include "tests/lmd_check.h"

typedef enum lmd_status check_fn(const struct lmd_open_params *p, const char *who,
				 struct lmd_error *err);

static void answers(check_fn *fn, struct lmd_open_params p, enum lmd_status want, const char *text)
{
	struct lmd_error err = {0};

	ck_assert_int_eq(fn(&p, "some", &err), want);
	ck_assert_str_eq(err.text, text);
}

START_TEST(what_is_not_there_is_refused)
{
	struct lmd_open_params p = {.struct_size = sizeof(p)};

	answers(device_exact_refuse, p, LMD_OK, "");
	p.deterministic = LMD_DETERMINISTIC_EXACT;
	answers(device_exact_refuse, p, LMD_UNSUPPORTED,
		"some: deterministic = exact is not available; use backend cpu, cuda or hip, or "
		"deterministic = off");
	p.deterministic = LMD_DETERMINISTIC_BATCH;
	answers(device_exact_refuse, p, LMD_UNSUPPORTED,
		"some: deterministic = batch is not available; use backend cpu, ref, cuda or hip, or "
		"deterministic = off");
}
END_TEST

START_TEST(exact_needs_activations_of_8_bits)
{
	struct lmd_open_params p = {.deterministic = LMD_DETERMINISTIC_EXACT};

	answers(device_exact_open, p, LMD_OK, "");
	p.activations = LMD_ACTIVATIONS_F32;
	answers(device_exact_open, p, LMD_UNSUPPORTED,
		"some: deterministic = exact needs activations = int8, not f32");
	p.activations = LMD_ACTIVATIONS_INT8;
	p.attention = LMD_ATTENTION_HALF;
	answers(device_exact_open, p, LMD_UNSUPPORTED,
		"some: deterministic = exact needs attention = default");
	p.deterministic = LMD_DETERMINISTIC_BATCH;
	answers(device_exact_open, p, LMD_OK, "");
}
END_TEST

START_TEST(unknown_values_are_invalid)
{
	const struct lmd_open_params p = {.deterministic = LMD_DETERMINISTIC_BATCH + 1};

	answers(device_exact_open, p, LMD_INVALID, "some: unknown deterministic 3, known are 0..2");
	answers(device_exact_refuse, p, LMD_INVALID,
		"some: unknown deterministic 3, known are 0..2");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("exact");
	TCase *t = tcase_create("exact");

	tcase_add_test(t, what_is_not_there_is_refused);
	tcase_add_test(t, exact_needs_activations_of_8_bits);
	tcase_add_test(t, unknown_values_are_invalid);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
