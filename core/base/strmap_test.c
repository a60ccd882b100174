/* SPDX-License-Identifier: MIT
 *
 * The map from names to numbers. */
#include "core/base/strmap.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "tests/lmd_check.h"

START_TEST(add_and_find)
{
	enum { N = 50000 };
	struct lmd_arena *a = lmi_arena_create(64 << 20);
	struct lmi_strmap m = {0};
	uint32_t v = 77;
	char name[32];

	ck_assert(!lmi_strmap_find(&m, "x", &v)); /* empty map */
	ck_assert(lmi_strmap_init(&m, a, N));
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "blk.%u.weight", i);
		ck_assert(lmi_strmap_add(&m, lmi_arena_strndup(a, name, strlen(name)), i));
	}
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "blk.%u.weight", i);
		ck_assert(!lmi_strmap_add(&m, name, 0));
		ck_assert(lmi_strmap_find(&m, name, &v));
		ck_assert_uint_eq(v, i);
		snprintf(name, sizeof(name), "blk.%u.weigh", i);
		ck_assert(!lmi_strmap_find(&m, name, &v));
		ck_assert_uint_eq(v, i);
	}
	lmi_arena_destroy(a);
}
END_TEST

/* A full table of any size: a look-up of a missing name still ends. */
START_TEST(full)
{
	char name[100][4];

	for (uint32_t n = 0; n < 100; n++) {
		struct lmd_arena *a = lmi_arena_create(0);
		struct lmi_strmap m;
		uint32_t v;

		ck_assert(lmi_strmap_init(&m, a, n));
		for (uint32_t i = 0; i < n; i++) {
			snprintf(name[i], sizeof(name[i]), "%u", i);
			ck_assert(lmi_strmap_add(&m, name[i], i));
		}
		ck_assert(!lmi_strmap_find(&m, "", &v));
		ck_assert(!lmi_strmap_find(&m, "x", &v));
		lmi_arena_destroy(a);
	}
}
END_TEST

START_TEST(no_memory)
{
	struct lmd_arena *a = lmi_arena_create(1000);
	struct lmi_strmap m;
	uint32_t v;

	ck_assert(!lmi_strmap_init(&m, a, 1000));
	ck_assert(!lmi_strmap_init(&m, a, UINT32_MAX));
	ck_assert(!lmi_strmap_find(&m, "x", &v));
	lmi_arena_destroy(a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strmap");
	TCase *tc = tcase_create("strmap");

	tcase_add_test(tc, add_and_find);
	tcase_add_test(tc, full);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
