/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "client/llamactl/llamad_program.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define LONG_MS 600000

START_TEST(status_and_last_lines)
{
	const char *end[] = {"sh", "-c", "echo out; echo err >&2; exit 3", NULL};
	const char *cut[] = {"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done", NULL};
	const char *none[] = {"/nonexistent", NULL};
	char out[32];

	ck_assert_int_eq(lmi_ctl_capture(end, out, sizeof(out), LONG_MS), 3);
	ck_assert_str_eq(out, "out\nerr\n");
	ck_assert_int_eq(lmi_ctl_capture(cut, out, sizeof(out), LONG_MS), 0);
	ck_assert_msg(!strncmp(out, "line ", 5) && strstr(out, "\nline 9\n"), "%s", out);
	ck_assert_int_eq(lmi_ctl_capture(none, out, sizeof(out), LONG_MS), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* Both programs would end after the test's own time limit. */
START_TEST(a_program_that_hangs_is_killed)
{
	const char *open[] = {"sleep", "3600", NULL};
	const char *closed[] = {"sh", "-c", "exec sleep 3600 >&- 2>&-", NULL};
	char out[32];

	ck_assert_int_eq(lmi_ctl_capture(open, out, sizeof(out), 20), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_int_eq(lmi_ctl_capture(closed, out, sizeof(out), 20), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("llamad_program");
	TCase *t = tcase_create("capture");

	tcase_add_test(t, status_and_last_lines);
	tcase_add_test(t, a_program_that_hangs_is_killed);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
