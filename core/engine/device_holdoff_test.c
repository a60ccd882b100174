/* SPDX-License-Identifier: MIT
 *
 * The pauses of lost devices: growth, bound, and when the past is forgotten. */
#include "core/engine/device_holdoff.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define S 1000000000ull

START_TEST(pauses_double_up_to_a_bound)
{
	static const uint64_t want[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
	struct lmi_device_holdoff h = {0};
	uint64_t now = 5 * S;

	ck_assert_uint_eq(lmi_device_holdoff_left(&h, now), 0);
	for (uint32_t i = 0; i < LMD_LEN(want); i++) {
		lmi_device_holdoff_lost(&h, now);
		ck_assert_uint_eq(h.n_in_row, i + 1);
		ck_assert_uint_eq(lmi_device_holdoff_left(&h, now), want[i] * S);
		ck_assert_uint_eq(lmi_device_holdoff_left(&h, now + want[i] * S - 1), 1);
		now += want[i] * S;
		ck_assert_uint_eq(lmi_device_holdoff_left(&h, now), 0);
		now += LMI_DEVICE_HOLDOFF_FORGET_NS - 1; /* not long enough to be forgotten */
	}
}
END_TEST

START_TEST(a_device_that_worked_begins_again)
{
	struct lmi_device_holdoff h = {0};
	uint64_t now = 0;

	for (uint32_t i = 0; i < 4; i++)
		lmi_device_holdoff_lost(&h, now);
	ck_assert_uint_eq(lmi_device_holdoff_left(&h, now), 8 * S);
	now += 8 * S + LMI_DEVICE_HOLDOFF_FORGET_NS;
	lmi_device_holdoff_lost(&h, now);
	ck_assert_uint_eq(h.n_in_row, 1);
	ck_assert_uint_eq(lmi_device_holdoff_left(&h, now), S);
	/* losses during the pause count as well: somebody opened the device early */
	lmi_device_holdoff_lost(&h, now + S / 2);
	ck_assert_uint_eq(lmi_device_holdoff_left(&h, now + S / 2), 2 * S);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_holdoff");
	TCase *t = tcase_create("device_holdoff");

	tcase_add_test(t, pauses_double_up_to_a_bound);
	tcase_add_test(t, a_device_that_worked_begins_again);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
