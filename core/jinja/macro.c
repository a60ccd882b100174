/* SPDX-License-Identifier: MIT
 *
 * Macros and the bodies of call blocks, which are macros that the callee may call. */
#include <string.h>

#include "core/jinja/eval.h"

struct lmi_jinja_macro {
	const struct lmi_jinja_node *node; /* MACRO or CALL_BLOCK */
	struct lmi_jinja_scope *scope;     /* where it was defined */
};

struct lmi_jinja_val lmi_jinja_macro_new(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					 struct lmi_jinja_scope *s)
{
	struct lmi_jinja_macro *m = lmi_jinja_run_alloc(run, sizeof(*m));

	if (!m)
		return lmi_jinja_none();
	m->node = n;
	m->scope = s;
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_MACRO, .u.macro = m};
}

struct lmi_jinja_val lmi_jinja_macro_name(const struct lmi_jinja_macro *m)
{
	if (m->node->op != LMI_JINJA_N_MACRO)
		return lmi_jinja_none();
	return lmi_jinja_strn(m->node->name.ptr, m->node->name.len);
}

static bool is(const char *name, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(name, want, n);
}

bool lmi_jinja_macro_attr(struct lmi_jinja_run *run, const struct lmi_jinja_macro *m,
			  const char *name, size_t n, struct lmi_jinja_val *out)
{
	const struct lmi_jinja_params *p = m->node->params;

	if (is(name, n, "name")) {
		*out = lmi_jinja_macro_name(m);
	} else if (is(name, n, "arguments")) {
		*out = lmi_jinja_as_tuple(lmi_jinja_list_new(run));
		for (uint32_t i = 0; i < p->n; i++)
			lmi_jinja_list_add(run, out->u.list,
					   lmi_jinja_strn(p->v[i].name.ptr, p->v[i].name.len));
	} else if (is(name, n, "catch_kwargs")) {
		*out = lmi_jinja_bool(p->uses_kwargs);
	} else if (is(name, n, "catch_varargs")) {
		*out = lmi_jinja_bool(p->uses_varargs);
	} else if (is(name, n, "caller")) {
		*out = lmi_jinja_bool(p->uses_caller);
	} else {
		return false;
	}
	return true;
}

static bool same_name(struct lmd_str a, const char *b, size_t n)
{
	return a.len == n && !memcmp(a.ptr, b, n);
}

/* Finds a named argument that was not used yet and removes it from kw. */
static bool take_named(struct lmi_jinja_kwarg *kw, uint32_t *n, const char *name, size_t n_name,
		       struct lmi_jinja_val *out)
{
	for (uint32_t i = 0; i < *n; i++) {
		if (!same_name(kw[i].name, name, n_name))
			continue;
		*out = kw[i].v;
		memmove(&kw[i], &kw[i + 1], (*n - i - 1) * sizeof(*kw));
		(*n)--;
		return true;
	}
	return false;
}

/* Binds the remaining arguments to kwargs and varargs, if the macro uses them. */
static void bind_rest(struct lmi_jinja_run *run, const struct lmi_jinja_params *p,
		      struct lmi_jinja_scope *s, const struct lmi_jinja_call_args *args,
		      const struct lmi_jinja_kwarg *kw, uint32_t n_kw)
{
	static const struct lmd_str kwargs = {"kwargs", 6}, varargs = {"varargs", 7};
	struct lmi_jinja_val v;

	if (p->uses_kwargs) {
		v = lmi_jinja_dict_new(run);
		for (uint32_t i = 0; i < n_kw; i++)
			lmi_jinja_dict_set(run, v.u.dict,
					   lmi_jinja_strn(kw[i].name.ptr, kw[i].name.len), kw[i].v);
		lmi_jinja_scope_set(run, s, kwargs, v);
	} else if (n_kw) {
		lmi_jinja_run_fail(run, "the macro has no parameter named '%.*s'",
				   (int)kw[0].name.len, kw[0].name.ptr);
	}
	if (p->uses_varargs) {
		v = lmi_jinja_list_new(run);
		for (uint32_t i = p->n; i < args->n_pos; i++)
			lmi_jinja_list_add(run, v.u.list, args->pos[i]);
		lmi_jinja_scope_set(run, s, varargs, lmi_jinja_as_tuple(v));
	} else if (args->n_pos > p->n) {
		lmi_jinja_run_fail(run, "the macro takes at most %u arguments but %u were given",
				   p->n, args->n_pos);
	}
}

/* Binds parameters in order, so that a default may use those before it. */
static void bind(struct lmi_jinja_run *run, const struct lmi_jinja_params *p,
		 struct lmi_jinja_scope *s, const struct lmi_jinja_call_args *args)
{
	static const struct lmd_str caller_name = {"caller", 6};
	struct lmi_jinja_kwarg *kw = lmi_jinja_run_alloc(run, (args->n_kw + 1) * sizeof(*kw));
	uint32_t n_kw = args->n_kw;
	struct lmi_jinja_val v;

	if (!kw || !lmi_jinja_run_step(run, (uint64_t)p->n * (1 + n_kw / 8)))
		return;
	if (n_kw)
		memcpy(kw, args->kw, n_kw * sizeof(*kw));
	for (uint32_t i = 0; i < p->n && !run->failed; i++) {
		struct lmd_str name = p->v[i].name;

		if (i < args->n_pos)
			v = args->pos[i];
		else if (!take_named(kw, &n_kw, name.ptr, name.len, &v))
			v = p->v[i].value ? lmi_jinja_run_eval(run, p->v[i].value, s)
					  : lmi_jinja_undef(name.ptr, name.len);
		lmi_jinja_scope_set(run, s, name, v);
	}
	if (p->uses_caller) {
		if (!take_named(kw, &n_kw, "caller", 6, &v))
			v = lmi_jinja_undef("caller", 6);
		lmi_jinja_scope_set(run, s, caller_name, v);
	}
	bind_rest(run, p, s, args, kw, n_kw);
}

struct lmi_jinja_val lmi_jinja_macro_call(struct lmi_jinja_run *run,
					  const struct lmi_jinja_macro *m,
					  const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_scope *s;
	size_t from = run->n_out;

	if (!lmi_jinja_run_enter(run))
		return lmi_jinja_none();
	s = lmi_jinja_scope_new(run, m->scope);
	if (s)
		bind(run, m->node->params, s, args);
	/* break and continue do not leave the body */
	if (!run->failed)
		(void)lmi_jinja_run_exec(run, &m->node->body, s);
	lmi_jinja_run_leave(run);
	return lmi_jinja_run_cut_output(run, from);
}
