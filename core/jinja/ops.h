/* SPDX-License-Identifier: MIT
 *
 * ops.h - operations on values: equality and order (compare.c), membership and iteration
 * (iterate.c), items and attributes (item.c), slices (slice.c), operators (arith.c). */
#ifndef LLAMAD_CORE_JINJA_OPS_H
#define LLAMAD_CORE_JINJA_OPS_H

#include "core/jinja/value.h"

bool lmi_jinja_val_equal(struct lmi_jinja_run *run, struct lmi_jinja_val a, struct lmi_jinja_val b);
enum lmi_jinja_cmp { LMI_JINJA_CMP_LT, LMI_JINJA_CMP_LE, LMI_JINJA_CMP_GT, LMI_JINJA_CMP_GE };

/* Fails the run if the values cannot be ordered. */
bool lmi_jinja_val_compare(struct lmi_jinja_run *run, enum lmi_jinja_cmp op, struct lmi_jinja_val a,
			   struct lmi_jinja_val b);
/* item in container */
bool lmi_jinja_val_contains(struct lmi_jinja_run *run, struct lmi_jinja_val container,
			    struct lmi_jinja_val item);

/* The items of any iterable as a list, which the caller must not modify; NULL (failed) if the value
 * is not iterable.  Exhausts an iterator. */
struct lmi_jinja_list *lmi_jinja_val_items(struct lmi_jinja_run *run, struct lmi_jinja_val v);
bool lmi_jinja_val_iterable(struct lmi_jinja_val v);
/* Makes an iterator over a list.  If the run has failed, moves the failure into the iterator. */
struct lmi_jinja_val lmi_jinja_iter_new(struct lmi_jinja_run *run, struct lmi_jinja_val list);

/* a[key], where key is any value or a slice, and x.name.  Both return undefined where Python would
 * raise a LookupError or a TypeError. */
struct lmi_jinja_val lmi_jinja_val_item(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					struct lmi_jinja_val key);
struct lmi_jinja_val lmi_jinja_val_attr(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					const char *name, size_t n);
/* Finds an attribute without falling back to an item. */
bool lmi_jinja_val_find_attr(struct lmi_jinja_run *run, struct lmi_jinja_val v, const char *name,
			     size_t n, struct lmi_jinja_val *out);
/* Fails the run if the value is undefined, with a message that says so. */
bool lmi_jinja_val_fail_undefined(struct lmi_jinja_run *run, struct lmi_jinja_val v);
/* Whether the value is a sequence: a string, bytes, a list, a tuple or a range. */
bool lmi_jinja_val_is_sequence(struct lmi_jinja_val v);
struct lmi_jinja_val lmi_jinja_val_slice(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 struct lmi_jinja_val from, struct lmi_jinja_val to,
					 struct lmi_jinja_val step);

enum lmi_jinja_binop {
	LMI_JINJA_OP_ADD,
	LMI_JINJA_OP_SUB,
	LMI_JINJA_OP_MUL,
	LMI_JINJA_OP_DIV,
	LMI_JINJA_OP_FLOORDIV,
	LMI_JINJA_OP_MOD,
	LMI_JINJA_OP_POW
};

struct lmi_jinja_val lmi_jinja_val_binary(struct lmi_jinja_run *run, enum lmi_jinja_binop op,
					  struct lmi_jinja_val a, struct lmi_jinja_val b);
struct lmi_jinja_val lmi_jinja_val_negate(struct lmi_jinja_run *run, struct lmi_jinja_val v);
struct lmi_jinja_val lmi_jinja_val_positive(struct lmi_jinja_run *run, struct lmi_jinja_val v);

/* fmt % arg (format_percent.c) */
struct lmi_jinja_val lmi_jinja_format_percent(struct lmi_jinja_run *run, struct lmi_jinja_val fmt,
					      struct lmi_jinja_val arg);

/* Attributes of macros (macro.c) and of the loop variable (loop.c). */
bool lmi_jinja_macro_attr(struct lmi_jinja_run *run, const struct lmi_jinja_macro *m,
			  const char *name, size_t n, struct lmi_jinja_val *out);
bool lmi_jinja_loop_attr(struct lmi_jinja_run *run, struct lmi_jinja_loop *loop, const char *name,
			 size_t n, struct lmi_jinja_val *out);

#endif /* LLAMAD_CORE_JINJA_OPS_H */
