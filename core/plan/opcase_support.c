/* SPDX-License-Identifier: MIT
 *
 * What a backend takes: each case in one layout, with a note of whether the op itself was taken or
 * its decomposition.  Whether a type of weights is taken is known when weights are loaded, so that
 * the case is run. */
#include <stdio.h>
#include <string.h>

#include "core/plan/opcase_priv.h"

/* One sequence with a past, all that an op can meet in the smallest step. */
#define LAYOUT 0

struct asked {
	struct oc_device dev; /* the backend's own answers */
	uint32_t op;          /* the one that the case is about */
	uint32_t n_refused;
	char reason[96]; /* of the first refusal */
};

static bool note(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		 size_t n)
{
	struct asked *a = arg;
	bool native = a->dev.support(a->dev.support_arg, plan, op, reason, n);

	if (!native && op->code == a->op && !a->n_refused++)
		(void)snprintf(a->reason, sizeof(a->reason), "%s", reason);
	return native;
}

static void one_case(struct oc_backend *be, uint32_t op, const struct opcase *def,
		     lmi_opcase_known_fn report, void *arg)
{
	struct asked asked = {.dev = oc_backend_device(be), .op = op};
	struct oc_device dev = asked.dev;
	struct lmi_opcase_known k = {.op = lmi_op_info(op)->name, .name = def->name};
	struct lmd_error err = {.text = ""};
	struct oc_result out = {0};
	struct oc *c = NULL;
	enum lmd_status st;

	dev.support = note;
	dev.support_arg = &asked;
	st = oc_create(&c, def, &oc_layouts[LAYOUT], be->host, &dev, 1, false, &err);
	if (st == LMD_OK)
		st = oc_execute(be, c, &out, &err);
	k.support = st == LMD_UNSUPPORTED ? LMI_OPCASE_NONE
		    : st != LMD_OK        ? LMI_OPCASE_BROKEN
		    : asked.n_refused     ? LMI_OPCASE_PARTS
					  : LMI_OPCASE_NATIVE;
	k.text = st != LMD_OK ? err.text : asked.reason;
	report(arg, &k);
	oc_result_free(&out);
	oc_destroy(c);
}

enum lmd_status lmi_opcase_support(const struct lmd_host *host, const struct lmi_factory *backend,
				   lmi_opcase_known_fn report, void *arg, struct lmd_error *err)
{
	struct oc_backend be;
	enum lmd_status st =
		oc_backend_open(&be, backend, host, NULL, LMD_ACTIVATIONS_DEFAULT, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < n_opcase_sets; i++)
		for (uint32_t j = 0; j < opcase_sets[i]->n; j++)
			one_case(&be, opcase_sets[i]->op, &opcase_sets[i]->cases[j], report, arg);
	oc_backend_close(&be);
	return LMD_OK;
}
