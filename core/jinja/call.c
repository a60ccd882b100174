/* SPDX-License-Identifier: MIT
 *
 * Calls: binds arguments to parameters and calls callable values. */
#include <string.h>

#include "core/jinja/eval.h"

struct lmi_jinja_val lmi_jinja_builtin_value(struct lmi_jinja_run *run,
					     const struct lmi_jinja_builtin *f,
					     struct lmi_jinja_val self)
{
	struct lmi_jinja_bound *b = lmi_jinja_run_alloc(run, sizeof(*b));

	if (!b)
		return lmi_jinja_none();
	b->f = f;
	b->self = self;
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_BUILTIN, .u.bound = b};
}

static bool in_words(const char *words, const char *name, size_t n, uint32_t *index)
{
	for (*index = 0; *words; (*index)++) {
		size_t len = strcspn(words, " ");

		if (len == n && !memcmp(words, name, n))
			return true;
		words += len + (words[len] == ' ');
	}
	return false;
}

static uint32_t count_words(const char *words)
{
	uint32_t n = 0;

	(void)in_words(words, "", 0, &n); /* counts the words while it searches */
	return n;
}

/* Puts arguments into the slots of their parameters; returns false on failure. */
static bool bind(struct lmi_jinja_run *run, const struct lmi_jinja_builtin *f,
		 const struct lmi_jinja_call_args *args,
		 struct lmi_jinja_val a[LMI_JINJA_PARAMS_MAX])
{
	uint32_t n = count_words(f->params), i;

	for (i = 0; i < LMI_JINJA_PARAMS_MAX; i++)
		a[i] = lmi_jinja_missing();
	if (args->n_pos > n) {
		lmi_jinja_run_fail(run, "%s takes at most %u arguments but %u were given", f->name,
				   n, args->n_pos);
		return false;
	}
	for (i = 0; i < args->n_pos; i++)
		a[i] = args->pos[i];
	for (uint32_t k = 0; k < args->n_kw; k++) {
		const struct lmd_str *name = &args->kw[k].name;

		if (f->pos_only || !in_words(f->params, name->ptr, name->len, &i)) {
			lmi_jinja_run_fail(run, "%s has no parameter named '%.*s'", f->name,
					   (int)name->len, name->ptr);
			return false;
		}
		if (lmi_jinja_val_is_given(a[i])) {
			lmi_jinja_run_fail(run, "%s got two values for parameter '%.*s'", f->name,
					   (int)name->len, name->ptr);
			return false;
		}
		a[i] = args->kw[k].v;
	}
	for (i = 0; i < f->n_required; i++) {
		if (!lmi_jinja_val_is_given(a[i])) {
			lmi_jinja_run_fail(run, "%s is missing required argument %u of (%s)",
					   f->name, i + 1, f->params);
			return false;
		}
	}
	return true;
}

static uint64_t bytes_of(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_STR || v.kind == LMI_JINJA_V_BYTES ? v.n : 0;
}

/* Each string that a builtin gets counts as touched once; what it does beyond that it counts
 * itself. */
struct lmi_jinja_val lmi_jinja_builtin_call(struct lmi_jinja_run *run,
					    const struct lmi_jinja_builtin *f,
					    struct lmi_jinja_val self,
					    const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_val a[LMI_JINJA_PARAMS_MAX], out = lmi_jinja_none();
	uint64_t cost = 1 + bytes_of(self) / 16;

	for (uint32_t i = 0; i < args->n_pos; i++)
		cost += bytes_of(args->pos[i]) / 16;
	for (uint32_t i = 0; i < args->n_kw; i++)
		cost += bytes_of(args->kw[i].v) / 16;
	if (!lmi_jinja_run_step(run, cost) || !lmi_jinja_run_enter(run))
		return out;
	if (!f->params)
		out = f->raw(run, self, args);
	else if (bind(run, f, args, a))
		out = f->fn(run, self, a);
	lmi_jinja_run_leave(run);
	return out;
}

bool lmi_jinja_val_callable(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_BUILTIN || v.kind == LMI_JINJA_V_MACRO ||
	       v.kind == LMI_JINJA_V_JOINER || v.kind == LMI_JINJA_V_LOOP ||
	       v.kind == LMI_JINJA_V_UNDEF;
}

/* Returns the separator, except for the first call, which returns an empty string. */
static struct lmi_jinja_val join(struct lmi_jinja_joiner *j)
{
	bool used = j->used;

	j->used = true;
	return used ? j->separator : lmi_jinja_strn("", 0);
}

struct lmi_jinja_val lmi_jinja_val_call(struct lmi_jinja_run *run, struct lmi_jinja_val callee,
					const struct lmi_jinja_call_args *args)
{
	if (run->failed)
		return lmi_jinja_none();
	switch ((enum lmi_jinja_vkind)callee.kind) {
	case LMI_JINJA_V_BUILTIN:
		return lmi_jinja_builtin_call(run, callee.u.bound->f, callee.u.bound->self, args);
	case LMI_JINJA_V_MACRO:
		return lmi_jinja_macro_call(run, callee.u.macro, args);
	case LMI_JINJA_V_LOOP:
		return lmi_jinja_loop_call(run, callee.u.loop, args);
	case LMI_JINJA_V_JOINER:
		if (!args->n_pos && !args->n_kw)
			return join(callee.u.joiner);
		lmi_jinja_run_fail(run, "a joiner takes no arguments");
		return lmi_jinja_none();
	case LMI_JINJA_V_UNDEF:
		lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)callee.n, callee.u.s);
		return lmi_jinja_none();
	default:
		lmi_jinja_run_fail(run, "'%s' object is not callable", lmi_jinja_val_type(callee));
		return lmi_jinja_none();
	}
}

const struct lmi_jinja_builtin *lmi_jinja_builtin_find(const struct lmi_jinja_builtin *table,
						       size_t n, const char *name, size_t n_name)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(table[i].name) == n_name && !memcmp(table[i].name, name, n_name))
			return &table[i];
	}
	return NULL;
}

int64_t lmi_jinja_param_int(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t def,
			    const char *what)
{
	if (!lmi_jinja_val_is_given(v))
		return def;
	if (lmi_jinja_is_integer(v))
		return lmi_jinja_integer(v);
	lmi_jinja_run_fail(run, "%s must be an integer, not %s", what, lmi_jinja_val_type(v));
	return def;
}

struct lmi_jinja_val lmi_jinja_param_str(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 const char *def, const char *what)
{
	if (!lmi_jinja_val_is_given(v))
		return lmi_jinja_str(def);
	if (v.kind == LMI_JINJA_V_STR)
		return v;
	lmi_jinja_run_fail(run, "%s must be a string, not %s", what, lmi_jinja_val_type(v));
	return lmi_jinja_str(def);
}
