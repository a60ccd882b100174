/* SPDX-License-Identifier: MIT
 *
 * Keeps the values that lmi_engine_observe reports. A value that several operations write column by
 * column is reported several times; it is complete only the last time. */
#include "client/llamactl/observed_values.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plan/plan.h"

struct taker {
	const struct lmd_plan *plan;
	struct lmi_ctl_seen_list *list;
	const char *only;
	uint32_t *at; /* [n_value] entry of each value of the plan + 1; 0 = none */
	uint32_t n_value;
	enum lmd_status st;
};

static struct lmi_ctl_observed_value *entry(struct taker *t, uint32_t value)
{
	struct lmi_ctl_seen_list *l = t->list;

	if (t->at[value])
		return &l->v[t->at[value] - 1];
	if (l->n == l->cap) {
		void *p = lmi_realloc(l->v, l->cap ? l->cap * 2 : 256, sizeof(*l->v));

		if (!p)
			return NULL;
		l->v = p;
		l->cap = l->cap ? l->cap * 2 : 256;
	}
	t->at[value] = ++l->n;
	return &l->v[l->n - 1];
}

static bool append_value(struct taker *t, const struct lmd_observed *o, const struct lmd_value *v)
{
	size_t n = (size_t)o->n_row * o->width;
	struct lmi_ctl_observed_value *s = entry(t, o->value);

	if (!s)
		return false;
	if (!s->v)
		s->v = lmi_alloc(n ? n : 1, sizeof(*s->v));
	if (!s->v)
		return false;
	(void)snprintf(s->name, sizeof(s->name), "%s", v->name);
	(void)snprintf(s->op, sizeof(s->op), "%s",
		       lmi_plan_op_info(t->plan->ops[o->op].code)->name);
	s->n_row = o->n_row;
	s->width = o->width;
	s->i32 = v->vtype == LMD_VTYPE_I32;
	for (size_t i = 0; i < n; i++)
		s->v[i] =
			s->i32 ? (float)((const int32_t *)o->data)[i] : ((const float *)o->data)[i];
	return true;
}

static bool on_value(void *arg, const struct lmd_observed *o)
{
	struct taker *t = arg;
	const struct lmd_plan *p = t->plan;

	if (!t->at) {
		t->at = lmi_alloc(p->n_value, sizeof(*t->at));
		if (!t->at) {
			t->st = LMD_NOMEM;
			return false;
		}
	}
	if (t->only && strcmp(p->values[o->value].name, t->only) != 0)
		return true;
	if (!append_value(t, o, &p->values[o->value]))
		t->st = LMD_NOMEM;
	return t->st == LMD_OK;
}

/* Checks that the plan has a value of that name; the error message names one that exists. */
static enum lmd_status check_name(const struct lmd_plan *p, const char *name,
				  struct lmd_error *err)
{
	for (uint32_t i = 0; name && i < p->n_value; i++)
		if (!strcmp(p->values[i].name, name))
			return LMD_OK;
	return !name ? LMD_OK
		     : lmd_fail(err, LMD_NOTFOUND,
				"no value '%.60s'; the plan has %u values, such as %s (debug "
				"plan lists them)",
				name, p->n_value, p->n_value ? p->values[0].name : "none");
}

enum lmd_status lmi_ctl_observe_values(struct lmi_ctl *ctl, const struct lmi_ctl_eval_args *in,
				       const char *backend, uint32_t activations, const char *only,
				       struct lmi_ctl_seen_list *out, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct lmi_engine_eval cmd = {.id = 1,
				      .seqs = in->seqs,
				      .n_seq = in->n_seq,
				      .want = lmi_arg_flag(a, "embd") ? LMI_ENGINE_WANT_EMBED
								      : LMI_ENGINE_WANT_LOGITS,
				      .pooling = LMD_POOL_UNSET};
	struct taker t = {.list = out, .only = only};
	struct lmi_engine *e = NULL;
	struct lmi_engine_opts o;
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, lmi_arg_pos(a, 0), &o, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_eval_args_size(in, &o);
	o.inst.backend = backend;
	o.inst.activations = activations;
	o.inst.keep_values = true;
	o.in_line = o.no_tokenizer = true;
	o.inst.n_batch = o.inst.n_out =
		(uint32_t)(in->n_row > in->n_row_max ? in->n_row : in->n_row_max);
	st = lmi_engine_open(&e, &o, err);
	if (st == LMD_OK)
		st = lmi_engine_observe(e, &cmd, &t.plan, on_value, &t, err);
	if (st == LMD_OK && t.st != LMD_OK)
		st = lmd_fail(err, t.st, "no memory for the values of a step");
	if (st == LMD_OK)
		st = check_name(t.plan, only, err);
	lmi_free(t.at);
	lmi_engine_fini(e);
	return lmi_ctl_name_file(st, lmi_arg_pos(a, 0), err);
}

void lmi_ctl_seen_fini(struct lmi_ctl_seen_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		lmi_free(l->v[i].v);
	lmi_free(l->v);
	*l = (struct lmi_ctl_seen_list){0};
}

const struct lmi_ctl_observed_value *lmi_ctl_seen_find(const struct lmi_ctl_seen_list *l,
						       const char *name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}
