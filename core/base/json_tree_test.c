/* SPDX-License-Identifier: MIT
 *
 * JSON parsed into a tree and written as text. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/json_tree.h"
#include "tests/lmd_check.h"

static struct lmd_error err;

static void leaves_nothing(void)
{
	struct lmi_alloc_stats s;

	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

/* Parses the text and writes it again with our writer. */
static char *rewritten(const struct lmi_json_node *v)
{
	struct lmi_json_text j = {0};
	enum lmd_status st;

	lmi_json_text_node(&j, v);
	st = lmi_json_text_finish(&j, &err);
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	return j.text;
}

START_TEST(good)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{"null", "null"},
		{" \t\r\n[ ] ", "[]"},
		{"{}", "{}"},
		{"[1 , [2],{\"a\" : null}]", "[1,[2],{\"a\":null}]"},
		{"{\"a\":[true,false],\"b\":{},\"\":\"\"}",
		 "{\"a\":[true,false],\"b\":{},\"\":\"\"}"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
		{"\"\\u0041\\u00e4\\u4F60\\uD83D\\ude00\"",
		 "\"A\xC3\xA4\xE4\xBD\xA0\xF0\x9F\x98\x80\""},
		{"\"\\u0000\\u001f\x7f\"", "\"\\u0000\\u001f\x7f\""},
		{"\"\xF4\x8F\xBF\xBF\xED\x9F\xBF\"", "\"\xF4\x8F\xBF\xBF\xED\x9F\xBF\""},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775808", "9.223372036854776e+18"},
		{"-0", "-0"},
		{"0.1", "0.1"},
		{"1E2", "100"},
		{"-1.5e-3", "-0.0015"},
		{"1e-999", "0"},
		{"{\"k\":1,\"k\":2}", "{\"k\":1,\"k\":2}"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct lmi_json_tree tree = {0};
		char *text;

		ck_assert_msg(lmi_json_tree_parse(&tree, t[i].text, strlen(t[i].text), NULL,
						  &err) == LMD_OK,
			      "%s: %s", t[i].text, err.text);
		text = rewritten(tree.root);
		ck_assert_str_eq(text, t[i].want);
		lmi_free(text);
		lmi_json_tree_fini(&tree);
		lmi_json_tree_fini(&tree);
	}
}
END_TEST

START_TEST(bad)
{
	static const struct {
		const char *text, *why;
	} t[] = {
		{"", "byte 0: the text ends, expected a value"},
		{"  ", "byte 2: the text ends"},
		{"[", "byte 1: the text ends"},
		{"[1", "expected ',' or ']'"},
		{"[1,", "expected a value"},
		{"[1 2]", "byte 3: found '2', expected ',' or ']'"},
		{"[,1]", "byte 1: found ',', expected a value"},
		{"[1,]", "byte 3: found ']', expected a value"},
		{"[1}", "byte 2: found '}'"},
		{"{", "a key"},
		{"{\"a\"}", "expected ':'"},
		{"{\"a\":}", "a value"},
		{"{a:1}", "byte 1: found 'a', expected a key"},
		{"{\"a\":1,}", "a key"},
		{"{\"a\":1]", "',' or '}'"},
		{"{1:1}", "a key"},
		{"1 2", "byte 2: found '2', expected the end"},
		{"nul", "a value"},
		{"nulls", "the end"},
		{"True", "a value"},
		{"'a'", "a value"},
		{"NaN", "a value"},
		{"-Infinity", "not a number"},
		{"+1", "a value"},
		{"01", "not a number"},
		{"-", "not a number"},
		{"-01", "not a number"},
		{"1.", "not a number"},
		{".5", "a value"},
		{"1e", "not a number"},
		{"1e+", "not a number"},
		{"0x10", "the end"},
		{"1_000", "the end"},
		{"\"a", "the end of a string"},
		{"\"a\\", "an escape"},
		{"\"\\x\"", "byte 1: unknown escape"},
		{"\"\\u12g4\"", "\\u is not followed"},
		{"\"\\u12", "\\u is not followed"},
		{"\"\\ud83d\"", "first half"},
		{"\"\\ud83dx\"", "first half"},
		{"\"\\ud83d\\u0041\"", "first half"},
		{"\"\\ud83d\\ud83d\"", "first half"},
		{"\"\\ude00\"", "second half"},
		{"\"a\nb\"", "byte 2: control character"},
		{"\"\x1f\"", "control character"},
		{"\"\x80\"", "not UTF-8"},
		{"\"\xC0\x80\"", "not UTF-8"},
		{"\"\xC3\"", "not UTF-8"},
		{"\"\xE0\x80\x80\"", "not UTF-8"},
		{"\"\xED\xA0\x80\"", "not UTF-8"},
		{"\"\xF4\x90\x80\x80\"", "not UTF-8"},
		{"\"\xF8\x88\x80\x80\x80\"", "not UTF-8"},
		{"\xEF\xBB\xBF{}", "found byte 0xef, expected a value"},
		{"[1] // no", "the end"},
	};
	struct lmi_json_tree tree = {0};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		err = (struct lmd_error){0};
		ck_assert_msg(lmi_json_tree_parse(&tree, t[i].text, strlen(t[i].text), NULL,
						  &err) == LMD_CORRUPT,
			      "%s", t[i].text);
		ck_assert_msg(strstr(err.text, t[i].why), "%s: %s", t[i].text, err.text);
		ck_assert_ptr_null(tree.root);
	}
	ck_assert_int_eq(lmi_json_tree_parse(&tree, "[\0]", 3, NULL, &err), LMD_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "0x00"));
}
END_TEST

START_TEST(bounds)
{
	struct lmi_json_tree_opts o = {.max_bytes = 10, .max_nodes = 3, .unique_keys = true};
	char deep[2 * LMI_JSON_TREE_DEPTH + 2], number[LMI_JSON_TREE_DIGITS + 1];
	struct lmi_json_tree t;

	memset(deep, '[', sizeof(deep));
	memset(deep + LMI_JSON_TREE_DEPTH, ']', LMI_JSON_TREE_DEPTH);
	ck_assert_int_eq(lmi_json_tree_parse(&t, deep, 2 * LMI_JSON_TREE_DEPTH, NULL, &err),
			 LMD_OK);
	ck_assert_uint_eq(t.n_nodes, LMI_JSON_TREE_DEPTH);
	lmi_json_tree_fini(&t);
	memset(deep, '[', sizeof(deep));
	ck_assert_int_eq(lmi_json_tree_parse(&t, deep, LMI_JSON_TREE_DEPTH + 1, NULL, &err),
			 LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "byte 64: nested more than 64"));
	ck_assert_int_eq(lmi_json_tree_parse(&t, "[1,2]      ", 11, &o, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "11 bytes exceed the limit of 10"));
	ck_assert_int_eq(lmi_json_tree_parse(&t, "[1,2,3]", 7, &o, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 3 values"));
	ck_assert_int_eq(lmi_json_tree_parse(&t, "[1,2]", 5, &o, &err), LMD_OK);
	lmi_json_tree_fini(&t);
	ck_assert_int_eq(lmi_json_tree_parse(&t, "1e999", 5, NULL, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "range of a double"));
	memset(number, '1', sizeof(number));
	ck_assert_int_eq(lmi_json_tree_parse(&t, number, 300, NULL, &err), LMD_OK);
	lmi_json_tree_fini(&t);
	ck_assert_int_eq(lmi_json_tree_parse(&t, number, sizeof(number), NULL, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "longer than 1024 bytes"));
}
END_TEST

START_TEST(keys)
{
	static const char *const text[] = {"{\"a\":{\"b\":1,\"a\":2,\"b\":3}}",
					   "{\"\\u0061\":1,\"a\":2}",
					   "{\"a\\u0000x\":1,\"a\\u0000y\":2,\"a\":3}"};
	struct lmi_json_tree_opts o = {.unique_keys = true};
	struct lmi_json_tree t;
	int64_t v;

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(text[i]);

		ck_assert_int_eq(lmi_json_tree_parse(&t, text[i], n, &o, &err),
				 i < 2 ? LMD_CORRUPT : LMD_OK);
		if (i < 2)
			ck_assert_ptr_nonnull(strstr(err.text, i ? "key 'a'" : "key 'b'"));
		else
			lmi_json_tree_fini(&t);
	}
	ck_assert_int_eq(lmi_json_tree_parse(&t, text[0], strlen(text[0]), NULL, &err), LMD_OK);
	ck_assert(lmi_json_node_int(lmi_json_node_get(lmi_json_node_get(t.root, "a"), "b"), 0, 9,
				    &v));
	ck_assert_int_eq(v, 3); /* the last one */
	lmi_json_tree_fini(&t);
}
END_TEST

START_TEST(walk)
{
	static const char text[] = "{\"list\":[1,[2,3],{\"x\":[]},\"s\"],\"r\":2.5,\"i\":1e3,"
				   "\"big\":1e300,\"t\":true,\"n\":null}";
	struct lmi_json_tree t;
	const struct lmi_json_node *list;
	double d;
	int64_t i;

	ck_assert_int_eq(lmi_json_tree_parse(&t, text, strlen(text), NULL, &err), LMD_OK);
	list = lmi_json_node_get(t.root, "list");
	ck_assert(lmi_json_node_is(list, LMI_JSON_ARRAY) && list->n == 4);
	ck_assert(lmi_json_node_eq(lmi_json_node_at(list, 3), "s"));
	ck_assert_uint_eq(lmi_json_node_at(lmi_json_node_at(list, 1), 1)->u.i, 3);
	ck_assert_ptr_null(lmi_json_node_at(list, 4));
	ck_assert_ptr_null(lmi_json_node_first(lmi_json_node_get(lmi_json_node_at(list, 2), "x")));
	ck_assert_ptr_null(lmi_json_node_get(t.root, "nothing"));
	ck_assert(lmi_json_node_real(lmi_json_node_get(t.root, "r"), &d) && d == 2.5);
	ck_assert(!lmi_json_node_int(lmi_json_node_get(t.root, "r"), INT64_MIN, INT64_MAX, &i));
	ck_assert(lmi_json_node_int(lmi_json_node_get(t.root, "i"), 0, 1000, &i) && i == 1000);
	ck_assert(!lmi_json_node_int(lmi_json_node_get(t.root, "i"), 0, 999, &i));
	ck_assert(!lmi_json_node_int(lmi_json_node_get(t.root, "big"), INT64_MIN, INT64_MAX, &i));
	ck_assert(!lmi_json_node_int(lmi_json_node_get(t.root, "t"), INT64_MIN, INT64_MAX, &i));
	ck_assert_str_eq(lmi_json_node_kind(lmi_json_node_get(t.root, "n")), "null");
	ck_assert_str_eq(lmi_json_node_kind(NULL), "nothing");
	/* every function accepts NULL and nodes of another type */
	ck_assert_ptr_null(lmi_json_node_get(NULL, "a"));
	ck_assert_ptr_null(lmi_json_node_get(list, "a"));
	ck_assert_ptr_null(lmi_json_node_at(t.root, 0));
	ck_assert_ptr_null(lmi_json_node_first(lmi_json_node_get(t.root, "r")));
	ck_assert(!lmi_json_node_eq(NULL, "") && !lmi_json_node_real(NULL, &d));
	lmi_json_tree_fini(&t);
}
END_TEST

static void write_random(struct lmi_json_text *j, uint64_t *seed, unsigned depth)
{
	uint64_t r = lmd_rand(seed);
	double d;
	char s[24];

	switch (depth > 5 ? r % 5 : r % 7) {
	case 0:
		lmi_json_text_int(j, (int64_t)lmd_rand(seed) >> (r >> 8) % 64);
		break;
	case 1:
		r = lmd_rand(seed);
		memcpy(&d, &r, sizeof(d));
		lmi_json_text_real(j, d);
		break;
	case 2:
		for (size_t i = 0; i < sizeof(s); i++)
			s[i] = (char)(lmd_rand(seed) & 0x7f);
		lmi_json_text_strn(j, s, (r >> 8) % sizeof(s));
		break;
	case 3:
		lmi_json_text_bool(j, r >> 8 & 1);
		break;
	case 4:
		lmi_json_text_null(j);
		break;
	default:
		if (r >> 8 & 1)
			lmi_json_text_array(j);
		else
			lmi_json_text_object(j);
		for (unsigned i = 0; i < (r >> 9) % 6; i++) {
			if (!(r >> 8 & 1)) {
				snprintf(s, sizeof(s), "k%u\n", i);
				lmi_json_text_key(j, s);
			}
			write_random(j, seed, depth + 1);
		}
		lmi_json_text_end(j);
	}
}

/* Written text is parsed and written again as the same bytes. */
START_TEST(round_trip)
{
	uint64_t seed = lmd_seed("json", 11);

	for (int k = 0; k < 3000; k++) {
		struct lmi_json_text j = {0};
		struct lmi_json_tree t;
		char *again;

		write_random(&j, &seed, 0);
		ck_assert_int_eq(lmi_json_text_finish(&j, &err), LMD_OK);
		ck_assert_uint_eq(strlen(j.text), j.bytes);
		ck_assert_msg(lmi_json_tree_parse(&t, j.text, j.bytes, NULL, &err) == LMD_OK,
			      "%s: %s", err.text, j.text);
		ck_assert_uint_eq(t.root->span, t.n_nodes);
		again = rewritten(t.root);
		ck_assert_str_eq(again, j.text);
		lmi_free(again);
		lmi_json_tree_fini(&t);
		for (size_t cut = 0; k < 200 && cut < j.bytes; cut++)
			if (lmi_json_tree_parse(&t, j.text, cut, NULL, &err) == LMD_OK)
				/* a number's prefix may itself be a complete number */
				lmi_json_tree_fini(&t);
		lmi_json_text_fini(&j);
	}
}
END_TEST

/* Fails when `left` bytes have been written. */
struct place {
	char text[256];
	size_t n, left;
};

static bool write_to(void *arg, const char *s, size_t n)
{
	struct place *p = arg;

	if (n > p->left)
		return false;
	memcpy(p->text + p->n, s, n);
	p->n += n;
	p->left -= n;
	return true;
}

static enum lmd_status write_styled(struct place *p, uint32_t flags)
{
	struct lmi_json_text j = {.flags = flags, .write = write_to, .arg = p};
	enum lmd_status st;

	lmi_json_text_object(&j);
	lmi_json_text_keyn(&j, "ab", 1);
	lmi_json_text_flat_array(&j);
	lmi_json_text_uint(&j, UINT64_MAX);
	lmi_json_text_object(&j);
	lmi_json_text_end(&j);
	lmi_json_text_f32(&j, 0.1f);
	lmi_json_text_end(&j);
	lmi_json_text_key(&j, "b");
	lmi_json_text_array(&j);
	lmi_json_text_str(&j, flags & LMI_JSON_TEXT_LENIENT ? "\xFFx\xC3\x7F" : "x\x7F");
	lmi_json_text_end(&j);
	lmi_json_text_end(&j);
	st = lmi_json_text_finish(&j, &err);
	ck_assert_ptr_null(j.text);
	lmi_json_text_fini(&j);
	p->text[p->n] = 0;
	return st;
}

START_TEST(styles)
{
	static const struct {
		uint32_t flags;
		const char *want;
	} t[] = {
		{0, "{\"a\":[18446744073709551615,{},0.1],\"b\":[\"x\x7F\"]}"},
		{LMI_JSON_TEXT_SPACED,
		 "{\"a\": [18446744073709551615, {}, 0.1], \"b\": [\"x\x7F\"]}"},
		{LMI_JSON_TEXT_LINES,
		 "{\n  \"a\": [18446744073709551615, {}, 0.1],\n  \"b\": [\n    \"x\x7F\"\n  ]\n}"},
		{LMI_JSON_TEXT_LENIENT, "{\"a\":[18446744073709551615,{},0.1],"
					"\"b\":[\"\xEF\xBF\xBDx\xEF\xBF\xBD\\u007f\"]}"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		struct place p = {.left = sizeof(p.text) - 1};

		ck_assert_int_eq(write_styled(&p, t[i].flags), LMD_OK);
		ck_assert_str_eq(p.text, t[i].want);
		for (size_t n = 0; n < strlen(t[i].want); n++) {
			struct place q = {.left = n};

			ck_assert_int_eq(write_styled(&q, t[i].flags), LMD_NOMEM);
		}
	}
}
END_TEST

START_TEST(wrong_writes)
{
	static const char bytes[] = "\xFF";

	for (int i = 0; i < 9; i++) {
		struct lmi_json_text j = {0};
		enum lmd_status want = LMD_INTERNAL;

		if (i == 0) {
			; /* nothing */
		} else if (i == 1) {
			lmi_json_text_int(&j, 1);
			lmi_json_text_int(&j, 2);
		} else if (i == 2) {
			lmi_json_text_object(&j);
			lmi_json_text_int(&j, 2);
		} else if (i == 3) {
			lmi_json_text_array(&j);
			lmi_json_text_key(&j, "k");
		} else if (i == 4) {
			lmi_json_text_object(&j);
			lmi_json_text_key(&j, "k");
			lmi_json_text_end(&j);
		} else if (i == 5) {
			lmi_json_text_end(&j);
		} else if (i == 6) {
			lmi_json_text_array(&j);
		} else if (i == 7) {
			lmi_json_text_strn(&j, bytes, 1);
			want = LMD_CORRUPT;
		} else {
			j.max_bytes = 300;
			lmi_json_text_array(&j);
			for (int k = 0; k < 200; k++)
				lmi_json_text_int(&j, k);
			lmi_json_text_end(&j);
			want = LMD_INVALID;
		}
		ck_assert_int_eq(lmi_json_text_finish(&j, &err), want);
		ck_assert_int_eq(err.status, want);
		lmi_json_text_fini(&j);
	}
}
END_TEST

START_TEST(starved)
{
	static const char text[] = "{\"a\":[1,2,\"three\"]}";
	struct lmi_json_tree_opts o = {.unique_keys = true};
	uint64_t n;

	for (n = 1;; n++) {
		struct lmi_json_text j = {0};
		struct lmi_json_tree t = {0};
		enum lmd_status st;

		lmi_alloc_fail_nth(n, false);
		st = lmi_json_tree_parse(&t, text, strlen(text), &o, &err);
		if (st == LMD_OK) {
			lmi_json_text_node(&j, t.root);
			st = lmi_json_text_finish(&j, &err);
		}
		lmi_alloc_fail_nth(0, false);
		lmi_json_text_fini(&j);
		lmi_json_tree_fini(&t);
		if (st == LMD_OK)
			break;
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	ck_assert_uint_eq(n, 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");

	tcase_add_checked_fixture(tc, NULL, leaves_nothing);
	tcase_add_test(tc, good);
	tcase_add_test(tc, bad);
	tcase_add_test(tc, bounds);
	tcase_add_test(tc, keys);
	tcase_add_test(tc, walk);
	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, styles);
	tcase_add_test(tc, wrong_writes);
	tcase_add_test(tc, starved);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
