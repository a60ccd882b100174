/* SPDX-License-Identifier: MIT
 *
 * lmd_check.h - shared by all Check programs: the Check library, main, and tests/support.h. */
#ifndef LLAMAD_TESTS_LMD_CHECK_H
#define LLAMAD_TESTS_LMD_CHECK_H

#include <check.h>
#include <stdio.h>

#include "tests/support.h"

/* Checks that the call returns LMD_OK; otherwise prints the message in `err`, a struct lmd_error
 * that the call has set. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		enum lmd_status st_ = (call);                                                      \
		ck_assert_msg(st_ == LMD_OK, "%s: %s: %s", #call, lmd_status_text((int)st_),       \
			      err.text);                                                           \
	} while (0)

/* Adds to the suite a part of a program that takes long under a sanitizer: CK_RUN_CASE=name runs it alone.  Its tests have
 * five minutes each and share what setup makes. */
static inline TCase *lmd_part(Suite *s, const char *name, SFun setup, SFun teardown)
{
	TCase *t = tcase_create(name);

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	suite_add_tcase(s, t);
	return t;
}

/* Runs the suites and prints Check's summary; returns the exit status for main. */
static inline int lmd_check_run(SRunner *r)
{
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}

#endif /* LLAMAD_TESTS_LMD_CHECK_H */
