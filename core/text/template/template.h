/* SPDX-License-Identifier: MIT
 *
 * template.h - chat templates: a bounded engine for the template language that model
 * files carry.
 *
 * The language is that of Jinja with the settings of model hubs: trim_blocks and
 * lstrip_blocks on, no automatic escaping, loop controls, and Python's values: their
 * text, arithmetic, slices and methods.  What is outside: inheritance, includes, imports.
 * README.md lists what there is.
 *
 * A template is untrusted input, as a model file is.  Rendering touches nothing but its
 * variables, and time, memory, nesting and output are bounded: what goes over a bound is
 * an error that names it.  Lists and dictionaries of the variables may be changed by a
 * template; it works on a copy. */
#ifndef LLAMAD_CORE_TEXT_TEMPLATE_H
#define LLAMAD_CORE_TEXT_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/base/arena.h"
#include "llamad/status.h"
#include "llamad/types.h"

/* The longest template, in bytes. */
#define LMI_TEMPLATE_MAX (4u << 20)

/* Values that go in: a tree, as in JSON. */
enum lmi_tkind {
	LMI_T_NONE = 0,
	LMI_T_BOOL,
	LMI_T_INT,
	LMI_T_FLOAT,
	LMI_T_STR,
	LMI_T_LIST,
	LMI_T_DICT
};

struct lmi_tmember;

struct lmi_tvalue {
	enum lmi_tkind kind;
	uint32_t n;           /* LIST: items; DICT: members */
	bool own;             /* STR: counts as written by the template, see `own` of the output */
	union {
		bool b;
		int64_t i;
		double f;
		struct lmd_str s; /* UTF-8; what is not shows as U+FFFD */
		const struct lmi_tvalue *items;
		const struct lmi_tmember *members; /* in their order */
	} u;
};

struct lmi_tmember {
	struct lmd_str key;
	struct lmi_tvalue value;
};

/* A copy of a JSON value in an arena.  LMD_NOMEM; LMD_INVALID: nested too deep. */
enum lmd_status lmi_tvalue_from_json(const json_t *json, struct lmd_arena *arena,
				     struct lmi_tvalue *out, struct lmd_error *err);

/* A parsed template: immutable, used by any number of threads. */
struct lmi_template;

/* LMD_INVALID: the line and what is wrong there.  The text may be freed afterwards. */
enum lmd_status lmi_template_parse(struct lmi_template **out, const char *text, size_t bytes,
				   struct lmd_error *err);
/* NULL allowed. */
void lmi_template_destroy(struct lmi_template *t);

/* Bounds of one rendering; 0 = the default. */
struct lmi_template_limits {
	uint64_t steps;        /* 20 million: nodes evaluated and bytes handled / 16 */
	uint64_t memory_bytes; /* 256 MiB: values */
	uint64_t output_bytes; /* 64 MiB */
	uint32_t depth;        /* 1000: nested evaluations, on the stack of the thread */
};

struct lmi_template_input {
	const struct lmi_tvalue *vars; /* [n_vars] DICTs; of two members the later one holds */
	uint32_t n_vars;
	struct tm now;        /* for strftime_now */
	bool want_own;        /* output.own is wanted */
	struct lmi_template_limits limits;
};

struct lmi_template_output {
	char *text;           /* NUL-terminated; free with lmi_free */
	size_t bytes;
	/* If wanted: whose byte each one is, [bytes]: 1 for those that the template itself wrote,
	 * 0 for those that came with a variable, in whatever way: copied, cut, joined.  What a
	 * filter or method computes anew (upper, tojson, repr) counts as coming from outside, but
	 * for the digits of numbers. */
	uint8_t *own;
	char *raised;         /* after a failure: the text given to raise_exception, or NULL */
	size_t raised_bytes;
};

/* Renders.  On LMD_OK only text is set.  LMD_INVALID: the template failed, err has the
 * line and the reason; if it called raise_exception, raised has the whole text.
 * LMD_NOMEM: a bound or the memory of the machine.  lmi_template_output_fini in any case. */
enum lmd_status lmi_template_render(const struct lmi_template *t,
				    const struct lmi_template_input *in,
				    struct lmi_template_output *out, struct lmd_error *err);
void lmi_template_output_fini(struct lmi_template_output *out);

#endif /* LLAMAD_CORE_TEXT_TEMPLATE_H */
