/* SPDX-License-Identifier: MIT
 *
 * A short sorted array: the line that is due last is the first. */
#include "daemon/http/openai/batch_wait.h"

#include <string.h>

#define FIRST_MS  1000u
#define LONGEST_MS (60u * 1000)

uint32_t lmi_openai_batch_wait_ms(uint32_t n_refused, uint32_t retry_ms)
{
	uint32_t ms = retry_ms;

	if (!ms) {
		ms = FIRST_MS;
		for (uint32_t i = 1; i < n_refused && ms < LONGEST_MS; i++)
			ms *= 2;
		if (ms > LONGEST_MS)
			ms = LONGEST_MS;
	}
	return ms < LMI_OPENAI_BATCH_WAIT_MIN_MS   ? LMI_OPENAI_BATCH_WAIT_MIN_MS
	       : ms > LMI_OPENAI_BATCH_WAIT_MAX_MS ? LMI_OPENAI_BATCH_WAIT_MAX_MS
						   : ms;
}

static bool is_later(const struct lmi_openai_batch_waiting *a, const struct lmi_openai_batch_waiting *b)
{
	return a->due_ms != b->due_ms ? a->due_ms > b->due_ms : a->line > b->line;
}

bool lmi_openai_batch_wait_add(struct lmi_openai_batch_wait *w,
			       const struct lmi_openai_batch_waiting *line)
{
	uint32_t i = w->n;

	if (w->n >= LMI_OPENAI_BATCH_WAITING)
		return false;
	while (i && is_later(line, &w->v[i - 1]))
		i--;
	memmove(&w->v[i + 1], &w->v[i], (w->n - i) * sizeof(w->v[0]));
	w->v[i] = *line;
	w->n++;
	return true;
}

bool lmi_openai_batch_wait_take(struct lmi_openai_batch_wait *w, uint64_t now_ms,
				struct lmi_openai_batch_waiting *out)
{
	if (!w->n || w->v[w->n - 1].due_ms > now_ms)
		return false;
	*out = w->v[--w->n];
	return true;
}

uint64_t lmi_openai_batch_wait_next(const struct lmi_openai_batch_wait *w, uint64_t now_ms)
{
	uint64_t due_ms;

	if (!w->n)
		return UINT64_MAX;
	due_ms = w->v[w->n - 1].due_ms;
	return due_ms > now_ms ? due_ms - now_ms : 0;
}
