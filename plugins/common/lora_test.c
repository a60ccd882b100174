/* SPDX-License-Identifier: MIT
 *
 * The table of bound adapters, and which adapters fit the sites of a plan. */
#include "common/lora.h"

#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct lmi_lora_table table;
static struct lmi_lora_sites sites;

static void setup(void)
{
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
}

static void teardown(void)
{
	lmi_lora_fini(&table, host);
	lmi_lora_sites_fini(&sites, host);
	lmi_host_destroy(host);
}

static void bind(uint32_t slot, uint32_t site, uint32_t n_stack, uint32_t rank, uint32_t n,
		 uint32_t k)
{
	static const float zero[4096];
	const struct lmd_adapter_bind b = {.struct_size = sizeof(b),
					   .slot = slot,
					   .site = site,
					   .rank = rank,
					   .a = zero,
					   .b = zero,
					   .n = n,
					   .k = k,
					   .scale = 1,
					   .n_stack = n_stack};
	struct lmd_error err;

	ck_assert_int_eq(lmi_lora_bind(&table, host, &b, &err), LMD_OK);
}

/* Site 3 is [2 slices, 8, 16]. */
static enum lmd_status check(int32_t slot, struct lmd_error *err)
{
	const struct lmi_lora_site site = {.site = 3, .n = 8, .k = 16, .n_stack = 2, .name = "up"};
	const int32_t slots[] = {0, slot, slot};

	if (!sites.n)
		ck_assert_int_eq(lmi_lora_sites_add(&sites, host, &site, err), LMD_OK);
	return lmi_lora_check(&table, &sites, slots, 3, err);
}

START_TEST(found_by_site_and_slot)
{
	for (uint32_t i = 40; i > 0; i--)
		bind(1 + i % 4, i / 4, 1, i, 1, 1);
	for (uint32_t i = 1; i <= 40; i++) {
		const struct lmi_lora *a = lmi_lora_find(&table, 1 + i % 4, i / 4);

		ck_assert_ptr_nonnull(a);
		ck_assert_uint_eq(a->rank, i);
	}
	ck_assert_ptr_null(lmi_lora_find(&table, 5, 3));
	ck_assert_ptr_null(lmi_lora_find(&table, 1, 11));
}
END_TEST

START_TEST(what_fits)
{
	static const struct {
		uint32_t n_stack, rank, n, k;
		bool fits;
	} cases[] = {
		{2, 4, 8, 16, true},  {1, 4, 8, 16, true},  {1, 0, 8, 1, true},
		{3, 4, 8, 16, false}, {2, 4, 7, 16, false}, {2, 4, 8, 17, false},
		{2, 4, 16, 8, false}, {1, 0, 9, 1, false},
	};
	struct lmd_error err;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		bind(2, 3, cases[i].n_stack, cases[i].rank, cases[i].n, cases[i].k);
		ck_assert_int_eq(check(1, &err), LMD_OK); /* no adapter is bound there */
		ck_assert_int_eq(check(2, &err), cases[i].fits ? LMD_OK : LMD_INVALID);
		if (!cases[i].fits)
			ck_assert_ptr_nonnull(strstr(err.text, "adapter slot 2, site 3: shape"));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lora");
	TCase *t = tcase_create("lora");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, found_by_site_and_slot);
	tcase_add_test(t, what_fits);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
