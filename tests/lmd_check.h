/* SPDX-License-Identifier: MIT
 *
 * lmd_check.h - shared by all Check programs: the Check library, main, and tests/support.h. */
#ifndef LLAMAD_TESTS_LMD_CHECK_H
#define LLAMAD_TESTS_LMD_CHECK_H

#include <check.h>

#include "tests/support.h"

/* Checks that the call returns LMD_OK; otherwise prints the message in `err`, a struct lmd_error
 * that the call has set. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		enum lmd_status st_ = (call);                                                      \
		ck_assert_msg(st_ == LMD_OK, "%s: %s: %s", #call, lmd_status_text((int)st_),       \
			      err.text);                                                           \
	} while (0)

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
