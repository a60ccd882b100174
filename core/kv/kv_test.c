/* SPDX-License-Identifier: MIT
 *
 * The KV memory: which rows see which, how much memory they take, and what is refused. The rows themselves are
 * tested in kv_walk_test.c. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/kv/kv.h"
#include "core/kv/page_pool.h"
#include "tests/lmd_check.h"

/* Checks every interval against its definition, key by key. */
START_TEST(intervals)
{
	static const struct lmd_group kinds[] = {
		{.causal = 1},
		{.causal = 1, .window = 5},
		{.causal = 1, .window = 1},
		{.causal = 1, .chunk = 7},
		{.causal = 1, .ratio = 4},
		{.causal = 0},
		{.causal = 1, .ratio = 4, .window = 3},
		{.causal = 0, .window = 6},
		{.causal = 1, .chunk = 8, .ratio = 4},
	};

	for (uint32_t k = 0; k < LMD_LEN(kinds); k++) {
		const struct lmd_group *g = &kinds[k];
		int64_t ratio = g->ratio > 1 ? g->ratio : 1;

		for (int64_t n = 1; n < 40; n++) {
			for (int64_t p = 0; p < n; p++) {
				struct lmi_kv_span v = lmi_kv_span(g, p, n);

				for (int64_t key = 0; key < n / ratio; key++) {
					int64_t last = (key + 1) * ratio - 1; /* its last token */
					bool sees = !g->causal || last <= p;

					if (g->window && g->causal)
						sees = sees && key >= (p + 1) / ratio - g->window;
					if (g->window && !g->causal)
						sees = sees && llabs(key - p) <= g->window / 2;
					if (g->chunk)
						sees = sees &&
						       key * ratio >= p / g->chunk * g->chunk;
					if ((key >= v.lo && key < v.hi) != sees)
						ck_abort_msg(
							"kind %u row %d of %d key %d: [%d, %d)", k,
							(int)p, (int)n, (int)key, v.lo, v.hi);
				}
			}
		}
	}
}
END_TEST

START_TEST(window_gives_pages_back)
{
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .window = 32, .ratio = 1};
	struct lmi_kv_opts o = {
		.groups = &g, .n_group = 1, .page_tokens = 16, .n_seq = 1, .n_ctx = 10000};
	struct lmi_kv_stats st;
	struct lmi_kv *kv;
	uint32_t s, most = 0;

	o.n_page[0] = lmi_kv_pages_for(&g, 16, o.n_ctx, 40);
	ck_assert_uint_le(o.n_page[0], 6);
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_OK);
	s = lmi_kv_open(kv);
	for (uint32_t n = 0; n < 10000; n += 40) {
		ck_assert(lmi_kv_reserve(kv, s, 40, NULL, 0));
		lmi_kv_commit(kv, s, 40);
		lmi_kv_trim(kv, s);
		lmi_kv_stats(kv, &st);
		if (st.n_page[0] - st.n_free[0] > most)
			most = st.n_page[0] - st.n_free[0];
		ck_assert(lmi_kv_check(kv));
	}
	ck_assert_uint_le(most, 3);
	ck_assert(!lmi_kv_reserve(kv, s, 1, NULL, 0)); /* context full */
	lmi_kv_destroy(kv);
}
END_TEST

/* Only the last page of a sequence is partly empty: at lengths of 1000 tokens and more on average, less than
 * 4 % of the memory, and half of a page a sequence. */
START_TEST(little_memory_is_empty)
{
	enum { N = 64, PAGE = 32 };
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};
	struct lmi_kv_opts o = {.groups = &g,
				.n_group = 1,
				.page_tokens = PAGE,
				.n_seq = N,
				.n_ctx = 4096,
				.n_page = {N * 4096 / PAGE}};
	uint64_t rnd = lmd_seed("kv waste", 3), used, sum = 0;
	struct lmi_kv_stats st;
	struct lmi_kv *kv;

	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_OK);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t s = lmi_kv_open(kv), n = 400 + (uint32_t)(lmd_rand(&rnd) % 1700);

		ck_assert(lmi_kv_reserve(kv, s, n, NULL, 0));
		lmi_kv_commit(kv, s, n);
		sum += n;
	}
	lmi_kv_stats(kv, &st);
	used = (uint64_t)(st.n_page[0] - st.n_free[0]) * PAGE;
	printf("%llu tokens in %llu rows\n", (unsigned long long)sum, (unsigned long long)used);
	ck_assert_uint_ge(sum, 1000u * N);
	ck_assert_uint_ge(used, sum);
	ck_assert_uint_lt((used - sum) * 100, used * 4);
	ck_assert_uint_le(used - sum, N * (PAGE - 1));
	lmi_kv_destroy(kv);
}
END_TEST

START_TEST(impossible_sizes)
{
	struct lmd_group g = {.kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1};
	struct lmi_kv_opts o = {
		.groups = &g, .n_group = 1, .page_tokens = 32, .n_seq = 1, .n_ctx = 64};
	struct lmi_kv_page_pool pool;
	struct lmi_kv *kv;

	o.n_page[0] = 1u << 27; /* rows beyond int32 */
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_INVALID);
	o.n_page[0] = 2;
	o.n_seq = 0;
	ck_assert_int_eq(lmi_kv_create(&kv, &o, NULL), LMD_INVALID);
	ck_assert_int_eq(lmi_kv_page_pool_init(&pool, LMI_KV_PAGE_MAX + 1), LMD_INVALID);
	ck_assert_int_eq(lmi_kv_page_pool_init(&pool, 0), LMD_OK);
	ck_assert_uint_eq(lmi_kv_page_take(&pool), LMI_KV_NO_PAGE);
}
END_TEST
START_TEST(out_of_memory)
{
	static const struct lmd_group groups[] = {
		{.kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
		{.kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
		{.kind = LMD_GROUP_STATE},
		{.kind = LMD_GROUP_CROSS, .ratio = 1},
		{.kind = LMD_GROUP_BATCH, .ratio = 1},
	};
	struct lmi_kv_opts o = {.groups = groups,
				.n_group = LMD_LEN(groups),
				.page_tokens = 16,
				.n_seq = 2,
				.n_ctx = 64,
				.n_cross = 16};
	struct lmi_alloc_stats before, after;
	struct lmi_kv *kv = NULL;
	uint64_t nth = 1;

	for (uint32_t g = 0; g < LMD_LEN(groups); g++)
		o.n_page[g] = o.n_slot[g] = 8;
	lmi_alloc_stats(&before);
	for (;; nth++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_kv_create(&kv, &o, NULL);
		if (!lmi_alloc_did_fail()) {
			lmi_alloc_fail_nth(0, false);
			ck_assert_int_eq(st, LMD_OK);
			break;
		}
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	ck_assert_uint_gt(nth, 8);
	lmi_kv_destroy(kv);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST
int main(void)
{
	Suite *s = suite_create("kv");
	TCase *t = tcase_create("kv");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, intervals);
	tcase_add_test(t, window_gives_pages_back);
	tcase_add_test(t, little_memory_is_empty);
	tcase_add_test(t, impossible_sizes);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
