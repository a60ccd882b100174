/* SPDX-License-Identifier: MIT
 *
 * The queue of commands: order, bound, end, and how its reader waits. */
#include "core/engine/ring.h"

#include "tests/lmd_check.h"

#define SIZE 4u

static struct lmi_engine_command_queue q;

static void setup(void)
{
	struct lmd_error err = {0};

	ck_assert_msg(lmi_engine_command_queue_init(&q, SIZE, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_ge(q.size, SIZE);
}

static void teardown(void)
{
	lmi_engine_command_queue_fini(&q);
}

static bool push(uint64_t number)
{
	return lmi_engine_command_queue_push(&q, &(struct lmi_engine_command){.cancel = number});
}

/* Nothing is overwritten when it is full, at any position of the ring. */
START_TEST(full)
{
	struct lmi_engine_command c;

	for (uint32_t turn = 0; turn < 2 * q.size; turn++) {
		for (uint32_t i = 0; i < q.size; i++)
			ck_assert(push(100 * turn + i));
		ck_assert(!push(7));
		ck_assert(!lmi_engine_command_queue_shut(&q)); /* only if it is empty */
		for (uint32_t i = 0; i < q.size; i++) {
			ck_assert(lmi_engine_command_queue_pop(&q, &c));
			ck_assert_uint_eq(c.cancel, 100 * turn + i);
		}
		ck_assert(!lmi_engine_command_queue_pop(&q, &c));
		ck_assert(push(1) && lmi_engine_command_queue_pop(&q, &c)); /* moves the head */
	}
	ck_assert(lmi_engine_command_queue_shut(&q));
	ck_assert(!push(1));
}
END_TEST

START_TEST(wait)
{
	ck_assert(!lmi_engine_eventfd_wait(q.fd, 0));
	ck_assert(push(1));
	lmi_engine_command_queue_wake(&q);
	ck_assert(lmi_engine_eventfd_wait(q.fd, -1));
	ck_assert(!lmi_engine_eventfd_wait(q.fd, 0)); /* several wakes are one */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ring");
	TCase *t = tcase_create("ring");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, full);
	tcase_add_test(t, wait);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
