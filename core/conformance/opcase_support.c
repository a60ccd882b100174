/* SPDX-License-Identifier: MIT
 *
 * Finds out what a backend supports: compiles each case in one layout and records whether the op itself
 * or its decomposition was accepted.  Whether a weight type is supported is known only when weights
 * are loaded, so they are.  Nothing is run: a device may need minutes to make the programs of all cases. */
#include <stdio.h>
#include <string.h>

#include "core/conformance/opcase_priv.h"

/* One sequence with a past: the smallest step with everything that an op can encounter. */
#define LAYOUT 0

struct query {
	struct oc_device dev; /* the backend's own answers */
	uint32_t op;          /* op of the case */
	uint32_t n_rejected;
	char reason[96]; /* of the first rejection; otherwise the first remark */
};

static bool query_support(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
			  char *reason, size_t n)
{
	struct query *a = arg;
	bool native = a->dev.support(a->dev.support_arg, plan, op, reason, n);

	if (op->code == a->op && (native ? !a->reason[0] : !a->n_rejected++))
		(void)snprintf(a->reason, sizeof(a->reason), "%s", reason);
	return native;
}

static void one_case(struct oc_backend *be, uint32_t op, const struct opcase *def,
		     lmi_opcase_support_fn report, void *arg)
{
	struct query query = {.dev = oc_backend_device(be), .op = op};
	struct oc_device dev = query.dev;
	struct lmi_opcase_support_info k = {.op = lmi_plan_op_info(op)->name, .name = def->name};
	struct lmd_error err = {.text = ""};
	struct oc *c = NULL;
	enum lmd_status st;
	uint32_t n;

	dev.support = query_support;
	dev.support_arg = &query;
	dev.any_weights = true;
	st = oc_create(&c, def, &oc_layouts_of(def, &n)[LAYOUT], be->host, &dev, 1, false, &err);
	if (st == LMD_OK)
		st = oc_compile(be, c, &err);
	k.support = st == LMD_UNSUPPORTED ? LMI_OPCASE_NONE
		    : st != LMD_OK        ? LMI_OPCASE_BROKEN
		    : query.n_rejected    ? LMI_OPCASE_PARTS
					  : LMI_OPCASE_NATIVE;
	k.text = st != LMD_OK ? err.text : query.reason;
	report(arg, &k);
	oc_destroy(c);
}

enum lmd_status lmi_opcase_support(const struct lmd_host *host, const struct lmi_factory *backend,
				   lmi_opcase_support_fn report, void *arg, struct lmd_error *err)
{
	struct oc_backend be;
	enum lmd_status st =
		oc_backend_open(&be, backend, 0, host, NULL, LMD_ACTIVATIONS_DEFAULT, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < n_opcase_sets; i++)
		for (uint32_t j = 0; j < opcase_sets[i]->n; j++)
			one_case(&be, opcase_sets[i]->op, &opcase_sets[i]->cases[j], report, arg);
	oc_group_support(&be, report, arg);
	oc_backend_close(&be);
	return LMD_OK;
}
