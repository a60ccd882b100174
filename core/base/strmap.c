/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing, at most two thirds full. */
#include "core/base/strmap.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/siphash.h"

struct lmi_strmap_slot {
	const char *name;
	uint32_t value, tag; /* tag: low half of the hash */
};

bool lmi_strmap_init(struct lmi_strmap *m, struct lmd_arena *a, uint32_t n_max)
{
	uint32_t n = 4;

	*m = (struct lmi_strmap){0};
	if (n_max > 1u << 28)
		return false;
	while (n / 3 * 2 < n_max + 1)
		n *= 2;
	if (getrandom(m->key, sizeof(m->key), GRND_NONBLOCK) != sizeof(m->key)) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		m->key[0] = (uint64_t)t.tv_nsec;
		m->key[1] = (uintptr_t)&t;
	}
	m->slots = lmi_arena_array(a, n, sizeof(*m->slots));
	m->mask = n - 1;
	return m->slots != NULL;
}

/* Returns the slot of a name, or the free slot where it belongs. */
static struct lmi_strmap_slot *slot_of(const struct lmi_strmap *m, const char *name, uint32_t *tag)
{
	uint64_t h = lmi_siphash(m->key, name, strlen(name));
	uint32_t i = (uint32_t)(h >> 32) & m->mask;

	*tag = (uint32_t)h;
	while (m->slots[i].name && (m->slots[i].tag != *tag || strcmp(m->slots[i].name, name) != 0))
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

bool lmi_strmap_add(struct lmi_strmap *m, const char *name, uint32_t value)
{
	uint32_t tag;
	struct lmi_strmap_slot *s = slot_of(m, name, &tag);

	if (s->name)
		return false;
	*s = (struct lmi_strmap_slot){.name = name, .value = value, .tag = tag};
	return true;
}

bool lmi_strmap_find(const struct lmi_strmap *m, const char *name, uint32_t *value)
{
	const struct lmi_strmap_slot *s;
	uint32_t tag;

	if (!m->slots)
		return false;
	s = slot_of(m, name, &tag);
	if (!s->name)
		return false;
	*value = s->value;
	return true;
}
