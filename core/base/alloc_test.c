/* SPDX-License-Identifier: MIT
 *
 * Allocation: blocks are zeroed, aligned and counted, and fail when requested; large blocks use
 * memory only as they are written to. */
#include "core/base/alloc.h"

#include <sys/mman.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/sanitized.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

static bool all_are(const unsigned char *p, size_t n, unsigned char byte)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte)
			return false;
	return true;
}

static bool all_zero(const unsigned char *p, size_t n)
{
	return all_are(p, n, 0);
}

START_TEST(heap)
{
	struct lmi_alloc_stats s0, s;
	uint64_t mine = lmi_alloc_thread_count();
	int64_t bytes = lmi_alloc_thread_bytes();
	unsigned char *p, *q;

	lmi_alloc_stats(&s0);
	p = lmi_alloc(100, 3);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq((uintptr_t)p % 64, 0);
	ck_assert(all_zero(p, 300));
	memset(p, 7, 300);
	q = lmi_realloc(p, 200, 3);
	ck_assert_ptr_nonnull(q);
	ck_assert_uint_eq(q[299], 7);
	ck_assert(all_zero(q + 300, 300));
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, s0.n_live + 1);
	ck_assert_uint_eq(s.live_bytes, s0.live_bytes + 600);
	ck_assert_uint_eq(lmi_alloc_thread_count(), mine + 2);
	ck_assert_int_eq(lmi_alloc_thread_bytes(), bytes + 600);
	lmi_alloc_fail_nth(1, false);
	ck_assert_ptr_null(lmi_realloc(q, 300, 3));
	ck_assert(lmi_alloc_did_fail());
	lmi_alloc_fail_nth(0, false);
	ck_assert_uint_eq(q[0], 7); /* unchanged */
	lmi_free(q);
	ck_assert_int_eq(lmi_alloc_thread_bytes(), bytes);
	lmi_free(NULL);
	ck_assert_ptr_null(lmi_alloc(0, 8));
	ck_assert_ptr_null(lmi_alloc(8, 0));
	ck_assert_ptr_null(lmi_alloc(SIZE_MAX, 2));
	ck_assert_ptr_null(lmi_alloc(SIZE_MAX / 2, 2));
	p = (unsigned char *)lmi_strndup("abc", 2);
	ck_assert_str_eq((char *)p, "ab");
	lmi_free(p);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, s0.n_live);
	ck_assert_uint_eq(s.live_bytes, s0.live_bytes);
}
END_TEST

START_TEST(failing)
{
	void *p[4];

	lmi_alloc_fail_nth(3, false);
	for (int i = 0; i < 4; i++)
		p[i] = lmi_alloc(1, 1);
	ck_assert(p[0] && p[1] && !p[2] && p[3]);
	for (int i = 0; i < 4; i++)
		lmi_free(p[i]);
	lmi_alloc_fail_nth(2, true);
	for (int i = 0; i < 4; i++)
		p[i] = lmi_alloc(1, 1);
	ck_assert(p[0] && !p[1] && !p[2] && !p[3]);
	lmi_free(p[0]);
	lmi_alloc_fail_nth(0, false);
}
END_TEST

/* Sizes on both sides of the limit above which a block is a mapping. */
START_TEST(every_size)
{
	static const size_t sizes[] = {1,	  63,	   64,	     65,      4096,   131007,
				       131008,	  131009,  131071,   131072,  131073, 135168,
				       (1 << 20), 1048577, 16777216, 16777279};
	struct lmi_alloc_stats s0, s;

	lmi_alloc_stats(&s0);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < LMD_LEN(sizes); i++) {
			size_t n = sizes[i];
			unsigned char *p = lmi_alloc(n, 1);

			ck_assert_ptr_nonnull(p);
			ck_assert_uint_eq((uintptr_t)p % 64, 0);
			ck_assert_msg(all_zero(p, n), "%zu bytes are not zero", n);
			memset(p, 0xa5, n); /* the next round fails if this is not cleared */
			lmi_alloc_stats(&s);
			ck_assert_uint_eq(s.live_bytes, s0.live_bytes + n);
			ck_assert_uint_ge(s.peak_bytes, s.live_bytes);
			lmi_free(p);
		}
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, s0.n_live);
	ck_assert_uint_eq(s.live_bytes, s0.live_bytes);
}
END_TEST

/* Growing and shrinking across that limit keeps the contents and clears new bytes. */
START_TEST(resizes)
{
	static const size_t sizes[] = {100, 140000, 300000, 131072, 131071, 50, 5000000, 131072};
	unsigned char *p = NULL;
	size_t old = 0;

	for (size_t i = 0; i < LMD_LEN(sizes); i++) {
		size_t n = sizes[i], kept = old < n ? old : n;
		unsigned char *q = lmi_realloc(p, n, 1);

		ck_assert_ptr_nonnull(q);
		ck_assert(all_are(q, kept, 0x5a));
		ck_assert(all_zero(q + kept, n - kept));
		memset(q, 0x5a, n);
		p = q;
		old = n;
	}
	lmi_alloc_fail_nth(1, false);
	ck_assert_ptr_null(lmi_realloc(p, 1 << 20, 1));
	lmi_alloc_fail_nth(0, false);
	ck_assert_uint_eq(p[131071], 0x5a); /* unchanged */
	lmi_free(p);
}
END_TEST

/* Counts the pages of p that are in memory. */
static size_t resident(unsigned char *p, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
	unsigned char *at = p - (uintptr_t)p % page;
	size_t n_page = ((size_t)(p + n - at) + page - 1) / page;
	unsigned char *map = calloc(n_page, 1);

	ck_assert_ptr_nonnull(map);
	ck_assert_int_eq(mincore(at, n_page * page, map), 0);
	for (size_t i = 0; i < n_page; i++)
		count += map[i] & 1;
	free(map);
	return count;
}

START_TEST(untouched)
{
	const size_t n = 64 << 20, far = 40 << 20;
	unsigned char *p;

	if (LMI_SANITIZED) {
		LMD_SKIP("untouched", "a sanitized build clears large blocks");
		return;
	}
	p = lmi_alloc(n, 1);
	ck_assert_ptr_nonnull(p);
	/* each of the two places written to may bring in a transparent huge page */
	ck_assert_uint_le(resident(p, n), 512);
	p[far] = 1;
	ck_assert_uint_ge(resident(p + far, 1), 1);
	ck_assert_uint_le(resident(p, n), 1024);
	lmi_free(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("alloc");
	TCase *tc = tcase_create("memory");

	tcase_add_test(tc, heap);
	tcase_add_test(tc, failing);
	tcase_add_test(tc, every_size);
	tcase_add_test(tc, resizes);
	tcase_add_test(tc, untouched);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
