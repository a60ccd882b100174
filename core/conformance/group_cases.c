/* SPDX-License-Identifier: MIT
 *
 * Cases of a group of devices: plans with ALLREDUCE and ALLGATHER, the plan of each rank on its
 * device. They compare bits with sums and copies that are made here, so they need no reference
 * backend. */
#include "core/conformance/group_ranks.h"

#include <string.h>

/* ---- what should come out ---- */

static float sum_of(float *v, uint32_t n)
{
	for (; n > 1; n = (n + 1) / 2) {
		for (uint32_t i = 0; i < n / 2; i++)
			v[i] = v[2 * i] + v[2 * i + 1];
		if (n % 2)
			v[n / 2] = v[n - 1];
	}
	return v[0];
}

static bool check(struct oc_group_case *c, uint32_t run)
{
	float v[OC_MAX_RANK], sum;

	for (uint32_t i = 0; i < c->n_row[run] * c->width; i++) {
		const uint32_t row = i / c->width, col = i % c->width;

		for (uint32_t r = 0; r < c->n; r++)
			v[r] = c->ranks[r].run[run].x[i];
		sum = sum_of(v, c->n);
		for (uint32_t r = 0; r < c->n; r++)
			v[r] = sum;
		(void)sum_of(v, c->n);
		for (uint32_t r = 0; r < c->n; r++) {
			const struct oc_rank *k = &c->ranks[r];

			if (memcmp(&k->run[run].y[0][i], &sum, 4))
				return oc_group_fail(c,
						     "ALLREDUCE has other bits than sums in pairs");
			if (memcmp(&k->run[run].y[2][i], &v[0], 4))
				return oc_group_fail(
					c, "a second ALLREDUCE has other bits than sums in pairs");
			for (uint32_t from = 0; from < c->n; from++)
				if (memcmp(&k->run[run].y[1][(row * c->n + from) * c->width + col],
					   &c->ranks[from].run[run].x[i], 4))
					return oc_group_fail(
						c, "ALLGATHER has other columns than the ranks");
		}
	}
	return true;
}

/* ---- the cases ---- */

static bool usual(struct oc_group_case *c)
{
	static const uint32_t rows[] = {1, 5, OC_RANK_ROWS};

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		oc_group_fill(c, 0, rows[i]);
		if (!oc_group_run_well(c, 1) || !check(c, 0))
			return false;
	}
	if (!c->ranks[0].q)
		return true;
	oc_group_fill(c, 0, 7);
	oc_group_fill(c, 1, 4);
	return oc_group_run_well(c, 2) && check(c, 0) && check(c, 1);
}

/* One rank's step is cancelled from the start: all ranks end, with the same result, and a later
 * step is right. A device may be too late to notice. */
static bool cancelled_rank(struct oc_group_case *c)
{
	static const int32_t cancel = 1;

	oc_group_fill(c, 0, 3);
	c->ranks[c->n - 1].run[0].step->view.cancel = &cancel;
	if (!oc_group_run(c, 1))
		return false;
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].st != c->ranks[0].st)
			return oc_group_fail(
				c, "a rank was cancelled, and others do not end as it does");
	if (c->ranks[0].st != LMD_OK && c->ranks[0].st != LMD_CANCELLED)
		return oc_group_fail(c, "a rank was cancelled, and the status is another one");
	oc_group_fill(c, 0, 3);
	return oc_group_run_well(c, 1) && check(c, 0);
}

/* ---- a late rank ---- */

#define SOON_NS 5000000000u
#define FAST_NS 60000000000u

/* The clock of the case, of which there is one at a time, since a host's clock does not know who asks. */
static uint64_t case_now_ns, case_tick_ns;

static uint64_t case_now(void *ctx)
{
	(void)ctx;
	return __atomic_add_fetch(&case_now_ns, __atomic_load_n(&case_tick_ns, __ATOMIC_RELAXED),
				  __ATOMIC_RELAXED);
}

/* A minute passes with each look at the clock, or it stands still. */
static void run_clock(bool fast)
{
	__atomic_store_n(&case_tick_ns, fast ? FAST_NS : 0, __ATOMIC_RELAXED);
}

/* Runs the step of a rank, and waits for it for a while. */
static void run_alone(struct oc_rank *k, uint64_t timeout_ns)
{
	const struct lmd_backend_ops *ops = k->c->ops;

	k->st = oc_group_upload(k, 0);
	if (k->st == LMD_OK)
		k->st = oc_group_submit(k, 0);
	if (k->st == LMD_OK && k->q)
		k->st = ops->event_record(k->be.state, k->q, k->event, &k->err);
	if (k->st == LMD_OK && k->q)
		k->st = ops->event_wait(k->be.state, k->event, timeout_ns, &k->err);
}

/* A rank comes when the other one has waited for minutes.  The other one has given up by then, and the late
 * rank fails as well; or, if the device does not look at the host's clock, both end well.  A later step is
 * right. */
static bool late_rank(struct oc_group_case *c)
{
	struct oc_rank *first = &c->ranks[0], *late = &c->ranks[1];

	oc_group_fill(c, 0, 3);
	run_clock(true);
	run_alone(first, SOON_NS);
	run_clock(false);
	run_alone(late, UINT64_MAX);
	if (first->q)
		first->st =
			c->ops->event_wait(first->be.state, first->event, UINT64_MAX, &first->err);
	if ((first->st == LMD_OK) != (late->st == LMD_OK))
		return oc_group_fail(c, "a rank is late, and the ranks end in different ways");
	c->layout = first->st == LMD_OK        ? "the other one waits"
		    : first->st == LMD_TIMEOUT ? "the other one gives up"
					       : "the other one fails";
	oc_group_fill(c, 0, 3);
	return oc_group_run_well(c, 1) && check(c, 0);
}

static const struct {
	const char *name;
	bool (*run)(struct oc_group_case *c);
	uint32_t n_rank, width;
	bool clock; /* it has one of its own */
} cases[] = {
	{"collectives of 2 ranks", usual, 2, 96, false},
	{"collectives of 4 ranks", usual, 4, 5, false},
	{"collectives with a cancelled rank", cancelled_rank, 2, 16, false},
	{"collectives with a late rank", late_rank, 2, 16, true},
};

static const char *name_of(uint32_t i)
{
	return cases[i].name;
}

static void run_case(struct oc_backend *be, uint32_t i, uint64_t seed, void *state,
		     struct lmi_opcase_result *r)
{
	const bool host = be->info.caps & LMD_DEV_HOST_MEMORY;
	struct oc_group_case *c = state;
	bool passed = false, opened = true;

	*c = (struct oc_group_case){.ops = be->ops,
				    .n = cases[i].n_rank,
				    .width = cases[i].width,
				    .rng = seed + i,
				    .layout = "one plan for each rank"};
	if (cases[i].clock) {
		c->host = *be->host;
		c->host.now_ns = case_now;
	}
	c->skip = true;
	if (!be->ops->group_create) {
		(void)lmd_fail(&c->err, LMD_UNSUPPORTED, "it has no groups of devices");
	} else if (!host && be->n_device < c->n) {
		(void)lmd_fail(&c->err, LMD_UNSUPPORTED, "the backend has %u of %u devices",
			       be->n_device, c->n);
	} else {
		c->skip = false;
		for (uint32_t k = 0; k < c->n && opened; k++)
			opened = oc_group_open_rank(c, be, k);
		passed = opened && oc_group_open(c) && cases[i].run(c);
	}
	oc_group_close(c);
	*r = (struct lmi_opcase_result){.op = "device",
					.name = cases[i].name,
					.layout = c->layout,
					.setting = "f32",
					.why = "sums in a fixed order: the same bits",
					.verdict = passed    ? LMI_OPCASE_PASS
						   : c->skip ? LMI_OPCASE_SKIP
							     : LMI_OPCASE_FAIL,
					.text = passed ? "" : c->err.text};
}

/* The first collective of each kind is asked about; the others have the same operands. */
void oc_group_support(struct oc_backend *be, lmi_opcase_support_fn report, void *arg)
{
	static const uint32_t codes[LMI_OPCASE_N_COLLECTIVE] = {LMD_OP_ALLREDUCE, LMD_OP_ALLGATHER};
	struct oc_group_case *c = be->host->alloc(be->host->ctx, sizeof(*c));
	const struct lmd_plan *plan = NULL;

	if (c) {
		*c = (struct oc_group_case){.ops = be->ops, .n = 2, .width = 16};
		c->ranks[0].be = *be;
		plan = oc_group_make_plan(c, 0) ? lmi_plan_view(c->ranks[0].plan) : NULL;
	}
	for (uint32_t i = 0; i < LMI_OPCASE_N_COLLECTIVE; i++) {
		struct lmd_support s = {.struct_size = sizeof(s)};
		struct lmi_opcase_support_info k = {.op = lmi_plan_op_info(codes[i])->name,
						    .name = "2 ranks",
						    .support = LMI_OPCASE_NONE,
						    .text = "it has no groups of devices"};
		uint32_t at = 0;

		while (plan && at < plan->n_op && plan->ops[at].code != codes[i])
			at++;
		if (!plan || at == plan->n_op) {
			k.support = LMI_OPCASE_BROKEN;
			k.text = c ? c->err.text : "no memory for a plan";
		} else if (be->ops->group_create) {
			be->ops->op_support(be->state, plan, &plan->ops[at], &s);
			k.support = s.native ? LMI_OPCASE_NATIVE : LMI_OPCASE_NONE;
			k.text = s.reason;
		}
		report(arg, &k);
	}
	if (c)
		lmi_plan_destroy(c->ranks[0].plan);
	be->host->free(be->host->ctx, c);
}

const struct oc_device_set oc_group_cases = {.n = LMD_LEN(cases),
					     .state_bytes = sizeof(struct oc_group_case),
					     .name = name_of,
					     .run = run_case};
