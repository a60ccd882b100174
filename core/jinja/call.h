/* SPDX-License-Identifier: MIT
 *
 * call.h - arguments, and what can be called: functions, methods, filters and tests. */
#ifndef LLAMAD_CORE_JINJA_CALL_H
#define LLAMAD_CORE_JINJA_CALL_H

#include "core/jinja/value.h"

struct lmi_jinja_kwarg {
	struct lmd_str name;
	struct lmi_jinja_val v;
};

struct lmi_jinja_call_args {
	const struct lmi_jinja_val *pos;
	const struct lmi_jinja_kwarg *kw;
	uint32_t n_pos, n_kw;
};

/* A function, method, filter or test.  Parameter names are separated by spaces; an argument that is
 * not given arrives as MISSING.  Without params the function receives the arguments unparsed. */
#define LMI_JINJA_PARAMS_MAX 6

struct lmi_jinja_builtin {
	const char *name;
	struct lmi_jinja_val (*fn)(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				   const struct lmi_jinja_val *a);
	const char *params;
	uint8_t n_required;
	bool pos_only; /* positional only: the names are just for error messages */
	struct lmi_jinja_val (*raw)(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_call_args *args);
};

struct lmi_jinja_bound {
	const struct lmi_jinja_builtin *f;
	struct lmi_jinja_val self;
};

struct lmi_jinja_val lmi_jinja_builtin_value(struct lmi_jinja_run *run,
					     const struct lmi_jinja_builtin *f,
					     struct lmi_jinja_val self);
struct lmi_jinja_val lmi_jinja_builtin_call(struct lmi_jinja_run *run,
					    const struct lmi_jinja_builtin *f,
					    struct lmi_jinja_val self,
					    const struct lmi_jinja_call_args *args);
/* Calls any callable value. */
struct lmi_jinja_val lmi_jinja_val_call(struct lmi_jinja_run *run, struct lmi_jinja_val callee,
					const struct lmi_jinja_call_args *args);
bool lmi_jinja_val_callable(struct lmi_jinja_val v);

const struct lmi_jinja_builtin *lmi_jinja_builtin_find(const struct lmi_jinja_builtin *table,
						       size_t n, const char *name, size_t n_name);
/* Return NULL if there is none of that name. */
const struct lmi_jinja_builtin *lmi_jinja_filter_find(const char *name, size_t n);
const struct lmi_jinja_builtin *lmi_jinja_test_find(const char *name, size_t n);
const struct lmi_jinja_builtin *lmi_jinja_global_find(const char *name, size_t n);
/* Finds a method of values of that kind, or returns NULL. */
const struct lmi_jinja_builtin *lmi_jinja_method_find(enum lmi_jinja_vkind kind, const char *name,
						      size_t n);
/* Row i of each of these, for tests of all of them; NULL after the last one. */
const struct lmi_jinja_builtin *lmi_jinja_filter_row(size_t i);
const struct lmi_jinja_builtin *lmi_jinja_test_row(size_t i);
const struct lmi_jinja_builtin *lmi_jinja_global_row(size_t i);
const struct lmi_jinja_builtin *lmi_jinja_method_row(enum lmi_jinja_vkind kind, size_t i);

/* Helpers for optional arguments. */
static inline bool lmi_jinja_val_is_given(struct lmi_jinja_val v)
{
	return v.kind != LMI_JINJA_V_MISSING;
}

static inline struct lmi_jinja_val lmi_jinja_none_if_missing(struct lmi_jinja_val v)
{
	return lmi_jinja_val_is_given(v) ? v : lmi_jinja_none();
}

static inline bool lmi_jinja_param_truth(struct lmi_jinja_val v, bool def)
{
	return lmi_jinja_val_is_given(v) ? lmi_jinja_val_truth(v) : def;
}

/* Returns an integer argument; fails the run if it is something else. */
int64_t lmi_jinja_param_int(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t def,
			    const char *what);
/* Returns a string argument; fails the run if it is something else. */
struct lmi_jinja_val lmi_jinja_param_str(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 const char *def, const char *what);

#endif /* LLAMAD_CORE_JINJA_CALL_H */
