/* SPDX-License-Identifier: MIT
 *
 * Arena of chained blocks, each twice the size of the previous one up to 1 MiB; a larger request
 * gets a block of its own. The first block of the chain is the one with free space.
 * lmi_arena_destroy frees everything. */
#include "core/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"

#define FIRST_BLOCK 4096u
#define LAST_BLOCK  (1u << 20)

struct block {
	struct block *next;
	size_t used, size;
	char pad[40]; /* makes the data start 64-aligned */
};
_Static_assert(sizeof(struct block) == 64, "data after the head is aligned to 64");

struct lmd_arena {
	struct block *head;
	uint64_t used, limit;
	size_t next_size;
};

struct lmd_arena *lmi_arena_create(uint64_t limit_bytes)
{
	struct lmd_arena *a = lmi_alloc(1, sizeof(*a));

	if (a) {
		a->limit = limit_bytes ? limit_bytes : 1ull << 30;
		a->next_size = FIRST_BLOCK;
	}
	return a;
}

void lmi_arena_destroy(struct lmd_arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->head, *next; b; b = next) {
		next = b->next;
		lmi_free(b);
	}
	lmi_free(a);
}

void *lmi_arena_alloc(struct lmd_arena *a, size_t bytes, size_t align)
{
	struct block *b = a->head;
	uint64_t at = 0, total;

	if (!bytes || !lmi_add_ok(a->used, bytes, &total) || total > a->limit)
		return NULL;
	if (b && (!lmi_align_ok(b->used, align, &at) || at > b->size || bytes > b->size - at))
		b = NULL;
	if (!b) {
		size_t size = bytes > a->next_size ? bytes : a->next_size;

		b = lmi_alloc(sizeof(*b) + size, 1);
		if (!b)
			return NULL;
		b->size = size;
		if (a->head && bytes > a->next_size) {
			/* already full: link it after the current block, which stays in use */
			b->next = a->head->next;
			a->head->next = b;
		} else {
			b->next = a->head;
			a->head = b;
			if (a->next_size < LAST_BLOCK)
				a->next_size *= 2;
		}
		at = 0;
	}
	b->used = at + bytes;
	a->used = total;
	return (char *)(b + 1) + at;
}

void *lmi_arena_array(struct lmd_arena *a, size_t n, size_t item_bytes)
{
	uint64_t bytes;

	return lmi_mul_ok(n, item_bytes, &bytes) ? lmi_arena_alloc(a, bytes, 16) : NULL;
}

char *lmi_arena_strndup(struct lmd_arena *a, const char *s, size_t n)
{
	char *p = n < SIZE_MAX ? lmi_arena_alloc(a, n + 1, 1) : NULL;

	if (p)
		memcpy(p, s, n);
	return p;
}

char *lmi_arena_printf(struct lmd_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n >= 0 ? lmi_arena_alloc(a, (size_t)n + 1, 1) : NULL;
	if (p) {
		va_start(ap, fmt);
		(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	return p;
}

uint64_t lmi_arena_used(const struct lmd_arena *a)
{
	return a->used;
}
