/* SPDX-License-Identifier: MIT */
#include "client/llamactl/http_url.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

START_TEST(addresses_of_the_configuration)
{
	static const char *const cases[][2] = {
		{"127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"0.0.0.0:80", "http://127.0.0.1:80"},
		{"[::]:80", "http://[::1]:80"},
		{"[2001:db8::7]:80", "http://[2001:db8::7]:80"},
		{"tls:192.0.2.7:443", "https://192.0.2.7:443"},
		{"tls:0.0.0.0:443", "https://127.0.0.1:443"},
		{"unix:/run/http.sock", "unix:/run/http.sock"},
	};
	char url[64];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		lmi_ctl_http_url_of(url, sizeof(url), cases[i][0]);
		ck_assert_str_eq(url, cases[i][1]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http_url");
	TCase *tc = tcase_create("url");

	tcase_add_test(tc, addresses_of_the_configuration);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
