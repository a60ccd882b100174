/* SPDX-License-Identifier: MIT
 *
 * Runs an instance on a device: loads weights, makes pools (opcase_pools.c), binds adapters,
 * compiles, runs once, and collects the values and the changes in the caches.  Devices that do not
 * compute in host memory get their inputs and return their outputs through buffers. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/conformance/opcase_exec.h"
#include "core/plan/weight_ref.h"

/* ---- results ---- */

struct oc_out *oc_result_add(struct oc_result *r, uint32_t n_row, uint32_t width, bool i32,
			     const char *fmt, ...)
{
	struct oc_out *o = &r->out[r->n];
	size_t n = (size_t)n_row * width;
	va_list ap;

	if (r->n == LMD_LEN(r->out))
		return NULL;
	*o = (struct oc_out){.n_row = n_row, .width = width, .i32 = i32};
	va_start(ap, fmt);
	(void)vsnprintf(o->name, sizeof(o->name), fmt, ap);
	va_end(ap);
	if (i32)
		o->i = lmi_alloc(n ? n : 1, sizeof(*o->i));
	else
		o->f = lmi_alloc(n ? n : 1, sizeof(*o->f));
	if (!o->i && !o->f)
		return NULL;
	r->n++;
	return o;
}

void oc_result_free(struct oc_result *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		lmi_free(r->out[i].f);
		lmi_free(r->out[i].i);
	}
	r->n = 0;
}

/* ---- the device ---- */

/* Describes the device of that number, and counts them. */
static enum lmd_status describe(struct oc_backend *be, uint32_t index, struct lmd_error *err)
{
	const char *name = be->factory->f->name;
	struct lmd_device_info *all;
	char why[160] = "";
	uint32_t n = be->ops->enumerate(be->host, NULL, 0, why, sizeof(why));

	all = lmi_alloc(n + 1u, sizeof(*all));
	if (!all)
		return lmd_fail(err, LMD_NOMEM, "backend %s: out of memory for %u devices", name, n);
	for (uint32_t i = 0; i < n; i++)
		all[i].struct_size = sizeof(*all);
	be->n_device = n ? be->ops->enumerate(be->host, all, n, why, sizeof(why)) : 0;
	if (index < be->n_device && index < n)
		be->info = all[index];
	lmi_free(all);
	return index < be->n_device && index < n
		       ? LMD_OK
		       : lmd_fail(err, LMD_NOTFOUND, "backend %s: no device %u: %s", name, index, why);
}

enum lmd_status oc_backend_open(struct oc_backend *be, const struct lmi_factory *f, uint32_t index,
				const struct lmd_host *host, struct lmd_team *team,
				uint32_t activations, struct lmd_error *err)
{
	const struct lmd_open_params p = {
		.struct_size = sizeof(p),
		.index = index,
		.activations = activations,
		.team = team,
	};
	enum lmd_status st;

	*be = (struct oc_backend){.factory = f, .ops = f->ops.backend, .host = host};
	st = describe(be, index, err);
	if (st != LMD_OK)
		return st;
	be->state = lmi_alloc(1, f->f->state_bytes ? f->f->state_bytes : 1);
	if (!be->state)
		return lmd_fail(err, LMD_NOMEM, "backend %s: out of memory for its state",
				f->f->name);
	st = be->ops->open(be->state, host, &p, err);
	if (st != LMD_OK) {
		lmi_free(be->state);
		be->state = NULL;
	}
	return st;
}

void oc_backend_close(struct oc_backend *be)
{
	if (be->state)
		be->ops->close(be->state);
	lmi_free(be->state);
	be->state = NULL;
}

static bool supports(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		     size_t n)
{
	struct oc_backend *be = arg;
	struct lmd_support s = {.struct_size = sizeof(s)};

	be->ops->op_support(be->state, plan, op, &s);
	(void)snprintf(reason, n, "%s", s.reason);
	return s.native != 0;
}

struct oc_device oc_backend_device(struct oc_backend *be)
{
	return (struct oc_device){
		.act_dtype = be->info.act_dtype,
		.page_tokens = be->info.page_tokens,
		.n_bucket = be->info.n_bucket,
		.bucket = be->info.bucket,
		.support = supports,
		.support_arg = be,
	};
}

/* ---- an execution ---- */

/* Loads a weight that the backend repacks once more, from what it exports of it; *own_stored then lives as
 * long as the weight. */
static enum lmd_status load_stored(struct oc_exec *x, struct lmd_weight_desc *d, struct lmd_weight **w,
				   void **own_stored)
{
	const struct lmd_backend_ops *ops = x->be->ops;
	struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
	size_t n = 0, again = 0;
	enum lmd_status st = ops->weight_query(x->be->state, d, &plan, x->err);

	if (st != LMD_OK || plan.placement != LMD_PLACE_REPACK || !ops->weight_export)
		return st;
	st = ops->weight_export(x->be->state, *w, NULL, 0, &n);
	*own_stored = lmi_alloc(1, n + 1);
	if (st == LMD_OK && *own_stored)
		st = ops->weight_export(x->be->state, *w, *own_stored, n, &again);
	if (st != LMD_OK || !*own_stored || again != n)
		return lmd_fail(x->err, LMD_INTERNAL, "weight %s: export gave %zu of %zu bytes: %s",
				d->ref->name, again, n, lmd_status_text(st));
	ops->weight_destroy(x->be->state, *w);
	*w = NULL;
	d->stored = *own_stored;
	d->stored_bytes = n;
	d->stored_layout = plan.layout;
	return ops->weight_load(x->be->state, d, w, x->err);
}

/* own_stored: NULL, or the weight is loaded as from a repack cache. */
static enum lmd_status load_weight(struct oc_exec *x, const struct lmd_weight_ref *w,
				   struct lmd_weight **out, void **own_stored)
{
	const struct lmd_tensor *t = x->c->tensors;
	struct lmd_weight_piece pieces[8];
	struct lmd_weight_desc d = {.struct_size = sizeof(d), .ref = w, .pieces = pieces};
	enum lmd_status st;

	if (w->n_part > LMD_LEN(pieces))
		return lmd_fail(x->err, LMD_INTERNAL, "case %s: %u parts", x->c->def->name,
				w->n_part);
	d.n_piece = w->n_part;
	st = lmi_plan_weight_ref_pieces(w, &x->c->model, NULL, pieces, &d.dtype, x->err);
	if (st != LMD_OK)
		return st;
	if (w->scale != LMD_NONE) {
		d.scale = t[w->scale].data;
		d.n_scale = (uint32_t)t[w->scale].dims[0];
	}
	if (w->bias != LMD_NONE) {
		d.bias = t[w->bias].data;
		d.n_bias = (uint32_t)t[w->bias].dims[0];
	}
	st = x->be->ops->weight_load(x->be->state, &d, out, x->err);
	return st == LMD_OK && own_stored ? load_stored(x, &d, out, own_stored) : st;
}

enum lmd_status oc_exec_load_weights(struct oc_exec *x, const struct lmd_plan *view,
				     struct lmd_weight ***out)
{
	uint32_t n = view->n_weight_ref;
	struct lmd_weight **v = lmi_alloc(n ? 2 * (size_t)n : 1, sizeof(*v));
	size_t length = strlen(x->c->def->name);

	*out = v; /* and after them what they were loaded from */
	if (!v)
		return lmd_fail(x->err, LMD_NOMEM, "case %s: out of memory", x->c->def->name);
	for (uint32_t i = 0; i < n; i++) {
		void *stored = NULL;
		bool from_cache = (i + length) % 2; /* every second one, whatever cases are run */
		enum lmd_status st =
			load_weight(x, &view->weight_refs[i], &v[i], from_cache ? &stored : NULL);

		memcpy(&v[n + i], &stored, sizeof(stored));

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

void oc_exec_free_weights(struct oc_exec *x, const struct lmd_plan *view, struct lmd_weight **v)
{
	for (uint32_t i = 0; v && i < view->n_weight_ref; i++) {
		x->be->ops->weight_destroy(x->be->state, v[i]);
		lmi_free(v[view->n_weight_ref + i]);
	}
	lmi_free(v);
}

/* Waits until all calls on the queue are complete. */
enum lmd_status oc_exec_finish(struct oc_exec *x)
{
	const struct lmd_backend_ops *ops = x->be->ops;
	enum lmd_status st = LMD_OK;

	if (x->q)
		st = ops->event_record(x->be->state, x->q, x->event, x->err);
	return x->q && st == LMD_OK
		       ? ops->event_wait(x->be->state, x->event, UINT64_MAX, x->err)
		       : st;
}

static enum lmd_status bind_adapters(struct oc_exec *x)
{
	for (uint32_t i = 0; i < x->c->n_adapter; i++) {
		enum lmd_status st;

		if (!x->be->ops->adapter_bind)
			return lmd_fail(x->err, LMD_UNSUPPORTED,
					"the backend does not support adapters");
		st = x->be->ops->adapter_bind(x->be->state, &x->c->adapters[i], x->err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Adapters would otherwise outlive the instance on an open device. */
static void unbind_adapters(struct oc_exec *x)
{
	for (uint32_t i = 0; x->be->ops->adapter_bind && i < x->c->n_adapter; i++) {
		struct lmd_adapter_bind a = x->c->adapters[i];

		a.a = a.b = NULL;
		(void)x->be->ops->adapter_bind(x->be->state, &a, NULL); /* fails only if nothing was
									 * bound */
	}
}

/* Makes memory of the device's kind for a binding. */
enum lmd_status oc_exec_bind(struct oc_exec *x, struct lmd_binding *b, void *host, uint32_t id,
			     uint32_t n_row, uint32_t width, bool upload)
{
	uint64_t bytes = (uint64_t)(n_row ? n_row : 1) * width * 4;
	enum lmd_status st;

	*b = (struct lmd_binding){.id = id, .n_row = n_row, .row_bytes = 4ull * width};
	if (x->be->info.caps & LMD_DEV_HOST_MEMORY) {
		b->ptr = host;
		return LMD_OK;
	}
	st = x->be->ops->buffer_create(x->be->state, bytes, LMD_BUF_DEVICE, NULL, &b->buffer,
					x->err);
	if (st == LMD_OK && upload && n_row)
		st = x->be->ops->buffer_copy(x->be->state, x->q, b->buffer, NULL, 0, NULL, host, 0,
					     bytes, NULL, x->err);
	return st;
}

static enum lmd_status bind_all(struct oc_exec *x, struct oc_result *out)
{
	const struct lmd_plan *v = x->c->view;
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < x->c->n_input; i++) {
		const struct oc_input *in = &x->c->inputs[i];

		st = oc_exec_bind(x, &x->in[i], in->data, i, in->n_row, in->width, true);
	}
	for (uint32_t i = 0; st == LMD_OK && i < v->n_output; i++) {
		const struct lmd_value *y = &v->values[v->outputs[i].value];
		bool i32 = y->vtype == LMD_VTYPE_I32;
		struct oc_out *o = oc_result_add(out, x->c->rows[y->space], y->width, i32,
						 "result %u (%s)", i, y->name);

		if (!o)
			return lmd_fail(x->err, LMD_NOMEM, "out of memory for results");
		st = oc_exec_bind(x, &x->out[i], i32 ? (void *)o->i : (void *)o->f, v->outputs[i].id,
			  o->n_row, y->width, false);
	}
	return st;
}

static enum lmd_status download(struct oc_exec *x, struct oc_result *out)
{
	for (uint32_t i = 0; i < x->c->view->n_output; i++) {
		struct oc_out *o = &out->out[i];
		enum lmd_status st;

		if (!x->out[i].buffer || !o->n_row)
			continue;
		st = x->be->ops->buffer_copy(
			x->be->state, x->q, NULL, o->i32 ? (void *)o->i : (void *)o->f, 0,
			x->out[i].buffer, NULL, 0, (uint64_t)o->n_row * o->width * 4,
			NULL, x->err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

static enum lmd_status run_plan(struct oc_exec *x, struct lmd_compiled_plan *plan,
				const struct lmd_step *step)
{
	enum lmd_status st = x->be->ops->plan_run(x->be->state, x->q, plan, step, x->in,
						  x->c->n_input, x->out, x->c->view->n_output, NULL);

	return st == LMD_OK ? st
			    : lmd_fail(x->err, st, "%s", x->be->ops->last_error(x->be->state));
}

/* Runs the step with its cancellation already requested; a device may be too late to notice. */
static enum lmd_status run_cancelled(struct oc_exec *x)
{
	static const int32_t cancel = 1;
	struct lmd_step step = x->c->step->view;
	enum lmd_status st, end;

	step.cancel = &cancel;
	st = run_plan(x, x->plan, &step);
	end = oc_exec_finish(x);
	if (st == LMD_OK)
		st = end;
	return st == LMD_CANCELLED ? LMD_OK : st;
}

/* Does what the case wants to happen before its step. */
static enum lmd_status prepare(struct oc_exec *x, const struct lmd_compile *compile)
{
	const uint32_t flags = x->c->def->flags;
	enum lmd_status st = LMD_OK;

	for (uint32_t g = 0; (flags & OC_SET_TABLE) && st == LMD_OK && g < x->c->view->n_group; g++)
		if (x->pools[g] && x->c->view->groups[g].kind == LMD_GROUP_PAGED)
			st = oc_pools_set_table(x, g);
	if (st == LMD_OK && (flags & OC_TWO_PLANS))
		st = x->be->ops->plan_compile(x->be->state, compile, &x->other, x->err);
	if (st == LMD_OK && (flags & (OC_AGAIN | OC_TWO_PLANS)))
		st = run_plan(x, x->other ? x->other : x->plan, &x->c->step->view);
	return st == LMD_OK && (flags & OC_CANCEL) ? run_cancelled(x) : st;
}

/* Does the device run the case in several segments? */
static bool is_cut(const struct oc_exec *x)
{
	return x->be->cuts && x->c->def->flags & OC_CUT;
}

/* Compiles the plan in one piece, and does what the case wants to happen before its step. */
static enum lmd_status compile_whole(struct oc_exec *x, bool prepares)
{
	const struct lmd_compile compile = {
		.struct_size = sizeof(compile),
		.plan = x->c->view,
		.layout = &x->c->step->layout,
		.n_seq = OC_SEQ_SLOTS,
		.weights = x->weights,
		.pools = x->pools,
	};
	enum lmd_status st = x->be->ops->plan_compile(x->be->state, &compile, &x->plan, x->err);

	return st == LMD_OK && prepares ? prepare(x, &compile) : st;
}

static enum lmd_status run_whole(struct oc_exec *x)
{
	enum lmd_status st = compile_whole(x, true);

	return st == LMD_OK ? run_plan(x, x->plan, &x->c->step->view) : st;
}

static enum lmd_status run(struct oc_exec *x, struct oc_result *out)
{
	enum lmd_status st = bind_all(x, out);

	if (st == LMD_OK)
		st = is_cut(x) ? oc_segments_run(x) : run_whole(x);
	if (st == LMD_OK)
		st = download(x, out);
	if (st == LMD_OK)
		st = oc_exec_finish(x);
	return st == LMD_OK ? oc_pools_collect(x, out) : st;
}

static void fini(struct oc_exec *x)
{
	const struct lmd_backend_ops *ops = x->be->ops;
	struct lmd_error *err = x->err;

	x->err = NULL; /* whatever failed has been reported */
	if (x->event)
		(void)oc_exec_finish(x);
	x->err = err;
	for (uint32_t i = 0; i < OC_MAX_INPUT; i++) {
		if (x->in[i].buffer)
			ops->buffer_destroy(x->be->state, x->in[i].buffer);
	}
	for (uint32_t i = 0; i < OC_MAX_TAP; i++) {
		if (x->out[i].buffer)
			ops->buffer_destroy(x->be->state, x->out[i].buffer);
	}
	ops->plan_destroy(x->be->state, x->other);
	ops->plan_destroy(x->be->state, x->plan);
	unbind_adapters(x);
	for (uint32_t g = 0; g < LMD_MAX_GROUP; g++)
		ops->pool_destroy(x->be->state, x->pools[g]);
	oc_segments_close(x);
	oc_exec_free_weights(x, x->c->view, x->weights);
	if (x->event)
		ops->event_destroy(x->be->state, x->event);
	if (x->q)
		ops->queue_destroy(x->be->state, x->q);
}

/* Gives the instance what a plan is compiled with. */
static enum lmd_status init(struct oc_exec *x)
{
	const struct lmd_backend_ops *ops = x->be->ops;
	enum lmd_status st = LMD_OK;

	if (ops->queue_create)
		st = ops->queue_create(x->be->state, 0, &x->q, x->err);
	if (st == LMD_OK && x->q)
		st = ops->event_create(x->be->state, &x->event, x->err);
	if (st == LMD_OK && !is_cut(x))
		st = oc_exec_load_weights(x, x->c->view, &x->weights);
	if (st == LMD_OK)
		st = oc_pools_make(x);
	return st == LMD_OK ? bind_adapters(x) : st;
}

enum lmd_status oc_compile(struct oc_backend *be, const struct oc *c, struct lmd_error *err)
{
	struct oc_exec x = {.be = be, .c = c, .err = err};
	enum lmd_status st = init(&x);

	if (st == LMD_OK)
		st = compile_whole(&x, false);
	fini(&x);
	return st;
}

enum lmd_status oc_execute(struct oc_backend *be, const struct oc *c, struct oc_result *out,
			   struct lmd_error *err)
{
	struct oc_exec x = {.be = be, .c = c, .err = err};
	enum lmd_status st;

	*out = (struct oc_result){0};
	st = init(&x);
	if (st == LMD_OK)
		st = run(&x, out);
	fini(&x);
	if (st != LMD_OK)
		oc_result_free(out);
	return st;
}
