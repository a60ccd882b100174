/* SPDX-License-Identifier: MIT
 *
 * Structural tags: which texts they accept and reject, and which documents are rejected. */
#include <stdio.h>
#include <string.h>

#include "core/grammar/byte_fixture.h"
#include "core/grammar/free_text.h"
#include "core/grammar/test_vocab.h"
#include "tests/lmd_check.h"

static struct lmd_error err;

#define TAG_AB                                                                                     \
	"{\"type\":\"tag\",\"begin\":\"<a>\",\"content\":{\"type\":\"any_text\",\"excludes\":["    \
	"\"<a\"]},\"end\":[\"</a>\",\"<<\"]}"
#define TOKEN(n) "{\"type\":\"token\",\"token\":" n "}"
#define TEXT(s) "{\"type\":\"const_string\",\"value\":\"" s "\"}"

/* A document, texts that it accepts, and texts that it rejects; NULL ends each list. */
static const struct {
	const char *doc, *good[9], *bad[9];
} cases[] = {
	/* the older form */
	{"{\"type\":\"structural_tag\",\"structures\":[{\"begin\":\"<f=\",\"schema\":{\"type\":"
	 "\"integer\"},\"end\":\">\"}],\"triggers\":[\"<f\"]}",
	 {"", "x < y", "<", "<f=1>", "a<f=1>b<f=23>", "<<f=1><", "\xc3\xa9<f=0>"},
	 {"<f", "<fx", "<f=", "<f=x>", "<f=1", "a<f=1><f=x>"}},
	/* free text, several tags and triggers */
	{"{\"type\":\"structural_tag\",\"format\":{\"type\":\"triggered_tags\",\"triggers\":["
	 "\"ab\",\"bcd\"],\"tags\":[{\"type\":\"tag\",\"begin\":\"abX\",\"content\":" TEXT("1")
	 ",\"end\":\"!\"},{\"type\":\"tag\",\"begin\":\"abY\",\"content\":" TEXT("2")
	 ",\"end\":\"!\"},{\"type\":\"tag\",\"begin\":\"bcd\",\"content\":" TEXT("3")
	 ",\"end\":\"\"}]}}",
	 {"", "a", "b", "bc", "aXb", "abX1!abY2!", "aabY2!b", "bcbcd3abX1!a", "cbcd3bcd3"},
	 {"ab", "bcd", "abX1", "abX2!", "aab", "bbcdx", "abc", "abX1!ab"}},
	{"{\"type\":\"structural_tag\",\"format\":{\"type\":\"triggered_tags\",\"triggers\":["
	 "\"<\"],\"tags\":[" TAG_AB "],\"at_least_one\":true,\"excludes\":[\"x\"]}}",
	 {"<a></a>", "1<a>2</a>3<a>4<<5", "<a>x/a</a>"},
	 {"", "1", "<a>", "<a></a><b", "x<a></a>", "<a><a</a>", "<a></a>x"}},
	{"{\"type\":\"structural_tag\",\"format\":{\"type\":\"triggered_tags\",\"triggers\":["
	 "\"<a\"],\"tags\":[" TAG_AB "],\"stop_after_first\":true}}",
	 {"", "xy", "<a></a>", "x<a>1</a>"},
	 {"<a></a>x", "<a></a><a></a>"}},
	{"{\"type\":\"structural_tag\",\"format\":{\"type\":\"triggered_tags\",\"triggers\":["
	 "\"<a\"],\"tags\":[" TAG_AB "],\"stop_after_first\":true,\"at_least_one\":true}}",
	 {"<a></a>", "x<a>1</a>"},
	 {"", "xy", "<a></a>x"}},
	/* lists of tags */
	{"{\"format\":{\"type\":\"tags_with_separator\",\"separator\":\",\",\"tags\":[" TAG_AB
	 "]}}",
	 {"", "<a></a>", "<a>1<<,<a>2</a>"},
	 {",", "<a></a>,", "<a></a><a></a>"}},
	{"{\"format\":{\"type\":\"tags_with_separator\",\"separator\":\"\",\"tags\":[" TAG_AB
	 "],\"at_least_one\":true,\"stop_after_first\":true}}",
	 {"<a></a>"},
	 {"", "<a></a><a></a>"}},
	/* other formats */
	{"{\"format\":{\"type\":\"sequence\",\"elements\":[" TEXT("a") ",{\"type\":\"optional\","
	 "\"content\":" TEXT("b") "},{\"type\":\"star\",\"content\":" TEXT("c") "},{\"type\":"
	 "\"plus\",\"content\":{\"type\":\"or\",\"elements\":[" TEXT("d") ",{\"type\":\"regex\","
	 "\"pattern\":\"e\\\\d\"}]}}]}}",
	 {"ad", "abcce1d"},
	 {"a", "abbd", "acb", "ade"}},
	{"{\"format\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"json_schema\","
	 "\"json_schema\":{\"type\":\"null\"}},{\"type\":\"any_text\"},{\"type\":\"json_schema\","
	 "\"json_schema\":true,\"style\":\"json\"}]}}",
	 {"null1", "null of 12", "nullx\"a\""},
	 {"null", "nul1"}},
	{"{\"format\":" TAG_AB "}", {"<a>\n</a>", "<a></</a>"}, {"<a>", "<a></a>x"}},
};

START_TEST(texts)
{
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g;
	const char *doc = cases[_i].doc;

	ck_assert_msg(lmi_grammar_from_structural_tag(&g, doc, strlen(doc), &err) == LMD_OK,
		      "%s: %s", doc, err.text);
	m = lmt_bytes_matcher(g);
	for (int k = 0; k < 9 && cases[_i].good[k]; k++)
		ck_assert_msg(lmt_bytes_accepts(m, cases[_i].good[k]), "%s rejects '%s'", doc,
			      cases[_i].good[k]);
	for (int k = 0; k < 9 && cases[_i].bad[k]; k++)
		ck_assert_msg(!lmt_bytes_accepts(m, cases[_i].bad[k]), "%s accepts '%s'", doc,
			      cases[_i].bad[k]);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
}
END_TEST

/* Returns whether the tokens are an answer.  Of the vocabulary, the first 256 tokens are bytes. */
static bool accepts_tokens(const struct lmi_grammar_matcher *m, const lmd_token *v, size_t n)
{
	struct lmi_grammar_state *s;
	bool good;

	ck_assert(lmi_gr_state_create(&s, (struct lmi_grammar_matcher *)m, &err) == LMD_OK);
	for (size_t i = 0; i < n; i++)
		if (lmi_gr_state_accept(s, v[i]) != LMD_OK) {
			lmi_gr_state_destroy(s);
			return false;
		}
	good = lmi_gr_state_may_end(s);
	lmi_gr_state_destroy(s);
	return good;
}

/* Begin, end and separator of tags can be tokens. */
START_TEST(tokens)
{
	static const char doc[] =
		"{\"format\":{\"type\":\"tags_with_separator\",\"separator\":" TOKEN("257") ",\"tags\":[{"
		"\"begin\":{\"type\":\"sequence\",\"elements\":[" TOKEN("258") "," TEXT("f") "]},"
		"\"content\":{\"type\":\"any_text\"},\"end\":" TOKEN("259") "}]}}";
	static const struct {
		lmd_token v[8];
		size_t n;
		bool good;
	} runs[] = {
		{{0}, 0, true},
		{{258, 'f', 259}, 3, true},
		{{258, 'f', 'a', '<', 259, 257, 258, 'f'}, 8, false},
		{{258, 'f', 259, 257, 258, 'f', 'x', 259}, 8, true},
		{{258, 'f', 'a'}, 3, false},
		{{'<', 't'}, 2, false}, /* the text of a token is not the token */
		{{258, 'g', 259}, 3, false},
		{{258, 'f', 258, 259}, 4, true}, /* in free text a token is its text */
	};
	struct lmi_grammar_vocab *vocab;
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g;

	ck_assert(lmi_gr_vocab_create(&vocab, &test_vocab, &err) == LMD_OK);
	ck_assert_msg(lmi_grammar_from_structural_tag(&g, doc, strlen(doc), &err) == LMD_OK, "%s",
		      err.text);
	ck_assert(lmi_gr_matcher_create(&m, &(struct lmi_gr_matcher_opts){.grammar = g, .vocab = vocab},
					&err) == LMD_OK);
	for (size_t i = 0; i < LMD_LEN(runs); i++)
		ck_assert_msg(accepts_tokens(m, runs[i].v, runs[i].n) == runs[i].good, "case %zu", i);
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
	lmi_gr_vocab_destroy(vocab);
}
END_TEST

/* Free text agrees with a search for the strings, over random texts of few letters. */
START_TEST(searches)
{
	static const char doc[] =
		"{\"format\":{\"type\":\"any_text\",\"excludes\":[\"abab\",\"bb\",\"babc\","
		"\"cac\"]}}";
	static const char *const words[] = {"abab", "bb", "babc", "cac"};
	struct lmi_grammar_matcher *m;
	struct lmi_grammar *g;
	uint32_t seed = 1;

	ck_assert(lmi_grammar_from_structural_tag(&g, doc, strlen(doc), &err) == LMD_OK);
	m = lmt_bytes_matcher(g);
	for (int i = 0; i < 2000; i++) {
		char text[13] = "";
		bool found = false;

		for (int k = 0; k < 12; k++) {
			seed = seed * 1664525u + 1013904223u;
			text[k] = "abc"[(seed >> 24) % 3];
		}
		text[seed % 13] = 0;
		for (size_t k = 0; k < LMD_LEN(words); k++)
			found |= strstr(text, words[k]) != NULL;
		ck_assert_msg(lmt_bytes_accepts(m, text) == !found, "%s", text);
	}
	lmi_gr_matcher_destroy(m);
	lmi_grammar_destroy(g);
}
END_TEST

static const struct {
	const char *doc, *why;
	enum lmd_status st;
} wrong[] = {
	{"{", "not JSON", LMD_CORRUPT},
	{"{\"a\":1,\"a\":2}", "duplicate", LMD_CORRUPT},
	{"[]", "must be an object", LMD_INVALID},
	{"{\"type\":\"x\"}", "'type' in structural_tag: must be \"structural_tag\"", LMD_INVALID},
	{"{}", "'format' in structural_tag: is missing", LMD_INVALID},
	{"{\"format\":{\"type\":\"qwen_xml_parameter\"}}", "'qwen_xml_parameter' is not supported",
	 LMD_INVALID},
	{"{\"format\":{\"type\":\"any_text\",\"x\":1}}", "'x' in any_text: is not a member",
	 LMD_INVALID},
	{"{\"format\":{\"type\":\"const_string\"}}", "'value' in const_string: must be a string",
	 LMD_INVALID},
	{"{\"format\":{\"type\":\"token\",\"token\":\"<a>\"}}", "must be the number of a token", LMD_INVALID},
	{"{\"format\":{\"type\":\"token\",\"token\":-1}}", "must be the number of a token", LMD_INVALID},
	{"{\"format\":{\"type\":\"token\",\"token\":2147483648}}", "must be the number of a token",
	 LMD_INVALID},
	{"{\"structures\":[{\"begin\":" TOKEN("5") ",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"<\"]}",
	 "the tag '' begins with none of the triggers", LMD_INVALID},
	{"{\"format\":{\"type\":\"or\",\"elements\":[]}}", "a list that is not empty", LMD_INVALID},
	{"{\"format\":{\"type\":\"regex\",\"pattern\":\"(\"}}", "'pattern' in regex: byte 1: expected ')'",
	 LMD_INVALID},
	{"{\"format\":{\"type\":\"json_schema\",\"json_schema\":{\"$ref\":\"#/x\"}}}",
	 "schema #/$ref: '$ref' does not resolve", LMD_INVALID},
	{"{\"structures\":[{\"begin\":\"<a>\",\"schema\":{},\"end\":\"\"}],\"triggers\":[]}",
	 "'triggers' in structural_tag: must be a list that is not empty", LMD_INVALID},
	{"{\"structures\":[{\"begin\":\"<a>\",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"\"]}",
	 "strings that are not empty", LMD_INVALID},
	{"{\"structures\":[{\"begin\":\"<a>\",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"<b\"]}",
	 "the tag '<a>' begins with none of the triggers", LMD_INVALID},
	{"{\"structures\":[{\"begin\":\"<a>\",\"schema\":{},\"end\":\"\"}],\"triggers\":[\"<\","
	 "\"b\"]}",
	 "no tag begins with the trigger 'b'", LMD_INVALID},
	{"{\"structures\":[],\"triggers\":[\"a\"]}", "'structures' in structural_tag", LMD_INVALID},
	{"{\"structures\":[{\"begin\":\"<a>\",\"end\":\"\"}],\"triggers\":[\"<\"]}",
	 "'content' in tag: is missing", LMD_INVALID},
	{"{\"format\":{\"type\":\"star\"}}", "'content' in star: is missing", LMD_INVALID},
	{"{\"format\":[]}", "an object whose 'type' is a string", LMD_INVALID},
	{"{\"format\":{\"type\":7}}", "an object whose 'type' is a string", LMD_INVALID},
	/* tags in lists are as strict as others */
	{"{\"structures\":[{\"begin\":\"<a>\",\"schema\":{},\"ends\":\"\",\"end\":\"\"}],"
	 "\"triggers\":[\"<\"]}",
	 "'ends' in tag: is not a member of this format", LMD_INVALID},
	{"{\"structures\":[{\"type\":\"regex\",\"begin\":\"<a>\",\"schema\":{},\"end\":\"\"}],"
	 "\"triggers\":[\"<\"]}",
	 "'type' in tag: must be \"tag\"", LMD_INVALID},
};

START_TEST(mistakes)
{
	struct lmi_grammar *g;
	enum lmd_status st = lmi_grammar_from_structural_tag(&g, wrong[_i].doc,
							     strlen(wrong[_i].doc), &err);

	ck_assert_msg(st == wrong[_i].st, "%s: %d, %s", wrong[_i].doc, st, err.text);
	ck_assert_msg(strstr(err.text, wrong[_i].why) != NULL, "%s: %s", wrong[_i].doc, err.text);
}
END_TEST

START_TEST(bounds)
{
	static char doc[32768];
	struct lmi_grammar *g;
	int n;

	n = snprintf(doc, sizeof(doc), "{\"format\":{\"type\":\"any_text\",\"excludes\":[\"%*d\"]}}",
		     LMI_GR_FREE_TEXT_CHARS_MAX + 1, 0);
	ck_assert_int_eq(lmi_grammar_from_structural_tag(&g, doc, (size_t)n, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, "more than 2048 characters") != NULL, "%s", err.text);
	n = snprintf(doc, sizeof(doc), "{\"format\":{\"type\":\"any_text\",\"excludes\":[\"%*d\"]}}",
		     LMI_GR_FREE_TEXT_CHARS_MAX, 0);
	ck_assert_int_eq(lmi_grammar_from_structural_tag(&g, doc, (size_t)n, &err), LMD_OK);
	lmi_grammar_destroy(g);
	for (int deep = 63; deep < 66; deep++) {
		n = snprintf(doc, sizeof(doc), "{\"format\":");
		for (int i = 0; i < deep; i++)
			n += snprintf(doc + n, sizeof(doc) - (size_t)n,
				      "{\"type\":\"optional\",\"content\":");
		n += snprintf(doc + n, sizeof(doc) - (size_t)n, TEXT("x"));
		for (int i = 0; i <= deep; i++)
			doc[n++] = '}';
		ck_assert_int_eq(lmi_grammar_from_structural_tag(&g, doc, (size_t)n, &err),
				 deep < 64 ? LMD_OK : LMD_INVALID);
		if (deep < 64)
			lmi_grammar_destroy(g);
	}
	ck_assert_msg(strstr(err.text, "nested more than 64 deep") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("structural_tag");
	Suite *s = suite_create("structural tags");

	tcase_add_checked_fixture(t, lmt_bytes_setup, lmt_bytes_teardown);
	tcase_add_loop_test(t, texts, 0, LMD_LEN(cases));
	tcase_add_test(t, tokens);
	tcase_add_test(t, searches);
	tcase_add_loop_test(t, mistakes, 0, LMD_LEN(wrong));
	tcase_add_test(t, bounds);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
