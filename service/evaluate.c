/* SPDX-License-Identifier: MIT
 *
 * An evaluation: its model is found and loaded, then it is one command of the engine, whose rows are
 * collected. */
#include "service/evaluate.h"

#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "service/loaded_model.h"
#include "service/model.h"
#include "service/names.h"
#include "service/service_state.h"

/* The low 16 bits of a generation's command are its slot; none has this one. */
#define NO_SLOT 0xffffu
_Static_assert(LMI_SVC_RUNNING_MAX <= NO_SLOT, "commands of evaluations are not those of generations");

struct lmi_svc_evaluation {
	struct lmi_svc_evaluation *next;
	struct lmi_service *svc;
	const struct lmi_service_evaluation *what;
	struct lmi_svc_lookup lookup;
	struct lmi_svc_load_waiter want;
	struct lmi_svc_loaded_model *model;
	uint64_t command;
	float *rows; /* [n_row][width], of which `cap` rows are allocated */
	uint32_t n_row, width, cap;
	bool no_memory;
};

/* Ends the evaluation: err is its error, or NULL. */
static void finish(struct lmi_svc_evaluation *v, uint64_t now, const struct lmd_error *err)
{
	struct lmi_svc_evaluation **p = &v->svc->evaluations;

	while (*p && *p != v)
		p = &(*p)->next;
	if (*p)
		*p = v->next;
	if (v->model)
		lmi_svc_loaded_model_unref(v->model, now);
	if (err) {
		lmi_free(v->rows);
		v->what->done(v->what->arg, NULL, 0, 0, err);
	} else {
		v->what->done(v->what->arg, v->rows, v->n_row, v->width, NULL);
	}
	lmi_free(v);
}

/* Submits the command.  Returns false if it ended at once with an error. */
static bool submit(struct lmi_svc_evaluation *v, uint64_t now)
{
	const struct lmi_service_evaluation *what = v->what;
	struct lmi_engine_input_seq seq = {.tokens = what->tokens,
					   .n_tokens = what->n_tokens,
					   .adapter = what->adapter,
					   .fork_of = LMI_ENGINE_NO_FORK};
	struct lmi_engine_eval cmd = {
		.seqs = &seq, .n_seq = 1, .want = what->want, .pooling = what->pooling,
		.n_logprobs = what->n_logprobs};
	struct lmi_engine *engine = v->model->engine;
	struct lmd_error refused = {0};

	cmd.id = v->command = ++v->svc->serial << 16 | NO_SLOT;
	if (what->want == LMI_ENGINE_WANT_EMBED) {
		cmd.pooling = lmi_engine_pooling(engine, what->pooling);
		if (what->pooling == LMD_POOL_UNSET && cmd.pooling <= LMD_POOL_NONE)
			cmd.pooling = LMD_POOL_MEAN;
	}
	v->next = v->svc->evaluations;
	v->svc->evaluations = v;
	if (lmi_engine_eval(engine, &cmd, &refused) == LMD_OK)
		return true;
	finish(v, now, &refused);
	return false;
}

static void ready(struct lmi_svc_load_waiter *w, uint64_t now, struct lmi_svc_loaded_model *r,
		  const struct lmd_error *err, uint32_t retry_ms)
{
	struct lmi_svc_evaluation *v =
		(struct lmi_svc_evaluation *)((char *)w - offsetof(struct lmi_svc_evaluation, want));

	(void)retry_ms;
	v->model = r;
	if (r)
		(void)submit(v, now);
	else
		finish(v, now, err);
}

static void found(struct lmi_svc_lookup *l, uint64_t now, struct lmi_svc_model *m,
		  const struct lmd_error *err)
{
	struct lmi_svc_evaluation *v =
		(struct lmi_svc_evaluation *)((char *)l -
					      offsetof(struct lmi_svc_evaluation, lookup));

	if (!m) {
		finish(v, now, err);
		return;
	}
	v->want.ready = ready;
	lmi_svc_model_add_waiter(v->svc, now, m, &v->want);
}

void lmi_service_evaluate(struct lmi_service *svc, uint64_t now,
			  const struct lmi_service_evaluation *what)
{
	struct lmi_svc_evaluation *v = lmi_alloc(1, sizeof(*v));
	struct lmd_error err;

	svc->now = now;
	if (!v) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for an evaluation");
		what->done(what->arg, NULL, 0, 0, &err);
		return;
	}
	v->svc = svc;
	v->what = what;
	v->lookup.found = found;
	lmi_svc_lookup_start(svc, now, &v->lookup, &what->model);
}

struct lmi_svc_evaluation *lmi_svc_evaluation_start(struct lmi_service *svc, uint64_t now,
						    struct lmi_svc_loaded_model *r,
						    const struct lmi_service_evaluation *what)
{
	struct lmi_svc_evaluation *v = lmi_alloc(1, sizeof(*v));
	struct lmd_error err;

	if (!v) {
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for an evaluation");
		what->done(what->arg, NULL, 0, 0, &err);
		return NULL;
	}
	v->svc = svc;
	v->what = what;
	v->model = r;
	lmi_svc_loaded_model_ref(r);
	return submit(v, now) ? v : NULL;
}

void lmi_svc_evaluation_cancel(struct lmi_svc_evaluation *v)
{
	(void)lmi_engine_cancel(v->model->engine, v->command); /* if it fails, it runs to its end */
}

/* Copies rows to their place. */
static void take_rows(struct lmi_svc_evaluation *v, const struct lmi_engine_event *ev)
{
	/* the only row that WANT_LAST returns has the number of its token */
	uint32_t first = v->what->want == LMI_ENGINE_WANT_LAST ? 0 : ev->u.rows.first;
	uint32_t end = first + ev->u.rows.n, width = ev->u.rows.width;

	if (end > v->cap) {
		uint32_t cap = end > 2 * v->cap ? end : 2 * v->cap;
		float *rows = lmi_realloc(v->rows, (size_t)cap * width, sizeof(*rows));

		v->no_memory = v->no_memory || !rows;
		if (!rows)
			return;
		v->rows = rows;
		v->cap = cap;
	}
	v->width = width;
	v->n_row = end > v->n_row ? end : v->n_row;
	memcpy(v->rows + (size_t)first * width, ev->u.rows.v,
	       (size_t)ev->u.rows.n * width * sizeof(*v->rows));
}

void lmi_svc_evaluation_event(struct lmi_service *svc, uint64_t now,
			      const struct lmi_engine_event *ev)
{
	struct lmi_svc_evaluation *v = svc->evaluations;
	struct lmd_error err = {0};

	while (v && v->command != ev->id)
		v = v->next;
	if (!v)
		return;
	if (ev->kind == LMI_ENGINE_EV_ROWS) {
		take_rows(v, ev);
		return;
	}
	if (ev->kind == LMI_ENGINE_EV_FAILED)
		err = ev->u.error;
	else if (ev->kind == LMI_ENGINE_EV_CANCELLED)
		(void)lmd_fail(&err, LMD_CANCELLED, "cancelled: the engine is being stopped");
	else if (v->no_memory)
		(void)lmd_fail(&err, LMD_NOMEM, "no memory for the rows of an evaluation");
	finish(v, now, err.status == LMD_OK ? NULL : &err);
}
