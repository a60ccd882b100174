/* SPDX-License-Identifier: MIT
 *
 * ops.h - what values do: equality and order (compare.c), membership and walking (walk.c), items
 * and attributes (item.c), slices (slice.c), operators (arith.c). */
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

/* Fails the run if there is no order between them. */
bool lmi_val_compare(struct lmi_run *run, enum lmi_cmp op, struct lmi_val a, struct lmi_val b);
/* item in container */
bool lmi_val_contains(struct lmi_run *run, struct lmi_val container, struct lmi_val item);

/* The items of anything that can be walked through, as a list that is not the caller's to
 * change; NULL (failed) otherwise.  An iterator is used up. */
struct lmi_list *lmi_val_items(struct lmi_run *run, struct lmi_val v);
bool lmi_val_iterable(struct lmi_val v);
/* An iterator over a list, with the failure of the run, if any, taken back into it. */
struct lmi_val lmi_iter_new(struct lmi_run *run, struct lmi_val list);

/* a[key] with key any value or a slice; x.name; both give undefined where Python would
 * raise a LookupError or a TypeError. */
struct lmi_val lmi_val_item(struct lmi_run *run, struct lmi_val v, struct lmi_val key);
struct lmi_val lmi_val_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n);
/* The attribute alone, without falling back to an item. */
bool lmi_val_find_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n,
		       struct lmi_val *out);
/* Fails the run if the value is undefined, and says so. */
bool lmi_val_fail_undefined(struct lmi_run *run, struct lmi_val v);
/* Has it items by number?  A text, bytes, a list, a tuple, a range. */
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
