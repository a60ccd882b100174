/* SPDX-License-Identifier: MIT
 *
 * builtin.h - declarations shared by the files of filters, tests, methods and functions. */
#ifndef LLAMAD_CORE_JINJA_BUILTIN_H
#define LLAMAD_CORE_JINJA_BUILTIN_H

#include "core/jinja/call.h"
#include "core/jinja/ops.h"
#include "core/jinja/run.h"
#include "core/jinja/str_buf.h"
#include "core/unicode/unicode.h"

/* Strings (case.c, strip.c, join.c, split.c, str_pad.c); v is a STR */

enum lmi_jinja_str_case {
	LMI_JINJA_STR_UPPER,
	LMI_JINJA_STR_LOWER,
	LMI_JINJA_STR_FOLD,
	LMI_JINJA_STR_TITLE, /* upper case after anything that is not a letter */
	LMI_JINJA_STR_CAPITALIZE,
	LMI_JINJA_STR_SWAP
};
struct lmi_jinja_val lmi_jinja_str_case(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					enum lmi_jinja_str_case to);

enum lmi_jinja_side { LMI_JINJA_LEFT = 1, LMI_JINJA_RIGHT = 2, LMI_JINJA_BOTH = 3 };
/* Strips the characters of `chars` (NONE: whitespace) from its ends. */
struct lmi_jinja_val lmi_jinja_str_strip(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 struct lmi_jinja_val chars, enum lmi_jinja_side side);
/* Replaces at most n occurrences; all if n is negative. */
struct lmi_jinja_val lmi_jinja_str_replace(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					   struct lmi_jinja_val from, struct lmi_jinja_val to,
					   int64_t n);
/* Splits a string into a list of its lines. */
struct lmi_jinja_val lmi_jinja_str_lines(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 bool keep_ends);
struct lmi_jinja_val lmi_jinja_str_center(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					  int64_t width, uint32_t fill);
/* Joins the items with sep between them.  They must be strings unless `convert` is set. */
struct lmi_jinja_val lmi_jinja_str_join(struct lmi_jinja_run *run, struct lmi_jinja_val sep,
					const struct lmi_jinja_list *items, bool convert);
/* Whether all cased characters are of that case and there is at least one. */
bool lmi_jinja_str_is_case(struct lmi_jinja_run *run, struct lmi_jinja_val v, bool upper);

/* str.format (format_braces.c) */
struct lmi_jinja_val lmi_jinja_format_braces(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					     const struct lmi_jinja_call_args *args);

/* Numbers */

/* Python's int(text, base), with surrounding whitespace and _ between digits.  Returns false if the
 * text is not a number.  A number beyond 64 bits fails the run. */
bool lmi_jinja_val_parse_integer(struct lmi_jinja_run *run, struct lmi_jinja_val text, int base,
				 int64_t *out);
bool lmi_jinja_val_parse_float(struct lmi_jinja_val text, double *out);
/* Python's round(f, digits): rounds the exact decimal value, halves to even. */
double lmi_jinja_round_float(double f, int64_t digits);

/* Lists */

/* Sorts items by keys (of the same length; NULL: by the items themselves).  The sort is stable. */
void lmi_jinja_list_sort(struct lmi_jinja_run *run, struct lmi_jinja_list *items,
			 const struct lmi_jinja_list *keys, bool reverse);

/* dict.update: a dictionary or a list of pairs, then named arguments. */
void lmi_jinja_dict_update(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			   const struct lmi_jinja_call_args *args);

struct lmi_jinja_val lmi_jinja_pprint(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a);
struct lmi_jinja_val lmi_jinja_wordwrap(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					const struct lmi_jinja_val *a);

/* tojson */
struct lmi_jinja_val lmi_jinja_tojson(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a);

/* Tables, one per file */

struct lmi_jinja_table {
	const struct lmi_jinja_builtin *row;
	size_t n;
};

extern const struct lmi_jinja_table lmi_jinja_find_methods, lmi_jinja_strip_methods,
	lmi_jinja_split_methods, lmi_jinja_join_methods, lmi_jinja_case_methods,
	lmi_jinja_pad_methods, lmi_jinja_list_methods, lmi_jinja_tuple_methods,
	lmi_jinja_dict_methods, lmi_jinja_number_methods, lmi_jinja_loop_methods;
extern const struct lmi_jinja_table lmi_jinja_text_filters, lmi_jinja_list_filters,
	lmi_jinja_pick_filters, lmi_jinja_number_filters, lmi_jinja_web_filters;

/* Head of a builtin function with bound parameters. */
#define LMI_JINJA_BUILTIN(name)                                                                    \
	struct lmi_jinja_val name(struct lmi_jinja_run *run, struct lmi_jinja_val self,            \
				  const struct lmi_jinja_val *a)

#define LMI_JINJA_TABLE(rows)                                                                      \
	{                                                                                          \
		rows, LMD_LEN(rows)                                                                \
	}

#endif /* LLAMAD_CORE_JINJA_BUILTIN_H */
