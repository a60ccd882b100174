/* SPDX-License-Identifier: MIT
 *
 * call.h - arguments, and what can be called: functions, methods, filters and tests. */
#ifndef LLAMAD_TEMPLATE_CALL_H
#define LLAMAD_TEMPLATE_CALL_H

#include "core/text/template/value.h"

struct lmi_kwarg {
	struct lmd_str name;
	struct lmi_val v;
};

struct lmi_call_args {
	const struct lmi_val *pos;
	const struct lmi_kwarg *kw;
	uint32_t n_pos, n_kw;
};

/* A function, method, filter or test.  Parameter names are separated by spaces; an argument that is
 * not given arrives as MISSING.  Without params the function receives the arguments unparsed. */
#define LMI_PARAMS_MAX 6

struct lmi_builtin {
	const char *name;
	struct lmi_val (*fn)(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a);
	const char *params;
	uint8_t n_required;
	bool pos_only;        /* positional only: the names are just for error messages */
	struct lmi_val (*raw)(struct lmi_run *run, struct lmi_val self,
			      const struct lmi_call_args *args);
};

struct lmi_bound {
	const struct lmi_builtin *f;
	struct lmi_val self;
};

struct lmi_val lmi_builtin_value(struct lmi_run *run, const struct lmi_builtin *f,
				 struct lmi_val self);
struct lmi_val lmi_builtin_call(struct lmi_run *run, const struct lmi_builtin *f,
				struct lmi_val self, const struct lmi_call_args *args);
/* Calls any callable value. */
struct lmi_val lmi_val_call(struct lmi_run *run, struct lmi_val callee,
			    const struct lmi_call_args *args);
bool lmi_val_callable(struct lmi_val v);

const struct lmi_builtin *lmi_builtin_find(const struct lmi_builtin *table, size_t n,
					   const char *name, size_t n_name);
/* Return NULL if there is none of that name. */
const struct lmi_builtin *lmi_filter_find(const char *name, size_t n);
const struct lmi_builtin *lmi_test_find(const char *name, size_t n);
const struct lmi_builtin *lmi_global_find(const char *name, size_t n);
/* Finds a method of values of that kind, or returns NULL. */
const struct lmi_builtin *lmi_method_find(enum lmi_vkind kind, const char *name, size_t n);

/* Helpers for optional arguments. */
static inline bool lmi_given(struct lmi_val v)
{
	return v.kind != LMI_V_MISSING;
}

static inline struct lmi_val lmi_none_if_missing(struct lmi_val v)
{
	return lmi_given(v) ? v : lmi_none();
}

static inline bool lmi_param_truth(struct lmi_val v, bool def)
{
	return lmi_given(v) ? lmi_val_truth(v) : def;
}

/* Returns an integer argument; fails the run if it is something else. */
int64_t lmi_param_int(struct lmi_run *run, struct lmi_val v, int64_t def, const char *what);
/* Returns a string argument; fails the run if it is something else. */
struct lmi_val lmi_param_str(struct lmi_run *run, struct lmi_val v, const char *def,
			     const char *what);

#endif /* LLAMAD_TEMPLATE_CALL_H */
