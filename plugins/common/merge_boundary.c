/* SPDX-License-Identifier: MIT
 *
 * Two bit sets. Pairs of characters are entered by a hash of both; a collision only hides a
 * boundary. Merges with parts that are not whole characters are rare; for them the two bytes
 * beside the place suffice. */
#include "common/merge_boundary.h"

#include "common/string_map.h"
#include "common/unicode.h"

#define JOINT_BITS  19
#define BROKEN_BITS 16

bool tok_merge_boundaries_init(struct tok_merge_boundaries *s, const struct lmd_host *host)
{
	s->joint = tok_host_array(host, (1u << JOINT_BITS) / 8, 1);
	s->broken = tok_host_array(host, (1u << BROKEN_BITS) / 8, 1);
	if (s->joint && s->broken)
		return true;
	tok_merge_boundaries_fini(s, host);
	return false;
}

void tok_merge_boundaries_fini(struct tok_merge_boundaries *s, const struct lmd_host *host)
{
	tok_host_free(host, s->joint);
	tok_host_free(host, s->broken);
	s->joint = s->broken = NULL;
}

static inline bool has(const uint8_t *bits, uint32_t i)
{
	return bits[i >> 3] >> (i & 7) & 1;
}

static inline uint32_t joint_bit(uint32_t a, uint32_t b)
{
	return (uint32_t)(tok_mix((uint64_t)a << 32 | b, 0xa0761d6478bd642full) >> 7) &
	       ((1u << JOINT_BITS) - 1);
}

static inline uint32_t broken_bit(unsigned char last, unsigned char first)
{
	return (uint32_t)last << 8 | first;
}

static inline bool is_continuation_byte(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Returns the bytes of the character at p as a number, or 0 if it does not end before `end`. */
static inline uint32_t char_at(const unsigned char *p, const unsigned char *end)
{
	size_t n = tok_utf8_len(*p);
	uint32_t c = *p;

	if ((size_t)(end - p) < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		c = c << 8 | p[i];
	return c;
}

/* Returns the bytes of the character that ends at p as a number, or 0 if there is none between
 * `begin` and p. */
static uint32_t char_before(const unsigned char *p, const unsigned char *begin)
{
	const unsigned char *q = p;

	do {
		if (q == begin || p - q == 4)
			return 0;
	} while (is_continuation_byte(*--q));
	return tok_utf8_len(*q) == (size_t)(p - q) ? char_at(q, p) : 0;
}

void tok_merge_boundaries_add(struct tok_merge_boundaries *s, const char *left, size_t n_left,
			      const char *right, size_t n_right)
{
	const unsigned char *l = (const unsigned char *)left, *r = (const unsigned char *)right;
	unsigned char last = l[n_left - 1];
	uint32_t a, b, i;

	if ((last | *r) < 0x80 ||
	    is_continuation_byte(*r)) /* a continuation byte: inside a character */
		return;
	a = char_before(l + n_left, l);
	b = char_at(r, r + n_right);
	if (a && b) {
		i = joint_bit(a, b);
		s->joint[i >> 3] |= (uint8_t)(1u << (i & 7));
	} else {
		i = broken_bit(last, *r);
		s->broken[i >> 3] |= (uint8_t)(1u << (i & 7));
	}
}

const char *tok_merge_boundary_next(const struct tok_merge_boundaries *s, const char *at,
				    const char *end)
{
	const unsigned char *p = (const unsigned char *)at, *stop = (const unsigned char *)end;
	uint32_t a = 0, b;

	if (!s->joint)
		return end;
	while (p < stop) {
		b = char_at(p, stop);
		if (!b)
			break;
		if (a && (a | b) >= 0x80 && !has(s->broken, broken_bit((unsigned char)a, *p)) &&
		    !has(s->joint, joint_bit(a, b)))
			return (const char *)p;
		a = b;
		p += tok_utf8_len(*p);
	}
	return end;
}
