/* SPDX-License-Identifier: MIT
 *
 * ops.h - operations on values: equality and order (compare.c), membership and iteration (walk.c),
 * items and attributes (item.c), slices (slice.c), operators (arith.c). */
#ifndef LLAMAD_TEMPLATE_OPS_H
#define LLAMAD_TEMPLATE_OPS_H

#include "core/text/template/value.h"

bool lmi_val_equal(struct lmi_run *run, struct lmi_val a, struct lmi_val b);
enum lmi_cmp {
	LMI_CMP_LT,
	LMI_CMP_LE,
	LMI_CMP_GT,
	LMI_CMP_GE
};

/* Fails the run if the values cannot be ordered. */
bool lmi_val_compare(struct lmi_run *run, enum lmi_cmp op, struct lmi_val a, struct lmi_val b);
/* item in container */
bool lmi_val_contains(struct lmi_run *run, struct lmi_val container, struct lmi_val item);

/* The items of any iterable as a list, which the caller must not modify; NULL (failed) if the value
 * is not iterable.  Exhausts an iterator. */
struct lmi_list *lmi_val_items(struct lmi_run *run, struct lmi_val v);
bool lmi_val_iterable(struct lmi_val v);
/* Makes an iterator over a list.  If the run has failed, moves the failure into the iterator. */
struct lmi_val lmi_iter_new(struct lmi_run *run, struct lmi_val list);

/* a[key], where key is any value or a slice, and x.name.  Both return undefined where Python would
 * raise a LookupError or a TypeError. */
struct lmi_val lmi_val_item(struct lmi_run *run, struct lmi_val v, struct lmi_val key);
struct lmi_val lmi_val_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n);
/* Finds an attribute without falling back to an item. */
bool lmi_val_find_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n,
		       struct lmi_val *out);
/* Fails the run if the value is undefined, with a message that says so. */
bool lmi_val_fail_undefined(struct lmi_run *run, struct lmi_val v);
/* Whether the value is a sequence: a string, bytes, a list, a tuple or a range. */
bool lmi_val_is_sequence(struct lmi_val v);
struct lmi_val lmi_val_slice(struct lmi_run *run, struct lmi_val v, struct lmi_val from,
			     struct lmi_val to, struct lmi_val step);

enum lmi_binop {
	LMI_OP_ADD,
	LMI_OP_SUB,
	LMI_OP_MUL,
	LMI_OP_DIV,
	LMI_OP_FLOORDIV,
	LMI_OP_MOD,
	LMI_OP_POW
};

struct lmi_val lmi_val_binary(struct lmi_run *run, enum lmi_binop op, struct lmi_val a,
			      struct lmi_val b);
struct lmi_val lmi_val_negate(struct lmi_run *run, struct lmi_val v);
struct lmi_val lmi_val_positive(struct lmi_run *run, struct lmi_val v);

/* fmt % arg (format_percent.c) */
struct lmi_val lmi_format_percent(struct lmi_run *run, struct lmi_val fmt, struct lmi_val arg);

/* Attributes of macros (macro.c) and of the loop variable (loop.c). */
bool lmi_macro_attr(struct lmi_run *run, const struct lmi_macro *m, const char *name, size_t n,
		    struct lmi_val *out);
bool lmi_loop_attr(struct lmi_run *run, struct lmi_loop *loop, const char *name, size_t n,
		   struct lmi_val *out);

#endif /* LLAMAD_TEMPLATE_OPS_H */
