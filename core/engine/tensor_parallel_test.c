/* SPDX-License-Identifier: MIT
 *
 * Models of which every device has a part of each layer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/device_fixture.h"
#include "tests/lmd_check.h"

/* In four parts, a model gives the same bits on one, two and four devices, also of two backends. */
START_TEST(four_parts_give_the_same_bits)
{
	static const struct {
		const char *list, *settings;
	} ways[] = {
		{"emu0", "late=1,seed=1"},
		{"emu0,emu1", "devices=2"},
		{"emu0,emu1", "devices=2,group=0"},
		{"emu0,emu1", "devices=2,late=1"},
		{"emu0,emu1", "devices=2,late=1,seed=5,peer=0,group=0"},
		{"emu0,emu1,emu2,emu3", "devices=4,late=1,seed=6"},
		{"emu0,emu1,emu2,emu3", "devices=4,late=1,seed=7,peer=0,buckets=1"},
		{"emu0,emu1,emu2,emu3", "devices=4,late=1,seed=7,peer=0,buckets=1,group=0"},
		{"emu0,ref0", "late=1,seed=8"},
	};
	struct lmt_rows want = {0}, whole = {0};
	struct lmd_error err = {0};

	if (_i == LMT_STATE || _i == LMT_HYBRID) /* not made by the shared decoder */
		return;
	ck_assert_msg(lmt_logits(_i, "ref", 0, "", &whole, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmt_placed(_i, "ref0", NULL, "tensor:4", NULL, "", &want, &err) == LMD_OK,
		      "%s", err.text);
	for (uint32_t i = 0; i < want.n_row * want.width; i++)
		ck_assert_float_eq_tol(want.v[i], whole.v[i], 1e-4f);
	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		struct lmt_rows have = {0};

		ck_assert_msg(lmt_placed(_i, ways[i].list, NULL, "tensor:4", NULL, ways[i].settings,
				     &have, &err) == LMD_OK,
			      "%s %s: %s", ways[i].list, ways[i].settings, err.text);
		lmt_check_same(&want, &have, ways[i].list);
		lmi_free(have.v);
	}
	lmi_free(want.v);
	lmi_free(whole.v);
}
END_TEST

/* The ranks of a group exchange values by collectives, which a fault of theirs shows, and by copies
 * otherwise: when the devices have no groups, when one of them cannot run a whole rank, or when one
 * does not compile the plan. */
START_TEST(groups_use_collectives)
{
	static const struct {
		const char *with, *without; /* settings of devices with and without groups */
		bool same;
	} ways[] = {
		{"devices=2,late=1,seed=3", "devices=2,group=0", true},
		{"devices=2,late=1,fault=19", "devices=2,group=0", false},
		{"devices=2,late=1,fault=19,lacks=5", "devices=2,group=0,lacks=5", true}, /* ATTN */
		{"devices=2,late=1,fault=19,refuse=0", "devices=2,group=0", true},
		{"devices=2,late=1,fault=19,refuse=1,buckets=1", "devices=2,group=0,buckets=1", true},
	};

	for (size_t i = 0; i < LMD_LEN(ways); i++) {
		struct lmt_rows have = {0}, want = {0};
		struct lmd_error err = {0};

		ck_assert_msg(lmt_placed(LMT_FULL, "emu0,emu1", NULL, "tensor", NULL, ways[i].with, &have,
					 &err) == LMD_OK,
			      "%s: %s", ways[i].with, err.text);
		ck_assert_msg(lmt_placed(LMT_FULL, "emu0,emu1", NULL, "tensor", NULL,
					 ways[i].without, &want, &err) == LMD_OK,
			      "%s: %s", ways[i].without, err.text);
		ck_assert_uint_eq(have.n_row, want.n_row);
		ck_assert_msg(!memcmp(want.v, have.v,
				      (size_t)want.n_row * want.width * sizeof(float)) == ways[i].same,
			      "%s: %s bits", ways[i].with, ways[i].same ? "other" : "the same");
		lmi_free(have.v);
		lmi_free(want.v);
	}
}
END_TEST

/* When a rank is lost, the step ends on all of them, and the error names the device that was lost. */
START_TEST(a_lost_rank_ends_the_step)
{
	static const char *const settings[] = {
		"devices=2,lose_step=1,lose_device=0", "devices=2,lose_step=1,lose_device=1",
		"devices=2,late=1,lose_step=1,lose_device=0",
		"devices=2,late=1,lose_step=1,lose_device=1",
	};

	for (size_t i = 0; i < LMD_LEN(settings); i++) {
		struct lmt_rows rows = {0};
		struct lmd_error err = {0};
		char device[40];

		(void)snprintf(device, sizeof(device), "device emu%c was lost",
			       settings[i][strlen(settings[i]) - 1]);
		ck_assert_int_eq(lmt_placed(LMT_FULL, "emu0,emu1", NULL, "tensor", NULL, settings[i],
					    &rows, &err),
				 LMD_DEVICE);
		ck_assert_msg(strstr(err.text, device) != NULL, "%s: %s", settings[i], err.text);
		lmi_free(rows.v);
	}
}
END_TEST

START_TEST(what_cannot_be_divided_is_said)
{
	static const struct {
		int kind;
		const char *list, *split, *text;
	} wrong_splits[] = {
		{LMT_STATE, "emu0,emu1", "tensor", "its matrices cannot be divided in 2 parts"},
		{LMT_FULL, "emu0,emu1", "tensor:1", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensor:9", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensor:2x", "from 2, the number of devices, to 8"},
		{LMT_FULL, "emu0,emu1", "tensors", "split 'tensors': tensor, or 2 numbers"},
	};

	for (size_t i = 0; i < LMD_LEN(wrong_splits); i++) {
		struct lmt_rows rows = {0};
		struct lmd_error err = {0};

		ck_assert_int_ne(lmt_placed(wrong_splits[i].kind, wrong_splits[i].list, NULL,
					wrong_splits[i].split, NULL, "devices=2", &rows, &err),
				 LMD_OK);
		ck_assert_msg(strstr(err.text, wrong_splits[i].text) != NULL, "%s", err.text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tensor parallelism");
	TCase *t = tcase_create("tensor parallelism");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, lmt_device_setup, lmt_device_teardown);
	tcase_add_loop_test(t, four_parts_give_the_same_bits, 0, LMT_N_TINY);
	tcase_add_test(t, groups_use_collectives);
	tcase_add_test(t, a_lost_rank_ends_the_step);
	tcase_add_test(t, what_cannot_be_divided_is_said);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
