/* SPDX-License-Identifier: MIT
 *
 * Every variant of simd_groups.h gives the same bits as the portable one: tested through the
 * searches that use it, for every kind of type, with and without importances, for all numbers of
 * blocks. */
#include "tests/lmd_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/simd_search.h"
#include "llamad/attr.h"

#define MAX_VALUES (LMI_SEARCH_SIMD_GROUPS * 32)

static float x[MAX_VALUES], w[MAX_VALUES];

/* Makes blocks of very different magnitudes, including some that are not ordinary. */
static void fill(uint64_t *seed)
{
	for (int i = 0; i < MAX_VALUES; i += 32) {
		float size = ldexpf(1, (int)(lmd_rand(seed) % 30) - 20);
		uint64_t kind = lmd_rand(seed) % 12;

		for (int k = 0; k < 32; k++) {
			float v = (float)(int64_t)lmd_rand(seed) * 0x1p-63f;

			v = kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? fabsf(v) : v;
			v = kind == 3 && k == 7 ? NAN : kind == 4 && k == 9 ? INFINITY : v;
			x[i + k] = v * size;
			w[i + k] = (float)(lmd_rand(seed) % 1000) * (kind == 5 ? 0 : 0.01f);
		}
	}
}

static void same_blocks(const struct lmi_search_superblock *a,
			const struct lmi_search_superblock *b, int n, int groups, bool affine,
			const char *name)
{
	for (int i = 0; i < n; i++) {
		ck_assert_msg(!memcmp(&a[i].d, &b[i].d, sizeof(float)), "%s: d", name);
		ck_assert_msg(!memcmp(a[i].q, b[i].q, LMI_SEARCH_SUPERBLOCK), "%s: codes", name);
		ck_assert_msg(!memcmp(a[i].s, b[i].s, (size_t)groups * 2), "%s: scales", name);
		if (affine) {
			ck_assert_msg(!memcmp(&a[i].dmin, &b[i].dmin, sizeof(float)), "%s", name);
			ck_assert_msg(!memcmp(a[i].m, b[i].m, (size_t)groups * 2), "%s", name);
		}
	}
}

START_TEST(two_levels)
{
	static const struct lmi_search_superblock_shape shapes[] = {
		{.group = 16, .q_lo = -32, .q_hi = 31, .s_lo = -128, .s_hi = 127},
		{.group = 16, .q_lo = -4, .q_hi = 3, .s_lo = -32, .s_hi = 31},
		{.group = 32, .s_lo = -32, .s_hi = 31, .book = lmi_quant_book_iq4},
		{.group = 32, .q_hi = 15, .s_hi = 63},
		{.group = 32, .q_hi = 31, .s_hi = 63},
		{.group = 16, .q_hi = 3, .s_hi = 15},
	};
	uint64_t seed = lmd_seed("two_levels", 11);

	for (const struct lmi_search_simd_groups_ops *const *v = lmi_search_simd_groups_variants();
	     *v; v++) {
		printf("variant %s\n", (*v)->name);
		for (int round = 0; round < 40; round++) {
			const struct lmi_search_superblock_shape *k =
				&shapes[round % (int)LMD_LEN(shapes)];
			const float *im = round / 6 % 2 ? w : NULL;
			int n = 1 + round / 12 % 2;
			bool affine = !k->s_lo;
			struct lmi_search_superblock a[2], b[2];

			fill(&seed);
			memset(a, 0, sizeof(a));
			memset(b, 0, sizeof(b));
			if (affine) {
				lmi_search_simd_affine(&lmi_search_simd_c, k, x, im, n, a);
				lmi_search_simd_affine(*v, k, x, im, n, b);
			} else {
				lmi_search_simd_scale(&lmi_search_simd_c, k, x, im, n, a);
				lmi_search_simd_scale(*v, k, x, im, n, b);
			}
			same_blocks(a, b, n, LMI_SEARCH_SUPERBLOCK / k->group, affine, (*v)->name);
		}
	}
}
END_TEST

START_TEST(one_level)
{
	static const struct {
		int lo, hi;
		const int8_t *book;
	} kinds[] = {{-8, 7, NULL}, {-16, 15, NULL}, {0, 0, lmi_quant_book_iq4}};
	uint64_t seed = lmd_seed("one_level", 12);

	for (const struct lmi_search_simd_groups_ops *const *v = lmi_search_simd_groups_variants();
	     *v; v++) {
		for (int round = 0; round < 90; round++) {
			int t = round % 3, n = 1 + round % LMI_SEARCH_SIMD_GROUPS;
			const float *im = round / 3 % 2 ? w : NULL;
			float da[LMI_SEARCH_SIMD_GROUPS], db[LMI_SEARCH_SIMD_GROUPS];
			int8_t qa[MAX_VALUES], qb[MAX_VALUES];

			fill(&seed);
			lmi_search_simd_single(&lmi_search_simd_c, kinds[t].lo, kinds[t].hi,
					       kinds[t].book, x, im, n, da, qa);
			lmi_search_simd_single(*v, kinds[t].lo, kinds[t].hi, kinds[t].book, x, im,
					       n, db, qb);
			ck_assert_msg(!memcmp(da, db, (size_t)n * sizeof(float)), "%s: scales",
				      (*v)->name);
			ck_assert_msg(!memcmp(qa, qb, (size_t)n * 32), "%s: codes", (*v)->name);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lanes");
	TCase *tc = tcase_create("variants");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, two_levels);
	tcase_add_test(tc, one_level);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}
