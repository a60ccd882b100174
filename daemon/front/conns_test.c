/* SPDX-License-Identifier: MIT
 *
 * Who is let in, and what a connection may have under way. */
#include "daemon/front/conns.h"

#include "core/base/alloc.h"
#include "tests/lmd_check.h"

#define OWN 7u

static struct lmi_conns c;

static void set_up(void)
{
	static const struct lmi_front_limits limits = {
		.connections = 6, .connections_per_user = 3, .connections_kept = 2};

	lmi_conns_init(&c, &limits, OWN);
}

static void tear_down(void)
{
	lmi_conns_fini(&c);
}

static uint32_t n_conn(void)
{
	uint64_t n_refused;
	uint32_t n;

	lmi_conns_count(&c, &n, &n_refused);
	return n;
}

START_TEST(limits)
{
	uint64_t n_refused;
	uint32_t n;

	/* three of a user, six of all, two more for administrators */
	for (uint32_t i = 0; i < 4; i++)
		ck_assert((lmi_conns_add(&c, i, 1000, 1, 1) != NULL) == (i < 3));
	for (uint32_t i = 10; i < 13; i++)
		ck_assert_ptr_nonnull(lmi_conns_add(&c, i, 1001, 1, 1));
	ck_assert_ptr_null(lmi_conns_add(&c, 20, 1002, 1, 1));
	ck_assert_ptr_nonnull(lmi_conns_add(&c, 21, 0, 0, 1));
	ck_assert_ptr_nonnull(lmi_conns_add(&c, 22, OWN, 0, 1));
	ck_assert_ptr_null(lmi_conns_add(&c, 23, 0, 0, 1));
	lmi_conns_count(&c, &n, &n_refused);
	ck_assert_uint_eq(n, 8);
	ck_assert_uint_eq(n_refused, 3);
	/* who goes makes room */
	lmi_free(lmi_conns_remove(&c, 21));
	lmi_free(lmi_conns_remove(&c, 22));
	ck_assert_ptr_null(lmi_conns_add(&c, 24, 1002, 1, 1));
	lmi_free(lmi_conns_remove(&c, 0));
	ck_assert_ptr_nonnull(lmi_conns_add(&c, 25, 1002, 1, 1));
	ck_assert_ptr_null(lmi_conns_remove(&c, 0));
	ck_assert_uint_eq(n_conn(), 6);
}
END_TEST

START_TEST(roles_and_numbers)
{
	struct lmi_conn *user = lmi_conns_add(&c, 1, 1000, 100, 4321);
	struct lmi_conn *own = lmi_conns_add(&c, 2 * LMI_CONN_BUCKETS + 1, OWN, 70, 1);
	struct lmi_principal who;
	uint64_t first = user->who.conn;

	ck_assert_int_eq(user->who.role, LMI_ROLE_USER);
	ck_assert_int_eq(own->who.role, LMI_ROLE_ADMIN);
	ck_assert_int_eq(lmi_conns_begin(&c, 1, &who), LMD_OK);
	ck_assert(who.uid == 1000 && who.gid == 100 && who.pid == 4321 && who.conn == first);
	/* a pipe's number may come again, a connection's does not */
	lmi_free(lmi_conns_remove(&c, 1));
	ck_assert_int_eq(lmi_conns_begin(&c, 1, &who), LMD_NOTFOUND);
	user = lmi_conns_add(&c, 1, 1000, 100, 4321);
	ck_assert_uint_ne(user->who.conn, first);
}
END_TEST

START_TEST(what_is_under_way)
{
	const uint64_t big = LMI_CONN_SEND_BYTES;
	struct lmi_principal who;

	ck_assert_ptr_nonnull(lmi_conns_add(&c, 1, 1000, 1, 1));
	for (uint32_t i = 0; i < LMI_CONN_CALLS; i++)
		ck_assert_int_eq(lmi_conns_begin(&c, 1, &who), LMD_OK);
	ck_assert_int_eq(lmi_conns_begin(&c, 1, &who), LMD_BUSY);
	lmi_conns_end(&c, 1, 0);
	ck_assert_int_eq(lmi_conns_begin(&c, 1, &who), LMD_OK);
	/* a reply of any length, then no more until it is read */
	ck_assert_int_eq(lmi_conns_send(&c, 1, big + 1), LMD_OK);
	ck_assert_int_eq(lmi_conns_send(&c, 1, 1), LMD_BUSY);
	lmi_conns_end(&c, 1, big + 1);
	ck_assert_int_eq(lmi_conns_send(&c, 1, 1), LMD_OK);
	lmi_free(lmi_conns_remove(&c, 1));
	ck_assert_int_eq(lmi_conns_send(&c, 1, 1), LMD_NOTFOUND);
	lmi_conns_end(&c, 1, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("connections");
	TCase *t = tcase_create("connections");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, limits);
	tcase_add_test(t, roles_and_numbers);
	tcase_add_test(t, what_is_under_way);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
