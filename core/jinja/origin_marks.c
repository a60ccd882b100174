/* SPDX-License-Identifier: MIT
 *
 * Pieces are sorted by address, so that the piece of a string is found by binary search. */
#include "core/jinja/origin_marks.h"

#include <string.h>

#include "core/base/alloc.h"

struct piece {
	char *p;
	size_t bytes;
};

struct lmi_jinja_origin_marks {
	struct piece *v;
	uint32_t n, cap;
	uint8_t *out; /* marks of the output */
};

struct lmi_jinja_origin_marks *lmi_jinja_marks_create(void)
{
	return lmi_alloc(1, sizeof(struct lmi_jinja_origin_marks));
}

void lmi_jinja_marks_destroy(struct lmi_jinja_origin_marks *m)
{
	if (!m)
		return;
	lmi_free(m->v);
	lmi_free(m->out);
	lmi_free(m);
}

/* Number of pieces that start at or before p. */
static uint32_t before(const struct lmi_jinja_origin_marks *m, const char *p)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if ((uintptr_t)m->v[mid].p <= (uintptr_t)p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool lmi_jinja_marks_piece(struct lmi_jinja_origin_marks *m, char *p, size_t bytes)
{
	uint32_t at;

	if (m->n == m->cap) {
		uint32_t cap = m->cap ? 2 * m->cap : 16;
		struct piece *v = lmi_realloc(m->v, cap, sizeof(*v));

		if (!v)
			return false;
		m->v = v;
		m->cap = cap;
	}
	at = before(m, p);
	memmove(m->v + at + 1, m->v + at, (m->n - at) * sizeof(*m->v));
	m->v[at] = (struct piece){.p = p, .bytes = bytes};
	m->n++;
	return true;
}

/* The marks of a string; NULL if it is not in any piece. */
static uint8_t *marks_of(const struct lmi_jinja_origin_marks *m, const char *s)
{
	uint32_t i = before(m, s);
	const struct piece *v = i ? &m->v[i - 1] : NULL;

	if (!v || (uintptr_t)s - (uintptr_t)v->p >= v->bytes)
		return NULL;
	return (uint8_t *)v->p + v->bytes + (s - v->p);
}

void lmi_jinja_marks_copy_in(struct lmi_jinja_origin_marks *m, const char *dst, const char *src,
			     size_t n)
{
	uint8_t *to = n ? marks_of(m, dst) : NULL;
	const uint8_t *from = to ? marks_of(m, src) : NULL;

	if (from)
		memmove(to, from, n);
	else if (to)
		memset(to, 1, n);
}

void lmi_jinja_marks_set(struct lmi_jinja_origin_marks *m, const char *dst, size_t n,
			 bool from_template)
{
	uint8_t *to = m && n ? marks_of(m, dst) : NULL;

	if (to)
		memset(to, from_template, n);
}

bool lmi_jinja_marks_reserve_output(struct lmi_jinja_origin_marks *m, size_t cap)
{
	uint8_t *p = m ? lmi_realloc(m->out, cap, 1) : NULL;

	if (!m)
		return true;
	if (p)
		m->out = p;
	return p != NULL;
}

void lmi_jinja_marks_to_out(struct lmi_jinja_origin_marks *m, size_t at, const char *src, size_t n)
{
	const uint8_t *from = m ? marks_of(m, src) : NULL;

	if (!m)
		return;
	if (from)
		memcpy(m->out + at, from, n);
	else
		memset(m->out + at, 1, n);
}

void lmi_jinja_marks_from_out(struct lmi_jinja_origin_marks *m, size_t at, const char *dst,
			      size_t n)
{
	uint8_t *to = m && n ? marks_of(m, dst) : NULL;

	if (to)
		memcpy(to, m->out + at, n);
}

uint8_t *lmi_jinja_marks_take_output(struct lmi_jinja_origin_marks *m)
{
	uint8_t *out = m ? m->out : NULL;

	if (m)
		m->out = NULL;
	return out;
}
