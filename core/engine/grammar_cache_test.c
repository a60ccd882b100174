/* SPDX-License-Identifier: MIT
 *
 * The cache of compiled grammars: look-up, eviction, use of evicted entries, and many threads that
 * need the same grammar. */
#include "core/engine/grammar_cache.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/grammar.h"
#include "tests/lmd_check.h"

static struct lmi_grammar_vocab *vocab;
static struct lmi_engine_grammar_cache cache;

static void setup(void)
{
	ck_assert(lmi_gr_vocab_create(&vocab, NULL, NULL) == LMD_OK);
}

static void teardown(void)
{
	lmi_gr_vocab_destroy(vocab);
}

static struct lmi_engine_grammar_source gbnf(const char *text)
{
	return (struct lmi_engine_grammar_source){.gbnf = {.ptr = text, .len = strlen(text)}};
}

static struct lmi_engine_grammar_lease take(const struct lmi_engine_grammar_source *from)
{
	struct lmi_engine_grammar_lease l = {0};
	struct lmd_error err;

	ck_assert_msg(lmi_engine_grammar_cache_take(&cache, vocab, from, &l, &err) == LMD_OK, "%s",
		      err.text);
	return l;
}

/* Takes a grammar and gives it back. */
static void use(const char *text)
{
	struct lmi_engine_grammar_source from = gbnf(text);
	struct lmi_engine_grammar_lease l = take(&from);

	lmi_engine_grammar_cache_give(&cache, &l);
	ck_assert(!l.entry && !l.matcher);
}

static struct lmi_engine_grammar_cache_stats stats(void)
{
	struct lmi_engine_grammar_cache_stats s;

	lmi_engine_grammar_cache_stats_get(&cache, &s);
	return s;
}

static void count_is(uint64_t hit, uint64_t miss, uint64_t evicted, uint32_t n)
{
	struct lmi_engine_grammar_cache_stats s = stats();

	ck_assert_uint_eq(s.n_hit, hit);
	ck_assert_uint_eq(s.n_miss, miss);
	ck_assert_uint_eq(s.n_evicted, evicted);
	ck_assert_uint_eq(s.n, n);
}

START_TEST(the_same_is_compiled_once)
{
	struct lmi_engine_grammar_source a = gbnf("root ::= \"a\""),
					 s = {.schema = {.ptr = "{}", .len = 2}};
	struct lmd_str trigger[] = {{"x", 1}, {"y", 1}};
	struct lmi_engine_grammar_lease l[3];

	lmi_engine_grammar_cache_init(&cache, 8, 1u << 20);
	l[0] = take(&a);
	l[1] = take(&a);
	ck_assert_ptr_eq(l[0].entry, l[1].entry);
	ck_assert_ptr_ne(l[0].matcher, l[1].matcher); /* each answer has its own matcher */
	count_is(1, 1, 0, 1);
	l[2] = l[0];
	lmi_engine_grammar_cache_give(&cache, &l[0]);
	l[0] = take(&a);
	ck_assert_ptr_eq(l[0].matcher, l[2].matcher); /* the matcher that was given back */
	lmi_engine_grammar_cache_give(&cache, &l[0]);
	lmi_engine_grammar_cache_give(&cache, &l[1]);
	count_is(2, 1, 0, 1);
	/* another kind or other triggers make another grammar */
	l[0] = take(&s);
	lmi_engine_grammar_cache_give(&cache, &l[0]);
	a.triggers = trigger;
	for (a.n_triggers = 1; a.n_triggers <= 2; a.n_triggers++) {
		l[0] = take(&a);
		lmi_engine_grammar_cache_give(&cache, &l[0]);
	}
	count_is(2, 4, 0, 4);
	lmi_engine_grammar_cache_fini(&cache);
}
END_TEST

START_TEST(what_was_not_used_goes_first)
{
	lmi_engine_grammar_cache_init(&cache, 2, 1u << 20);
	use("root ::= \"a\"");
	use("root ::= \"b\"");
	use("root ::= \"a\"");
	use("root ::= \"c\""); /* b is evicted */
	count_is(1, 3, 1, 2);
	use("root ::= \"a\"");
	count_is(2, 3, 1, 2);
	use("root ::= \"b\"");
	count_is(2, 4, 2, 2);
	lmi_engine_grammar_cache_fini(&cache);
}
END_TEST

START_TEST(bytes_are_bounded)
{
	uint64_t most = 0;
	char text[64];

	lmi_engine_grammar_cache_init(&cache, 1000, 40000);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "root ::= \"number %d\" [a-z]*", i);
		use(text);
		ck_assert_uint_le(stats().bytes, 40000);
		most = stats().bytes > most ? stats().bytes : most;
	}
	ck_assert_uint_gt(stats().n, 0);
	ck_assert_uint_gt(stats().n_evicted, 100);
	ck_assert_uint_gt(most, 10000);
	lmi_engine_grammar_cache_fini(&cache);
	lmi_engine_grammar_cache_init(&cache, 10, 0); /* caches nothing */
	use("root ::= \"a\"");
	count_is(0, 1, 1, 0);
	lmi_engine_grammar_cache_fini(&cache);
}
END_TEST

/* The size of an engine's cache: nothing is evicted before it is full, and it is never larger. */
START_TEST(default_size)
{
	const size_t n = 100000;
	char *text = lmi_alloc(n + 64, 1);
	uint64_t before = 0, size = 0;

	lmi_engine_grammar_cache_init(&cache, LMI_ENGINE_GRAMMAR_CACHE_MAX, LMI_ENGINE_GRAMMAR_CACHE_BYTES);
	for (unsigned i = 0; i < LMI_ENGINE_GRAMMAR_CACHE_MAX && !stats().n_evicted; i++) {
		int at = snprintf(text, n, "root ::= \"%u ", i);

		memset(text + at, 'a', n - (size_t)at);
		memcpy(text + n, "\"", 2);
		before = stats().bytes;
		use(text);
		size = size ? size : stats().bytes;
		ck_assert_uint_le(stats().bytes, LMI_ENGINE_GRAMMAR_CACHE_BYTES);
	}
	ck_assert_uint_eq(stats().n_evicted, 1);
	ck_assert_uint_gt(before + 2 * size, LMI_ENGINE_GRAMMAR_CACHE_BYTES);
	lmi_engine_grammar_cache_fini(&cache);
	lmi_free(text);
}
END_TEST

START_TEST(who_uses_it_keeps_it)
{
	struct lmi_engine_grammar_source from = gbnf("root ::= \"used\"");
	struct lmi_alloc_stats before, after;
	struct lmi_grammar_state *s;
	struct lmi_engine_grammar_lease l;
	size_t n;

	lmi_alloc_stats(&before);
	lmi_engine_grammar_cache_init(&cache, 1, 1u << 20);
	l = take(&from);
	use("root ::= \"other\"");
	count_is(0, 2, 1, 1);
	ck_assert(lmi_gr_state_create(&s, l.matcher, NULL) == LMD_OK);
	ck_assert(lmi_gr_state_accept_text(s, "used", 4, &n) == LMD_OK);
	lmi_gr_state_destroy(s);
	lmi_engine_grammar_cache_give(&cache, &l);
	count_is(0, 2, 1, 1);
	lmi_engine_grammar_cache_fini(&cache);
	lmi_alloc_stats(&after);
	ck_assert(before.n_live == after.n_live);
}
END_TEST

START_TEST(a_failure_is_not_remembered)
{
	struct lmi_engine_grammar_source bad = gbnf("root ::= (");
	struct lmi_engine_grammar_lease l = {0};
	struct lmd_error err;

	lmi_engine_grammar_cache_init(&cache, 4, 1u << 20);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(lmi_engine_grammar_cache_take(&cache, vocab, &bad, &l, &err),
				 LMD_INVALID);
	count_is(0, 2, 0, 0);
	lmi_engine_grammar_cache_fini(&cache);
}
END_TEST

static void *worker(void *arg)
{
	uint32_t rnd = (uint32_t)(uintptr_t)arg;
	char text[64];

	for (int i = 0; i < 300; i++) {
		struct lmi_engine_grammar_source from;
		struct lmi_grammar_state *s;
		struct lmi_engine_grammar_lease l = {0};
		const uint64_t *mask;

		rnd = rnd * 1664525u + 1013904223u;
		snprintf(text, sizeof(text), "root ::= \"n%u\" [a-z]*%s", (rnd >> 8) % 6,
			 (rnd >> 8) % 7 ? "" : " (");
		from = gbnf(text);
		if (lmi_engine_grammar_cache_take(&cache, vocab, &from, &l, NULL) != LMD_OK)
			continue;
		if (lmi_gr_state_create(&s, l.matcher, NULL) == LMD_OK) {
			(void)lmi_gr_state_accept(s, 'n');
			(void)lmi_gr_state_mask(s, &mask);
			lmi_gr_state_destroy(s);
		}
		lmi_engine_grammar_cache_give(&cache, &l);
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t t[4];

	lmi_engine_grammar_cache_init(&cache, 3, 1u << 20);
	for (uintptr_t i = 0; i < LMD_LEN(t); i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, worker, (void *)(i + 1)), 0);
	for (size_t i = 0; i < LMD_LEN(t); i++)
		(void)pthread_join(t[i], NULL);
	ck_assert_uint_le(stats().n, 3);
	ck_assert_uint_eq(stats().n_hit + stats().n_miss, 1200);
	lmi_engine_grammar_cache_fini(&cache);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compiled");
	TCase *t = tcase_create("compiled");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_same_is_compiled_once);
	tcase_add_test(t, what_was_not_used_goes_first);
	tcase_add_test(t, bytes_are_bounded);
	tcase_add_test(t, default_size);
	tcase_add_test(t, who_uses_it_keeps_it);
	tcase_add_test(t, a_failure_is_not_remembered);
	tcase_add_test(t, many_threads);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
