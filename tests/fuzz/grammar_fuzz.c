/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a grammar and a text.  The first byte selects GBNF, JSON schema, regular expression or
 * structural tag; the grammar ends with a zero byte, and the rest is a text to match.  The grammar must
 * either be rejected with an error message or be usable; a token must be accepted if and only if the
 * token mask allows it; and no memory may be leaked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/grammar.h"
#include "tests/fuzz/target.h"

static void feed(const struct lmi_grammar *g, const struct lmi_grammar_vocab *v,
		 const uint8_t *text, size_t n)
{
	struct lmi_gr_matcher_opts o = {.grammar = g, .vocab = v, .cache_bytes = 8 << 20};
	struct lmi_grammar_matcher *m;
	struct lmi_grammar_state *s;
	struct lmd_error err;

	if (lmi_gr_matcher_create(&m, &o, &err) != LMD_OK)
		return;
	REQUIRE(lmi_gr_state_create(&s, m, &err) == LMD_OK);
	for (size_t i = 0; i < n && i < 64; i++) {
		const uint64_t *mask;
		enum lmd_status st = lmi_gr_state_mask(s, &mask);
		bool allowed;

		if (st != LMD_OK)
			break;
		allowed = mask[text[i] / 64] >> (text[i] % 64) & 1;
		REQUIRE((mask[256 / 64] & 1) == lmi_gr_state_may_end(s));
		st = lmi_gr_state_accept(s, text[i]);
		if (st == LMD_NOMEM)
			break;
		REQUIRE((st == LMD_OK) == allowed);
		if (st != LMD_OK)
			break;
	}
	lmi_gr_state_destroy(s);
	lmi_gr_matcher_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size > 1 ? memchr(data + 1, 0, size - 1) : NULL;
	size_t n = zero ? (size_t)(zero - data) - 1 : size ? size - 1 : 0;
	struct lmi_grammar *g = NULL;
	struct lmi_alloc_stats stats;
	struct lmi_grammar_vocab *v;
	struct lmd_error err = {0};
	enum lmd_status st;

	REQUIRE(lmi_gr_vocab_create(&v, NULL, &err) == LMD_OK);
	switch (size ? data[0] & 3 : 0) {
	case 0:
		st = lmi_grammar_from_gbnf(&g, (const char *)data + (size > 0), n, v, &err);
		break;
	case 1:
		st = lmi_grammar_from_schema(&g, (const char *)data + 1, n, &err);
		break;
	case 2:
		st = lmi_grammar_from_regex(&g, (const char *)data + 1, n, &err);
		break;
	default:
		st = lmi_grammar_from_structural_tag(&g, (const char *)data + 1, n, &err);
	}
	if (st == LMD_OK)
		feed(g, v, zero ? zero + 1 : data, zero ? size - n - 2 : 0);
	else
		REQUIRE(err.status == st && err.text[0]);
	lmi_grammar_destroy(g);
	lmi_gr_vocab_destroy(v);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	return 0;
}

/* The text follows the grammar. */
static const struct {
	const char *grammar, *text;
} seeds[] = {
	{"0root ::= \"a\" x{2,3} | [^a-c\\n]+ # c\nx ::= . | (\"b\" root)? | <[257]> !<[3]>",
	 "abab"},
	{"0root ::= (\"\\x41\" | \"\\u00e9\" | [\\U0001F600-\\U0001F64F])*", "A\xC3\xA9"},
	{"1{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-5,"
	 "\"maximum\":"
	 "300},\"b\":{\"enum\":[1,\"x\",null]}},\"required\":[\"a\"],\"additionalProperties\":"
	 "true}",
	 "{\"a\":299,\"c\":[1]}"},
	{"1{\"$defs\":{\"t\":{\"items\":{\"anyOf\":[{\"$ref\":\"#/$defs/"
	 "t\"},{\"pattern\":\"^[\\\\w-]+"
	 "(a|b){2,}$\"}]}}},\"$ref\":\"#/$defs/t\",\"minItems\":1}",
	 "[[\"xab\"]]"},
	{"1{\"allOf\":[{\"type\":[\"string\",\"null\"]},{\"maxLength\":3}],\"format\":\"date\"}",
	 "\"2024-01-31\""},
	{"2^(?:a|b{2,3}|[^c-e\\d]|\\x41\\u{1F600}|(?P<n>\\s+?$))", "bb"},
	{"3{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<a\",\"ab\"],\"tags\":[{\"type\":"
	 "\"tag\",\"begin\":\"<ab\",\"content\":{\"type\":\"any_text\",\"excludes\":[\"x\"]},\"end\":"
	 "[\">\",\"<<\"]},{\"type\":\"tag\",\"begin\":\"ab\",\"content\":{\"type\":\"regex\",\"pattern\":"
	 "\"a+\"},\"end\":\"\"}],\"at_least_one\":true}}",
	 "a<aby>abaa"},
	{"3{\"structures\":[{\"begin\":\"<f\",\"schema\":{\"enum\":[1]},\"end\":\">\"}],\"triggers\":"
	 "[\"<\"]}",
	 "x<f1>"},
	{"3{\"format\":{\"type\":\"sequence\",\"elements\":[{\"type\":\"const_string\",\"value\":\"a\"},"
	 "{\"type\":\"star\",\"content\":{\"type\":\"or\",\"elements\":[{\"type\":\"const_string\","
	 "\"value\":\"b\"},{\"type\":\"json_schema\",\"json_schema\":true}]}}]}}",
	 "ab1"},
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	size_t n, m;

	if (k >= LMD_LEN(seeds))
		return false;
	n = strlen(seeds[k].grammar) + 1;
	m = strlen(seeds[k].text);
	*out = (struct fuzz_bytes){malloc(n + m), n + m};
	REQUIRE(out->p);
	memcpy(out->p, seeds[k].grammar, n);
	memcpy(out->p + n, seeds[k].text, m);
	return true;
}
