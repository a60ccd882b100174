/* SPDX-License-Identifier: MIT
 *
 * Growing strings.
 *
 * The string that was made last is often the next to grow (in a template that appends to a
 * variable), so appending checks whether the string ends where the free memory of the run starts,
 * and then grows it in place. */
#include "core/jinja/str_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/jinja/origin_marks.h"
#include "core/jinja/run.h"

struct lmi_jinja_val lmi_jinja_str_copy(struct lmi_jinja_run *run, const char *s, size_t n)
{
	char *p = n <= LMI_JINJA_TEXT_MAX ? lmi_jinja_run_alloc_aligned(run, n, 1) : NULL;

	if (!p)
		return lmi_jinja_strn("", 0);
	memcpy(p, s, n);
	lmi_jinja_marks_copy(run->marks, p, s, n);
	return lmi_jinja_strn(p, n);
}

/* Makes room for `more` bytes after the n bytes of s, in a block of *cap bytes.  Returns NULL on
 * failure. */
static char *grow(struct lmi_jinja_run *run, char *s, size_t n, size_t *cap, size_t more)
{
	size_t want = n + more;
	char *p;

	if (want <= *cap)
		return s;
	if (want > LMI_JINJA_TEXT_MAX) {
		lmi_jinja_run_fail_status(run, LMD_NOMEM, "a string is longer than %u bytes",
					  LMI_JINJA_TEXT_MAX);
		return NULL;
	}
	want = want < LMI_JINJA_TEXT_MAX / 2 ? 2 * want : want;
	if (s && s + *cap == run->mem && want - *cap <= (size_t)(run->mem_end - run->mem)) {
		if (!lmi_jinja_run_alloc_aligned(run, want - *cap, 1))
			return NULL;
		*cap = want;
		return s;
	}
	p = lmi_jinja_run_alloc_aligned(run, want, 1);
	if (!p)
		return NULL;
	if (n) {
		memcpy(p, s, n);
		lmi_jinja_marks_copy(run->marks, p, s, n);
	}
	*cap = want;
	return p;
}

void lmi_jinja_buf_add(struct lmi_jinja_str_buf *b, const char *s, size_t n)
{
	char *p;

	if (!n || !lmi_jinja_run_step(b->run, n / 16))
		return;
	p = grow(b->run, b->s, b->n, &b->cap, n);
	if (!p)
		return;
	b->s = p;
	memcpy(p + b->n, s, n);
	lmi_jinja_marks_copy(b->run->marks, p + b->n, s, n);
	b->n += n;
}

/* The origin of a single character is unknown here, so it counts as coming from a variable. */
void lmi_jinja_buf_char(struct lmi_jinja_str_buf *b, uint32_t c)
{
	size_t from = b->n;
	char utf8[4];

	lmi_jinja_buf_add(b, utf8, lmi_utf8_put(utf8, c));
	if (b->n > from)
		lmi_jinja_marks_set(b->run->marks, b->s + from, b->n - from, false);
}

void lmi_jinja_buf_fill(struct lmi_jinja_str_buf *b, uint32_t c, uint64_t n)
{
	for (; n && !b->run->failed; n--) {
		if (!(n % 4096) && !lmi_jinja_run_step(b->run, 4096 / 16))
			return;
		lmi_jinja_buf_char(b, c);
	}
}

void lmi_jinja_buf_printf(struct lmi_jinja_str_buf *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		lmi_jinja_buf_add(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

struct lmi_jinja_val lmi_jinja_buf_done(struct lmi_jinja_str_buf *b)
{
	struct lmi_jinja_run *run = b->run;

	/* returns unused memory if nothing was allocated after it */
	if (b->s && b->s + b->cap == run->mem)
		run->mem = b->s + b->n;
	return lmi_jinja_strn(b->s ? b->s : "", b->n);
}

struct lmi_jinja_val lmi_jinja_str_concat(struct lmi_jinja_run *run, struct lmi_jinja_val a,
					  struct lmi_jinja_val b)
{
	char *p;

	if (!b.n)
		return a;
	if (!a.n)
		return b;
	if (!lmi_jinja_run_step(run, b.n / 16))
		return a;
	if ((uint64_t)a.n + b.n > LMI_JINJA_TEXT_MAX) {
		lmi_jinja_run_fail_status(run, LMD_NOMEM, "a string is longer than %u bytes",
					  LMI_JINJA_TEXT_MAX);
		return a;
	}
	if (a.u.s + a.n == run->mem && b.n <= (size_t)(run->mem_end - run->mem)) {
		p = lmi_jinja_run_alloc_aligned(run, b.n, 1);
		if (!p)
			return a;
		memcpy(p, b.u.s, b.n);
		lmi_jinja_marks_copy(run->marks, p, b.u.s, b.n);
		return lmi_jinja_strn(a.u.s, (size_t)a.n + b.n);
	}
	if (!lmi_jinja_run_step(run, a.n / 16))
		return a;
	p = lmi_jinja_run_alloc_aligned(run, (size_t)a.n + b.n, 1);
	if (!p)
		return a;
	memcpy(p, a.u.s, a.n);
	memcpy(p + a.n, b.u.s, b.n);
	lmi_jinja_marks_copy(run->marks, p, a.u.s, a.n);
	lmi_jinja_marks_copy(run->marks, p + a.n, b.u.s, b.n);
	return lmi_jinja_strn(p, (size_t)a.n + b.n);
}
