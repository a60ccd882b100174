/* SPDX-License-Identifier: MIT */
#include "core/conformance/tensor_cache.h"

#include <string.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

#define BYTES 100u

static struct oc_tensor_key key_of(uint64_t rng)
{
	return (struct oc_tensor_key){.dtype = 2, .n = 4, .k = 32, .std = 0.5, .rng = rng};
}

static void put(struct oc_tensor_cache *c, uint64_t rng)
{
	struct oc_tensor_key key = key_of(rng);
	unsigned char data[BYTES];

	memset(data, (int)rng, sizeof(data));
	oc_tensor_cache_put(c, &key, data, sizeof(data), rng + 1000);
}

/* Is the tensor there, with its bytes? */
static bool has(const struct oc_tensor_cache *c, const struct oc_tensor_key *key)
{
	unsigned char data[BYTES] = {0}, want[BYTES];
	uint64_t rng = 0;

	memset(want, (int)key->rng, sizeof(want));
	if (!oc_tensor_cache_get(c, key, data, sizeof(data), &rng))
		return false;
	ck_assert_uint_eq(rng, key->rng + 1000);
	ck_assert(!memcmp(data, want, sizeof(data)));
	return true;
}

START_TEST(everything_in_the_key_counts)
{
	struct oc_tensor_cache *c = oc_tensor_cache_create(1000);
	struct oc_tensor_key key = key_of(7), other[6];
	uint64_t rng;
	char data[BYTES];

	put(c, 7);
	ck_assert(has(c, &key));
	for (size_t i = 0; i < LMD_LEN(other); i++)
		other[i] = key;
	other[0].dtype++;
	other[1].n++;
	other[2].k++;
	other[3].mean = 1;
	other[4].std = 1;
	other[5].rng++;
	for (size_t i = 0; i < LMD_LEN(other); i++)
		ck_assert(!has(c, &other[i]));
	ck_assert(!oc_tensor_cache_get(c, &key, data, BYTES - 1, &rng));
	ck_assert(!oc_tensor_cache_get(NULL, &key, data, BYTES, &rng));
	oc_tensor_cache_put(NULL, &key, data, BYTES, 0);
	oc_tensor_cache_destroy(c);
}
END_TEST

/* It keeps what was made last, and nothing that is greater than itself. */
START_TEST(is_bounded)
{
	struct oc_tensor_cache *c = oc_tensor_cache_create(3 * BYTES);
	char big[3 * BYTES + 1] = {0};
	struct oc_tensor_key key = key_of(1);

	for (uint64_t i = 1; i <= 5; i++)
		put(c, i);
	for (uint64_t i = 1; i <= 5; i++) {
		key = key_of(i);
		ck_assert_int_eq(has(c, &key), i > 2);
	}
	key = key_of(9);
	oc_tensor_cache_put(c, &key, big, sizeof(big), 0);
	key = key_of(5);
	ck_assert(has(c, &key));
	oc_tensor_cache_destroy(c);

	c = oc_tensor_cache_create(1u << 20); /* more entries than it has places */
	for (uint64_t i = 1; i <= 3000; i++)
		put(c, i);
	key = key_of(3000);
	ck_assert(has(c, &key));
	key = key_of(1);
	ck_assert(!has(c, &key));
	oc_tensor_cache_destroy(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tensor cache");
	TCase *t = tcase_create("tensor cache");

	tcase_add_test(t, everything_in_the_key_counts);
	tcase_add_test(t, is_bounded);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
