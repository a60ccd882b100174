/* SPDX-License-Identifier: MIT
 *
 * Cases of a group of devices: plans with ALLREDUCE and ALLGATHER, the plan of each rank on its
 * device. They compare bits with sums and copies that are made here, so they need no reference
 * backend. Devices in host memory are opened several times; of others there must be one for each
 * rank. */
#include <pthread.h>
#include <string.h>

#include "core/conformance/opcase_priv.h"

#define MAX_RANK  4u
#define MAX_ROW	  33u
#define MAX_WIDTH 96u
#define N_OUT	  3u /* sums, rows side by side, sums of the sums */

struct group_case;

/* A rank, with two steps that can be on the queue at the same time. */
struct rank {
	struct group_case *c;
	struct oc_backend be;
	bool opened;
	struct lmi_plan *plan;
	struct lmd_compiled_plan *compiled_plan;
	struct lmd_queue *q;
	struct lmd_event *event;
	struct {
		struct lmi_plan_step *step;
		struct lmd_buffer *in, *out[N_OUT];
		float x[MAX_ROW * MAX_WIDTH], y[N_OUT][MAX_ROW * MAX_WIDTH * MAX_RANK];
		struct lmd_binding bind_in, bind_out[N_OUT];
	} run[2];
	enum lmd_status st; /* of the last run */
	struct lmd_error err;
};

struct group_case {
	const struct lmd_backend_ops *ops;
	struct lmd_devgroup *group;
	uint32_t n, width, n_row[2];
	struct rank ranks[MAX_RANK];
	uint64_t rng;
	struct lmd_host host; /* of a case with a clock of its own */
	const char *layout;   /* how the ranks run */
	struct lmd_error err;
	bool skip;
};

static bool ok(enum lmd_status st)
{
	return st == LMD_OK;
}

static bool fail(struct group_case *c, const char *text)
{
	(void)lmd_fail(&c->err, LMD_INTERNAL, "%s", text);
	return false;
}

static float draw(struct group_case *c)
{
	c->rng = c->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (float)(int32_t)(c->rng >> 32) / 65536.0f;
}

/* ---- plans ---- */

static struct lmd_operand value(const struct lmd_builder *b, uint32_t width, const char *name)
{
	return (struct lmd_operand){
		.src = LMD_SRC_VALUE,
		.id = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, width, name),
		.n_head = 1,
		.width = width};
}

static void collective(const struct lmd_builder *b, uint32_t code, struct lmd_operand x,
		       struct lmd_operand y)
{
	struct lmd_op op = {.code = code, .u.collective = {.x = x, .y = y}};

	b->op(b->ctx, &op);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct group_case *c = state;
	const struct lmd_input in = {.space = LMD_SPACE_TOKENS,
				     .vtype = LMD_VTYPE_F32,
				     .width = c->width,
				     .name = "x"};
	struct lmd_op copy = {.code = LMD_OP_CAST_COPY};
	struct lmd_operand x = value(b, c->width, "part"), sum = value(b, c->width, "sum");
	struct lmd_operand all = value(b, c->width * c->n, "all"), again = value(b, c->width, "again");

	(void)key;
	copy.u.cast_copy.x = x;
	copy.u.cast_copy.x.src = LMD_SRC_INPUT;
	copy.u.cast_copy.x.id = b->input(b->ctx, &in);
	copy.u.cast_copy.y = x;
	b->op(b->ctx, &copy);
	collective(b, LMD_OP_ALLREDUCE, x, sum);
	collective(b, LMD_OP_ALLGATHER, x, all);
	collective(b, LMD_OP_ALLREDUCE, sum, again);
	b->output(b->ctx, LMD_OUT_TAP, sum.id);
	b->output(b->ctx, LMD_OUT_TAP + 1, all.id);
	b->output(b->ctx, LMD_OUT_TAP + 2, again.id);
	return b->status(b->ctx);
}

static uint32_t bucket_of(const struct lmd_device_info *info)
{
	for (uint32_t i = 0; i < info->n_bucket; i++)
		if (info->bucket[i] >= MAX_ROW)
			return info->bucket[i];
	return 0;
}

static bool make_plan(struct group_case *c, uint32_t r)
{
	static const struct lmd_arch_ops ops = {.struct_size = sizeof(ops), .build = build};
	static const struct lmd_model model = {.struct_size = sizeof(model)};
	struct rank *k = &c->ranks[r];
	const uint32_t bucket = bucket_of(&k->be.info), rows = bucket ? bucket : MAX_ROW;
	const struct lmd_arch_desc desc = {.struct_size = sizeof(desc), .state = c};
	const struct lmi_plan_params p = {.host = k->be.host,
					  .model = &model,
					  .arch = &ops,
					  .desc = &desc,
					  .key = {.struct_size = sizeof(p.key),
						  .kind = LMD_PLAN_FORWARD,
						  .pooling = LMD_POOL_UNSET,
						  .bucket = bucket,
						  .rank = r,
						  .n_rank = c->n},
					  .act_dtype = k->be.info.act_dtype,
					  .max_rows = {[LMD_SPACE_TOKENS] = rows,
						       [LMD_SPACE_OUTPUTS] = rows,
						       [LMD_SPACE_SEQS] = 1}};

	return ok(lmi_plan_build(&k->plan, &p, &c->err)) && ok(lmi_plan_layout(k->plan, &c->err));
}

static bool compile(struct group_case *c, uint32_t r)
{
	struct rank *k = &c->ranks[r];
	struct lmd_compile compile = {.struct_size = sizeof(compile), .n_seq = 1, .devgroup = c->group};

	if (!make_plan(c, r))
		return false;
	compile.plan = lmi_plan_view(k->plan);
	for (uint32_t i = 0; i < 2; i++)
		if (!ok(lmi_plan_step_create(&k->run[i].step, compile.plan, 0, &c->err)))
			return false;
	compile.layout = &k->run[0].step->layout;
	return ok(c->ops->plan_compile(k->be.state, &compile, &k->compiled_plan, &c->err));
}

/* ---- memory ---- */

static bool bind(struct group_case *c, struct rank *k, struct lmd_binding *b,
		 struct lmd_buffer **buffer, float *host, uint32_t id, uint32_t width)
{
	*b = (struct lmd_binding){.id = id, .n_row = MAX_ROW, .row_bytes = 4ull * width};
	if (k->be.info.caps & LMD_DEV_HOST_MEMORY) {
		b->ptr = host;
		return true;
	}
	if (!ok(c->ops->buffer_create(k->be.state, 4ull * MAX_ROW * width, LMD_BUF_DEVICE, NULL,
				      buffer, &c->err)))
		return false;
	b->buffer = *buffer;
	return true;
}

static uint32_t out_width(const struct group_case *c, uint32_t out)
{
	return out == 1 ? c->width * c->n : c->width;
}

static bool bind_all(struct group_case *c, struct rank *k)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (!bind(c, k, &k->run[i].bind_in, &k->run[i].in, k->run[i].x, 0, c->width))
			return false;
		for (uint32_t o = 0; o < N_OUT; o++)
			if (!bind(c, k, &k->run[i].bind_out[o], &k->run[i].out[o], k->run[i].y[o],
				  LMD_OUT_TAP + o, out_width(c, o)))
				return false;
	}
	return true;
}

/* New numbers and a step of n_row rows. */
static void fill(struct group_case *c, uint32_t run, uint32_t n_row)
{
	c->n_row[run] = n_row;
	for (uint32_t r = 0; r < c->n; r++) {
		struct rank *k = &c->ranks[r];
		struct lmi_plan_step *s = k->run[run].step;

		for (uint32_t i = 0; i < n_row * c->width; i++)
			k->run[run].x[i] = draw(c);
		memset(k->run[run].y, 0, sizeof(k->run[run].y));
		*s->head = (struct lmd_step_header){.n_tok = n_row, .n_seq = 1};
		s->view.cancel = NULL;
		s->q_len[0] = (int32_t)n_row;
		for (uint32_t t = 0; t < n_row; t++)
			s->token[t] = s->seq_of[t] = 0;
		if (lmi_plan_view(k->plan)->key.bucket)
			lmi_plan_step_pad(s);
	}
}

/* ---- running ---- */

static enum lmd_status upload(struct rank *k, uint32_t run)
{
	const struct group_case *c = k->c;

	if (!k->run[run].in)
		return LMD_OK;
	return c->ops->buffer_copy(k->be.state, k->q, k->run[run].in, NULL, 0, NULL, k->run[run].x, 0,
				   4ull * c->n_row[run] * c->width, NULL, &k->err);
}

static enum lmd_status submit(struct rank *k, uint32_t run)
{
	enum lmd_status st = k->c->ops->plan_run(k->be.state, k->q, k->compiled_plan,
						 &k->run[run].step->view, &k->run[run].bind_in, 1,
						 k->run[run].bind_out, N_OUT, NULL);

	if (st != LMD_OK)
		(void)lmd_fail(&k->err, st, "%s", k->c->ops->last_error(k->be.state));
	return st;
}

static enum lmd_status download(struct rank *k, uint32_t run)
{
	const struct group_case *c = k->c;
	enum lmd_status st = LMD_OK;

	for (uint32_t o = 0; o < N_OUT && st == LMD_OK && k->run[run].out[o]; o++)
		st = c->ops->buffer_copy(k->be.state, k->q, NULL, k->run[run].y[o], 0,
					 k->run[run].out[o], NULL, 0,
					 4ull * c->n_row[run] * out_width(c, o), NULL, &k->err);
	return st;
}

static enum lmd_status wait_for(struct rank *k)
{
	const struct lmd_backend_ops *ops = k->c->ops;
	enum lmd_status st = ops->event_record(k->be.state, k->q, k->event, &k->err);

	return st == LMD_OK ? ops->event_wait(k->be.state, k->event, UINT64_MAX, &k->err) : st;
}

static void *in_thread(void *arg)
{
	struct rank *k = arg;

	k->st = submit(k, 0);
	return NULL;
}

/* Devices without queues: a thread for each rank. */
static bool run_in_threads(struct group_case *c)
{
	pthread_t threads[MAX_RANK];
	uint32_t n = 0;

	while (n + 1 < c->n && !pthread_create(&threads[n], NULL, in_thread, &c->ranks[n]))
		n++;
	for (uint32_t r = n; r < c->n; r++)
		if (n + 1 == c->n)
			(void)in_thread(&c->ranks[r]);
	for (uint32_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	return n + 1 == c->n || fail(c, "there is no thread for a rank");
}

static void note(struct rank *k, enum lmd_status st)
{
	k->st = k->st == LMD_OK ? st : k->st;
}

/* Runs the step, or two steps one after the other without a wait between them.  Copies to host memory
 * that is not pinned may wait for the work before them: they come after the plans of all ranks. */
static bool run(struct group_case *c, uint32_t n_run)
{
	for (uint32_t r = 0; r < c->n; r++)
		c->ranks[r].st = LMD_OK;
	if (!c->ranks[0].q)
		return run_in_threads(c);
	for (uint32_t i = 0; i < n_run; i++)
		for (uint32_t r = 0; r < c->n; r++) {
			struct rank *k = &c->ranks[r];
			enum lmd_status st = upload(k, i);

			note(k, st == LMD_OK ? submit(k, i) : st);
		}
	for (uint32_t i = 0; i < n_run * c->n; i++)
		note(&c->ranks[i % c->n], download(&c->ranks[i % c->n], i / c->n));
	for (uint32_t r = c->n; r-- > 0;)
		note(&c->ranks[r], wait_for(&c->ranks[r]));
	return true;
}

static bool run_well(struct group_case *c, uint32_t n_run)
{
	if (!run(c, n_run))
		return false;
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].st != LMD_OK) {
			(void)lmd_fail(&c->err, c->ranks[r].st, "rank %u: %.300s", r,
				       c->ranks[r].err.text);
			return false;
		}
	return true;
}

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

static bool check(struct group_case *c, uint32_t run)
{
	float v[MAX_RANK], sum;

	for (uint32_t i = 0; i < c->n_row[run] * c->width; i++) {
		const uint32_t row = i / c->width, col = i % c->width;

		for (uint32_t r = 0; r < c->n; r++)
			v[r] = c->ranks[r].run[run].x[i];
		sum = sum_of(v, c->n);
		for (uint32_t r = 0; r < c->n; r++)
			v[r] = sum;
		(void)sum_of(v, c->n);
		for (uint32_t r = 0; r < c->n; r++) {
			const struct rank *k = &c->ranks[r];

			if (memcmp(&k->run[run].y[0][i], &sum, 4))
				return fail(c, "ALLREDUCE has other bits than sums in pairs");
			if (memcmp(&k->run[run].y[2][i], &v[0], 4))
				return fail(c, "a second ALLREDUCE has other bits than sums in pairs");
			for (uint32_t from = 0; from < c->n; from++)
				if (memcmp(&k->run[run].y[1][(row * c->n + from) * c->width + col],
					   &c->ranks[from].run[run].x[i], 4))
					return fail(c, "ALLGATHER has other columns than the ranks");
		}
	}
	return true;
}

/* ---- the cases ---- */

static bool usual(struct group_case *c)
{
	static const uint32_t rows[] = {1, 5, MAX_ROW};

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		fill(c, 0, rows[i]);
		if (!run_well(c, 1) || !check(c, 0))
			return false;
	}
	if (!c->ranks[0].q)
		return true;
	fill(c, 0, 7);
	fill(c, 1, 4);
	return run_well(c, 2) && check(c, 0) && check(c, 1);
}

/* One rank's step is cancelled from the start: all ranks end, with the same result, and a later
 * step is right. A device may be too late to notice. */
static bool cancelled_rank(struct group_case *c)
{
	static const int32_t cancel = 1;

	fill(c, 0, 3);
	c->ranks[c->n - 1].run[0].step->view.cancel = &cancel;
	if (!run(c, 1))
		return false;
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].st != c->ranks[0].st)
			return fail(c, "a rank was cancelled, and others do not end as it does");
	if (c->ranks[0].st != LMD_OK && c->ranks[0].st != LMD_CANCELLED)
		return fail(c, "a rank was cancelled, and the status is another one");
	fill(c, 0, 3);
	return run_well(c, 1) && check(c, 0);
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
static void run_alone(struct rank *k, uint64_t timeout_ns)
{
	const struct lmd_backend_ops *ops = k->c->ops;

	k->st = upload(k, 0);
	if (k->st == LMD_OK)
		k->st = submit(k, 0);
	if (k->st == LMD_OK && k->q)
		k->st = ops->event_record(k->be.state, k->q, k->event, &k->err);
	if (k->st == LMD_OK && k->q)
		k->st = ops->event_wait(k->be.state, k->event, timeout_ns, &k->err);
}

/* A rank comes when the other one has waited for minutes.  The other one has given up by then, and the late
 * rank fails as well; or, if the device does not look at the host's clock, both end well.  A later step is
 * right. */
static bool late_rank(struct group_case *c)
{
	struct rank *first = &c->ranks[0], *late = &c->ranks[1];

	fill(c, 0, 3);
	run_clock(true);
	run_alone(first, SOON_NS);
	run_clock(false);
	run_alone(late, UINT64_MAX);
	if (first->q)
		first->st =
			c->ops->event_wait(first->be.state, first->event, UINT64_MAX, &first->err);
	if ((first->st == LMD_OK) != (late->st == LMD_OK))
		return fail(c, "a rank is late, and the ranks end in different ways");
	c->layout = first->st == LMD_OK        ? "the other one waits"
		    : first->st == LMD_TIMEOUT ? "the other one gives up"
					       : "the other one fails";
	fill(c, 0, 3);
	return run_well(c, 1) && check(c, 0);
}

static const struct {
	const char *name;
	bool (*run)(struct group_case *c);
	uint32_t n_rank, width;
	bool clock; /* it has one of its own */
} cases[] = {
	{"collectives of 2 ranks", usual, 2, 96, false},
	{"collectives of 4 ranks", usual, 4, 5, false},
	{"collectives with a cancelled rank", cancelled_rank, 2, 16, false},
	{"collectives with a late rank", late_rank, 2, 16, true},
};

static bool open_rank(struct group_case *c, struct oc_backend *be, uint32_t r)
{
	struct rank *k = &c->ranks[r];
	const bool host = be->info.caps & LMD_DEV_HOST_MEMORY;

	k->c = c;
	k->be = *be; /* rank 0 is the device under test itself, unless the case has a host of its own */
	if (r || c->host.now_ns) {
		const struct lmd_host *h = c->host.now_ns ? &c->host : be->host;

		k->be.state = NULL;
		if (!ok(oc_backend_open(&k->be, be->factory, host ? r % be->n_device : r, h, NULL,
					LMD_ACTIVATIONS_F32, &c->err)))
			return false;
		k->opened = true;
	}
	return !c->ops->queue_create ||
	       (ok(c->ops->queue_create(k->be.state, 0, &k->q, &c->err)) &&
		ok(c->ops->event_create(k->be.state, &k->event, &c->err)));
}

static bool open_group(struct group_case *c)
{
	void *states[MAX_RANK];
	enum lmd_status st;

	for (uint32_t r = 0; r < c->n; r++)
		states[r] = c->ranks[r].be.state;
	st = c->ops->group_create(states, c->n, &c->group, &c->err);
	c->skip = st == LMD_UNSUPPORTED;
	for (uint32_t r = 0; r < c->n && ok(st); r++)
		if (!compile(c, r) || !bind_all(c, &c->ranks[r]))
			return false;
	return ok(st);
}

static void close_rank(struct group_case *c, struct rank *k)
{
	if (!k->be.state)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		if (k->run[i].in)
			c->ops->buffer_destroy(k->be.state, k->run[i].in);
		for (uint32_t o = 0; o < N_OUT; o++)
			if (k->run[i].out[o])
				c->ops->buffer_destroy(k->be.state, k->run[i].out[o]);
		lmi_plan_step_destroy(k->run[i].step);
	}
	if (k->event)
		c->ops->event_destroy(k->be.state, k->event);
	if (k->q)
		c->ops->queue_destroy(k->be.state, k->q);
	c->ops->plan_destroy(k->be.state, k->compiled_plan);
	lmi_plan_destroy(k->plan);
}

static void close_case(struct group_case *c)
{
	for (uint32_t r = 0; r < c->n; r++)
		close_rank(c, &c->ranks[r]);
	if (c->group)
		c->ops->group_destroy(c->group);
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].opened)
			oc_backend_close(&c->ranks[r].be);
}

static const char *name_of(uint32_t i)
{
	return cases[i].name;
}

static void run_case(struct oc_backend *be, uint32_t i, uint64_t seed, void *state,
		     struct lmi_opcase_result *r)
{
	const bool host = be->info.caps & LMD_DEV_HOST_MEMORY;
	struct group_case *c = state;
	bool passed = false, opened = true;

	*c = (struct group_case){.ops = be->ops,
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
			opened = open_rank(c, be, k);
		passed = opened && open_group(c) && cases[i].run(c);
	}
	close_case(c);
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
	struct group_case *c = be->host->alloc(be->host->ctx, sizeof(*c));
	const struct lmd_plan *plan = NULL;

	if (c) {
		*c = (struct group_case){.ops = be->ops, .n = 2, .width = 16};
		c->ranks[0].be = *be;
		plan = make_plan(c, 0) ? lmi_plan_view(c->ranks[0].plan) : NULL;
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

const struct oc_device_set oc_group_cases = {
	.n = LMD_LEN(cases), .state_bytes = sizeof(struct group_case), .name = name_of, .run = run_case};
