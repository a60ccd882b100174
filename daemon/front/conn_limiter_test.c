/* SPDX-License-Identifier: MIT
 *
 * The connection limiter: numbers of connections and of authentication attempts. */
#include "daemon/front/conn_limiter.h"

#include <string.h>

#include "tests/lmd_check.h"

#define OWN 7u
#define SEC 1000000000ull

static struct lmi_conn_limiter d;
static struct lmd_error err;
static const struct lmi_conn_peer root, own = {.uid = OWN}, anna = {.uid = 1000},
					ben = {.uid = 1001}, carl = {.uid = 1002};
static const struct lmi_conn_peer v4 = {.remote = true, .addr = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
static const struct lmi_conn_peer v4_next = {.remote = true,
					     .addr = {[10] = 0xff, 0xff, 10, 0, 0, 2}};
static const struct lmi_conn_peer v6 = {.remote = true, .addr = {0x20, 1, 0xd, 0xb8, [15] = 1}};
static const struct lmi_conn_peer v6_near = {.remote = true,
					     .addr = {0x20, 1, 0xd, 0xb8, [15] = 9}};
static const struct lmi_conn_peer v6_far = {.remote = true, .addr = {0x20, 1, 0xd, 0xb9, [15] = 1}};

static void set_up(void)
{
	static const struct lmi_conn_limiter_limits limits = {
		.connections = 6, .connections_per_user = 3, .connections_kept = 2};

	lmi_conn_limiter_init(&d, &limits, OWN);
}

static void tear_down(void)
{
	lmi_conn_limiter_fini(&d);
}

static enum lmd_status enter(const struct lmi_conn_peer *v)
{
	return lmi_conn_limiter_admit(&d, v, &err);
}

START_TEST(limits)
{
	/* three for each user, six in all, two more for admins */
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(enter(&anna), i < 3 ? LMD_OK : LMD_BUSY);
	ck_assert_str_eq(err.text,
			 "too many connections of uid 1000: 3 are open, the maximum is 3");
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(enter(&ben), LMD_OK);
	ck_assert_int_eq(enter(&carl), LMD_BUSY);
	ck_assert_str_eq(err.text, "too many connections: 6 are open, the maximum is 6");
	ck_assert_int_eq(enter(&v4), LMD_BUSY);
	ck_assert_int_eq(enter(&root), LMD_OK);
	ck_assert_int_eq(enter(&own), LMD_OK);
	ck_assert_int_eq(enter(&root), LMD_BUSY);
	ck_assert_uint_eq(d.n, 8);
	ck_assert_uint_eq(d.n_refused, 4);
	/* a closed connection frees its place */
	lmi_conn_limiter_leave(&d, &root);
	lmi_conn_limiter_leave(&d, &own);
	ck_assert_int_eq(enter(&carl), LMD_BUSY);
	lmi_conn_limiter_leave(&d, &anna);
	ck_assert_int_eq(enter(&carl), LMD_OK);
	ck_assert_uint_eq(d.n, 6);
	lmi_conn_limiter_leave(&d, &root); /* has no connection */
	ck_assert_uint_eq(d.n, 6);
}
END_TEST

/* The defaults: eight users with 32 connections each fill the 256 places, and administrators have eight more. */
START_TEST(default_limits)
{
	static const struct lmi_conn_limiter_limits defaults = {
		.connections = 256, .connections_per_user = 32, .connections_kept = 8};

	lmi_conn_limiter_fini(&d);
	lmi_conn_limiter_init(&d, &defaults, OWN);
	for (uint32_t user = 0; user < 8; user++) {
		const struct lmi_conn_peer v = {.uid = 1000 + user};

		for (uint32_t i = 0; i < 32; i++)
			ck_assert_int_eq(enter(&v), LMD_OK);
		ck_assert_uint_eq(d.n, (user + 1) * 32);
		ck_assert_int_eq(enter(&v), LMD_BUSY);
	}
	ck_assert_int_eq(enter(&v4), LMD_BUSY);
	ck_assert_str_eq(err.text, "too many connections: 256 are open, the maximum is 256");
	for (uint32_t i = 0; i < 9; i++)
		ck_assert_int_eq(enter(&own), i < 8 ? LMD_OK : LMD_BUSY);
	lmi_conn_limiter_leave(&d, &anna); /* whose uid is 1000 */
	ck_assert_int_eq(enter(&v4), LMD_BUSY);
	for (uint32_t i = 0; i < 8; i++)
		lmi_conn_limiter_leave(&d, &own);
	ck_assert_int_eq(enter(&v4), LMD_OK);
}
END_TEST

/* An application that keeps connections does not lock its administrator out. */
START_TEST(admins_have_no_share)
{
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_int_eq(enter(&own), LMD_OK);
	ck_assert_int_eq(enter(&root), LMD_OK);
	for (uint32_t i = 0; i < 6; i++)
		lmi_conn_limiter_leave(&d, i ? &own : &root);
	ck_assert_uint_eq(d.n, 0);
}
END_TEST

START_TEST(peers)
{
	char text[LMI_CONN_PEER_TEXT];

	ck_assert(lmi_conn_limiter_is_admin(&d, &root) && lmi_conn_limiter_is_admin(&d, &own));
	ck_assert(!lmi_conn_limiter_is_admin(&d, &anna) && !lmi_conn_limiter_is_admin(&d, &v4));
	ck_assert_str_eq(lmi_conn_peer_text(&anna, text), "uid 1000");
	ck_assert_str_eq(lmi_conn_peer_text(&v4, text), "10.0.0.1");
	ck_assert_str_eq(lmi_conn_peer_text(&v6_near, text), "2001:db8::/64");
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(enter(&v4), LMD_OK);
	ck_assert_int_eq(enter(&v4), LMD_BUSY);
	ck_assert_str_eq(err.text,
			 "too many connections of 10.0.0.1: 3 are open, the maximum is 3");
	ck_assert_int_eq(enter(&v4_next), LMD_OK);
	for (uint32_t i = 0; i < 3; i++)
		lmi_conn_limiter_leave(&d, &v4);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(enter(i ? &v6_near : &v6), LMD_OK);
	ck_assert_int_eq(enter(&v6), LMD_BUSY);
	ck_assert_int_eq(enter(&v6_far), LMD_OK);
}
END_TEST

START_TEST(attempts)
{
	const uint64_t step = LMI_CONN_LIMITER_ATTEMPT_MS * 1000000ull;
	uint64_t now = 1000 * SEC;
	uint32_t retry_ms = 0;

	ck_assert_int_eq(enter(&v4), LMD_OK);
	ck_assert_int_eq(enter(&v6), LMD_OK);
	for (uint32_t i = 0; i < LMI_CONN_LIMITER_ATTEMPTS_MAX; i++)
		ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err),
				 LMD_OK);
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err), LMD_BUSY);
	ck_assert_uint_gt(retry_ms, LMI_CONN_LIMITER_ATTEMPT_MS - 10);
	ck_assert_uint_le(retry_ms, LMI_CONN_LIMITER_ATTEMPT_MS + 1);
	ck_assert_str_eq(err.text,
			 "too many wrong keys from 10.0.0.1: at most 10 attempts at once, then one "
			 "every 6 s");
	/* other peers are not affected; reconnecting does not reset the attempts */
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v6, now, &retry_ms, &err), LMD_OK);
	lmi_conn_limiter_leave(&d, &v4);
	ck_assert_int_eq(enter(&v4), LMD_OK);
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err), LMD_BUSY);
	/* one more attempt after the time, then none */
	now += step;
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err), LMD_OK);
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err), LMD_BUSY);
	/* accepted keys do not count */
	now += step;
	for (uint32_t i = 0; i < 100; i++) {
		ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err),
				 LMD_OK);
		lmi_conn_limiter_auth_ok(&d, &v4);
	}
	now += LMI_CONN_LIMITER_ATTEMPTS_MAX * step;
	for (uint32_t i = 0; i < LMI_CONN_LIMITER_ATTEMPTS_MAX; i++)
		ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err),
				 LMD_OK);
	ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v4, now, &retry_ms, &err), LMD_BUSY);
}
END_TEST

/* Attempts of disconnected peers are remembered, but not for ever. */
START_TEST(memory_of_attempts)
{
	uint32_t retry_ms;

	for (uint32_t i = 0; i < 3 * LMI_CONN_LIMITER_IDLE_MAX; i++) {
		struct lmi_conn_peer v = v4;

		v.addr[14] = (uint8_t)(i >> 8);
		v.addr[15] = (uint8_t)i;
		ck_assert_int_eq(enter(&v), LMD_OK);
		ck_assert_int_eq(lmi_conn_limiter_auth_attempt(&d, &v, SEC, &retry_ms, &err),
				 LMD_OK);
		lmi_conn_limiter_leave(&d, &v);
		ck_assert_uint_le(d.n_idle, LMI_CONN_LIMITER_IDLE_MAX);
	}
	ck_assert_uint_eq(d.n_idle, LMI_CONN_LIMITER_IDLE_MAX);
	ck_assert_uint_eq(d.n, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conn_limiter");
	TCase *t = tcase_create("conn_limiter");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, limits);
	tcase_add_test(t, default_limits);
	tcase_add_test(t, admins_have_no_share);
	tcase_add_test(t, peers);
	tcase_add_test(t, attempts);
	tcase_add_test(t, memory_of_attempts);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
