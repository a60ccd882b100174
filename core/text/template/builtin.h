/* SPDX-License-Identifier: MIT
 *
 * builtin.h - declarations shared by the files of filters, tests, methods and functions. */
#ifndef LLAMAD_TEMPLATE_BUILTIN_H
#define LLAMAD_TEMPLATE_BUILTIN_H

#include "core/text/template/call.h"
#include "core/text/template/ops.h"
#include "core/text/template/run.h"
#include "core/text/template/text.h"
#include "core/text/template/uni.h"

/* Strings (case.c, strip.c, join.c, split.c, pad.c); v is a STR */

enum lmi_str_case {
	LMI_STR_UPPER,
	LMI_STR_LOWER,
	LMI_STR_FOLD,
	LMI_STR_TITLE,      /* upper case after anything that is not a letter */
	LMI_STR_CAPITALIZE,
	LMI_STR_SWAP
};
struct lmi_val lmi_str_case(struct lmi_run *run, struct lmi_val v, enum lmi_str_case to);

enum lmi_side {
	LMI_LEFT = 1,
	LMI_RIGHT = 2,
	LMI_BOTH = 3
};
/* Strips the characters of `chars` (NONE: whitespace) from its ends. */
struct lmi_val lmi_str_strip(struct lmi_run *run, struct lmi_val v, struct lmi_val chars,
			     enum lmi_side side);
/* Replaces at most n occurrences; all if n is negative. */
struct lmi_val lmi_str_replace(struct lmi_run *run, struct lmi_val v, struct lmi_val from,
			       struct lmi_val to, int64_t n);
/* Splits a string into a list of its lines. */
struct lmi_val lmi_str_lines(struct lmi_run *run, struct lmi_val v, bool keep_ends);
struct lmi_val lmi_str_center(struct lmi_run *run, struct lmi_val v, int64_t width, uint32_t fill);
/* Joins the items with sep between them.  They must be strings unless `convert` is set. */
struct lmi_val lmi_str_join(struct lmi_run *run, struct lmi_val sep, const struct lmi_list *items,
			    bool convert);
/* Whether all cased characters are of that case and there is at least one. */
bool lmi_str_is_case(struct lmi_val v, bool upper);

/* str.format (format_braces.c) */
struct lmi_val lmi_format_braces(struct lmi_run *run, struct lmi_val self,
				 const struct lmi_call_args *args);

/* Numbers */

/* Python's int(text, base), with surrounding whitespace and _ between digits.  Returns false if the
 * text is not a number.  A number beyond 64 bits fails the run. */
bool lmi_val_parse_integer(struct lmi_run *run, struct lmi_val text, int base, int64_t *out);
bool lmi_val_parse_float(struct lmi_val text, double *out);
/* Python's round(f, digits): rounds the exact decimal value, halves to even. */
double lmi_round_float(double f, int64_t digits);

/* Lists */

/* Sorts items by keys (of the same length; NULL: by the items themselves).  The sort is stable. */
void lmi_list_sort(struct lmi_run *run, struct lmi_list *items, const struct lmi_list *keys,
		   bool reverse);

/* dict.update: a dictionary or a list of pairs, then named arguments. */
void lmi_dict_update(struct lmi_run *run, struct lmi_dict *d, const struct lmi_call_args *args);

struct lmi_val lmi_pprint(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a);
struct lmi_val lmi_wordwrap(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a);

/* tojson */
struct lmi_val lmi_tojson(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a);

/* Tables, one per file */

struct lmi_table {
	const struct lmi_builtin *row;
	size_t n;
};

extern const struct lmi_table lmi_find_methods, lmi_strip_methods, lmi_split_methods,
	lmi_join_methods, lmi_case_methods, lmi_pad_methods, lmi_list_methods, lmi_tuple_methods,
	lmi_dict_methods, lmi_number_methods, lmi_loop_methods;
extern const struct lmi_table lmi_text_filters, lmi_list_filters, lmi_pick_filters,
	lmi_number_filters, lmi_web_filters;

/* Head of a builtin function with bound parameters. */
#define LMI_BUILTIN(name)                                                                          \
	struct lmi_val name(struct lmi_run *run, struct lmi_val self, const struct lmi_val *a)

#define LMI_TABLE(rows) {rows, LMD_LEN(rows)}

#endif /* LLAMAD_TEMPLATE_BUILTIN_H */
