/* SPDX-License-Identifier: MIT
 *
 * JSON schemas: which texts they accept and reject, which schemas are rejected, and ranges of
 * integers number by number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/byte_fixture.h"
#include "tests/lmd_check.h"

static struct lmd_error err;

struct checker {
	struct lmi_grammar *g;
	struct lmi_grammar_matcher *m;
};

static void compile(struct checker *c, const char *schema)
{
	ck_assert_msg(lmi_grammar_from_schema(&c->g, schema, strlen(schema), &err) == LMD_OK,
		      "%s: %s", schema, err.text);
	c->m = lmt_bytes_matcher(c->g);
}

static bool takes(struct checker *c, const char *text)
{
	return lmt_bytes_accepts(c->m, text);
}

static void release(struct checker *c)
{
	lmi_gr_matcher_destroy(c->m);
	lmi_grammar_destroy(c->g);
}

/* A schema, texts that it accepts, and texts that it rejects; NULL ends each list. */
static const struct {
	const char *schema, *good[8], *bad[8];
} cases[] = {
	{"true", {"1", "\"x\"", "{\"a\": [null, 1.5e3]}"}, {"", "x", "[1,]"}},
	{"{}", {"null", "[]", "{}"}, {"nul"}},
	{"false", {NULL}, {"1", "null", ""}},
	{"{\"minLength\": 2}", {"5", "\"ab\""}, {"\"a\""}},
	{"{\"type\": \"integer\", \"minimum\": 2.5, \"exclusiveMaximum\": 5}",
	 {"3", "4"},
	 {"2", "5", "03", "3.0"}},
	{"{\"type\": \"integer\", \"minimum\": 3, \"exclusiveMinimum\": true}", {"4", "30"}, {"3"}},
	{"{\"type\": \"integer\", \"minimum\": 1e30}", {NULL}, {"1"}},
	{"{\"type\": \"integer\", \"maximum\": 1e30}", {"1", "-1"}, {"1.5"}},
	{"{\"type\": \"number\", \"minimum\": 5, \"maximum\": 3}", {NULL}, {"4"}},
	{"{\"type\": [\"integer\", \"number\"]}", {"1", "1.5"}, {"true"}},
	/* objects */
	{"{\"properties\": {\"a\": true, \"b\": {\"type\": \"null\"}}, \"required\": [\"b\"]}",
	 {"{\"b\":null}", "{\"a\": 1, \"b\": null}", "{\"b\":null,\"a\":[]}"},
	 {"{}", "{\"a\":1}", "{\"b\":null,\"c\":1}", "{\"a\":1,\"b\":null,\"a\":1}"}},
	{"{\"properties\": {\"ab\": {\"type\": \"null\"}}, \"additionalProperties\": "
	 "{\"type\": \"integer\"}}",
	 {"{\"ab\":null,\"a\":1}", "{\"abc\":1}", "{\"\":1}", "{\"\\u0061\":1}",
	  "{\"b\":1,\"ac\":2}"},
	 {"{\"ab\":1}", "{\"a\\u0062\":1}", "{\"a\":null}", "{\"a\\u0062\":null}"}},
	{"{\"properties\": {\"a\\n\": {\"type\": \"null\"}}, \"additionalProperties\": true}",
	 {"{\"a\\n\":null}", "{\"a\\t\":5}", "{\"a\":5}"},
	 {"{\"a\\n\":5}", "{\"a\\u000A\":5}", "{\"a\\u000a\":5}"}},
	{"{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 2}",
	 {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
	 {"{}", "{\"a\":1,\"b\":2,\"c\":3}"}},
	{"{\"type\": \"object\", \"additionalProperties\": false}", {"{}", "{ }"}, {"{\"a\":1}"}},
	{"{\"properties\": {\"a\": false, \"b\": true}}", {"{}", "{\"b\":1}"}, {"{\"a\":1}"}},
	{"{\"properties\": {\"a\": false}, \"required\": [\"a\"]}", {NULL}, {"{}", "{\"a\":1}"}},
	{"{\"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"z\"]}",
	 {"{\"z\":\"any\"}", "{\"a\":1,\"z\":2}"},
	 {"{\"a\":1}"}},
	{"{\"type\": \"object\", \"required\": [\"a\", \"b\"]}",
	 {"{\"a\":1,\"b\":2}", "{\"b\":2,\"x\":0,\"a\":1,\"y\":[]}", "{\"aa\":1,\"a\":1,\"b\":1}"},
	 {"{}", "{\"a\":1}", "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":1,\"bb\":2}"}},
	{"{\"type\": \"object\", \"required\": [\"a\"], \"additionalProperties\": "
	 "{\"type\": \"null\"}}",
	 {"{\"a\":null}", "{\"b\":null,\"a\":null}"},
	 {"{\"a\":1}", "{\"b\":null}"}},
	{"{\"type\": \"object\", \"required\": [\"a\"], \"additionalProperties\": false}",
	 {NULL},
	 {"{}", "{\"a\":1}"}},
	{"{\"properties\": {\"a\": true, \"b\": true}, \"required\": [\"a\"], \"min"
	 "Properties\": 1, \"maxProperties\": 2}",
	 {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
	 {"{}", "{\"b\":1}"}},
	{"{\"type\": \"object\", \"unevaluatedProperties\": false}",
	 {"{}"},
	 {"{\"a\":1}"}},
	{"{\"properties\": {\"a\": true}, \"unevaluatedProperties\": {\"type\": "
	 "\"null\"}}",
	 {"{\"a\":1}", "{\"a\":1,\"b\":null}"},
	 {"{\"b\":1}"}},
	/* annotations, and keywords that allow everything where they stand */
	{"{\"type\": \"integer\", \"multipleOf\": 1, \"title\": \"t\", \"default\": "
	 "1, \"then\": false, \"x-own\": {\"not\": 1}}",
	 {"1"},
	 {"1.5"}},
	{"{\"type\": \"array\", \"uniqueItems\": false, \"unevaluatedItems\": tr"
	 "ue}",
	 {"[1,1]"},
	 {"1"}},
	{"{\"type\": \"object\", \"patternProperties\": {}, \"propertyNames\": t"
	 "rue, \"dependentRequired\": {}}",
	 {"{\"a\":1}"},
	 {"1"}},
	{"{\"type\": \"integer\", \"if\": {\"minimum\": 3}, \"then\": {\"minimum\": "
	 "3}}",
	 {"1"},
	 {"null"}},
	{"{\"properties\": {\"a\": {\"type\": \"null\"}}, \"$defs\": {\"unused\": {\""
	 "not\": {}}}}",
	 {"{\"a\":null}"},
	 {"{\"a\":1}"}},
	{"{\"type\": \"integer\", \"minLength\": 3, \"pattern\": \"^a\"}",
	 {"1"},
	 {"\"abc\""}},
	/* excluded types */
	{"{\"not\": {\"type\": \"string\"}}",
	 {"1", "[\"x\"]", "null"},
	 {"\"x\""}},
	{"{\"not\": {\"type\": [\"number\", \"null\"]}, \"enum\": [1, null, true, "
	 "\"a\"]}",
	 {"true", "\"a\""},
	 {"1", "null"}},
	{"{\"type\": \"integer\", \"not\": {\"type\": \"number\"}}",
	 {NULL},
	 {"1"}},
	{"{\"enum\": [3, 4], \"minimum\": 3, \"exclusiveMinimum\": true}",
	 {"4"},
	 {"3"}},
	/* complements */
	{"{\"not\": {\"not\": {\"type\": \"integer\"}}}", {"1"}, {"1.5", "null"}},
	{"{\"not\": true}", {NULL}, {"1", "null"}},
	{"{\"not\": {\"enum\": [\"a\", \"bc\", 3, 5.0, true, null]}}",
	 {"\"ab\"", "\"\"", "4", "3.5", "-3", "false", "[]", "{\"a\":1}"},
	 {"\"a\"", "\"b\\u0063\"", "3", "3.0", "5", "true", "null"}},
	{"{\"type\": \"integer\", \"not\": {\"const\": 0}, \"maximum\": 9}",
	 {"1", "-1", "9"},
	 {"0", "10", "null"}},
	{"{\"type\": \"string\", \"not\": {\"const\": \"a\"}}",
	 {"\"b\"", "\"aa\""},
	 {"\"a\"", "1"}},
	{"{\"enum\": [\"a\", \"b\", 1, 2], \"not\": {\"enum\": [\"b\", 2]}}",
	 {"\"a\"", "1"},
	 {"\"b\"", "2"}},
	{"{\"type\": \"string\", \"not\": {\"minLength\": 2, \"title\": \"t\"}}",
	 {"\"\"", "\"a\""},
	 {"\"ab\"", "1"}},
	{"{\"type\": \"array\", \"not\": {\"maxItems\": 1}}", {"[1,2]"}, {"[]", "[1]"}},
	{"{\"type\": \"number\", \"not\": {\"minimum\": 2, \"maximum\": 4}}",
	 {"1.5", "4.1", "-7"},
	 {"2", "3", "4"}},
	{"{\"type\": \"object\", \"not\": {\"required\": [\"a\"]}}",
	 {"{}", "{\"b\":1}", "{\"aa\":1}"},
	 {"{\"a\":1}", "{\"b\":1,\"a\":1}", "{\"\\u0061\":1}"}},
	{"{\"properties\": {\"a\": true, \"b\": true}, \"not\": {\"required\": [\"a\", \"b\"]}}",
	 {"{}", "{\"a\":1}", "{\"b\":1}"},
	 {"{\"a\":1,\"b\":1}", "{\"c\":1}"}},
	{"{\"type\": \"object\", \"properties\": {\"k\": {\"type\": \"string\"}}, \"required\": "
	 "[\"k\"], \"not\": {\"properties\": {\"k\": {\"const\": \"x\"}}, \"required\": "
	 "[\"k\"]}}",
	 {"{\"k\":\"y\"}"},
	 {"{\"k\":\"x\"}", "{}", "{\"k\":1}", "{\"k\":\"y\",\"z\":1}"}},
	{"{\"type\": [\"integer\", \"null\"], \"not\": {\"anyOf\": [{\"const\": 1}, {\"type\": "
	 "\"null\"}]}}",
	 {"2"},
	 {"1", "null"}},
	{"{\"type\": [\"integer\", \"null\"], \"not\": {\"allOf\": [{\"minimum\": 1}, {\"maximum\": "
	 "3}]}}",
	 {"0", "4"},
	 {"1", "3"}},
	{"{\"type\": \"integer\", \"if\": {\"minimum\": 3}, \"then\": {\"maximum\": 9}, \"else\": "
	 "{\"minimum\": 0}}",
	 {"0", "2", "3", "9"},
	 {"-1", "10"}},
	{"{\"type\": \"object\", \"properties\": {\"k\": {\"enum\": [\"a\", \"b\"]}, \"x\": true, "
	 "\"y\": true}, \"required\": [\"k\"], \"if\": {\"properties\": {\"k\": {\"const\": "
	 "\"a\"}}}, \"then\": {\"required\": [\"x\"]}, \"else\": {\"required\": [\"y\"]}}",
	 {"{\"k\":\"a\",\"x\":1}", "{\"k\":\"b\",\"y\":1}", "{\"k\":\"a\",\"x\":1,\"y\":2}"},
	 {"{\"k\":\"a\"}", "{\"k\":\"a\",\"y\":1}", "{\"k\":\"b\",\"x\":1}",
	  "{\"k\":\"a\",\"x\":1,\"z\":1}"}},
	{"{\"properties\": {\"a\": true, \"b\": true}, \"dependentRequired\": {\"a\": [\"b\"]}}",
	 {"{}", "{\"b\":1}", "{\"a\":1,\"b\":1}"},
	 {"{\"a\":1}"}},
	{"{\"properties\": {\"a\": true, \"b\": true}, \"dependencies\": {\"a\": {\"properties\": "
	 "{\"b\": {\"type\": \"null\"}}}}}",
	 {"{\"b\":1}", "{\"a\":1,\"b\":null}", "{\"a\":1}"},
	 {"{\"a\":1,\"b\":1}"}},
	{"{\"maximum\": 100000000000000000000}", {"1"}, {"1e21"}},
	/* members by pattern */
	{"{\"type\": \"object\", \"patternProperties\": {\"^x-\": {\"type\": \"integer\"}}}",
	 {"{}", "{\"x-\":1}", "{\"x-a\":1,\"x-b\":2}"},
	 {"{\"a\":1}", "{\"x-a\":null}", "{\"x\":1}"}},
	{"{\"properties\": {\"id\": {\"type\": \"null\"}}, \"required\": [\"id\"], "
	 "\"patternProperties\": {\"^a\": {\"type\": \"integer\"}, \"^b\": {\"type\": "
	 "\"boolean\"}}, \"additionalProperties\": false}",
	 {"{\"id\":null}", "{\"id\":null,\"a\":1,\"b\":true}"},
	 {"{\"a\":1}", "{\"id\":null,\"a\":true}", "{\"id\":null,\"c\":1}"}},
	{"{\"patternProperties\": {\"[0-9]$\": {}}, \"minProperties\": 1, \"maxProperties\": 2}",
	 {"{\"a1\":1}", "{\"1\":1,\"2\":2}"},
	 {"{}", "{\"a\":1}", "{\"1\":1,\"2\":2,\"3\":3}"}},
	{"{\"allOf\": [{\"patternProperties\": {\"^a\": {}}}, {\"additionalProperties\": false}]}",
	 {"{}"},
	 {"{\"a\":1}"}},
	{"{\"patternProperties\": {\"^a\": false}, \"additionalProperties\": false}",
	 {"{}"},
	 {"{\"a\":1}"}},
	/* arrays */
	{"{\"prefixItems\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}",
	 {"[1,null]", "[1, null]"},
	 {"[]", "[1]", "[1,null,2]", "[null,1]"}},
	{"{\"prefixItems\": [{\"type\": \"integer\"}], \"items\": {\"type\": \"null\"}, "
	 "\"minItems\": 0, \"maxItems\": 3}",
	 {"[]", "[1]", "[1,null,null]"},
	 {"[null]", "[1,null,null,null]", "[1,1]"}},
	{"{\"items\": [{\"type\": \"integer\"}], \"additionalItems\": {\"type\": \"null\"}}",
	 {"[1]", "[1,null]"},
	 {"[1,1]"}},
	{"{\"items\": false}", {"[]"}, {"[1]"}},
	{"{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 1}", {NULL}, {"[]", "[1]", "[1,2]"}},
	/* combinations */
	{"{\"allOf\": [{\"type\": [\"integer\", \"null\"]}, {\"type\": \"number\"}], \"maximum\": "
	 "3}",
	 {"3", "-7"},
	 {"4", "null", "1.5"}},
	{"{\"type\": \"object\", \"properties\": {\"a\": true}, \"anyOf\": [{\"properties\": "
	 "{\"b\": {\"const\": 1}}}, {\"properties\": {\"c\": {\"const\": 2}}}]}",
	 {"{\"a\":0,\"b\":1}", "{\"a\":0,\"c\":2}", "{}"},
	 {"{\"b\":1,\"c\":2}", "{\"b\":2}"}},
	{"{\"oneOf\": [{\"enum\": [1, 2]}, {\"enum\": [\"x\"]}], \"type\": \"integer\"}",
	 {"1", "2"},
	 {"\"x\""}},
	{"{\"enum\": [1, 2.5, 3.0, \"ab\", \"abc\", [1, {\"k\": null}]], \"maxLength\": 2, "
	 "\"minimum\": 2}",
	 {"2.5", "3", "3.0", "\"ab\"", "[1,{\"k\":null}]", "[1, {\"k\": null}]"},
	 {"1", "\"abc\"", "2.50"}},
	{"{\"const\": 1, \"enum\": [1, 2]}", {"1"}, {"2"}},
	/* references */
	{"{\"type\": \"object\", \"properties\": {\"kids\": {\"items\": {\"$ref\": \"#\"}}}}",
	 {"{\"kids\":[{},{\"kids\":[]}]}"},
	 {"{\"kids\":[1]}"}},
	{"{\"$ref\": \"#/$defs/a~1b%20c\", \"$defs\": {\"a/b c\": {\"$anchor\": \"x\", "
	 "\"type\": \"array\", \"items\": {\"anyOf\": [{\"$ref\": \"#x\"}, {\"type\": "
	 "\"null\"}]}}}}",
	 {"[null,[[],null]]"},
	 {"[1]"}},
	{"{\"$defs\": {\"n\": {\"type\": \"integer\"}}, \"$ref\": \"#/$defs/n\", \"minimum\": 7}",
	 {"7"},
	 {"6"}},
	/* strings */
	{"{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 2}",
	 {"\"a\"", "\"\xF0\x9F\x98\x80\xC3\xA9\"", "\"\\n\\u0041\""},
	 {"\"\"", "\"abc\""}},
	{"{\"pattern\": \"^(?:a|b[^c\\\\d]|\\\\x41\\\\u{1F600}){2}$\"}",
	 {"\"aa\"", "\"bxa\"",
	  "\"A\xF0\x9F\x98\x80"
	  "a\""},
	 {"\"a\"", "\"bca\"", "\"b1a\"", "\"aaa\""}},
	{"{\"pattern\": \"^\\\"\\\\\\\\\\\\n$\"}", {"\"\\\"\\\\\\n\""}, {"\"\"", "\"\\\"\\\\n\""}},
	{"{\"pattern\": \"a|^b|c$\"}",
	 {"\"xay\"", "\"by\"", "\"xc\""},
	 {"\"xb\"", "\"cx\"", "\"\""}},
	{"{\"pattern\": \"^[\\\\w-]+?@(?<host>[a-z]*)\\\\.[a-z]{2,}$\"}",
	 {"\"a-b@x.de\""},
	 {"\"a@x.d\"", "\"@x.de\""}},
	{"{\"format\": \"date\"}",
	 {"\"2024-02-29\"", "\"1999-12-31\""},
	 {"\"2024-02-30\"", "\"2024-04-31\"", "\"2024-00-10\""}},
	{"{\"format\": \"time\"}",
	 {"\"23:59:59Z\"", "\"00:00:00.5+02:00\""},
	 {"\"24:00:00Z\"", "\"1:2:3Z\""}},
	{"{\"format\": \"ipv4\"}",
	 {"\"255.0.10.199\""},
	 {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""}},
	{"{\"format\": \"unheard-of\", \"maxLength\": 3}", {"\"abc\""}, {"\"abcd\"", "1"}},
};

START_TEST(verdicts)
{
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct checker c;

		compile(&c, cases[i].schema);
		for (size_t k = 0; k < 8 && cases[i].good[k]; k++)
			ck_assert_msg(takes(&c, cases[i].good[k]), "%s should accept %s",
				      cases[i].schema, cases[i].good[k]);
		for (size_t k = 0; k < 8 && cases[i].bad[k]; k++)
			ck_assert_msg(!takes(&c, cases[i].bad[k]), "%s should reject %s",
				      cases[i].schema, cases[i].bad[k]);
		release(&c);
	}
}
END_TEST

START_TEST(refusals)
{
	static const struct {
		const char *schema, *why;
		enum lmd_status st;
	} t[] = {
		{"{", "schema: JSON, byte 1", LMD_CORRUPT},
		{"5", "schema #: a schema must be an object or a boolean, not integer",
		 LMD_INVALID},
		{"{\"type\": \"frob\"}", "schema #/type: unknown type 'frob'", LMD_INVALID},
		{"{\"type\": []}", "'type' is empty", LMD_INVALID},
		{"{\"type\": [1]}", "schema #/type/0: a type name must be a string, not integer",
		 LMD_INVALID},
		{"{\"properties\": {\"a\": {\"items\": 5}}}",
		 "schema #/properties/a/items: a schema", LMD_INVALID},
		{"{\"properties\": []}", "'properties' has the wrong type: array", LMD_INVALID},
		{"{\"type\": \"object\", \"required\": [1]}", "#/required/0", LMD_INVALID},
		{"{\"$ref\": \"#/nowhere\"}", "does not resolve: #/nowhere", LMD_INVALID},
		{"{\"$ref\": \"http://x/y\"}", "does not resolve: http://x/y", LMD_INVALID},
		{"{\"$ref\": \"#\"}", "refers to itself", LMD_INVALID},
		{"{\"anyOf\": []}", "'anyOf' is empty", LMD_INVALID},
		{"{\"enum\": []}", "'enum' is empty", LMD_INVALID},
		{"{\"type\": \"string\", \"minLength\": -1}",
		 "'minLength' is not a non-negative integer", LMD_INVALID},
		{"{\"type\": \"string\", \"minLength\": 3000}", "at most 2000", LMD_INVALID},
		{"{\"type\": \"integer\", \"minimum\": \"1\"}",
		 "'minimum' has the wrong type: string", LMD_INVALID},
		{"{\"pattern\": \"a(\"}", "#/pattern: pattern, byte 2: expected ')'",
		 LMD_INVALID},
		{"{\"pattern\": \"[b-a]\"}", "wrong order", LMD_INVALID},
		{"{\"pattern\": \"a{3,2}\"}", "below the minimum", LMD_INVALID},
		{"{\"pattern\": \"*\"}", "nothing to repeat", LMD_INVALID},
		{"{\"pattern\": \"a)\"}", "')' without '('", LMD_INVALID},
		{"{\"pattern\": \"(?=a)\"}", "look-ahead", LMD_UNSUPPORTED},
		{"{\"pattern\": \"(a)\\\\1\"}", "back references", LMD_UNSUPPORTED},
		{"{\"pattern\": \"\\\\bword\"}", "word boundaries", LMD_UNSUPPORTED},
		{"{\"pattern\": \"\\\\p{L}\"}", "Unicode property classes", LMD_UNSUPPORTED},
		{"{\"pattern\": \"a^b\"}", "^ and $ are supported only", LMD_UNSUPPORTED},
		/* keywords that an answer could violate */
		{"{\"properties\": {\"a\": {\"multipleOf\": 3}}}",
		 "schema #/properties/a/multipleOf: 'multipleOf' is not supported",
		 LMD_UNSUPPORTED},
		{"{\"type\": \"integer\", \"multipleOf\": 2}",
		 "#/multipleOf", LMD_UNSUPPORTED},
		{"{\"items\": {\"uniqueItems\": true}}",
		 "#/items/uniqueItems: 'uniqueItems' is not", LMD_UNSUPPORTED},
		{"{\"contains\": {\"type\": \"null\"}}",
		 "#/contains", LMD_UNSUPPORTED},
		{"{\"patternProperties\": {\"^a\": true}, \"additionalProperties\": true}",
		 "'patternProperties' is not supported where members", LMD_UNSUPPORTED},
		{"{\"patternProperties\": {\"^a\": {\"type\": \"null\"}, \"b$\": true}}",
		 "#/patternProperties/b$: not supported, because a key", LMD_UNSUPPORTED},
		{"{\"properties\": {\"ab\": true}, \"patternProperties\": {\"^a\": true}}",
		 "#/patternProperties/^a: not supported, because the pattern could match the name "
		 "'ab'", LMD_UNSUPPORTED},
		{"{\"patternProperties\": {\"a(\": true}}", "expected ')'", LMD_INVALID},
		{"{\"patternProperties\": []}", "'patternProperties' has the wrong type: array",
		 LMD_INVALID},
		{"{\"const\": {\"a\": 1}, \"patternProperties\": {\"^b\": true}}",
		 "#/patternProperties: 'patternProperties' is not supported for values",
		 LMD_UNSUPPORTED},
		{"{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", "duplicate object key", LMD_INVALID},
		{"{\"propertyNames\": {\"maxLength\": 3}}",
		 "#/propertyNames", LMD_UNSUPPORTED},
		{"{\"dependencies\": 5}", "#/dependencies", LMD_UNSUPPORTED},
		{"{\"not\": {\"type\": \"integer\"}}",
		 "#/not", LMD_UNSUPPORTED},
		{"{\"not\": {\"pattern\": \"^a\"}}", "#/not: 'not'", LMD_UNSUPPORTED},
		{"{\"not\": {\"$ref\": \"#/$defs/a\"}}", "#/not: 'not'", LMD_UNSUPPORTED},
		{"{\"not\": {\"enum\": [[1]]}}", "#/not: 'not'", LMD_UNSUPPORTED},
		{"{\"not\": {\"anyOf\": [{\"const\": 1}, {\"format\": \"date\"}]}}", "#/not: 'not'",
		 LMD_UNSUPPORTED},
		{"{\"type\": \"string\", \"not\": {\"const\": \"a\"}, \"maxLength\": 3}",
		 "'maxLength' is not supported where 'not' excludes strings", LMD_UNSUPPORTED},
		{"{\"if\": {\"multipleOf\": 3}, \"then\": {\"maximum\": 9}}",
		 "#/if: 'if'", LMD_UNSUPPORTED},
		{"{\"allOf\": [true], \"unevaluatedProperties\": false}",
		 "#/unevaluatedProperties", LMD_UNSUPPORTED},
		{"{\"unevaluatedItems\": false}",
		 "#/unevaluatedItems", LMD_UNSUPPORTED},
		{"{\"$dynamicRef\": \"#x\"}",
		 "#/$dynamicRef", LMD_UNSUPPORTED},
		{"{\"allOf\": [{\"anyOf\": [{\"uniqueItems\": true}]}]}",
		 "#/allOf/0/anyOf/0/uniqueItems", LMD_UNSUPPORTED},
		{"{\"pattern\": \"^a\", \"maxLength\": 3}",
		 "#/maxLength: 'maxLength' is not supported beside", LMD_UNSUPPORTED},
		{"{\"format\": \"date\", \"pattern\": \"^2\"}",
		 "#/format: 'format' is not supported beside", LMD_UNSUPPORTED},
		{"{\"allOf\": [{\"pattern\": \"a\"}, {\"pattern\": \"b\"}]}",
		 "#/allOf/1/pattern", LMD_UNSUPPORTED},
		{"{\"enum\": [\"a\"], \"pattern\": \"^b\"}",
		 "#/pattern: 'pattern' is not supported for values", LMD_UNSUPPORTED},
		{"{\"const\": {\"a\": 1}, \"required\": [\"b\"]}",
		 "#/required", LMD_UNSUPPORTED},
		{"{\"properties\": {\"a\": true}, \"minProperties\": 1}",
		 "#/minProperties", LMD_UNSUPPORTED},
		{"{\"properties\": {\"a\": true, \"b\": true}, \"maxProperties\": 1}",
		 "#/maxProperties", LMD_UNSUPPORTED},
		{"{\"required\": [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]}",
		 "#/required: more than 5", LMD_UNSUPPORTED},
		{"{\"type\": \"number\", \"minimum\": 1e-30}",
		 "closer to 0 than 1e-20", LMD_UNSUPPORTED},
		{"{\"type\": \"number\", \"exclusiveMinimum\": 1e300}",
		 "beyond 1e19", LMD_UNSUPPORTED},
	};
	struct lmi_grammar *g;

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		enum lmd_status st =
			lmi_grammar_from_schema(&g, t[i].schema, strlen(t[i].schema), &err);

		ck_assert_msg(st == t[i].st, "%s: %d: %s", t[i].schema, st, err.text);
		ck_assert_msg(strstr(err.text, t[i].why), "%s: %s", t[i].schema, err.text);
	}
}
END_TEST

/* Compares every number near the bounds of ranges with plain comparison. */
START_TEST(ranges)
{
	static const int ends[] = {-1000, -999, -101, -100, -99, -11, -10, -9,  -1,  0,
				   1,     9,    10,   11,   99,  100, 109, 990, 1000};
	unsigned n = 0;

	for (size_t a = 0; a < LMD_LEN(ends); a++) {
		for (size_t b = a; b < LMD_LEN(ends); b++) {
			struct checker c;
			char s[128];

			snprintf(s, sizeof(s),
				 "{\"type\": \"integer\", \"minimum\": %d, \"maximum\": %d}",
				 ends[a], ends[b]);
			compile(&c, s);
			for (int v = -1201; v <= 1201; v += v > -120 && v < 120 ? 1 : 27) {
				char text[16];

				snprintf(text, sizeof(text), "%d", v);
				ck_assert_msg(takes(&c, text) == (v >= ends[a] && v <= ends[b]),
					      "%s: %d", s, v);
				n++;
			}
			release(&c);
		}
	}
	printf("numbers in ranges: %u\n", n);
}
END_TEST

/* Compares decimal numbers near the bounds of ranges with plain comparison. */
START_TEST(decimal_ranges)
{
	static const char *const ends[] = {"-1000.5", "-10", "-9.75", "-2",  "-0.1",    "-0.05",
					   "0",       "0.05", "0.1",  "0.999", "1",     "1.25",
					   "9.99",    "10",  "10.01", "99",  "123.456", "5e2"};
	static const char *const whole[] = {"0",  "1",   "2",   "5",   "9",   "10",  "11",  "99",
					    "100", "123", "124", "500", "999", "1000", "1001"};
	static const char *const frac[] = {"",     ".0",   ".00",  ".01",   ".04",  ".05", ".050",
					   ".06",  ".09",  ".1",   ".10",   ".11",  ".2",  ".25",
					   ".249", ".251", ".4",   ".45",   ".456", ".4560",
					   ".457", ".5",   ".51",  ".49",   ".74",  ".75", ".76",
					   ".9",   ".99",  ".991", ".999",  ".9991"};
	unsigned n = 0;

	for (size_t a = 0; a < LMD_LEN(ends); a++) {
		for (size_t b = a; b < LMD_LEN(ends); b++) {
			double lo = atof(ends[a]), hi = atof(ends[b]);
			bool strict = (a + b) % 2, only_lo = b == LMD_LEN(ends) - 1;
			struct checker c;
			char s[160];

			if (a == b && strict)
				continue;
			snprintf(s, sizeof(s), "{\"type\": \"number\", \"%s\": %s, \"%s\": %s}",
				 strict ? "exclusiveMinimum" : "minimum", ends[a],
				 only_lo  ? "title"
				 : strict ? "exclusiveMaximum"
					  : "maximum",
				 ends[b]);
			compile(&c, s);
			for (size_t i = 0; i < 2 * LMD_LEN(whole) * LMD_LEN(frac); i++) {
				char text[32];
				double v;

				snprintf(text, sizeof(text), "%s%s%s", i % 2 ? "-" : "",
					 whole[i / 2 % LMD_LEN(whole)],
					 frac[i / 2 / LMD_LEN(whole)]);
				v = atof(text);
				if (v == 0 && i % 2)
					continue; /* -0 need not be accepted */
				ck_assert_msg(takes(&c, text) ==
						      ((strict ? v > lo : v >= lo) &&
						       (only_lo || (strict ? v < hi : v <= hi))),
					      "%s: %s", s, text);
				n++;
			}
			ck_assert(!takes(&c, "1.") && !takes(&c, "01") && !takes(&c, "1e1") &&
				  !takes(&c, ""));
			release(&c);
		}
	}
	printf("decimal numbers in ranges: %u\n", n);
}
END_TEST

START_TEST(wide_ranges)
{
	struct checker c;

	compile(&c, "{\"type\": \"integer\", \"minimum\": -9223372036854775808, \"maximum\": "
		    "9223372036854775807}");
	ck_assert(takes(&c, "-9223372036854775808") && takes(&c, "9223372036854775807"));
	ck_assert(!takes(&c, "-9223372036854775809") && !takes(&c, "9223372036854775808"));
	release(&c);
	compile(&c, "{\"type\": \"integer\", \"exclusiveMinimum\": 9223372036854775807}");
	ck_assert(!takes(&c, "9223372036854775807"));
	release(&c);
}
END_TEST

/* Schemas designed to take much time or memory: they must compile or fail soon. */
START_TEST(hostile)
{
	static char text[1 << 20];
	static const char *const shape[][3] = {
		{"", "{\"items\":", "true"},
		{"", "{\"anyOf\":[", "true"},
		{"{\"pattern\":\"", "(", "a"},
		{"{\"pattern\":\"^", "(?:a{1,50}){1,50}", "$\"}"},
		{"{\"properties\":{\"", "aaaaaaaaaa", "\":true},\"additionalProperties\":true}"},
	};
	static const unsigned times[] = {1, 10, 60, 1000, 30000};
	struct lmi_alloc_stats stats;

	for (size_t i = 0; i < LMD_LEN(shape); i++) {
		for (size_t k = 0; k < LMD_LEN(times); k++) {
			struct lmi_grammar *g = NULL;
			char *p = text;
			enum lmd_status st;

			p = stpcpy(p, shape[i][0]);
			for (unsigned n = 0; n < times[k]; n++)
				p = stpcpy(p, shape[i][1]);
			p = stpcpy(p, shape[i][2]);
			for (unsigned n = 0; n < times[k] && i < 2; n++)
				p = stpcpy(p, i ? "]}" : "}");
			for (unsigned n = 0; n < times[k] && i == 2; n++)
				p = stpcpy(p, ")");
			p = stpcpy(p, i == 2 ? "\"}" : "");
			st = lmi_grammar_from_schema(&g, text, (size_t)(p - text), &err);
			ck_assert_msg(st == LMD_OK || st == LMD_INVALID || st == LMD_NOMEM,
				      "%zu %zu: %s", i, k, err.text);
			if (st == LMD_OK)
				lmi_grammar_destroy(g);
			else
				ck_assert_uint_gt(strlen(err.text), 10);
		}
	}
	lmi_alloc_stats(&stats);
	printf("most memory of hostile schemas: %llu MiB\n",
	       (unsigned long long)stats.peak_bytes >> 20);
	ck_assert_uint_lt(stats.peak_bytes, 256u << 20);
}
END_TEST

START_TEST(starved)
{
	static const char schema[] =
		"{\"properties\":{\"a\":{\"enum\":[1.5,\"x\",{\"k\":2}]},\"bc\":{\"pattern\":\"[a-"
		"c]+\"},"
		"\"bd\":{\"type\":\"integer\",\"minimum\":3}},\"required\":[\"bd\"],"
		"\"additionalProperties\":{\"anyOf\":[{\"$ref\":\"#\"},{\"items\":true}]}}";
	uint64_t n;

	for (n = 1; n < 100000; n++) {
		struct lmi_grammar *g;
		enum lmd_status st;

		lmi_alloc_fail_nth(n, false);
		st = lmi_grammar_from_schema(&g, schema, strlen(schema), &err);
		lmi_alloc_fail_nth(0, false);
		if (st == LMD_OK) {
			lmi_grammar_destroy(g);
			break;
		}
		ck_assert_msg(st == LMD_NOMEM, "allocation %llu: %s", (unsigned long long)n,
			      err.text);
	}
	printf("failed allocations: %llu\n", (unsigned long long)n);
	ck_assert_uint_gt(n, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("schema");
	TCase *t = tcase_create("schema");

	tcase_add_checked_fixture(t, lmt_bytes_setup, lmt_bytes_teardown);
	tcase_add_test(t, verdicts);
	tcase_add_test(t, refusals);
	tcase_add_test(t, ranges);
	tcase_add_test(t, decimal_ranges);
	tcase_add_test(t, wide_ranges);
	tcase_add_test(t, hostile);
	tcase_add_test(t, starved);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
