/* SPDX-License-Identifier: MIT */
#include "client/llamactl/input_texts.h"

#include <stdlib.h>
#include <string.h>

#include "client/llamactl/prompt_input.h"
#include "core/base/alloc.h"

void lmi_ctl_texts_fini(struct lmi_ctl_texts *t)
{
	lmi_free(t->v);
	free(t->own);
}

static enum lmd_status take_arguments(struct lmi_ctl_texts *t, const struct lmi_args *a,
				      uint32_t first, struct lmd_error *err)
{
	uint32_t n = a->n_pos - first;

	t->v = lmi_alloc(n, sizeof(*t->v));
	if (!t->v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u texts", n);
	for (; t->n < n; t->n++) {
		const char *s = lmi_arg_pos(a, t->n + first);

		t->v[t->n] = (struct lmd_str){.ptr = s, .len = strlen(s)};
	}
	return LMD_OK;
}

static enum lmd_status take_lines(struct lmi_ctl_texts *t, struct lmd_error *err)
{
	size_t n, lines = 1;
	const char *text, *end;
	enum lmd_status st = lmi_ctl_read_prompt(NULL, &text, &n, &t->own, err);

	if (st != LMD_OK)
		return st;
	end = text + n;
	for (const char *p = text; p < end; p++)
		lines += *p == '\n';
	t->v = lmi_alloc(lines, sizeof(*t->v));
	if (!t->v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu texts", lines);
	for (const char *p = text; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		if (stop > p)
			t->v[t->n++] = (struct lmd_str){.ptr = p, .len = (size_t)(stop - p)};
		p = stop + 1;
	}
	return t->n ? LMD_OK : lmd_fail(err, LMD_INVALID, "standard input has no text");
}

enum lmd_status lmi_ctl_texts_read(struct lmi_ctl_texts *t, const struct lmi_args *a, uint32_t first,
				   struct lmd_error *err)
{
	return a->n_pos > first ? take_arguments(t, a, first, err) : take_lines(t, err);
}
