/* SPDX-License-Identifier: MIT
 *
 * Arenas, and overflow-checked arithmetic on numbers from outside. */
#include "core/base/arena.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

static bool all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Pieces of random sizes are zeroed, aligned, disjoint and keep what is written to them; their
 * total is bounded. */
START_TEST(arena)
{
	enum { N = 3000 };
	struct lmd_arena *a = lmi_arena_create(64 << 20);
	uint64_t seed = lmd_seed("arena", 5), used = 0;
	struct lmi_alloc_stats s0, s;
	static unsigned char *p[N];
	static size_t size[N];

	lmi_alloc_stats(&s0);
	for (int i = 0; i < N; i++) {
		size_t align = (size_t)1 << lmd_rand(&seed) % 7;

		size[i] = 1 + lmd_rand(&seed) % (i % 500 ? 5000 : 3 << 20);
		p[i] = lmi_arena_alloc(a, size[i], align);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % align, 0);
		ck_assert(all_zero(p[i], size[i]));
		memset(p[i], i % 255 + 1, size[i]);
		used += size[i];
	}
	ck_assert_uint_eq(lmi_arena_used(a), used);
	for (int i = 0; i < N; i++)
		ck_assert(p[i][0] == i % 255 + 1 && p[i][size[i] - 1] == i % 255 + 1);
	ck_assert_ptr_null(lmi_arena_alloc(a, 0, 1));
	ck_assert_ptr_null(lmi_arena_alloc(a, 64 << 20, 1));
	ck_assert_ptr_null(lmi_arena_alloc(a, SIZE_MAX, 1));
	ck_assert_ptr_null(lmi_arena_array(a, SIZE_MAX / 2, 4));
	lmi_alloc_stats(&s);
	ck_assert_uint_lt(s.live_bytes - s0.live_bytes, used + used / 8 + (2 << 20));
	lmi_arena_destroy(a);
	lmi_arena_destroy(NULL);
}
END_TEST

/* Large pieces between small ones do not waste the block that small ones come from. */
START_TEST(arena_waste)
{
	struct lmd_arena *a = lmi_arena_create(100 << 20);
	struct lmi_alloc_stats s0, s;

	lmi_alloc_stats(&s0);
	for (int i = 0; i < 40; i++) {
		ck_assert_ptr_nonnull(lmi_arena_alloc(a, (1 << 20) + 1, 1));
		ck_assert_ptr_nonnull(lmi_arena_alloc(a, 10, 1));
	}
	lmi_alloc_stats(&s);
	ck_assert_uint_lt(s.live_bytes - s0.live_bytes, 43 << 20);
	lmi_arena_destroy(a);
}
END_TEST

START_TEST(arena_text)
{
	struct lmd_arena *a = lmi_arena_create(0);
	char *s = lmi_arena_strndup(a, "hello", 4);

	ck_assert_str_eq(s, "hell");
	ck_assert_str_eq(lmi_arena_printf(a, "%s-%05u", s, 42), "hell-00042");
	ck_assert_ptr_null(lmi_arena_strndup(a, s, SIZE_MAX));
	lmi_arena_destroy(a);
}
END_TEST

START_TEST(checked)
{
	uint64_t r = 7;

	ck_assert(lmi_mul_ok(1ull << 32, (1ull << 32) - 1, &r));
	ck_assert_uint_eq(r, 0xFFFFFFFF00000000ull);
	ck_assert(!lmi_mul_ok(1ull << 32, 1ull << 32, &r));
	ck_assert(!lmi_add_ok(UINT64_MAX, 1, &r));
	ck_assert_uint_eq(r, 0xFFFFFFFF00000000ull); /* unchanged */
	ck_assert(lmi_add_ok(UINT64_MAX, 0, &r));
	ck_assert(lmi_align_ok(33, 32, &r));
	ck_assert_uint_eq(r, 64);
	ck_assert(lmi_align_ok(64, 32, &r));
	ck_assert_uint_eq(r, 64);
	ck_assert(!lmi_align_ok(UINT64_MAX - 30, 32, &r));
	ck_assert(lmi_align_ok(0, 32, &r));
	ck_assert_uint_eq(r, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arena");
	TCase *tc = tcase_create("memory");

	tcase_add_test(tc, arena);
	tcase_add_test(tc, arena_waste);
	tcase_add_test(tc, arena_text);
	tcase_add_test(tc, checked);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
