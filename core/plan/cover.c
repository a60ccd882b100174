/* SPDX-License-Identifier: MIT
 *
 * The set of columns of a value that have been written: sorted spans that do not touch.  Most
 * values have one span. */
#include "core/plan/plan_priv.h"

#include <string.h>

#include "core/base/alloc.h"

/* Returns the index of the first span that ends after column a. */
static uint32_t find(const struct lmi_spans *s, uint32_t a)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].b <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool lmi_spans_has(const struct lmi_spans *s, uint32_t a, uint32_t b)
{
	uint32_t i = find(s, a);

	return i < s->n && s->v[i].a <= a && b <= s->v[i].b;
}

enum lmi_cover lmi_spans_add(struct lmi_spans *s, uint32_t a, uint32_t b)
{
	uint32_t i = find(s, a);
	bool left = i > 0 && s->v[i - 1].b == a;
	bool right = i < s->n && s->v[i].a == b;

	if (i < s->n && s->v[i].a < b)
		return LMI_COVER_CLASH;
	if (left && right) {
		s->v[i - 1].b = s->v[i].b;
		memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof(*s->v));
		s->n--;
	} else if (left) {
		s->v[i - 1].b = b;
	} else if (right) {
		s->v[i].a = a;
	} else {
		if (s->n == s->cap) {
			uint32_t cap = s->cap ? s->cap * 2 : 2;
			struct lmi_span *v = lmi_realloc(s->v, cap, sizeof(*v));

			if (!v)
				return LMI_COVER_NOMEM;
			s->v = v;
			s->cap = cap;
		}
		memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof(*s->v));
		s->v[i] = (struct lmi_span){a, b};
		s->n++;
	}
	return LMI_COVER_OK;
}
