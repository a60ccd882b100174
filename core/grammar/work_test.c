/* SPDX-License-Identifier: MIT
 *
 * The work of compiling a grammar, a schema, a regular expression or a structural tag grows at most
 * linearly with its text, and all can be cancelled.  Keywords of schemas and types of formats come from
 * their tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grammar/grammar.h"
#include "core/grammar/schema.h"
#include "core/grammar/structural_tag_impl.h"
#include "tests/linear_work.h"

/* The text of an input: see linear_work_text. */
enum language { GBNF, SCHEMA, REGEX, TAG };

struct source {
	const char *name, *head, *piece, *tail;
	enum language language;
};

static const struct source sources[] = {
	{"a string", "root ::= \"", "abcdefgh", "\"\n", GBNF},
	{"characters", "root ::= \"", "\xce\xa3\xe2\x82\xac", "\"\n", GBNF},
	{"a class", "root ::= [", "a-z0-9", "]\n", GBNF},
	{"alternatives", "root ::= \"x\"", " | \"y%\" [a-z]", "\n", GBNF},
	{"groups", "root ::= ", "(\"a\" | \"b\"? ) ", "\n", GBNF},
	{"repetitions", "root ::= ", "[a-z]{2,9} ", "\n", GBNF},
	{"rules", "root ::= \"a\" r1\n", "r% ::= \"a\" | [0-9]\n", "", GBNF},
	{"calls", "root ::= r\nr ::= \"a\"\ns ::= ", "r ", "\n", GBNF},
	{"blanks", "root ::= \"a\"", "        ", "\n", GBNF},
	{"comments", "root ::= \"a\" # ", "comment ", "\n", GBNF},
	{"a description", "{\"description\": \"", "text \\u00e9 ", "\"}", SCHEMA},
	{"enum", "{\"enum\": [\"x\"", ", \"value %\"", "]}", SCHEMA},
	{"numbers", "{\"enum\": [0", ", %", "]}", SCHEMA},
	{"not enum", "{\"not\": {\"enum\": [\"x\"", ", \"value %\", %", "]}}", SCHEMA},
	{"definitions", "{\"$defs\": {\"x\": {}", ", \"d%\": {\"type\": \"null\"}", "}}", SCHEMA},
	{"references", "{\"anyOf\": [{\"$ref\": \"#/$defs/x\"}", ", {\"$ref\": \"#/$defs/x\"}",
	 "], \"$defs\": {\"x\": {\"type\": \"null\"}}}", SCHEMA},
	{"unknown keywords", "{\"x\": 1", ", \"x%\": [1]", "}", SCHEMA},
	{"items", "{\"prefixItems\": [{}", ", {\"type\": \"null\"}", "]}", SCHEMA},
	{"required", "{\"properties\": {\"a\": {}}, \"required\": [\"a\"", ", \"a\"", "]}", SCHEMA},
	{"blanks in a schema", "{", "        ", "}", SCHEMA},
	{"characters of a regex", "", "abcdefgh", "", REGEX},
	{"classes of a regex", "", "[a-z0-9]\\w", "", REGEX},
	{"one class of a regex", "[a", "b-z0-9\xce\xa3", "]", REGEX},
	{"alternatives of a regex", "x", "|y%", "", REGEX},
	{"groups of a regex", "", "(?:a|b+?)(c)?", "", REGEX},
	{"repetitions of a regex", "", "[a-z]{2,9}", "", REGEX},
	{"escapes of a regex", "", "\\u00e9\\x41\\n", "", REGEX},
};

/* The largest text is half as long as the harness asks for: 4 MiB are allowed. */
static enum lmd_status compile(const void *arg, size_t n)
{
	const struct source *s = arg;
	struct lmi_grammar *g = NULL;
	struct lmd_error err;
	enum lmd_status st;
	size_t bytes;
	size_t want = n / 2 > 600 ? n / 2 - 600 : 0;
	char *text = linear_work_text(s->head, s->piece, s->tail, want, &bytes);

	linear_work_begin();
	st = LMD_INVALID;
	switch (s->language) {
	case GBNF:
		st = lmi_grammar_from_gbnf(&g, text, bytes, NULL, &err);
		break;
	case SCHEMA:
		st = lmi_grammar_from_schema(&g, text, bytes, &err);
		break;
	case REGEX:
		st = lmi_grammar_from_regex(&g, text, bytes, &err);
		break;
	case TAG:
		st = lmi_grammar_from_structural_tag(&g, text, bytes, &err);
		break;
	}
	if (st == LMD_OK)
		lmi_grammar_destroy(g);
	free(text);
	return st;
}

START_TEST(grammars)
{
	linear_work_check(sources[_i].name, compile, &sources[_i]);
	linear_work_check_counted(sources[_i].name, compile, &sources[_i]);
}
END_TEST

/* Loop test: one form of the value each. */
START_TEST(keywords)
{
	static const struct {
		const char *head, *piece, *tail;
	} forms[] = {
		{"\"", "a-z|b ", "\"}"},
		{"[\"x\"", ", \"value %\"", "]}"},
		{"[{}", ", {\"type\": \"string\"}", "]}"},
		{"{\"a\": {}", ", \"b%\": {\"type\": \"string\"}", "}}"},
		{"", "9", "}"},
	};
	const char *keyword;

	for (size_t i = 0; (keyword = lmi_gr_schema_keyword(i)); i++) {
		char head[100], name[100];
		struct source s = {.name = name,
				   .head = head,
				   .piece = forms[_i].piece,
				   .tail = forms[_i].tail,
				   .language = SCHEMA};

		(void)snprintf(head, sizeof(head), "{\"%s\": %s", keyword, forms[_i].head);
		(void)snprintf(name, sizeof(name), "%s with %s", keyword, forms[_i].piece);
		linear_work_check(name, compile, &s);
	}
}
END_TEST

/* One growing member for each type of formats; a list has at most 256 elements. */
static const struct {
	const char *type, *head, *piece, *tail;
} tags[] = {
	{"const_string", "\"value\": \"", "abcdefgh", "\""},
	{"token", "\"token\": ", "1", ""},
	{"json_schema", "\"json_schema\": {\"enum\": [0", ", \"value %\"", "]}"},
	{"regex", "\"pattern\": \"", "(ab|[c-z]+)", "\""},
	{"any_text", "\"excludes\": [\"", "abcdefgh", "\"]"},
	{"sequence", "\"elements\": [{\"type\": \"const_string\", \"value\": \"", "abcdefgh",
	 "\"}]"},
	{"or", "\"elements\": [{\"type\": \"const_string\", \"value\": \"", "abcdefgh", "\"}]"},
	{"optional", "\"content\": {\"type\": \"regex\", \"pattern\": \"", "a|b", "\"}"},
	{"star", "\"content\": {\"type\": \"regex\", \"pattern\": \"", "a|b", "\"}"},
	{"plus", "\"content\": {\"type\": \"regex\", \"pattern\": \"", "a|b", "\"}"},
	{"tag", "\"end\": \"x\", \"content\": {\"type\": \"any_text\"}, \"begin\": \"", "abcdefgh",
	 "\""},
	{"triggered_tags", "\"tags\": [], \"triggers\": [\"", "abcdefgh", "\"]"},
	{"tags_with_separator", "\"tags\": [], \"separator\": \"", "abcdefgh", "\""},
};

START_TEST(types_of_tags)
{
	const char *type;

	for (size_t i = 0; (type = lmi_gr_tags_type(i)); i++) {
		size_t k = 0;
		char head[300], tail[100];
		struct source s = {.name = type, .head = head, .tail = tail, .language = TAG};

		while (k < LMD_LEN(tags) && strcmp(tags[k].type, type) != 0)
			k++;
		ck_assert_msg(k < LMD_LEN(tags), "no text for formats of type %s", type);
		s.piece = tags[k].piece;
		(void)snprintf(head, sizeof(head),
			       "{\"type\": \"structural_tag\", \"format\": {\"type\": \"%s\", %s",
			       type, tags[k].head);
		(void)snprintf(tail, sizeof(tail), "%s}}", tags[k].tail);
		linear_work_check(type, compile, &s);
		linear_work_check_counted(type, compile, &s);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("work");
	TCase *tc = tcase_create("work");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, grammars, 0, (int)LMD_LEN(sources));
	tcase_add_loop_test(tc, keywords, 0, 5);
	tcase_add_test(tc, types_of_tags);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
