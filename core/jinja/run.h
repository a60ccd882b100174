/* SPDX-License-Identifier: MIT
 *
 * run.h - one rendering of a template: its limits, memory, output and failure.
 *
 * Failures are sticky: the run records the first failure, every function still returns a harmless
 * value, and every loop stops.  Callers need not check each call, only before they do something
 * with a lasting effect; loops check with lmi_jinja_run_step. */
#ifndef LLAMAD_CORE_JINJA_RUN_H
#define LLAMAD_CORE_JINJA_RUN_H

#include "core/jinja/value.h"

struct lmi_jinja_origin_marks;
struct lmi_jinja_scope;

/* The reason and line of a failure. */
struct lmi_jinja_failure {
	enum lmd_status status;
	uint32_t line;
	char text[LMD_ERROR_TEXT];
	const char *raised;   /* argument of raise_exception, or NULL */
	size_t raised_bytes;
};

#define LMI_JINJA_RUN_RANGE_MAX 100000 /* maximum number of items of a range */

struct lmi_jinja_run {
	struct lmd_arena *arena;
	char *mem, *mem_end;  /* rest of the current piece of memory */
	struct lmi_jinja_limits limits;
	uint64_t steps;       /* number done */
	uint32_t depth;
	uint32_t line;        /* of the node being evaluated */
	bool autoescape;
	bool failed;
	struct lmi_jinja_failure failure;
	char *out;            /* output so far; nested captures are cut off at its end */
	size_t n_out, cap_out;
	struct lmi_jinja_origin_marks *marks; /* NULL if origin marks are not wanted */
	struct lmi_jinja_dict *vars;
	struct lmi_jinja_scope *globals;
	struct tm now;
	uint64_t n_random;    /* number of random draws so far */
	struct lmi_jinja_list nil_list; /* returned by a failed run; always empty */
	struct lmi_jinja_dict nil_dict;
};

/* Counts n steps: nodes evaluated, characters handled one by one, or bytes handled at once / 16.
 * Returns false if the run has failed, exceeds its limit or was cancelled (base/cancel.h). */
bool lmi_jinja_run_step(struct lmi_jinja_run *run, uint64_t n);

/* Fails the run with LMD_INVALID, unless it has failed already. */
void lmi_jinja_run_fail(struct lmi_jinja_run *run, const char *fmt, ...) LMD_PRINTF(2, 3);
void lmi_jinja_run_fail_status(struct lmi_jinja_run *run, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Allocates zeroed memory of the run; fails the run and returns NULL if the limit is exceeded. */
void *lmi_jinja_run_alloc(struct lmi_jinja_run *run, size_t bytes);
/* Allocates memory aligned to `align`, a power of two up to 16.  With align 1 the memory starts
 * exactly at run->mem, the front of the free memory, unless a new piece had to be taken.  Returns
 * NULL on failure. */
void *lmi_jinja_run_alloc_aligned(struct lmi_jinja_run *run, size_t bytes, size_t align);

/* Counts nesting.  Returns false (failed) beyond the limit; lmi_jinja_run_leave must then not be
 * called. */
bool lmi_jinja_run_enter(struct lmi_jinja_run *run);
void lmi_jinja_run_leave(struct lmi_jinja_run *run);

#endif /* LLAMAD_CORE_JINJA_RUN_H */
