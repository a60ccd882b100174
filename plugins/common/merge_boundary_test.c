/* SPDX-License-Identifier: MIT
 *
 * Merge boundaries must not change the result: words of random texts are encoded by random merges
 * with and without them. The alphabet has characters of one to four bytes that share bytes. At
 * byte level, merges may cut characters. Under the strict rules, characters may be unknown,
 * dropped, or bytes that are merged. */
#include <string.h>

#include "common/merge_boundary.h"

#include "common/bpe.h"
#include "common/unicode.h"
#include "common/vocab_test.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

#define MAX_PARTS 256

static const char *const letters[] = {"a", "b", "\xc3\xa9", "\xc3\xa8", "\xe4\xb8\xad",
				      "\xe4\xb8\xae", "\xe5\xb8\xad", "\xf0\x9f\x98\x80"};

static struct lmd_host *host;
static struct test_spec t;
static uint32_t merge_left[SPEC_MAX];
static char merge_text[MAX_PARTS][128];
static uint64_t seed, n_boundaries;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
}

static void teardown(void)
{
	lmi_host_destroy(host);
}

static size_t random_text(char *out, size_t n_letters)
{
	size_t n = 0;

	for (size_t i = 0; i < n_letters; i++) {
		const char *c = letters[lmd_rand(&seed) % LMD_LEN(letters)];

		memcpy(out + n, c, strlen(c));
		n += strlen(c);
	}
	return n;
}

/* Writes a text in the byte alphabet. */
static size_t spell(char *out, const char *s, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += tok_ucd_put_utf8(out + len, tok_byte_char((unsigned char)s[i]));
	return len;
}

static uint32_t find_token(const char *s, size_t n)
{
	for (uint32_t i = 0; i < t.spec.n_tokens; i++)
		if (t.text[i].len == n && !memcmp(t.text[i].ptr, s, n))
			return i;
	return TOK_NONE;
}

/* Adds a token unless it exists. */
static void add_token(const char *s, size_t n)
{
	if (find_token(s, n) == TOK_NONE)
		spec_addn(&t, s, n, LMD_TOKEN_NORMAL, 0);
}

/* Merges two texts; both and the result become tokens. */
static void add_merge(const struct lmd_str *l, const struct lmd_str *r)
{
	char *m = merge_text[t.spec.n_merges];
	size_t n = l->len + r->len;

	if (2 * n + 1 > sizeof(merge_text[0]))
		return;
	memcpy(m, l->ptr, l->len);
	memcpy(m + l->len, r->ptr, r->len);
	m[n] = '\0';
	add_token(m, n);
	memcpy(m + n, l->ptr, l->len);
	m[n + l->len] = ' ';
	memcpy(m + n + l->len + 1, r->ptr, r->len);
	merge_left[t.spec.n_merges] = (uint32_t)l->len;
	t.merge[t.spec.n_merges++] = (struct lmd_str){m + n, n + 1};
}

/* Adds random merges of existing tokens; the more, the deeper. */
static void random_merges(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct lmd_str l = t.text[lmd_rand(&seed) % t.spec.n_tokens];
		struct lmd_str r = t.text[lmd_rand(&seed) % t.spec.n_tokens];

		add_merge(&l, &r);
	}
}

/* Encodes a word, and then its parts as words of their own, with the same word cache. */
static size_t encode(const struct tok_bpe *b, const struct tok_merge_boundaries *boundaries,
		     const char *w, size_t n, lmd_token *out, size_t cap)
{
	struct tok_encode_job j = {.host = host, .out = out, .cap = cap, .text_bytes = 9999};

	ck_assert_int_eq(tok_bpe_word(b, &j, w, n), LMD_OK);
	for (const char *at = w, *to; at < w + n; at = to) {
		to = tok_merge_boundary_next(boundaries, at, w + n);
		ck_assert_int_eq(tok_bpe_word(b, &j, at, (size_t)(to - at)), LMD_OK);
		n_boundaries += to < w + n;
	}
	ck_assert_uint_le(j.n, cap);
	for (size_t i = 0; i < LMD_LEN(j.buf); i++)
		tok_buf_fini(&j.buf[i], host);
	return j.n;
}

static void compare(struct tok_bpe *b)
{
	const struct tok_merge_boundaries boundaries = b->boundaries;

	for (int k = 0; k < 20; k++) {
		lmd_token want[2048], have[2048];
		char w[1024];
		size_t n = random_text(w, 1 + lmd_rand(&seed) % (k < 16 ? 24 : 200)), n_want;

		b->boundaries = (struct tok_merge_boundaries){NULL, NULL};
		n_want = encode(b, &boundaries, w, n, want, LMD_LEN(want));
		b->boundaries = boundaries;
		ck_assert_uint_eq(encode(b, &boundaries, w, n, have, LMD_LEN(have)), n_want);
		ck_assert_msg(!memcmp(have, want, n_want * sizeof(*want)), "'%.*s'", (int)n, w);
	}
}

static void open_and_compare(struct tok_bpe *b)
{
	struct tok_vocab v;
	struct lmd_error err;

	ck_assert_msg(tok_vocab_open(&v, host, &t.spec, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(tok_bpe_open(b, &v, &err) == LMD_OK, "%s", err.text);
	compare(b);
	tok_bpe_close(b);
	tok_vocab_close(&v);
}

/* Bytes are the symbols, so that tokens may be any parts of characters. */
START_TEST(byte_symbols)
{
	static char spelt[256][2];

	seed = lmd_seed("bytes", 51);
	for (int round = 0; round < 400; round++) {
		struct tok_bpe b = {.byte_level = true,
				    .strict = round & 1,
				    .ignore_merges = round >> 1 & 1,
				    .unk = TOK_NONE};

		spec_init(&t, "gpt2", NULL);
		for (unsigned c = 0; c < 256; c++) {
			char byte = (char)c;

			/* otherwise a byte may not be a token */
			if (b.strict || lmd_rand(&seed) % 32)
				spec_addn(&t, spelt[c], spell(spelt[c], &byte, 1), LMD_TOKEN_NORMAL,
					  0);
		}
		t.spec.merge_left = merge_left;
		/* only bytes of the alphabet; others would never be adjacent */
		for (size_t i = 0; i < 40; i++) {
			struct lmd_str part[2];
			char text[2][24];

			for (int side = 0; side < 2; side++) {
				char raw[16];
				size_t n = random_text(raw, 1 + lmd_rand(&seed) % 2);
				size_t from = lmd_rand(&seed) % n;

				n = 1 + lmd_rand(&seed) % (n - from);
				part[side] = (struct lmd_str){text[side],
							      spell(text[side], raw + from, n)};
			}
			if (!b.strict || (find_token(part[0].ptr, part[0].len) != TOK_NONE &&
					  find_token(part[1].ptr, part[1].len) != TOK_NONE))
				add_merge(&part[0], &part[1]);
		}
		open_and_compare(&b);
	}
	ck_assert_uint_gt(n_boundaries, 1000);
}
END_TEST

/* Characters are the symbols. */
START_TEST(character_symbols)
{
	seed = lmd_seed("characters", 52);
	for (int round = 0; round < 800; round++) {
		struct tok_bpe b = {.strict = round & 1,
				    .byte_fallback = round & 2,
				    .fuse_unk = round & 4,
				    .unk = TOK_NONE};
		bool bytes = lmd_rand(&seed) % 2;

		spec_init(&t, "hf", NULL);
		t.spec.merge_left = merge_left;
		if (bytes)
			spec_add_bytes(&t);
		if (b.strict && lmd_rand(&seed) % 2)
			b.unk = spec_add(&t, "<unk>", LMD_TOKEN_UNKNOWN, 0);
		if (lmd_rand(&seed) % 2) { /* otherwise these are merged as well */
			t.spec.n_merges = 0;
			for (size_t i = 0; i < LMD_LEN(letters); i++)
				if (lmd_rand(&seed) % 4)
					add_token(letters[i], strlen(letters[i]));
			for (size_t i = 0; i < 30; i++) {
				const char *l = letters[lmd_rand(&seed) % LMD_LEN(letters)];
				const char *r = letters[lmd_rand(&seed) % LMD_LEN(letters)];
				struct lmd_str part[2] = {{l, strlen(l)}, {r, strlen(r)}};

				if (find_token(part[0].ptr, part[0].len) != TOK_NONE &&
				    find_token(part[1].ptr, part[1].len) != TOK_NONE)
					add_merge(&part[0], &part[1]);
			}
		} else {
			for (size_t i = 0; i < LMD_LEN(letters); i++)
				if (i < 2 || lmd_rand(&seed) % 2)
					add_token(letters[i], strlen(letters[i]));
			random_merges(60);
			if (bytes) { /* the bytes of a character that is not a token */
				struct lmd_str part[2] = {t.text[0xe4], t.text[0xb8]};

				add_merge(&part[0], &part[1]);
			}
		}
		open_and_compare(&b);
	}
	ck_assert_uint_gt(n_boundaries, 1000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("boundary");
	TCase *tc = tcase_create("boundary");
	SRunner *r;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, byte_symbols);
	tcase_add_test(tc, character_symbols);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
