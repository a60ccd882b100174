/* SPDX-License-Identifier: MIT
 *
 * The largest logits, compared with a full sort. */
#include "core/engine/topk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lmd_check.h"

#define N_MAX 5000

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static int by_order(const void *pa, const void *pb)
{
	const struct lmd_cand *a = pa, *b = pb;

	if (a->logit != b->logit)
		return a->logit > b->logit ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Few distinct values, so that many are equal; NaN and infinities among them. */
static float any_logit(int kind)
{
	if (!draw(50))
		return NAN;
	if (!draw(40))
		return kind == 3 && !draw(3) ? INFINITY : -INFINITY;
	return kind == 0 ? (float)draw(5) : (float)draw(100000) / 100.0f;
}

static size_t sorted(struct lmd_cand *v, const float *logits, size_t n, const uint64_t *mask)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!mask || (mask[i / 64] >> (i % 64) & 1))
			v[k++] = (struct lmd_cand){.id = (lmd_token)i,
						   .logit = isnan(logits[i]) ? -INFINITY
									     : logits[i]};
	qsort(v, k, sizeof(*v), by_order);
	return k;
}

START_TEST(beside_sorting)
{
	static float logits[N_MAX], scratch[N_MAX / LMI_TOPK_BLOCK + 1];
	static struct lmd_cand want[N_MAX], got[LMI_TOPK_MAX];
	static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 640, 1000, 4096, N_MAX};
	static const size_t ks[] = {1, 2, 10, 40, 78};
	uint64_t mask[N_MAX / 64 + 1];
	unsigned n_done = 0;

	seed = 7;
	printf("seed of beside_sorting: %u\n", seed);
	for (int round = 0; round < 400; round++) {
		size_t n = sizes[(size_t)round % LMD_LEN(sizes)];
		size_t k = ks[draw(LMD_LEN(ks))], have, all;
		bool masked = draw(2), thin = draw(2);

		for (size_t i = 0; i < n; i++)
			logits[i] = any_logit(round % 4);
		for (size_t w = 0; w <= n / 64; w++) {
			mask[w] = thin ? draw(3) ? 0 : 1ull << draw(64)
				       : (uint64_t)draw(1u << 24) << 40 | draw(1u << 24);
			mask[w] = draw(4) ? mask[w] : UINT64_MAX;
		}
		all = sorted(want, logits, n, masked ? mask : NULL);
		have = lmi_argmax(logits, n, masked ? mask : NULL);
		ck_assert_uint_eq(have, all ? (size_t)want[0].id : n);
		have = lmi_topk(logits, n, masked ? mask : NULL, k, scratch, got);
		if (!have)
			continue;
		n_done++;
		ck_assert(have == k && all >= k);
		for (size_t i = 0; i < k; i++)
			ck_assert_msg(got[i].id == want[i].id && got[i].logit == want[i].logit,
				      "round %d: number %zu is %d, not %d", round, i, got[i].id,
				      want[i].id);
	}
	ck_assert_uint_gt(n_done, 50);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("topk");
	TCase *t = tcase_create("topk");

	tcase_add_test(t, beside_sorting);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
