/* SPDX-License-Identifier: MIT
 *
 * The work of compiling a grammar or a schema grows at most linearly with its text, and both can be
 * cancelled. */
#include <stdlib.h>

#include "core/grammar/grammar.h"
#include "tests/linear_work.h"

/* The text of an input: see linear_work_text. */
struct source {
	const char *name, *head, *piece, *tail;
	bool schema;
};

static const struct source sources[] = {
	{"a string", "root ::= \"", "abcdefgh", "\"\n", false},
	{"characters", "root ::= \"", "\xce\xa3\xe2\x82\xac", "\"\n", false},
	{"a class", "root ::= [", "a-z0-9", "]\n", false},
	{"alternatives", "root ::= \"x\"", " | \"y%\" [a-z]", "\n", false},
	{"groups", "root ::= ", "(\"a\" | \"b\"? ) ", "\n", false},
	{"repetitions", "root ::= ", "[a-z]{2,9} ", "\n", false},
	{"rules", "root ::= \"a\" r1\n", "r% ::= \"a\" | [0-9]\n", "", false},
	{"calls", "root ::= r\nr ::= \"a\"\ns ::= ", "r ", "\n", false},
	{"blanks", "root ::= \"a\"", "        ", "\n", false},
	{"comments", "root ::= \"a\" # ", "comment ", "\n", false},
	{"a description", "{\"description\": \"", "text \\u00e9 ", "\"}", true},
	{"enum", "{\"enum\": [\"x\"", ", \"value %\"", "]}", true},
	{"numbers", "{\"enum\": [0", ", %", "]}", true},
	{"not enum", "{\"not\": {\"enum\": [\"x\"", ", \"value %\", %", "]}}", true},
	{"definitions", "{\"$defs\": {\"x\": {}", ", \"d%\": {\"type\": \"null\"}", "}}", true},
	{"references", "{\"anyOf\": [{\"$ref\": \"#/$defs/x\"}", ", {\"$ref\": \"#/$defs/x\"}",
	 "], \"$defs\": {\"x\": {\"type\": \"null\"}}}", true},
	{"unknown keywords", "{\"x\": 1", ", \"x%\": [1]", "}", true},
	{"items", "{\"prefixItems\": [{}", ", {\"type\": \"null\"}", "]}", true},
	{"required", "{\"properties\": {\"a\": {}}, \"required\": [\"a\"", ", \"a\"", "]}", true},
	{"blanks in a schema", "{", "        ", "}", true},
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

	st = s->schema ? lmi_grammar_from_schema(&g, text, bytes, &err)
		       : lmi_grammar_from_gbnf(&g, text, bytes, NULL, &err);
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

int main(void)
{
	Suite *s = suite_create("work");
	TCase *tc = tcase_create("work");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, grammars, 0, (int)LMD_LEN(sources));
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
