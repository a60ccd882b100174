/* SPDX-License-Identifier: MIT
 *
 * Fingerprints do not depend on how the bytes are split, and differ for different bytes. */
#include "core/base/fingerprint.h"

#include "tests/lmd_check.h"

static uint64_t of(const uint8_t *p, size_t n)
{
	struct lmi_fingerprint f;

	lmi_fingerprint_init(&f);
	lmi_fingerprint_add(&f, p, n);
	return lmi_fingerprint_get(&f);
}

START_TEST(cuts)
{
	uint8_t p[200];

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(7 * i);
	for (size_t n = 0; n <= sizeof(p); n++) {
		for (size_t step = 1; step < 70; step += 3) {
			struct lmi_fingerprint f;

			lmi_fingerprint_init(&f);
			for (size_t at = 0; at < n; at += step) {
				lmi_fingerprint_add(&f, p + at, n - at < step ? n - at : step);
				(void)lmi_fingerprint_get(&f); /* reading it changes nothing */
			}
			ck_assert_uint_eq(lmi_fingerprint_get(&f), of(p, n));
		}
	}
}
END_TEST

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Zeros of every length, every bit of 160 bytes flipped, every two words swapped. */
START_TEST(differences)
{
	static uint64_t seen[4096];
	uint8_t p[160] = {0};
	size_t n = 0;

	for (size_t len = 0; len <= sizeof(p); len++)
		seen[n++] = of(p, len);
	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(1 + i);
	seen[n++] = of(p, sizeof(p));
	for (size_t bit = 0; bit < 8 * sizeof(p); bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		seen[n++] = of(p, sizeof(p));
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t i = 0; i < sizeof(p); i += 8) {
		for (size_t k = i + 8; k < sizeof(p); k += 8) {
			uint8_t q[sizeof(p)];

			memcpy(q, p, sizeof(q));
			memcpy(q + i, p + k, 8);
			memcpy(q + k, p + i, 8);
			seen[n++] = of(q, sizeof(q));
		}
	}
	qsort(seen, n, sizeof(seen[0]), by_value);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_ne(seen[i - 1], seen[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fingerprint");
	TCase *tc = tcase_create("bytes");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, cuts);
	tcase_add_test(tc, differences);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}
