/* SPDX-License-Identifier: MIT
 *
 * The ranks of a group of devices under test. Devices in host memory are opened several times; of others there
 * must be one for each rank. */
#include "core/conformance/group_ranks.h"

#include <pthread.h>
#include <string.h>

static bool ok(enum lmd_status st)
{
	return st == LMD_OK;
}

bool oc_group_fail(struct oc_group_case *c, const char *text)
{
	(void)lmd_fail(&c->err, LMD_INTERNAL, "%s", text);
	return false;
}

static float draw(struct oc_group_case *c)
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
	const struct oc_group_case *c = state;
	const struct lmd_input in = {
		.space = LMD_SPACE_TOKENS, .vtype = LMD_VTYPE_F32, .width = c->width, .name = "x"};
	struct lmd_op copy = {.code = LMD_OP_CAST_COPY};
	struct lmd_operand x = value(b, c->width, "part"), sum = value(b, c->width, "sum");
	struct lmd_operand all = value(b, c->width * c->n, "all"),
			   again = value(b, c->width, "again");

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
		if (info->bucket[i] >= OC_RANK_ROWS)
			return info->bucket[i];
	return 0;
}

bool oc_group_make_plan(struct oc_group_case *c, uint32_t r)
{
	static const struct lmd_arch_ops ops = {.struct_size = sizeof(ops), .build = build};
	static const struct lmd_model model = {.struct_size = sizeof(model)};
	struct oc_rank *k = &c->ranks[r];
	const uint32_t bucket = bucket_of(&k->be.info), rows = bucket ? bucket : OC_RANK_ROWS;
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

static bool compile(struct oc_group_case *c, uint32_t r)
{
	struct oc_rank *k = &c->ranks[r];
	struct lmd_compile compile = {
		.struct_size = sizeof(compile), .n_seq = 1, .devgroup = c->group};

	if (!oc_group_make_plan(c, r))
		return false;
	compile.plan = lmi_plan_view(k->plan);
	for (uint32_t i = 0; i < 2; i++)
		if (!ok(lmi_plan_step_create(&k->run[i].step, compile.plan, 0, &c->err)))
			return false;
	compile.layout = &k->run[0].step->layout;
	return ok(c->ops->plan_compile(k->be.state, &compile, &k->compiled_plan, &c->err));
}

/* ---- memory ---- */

static bool bind(struct oc_group_case *c, struct oc_rank *k, struct lmd_binding *b,
		 struct lmd_buffer **buffer, float *host, uint32_t id, uint32_t width)
{
	*b = (struct lmd_binding){.id = id, .n_row = OC_RANK_ROWS, .row_bytes = 4ull * width};
	if (k->be.info.caps & LMD_DEV_HOST_MEMORY) {
		b->ptr = host;
		return true;
	}
	if (!ok(c->ops->buffer_create(k->be.state, 4ull * OC_RANK_ROWS * width, LMD_BUF_DEVICE,
				      NULL, buffer, &c->err)))
		return false;
	b->buffer = *buffer;
	return true;
}

static uint32_t out_width(const struct oc_group_case *c, uint32_t out)
{
	return out == 1 ? c->width * c->n : c->width;
}

static bool bind_all(struct oc_group_case *c, struct oc_rank *k)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (!bind(c, k, &k->run[i].bind_in, &k->run[i].in, k->run[i].x, 0, c->width))
			return false;
		for (uint32_t o = 0; o < OC_RANK_OUT; o++)
			if (!bind(c, k, &k->run[i].bind_out[o], &k->run[i].out[o], k->run[i].y[o],
				  LMD_OUT_TAP + o, out_width(c, o)))
				return false;
	}
	return true;
}

/* New numbers and a step of n_row rows. */
void oc_group_fill(struct oc_group_case *c, uint32_t run, uint32_t n_row)
{
	c->n_row[run] = n_row;
	for (uint32_t r = 0; r < c->n; r++) {
		struct oc_rank *k = &c->ranks[r];
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

enum lmd_status oc_group_upload(struct oc_rank *k, uint32_t run)
{
	const struct oc_group_case *c = k->c;

	if (!k->run[run].in)
		return LMD_OK;
	return c->ops->buffer_copy(k->be.state, k->q, k->run[run].in, NULL, 0, NULL, k->run[run].x,
				   0, 4ull * c->n_row[run] * c->width, NULL, &k->err);
}

enum lmd_status oc_group_submit(struct oc_rank *k, uint32_t run)
{
	enum lmd_status st = k->c->ops->plan_run(k->be.state, k->q, k->compiled_plan,
						 &k->run[run].step->view, &k->run[run].bind_in, 1,
						 k->run[run].bind_out, OC_RANK_OUT, NULL);

	if (st != LMD_OK)
		(void)lmd_fail(&k->err, st, "%s", k->c->ops->last_error(k->be.state));
	return st;
}

static enum lmd_status download(struct oc_rank *k, uint32_t run)
{
	const struct oc_group_case *c = k->c;
	enum lmd_status st = LMD_OK;

	for (uint32_t o = 0; o < OC_RANK_OUT && st == LMD_OK && k->run[run].out[o]; o++)
		st = c->ops->buffer_copy(k->be.state, k->q, NULL, k->run[run].y[o], 0,
					 k->run[run].out[o], NULL, 0,
					 4ull * c->n_row[run] * out_width(c, o), NULL, &k->err);
	return st;
}

static enum lmd_status wait_for(struct oc_rank *k)
{
	const struct lmd_backend_ops *ops = k->c->ops;
	enum lmd_status st = ops->event_record(k->be.state, k->q, k->event, &k->err);

	return st == LMD_OK ? ops->event_wait(k->be.state, k->event, UINT64_MAX, &k->err) : st;
}

static void *in_thread(void *arg)
{
	struct oc_rank *k = arg;

	k->st = oc_group_submit(k, 0);
	return NULL;
}

/* Devices without queues: a thread for each rank. */
static bool run_in_threads(struct oc_group_case *c)
{
	pthread_t threads[OC_MAX_RANK];
	uint32_t n = 0;

	while (n + 1 < c->n && !pthread_create(&threads[n], NULL, in_thread, &c->ranks[n]))
		n++;
	for (uint32_t r = n; r < c->n; r++)
		if (n + 1 == c->n)
			(void)in_thread(&c->ranks[r]);
	for (uint32_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	return n + 1 == c->n || oc_group_fail(c, "there is no thread for a rank");
}

static void note(struct oc_rank *k, enum lmd_status st)
{
	k->st = k->st == LMD_OK ? st : k->st;
}

/* Runs the step, or two steps one after the other without a wait between them.  Copies to host memory
 * that is not pinned may wait for the work before them: they come after the plans of all ranks. */
bool oc_group_run(struct oc_group_case *c, uint32_t n_run)
{
	for (uint32_t r = 0; r < c->n; r++)
		c->ranks[r].st = LMD_OK;
	if (!c->ranks[0].q)
		return run_in_threads(c);
	for (uint32_t i = 0; i < n_run; i++)
		for (uint32_t r = 0; r < c->n; r++) {
			struct oc_rank *k = &c->ranks[r];
			enum lmd_status st = oc_group_upload(k, i);

			note(k, st == LMD_OK ? oc_group_submit(k, i) : st);
		}
	for (uint32_t i = 0; i < n_run * c->n; i++)
		note(&c->ranks[i % c->n], download(&c->ranks[i % c->n], i / c->n));
	for (uint32_t r = c->n; r-- > 0;)
		note(&c->ranks[r], wait_for(&c->ranks[r]));
	return true;
}

bool oc_group_run_well(struct oc_group_case *c, uint32_t n_run)
{
	if (!oc_group_run(c, n_run))
		return false;
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].st != LMD_OK) {
			(void)lmd_fail(&c->err, c->ranks[r].st, "rank %u: %.300s", r,
				       c->ranks[r].err.text);
			return false;
		}
	return true;
}

bool oc_group_open_rank(struct oc_group_case *c, struct oc_backend *be, uint32_t r)
{
	struct oc_rank *k = &c->ranks[r];
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
	return !c->ops->queue_create || (ok(c->ops->queue_create(k->be.state, 0, &k->q, &c->err)) &&
					 ok(c->ops->event_create(k->be.state, &k->event, &c->err)));
}

bool oc_group_open(struct oc_group_case *c)
{
	void *states[OC_MAX_RANK];
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

static void close_rank(struct oc_group_case *c, struct oc_rank *k)
{
	if (!k->be.state)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		if (k->run[i].in)
			c->ops->buffer_destroy(k->be.state, k->run[i].in);
		for (uint32_t o = 0; o < OC_RANK_OUT; o++)
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

void oc_group_close(struct oc_group_case *c)
{
	for (uint32_t r = 0; r < c->n; r++)
		close_rank(c, &c->ranks[r]);
	if (c->group)
		c->ops->group_destroy(c->group);
	for (uint32_t r = 0; r < c->n; r++)
		if (c->ranks[r].opened)
			oc_backend_close(&c->ranks[r].be);
}
