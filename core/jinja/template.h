/* SPDX-License-Identifier: MIT
 *
 * template.h - the chat template engine: renders the templates of model files within limits.
 *
 * The language is Jinja with the settings of the model hubs: trim_blocks and lstrip_blocks, no
 * automatic escaping, loop controls, and Python's values with their string conversion, arithmetic,
 * slices and methods.  Inheritance, includes and imports are not supported.  README.md lists the
 * features.
 *
 * A template is untrusted input, as a model file is.  Rendering accesses nothing but its variables.
 * Time, memory, nesting and output are bounded; exceeding a limit is an error that names it.  A
 * template may modify lists and dictionaries among its variables; it works on a copy. */
#ifndef LLAMAD_CORE_JINJA_TEMPLATE_H
#define LLAMAD_CORE_JINJA_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/base/arena.h"
#include "llamad/status.h"
#include "llamad/types.h"

/* Maximum size of a template in bytes. */
#define LMI_JINJA_MAX (4u << 20)

/* Input values: a tree, as in JSON. */
enum lmi_jinja_value_kind {
	LMI_JINJA_T_NONE = 0,
	LMI_JINJA_T_BOOL,
	LMI_JINJA_T_INT,
	LMI_JINJA_T_FLOAT,
	LMI_JINJA_T_STR,
	LMI_JINJA_T_LIST,
	LMI_JINJA_T_DICT
};

struct lmi_jinja_member;

struct lmi_jinja_value {
	enum lmi_jinja_value_kind kind;
	uint32_t n; /* LIST: items; DICT: members */
	/* STR: counts as written by the template, see `origins` of the output */
	bool from_template;
	union {
		bool b;
		int64_t i;
		double f;
		struct lmd_str s; /* UTF-8; invalid bytes become U+FFFD */
		const struct lmi_jinja_value *items;
		const struct lmi_jinja_member *members; /* in order */
	} u;
};

struct lmi_jinja_member {
	struct lmd_str key;
	struct lmi_jinja_value value;
};

/* Copies a JSON value into an arena.  LMD_NOMEM; LMD_INVALID if nested too deeply. */
enum lmd_status lmi_jinja_tvalue_from_json(const json_t *json, struct lmd_arena *arena,
					   struct lmi_jinja_value *out, struct lmd_error *err);

/* A parsed template.  Immutable; may be used by any number of threads. */
struct lmi_jinja;

/* Parses a template.  The text may be freed afterwards.  LMD_INVALID: the message has the line and
 * the reason. */
enum lmd_status lmi_jinja_parse(struct lmi_jinja **out, const char *text, size_t bytes,
				struct lmd_error *err);
/* NULL allowed. */
void lmi_jinja_destroy(struct lmi_jinja *t);

/* Limits of one rendering; 0 = the default. */
struct lmi_jinja_limits {
	uint64_t steps;        /* default 20 million: nodes evaluated, plus bytes handled / 16 */
	uint64_t memory_bytes; /* default 256 MiB: values */
	uint64_t output_bytes; /* default 64 MiB */
	uint32_t depth;        /* default 1000: nested evaluations, on the stack of the thread */
};

struct lmi_jinja_input {
	/* [n_vars] DICTs; a later member overrides an earlier one of the same name */
	const struct lmi_jinja_value *vars;
	uint32_t n_vars;
	struct tm now;     /* for strftime_now */
	bool want_origins; /* fill in output.origins */
	struct lmi_jinja_limits limits;
};

struct lmi_jinja_output {
	char *text;           /* NUL-terminated; free with lmi_free */
	size_t bytes;
	/* [bytes], if wanted: 1 for each byte that the template itself wrote, 0 for each byte that
	 * came from a variable, even if copied, sliced or joined.  What a filter or method computes
	 * (upper, tojson, repr) counts as coming from a variable, except the digits of numbers. */
	uint8_t *origins;
	char *raised; /* after a failure: the argument of raise_exception, or NULL */
	size_t raised_bytes;
};

/* Renders a template.  On LMD_OK only text (and origins) is set.  LMD_INVALID: the template failed;
 * err has the line and the reason, and if the template called raise_exception, raised has the whole
 * argument.  LMD_NOMEM: a limit was exceeded or the machine is out of memory.
 * LMD_CANCELLED: the thread's cancel word was set (base/cancel.h).  Call
 * lmi_jinja_output_fini in any case. */
enum lmd_status lmi_jinja_render(const struct lmi_jinja *t, const struct lmi_jinja_input *in,
				 struct lmi_jinja_output *out, struct lmd_error *err);
void lmi_jinja_output_fini(struct lmi_jinja_output *out);

#endif /* LLAMAD_CORE_JINJA_TEMPLATE_H */
