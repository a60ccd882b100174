/* SPDX-License-Identifier: MIT
 *
 * Lines of a batch that wait: each is due at its own time. */
#include "daemon/http/openai/batch_wait.h"

#include <stdlib.h>

#include "tests/lmd_check.h"

START_TEST(each_has_its_time)
{
	struct lmi_openai_batch_wait w = {0};
	struct lmi_openai_batch_waiting got;

	ck_assert(lmi_openai_batch_wait_next(&w, 5) == UINT64_MAX);
	ck_assert(!lmi_openai_batch_wait_take(&w, 5, &got));
	ck_assert(lmi_openai_batch_wait_add(
		&w, &(struct lmi_openai_batch_waiting){.line = 1, .due_ms = 9000}));
	ck_assert(lmi_openai_batch_wait_add(
		&w, &(struct lmi_openai_batch_waiting){.line = 2, .due_ms = 1000, .at = 7, .n_refused = 3}));
	ck_assert(lmi_openai_batch_wait_next(&w, 400) == 600);
	ck_assert(!lmi_openai_batch_wait_take(&w, 999, &got));
	ck_assert(lmi_openai_batch_wait_take(&w, 1000, &got));
	ck_assert(got.line == 2 && got.at == 7 && got.n_refused == 3);
	ck_assert(!lmi_openai_batch_wait_take(&w, 1000, &got));
	ck_assert(lmi_openai_batch_wait_next(&w, 10000) == 0);
	ck_assert(lmi_openai_batch_wait_take(&w, 10000, &got) && got.line == 1 && !w.n);
}
END_TEST

/* Whatever the order in which lines come, they leave by time and then by number, as many as fit. */
START_TEST(in_order)
{
	struct lmi_openai_batch_wait w = {0};
	struct lmi_openai_batch_waiting got, last = {0};

	srand(5);
	for (uint32_t i = 0; i < LMI_OPENAI_BATCH_WAITING + 3; i++)
		ck_assert_int_eq(lmi_openai_batch_wait_add(
					 &w, &(struct lmi_openai_batch_waiting){
						     .line = (i * 37) % 67 + 1,
						     .due_ms = (uint64_t)(rand() % 5)}),
				 i < LMI_OPENAI_BATCH_WAITING);
	for (uint32_t i = 0; i < LMI_OPENAI_BATCH_WAITING; i++) {
		ck_assert(lmi_openai_batch_wait_take(&w, 5, &got));
		ck_assert(got.due_ms > last.due_ms ||
			  (got.due_ms == last.due_ms && got.line > last.line));
		last = got;
	}
	ck_assert(!lmi_openai_batch_wait_take(&w, 5, &got));
}
END_TEST

START_TEST(times)
{
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(1, 0), 1000);
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(3, 0), 4000);
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(UINT32_MAX, 0), 60000);
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(9, 2500), 2500);
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(1, 1), LMI_OPENAI_BATCH_WAIT_MIN_MS);
	ck_assert_uint_eq(lmi_openai_batch_wait_ms(1, UINT32_MAX), LMI_OPENAI_BATCH_WAIT_MAX_MS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("batch wait");
	TCase *t = tcase_create("wait");

	tcase_add_test(t, each_has_its_time);
	tcase_add_test(t, in_order);
	tcase_add_test(t, times);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
