/* SPDX-License-Identifier: MIT
 *
 * Byte-pair encoding against its definition on texts: merge the pair of lowest rank, leftmost
 * first, until there is none. Covers short and long words, plain text and the byte alphabet, and
 * vocabularies that lack symbols. */
#include "common/bpe.h"

#include "common/vocab_test.h"
#include "core/base/alloc.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct test_spec t;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
}

static void teardown(void)
{
	lmi_host_destroy(host);
}

/* Returns the rank of a pair of texts, which is the first merge that names it, or -1. */
static int slow_rank(const char *l, size_t nl, const char *r, size_t nr)
{
	for (uint64_t i = 0; i < t.spec.n_merges; i++) {
		const struct lmd_str *m = &t.merge[i];

		if (m->len == nl + 1 + nr && m->ptr[nl] == ' ' && !memcmp(m->ptr, l, nl) &&
		    !memcmp(m->ptr + nl + 1, r, nr))
			return (int)i;
	}
	return -1;
}

/* Encodes a word of one-byte characters by the definition. Texts that are not tokens give
 * nothing. */
static size_t slow_word(const char *w, size_t n, lmd_token *out)
{
	size_t at[512], k = n, n_out = 0;

	for (size_t i = 0; i <= n; i++)
		at[i] = i;
	for (;;) {
		int best = -1;
		size_t where = 0;

		for (size_t i = 0; i + 2 <= k; i++) {
			int rank = slow_rank(w + at[i], at[i + 1] - at[i], w + at[i + 1],
					     at[i + 2] - at[i + 1]);

			if (rank >= 0 && (best < 0 || rank < best)) {
				best = rank;
				where = i;
			}
		}
		if (best < 0)
			break;
		memmove(&at[where + 1], &at[where + 2], (k - where - 1) * sizeof(at[0]));
		k--;
	}
	for (size_t i = 0; i < k; i++) {
		size_t len = at[i + 1] - at[i], hits = 0;

		for (uint32_t id = 0; id < t.spec.n_tokens; id++) {
			if (t.text[id].len == len && !memcmp(t.text[id].ptr, w + at[i], len)) {
				out[n_out++] = (lmd_token)id;
				hits++;
			}
		}
		/* not a token: its single bytes, as far as they are tokens */
		for (size_t c = at[i]; !hits && c < at[i + 1]; c++)
			for (uint32_t id = 0; id < t.spec.n_tokens; id++)
				if (t.text[id].len == 1 && t.text[id].ptr[0] == w[c])
					out[n_out++] = (lmd_token)id;
	}
	return n_out;
}

static void random_spec(uint64_t *seed, char word[][16], char merge[][32])
{
	size_t n = 3 + lmd_rand(seed) % 40, letters = 1 + lmd_rand(seed) % 4;

	spec_init(&t, "gpt2", NULL);
	for (size_t i = 0; i < letters; i++) {
		snprintf(word[i], 16, "%c", (char)('a' + i));
		if (lmd_rand(seed) % 8)
			spec_add(&t, word[i], LMD_TOKEN_NORMAL, 0);
	}
	spec_add(&t, "!", LMD_TOKEN_NORMAL, 0);
	for (size_t i = 0; i < n; i++) {
		char part[2][8];
		bool twice = false;

		for (int side = 0; side < 2; side++) {
			size_t len = 1 + lmd_rand(seed) % 5;

			for (size_t k = 0; k < len; k++)
				part[side][k] = (char)('a' + lmd_rand(seed) % letters);
			part[side][len] = '\0';
		}
		snprintf(merge[i], 32, "%s %s", part[0], part[1]);
		snprintf(word[i + letters], 16, "%s%s", part[0], part[1]);
		spec_merge(&t, merge[i]);
		for (uint32_t k = 0; k < t.spec.n_tokens; k++)
			twice |= !strcmp(t.text[k].ptr, word[i + letters]);
		if (!twice && lmd_rand(seed) % 8)
			spec_add(&t, word[i + letters], LMD_TOKEN_NORMAL, 0);
	}
}

START_TEST(against_definition)
{
	uint64_t seed = lmd_seed("bpe", 9);
	static char word[64][16], merge[64][32];

	for (int round = 0; round < 1500; round++) {
		struct lmi_vocab v;
		struct lmi_bpe b = {.byte_level = lmd_rand(&seed) & 1};
		struct lmd_error err;

		random_spec(&seed, word, merge);
		ck_assert_msg(lmi_vocab_open(&v, host, &t.spec, &err) == LMD_OK, "%s", err.text);
		ck_assert_msg(lmi_bpe_open(&b, &v, &err) == LMD_OK, "%s", err.text);
		for (int k = 0; k < 6; k++) {
			size_t n = 1 + lmd_rand(&seed) % (k < 4 ? 30 : 400), n_want;
			lmd_token want[512], have[512];
			char w[512];
			struct lmi_job j = {
				.host = host, .out = have, .cap = 512, .text_bytes = 9999};

			for (size_t i = 0; i < n; i++)
				w[i] = (char)('a' + lmd_rand(&seed) % 4);
			if (!b.byte_level && memchr(w, 'd', n)) /* <0x64> is not a token: nothing */
				continue;
			n_want = slow_word(w, n, want);
			ck_assert_int_eq(lmi_bpe_word(&b, &j, w, n), LMD_OK);
			if (!b.byte_level) {
				/* letters without a token have no fallback here */
				size_t kept = 0;

				for (size_t i = 0; i < j.n && i < n_want; i++)
					kept += have[i] == want[i];
				if (j.n != n_want)
					kept = n_want;
				ck_assert_uint_eq(kept, n_want);
			} else {
				ck_assert_msg(j.n == n_want && !memcmp(have, want, n_want * 4),
					      "round %d: '%.*s'", round, (int)n, w);
			}
			/* again, from the word cache */
			j.n = 0;
			ck_assert_int_eq(lmi_bpe_word(&b, &j, w, n), LMD_OK);
			if (b.byte_level)
				ck_assert(j.n == n_want && !memcmp(have, want, n_want * 4));
			for (size_t i = 0; i < LMD_LEN(j.buf); i++)
				lmi_buf_fini(&j.buf[i], host);
		}
		lmi_bpe_close(&b);
		lmi_vocab_close(&v);
	}
}
END_TEST

/* A million times the same two letters, with merges of all powers of two: must take O(n log n),
 * not O(n^2). */
START_TEST(long_word)
{
	static char word[20][32], merge[20][64];
	size_t n = 1 << 20;
	char *w = malloc(n);
	lmd_token *out = malloc(n * sizeof(*out));
	struct lmi_job j = {.host = host, .out = out, .cap = n, .text_bytes = n};
	struct lmi_bpe b = {.byte_level = true};
	struct lmi_vocab v;

	spec_init(&t, "gpt2", NULL);
	spec_add(&t, "a", LMD_TOKEN_NORMAL, 0);
	for (int i = 0; i < 4; i++) {
		memset(word[i], 'a', 2u << i);
		snprintf(merge[i], 64, "%.*s %.*s", 1 << i, word[i], 1 << i, word[i]);
		spec_add(&t, word[i], LMD_TOKEN_NORMAL, 0);
		spec_merge(&t, merge[i]);
	}
	ck_assert_int_eq(lmi_vocab_open(&v, host, &t.spec, NULL), LMD_OK);
	ck_assert_int_eq(lmi_bpe_open(&b, &v, NULL), LMD_OK);
	memset(w, 'a', n);
	ck_assert_int_eq(lmi_bpe_word(&b, &j, w, n), LMD_OK);
	ck_assert_uint_eq(j.n, n / 16);
	for (size_t i = 0; i < j.n; i++)
		ck_assert_int_eq(out[i], 4);
	/* each merge was looked up a bounded number of times */
	ck_assert_uint_le(j.work, 16 * n);
	for (size_t i = 0; i < LMD_LEN(j.buf); i++)
		lmi_buf_fini(&j.buf[i], host);
	lmi_bpe_close(&b);
	lmi_vocab_close(&v);
	free(out);
	free(w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bpe");
	TCase *tc = tcase_create("bpe");
	SRunner *r;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, against_definition);
	tcase_add_test(tc, long_word);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
