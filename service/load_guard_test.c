/* SPDX-License-Identifier: MIT
 *
 * Models whose load kills the process; a test's process that dies is one that does not call end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/load_guard.h"
#include "tests/lmd_check.h"
#include "tests/temp_dir.h"

#define S 1000000000ll
static struct lmd_error err;
static int64_t now = 1795271400 * S;

static bool is_refused(struct lmd_error *why)
{
	struct lmi_svc_load_guard g;

	lmi_svc_load_guard_read(&g, dir, "poison");
	return lmi_svc_load_guard_refuses(&g, now, why);
}

static enum lmd_status begin(bool forced)
{
	struct lmd_error before = {0};
	bool refuses = is_refused(&before);
	enum lmd_status st;

	err = (struct lmd_error){0};
	st = lmi_svc_load_guard_begin(dir, "poison", now, forced, &err);
	if (!forced)
		ck_assert(refuses == (st != LMD_OK) && !strcmp(before.text, err.text));
	return st;
}

START_TEST(pauses_double)
{
	/* the first death costs nothing */
	ck_assert_int_eq(begin(false), LMD_OK);
	now += 5 * S;
	ck_assert_int_eq(begin(false), LMD_OK);
	for (int64_t pause = LMI_SVC_LOAD_GUARD_PAUSE_S; pause <= 960; pause *= 2) {
		ck_assert_int_eq(begin(false), LMD_UNSUPPORTED);
		ck_assert_msg(strstr(err.text, "quarantine") != NULL, "%s", err.text);
		now += (pause - 1) * S;
		ck_assert_int_eq(begin(false), LMD_UNSUPPORTED);
		ck_assert_msg(strstr(err.text, "again in 1 s") != NULL, "%s", err.text);
		now += S;
		ck_assert_int_eq(begin(false), LMD_OK);
	}
	/* other models are not concerned */
	ck_assert_int_eq(lmi_svc_load_guard_begin(dir, "other", now, false, &err), LMD_OK);
}
END_TEST

START_TEST(a_load_that_is_asked_for)
{
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(begin(true), LMD_OK);
	ck_assert_int_eq(begin(false), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "in 86400 s") != NULL, "%s", err.text);
	/* an error is not a death, and forgives none */
	ck_assert_int_eq(begin(true), LMD_OK);
	lmi_svc_load_guard_end(dir, "poison", false);
	ck_assert_int_eq(begin(false), LMD_UNSUPPORTED);
	/* success does */
	ck_assert_int_eq(begin(true), LMD_OK);
	lmi_svc_load_guard_end(dir, "poison", true);
	ck_assert_int_eq(begin(false), LMD_OK);
	lmi_svc_load_guard_end(dir, "poison", false);
	ck_assert_int_eq(begin(false), LMD_OK);
	ck_assert_int_eq(begin(false), LMD_OK);
}
END_TEST

START_TEST(files_that_make_no_sense)
{
	static const char *const text[] = {"", "L", "X 5 5\n", "L 99999 5\n", "H -1 5\n", "L 5 -5\n"};
	char command[600];

	for (size_t i = 0; i < LMD_LEN(text); i++) {
		ck_assert_int_eq(begin(false), LMD_OK);
		snprintf(command, sizeof(command), "for f in %s/loading/*; do printf '%s' >$f; done", dir,
			 text[i]);
		ck_assert_int_eq(system(command), 0);
		ck_assert_int_eq(begin(false), LMD_OK);
		lmi_svc_load_guard_end(dir, "poison", true);
	}
	/* a time in the future */
	ck_assert_int_eq(begin(false), LMD_OK);
	snprintf(command, sizeof(command), "for f in %s/loading/*; do echo H 5 99999999999 >$f; done", dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(begin(false), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "in 480 s") != NULL, "%s", err.text);
	/* a folder that cannot be written */
	ck_assert_int_eq(lmi_svc_load_guard_begin("/proc/nothing", "poison", now, false, &err), LMD_OK);
	lmi_svc_load_guard_end("/proc/nothing", "poison", false);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("load guard");
	TCase *t = tcase_create("load guard");

	tcase_add_checked_fixture(t, temp_dir_make, temp_dir_remove);
	tcase_add_test(t, pauses_double);
	tcase_add_test(t, a_load_that_is_asked_for);
	tcase_add_test(t, files_that_make_no_sense);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
