/* SPDX-License-Identifier: MIT
 *
 * The JSON writer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "tests/lmd_check.h"

START_TEST(json_text)
{
	static const char want[] =
		"{\n"
		"  \"a\\\"b\": \"x\\n\\u0001\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\\\\\","
		"\n  \"list\": [1, -2, [], {\"k\": null}],\n"
		"  \"empty\": [],\n"
		"  \"rows\": [\n    {\n      \"v\": 0.1\n    },\n    \"-inf\","
		"\n    \"inf\",\n    \"nan\"\n  ],\n"
		"  \"f\": 0.1,\n  \"big\": 18446744073709551615,\n"
		"  \"yes\": true\n}\n";
	struct lmi_ctl_json j;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(f);
	lmi_ctl_json_init(&j, f);
	lmi_ctl_json_object(&j, NULL);
	/* a lone continuation byte and a cut sequence */
	lmi_ctl_json_str(&j, "a\"b", "x\n\x01\xC3\xA9\x80\xE2\\");
	lmi_ctl_json_flat_array(&j, "list");
	lmi_ctl_json_int(&j, NULL, 1);
	lmi_ctl_json_int(&j, NULL, -2);
	lmi_ctl_json_array(&j, NULL);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "k", NULL);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_array(&j, "empty");
	lmi_ctl_json_end(&j);
	lmi_ctl_json_array(&j, "rows");
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_f64(&j, "v", 0.1);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_f32(&j, NULL, -1.0f / 0.0f);
	lmi_ctl_json_f64(&j, NULL, 1.0 / 0.0);
	lmi_ctl_json_f32(&j, NULL, 0.0f / 0.0f);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_f32(&j, "f", 0.1f);
	lmi_ctl_json_uint(&j, "big", UINT64_MAX);
	lmi_ctl_json_bool(&j, "yes", true);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	fclose(f);
	ck_assert_str_eq(text, want);
	free(text);
}
END_TEST

START_TEST(json_numbers_round_trip)
{
	uint64_t seed = lmd_seed("json_numbers", 7);

	for (int i = 0; i < 20000; i++) {
		uint64_t bits = lmd_rand(&seed);
		uint32_t bits32 = (uint32_t)bits;
		struct lmi_ctl_json j;
		char text[64] = "";
		FILE *f = fmemopen(text, sizeof(text), "w");
		double d;
		float s;

		memcpy(&d, &bits, sizeof(d));
		memcpy(&s, &bits32, sizeof(s));
		ck_assert_ptr_nonnull(f);
		lmi_ctl_json_init(&j, f);
		if (i & 1)
			lmi_ctl_json_f64(&j, NULL, d);
		else
			lmi_ctl_json_f32(&j, NULL, s);
		fclose(f);
		if (i & 1)
			ck_assert(strchr(text, '"') || strtod(text, NULL) == d);
		else
			ck_assert(strchr(text, '"') || strtof(text, NULL) == s);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *t = tcase_create("writer");

	tcase_add_test(t, json_text);
	tcase_add_test(t, json_numbers_round_trip);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
