/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing, at most two thirds full. */
#include "core/base/strmap.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/bytes.h"

struct lmi_strmap_slot {
	const char *name;
	uint32_t value, tag; /* tag: low half of the hash */
};

static uint64_t rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

/* SipHash-1-3: one round per word and three at the end (Aumasson and Bernstein, 2012). */
static uint64_t sip13(const uint64_t key[2], const char *s, size_t len)
{
	uint64_t v[4] = {key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du,
			 key[0] ^ 0x6C7967656E657261u, key[1] ^ 0x7465646279746573u};
	uint8_t last[8] = {0};
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t w = lmi_get_le64(s + i);

		v[3] ^= w;
		sip_round(v);
		v[0] ^= w;
	}
	memcpy(last, s + i, len - i);
	last[7] = (uint8_t)len;
	v[3] ^= lmi_get_le64(last);
	sip_round(v);
	v[0] ^= lmi_get_le64(last);
	v[2] ^= 0xFF;
	for (i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

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
	uint64_t h = sip13(m->key, name, strlen(name));
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
