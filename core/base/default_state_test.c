/* SPDX-License-Identifier: MIT
 *
 * The folder of the state for users with and without variables. */
#include "core/base/default_state.h"

#include <string.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

struct environment {
	const char *state, *xdg, *home;
};

static const char *get(void *arg, const char *name)
{
	const struct environment *e = arg;

	return !strcmp(name, "STATE_DIRECTORY") ? e->state
	       : !strcmp(name, "HOME")		? e->home
						: e->xdg;
}

START_TEST(state_dir)
{
	static const struct {
		uint32_t uid;
		struct environment e;
		const char *path;
	} cases[] = {
		{0, {NULL, "/x", "/root"}, "/var/lib/llamad"},
		{0, {"/s:/t", "/x", "/root"}, "/s"},
		{7, {"/s", "/x", "/h"}, "/s"},
		{7, {"s", "/x", "/h"}, "/x/llamad"},
		{7, {NULL, "", "/h"}, "/h/.local/state/llamad"},
		{7, {NULL, NULL, "h"}, ""},
	};
	char path[64], begin[5];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct environment e = cases[i].e;
		int n = lmi_default_state_dir(path, sizeof(path), cases[i].uid, get, &e);

		ck_assert_str_eq(path, cases[i].path);
		ck_assert_int_eq(n, (int)strlen(path));
		ck_assert_int_eq(lmi_default_state_dir(begin, sizeof(begin), cases[i].uid, get, &e), n);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("default state");
	TCase *t = tcase_create("default state");

	tcase_add_test(t, state_dir);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
