/* SPDX-License-Identifier: MIT
 *
 * The thread team of a model: as many threads as steps need at most, and fewer where that is enough. */
#include "core/base/alloc.h"
#include "core/base/team.h"

static enum lmd_status check(const char *what, uint32_t n, struct lmd_error *err)
{
	return n <= LMI_TEAM_MAX ? LMD_OK
				 : lmd_fail(err, LMD_INVALID, "%s: %u threads exceed the limit of %d",
					    what, n, LMI_TEAM_MAX);
}

/* *cpus: as of lmi_cpu_place, for t->n parts. */
static enum lmd_status resolve(struct lmi_team_threads *t, struct lmi_cpu_set **cpus,
			       struct lmd_error *err)
{
	enum lmd_status st = check("threads", t->n, err);

	if (st == LMD_OK)
		st = check("threads_batch", t->n_many, err);
	if (st == LMD_OK)
		st = lmi_cpu_place(cpus, &t->n, &t->place, t->n, NULL, err);
	if (st == LMD_OK && !t->n_many)
		t->n_many = t->n;
	return st;
}

enum lmd_status lmi_team_resolve(struct lmi_team_threads *t, struct lmd_error *err)
{
	struct lmi_cpu_set *cpus = NULL;
	enum lmd_status st = resolve(t, &cpus, err);

	lmi_free(cpus);
	return st;
}

enum lmd_status lmi_team_open(struct lmd_team **out, struct lmi_team_threads *t,
			      struct lmd_error *err)
{
	struct lmi_team_opts o = {.spin_ns = UINT32_MAX};
	struct lmi_cpu_set *cpus;
	enum lmd_status st;

	*out = NULL;
	st = resolve(t, &cpus, err);
	if (st != LMD_OK)
		return st;
	o.n = t->n > t->n_many ? t->n : t->n_many;
	o.n_few = t->n < t->n_many ? t->n : t->n_many;
	if (o.n > t->n) {
		lmi_free(cpus);
		st = lmi_cpu_place(&cpus, &o.n, &t->place, o.n, NULL, err);
	}
	o.cpus = cpus;
	if (st == LMD_OK && (o.n > 1 || cpus))
		st = lmi_team_create(out, &o, err);
	lmi_free(cpus);
	return st;
}

void lmi_team_choose(struct lmd_team *team, const struct lmi_team_threads *t, uint32_t n_row)
{
	uint32_t n = n_row > LMI_TEAM_FEW_ROWS ? t->n_many : t->n;

	lmi_team_use_few(team, n < t->n || n < t->n_many);
}
