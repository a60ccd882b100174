/* SPDX-License-Identifier: MIT
 *
 * Vocabularies that a careless or malicious file may contain: each is rejected with an error
 * message, or works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "plugins/common/vocab_test.h"
#include "plugins/tokenizer/tok_test.h"

static struct test_spec t;

static struct lmi_tokenizer *open_spec(void)
{
	struct lmi_tokenizer *tok;
	struct lmd_error err;

	ck_assert_msg(lmi_tokenizer_open(&tok, registry, host, &t.spec, &err) == LMD_OK, "%s: %s",
		      t.spec.kind, err.text);
	return tok;
}

static void refused(enum lmd_status want, const char *words)
{
	struct lmi_alloc_stats before, after;
	struct lmi_tokenizer *tok;
	struct lmd_error err;
	enum lmd_status st;

	lmi_alloc_stats(&before);
	st = lmi_tokenizer_open(&tok, registry, host, &t.spec, &err);
	ck_assert_msg(st == want && strstr(err.text, words), "%s: %d %s", t.spec.kind, st,
		      st == LMD_OK ? "opened" : err.text);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}

/* Returns the ids of a text as "1,2,3". */
static const char *ids_of(const struct lmi_tokenizer *tok, const char *text, size_t n,
			  uint32_t flags)
{
	static char out[1024];
	struct lmi_text_token_buf ids = {0};
	struct lmd_error err;
	size_t at = 0;

	ck_assert_msg(lmi_tokenizer_encode(tok, text, n, flags, &ids, &err) == LMD_OK, "%s",
		      err.text);
	*out = '\0';
	for (size_t i = 0; i < ids.n && at < sizeof(out) - 16; i++)
		at += (size_t)sprintf(out + at, "%s%d", i ? "," : "", ids.id[i]);
	lmi_text_token_buf_fini(&ids);
	return out;
}

static void check(const char *text, const char *want)
{
	struct lmi_tokenizer *tok = open_spec();
	const char *have = ids_of(tok, text, strlen(text), LMD_ENCODE_PARSE_SPECIAL);

	ck_assert_msg(!strcmp(have, want), "%s on '%s': %s, not %s", t.spec.kind, text, have, want);
	lmi_tokenizer_close(tok);
}

static const char *const kinds[] = {"llama", "gpt2", "gemma4", "whitespace", "hybriddna",
				    "bert",  "t5",   "rwkv",   "plamo2"};

static void some_tokens(const char *kind)
{
	spec_init(&t, kind, strcmp(kind, "gpt2") ? NULL : "gpt-2");
	spec_add(&t, "<unk>", LMD_TOKEN_UNKNOWN, 0);
	spec_add(&t, "<s>", LMD_TOKEN_CONTROL, 0);
	spec_add(&t, "</s>", LMD_TOKEN_CONTROL, 0);
	spec_add(&t, "a", LMD_TOKEN_NORMAL, -1);
	spec_add(&t, "b", LMD_TOKEN_NORMAL, -1);
	spec_add(&t, "ab", LMD_TOKEN_NORMAL, -1);
	spec_merge(&t, "a b");
	t.spec.bos = 1;
	t.spec.eos = 2;
	t.spec.unk = 0;
	if (!strcmp(kind, "plamo2"))
		spec_add_bytes(&t);
}

START_TEST(no_tokens)
{
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		spec_init(&t, kinds[i], NULL);
		spec_merge(&t, "a b");
		refused(LMD_CORRUPT, "has no tokens");
		t.spec.n_tokens = 1;
		t.spec.text = NULL;
		refused(LMD_CORRUPT, "has no tokens");
	}
	spec_init(&t, "nonsense", NULL);
	refused(LMD_NOTFOUND, "nonsense");
}
END_TEST

START_TEST(same_text_twice)
{
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		some_tokens(kinds[i]);
		spec_add(&t, "ab", LMD_TOKEN_NORMAL, 0);
		refused(LMD_CORRUPT, "tokens 5 and ");
	}
	/* an empty text gets a name, which may already exist */
	some_tokens("llama");
	spec_add(&t, "[EMPTY_7]", LMD_TOKEN_NORMAL, 0);
	spec_add(&t, "", LMD_TOKEN_NORMAL, 0);
	refused(LMD_CORRUPT, "tokens 6 and 7");
}
END_TEST

START_TEST(empty_texts)
{
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		struct lmi_tokenizer *tok;
		char piece[32];

		some_tokens(kinds[i]);
		t.text[3] = (struct lmd_str){NULL, 0};
		t.text[4] = (struct lmd_str){"", 0};
		tok = open_spec();
		ck_assert_uint_eq(lmi_tokenizer_piece(tok, 3, 0, piece, sizeof(piece)), 9);
		ck_assert_int_eq(memcmp(piece, "[EMPTY_3]", 9), 0);
		(void)ids_of(tok, "ab a b", 6, 3);
		lmi_tokenizer_close(tok);
	}
}
END_TEST

START_TEST(byte_tokens)
{
	static const char *const bad[] = {"<0x-1>", "<0x>", "<0x1>",  "<0x123>", "<0xGG>",
					  "<0xAA",  "<",    "<0x 1>", "0x41"};

	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		struct lmi_tokenizer *tok;
		char piece[16];

		some_tokens("llama");
		spec_add(&t, bad[i], LMD_TOKEN_BYTE, 0);
		tok = open_spec();
		/* treated as text */
		ck_assert_uint_eq(lmi_tokenizer_piece(tok, 6, 0, piece, sizeof(piece)),
				  strlen(bad[i]));
		lmi_tokenizer_close(tok);
	}
	/* no byte token: the unknown token, once per character; without an unknown token,
	 * nothing */
	some_tokens("llama");
	t.spec.add_space_prefix = 0;
	check("a\xc3\xa4z", "3,0,0");
	/* byte tokens that are not of type byte are found by their text */
	some_tokens("llama");
	t.spec.add_space_prefix = 0;
	spec_add(&t, "<0x7A>", LMD_TOKEN_NORMAL, 0);
	check("az", "3,6");
	/* plamo2 needs all byte tokens */
	some_tokens("plamo2");
	t.text[6 + 0x41].ptr = "<0x-1>";
	refused(LMD_CORRUPT, "<0x41>");
}
END_TEST

START_TEST(merges)
{
	some_tokens("gpt2");
	t.spec.n_merges = 0; /* an empty list is valid */
	check("ab", "3,4");
	t.spec.merge = NULL;
	refused(LMD_CORRUPT, "has no merges");
	/* no blank, two blanks, nothing after the blank, nothing at all, characters that are not
	 * bytes */
	some_tokens("gpt2");
	spec_merge(&t, "ab");
	spec_merge(&t, "a  b");
	spec_merge(&t, "a ");
	spec_merge(&t, " a");
	spec_merge(&t, "");
	spec_merge(&t, " ");
	spec_merge(&t, "\xe4\xbd\xa0 a");
	spec_merge(&t, "\xff\xfe a");
	check("ab a", "5,3");
	/* parts that are not tokens may lead to one that is */
	some_tokens("gpt2");
	spec_add(&t, "cde", LMD_TOKEN_NORMAL, 0);
	spec_merge(&t, "c d");
	spec_merge(&t, "cd e");
	check("abcdecd", "5,6");
	/* a merge result that is not a token falls back to its bytes, as far as they are tokens */
	some_tokens("gpt2");
	spec_merge(&t, "b a");
	check("bab", "4,5");
	some_tokens("gpt2");
	t.merge[0] = (struct lmd_str){"b a", 3};
	check("bab", "4,3,4");
}
END_TEST

START_TEST(special_ids)
{
	/* ids outside the vocabulary are ignored */
	some_tokens("gpt2");
	t.spec.bos = 1000;
	t.spec.eos = INT32_MAX;
	t.spec.add_bos = 1;
	refused(LMD_CORRUPT, "bos_token_id");
	some_tokens("gpt2");
	t.spec.eos = 1000;
	t.spec.add_eos = 1;
	refused(LMD_CORRUPT, "eos_token_id");
	/* the kind's own ids are ignored in a smaller vocabulary */
	spec_init(&t, "bert", NULL);
	spec_add(&t, "\xe2\x96\x81" "a", LMD_TOKEN_NORMAL, 0);
	t.spec.add_bos = 0;
	t.spec.add_sep = 0;
	check("a b", "0");
	/* no unknown token: unknown text is dropped */
	spec_init(&t, "t5", NULL);
	spec_add(&t, "a", LMD_TOKEN_NORMAL, -1);
	t.spec.add_eos = 0;
	check("ba", "0");
	spec_init(&t, "rwkv", NULL);
	spec_add(&t, "a", LMD_TOKEN_NORMAL, 0);
	check("ba", "0");
}
END_TEST

START_TEST(escapes)
{
	spec_init(&t, "rwkv", NULL);
	spec_add(&t, "\\", LMD_TOKEN_NORMAL, 0);       /* a lone backslash at the end */
	spec_add(&t, "a\\x4", LMD_TOKEN_NORMAL, 0);    /* an incomplete number */
	spec_add(&t, "b\\xZZ", LMD_TOKEN_NORMAL, 0);   /* not a number */
	spec_add(&t, "\\n\\t\\\\", LMD_TOKEN_NORMAL, 0);
	spec_add(&t, "\\xff\\x00", LMD_TOKEN_NORMAL, 0);
	{
		struct lmi_tokenizer *tok = open_spec();

		ck_assert_str_eq(ids_of(tok, "\n\t\\\xff\0\\", 6, 0), "3,4,0");
		ck_assert_str_eq(ids_of(tok, "a\4", 2, 0), "1");
		lmi_tokenizer_close(tok);
	}
}
END_TEST

/* Replacement tables of random bytes, and truncated ones. */
START_TEST(charsmaps)
{
	uint64_t seed = lmd_seed("charsmap", 31);
	static const char *const refusals[][2] = {
		{"\1", "at least 4"}, {"\xff\xff\xff\xff" "abcd", "array of"}, {"\4\0\0\0" "abcd", "array of"},
		{"\3\0\0\0" "abcdef", "array of"},
	};
	static const size_t len[] = {1, 8, 8, 10};

	for (size_t i = 0; i < LMD_LEN(refusals); i++) {
		some_tokens("t5");
		t.spec.charsmap = (struct lmd_str){refusals[i][0], len[i]};
		refused(LMD_CORRUPT, refusals[i][1]);
	}
	for (int round = 0; round < 500; round++) {
		unsigned char blob[600];
		struct lmi_tokenizer *tok;
		char text[200];

		for (size_t k = 0; k < sizeof(blob); k++)
			blob[k] = (unsigned char)(lmd_rand(&seed) % (round % 2 ? 256 : 8));
		memcpy(blob, "\0\2\0\0", 4); /* 512 bytes */
		for (size_t k = 0; k < sizeof(text); k++)
			text[k] = (char)lmd_rand(&seed);
		some_tokens("t5");
		t.spec.charsmap = (struct lmd_str){(const char *)blob, sizeof(blob)};
		tok = open_spec();
		(void)ids_of(tok, text, sizeof(text), 3);
		lmi_tokenizer_close(tok);
	}
}
END_TEST

/* Scores at the limits of their range. */
START_TEST(scores)
{
	static const float values[] = {3e38f, -3e38f, 1e-40f, 0.0f, -0.0f, -1000.0f, -2000.0f};

	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		for (size_t k = 0; k < LMD_LEN(values); k++) {
			struct lmi_tokenizer *tok;

			some_tokens(kinds[i]);
			t.score[3] = values[k];
			t.score[5] = values[(k + 3) % LMD_LEN(values)];
			tok = open_spec();
			(void)ids_of(tok, "ab aab abb bab", 14, 3);
			lmi_tokenizer_close(tok);
		}
		some_tokens(kinds[i]);
		t.spec.score = NULL; /* scores may be absent, and so may types */
		t.spec.type = NULL;
		if (strcmp(kinds[i], "plamo2") != 0)
			lmi_tokenizer_close(open_spec());
	}
}
END_TEST

/* A token of one megabyte, and texts that almost match it. */
START_TEST(long_token)
{
	size_t n = 1 << 20;
	char *text = malloc(n);

	memset(text, 'a', n);
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		struct lmi_text_token_buf ids = {0};
		struct lmi_tokenizer *tok;
		struct lmd_error err;

		some_tokens(kinds[i]);
		spec_addn(&t, text, n, LMD_TOKEN_NORMAL, -1);
		tok = open_spec();
		ck_assert_uint_ge(lmi_tokenizer_info(tok)->max_piece_bytes, n);
		text[n - 2] = 'b';
		ck_assert_msg(lmi_tokenizer_encode(tok, text, n, 0, &ids, &err) == LMD_OK, "%s: %s",
			      kinds[i], err.text);
		text[n - 2] = 'a';
		lmi_text_token_buf_fini(&ids);
		lmi_tokenizer_close(tok);
	}
	free(text);
}
END_TEST

/* Four million tokens. */
START_TEST(many_tokens)
{
	uint32_t n = 1u << 22;
	struct lmd_str *text = malloc(n * sizeof(*text));
	char *bytes = malloc((size_t)n * 9), *p = bytes;

	for (uint32_t i = 0; i < n; i++) {
		int len = sprintf(p, "%x", i);

		text[i] = (struct lmd_str){p, (size_t)len};
		p += len + 1;
	}
	for (size_t i = 0; i < 2; i++) {
		struct lmi_tokenizer *tok;
		struct lmd_error err;

		spec_init(&t, i ? "gpt2" : "llama", i ? "gpt-2" : NULL);
		t.spec.text = text;
		t.spec.n_tokens = n;
		t.spec.score = NULL;
		t.spec.type = NULL;
		t.spec.add_bos = 0;
		t.spec.add_space_prefix = 0;
		spec_merge(&t, "1 0");
		ck_assert_msg(lmi_tokenizer_open(&tok, registry, host, &t.spec, &err) == LMD_OK,
			      "%s", err.text);
		ck_assert_str_eq(ids_of(tok, "10", 2, 0), "16");
		lmi_tokenizer_close(tok);
	}
	t.spec.n_tokens = (1u << 24) + 1;
	refused(LMD_CORRUPT, "16777217 tokens");
	free(text);
	free(bytes);
}
END_TEST

/* All tokens are special, and each is a prefix of the next. */
START_TEST(nested_specials)
{
	static char run[2000];

	memset(run, '<', sizeof(run));
	for (size_t i = 0; i < LMD_LEN(kinds); i++) {
		struct lmi_tokenizer *tok;
		char *text;

		some_tokens(kinds[i]);
		for (size_t k = 1; k < sizeof(run); k += 7)
			spec_addn(&t, run, k, k % 2 ? LMD_TOKEN_USER_DEFINED : LMD_TOKEN_CONTROL,
				  0);
		tok = open_spec();
		text = malloc(100000);
		memset(text, '<', 100000);
		(void)ids_of(tok, text, 100000, 0);
		(void)ids_of(tok, text, 100000, LMD_ENCODE_PARSE_SPECIAL);
		free(text);
		lmi_tokenizer_close(tok);
	}
}
END_TEST

/* Memory for a text of one long word, in which nearly all characters can be merged with their
 * neighbours, is bounded: tokens included, at most 30 bytes for a byte, whatever the order of merges.
 * Many tokens with equal scores may take more. */
START_TEST(memory_of_long_words)
{
	static const struct {
		const char *kind;
		bool equal; /* scores */
		size_t most; /* bytes for a byte of the text */
	} rows[] = {{"gpt2", false, 30}, {"llama", false, 30}, {"llama", true, 60}};
	enum { LETTERS = 4, PAIRS = LETTERS * LETTERS, QUADS = PAIRS * PAIRS, BYTES = 2 << 20 };
	static char quad[QUADS][8], merge[PAIRS + QUADS][8], text[BYTES];
	uint64_t seed = lmd_seed("long words", 31);

	for (size_t i = 0; i < BYTES; i++)
		text[i] = (char)('a' + lmd_rand(&seed) % LETTERS);
	for (size_t i = 0; i < QUADS; i++)
		snprintf(quad[i], 8, "%c%c%c%c", (char)('a' + i / 64), (char)('a' + i / 16 % 4),
			 (char)('a' + i / 4 % 4), (char)('a' + i % 4));
	for (size_t i = 0; i < PAIRS; i++)
		snprintf(merge[i], 8, "%c %c", quad[i][2], quad[i][3]);
	for (size_t i = 0; i < QUADS; i++)
		snprintf(merge[PAIRS + i], 8, "%.2s %s", quad[i], quad[i] + 2);
	for (size_t row = 0; row < LMD_LEN(rows); row++) {
		struct lmi_text_token_buf ids = {0};
		struct lmi_text_byte_buf out = {0};
		struct lmi_alloc_stats before, after;
		struct lmi_tokenizer *tok;
		struct lmd_error err;

		spec_init(&t, rows[row].kind, row ? NULL : "gpt-2");
		spec_add(&t, "<unk>", LMD_TOKEN_UNKNOWN, 0);
		for (size_t len = 1; len <= 4; len *= 2)
			for (size_t i = 0, n = len == 1 ? LETTERS : len == 2 ? PAIRS : QUADS; i < n; i++)
				spec_addn(&t, quad[i] + 4 - len, len, LMD_TOKEN_NORMAL,
					  rows[row].equal ? 0 : (float)(lmd_rand(&seed) % 999));
		for (size_t i = 0; i < PAIRS + QUADS; i++)
			spec_merge(&t, merge[i]);
		t.spec.unk = 0;
		tok = open_spec();
		lmi_alloc_reset_peak();
		lmi_alloc_stats(&before);
		ck_assert_int_eq(lmi_tokenizer_encode(tok, text, BYTES, 0, &ids, &err), LMD_OK);
		lmi_alloc_stats(&after);
		ck_assert_uint_le((after.peak_bytes - before.live_bytes) / BYTES, rows[row].most);
		ck_assert_uint_lt(ids.n, BYTES / 2);
		ck_assert_int_eq(lmi_tokenizer_decode(tok, ids.id, ids.n, 0, &out, &err), LMD_OK);
		ck_assert(out.n >= BYTES && !memcmp(out.p + out.n - BYTES, text, BYTES));
		lmi_text_byte_buf_fini(&out);
		lmi_text_token_buf_fini(&ids);
		lmi_tokenizer_close(tok);
	}
}
END_TEST

START_TEST(no_vocabulary)
{
	struct lmi_tokenizer *tok;
	struct lmi_text_token_buf ids = {0};
	struct lmi_text_byte_buf out = {0};
	lmd_token one[] = {6, 7};
	struct lmd_error err;

	for (int i = 0; i < 3; i++) {
		spec_init(&t, i == 0 ? "none" : i == 1 ? "no_vocab" : NULL, NULL);
		t.spec.n_tokens = 7;
		t.spec.text = NULL;
		tok = open_spec();
		ck_assert_uint_eq(lmi_tokenizer_info(tok)->n_tokens, 7);
		ck_assert_int_eq(lmi_tokenizer_info(tok)->bos, -1);
		ck_assert_int_eq(lmi_tokenizer_encode(tok, "a", 1, 0, &ids, &err), LMD_UNSUPPORTED);
		ck_assert_int_eq(lmi_tokenizer_encode(tok, "", 0, 3, &ids, &err), LMD_OK);
		ck_assert_int_eq(lmi_tokenizer_decode(tok, one, 1, 0, &out, &err), LMD_OK);
		ck_assert_uint_eq(out.n, 0);
		ck_assert_int_eq(lmi_tokenizer_decode(tok, one, 2, 0, &out, &err), LMD_INVALID);
		lmi_tokenizer_close(tok);
	}
	lmi_text_token_buf_fini(&ids);
	lmi_text_byte_buf_fini(&out);
}
END_TEST

START_TEST(pre_tokenizer_names)
{
	some_tokens("gpt2");
	t.spec.pre = "nonsense";
	refused(LMD_UNSUPPORTED, "'nonsense' is not known");
	t.spec.pre = "";
	check("ab", "5"); /* same as if it were absent */
	t.spec.pre = NULL;
	check("ab", "5");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *tc = tcase_create("hostile");
	SRunner *r;

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, tok_setup, tok_teardown);
	tcase_add_test(tc, no_tokens);
	tcase_add_test(tc, same_text_twice);
	tcase_add_test(tc, empty_texts);
	tcase_add_test(tc, byte_tokens);
	tcase_add_test(tc, merges);
	tcase_add_test(tc, special_ids);
	tcase_add_test(tc, escapes);
	tcase_add_test(tc, charsmaps);
	tcase_add_test(tc, scores);
	tcase_add_test(tc, long_token);
	tcase_add_test(tc, many_tokens);
	tcase_add_test(tc, nested_specials);
	tcase_add_test(tc, memory_of_long_words);
	tcase_add_test(tc, no_vocabulary);
	tcase_add_test(tc, pre_tokenizer_names);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
