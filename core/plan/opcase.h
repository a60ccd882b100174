/* SPDX-License-Identifier: MIT
 *
 * opcase.h - conformance cases of the ops: does a backend compute what another one computes?
 *
 * A case is a small plan around one op, built through the same builder and checks as a model's,
 * with random weights, inputs and memory of sequences from a seed.  It runs for several layouts of
 * a step: one row, few rows, several sequences, page borders, more limits than rows.  All results
 * are compared: the values that the op writes and what it leaves in pages and state slots. */
#ifndef LLAMAD_CORE_PLAN_OPCASE_H
#define LLAMAD_CORE_PLAN_OPCASE_H

#include <stdint.h>

#include "core/plugin/registry.h"
#include "llamad/status.h"

enum lmi_opcase_verdict { LMI_OPCASE_PASS, LMI_OPCASE_FAIL, LMI_OPCASE_SKIP };

/* One case in one layout. */
struct lmi_opcase_result {
	const char *op;	     /* "linear" */
	const char *name;    /* "q4_0, four weights" */
	const char *layout;  /* "3 sequences" */
	const char *setting; /* "f32" or "int8": activations */
	enum lmi_opcase_verdict verdict;
	double nmse, max_abs; /* the worst output: squared error over squares; error over rms */
	double tol_nmse, tol_abs;
	const char *why;  /* reason of the tolerance */
	const char *text; /* FAIL: what differs; SKIP: why not run; else "" */
};
typedef void (*lmi_opcase_report_fn)(void *arg, const struct lmi_opcase_result *r);

struct lmi_opcase_opts {
	const struct lmd_host *host;
	const struct lmi_factory *a; /* backend under test */
	const struct lmi_factory *b; /* the one it is held to, usually "ref" */
	const char *filter; /* cases whose "op name" contains it; NULL = all */
	uint64_t seed;
	struct lmd_team *team;	     /* for both; NULL = none */
	lmi_opcase_report_fn report; /* NULL allowed */
	void *arg;
};

struct lmi_opcase_totals {
	uint32_t n_pass, n_fail, n_skip;
};

/* Runs all cases.  LMD_OK when they ran, whatever their verdicts; an error when a backend cannot be
 * opened. */
enum lmd_status lmi_opcase_run(const struct lmi_opcase_opts *o, struct lmi_opcase_totals *out,
			       struct lmd_error *err);

/* How a backend takes the op of a case. */
enum lmi_opcase_support {
	LMI_OPCASE_NATIVE,
	LMI_OPCASE_PARTS, /* by simpler ops */
	LMI_OPCASE_NONE,
	LMI_OPCASE_BROKEN /* it should, and fails */
};
struct lmi_opcase_known {
	const char *op, *name; /* as above */
	enum lmi_opcase_support support;
	const char *text; /* why not native; "" */
};
typedef void (*lmi_opcase_known_fn)(void *arg, const struct lmi_opcase_known *k);

/* Asks a backend about all cases, always in the same order; nothing is compared.  The texts `op`
 * and `name` live as long as the program.  An error when the backend cannot be opened. */
enum lmd_status lmi_opcase_support(const struct lmd_host *host, const struct lmi_factory *backend,
				   lmi_opcase_known_fn report, void *arg, struct lmd_error *err);

/* Number of cases that `filter` leaves (for help texts and tests). */
uint32_t lmi_opcase_count(const char *filter);

#endif /* LLAMAD_CORE_PLAN_OPCASE_H */
