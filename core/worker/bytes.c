/* SPDX-License-Identifier: MIT */
#include "core/worker/bytes.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void lmi_worker_out_reset(struct lmi_worker_out *o)
{
	o->n = 0;
	o->failed = false;
}

void lmi_worker_out_fini(struct lmi_worker_out *o)
{
	lmi_free(o->p);
	*o = (struct lmi_worker_out){0};
}

void *lmi_worker_out_put(struct lmi_worker_out *o, const void *p, size_t n)
{
	size_t need = n < SIZE_MAX / 4 ? o->n + padded(n) : SIZE_MAX / 4, cap = o->cap;
	char *at;

	if (o->failed)
		return NULL;
	if (need > cap) {
		cap = need > SIZE_MAX / 8 ? need : 2 * need + 256;
		at = lmi_realloc(o->p, cap, 1);
		o->failed = !at;
		if (!at)
			return NULL;
		o->p = at;
		o->cap = cap;
	}
	at = o->p + o->n;
	memset(at, 0, padded(n));
	if (p && n)
		memcpy(at, p, n);
	o->n = need;
	return at;
}

void lmi_worker_out_u64(struct lmi_worker_out *o, uint64_t v)
{
	(void)lmi_worker_out_put(o, &v, sizeof(v));
}

void lmi_worker_out_text(struct lmi_worker_out *o, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	lmi_worker_out_u64(o, n);
	(void)lmi_worker_out_put(o, s, n);
}

const void *lmi_worker_in_get(struct lmi_worker_in *i, uint64_t n)
{
	const char *p = i->p + i->at;

	/* a message ends with the padding of its last item */
	if (i->failed || n > i->n - i->at || padded((size_t)n) > i->n - i->at) {
		i->failed = true;
		return NULL;
	}
	i->at += padded((size_t)n);
	return p;
}

void lmi_worker_in_read(struct lmi_worker_in *i, void *to, size_t n)
{
	const void *p = lmi_worker_in_get(i, n);

	memset(to, 0, n);
	if (p)
		memcpy(to, p, n);
}

uint64_t lmi_worker_in_u64(struct lmi_worker_in *i)
{
	uint64_t v;

	lmi_worker_in_read(i, &v, sizeof(v));
	return v;
}

void *lmi_worker_in_array(struct lmi_worker_in *i, struct lmd_arena *a, uint64_t n, size_t item)
{
	const void *p = n <= i->n / item ? lmi_worker_in_get(i, n * item) : NULL;
	void *to;

	if (!n)
		return NULL;
	to = p ? lmi_arena_array(a, (size_t)n, item) : NULL;
	if (to)
		memcpy(to, p, (size_t)n * item);
	else
		i->failed = true;
	return to;
}

const char *lmi_worker_in_text(struct lmi_worker_in *i, struct lmd_arena *a)
{
	uint64_t n = lmi_worker_in_u64(i);
	const char *p = lmi_worker_in_get(i, n);
	const char *s = p ? lmi_arena_strndup(a, p, (size_t)n) : NULL;

	i->failed |= !s;
	return s ? s : "";
}
