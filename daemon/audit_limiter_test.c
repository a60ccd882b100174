/* SPDX-License-Identifier: MIT
 *
 * A client cannot fill the audit log: both sides of each bound. */
#include "daemon/audit_limiter.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "tests/lmd_check.h"

#define MS(n) ((uint64_t)(n) * (uint64_t)LMI_NS_PER_MS)

static struct lmi_daemon_audit_limiter l;

static uint32_t take(const char *principal, uint32_t n, uint64_t now)
{
	uint32_t recorded = 0;

	for (uint32_t i = 0; i < n; i++)
		recorded += lmi_daemon_audit_limiter_take(&l, principal, now);
	return recorded;
}

static void set_up(void)
{
	l = (struct lmi_daemon_audit_limiter){0};
}

START_TEST(one_principal)
{
	struct lmi_daemon_audit_dropped x;
	uint64_t begin = MS(5000);

	ck_assert_uint_eq(lmi_daemon_audit_limiter_deadline(&l), UINT64_MAX);
	ck_assert_uint_eq(take("uid:7", LMI_DAEMON_AUDIT_BURST, begin), LMI_DAEMON_AUDIT_BURST);
	ck_assert_uint_eq(lmi_daemon_audit_limiter_deadline(&l), UINT64_MAX);
	ck_assert_uint_eq(take("uid:7", 1000, begin), 0);
	ck_assert_uint_eq(take("uid:8", 2, begin), 2); /* another one */
	ck_assert_uint_eq(take("uid:7", 1, begin + MS(LMI_DAEMON_AUDIT_MS) - 1), 0);
	ck_assert_uint_eq(take("uid:7", 3, begin + MS(LMI_DAEMON_AUDIT_MS)), 1);
	ck_assert_uint_eq(lmi_daemon_audit_limiter_deadline(&l),
			  begin + MS(LMI_DAEMON_AUDIT_SUMMARY_MS));
	ck_assert(!lmi_daemon_audit_limiter_dropped(&l, begin + MS(LMI_DAEMON_AUDIT_SUMMARY_MS) - 1,
						    &x));
	ck_assert(lmi_daemon_audit_limiter_dropped(&l, begin + MS(LMI_DAEMON_AUDIT_SUMMARY_MS), &x));
	ck_assert_str_eq(x.principal, "uid:7");
	ck_assert_uint_eq(x.n, 1003);
	ck_assert(!lmi_daemon_audit_limiter_dropped(&l, UINT64_MAX, &x));
	ck_assert_uint_eq(lmi_daemon_audit_limiter_deadline(&l), UINT64_MAX);
}
END_TEST

/* Peers with many addresses share one entry, and do not displace those that are counted. */
START_TEST(many_principals)
{
	struct lmi_daemon_audit_dropped x;
	uint64_t total = 0, n = 0;
	char name[32];

	ck_assert_uint_eq(take("uid:7", 100, 0), LMI_DAEMON_AUDIT_BURST);
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "peer:2001:db8:%x::/64", i);
		total += take(name, 1, 0);
	}
	ck_assert_uint_eq(total, LMI_DAEMON_AUDIT_PRINCIPALS - 2 + LMI_DAEMON_AUDIT_BURST);
	ck_assert_uint_eq(take("uid:7", 1, 0), 0);
	while (lmi_daemon_audit_limiter_dropped(&l, UINT64_MAX, &x))
		n += x.n;
	ck_assert_uint_eq(n, 81 + 1000 - total);
	/* an hour later the entries are free again */
	for (uint32_t i = 0; i < LMI_DAEMON_AUDIT_PRINCIPALS - 1; i++) {
		snprintf(name, sizeof(name), "uid:%u", 100 + i);
		ck_assert_uint_eq(take(name, 100, MS(3600000)), LMI_DAEMON_AUDIT_BURST);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("audit_limiter");
	TCase *t = tcase_create("audit_limiter");

	tcase_add_checked_fixture(t, set_up, NULL);
	tcase_add_test(t, one_principal);
	tcase_add_test(t, many_principals);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
