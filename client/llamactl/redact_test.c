/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "client/llamactl/redact.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

START_TEST(secrets_are_removed)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"a line\n\nanother", "a line\n\nanother"},
		{"tls_key = /etc/x.pem\nlog = info\n", "tls_key = (removed)\nlog = info\n"},
		{"# hf_token = x", "# hf_token = (removed)"},
		{"  \"password\": \"x\",", "  \"password\": (removed)"},
		{"system = You are a pirate", "system = (removed)"},
		{"system: 1 processor", "system: (removed)"},
		{"systematic = 1", "systematic = 1"},
		{"key", "key"},
		{"key =", "key ="},
		{"token hf_abcdefghijklmnopqrstuvwxy0123 ends", "token hf_(removed) ends"},
		{"0123456789abcdef0123456789abcdef", "(removed)"},
		{"x=0123456789abcdef01234567.", "x=(removed)."},
		{"0123456789abcdef0123456 short", "0123456789abcdef0123456 short"},
		{"abcdefghijklmnopqrstuvwxyzabc word", "abcdefghijklmnopqrstuvwxyzabc word"},
		{"00000000000000000000000000000 number", "00000000000000000000000000000 number"},
		{"at http://me:pw@host/x, y@z", "at http://host/x, y@z"},
		{"at http://host/x@y", "at http://host/x@y"},
		{"/home/ann/models/a.gguf", "~/models/a.gguf"},
		{"://", "://"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		char *have = lmi_ctl_redact(cases[i][0], "/home/ann");

		ck_assert_str_eq(have, cases[i][1]);
		free(have);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("redact");
	TCase *t = tcase_create("secrets");

	tcase_add_test(t, secrets_are_removed);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
