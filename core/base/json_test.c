/* SPDX-License-Identifier: MIT */
#include "core/base/json.h"

#include <jansson.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

/* Writes the items on one line: {k:"a"} and so on. */
static enum lmd_status dump(const char *text, size_t n, char *out, struct lmd_error *err)
{
	struct lmi_jr r;
	struct lmi_jr_item it;
	enum lmd_status st;
	char s[512];

	*out = '\0';
	lmi_jr_init(&r, text, n);
	while ((st = lmi_jr_next(&r, &it, err)) == LMD_OK && it.type != LMI_JR_END) {
		switch (it.type) {
		case LMI_JR_KEY:
		case LMI_JR_STRING:
			s[lmi_jr_unescape(&it, s)] = '\0';
			out += sprintf(out, it.type == LMI_JR_KEY ? "%s:" : "'%s' ", s);
			break;
		case LMI_JR_NUMBER:
			out += sprintf(out, "%.*s ", (int)it.text.len, it.text.ptr);
			break;
		case LMI_JR_BOOL:
			out += sprintf(out, it.b ? "yes " : "no ");
			break;
		case LMI_JR_NULL:
			out += sprintf(out, "null ");
			break;
		default:
			*out++ = " {}[]"[it.type];
			*out = '\0';
		}
	}
	return st;
}

START_TEST(values)
{
	static const char *const cases[][2] = {
		{"{}", "{}"},
		{" [ ] ", "[]"},
		{"\"\"", "'' "},
		{"-1.5e+3", "-1.5e+3 "},
		{"0", "0 "},
		{"true", "yes "},
		{"[1,[2],{\"a\":null}]", "[1 [2 ]{a:null }]"},
		{"{\"a\" : [ true , false ] , \"b\":{}}", "{a:[yes no ]b:{}}"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t' "},
		{"\"\\u0041\\u00e4\\u4f60\\ud83d\\ude00\"",
		 "'A\xc3\xa4\xe4\xbd\xa0\xf0\x9f\x98\x80' "},
		{"\"0123456789abcdef\\n0123456789\xc3\xa4\"",
		 "'0123456789abcdef\n0123456789\xc3\xa4' "},
	};
	struct lmd_error err;
	char out[1024];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		ck_assert_msg(dump(cases[i][0], strlen(cases[i][0]), out, &err) == LMD_OK, "%s: %s",
			      cases[i][0], err.text);
		ck_assert_str_eq(out, cases[i][1]);
	}
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *text;
		bool is_int, is_double;
		int64_t i;
		double d;
	} cases[] = {
		{"0", true, true, 0, 0}, {"-7", true, true, -7, -7}, {"1.5", false, true, 0, 1.5},
		{"9223372036854775807", true, true, INT64_MAX, 9223372036854775807.0},
		{"9223372036854775808", false, true, 0, 9223372036854775808.0},
		{"1e400", false, false, 0, 0}, {"-0", false, true, 0, 0},
		{"-9223372036854775808", true, true, INT64_MIN, -9223372036854775808.0},
		{"99999999999999999999999999", false, true, 0, 1e26}, {"-12.25e-1", false, true, 0, -1.225},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_jr r;
		struct lmi_jr_item it;
		int64_t v;
		double d;

		lmi_jr_init(&r, cases[i].text, strlen(cases[i].text));
		ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
		ck_assert_int_eq(lmi_jr_int(&it, &v), cases[i].is_int);
		ck_assert(!cases[i].is_int || v == cases[i].i);
		ck_assert_int_eq(lmi_jr_double(&it, &d), cases[i].is_double);
		ck_assert(!cases[i].is_double || d == cases[i].d);
	}
}
END_TEST

START_TEST(skipping)
{
	static const char text[] = "{\"a\":[1,{\"b\":[]}],\"c\":2,\"d\":{\"e\":{}}}";
	struct lmi_jr r;
	struct lmi_jr_item it;
	int64_t v;

	lmi_jr_init(&r, text, sizeof(text) - 1);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert(lmi_jr_is(&it, "a"));
	ck_assert_int_eq(lmi_jr_skip(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert(lmi_jr_is(&it, "c"));
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert(lmi_jr_int(&it, &v) && v == 2);
	ck_assert_int_eq(lmi_jr_skip(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert(lmi_jr_is(&it, "d"));
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jr_skip(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(it.type, LMI_JR_OBJECT_END);
	ck_assert_int_eq(lmi_jr_next(&r, &it, NULL), LMD_OK);
	ck_assert_int_eq(it.type, LMI_JR_END);
}
END_TEST

/* Mutated texts: this reader and jansson agree wherever both accept the same language. */
START_TEST(random_against_jansson)
{
	static const char letters[] = "{}[]\",:0123.eE+-tfn ruals\\";
	uint64_t seed = lmd_seed("json", 41);
	unsigned sound = 0;

	for (int round = 0; round < 200000; round++) {
		static const char *const seeds[] = {"{\"a\":[1,2.5e3,true],\"b\":null}",
						    "[[],{},\"x\\n\"]", "[-0.5,\"\\u00e4\"]"};
		char text[64], out[4096];
		const char *s = seeds[lmd_rand(&seed) % 3];
		size_t n = strlen(s);
		json_t *j;
		bool ok;

		memcpy(text, s, n);
		for (uint64_t k = lmd_rand(&seed) % 3; k; k--)
			text[lmd_rand(&seed) % n] =
				letters[lmd_rand(&seed) % (sizeof(letters) - 1)];
		ok = dump(text, n, out, NULL) == LMD_OK;
		j = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		ck_assert_msg(ok == (j != NULL), "%.*s: %d", (int)n, text, ok);
		sound += ok;
		json_decref(j);
	}
	ck_assert_uint_gt(sound, 1000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");
	SRunner *r;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, values);
	tcase_add_test(tc, numbers);
	tcase_add_test(tc, skipping);
	tcase_add_test(tc, random_against_jansson);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
