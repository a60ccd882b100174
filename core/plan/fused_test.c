/* SPDX-License-Identifier: MIT
 *
 * Fused and decomposed ops agree: every conformance case runs on `ref` as it is and fully
 * decomposed, and the results are compared. */
#include <math.h>
#include <stdio.h>

#include "core/conformance/opcase_priv.h"
#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

static struct lmd_host *host;
static struct lmi_plugin_registry *registry;
static const struct lmi_factory *factory;

static void setup(void)
{
	char dir[512];
	const char *dirs[] = {dir};
	struct lmi_plugin_registry_opts o = {.dirs = dirs, .n_dirs = 1, .no_default_dirs = true};
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	o.host = host;
	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	ck_assert_msg(lmi_plugin_registry_create(&registry, &o, &err) == LMD_OK, "%s", err.text);
	ck_assert_msg(lmi_factory_take(registry, LMD_KIND_BACKEND, "ref", &factory, &err) == LMD_OK,
		      "%s", err.text);
}

static void teardown(void)
{
	lmi_factory_give(registry, factory);
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
}

/* *n_op: number of ops in the plan, after lowering if requested. */
static void run(struct oc_backend *be, const struct opcase *def, const struct oc_layout *layout,
		uint64_t seed, bool lowered, struct oc_result *out, uint32_t *n_op)
{
	struct oc_device dev = oc_backend_device(be);
	struct lmd_error err = {0};
	struct oc *c = NULL;

	dev.support = NULL; /* ref runs everything; nothing is decomposed by accident */
	ck_assert_msg(oc_create(&c, def, layout, host, &dev, seed, lowered, &err) == LMD_OK,
		      "%s: %s", def->name, err.text);
	ck_assert_msg(oc_execute(be, c, out, &err) == LMD_OK, "%s: %s", def->name, err.text);
	*n_op = c->view->n_op;
	oc_destroy(c);
}

/* Sums in another order, and activations as EW programs, in addition to the case's own
 * tolerance. */
static double tolerance(const struct opcase *def)
{
	return fmax(def->nmse, 1e-9);
}

static bool agree(struct oc_backend *be, uint32_t op, const struct opcase *def,
		  const struct oc_layout *layout, uint64_t seed, bool *changed)
{
	struct lmi_opcase_result r = {.tol_nmse = tolerance(def),
				      .tol_abs = 50 * sqrt(tolerance(def))};
	struct oc_result fused = {0}, apart = {0};
	char text[256] = "";
	uint32_t n_fused, n_apart;
	bool ok;

	run(be, def, layout, seed, false, &fused, &n_fused);
	run(be, def, layout, seed, true, &apart, &n_apart);
	ok = oc_compare(&apart, &fused, def->flags & OC_SETS, 0, &r, text, sizeof(text));
	if (!ok)
		printf("FAIL: %s, %s, %s: %s\n", lmi_plan_op_info(op)->name, def->name,
		       layout->name, text);
	*changed = n_apart != n_fused;
	oc_result_free(&fused);
	oc_result_free(&apart);
	return ok;
}

START_TEST(fused_is_decomposed)
{
	const uint64_t seed = lmd_seed("fused ops", 4711);
	struct oc_backend be = {0};
	struct lmd_error err = {0};
	unsigned passed = 0, failed = 0, same = 0;

	ck_assert_msg(oc_backend_open(&be, factory, 0, host, NULL, LMD_ACTIVATIONS_F32, &err) ==
			      LMD_OK,
		      "%s", err.text);
	for (uint32_t i = 0; i < n_opcase_sets; i++)
		for (uint32_t j = 0; j < opcase_sets[i]->n; j++)
			for (uint32_t k = 0; k < n_oc_layouts; k++) {
				bool changed = false;

				if (!agree(&be, opcase_sets[i]->op, &opcase_sets[i]->cases[j],
					   &oc_layouts[k], seed, &changed))
					failed++;
				else if (changed)
					passed++;
				else
					same++;
				if (!changed)
					break; /* the op has no decomposition */
			}
	oc_backend_close(&be);
	LMD_CASES("fused ops", passed, failed, 0);
	printf("%u cases have no decomposition\n", same);
	ck_assert_uint_eq(failed, 0);
	ck_assert_uint_gt(passed, 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fused");
	TCase *t = tcase_create("fused");

	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, fused_is_decomposed);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
