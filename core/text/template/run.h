/* SPDX-License-Identifier: MIT
 *
 * run.h - one rendering of a template: its bounds, its memory, its output, and what failed.
 *
 * Failure is sticky: the first failure is kept in the run, every function still returns
 * a harmless value, and every loop stops.  So callers need not check each call, only
 * before they do something that lasts, and loops by lmi_run_step. */
#ifndef LLAMAD_TEMPLATE_RUN_H
#define LLAMAD_TEMPLATE_RUN_H

#include "core/text/template/value.h"

struct lmi_marks;
struct lmi_scope;

/* What failed, and where. */
struct lmi_failure {
	enum lmd_status status;
	uint32_t line;
	char text[LMD_ERROR_TEXT];
	const char *raised;   /* text of raise_exception, or NULL */
	size_t raised_bytes;
};

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
/* Memory aligned to `align`, a power of two up to 16.  With 1 there is nothing between the front of
 * the free memory, run->mem, and it, unless a new piece had to be taken.  NULL: failed. */
void *lmi_run_take(struct lmi_run *run, size_t bytes, size_t align);

/* Counts nesting; false (failed) beyond the bound, and then no leave. */
bool lmi_run_enter(struct lmi_run *run);
void lmi_run_leave(struct lmi_run *run);

#endif /* LLAMAD_TEMPLATE_RUN_H */
