/* SPDX-License-Identifier: MIT
 *
 * value.h - values during rendering.
 *
 * A value is 16 bytes and is copied freely; what it points to lives in the memory of the run
 * (run.h) and is freed with it.  Strings are immutable; lists, dictionaries and namespaces are
 * mutable and shared by all values that point to them, as in Python. */
#ifndef LLAMAD_TEMPLATE_VALUE_H
#define LLAMAD_TEMPLATE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/text/template/template.h"

enum lmi_vkind {
	LMI_V_MISSING = 0,    /* an argument that was not given; never visible to a template */
	LMI_V_UNDEF,          /* u.s[n]: what is undefined, for the error message */
	LMI_V_NONE,
	LMI_V_BOOL,
	LMI_V_INT,
	LMI_V_FLOAT,
	LMI_V_STR,            /* u.s[n] UTF-8 */
	LMI_V_BYTES,          /* u.s[n] */
	LMI_V_LIST,
	LMI_V_TUPLE,
	LMI_V_DICT,
	LMI_V_VIEW,           /* keys, values or items of a dictionary */
	LMI_V_RANGE,
	LMI_V_ITER,           /* can be iterated once */
	LMI_V_NAMESPACE,      /* u.dict */
	LMI_V_BUILTIN,        /* a function, or a method bound to u.bound->self */
	LMI_V_MACRO,
	LMI_V_LOOP,
	LMI_V_CYCLER,
	LMI_V_JOINER
};

/* flags */
#define LMI_VF_SAFE  1u /* STR: safe, must not be escaped */
#define LMI_VF_GROUP 1u /* TUPLE: a (grouper, list) of groupby, which has these attributes */

struct lmi_val;
struct lmi_failure;
struct lmi_list;
struct lmi_dict;
struct lmi_view;
struct lmi_range;
struct lmi_iter;
struct lmi_bound;
struct lmi_macro;
struct lmi_loop;
struct lmi_cycler;
struct lmi_joiner;
struct lmi_run;

struct lmi_val {
	uint8_t kind;         /* enum lmi_vkind */
	uint8_t flags;
	uint16_t reserved;
	uint32_t n;           /* STR, BYTES, UNDEF: bytes */
	union {
		bool b;
		int64_t i;
		double f;
		const char *s;
		struct lmi_list *list;
		struct lmi_dict *dict;
		struct lmi_view *view;
		struct lmi_range *range;
		struct lmi_iter *iter;
		struct lmi_bound *bound;
		struct lmi_macro *macro;
		struct lmi_loop *loop;
		struct lmi_cycler *cycler;
		struct lmi_joiner *joiner;
	} u;
};
_Static_assert(sizeof(struct lmi_val) == 16, "values are copied everywhere");

struct lmi_list {
	struct lmi_val *v;
	uint32_t n, cap;
};

struct lmi_entry {
	struct lmi_val key, value;
	uint32_t hash;
};

struct lmi_dict {
	struct lmi_entry *e;  /* in insertion order */
	uint32_t n, cap;
	uint32_t *index;      /* open addressing: entry + 1, 0 = free; NULL while n is small */
	uint32_t n_index;     /* a power of two */
};

enum lmi_view_of {
	LMI_VIEW_KEYS,
	LMI_VIEW_VALUES,
	LMI_VIEW_ITEMS
};

struct lmi_view {
	struct lmi_dict *dict;
	enum lmi_view_of of;
};

struct lmi_range {
	int64_t start, stop, step;
	uint32_t n;
};

/* The items are computed when the iterator is created.  A failure while computing them is kept and
 * raised when the iteration gets that far, which is when Python would raise it. */
struct lmi_iter {
	struct lmi_list *items;
	uint32_t at;
	const struct lmi_failure *failure;
};

struct lmi_cycler {
	struct lmi_list *items;
	uint32_t at;
};

struct lmi_joiner {
	struct lmi_val separator;
	bool used;
};

/* Constructors */

static inline struct lmi_val lmi_none(void)
{
	return (struct lmi_val){.kind = LMI_V_NONE};
}

static inline struct lmi_val lmi_bool(bool b)
{
	return (struct lmi_val){.kind = LMI_V_BOOL, .u.b = b};
}

static inline struct lmi_val lmi_int(int64_t i)
{
	return (struct lmi_val){.kind = LMI_V_INT, .u.i = i};
}

static inline struct lmi_val lmi_float(double f)
{
	return (struct lmi_val){.kind = LMI_V_FLOAT, .u.f = f};
}

/* s is not copied; it must live as long as the run. */
static inline struct lmi_val lmi_strn(const char *s, size_t n)
{
	return (struct lmi_val){.kind = LMI_V_STR, .n = (uint32_t)n, .u.s = s};
}

static inline struct lmi_val lmi_str(const char *s)
{
	return lmi_strn(s, strlen(s));
}

/* `what` is not copied; it must live as long as the run. */
static inline struct lmi_val lmi_undef(const char *what, size_t n)
{
	return (struct lmi_val){.kind = LMI_V_UNDEF, .n = (uint32_t)n, .u.s = what};
}

static inline struct lmi_val lmi_missing(void)
{
	return (struct lmi_val){.kind = LMI_V_MISSING};
}

/* Copies s. */
struct lmi_val lmi_str_copy(struct lmi_run *run, const char *s, size_t n);

static inline bool lmi_is(struct lmi_val v, enum lmi_vkind kind)
{
	return v.kind == kind;
}

static inline bool lmi_str_eq(struct lmi_val v, const char *s)
{
	return v.kind == LMI_V_STR && v.n == strlen(s) && !memcmp(v.u.s, s, v.n);
}

/* bool or int; True is 1. */
static inline bool lmi_is_integer(struct lmi_val v)
{
	return v.kind == LMI_V_INT || v.kind == LMI_V_BOOL;
}

static inline bool lmi_is_number(struct lmi_val v)
{
	return lmi_is_integer(v) || v.kind == LMI_V_FLOAT;
}

static inline int64_t lmi_integer(struct lmi_val v)
{
	return v.kind == LMI_V_BOOL ? v.u.b : v.u.i;
}

static inline double lmi_number(struct lmi_val v)
{
	return v.kind == LMI_V_FLOAT ? v.u.f : (double)lmi_integer(v);
}

/* Properties of every value */

bool lmi_val_truth(struct lmi_val v);
/* Name of the type for error messages: "str", "list". */
const char *lmi_val_type(struct lmi_val v);
/* Number of items; -1 if the value has no length. */
int64_t lmi_val_length(struct lmi_val v);

/* Lists and tuples */

struct lmi_val lmi_list_new(struct lmi_run *run);
void lmi_list_add(struct lmi_run *run, struct lmi_list *l, struct lmi_val v);
struct lmi_val lmi_tuple2(struct lmi_run *run, struct lmi_val a, struct lmi_val b);
/* A tuple that shares the items of a list. */
static inline struct lmi_val lmi_as_tuple(struct lmi_val list)
{
	list.kind = LMI_V_TUPLE;
	return list;
}

/* Dictionaries.  An unhashable key (list, dict) fails the run. */

struct lmi_val lmi_dict_new(struct lmi_run *run);
/* Returns the value or NULL; valid until the dictionary changes. */
struct lmi_val *lmi_dict_find(struct lmi_run *run, const struct lmi_dict *d, struct lmi_val key);
struct lmi_val *lmi_dict_find_str(struct lmi_run *run, const struct lmi_dict *d, const char *s,
				  size_t n);
void lmi_dict_set(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key, struct lmi_val v);
/* Returns false if there is no such key. */
bool lmi_dict_remove(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key);
struct lmi_val lmi_dict_copy(struct lmi_run *run, const struct lmi_dict *d);
/* Whether the value can be a key. */
bool lmi_val_hashable(struct lmi_val v);

/* Copies an input value. */
struct lmi_val lmi_val_import(struct lmi_run *run, const struct lmi_tvalue *v);

#endif /* LLAMAD_TEMPLATE_VALUE_H */
