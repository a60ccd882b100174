/* SPDX-License-Identifier: MIT
 *
 * value.h - values while a template is rendered, and the run that owns them.
 *
 * A value is 16 bytes and is copied freely; what it points to lives in the memory of the
 * run and is freed with it.  Strings never change; lists, dictionaries and namespaces
 * do, and are shared by all values that point to them, as in Python.
 *
 * Failure is sticky: the first failure is kept in the run, every function still returns
 * a harmless value, and every loop stops.  So callers need not check each call, only
 * before they do something that lasts, and loops by lmi_run_step. */
#ifndef LLAMAD_TEMPLATE_VALUE_H
#define LLAMAD_TEMPLATE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/text/template/template.h"

enum lmi_vkind {
	LMI_V_MISSING = 0,    /* an argument that was not given; never seen by a template */
	LMI_V_UNDEF,          /* u.s[n]: what is undefined, for the error sentence */
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
	LMI_V_ITER,           /* can be walked through once */
	LMI_V_NAMESPACE,      /* u.dict */
	LMI_V_BUILTIN,        /* a function, or a method bound to u.bound->self */
	LMI_V_MACRO,
	LMI_V_LOOP,
	LMI_V_CYCLER,
	LMI_V_JOINER
};

/* flags */
#define LMI_VF_SAFE  1u /* STR: marked as not to be escaped */
#define LMI_VF_GROUP 1u /* TUPLE: (grouper, list) of groupby, which has these attributes */

struct lmi_val;
struct lmi_marks;
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
struct lmi_scope;
struct lmi_node;

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
	struct lmi_entry *e;  /* in order of insertion */
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

/* What failed, and where. */
struct lmi_failure {
	enum lmd_status status;
	uint32_t line;
	char text[LMD_ERROR_TEXT];
	const char *raised;   /* text of raise_exception, or NULL */
	size_t raised_bytes;
};

/* The items are made when the iterator is; a failure on the way is kept and strikes when
 * somebody walks that far, which is when Python would have met it. */
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

/* One run */

#define LMI_RUN_RANGE_MAX 100000 /* items of a range */

struct lmi_run {
	struct lmd_arena *arena;
	char *mem, *mem_end;  /* rest of the current piece of memory */
	struct lmi_template_limits limits;
	uint64_t steps;       /* done */
	uint32_t depth;
	uint32_t line;        /* of the node that is evaluated */
	bool autoescape;
	bool failed;
	struct lmi_failure failure;
	char *out;            /* output so far; nested captures are cut off its end */
	size_t n_out, cap_out;
	struct lmi_marks *marks; /* NULL: nobody wants to know whose bytes they are */
	struct lmi_dict *vars;
	struct lmi_scope *globals;
	struct tm now;
	uint64_t n_random;    /* draws of the filter random */
	struct lmi_list nil_list; /* what a failed run hands out; they stay empty */
	struct lmi_dict nil_dict;
};

/* False if the run has failed or this much more work is too much. */
bool lmi_run_step(struct lmi_run *run, uint64_t n);

/* Fails the run, if it has not failed yet, with LMD_INVALID. */
void lmi_run_fail(struct lmi_run *run, const char *fmt, ...) LMD_PRINTF(2, 3);
void lmi_run_fail_status(struct lmi_run *run, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Zeroed memory of the run; fails it and returns NULL beyond the bound. */
void *lmi_run_alloc(struct lmi_run *run, size_t bytes);

/* Counts nesting; false (failed) beyond the bound, and then no leave. */
bool lmi_run_enter(struct lmi_run *run);
void lmi_run_leave(struct lmi_run *run);

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

/* Not copied: s lives as long as the run. */
static inline struct lmi_val lmi_strn(const char *s, size_t n)
{
	return (struct lmi_val){.kind = LMI_V_STR, .n = (uint32_t)n, .u.s = s};
}

static inline struct lmi_val lmi_str(const char *s)
{
	return lmi_strn(s, strlen(s));
}

/* `what` lives as long as the run. */
static inline struct lmi_val lmi_undef(const char *what, size_t n)
{
	return (struct lmi_val){.kind = LMI_V_UNDEF, .n = (uint32_t)n, .u.s = what};
}

static inline struct lmi_val lmi_missing(void)
{
	return (struct lmi_val){.kind = LMI_V_MISSING};
}

/* A copy. */
struct lmi_val lmi_str_copy(struct lmi_run *run, const char *s, size_t n);

static inline bool lmi_is(struct lmi_val v, enum lmi_vkind kind)
{
	return v.kind == kind;
}

static inline bool lmi_str_eq(struct lmi_val v, const char *s)
{
	return v.kind == LMI_V_STR && v.n == strlen(s) && !memcmp(v.u.s, s, v.n);
}

/* bool, int: numbers without a fraction, True is 1. */
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

/* Lists and tuples */

struct lmi_val lmi_list_new(struct lmi_run *run);
void lmi_list_add(struct lmi_run *run, struct lmi_list *l, struct lmi_val v);
struct lmi_val lmi_tuple2(struct lmi_run *run, struct lmi_val a, struct lmi_val b);
/* The same list as a tuple. */
static inline struct lmi_val lmi_as_tuple(struct lmi_val list)
{
	list.kind = LMI_V_TUPLE;
	return list;
}

/* Dictionaries.  A key that has no hash (list, dict) fails the run. */

struct lmi_val lmi_dict_new(struct lmi_run *run);
/* The value, or NULL.  Valid until the dictionary changes. */
struct lmi_val *lmi_dict_find(struct lmi_run *run, const struct lmi_dict *d, struct lmi_val key);
struct lmi_val *lmi_dict_find_str(struct lmi_run *run, const struct lmi_dict *d, const char *s,
				  size_t n);
void lmi_dict_set(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key, struct lmi_val v);
/* False if there is no such key. */
bool lmi_dict_remove(struct lmi_run *run, struct lmi_dict *d, struct lmi_val key);
struct lmi_val lmi_dict_copy(struct lmi_run *run, const struct lmi_dict *d);
/* Can it be a key? */
bool lmi_val_hashable(struct lmi_val v);

/* A value of the input, copied. */
struct lmi_val lmi_val_import(struct lmi_run *run, const struct lmi_tvalue *v);

/* Texts that grow */

struct lmi_buf {
	struct lmi_run *run;
	char *s;
	size_t n, cap;
};

void lmi_buf_add(struct lmi_buf *b, const char *s, size_t n);
void lmi_buf_char(struct lmi_buf *b, uint32_t c);
void lmi_buf_fill(struct lmi_buf *b, uint32_t c, uint64_t n);
void lmi_buf_printf(struct lmi_buf *b, const char *fmt, ...) LMD_PRINTF(2, 3);

static inline void lmi_buf_str(struct lmi_buf *b, const char *s)
{
	lmi_buf_add(b, s, strlen(s));
}

static inline void lmi_buf_val(struct lmi_buf *b, struct lmi_val str)
{
	lmi_buf_add(b, str.u.s, str.n);
}

/* The text; the buffer is not used any more. */
struct lmi_val lmi_buf_done(struct lmi_buf *b);

/* a and b one after the other; repeated appending costs time and memory in proportion to
 * what is appended. */
struct lmi_val lmi_str_cat(struct lmi_run *run, struct lmi_val a, struct lmi_val b);

/* What a value is (ops.c) */

bool lmi_val_truth(struct lmi_val v);
/* Name of the type for error sentences: "str", "list". */
const char *lmi_val_type(struct lmi_val v);
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
/* Number of items, -1 if it has no length. */
int64_t lmi_val_length(struct lmi_val v);

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

/* fmt % arg (format.c) */
struct lmi_val lmi_format_percent(struct lmi_run *run, struct lmi_val fmt, struct lmi_val arg);

/* Attributes of macros (macro.c) and of the loop variable (loop.c). */
bool lmi_macro_attr(struct lmi_run *run, const struct lmi_macro *m, const char *name, size_t n,
		    struct lmi_val *out);
bool lmi_loop_attr(struct lmi_run *run, struct lmi_loop *loop, const char *name, size_t n,
		   struct lmi_val *out);

/* Texts of values (repr.c) */

/* str(v); a STR is itself, with its flag. */
struct lmi_val lmi_val_text(struct lmi_run *run, struct lmi_val v);
struct lmi_val lmi_val_repr(struct lmi_run *run, struct lmi_val v);
void lmi_val_repr_to(struct lmi_buf *b, struct lmi_val v);
/* repr with every character outside of ASCII escaped. */
struct lmi_val lmi_val_ascii(struct lmi_run *run, struct lmi_val v);
/* repr of a float, at most 32 bytes with the terminating zero. */
void lmi_float_text(double f, char out[32]);
/* &, <, >, " and ' as entities, marked safe; a safe text is itself. */
struct lmi_val lmi_val_escape(struct lmi_run *run, struct lmi_val v);

/* Calls */

struct lmi_kwarg {
	struct lmd_str name;
	struct lmi_val v;
};

struct lmi_call_args {
	const struct lmi_val *pos;
	const struct lmi_kwarg *kw;
	uint32_t n_pos, n_kw;
};

/* A function, method, filter or test.  Parameters are names separated by blanks; what is
 * not given arrives as MISSING.  Without params the function gets the arguments raw. */
#define LMI_PARAMS_MAX 6

struct lmi_builtin {
	const char *name;
	struct lmi_val (*fn)(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a);
	const char *params;
	uint8_t n_required;
	bool pos_only;        /* names are for the error sentence alone */
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
/* Calls anything that can be called. */
struct lmi_val lmi_val_call(struct lmi_run *run, struct lmi_val callee,
			    const struct lmi_call_args *args);
bool lmi_val_callable(struct lmi_val v);

const struct lmi_builtin *lmi_builtin_find(const struct lmi_builtin *table, size_t n,
					   const char *name, size_t n_name);
/* NULL if there is none of that name. */
const struct lmi_builtin *lmi_filter_find(const char *name, size_t n);
const struct lmi_builtin *lmi_test_find(const char *name, size_t n);
const struct lmi_builtin *lmi_global_find(const char *name, size_t n);
/* The method of a value of that kind, or NULL. */
const struct lmi_builtin *lmi_method_find(enum lmi_vkind kind, const char *name, size_t n);

/* Defaults of arguments. */
static inline bool lmi_given(struct lmi_val v)
{
	return v.kind != LMI_V_MISSING;
}

static inline bool lmi_param_truth(struct lmi_val v, bool def)
{
	return lmi_given(v) ? lmi_val_truth(v) : def;
}

/* An integer argument; fails the run if it is something else. */
int64_t lmi_param_int(struct lmi_run *run, struct lmi_val v, int64_t def, const char *what);
/* A text argument. */
struct lmi_val lmi_param_str(struct lmi_run *run, struct lmi_val v, const char *def,
			     const char *what);

#endif /* LLAMAD_TEMPLATE_VALUE_H */
