/* SPDX-License-Identifier: MIT
 *
 * Texts beside the request in which guesses are looked up: earlier answers of the tenant and the
 * model's lookup file. What they find, whose answers they never find, and that answers stay the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/answer_history.h"
#include "core/engine/lookup_file.h"
#include "core/engine/token_index.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_OUT 64

static struct story_env env;
static char path[300];

static void setup(void)
{
	story_env_init(&env, "lookup");
	snprintf(path, sizeof(path), "%s.txt", env.path);
}

static void teardown(void)
{
	(void)remove(path);
	story_env_fini(&env);
}

/* ---- the index ---- */

/* What the index finds is what a search of all places finds, as long as chains are short. */
START_TEST(the_index_finds_the_best_place)
{
	enum { N = 400, MATCH = 24 };
	struct lmi_engine_token_index x;
	uint64_t rnd = env.seed;
	lmd_token v[N];
	uint32_t n_found = 0;

	for (int i = 0; i < N; i++)
		v[i] = (lmd_token)(lmd_rand(&rnd) % 6);
	ck_assert_int_eq(lmi_engine_token_index_init(&x, N), LMD_OK);
	for (uint32_t n = 2; n < N; n++) {
		uint32_t best = LMI_ENGINE_NO_PLACE, want = 1, have = 1, seen = 0, at;

		lmi_engine_token_index_add(&x, v, n > 2 ? n - 2 : 0, n - 1);
		for (uint32_t i = n - 2; i && seen < 32; i--) {
			uint32_t k = 0;

			seen += v[i] == v[n - 1] && v[i - 1] == v[n - 2];
			while (k <= i && k < MATCH && v[i - k] == v[n - 1 - k])
				k++;
			if (k > want) {
				want = k;
				best = i;
			}
		}
		at = lmi_engine_token_index_find(&x, v, n, v, n, &have);
		ck_assert_uint_eq(at, best);
		ck_assert_uint_eq(have, want);
		n_found += at != LMI_ENGINE_NO_PLACE;
	}
	ck_assert_uint_gt(n_found, N / 2);
	lmi_engine_token_index_clear(&x);
	n_found = 1;
	ck_assert_uint_eq(lmi_engine_token_index_find(&x, v, N, v, N, &n_found), LMI_ENGINE_NO_PLACE);
	lmi_engine_token_index_fini(&x);
}
END_TEST

/* ---- the history ---- */

static uint32_t ask(const struct lmi_engine_history *h, uint64_t tenant, const lmd_token *v, uint32_t n,
		    lmd_token *out)
{
	uint32_t length = 2;

	return lmi_engine_history_guess(h, tenant, v, n, 4, out, &length);
}

START_TEST(a_tenant_finds_its_own_answers)
{
	static const lmd_token a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 9, 8}, c[] = {5, 6, 1, 2};
	struct lmi_engine_history *h;
	lmd_token out[4];

	ck_assert_int_eq(lmi_engine_history_create(&h, NULL), LMD_OK);
	ck_assert_uint_eq(ask(h, 7, a, 3, out), 0);
	lmi_engine_history_add(h, 7, a, 6);
	ck_assert_uint_eq(ask(h, 7, a, 3, out), 3); /* not beyond its end */
	ck_assert_mem_eq(out, a + 3, 3 * sizeof(out[0]));
	ck_assert_uint_eq(ask(h, 7, a, 2, out), 0); /* too few tokens agree */
	ck_assert_uint_eq(ask(h, 8, a, 3, out), 0); /* another tenant */
	lmi_engine_history_add(h, 7, b, 5);
	ck_assert_uint_eq(ask(h, 7, a, 3, out), 2); /* the latest */
	ck_assert_mem_eq(out, b + 3, 2 * sizeof(out[0]));
	ck_assert_uint_eq(ask(h, 7, a, 4, out), 2); /* more tokens agree */
	ck_assert_mem_eq(out, a + 4, 2 * sizeof(out[0]));
	ck_assert_uint_eq(ask(h, 7, c, 4, out), 0); /* no match across answers */
	lmi_engine_history_destroy(h);
	lmi_engine_history_destroy(NULL);
}
END_TEST

/* Old answers and tenants make room. */
START_TEST(the_history_is_bounded)
{
	static lmd_token long_one[2 * LMI_ENGINE_HISTORY_HALF];
	static const lmd_token a[] = {1, 2, 3, 4};
	struct lmi_engine_history *h;
	uint64_t n_alloc;
	lmd_token out[4];

	for (uint32_t i = 0; i < LMD_LEN(long_one); i++)
		long_one[i] = (lmd_token)(10 + i);
	ck_assert_int_eq(lmi_engine_history_create(&h, NULL), LMD_OK);
	n_alloc = lmi_alloc_thread_count();
	lmi_engine_history_add(h, 1, a, 4);
	lmi_engine_history_add(h, 1, long_one, LMD_LEN(long_one)); /* in the other half */
	ck_assert_uint_eq(ask(h, 1, a, 3, out), 1);
	ck_assert_uint_eq(ask(h, 1, long_one, 3, out), 0); /* its end only */
	ck_assert_uint_eq(ask(h, 1, long_one + LMD_LEN(long_one) - 7, 3, out), 4);
	lmi_engine_history_add(h, 1, a, 4); /* in place of the first half */
	ck_assert_uint_eq(ask(h, 1, a, 3, out), 1);
	lmi_engine_history_add(h, 1, long_one, LMD_LEN(long_one));
	lmi_engine_history_add(h, 1, long_one, LMD_LEN(long_one));
	ck_assert_uint_eq(ask(h, 1, a, 3, out), 0);
	for (uint64_t t = 1; t <= LMI_ENGINE_HISTORY_TENANTS; t++) {
		lmi_engine_history_add(h, 100 + t, a, 4);
		ck_assert_uint_eq(ask(h, 100 + t, a, 3, out), 1);
	}
	ck_assert_uint_eq(ask(h, 1, long_one + LMD_LEN(long_one) - 7, 3, out), 0);
	ck_assert_uint_eq(lmi_alloc_thread_count(), n_alloc);
	lmi_engine_history_destroy(h);
}
END_TEST

START_TEST(a_history_without_memory)
{
	struct lmi_engine_history *h = NULL;
	struct lmd_error err = {0};

	for (uint64_t i = 1; i < 1000; i++) {
		lmi_alloc_fail_nth(i, false);
		if (lmi_engine_history_create(&h, &err) == LMD_OK)
			break;
		ck_assert_int_eq(err.status, LMD_NOMEM);
	}
	ck_assert(h && !lmi_alloc_did_fail());
	lmi_alloc_fail_nth(0, false);
	lmi_engine_history_destroy(h);
}
END_TEST

/* ---- in an engine ---- */

static uint64_t n_steps(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.step_allocs, 0);
	return st.n_step;
}

/* Generates and compares; returns the number of steps. */
static uint64_t steps_of(struct lmi_engine *e, struct lmi_engine_generate *cmd, uint64_t tenant,
			 uint32_t flags, const struct story *want)
{
	struct lmi_engine_generate c = *cmd;
	uint64_t before = n_steps(e);
	struct story have;

	c.tenant = tenant;
	c.flags |= flags;
	have = story_generate(e, &c);
	ck_assert_uint_eq(have.n_tokens, want->n_tokens);
	ck_assert_mem_eq(have.tokens, want->tokens, want->n_tokens * sizeof(want->tokens[0]));
	return n_steps(e) - before;
}

static struct lmi_engine_generate drafting(void)
{
	struct lmi_engine_generate cmd = story_command(1, hello, 5, N_OUT);

	cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
	cmd.n_draft = 7;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	return cmd;
}

START_TEST(an_answer_that_was_given_before)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, N_OUT);
	struct story want = story_generate(plain, &cmd);
	uint64_t first, again, other, uncached;

	cmd = drafting();
	uncached = steps_of(e, &cmd, 5, LMI_ENGINE_GEN_NO_CACHE, &want);
	first = steps_of(e, &cmd, 5, 0, &want);
	again = steps_of(e, &cmd, 5, 0, &want);
	other = steps_of(e, &cmd, 6, 0, &want);
	printf("%llu steps, then %llu, of another tenant %llu\n", (unsigned long long)first,
	       (unsigned long long)again, (unsigned long long)other);
	ck_assert_uint_eq(uncached, first); /* nobody finds the answer of a request without cache */
	ck_assert_uint_eq(other, first);
	ck_assert_uint_le(again, N_OUT / 4);
	ck_assert_uint_lt(again, first);
	ck_assert_uint_eq(steps_of(e, &cmd, 5, LMI_ENGINE_GEN_NO_CACHE, &want), first);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

static void write_file(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(an_answer_that_a_file_has)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e;
	struct lmi_engine_generate cmd = story_command(1, hello, 5, N_OUT);
	struct story want = story_generate(plain, &cmd);
	uint64_t n, n_plain;

	cmd = drafting();
	n_plain = steps_of(plain, &cmd, 0, LMI_ENGINE_GEN_NO_CACHE, &want);
	write_file(want.text, want.n_text);
	o.inst.lookup_path = path;
	e = story_engine(&o);
	n = steps_of(e, &cmd, 0, LMI_ENGINE_GEN_NO_CACHE, &want);
	printf("%llu steps, %llu with the file\n", (unsigned long long)n_plain,
	       (unsigned long long)n);
	ck_assert_uint_le(n, N_OUT / 4);
	ck_assert_uint_lt(n, n_plain);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

static void refused(const char *why)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = NULL;
	struct lmd_error err = {0};

	o.inst.lookup_path = path;
	ck_assert_int_ne(lmi_engine_open(&e, &o, &err), LMD_OK);
	printf("%s\n", err.text);
	ck_assert_msg(strstr(err.text, "lookup file ") && strstr(err.text, path) &&
			      strstr(err.text, why),
		      "%s", err.text);
}

START_TEST(files_that_are_refused)
{
	static char many[LMI_ENGINE_LOOKUP_FILE_BYTES + 1];

	(void)remove(path);
	refused("No such file");
	write_file("", 0);
	refused("it has 0 bytes; 1 to 16777216 are allowed");
	write_file(many, sizeof(many));
	refused("it has 16777217 bytes");
	write_file("abc\xff", 4);
	refused("its byte 3 is not UTF-8");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lookup");
	TCase *t = tcase_create("lookup");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, the_index_finds_the_best_place);
	tcase_add_test(t, a_tenant_finds_its_own_answers);
	tcase_add_test(t, the_history_is_bounded);
	tcase_add_test(t, a_history_without_memory);
	tcase_add_test(t, an_answer_that_was_given_before);
	tcase_add_test(t, an_answer_that_a_file_has);
	tcase_add_test(t, files_that_are_refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
