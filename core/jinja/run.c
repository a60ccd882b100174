/* SPDX-License-Identifier: MIT
 *
 * Limits and memory of a run.
 *
 * Memory is taken from the arena in pieces and allocated from their fronts. */
#include "core/jinja/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/cancel.h"
#include "core/jinja/origin_marks.h"

#define PIECE_BYTES (64u << 10)

bool lmi_jinja_run_step(struct lmi_jinja_run *run, uint64_t n)
{
	if (run->failed)
		return false;
	run->steps += n;
	if (!lmi_cancel_step(n)) {
		lmi_jinja_run_fail_status(run, LMD_CANCELLED, "rendering was cancelled");
		return false;
	}
	if (run->steps <= run->limits.steps)
		return true;
	lmi_jinja_run_fail_status(run, LMD_NOMEM, "rendering takes more than %llu steps",
				  (unsigned long long)run->limits.steps);
	return false;
}

static void fail(struct lmi_jinja_run *run, enum lmd_status st, const char *fmt, va_list ap)
{
	if (run->failed)
		return;
	run->failed = true;
	run->failure.status = st;
	run->failure.line = run->line;
	run->failure.raised = NULL;
	(void)vsnprintf(run->failure.text, sizeof(run->failure.text), fmt, ap);
}

void lmi_jinja_run_fail(struct lmi_jinja_run *run, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(run, LMD_INVALID, fmt, ap);
	va_end(ap);
}

void lmi_jinja_run_fail_status(struct lmi_jinja_run *run, enum lmd_status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(run, st, fmt, ap);
	va_end(ap);
}

bool lmi_jinja_run_enter(struct lmi_jinja_run *run)
{
	if (run->failed)
		return false;
	if (run->depth >= run->limits.depth) {
		lmi_jinja_run_fail_status(run, LMD_NOMEM, "nested deeper than %u levels",
					  run->limits.depth);
		return false;
	}
	run->depth++;
	return true;
}

void lmi_jinja_run_leave(struct lmi_jinja_run *run)
{
	run->depth--;
}

/* Takes a piece from the arena; returns NULL if the limit is reached. */
static char *take_piece(struct lmi_jinja_run *run, size_t bytes)
{
	char *p;

	if (!run->marks)
		return lmi_arena_alloc(run->arena, bytes, 16);
	p = lmi_arena_alloc(run->arena, 2 * bytes, 16);
	return p && lmi_jinja_marks_piece(run->marks, p, bytes) ? p : NULL;
}

void *lmi_jinja_run_alloc_aligned(struct lmi_jinja_run *run, size_t bytes, size_t align)
{
	size_t pad = (size_t) - (uintptr_t)run->mem & (align - 1);
	char *p;

	if (run->failed)
		return NULL;
	if ((size_t)(run->mem_end - run->mem) < pad ||
	    bytes > (size_t)(run->mem_end - run->mem) - pad) {
		size_t piece = bytes > PIECE_BYTES / 2 ? 2 * bytes : PIECE_BYTES;

		p = bytes <= SIZE_MAX / 8 ? take_piece(run, piece) : NULL;
		if (!p && bytes <= SIZE_MAX / 8) {
			piece = bytes;
			p = take_piece(run, piece);
		}
		if (!p) {
			lmi_jinja_run_fail_status(run, LMD_NOMEM,
						  "values take more than %llu bytes of memory",
						  (unsigned long long)run->limits.memory_bytes);
			return NULL;
		}
		run->mem = p;
		run->mem_end = p + piece;
		pad = 0;
	}
	p = run->mem + pad;
	run->mem = p + bytes;
	return p;
}

void *lmi_jinja_run_alloc(struct lmi_jinja_run *run, size_t bytes)
{
	return lmi_jinja_run_alloc_aligned(run, bytes, 16);
}
