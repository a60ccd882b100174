/* SPDX-License-Identifier: MIT
 *
 * value.h - values during rendering.
 *
 * A value is 16 bytes and is copied freely; what it points to lives in the memory of the run
 * (run.h) and is freed with it.  Strings are immutable; lists, dictionaries and namespaces are
 * mutable and shared by all values that point to them, as in Python. */
#ifndef LLAMAD_CORE_JINJA_VALUE_H
#define LLAMAD_CORE_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/jinja/template.h"

enum lmi_jinja_vkind {
	LMI_JINJA_V_MISSING = 0, /* an argument that was not given; never visible to a template */
	LMI_JINJA_V_UNDEF,       /* u.s[n]: what is undefined, for the error message */
	LMI_JINJA_V_NONE,
	LMI_JINJA_V_BOOL,
	LMI_JINJA_V_INT,
	LMI_JINJA_V_FLOAT,
	LMI_JINJA_V_STR,   /* u.s[n] UTF-8 */
	LMI_JINJA_V_BYTES, /* u.s[n] */
	LMI_JINJA_V_LIST,
	LMI_JINJA_V_TUPLE,
	LMI_JINJA_V_DICT,
	LMI_JINJA_V_VIEW, /* keys, values or items of a dictionary */
	LMI_JINJA_V_RANGE,
	LMI_JINJA_V_ITER,      /* can be iterated once */
	LMI_JINJA_V_NAMESPACE, /* u.dict */
	LMI_JINJA_V_BUILTIN,   /* a function, or a method bound to u.bound->self */
	LMI_JINJA_V_MACRO,
	LMI_JINJA_V_LOOP,
	LMI_JINJA_V_CYCLER,
	LMI_JINJA_V_JOINER
};

/* flags */
#define LMI_JINJA_VF_SAFE  1u /* STR: safe, must not be escaped */
#define LMI_JINJA_VF_GROUP 1u /* TUPLE: a (grouper, list) of groupby, which has these attributes */

struct lmi_jinja_val;
struct lmi_jinja_failure;
struct lmi_jinja_list;
struct lmi_jinja_dict;
struct lmi_jinja_view;
struct lmi_jinja_range;
struct lmi_jinja_iter;
struct lmi_jinja_bound;
struct lmi_jinja_macro;
struct lmi_jinja_loop;
struct lmi_jinja_cycler;
struct lmi_jinja_joiner;
struct lmi_jinja_run;

struct lmi_jinja_val {
	uint8_t kind; /* enum lmi_jinja_vkind */
	uint8_t flags;
	uint16_t reserved;
	uint32_t n; /* STR, BYTES, UNDEF: bytes */
	union {
		bool b;
		int64_t i;
		double f;
		const char *s;
		struct lmi_jinja_list *list;
		struct lmi_jinja_dict *dict;
		struct lmi_jinja_view *view;
		struct lmi_jinja_range *range;
		struct lmi_jinja_iter *iter;
		struct lmi_jinja_bound *bound;
		struct lmi_jinja_macro *macro;
		struct lmi_jinja_loop *loop;
		struct lmi_jinja_cycler *cycler;
		struct lmi_jinja_joiner *joiner;
	} u;
};
_Static_assert(sizeof(struct lmi_jinja_val) == 16, "values are copied everywhere");

struct lmi_jinja_list {
	struct lmi_jinja_val *v;
	uint32_t n, cap;
};

struct lmi_jinja_entry {
	struct lmi_jinja_val key, value;
	uint32_t hash;
};

struct lmi_jinja_dict {
	struct lmi_jinja_entry *e; /* in insertion order */
	uint32_t n, cap;
	uint32_t *index;  /* open addressing: entry + 1, 0 = free; NULL while n is small */
	uint32_t n_index; /* a power of two */
};

enum lmi_jinja_view_of { LMI_JINJA_VIEW_KEYS, LMI_JINJA_VIEW_VALUES, LMI_JINJA_VIEW_ITEMS };

struct lmi_jinja_view {
	struct lmi_jinja_dict *dict;
	enum lmi_jinja_view_of of;
};

struct lmi_jinja_range {
	int64_t start, stop, step;
	uint32_t n;
};

/* The items are computed when the iterator is created.  A failure while computing them is kept and
 * raised when the iteration gets that far, which is when Python would raise it. */
struct lmi_jinja_iter {
	struct lmi_jinja_list *items;
	uint32_t at;
	const struct lmi_jinja_failure *failure;
};

struct lmi_jinja_cycler {
	struct lmi_jinja_list *items;
	uint32_t at;
};

struct lmi_jinja_joiner {
	struct lmi_jinja_val separator;
	bool used;
};

/* Constructors */

static inline struct lmi_jinja_val lmi_jinja_none(void)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_NONE};
}

static inline struct lmi_jinja_val lmi_jinja_bool(bool b)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_BOOL, .u.b = b};
}

static inline struct lmi_jinja_val lmi_jinja_int(int64_t i)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_INT, .u.i = i};
}

static inline struct lmi_jinja_val lmi_jinja_float(double f)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_FLOAT, .u.f = f};
}

/* s is not copied; it must live as long as the run. */
static inline struct lmi_jinja_val lmi_jinja_strn(const char *s, size_t n)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_STR, .n = (uint32_t)n, .u.s = s};
}

static inline struct lmi_jinja_val lmi_jinja_str(const char *s)
{
	return lmi_jinja_strn(s, strlen(s));
}

/* `what` is not copied; it must live as long as the run. */
static inline struct lmi_jinja_val lmi_jinja_undef(const char *what, size_t n)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_UNDEF, .n = (uint32_t)n, .u.s = what};
}

static inline struct lmi_jinja_val lmi_jinja_missing(void)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_MISSING};
}

/* Copies s. */
struct lmi_jinja_val lmi_jinja_str_copy(struct lmi_jinja_run *run, const char *s, size_t n);

static inline bool lmi_jinja_is(struct lmi_jinja_val v, enum lmi_jinja_vkind kind)
{
	return v.kind == kind;
}

static inline bool lmi_jinja_str_eq(struct lmi_jinja_val v, const char *s)
{
	return v.kind == LMI_JINJA_V_STR && v.n == strlen(s) && !memcmp(v.u.s, s, v.n);
}

/* bool or int; True is 1. */
static inline bool lmi_jinja_is_integer(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_INT || v.kind == LMI_JINJA_V_BOOL;
}

static inline bool lmi_jinja_is_number(struct lmi_jinja_val v)
{
	return lmi_jinja_is_integer(v) || v.kind == LMI_JINJA_V_FLOAT;
}

static inline int64_t lmi_jinja_integer(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_BOOL ? v.u.b : v.u.i;
}

static inline double lmi_jinja_number(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_FLOAT ? v.u.f : (double)lmi_jinja_integer(v);
}

/* Properties of every value */

bool lmi_jinja_val_truth(struct lmi_jinja_val v);
/* Name of the type for error messages: "str", "list". */
const char *lmi_jinja_val_type(struct lmi_jinja_val v);
/* Number of items; -1 if the value has no length. */
int64_t lmi_jinja_val_length(struct lmi_jinja_val v);

/* Lists and tuples */

struct lmi_jinja_val lmi_jinja_list_new(struct lmi_jinja_run *run);
void lmi_jinja_list_add(struct lmi_jinja_run *run, struct lmi_jinja_list *l,
			struct lmi_jinja_val v);
struct lmi_jinja_val lmi_jinja_tuple2(struct lmi_jinja_run *run, struct lmi_jinja_val a,
				      struct lmi_jinja_val b);
/* A tuple that shares the items of a list. */
static inline struct lmi_jinja_val lmi_jinja_as_tuple(struct lmi_jinja_val list)
{
	list.kind = LMI_JINJA_V_TUPLE;
	return list;
}

/* Dictionaries.  An unhashable key (list, dict) fails the run. */

struct lmi_jinja_val lmi_jinja_dict_new(struct lmi_jinja_run *run);
/* Returns the value or NULL; valid until the dictionary changes. */
struct lmi_jinja_val *lmi_jinja_dict_find(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d,
					  struct lmi_jinja_val key);
struct lmi_jinja_val *lmi_jinja_dict_find_str(struct lmi_jinja_run *run,
					      const struct lmi_jinja_dict *d, const char *s,
					      size_t n);
void lmi_jinja_dict_set(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			struct lmi_jinja_val key, struct lmi_jinja_val v);
/* Returns false if there is no such key. */
bool lmi_jinja_dict_remove(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			   struct lmi_jinja_val key);
struct lmi_jinja_val lmi_jinja_dict_copy(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d);
/* Whether the value can be a key. */
bool lmi_jinja_val_hashable(struct lmi_jinja_val v);

/* Copies an input value. */
struct lmi_jinja_val lmi_jinja_val_import(struct lmi_jinja_run *run,
					  const struct lmi_jinja_value *v);

#endif /* LLAMAD_CORE_JINJA_VALUE_H */
