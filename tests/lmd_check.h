/* SPDX-License-Identifier: MIT
 *
 * lmd_check.h - what every Check program of the tree shares: the Check library, main, and
 * tests/support.h. */
#ifndef LLAMAD_TESTS_LMD_CHECK_H
#define LLAMAD_TESTS_LMD_CHECK_H

#include <check.h>

#include "tests/support.h"

/* The call ends with LMD_OK; `err`, a struct lmd_error that it filled, has the sentence if not. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		enum lmd_status st_ = (call);                                                      \
		ck_assert_msg(st_ == LMD_OK, "%s: %s: %s", #call, lmd_status_text((int)st_),       \
			      err.text);                                                           \
	} while (0)

/* Runs the suites, prints Check's summary, returns the exit status of main. */
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
