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
		{"token hf_abcdefghijklmnopqrstuvwxy0123 ends", "token (removed) ends"},
		{"0123456789abcdef0123456789abcdef", "(removed)"},
		{"x=0123456789abcdef01234567.", "x=(removed)."},
		{"0123456789abcdef0123456 short", "0123456789abcdef0123456 short"},
		{"abcdefghijklmnopqrstuvwxyzabc word", "(removed) word"},
		{"00000000000000000000000000000 number", "(removed) number"},
		{"a Zm9v+mFy/2Jhe0-IHF1eA_Zm9vY2Fy== b", "a (removed) b"},
		{"GPU-550e8400-e29b-41d4-a716-446655440000)", "(removed))"},
		{"llamad_prompt_tokens_seconds_total 4", "llamad_prompt_tokens_seconds_total 4"},
		{"DeepSeek-R1-Distill-Qwen-32B-Instruct", "DeepSeek-R1-Distill-Qwen-32B-Instruct"},
		{"/usr/lib/x86_64-linux-gnu/llamad12/plugins", "/usr/lib/x86_64-linux-gnu/llamad12/plugins"},
		{"/lib/0123456789abcdef01234567/x", "/lib/(removed)/x"},
		{"Environment=LLAMAD_KEY=hunter2", "Environment=LLAMAD_KEY=(removed)"},
		{"Environment=\"HTTPS_PASSWORD=a b\"", "Environment=\"HTTPS_PASSWORD=(removed)"},
		{"Nov 23 host llamad[1]: token=abc", "Nov 23 host llamad[1]: token=(removed)"},
		{"llamad --api-key abc --log x", "llamad --api-key (removed)"},
		{"--api-key", "--api-key"},
		{"-H authorization: bearer x", "-H authorization: (removed)"},
		{"sent Bearer x", "sent Bearer (removed)"},
		{"a key of b: c", "a key of b: c"},
		{"max_tokens = 4", "max_tokens = 4"},
		{"at http://me:pw@host/x, y@z", "at http://host/x, y@z"},
		{"at http://host/x@y", "at http://host/x@y"},
		{"/home/ann/models/a.gguf", "~/models/a.gguf"},
		{"/home/ann", "~"},
		{"/mnt/home/ann", "/mnt/home/(removed)"},
		{"/home/annabel/x /home/jo:/home/", "/home/(removed)/x /home/(removed):/home/"},
		{"/home/ann=/home/ann.old", "~=/home/(removed)"},
		{"://", "://"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		char *have = lmi_ctl_redact(cases[i][0], "/home/ann");

		ck_assert_str_eq(have, cases[i][1]);
		free(have);
		have = lmi_ctl_redact(cases[i][0], "/home/ann/");
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
