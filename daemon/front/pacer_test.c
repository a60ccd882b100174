/* SPDX-License-Identifier: MIT
 *
 * Tests of pacer.h, with times as arguments. */
#include "daemon/front/pacer.h"

#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define MS 1000000u

START_TEST(share)
{
	struct lmi_front_pacer p = {0};
	uint64_t now = 1000 * MS, spent = 0;

	ck_assert(lmi_front_pacer_ready(&p, now));
	lmi_front_pacer_charge(&p, now, 0);
	ck_assert(lmi_front_pacer_ready(&p, now));
	/* a client that sends as much as it may gets the share */
	for (uint64_t end = now + 100000 * (uint64_t)MS; now < end; now += MS) {
		if (!lmi_front_pacer_ready(&p, now))
			continue;
		now += 5 * MS;
		spent += 5;
		lmi_front_pacer_charge(&p, now, 5 * MS);
	}
	ck_assert_uint_ge(spent, 100000 / LMI_FRONT_PACER_SHARE - 500);
	ck_assert_uint_le(spent, 100000 / LMI_FRONT_PACER_SHARE + 5);
}
END_TEST

START_TEST(several_at_once)
{
	struct lmi_front_pacer p = {0};
	const uint64_t pause = (LMI_FRONT_PACER_SHARE - 1) * 5 * (uint64_t)MS;

	for (int i = 0; i < 4; i++)
		lmi_front_pacer_charge(&p, 100 * MS, 5 * MS);
	ck_assert(!lmi_front_pacer_ready(&p, 100 * MS + 4 * pause - 1));
	ck_assert(lmi_front_pacer_ready(&p, 100 * MS + 4 * pause));
}
END_TEST

/* Neither one endless message nor many stop others for ever. */
START_TEST(longest_pause)
{
	static const uint64_t spent[] = {300 * MS, 100000 * (uint64_t)MS, UINT64_MAX};

	for (size_t i = 0; i < LMD_LEN(spent); i++) {
		struct lmi_front_pacer p = {0};

		lmi_front_pacer_charge(&p, 7 * MS, spent[i]);
		lmi_front_pacer_charge(&p, 7 * MS, 10 * MS);
		ck_assert(!lmi_front_pacer_ready(&p, 7 * MS + LMI_FRONT_PACER_MAX_NS - 1));
		ck_assert(lmi_front_pacer_ready(&p, 7 * MS + LMI_FRONT_PACER_MAX_NS));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pacer");
	TCase *t = tcase_create("pacer");

	tcase_add_test(t, share);
	tcase_add_test(t, several_at_once);
	tcase_add_test(t, longest_pause);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
