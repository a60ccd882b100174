/* SPDX-License-Identifier: MIT
 *
 * opcase.h - conformance cases of the ops: does a backend compute the same as another one?
 *
 * A case is a small plan around one op, built with the same builder and checks as a model's plan,
 * with weights, inputs and sequence memory that are random numbers from a seed.  It runs with
 * several layouts of a step: one row, few rows, several sequences, page boundaries, fewer rows than
 * the limits.  All results are compared: the values that the op writes and the contents of pages
 * and state slots afterwards. */
#ifndef LLAMAD_CORE_CONFORMANCE_OPCASE_H
#define LLAMAD_CORE_CONFORMANCE_OPCASE_H

#include <stdint.h>

#include "core/plugin/registry.h"
#include "llamad/status.h"

enum lmi_opcase_verdict { LMI_OPCASE_PASS, LMI_OPCASE_FAIL, LMI_OPCASE_SKIP };

/* One case in one layout. */
struct lmi_opcase_result {
	const char *op;	     /* "linear" */
	const char *name;    /* "q4_0, four weights" */
	const char *layout;  /* "3 sequences" */
	const char *setting; /* "f32", "int8" or "int16": kind of activations */
	enum lmi_opcase_verdict verdict;
	double nmse, max_abs; /* of the worst output: squared error over sum of squares; error over
			       * RMS */
	double tol_nmse, tol_abs;
	const char *why;  /* reason of the tolerance */
	const char *text; /* FAIL: what differs; SKIP: why it was not run; otherwise "" */
};
typedef void (*lmi_opcase_report_fn)(void *arg, const struct lmi_opcase_result *r);

struct lmi_opcase_opts {
	const struct lmd_host *host;
	const struct lmi_factory *a; /* backend under test */
	const struct lmi_factory *b; /* reference backend, usually "ref" */
	const char *filter; /* only cases whose "op name" contains it; NULL = all */
	uint64_t seed;
	struct lmd_team *team;	     /* used by both; NULL = none */
	lmi_opcase_report_fn report; /* may be NULL */
	void *arg;
};

struct lmi_opcase_totals {
	uint32_t n_pass, n_fail, n_skip;
};

/* Runs all cases.  Returns LMD_OK if they ran, whatever the verdicts; an error if a backend cannot
 * be opened. */
enum lmd_status lmi_opcase_run(const struct lmi_opcase_opts *o, struct lmi_opcase_totals *out,
			       struct lmd_error *err);

/* How a backend supports the op of a case. */
enum lmi_opcase_support {
	LMI_OPCASE_NATIVE,
	LMI_OPCASE_PARTS, /* through simpler ops */
	LMI_OPCASE_NONE,
	LMI_OPCASE_BROKEN /* reported as supported, but fails */
};
struct lmi_opcase_support_info {
	const char *op, *name; /* as in lmi_opcase_result */
	enum lmi_opcase_support support;
	const char *text; /* why not native; otherwise "" or a remark of the backend */
};
typedef void (*lmi_opcase_support_fn)(void *arg, const struct lmi_opcase_support_info *k);

/* Collectives, about which lmi_opcase_support asks after the cases. */
#define LMI_OPCASE_N_COLLECTIVE 2u

/* Asks a backend about all cases and collectives, always in the same order; results are not compared.  The texts
 * `op` and `name` live as long as the program.  Returns an error if the backend cannot be
 * opened. */
enum lmd_status lmi_opcase_support(const struct lmd_host *host, const struct lmi_factory *backend,
				   lmi_opcase_support_fn report, void *arg, struct lmd_error *err);

/* Returns the number of cases of the device's own work that match `filter`: copies, events, queues,
 * pages, groups.  lmi_opcase_run runs them as well, with op "device"; backends are not asked about them. */
uint32_t lmi_opcase_count_device(const char *filter);

/* Returns the number of cases of ops that match `filter` (for help texts and tests). */
uint32_t lmi_opcase_count(const char *filter);

#endif /* LLAMAD_CORE_CONFORMANCE_OPCASE_H */
