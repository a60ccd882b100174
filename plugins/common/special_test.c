/* SPDX-License-Identifier: MIT
 *
 * Special tokens in text against the plain definition: token by token, the longest first, each
 * takes all its occurrences in the text that is left. */
#include "common/special.h"

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

/* stripping: texts of 3 bytes strip on the left, texts of 4 bytes on the right. */
static void open_vocab(struct lmi_vocab *v, bool stripping)
{
	static const struct lmi_vocab_defaults def = {
		.bos = -1, .eos = -1, .unk = -1, .sep = -1, .pad = -1, .mask = -1};
	struct lmd_error err;

	ck_assert_msg(lmi_vocab_open(v, host, &t.spec, &err) == LMD_OK, "%s", err.text);
	for (uint32_t i = 0; stripping && i < v->n; i++) {
		if (v->text[i].len == 3)
			v->attr[i] |= LMI_ATTR_LSTRIP;
		if (v->text[i].len == 4)
			v->attr[i] |= LMI_ATTR_RSTRIP;
	}
	ck_assert_msg(lmi_vocab_finish(v, &def, &err) == LMD_OK, "%s", err.text);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= 9 && c <= 13);
}

/* Finds tokens by the definition. owner[i]: number of the claim that has byte i, -1 = free. */
static size_t slow_find(const struct lmi_vocab *v, const char *s, size_t n, bool control,
			struct lmi_claim *out)
{
	int owner[256];
	size_t n_out = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		owner[i] = -1;
	for (size_t o = 0; o < v->special.n; o++) {
		uint32_t id = v->special.id[o];
		const struct lmd_str *w = &v->text[id];

		if (!control && (v->attr[id] & LMI_ATTR_HIDDEN))
			continue;
		for (size_t at = 0; at + w->len <= n; at++) {
			size_t from = at, to = at + w->len;
			bool is_free = !memcmp(s + at, w->ptr, w->len);

			for (size_t i = from; is_free && i < to; i++)
				is_free = owner[i] < 0;
			if (!is_free)
				continue;
			if (v->attr[id] & LMI_ATTR_LSTRIP)
				while (from && owner[from - 1] < 0 && is_space(s[from - 1]))
					from--;
			if (v->attr[id] & LMI_ATTR_RSTRIP)
				while (to < n && owner[to] < 0 && is_space(s[to]))
					to++;
			for (size_t i = from; i < to; i++)
				owner[i] = (int)k;
			out[k++] = (struct lmi_claim){(uint32_t)from, (uint32_t)to, id};
		}
	}
	/* sort by position */
	for (size_t i = 0; i < k; i++)
		for (size_t j = i; j && out[j].begin < out[j - 1].begin; j--) {
			struct lmi_claim c = out[j];

			out[j] = out[j - 1];
			out[j - 1] = c;
		}
	n_out = k;
	return n_out;
}

START_TEST(against_definition)
{
	static const uint8_t types[] = {LMD_TOKEN_NORMAL, LMD_TOKEN_UNKNOWN, LMD_TOKEN_CONTROL,
					LMD_TOKEN_USER_DEFINED, LMD_TOKEN_USER_DEFINED};
	uint64_t seed = lmd_seed("special", 5);

	for (int round = 0; round < 4000; round++) {
		char words[24][8], text[200];
		struct lmi_claim want[256];
		struct lmi_buf claims = {NULL, 0};
		const struct lmi_claim *have;
		struct lmi_vocab v;
		size_t n, n_want, n_have;
		bool control = lmd_rand(&seed) & 1;

		spec_init(&t, "test", NULL);
		for (size_t i = 0; i < 24; i++) {
			size_t len = 1 + lmd_rand(&seed) % 6;
			bool twice = false;

			for (size_t k = 0; k < len; k++)
				words[i][k] = "ab <"[lmd_rand(&seed) % 4];
			words[i][len] = '\0';
			for (uint32_t k = 0; k < t.spec.n_tokens; k++)
				twice |= !strcmp(t.text[k].ptr, words[i]);
			if (!twice)
				spec_add(&t, words[i], types[lmd_rand(&seed) % 5], 0);
		}
		open_vocab(&v, true);
		n = lmd_rand(&seed) % sizeof(text);
		for (size_t k = 0; k < n; k++)
			text[k] = "ab <c"[lmd_rand(&seed) % 5];
		n_want = slow_find(&v, text, n, control, want);
		ck_assert_int_eq(lmi_special_find(&v, text, n, control, &claims, &n_have), LMD_OK);
		have = claims.p;
		ck_assert_msg(n_have == n_want, "round %d: %zu claims, not %zu", round, n_have,
			      n_want);
		for (size_t i = 0; i < n_want; i++)
			ck_assert_msg(
				have[i].begin == want[i].begin && have[i].end == want[i].end &&
					have[i].id == want[i].id,
				"round %d, claim %zu of '%.*s': %u..%u is %u, not %u..%u is %u",
				round, i, (int)n, text, have[i].begin, have[i].end, have[i].id,
				want[i].begin, want[i].end, want[i].id);
		lmi_buf_fini(&claims, host);
		lmi_vocab_close(&v);
	}
}
END_TEST

/* 4000 tokens of many lengths, and a text composed of them. */
START_TEST(many_tokens)
{
	static char words[4000][16];
	size_t n = 1 << 20, n_claims;
	char *text = malloc(n);
	struct lmi_buf claims = {NULL, 0};
	const struct lmi_claim *c;
	struct lmi_vocab v;

	spec_init(&t, "test", NULL);
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(words[i], sizeof(words[i]), "<%u>", i * 7919u);
		spec_add(&t, words[i], LMD_TOKEN_USER_DEFINED, 0);
	}
	open_vocab(&v, false);
	for (size_t k = 0; k < n; k++)
		text[k] = "<7919>\n"[k % 7];
	ck_assert_int_eq(lmi_special_find(&v, text, n, false, &claims, &n_claims), LMD_OK);
	ck_assert_uint_eq(n_claims, (n - 6) / 7 + 1);
	c = claims.p;
	for (size_t i = 0; i < n_claims; i++)
		ck_assert(c[i].id == 1 && c[i].begin == 7 * i && c[i].end == 7 * i + 6);
	lmi_buf_fini(&claims, host);
	lmi_vocab_close(&v);
	free(text);
}
END_TEST

/* Runs of one character as tokens of 1..31: the longest goes first, then the remainder. */
START_TEST(runs)
{
	static char run[40];
	struct lmi_buf claims = {NULL, 0};
	const struct lmi_claim *c;
	struct lmi_vocab v;
	size_t n;

	memset(run, '\n', sizeof(run));
	spec_init(&t, "test", NULL);
	for (size_t i = 1; i <= 31; i++)
		spec_addn(&t, run, i, LMD_TOKEN_USER_DEFINED, 0);
	open_vocab(&v, false);
	ck_assert_int_eq(lmi_special_find(&v, run, 40, false, &claims, &n), LMD_OK);
	c = claims.p;
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(c[0].id, 30);
	ck_assert_uint_eq(c[1].id, 8);
	lmi_buf_fini(&claims, host);
	lmi_vocab_close(&v);
}
END_TEST

START_TEST(out_of_memory)
{
	struct lmi_vocab v;

	spec_init(&t, "test", NULL);
	spec_add(&t, "ab", LMD_TOKEN_USER_DEFINED, 0);
	spec_add(&t, "ba", LMD_TOKEN_USER_DEFINED, 0);
	open_vocab(&v, false);
	for (uint64_t i = 1;; i++) {
		struct lmi_buf claims = {NULL, 0};
		size_t n;
		enum lmd_status st;

		lmi_alloc_fail_nth(i, false);
		st = lmi_special_find(&v, "ababab", 6, false, &claims, &n);
		if (!lmi_alloc_did_fail()) {
			lmi_alloc_fail_nth(0, false);
			ck_assert_int_eq(st, LMD_OK);
			ck_assert_uint_eq(n, 3);
			lmi_buf_fini(&claims, host);
			break;
		}
		ck_assert_int_eq(st, LMD_NOMEM);
		lmi_alloc_fail_nth(0, false);
		lmi_buf_fini(&claims, host);
	}
	lmi_vocab_close(&v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("special");
	TCase *tc = tcase_create("special");
	SRunner *r;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, against_definition);
	tcase_add_test(tc, many_tokens);
	tcase_add_test(tc, runs);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
