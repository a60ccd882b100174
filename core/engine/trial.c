/* SPDX-License-Identifier: MIT
 *
 * The trial is an evaluation of token 0, in the form that the model's driver accepts. */
#include "core/engine/trial.h"

#include "core/engine/engine_impl.h"

#define POLL_MS 100

static struct lmi_engine_eval command(const struct lmi_inst *inst)
{
	struct lmi_engine_eval cmd = {
		.id = 1, .n_seq = 1, .want = LMI_ENGINE_WANT_LAST, .pooling = LMD_POOL_UNSET};

	if (inst->desc.driver == LMD_DRIVER_ENCODER || inst->desc.driver == LMD_DRIVER_CODEC)
		cmd.want = LMI_ENGINE_WANT_EMBED;
	if (inst->desc.driver == LMD_DRIVER_CODEC)
		cmd.pooling = LMD_POOL_NONE;
	return cmd;
}

/* Waits for an event; returns false if there is none yet. */
static bool next(struct lmi_engine *e, struct lmi_engine_event *ev)
{
	if (e->has_thread)
		return lmi_engine_wait(e, ev, POLL_MS);
	(void)lmi_engine_step(e);
	return lmi_engine_poll(e, ev);
}

/* Reads events up to the final one. */
static enum lmd_status finish(struct lmi_engine *e, uint64_t id, lmi_engine_trial_fn go_on,
			      void *arg, struct lmd_error *err)
{
	enum lmd_status st = LMD_BUSY; /* no final event yet */
	bool cancelled = false;
	struct lmi_engine_event ev;

	while (st == LMD_BUSY) {
		if (!cancelled && go_on && !go_on(arg))
			cancelled = lmi_engine_cancel(e, id) == LMD_OK;
		if (!next(e, &ev))
			continue;
		if (ev.kind == LMI_ENGINE_EV_FAILED) {
			st = ev.u.error.status;
			if (err)
				*err = ev.u.error;
		} else if (ev.kind == LMI_ENGINE_EV_CANCELLED) {
			st = lmd_fail(err, LMD_CANCELLED, "cancelled");
		} else if (ev.kind == LMI_ENGINE_EV_DONE) {
			st = LMD_OK;
		}
		lmi_engine_event_release(&ev);
	}
	return st;
}

enum lmd_status lmi_engine_trial(struct lmi_engine *e, lmi_engine_trial_fn go_on, void *arg,
				 struct lmd_error *err)
{
	const struct lmi_inst *inst = e->inst;
	const lmd_token token = 0;
	struct lmi_engine_input_seq seq = {
		.tokens = &token, .n_tokens = 1, .fork_of = LMI_ENGINE_NO_FORK};
	struct lmi_engine_eval cmd = command(inst);
	enum lmd_status st;

	if (!inst->desc.n_vocab)
		return LMD_OK;
	if (inst->desc.driver == LMD_DRIVER_ENCDEC) {
		seq.enc = &token;
		seq.n_enc = 1;
	}
	cmd.seqs = &seq;
	st = lmi_engine_eval(e, &cmd, err);
	if (st == LMD_OK)
		st = finish(e, cmd.id, go_on, arg, err);
	lmi_engine_clear_fd(e);
	return st;
}
