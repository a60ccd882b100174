/* SPDX-License-Identifier: MIT
 *
 * Runs one step directly: the sequences of a session take memory, run once, and give it back. */
#include "core/engine/observe.h"

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"

struct run {
	struct lmi_inst *inst;
	struct lmi_engine_job *s;
	struct lmi_engine_rows *parts; /* [s->n_seq] */
	uint32_t n_open;
	uint32_t exec, encode_exec;
};

/* Returns the number of output rows. */
static uint32_t n_out_of(const struct lmi_engine_seq *q)
{
	return q->out_from < q->n_rows ? q->n_rows - q->out_from : 1;
}

static struct lmi_engine_rows rows_of(const struct lmi_engine_seq *q, uint32_t kv_seq, bool encode)
{
	struct lmi_engine_rows r = {.kv_seq = kv_seq,
				    .n = encode ? q->n_enc : q->n_rows,
				    .n_out = encode ? 0 : n_out_of(q),
				    .encode = encode,
				    .tokens = encode ? q->enc : q->tokens,
				    .ext = encode ? NULL : q->ext,
				    .lora_slot = q->adapter,
				    .lora_from = encode && q->adapter_from ? UINT32_MAX
									   : q->adapter_from};

	for (int k = 0; k < 4 && !encode; k++)
		r.pos[k] = lmi_engine_seq_pos(q, k);
	return r;
}

/* Allocates the memory and plans of one sequence. */
static enum lmd_status open_seq(struct run *r, uint32_t i, struct lmd_error *err)
{
	const struct lmi_engine_seq *q = &r->s->seqs[i];
	struct lmi_sched_seq o = {0};
	enum lmd_status st = lmi_driver_of(r->inst->desc.driver)->start(r->inst, q, &o, err);
	uint32_t kv;

	if (st != LMD_OK)
		return st;
	r->exec = o.plan;
	r->encode_exec = o.encode_plan;
	kv = lmi_kv_open(r->inst->kv);
	if (kv == LMI_KV_NO_PAGE)
		return lmd_fail(err, LMD_NOMEM, "%u sequences exceed the limit of this instance",
				r->s->n_seq);
	r->parts[i] = rows_of(q, kv, false);
	r->n_open = i + 1;
	if (q->n_enc && !lmi_kv_reserve_cross(r->inst->kv, kv, q->n_enc))
		return lmd_fail(err, LMD_NOMEM, "no memory for %u rows of an encoder", q->n_enc);
	if (!lmi_kv_reserve(r->inst->kv, kv, q->n_rows, NULL, 0))
		return lmd_fail(err, LMD_NOMEM, "no memory for %u rows", q->n_rows);
	return LMD_OK;
}

static enum lmd_status check(const struct run *r, struct lmd_error *err)
{
	uint64_t n = 0, n_out = 0;

	for (uint32_t i = 0; i < r->s->n_seq; i++) {
		n += r->s->seqs[i].n_rows;
		n_out += n_out_of(&r->s->seqs[i]);
	}
	if (n > r->inst->n_batch || n_out > r->inst->n_out)
		return lmd_fail(err, LMD_INVALID,
				"%llu rows with %llu outputs do not fit: one step has %u rows and "
				"%u outputs",
				(unsigned long long)n, (unsigned long long)n_out,
				r->inst->n_batch, r->inst->n_out);
	return LMD_OK;
}

static enum lmd_status run(struct run *r, const struct lmd_plan **plan, lmd_observe_fn fn,
			   void *arg, struct lmd_error *err)
{
	enum lmd_status st = check(r, err);

	for (uint32_t i = 0; i < r->s->n_seq && st == LMD_OK; i++)
		st = open_seq(r, i, err);
	for (uint32_t i = 0; i < r->s->n_seq && st == LMD_OK; i++) {
		const struct lmi_engine_rows enc =
			rows_of(&r->s->seqs[i], r->parts[i].kv_seq, true);

		if (enc.n)
			st = lmi_engine_step_run(r->inst, r->encode_exec, &enc, 1, NULL, err);
	}
	if (st != LMD_OK)
		return st;
	*plan = r->inst->execs[r->exec]->view;
	return lmi_engine_step_observe(r->inst, r->exec, r->parts, r->s->n_seq, fn, arg, err);
}

enum lmd_status lmi_engine_observe(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
				   const struct lmd_plan **plan, lmd_observe_fn fn, void *arg,
				   struct lmd_error *err)
{
	struct lmi_inst *inst = e->inst;
	struct run r = {.inst = inst};
	enum lmd_status st = lmi_engine_job_eval(&r.s, inst, cmd, err);

	if (st != LMD_OK)
		return st;
	st = e->driver->check(inst, r.s, err);
	for (uint32_t i = 0; i < r.s->n_seq && st == LMD_OK; i++)
		st = lmi_engine_activate(e, &r.s->seqs[i], err);
	r.parts = lmi_alloc(r.s->n_seq, sizeof(*r.parts));
	if (!r.parts)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u sequences", r.s->n_seq);
	if (st == LMD_OK)
		st = run(&r, plan, fn, arg, err);
	for (uint32_t i = 0; i < r.n_open; i++)
		lmi_kv_close(inst->kv, r.parts[i].kv_seq);
	lmi_free(r.parts);
	lmi_engine_job_destroy(r.s);
	return st;
}
