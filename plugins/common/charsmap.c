/* SPDX-License-Identifier: MIT */
#include "common/charsmap.h"

#include <string.h>

static uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum lmd_status tok_charsmap_open(struct tok_charsmap *m, struct lmd_str blob,
				  struct lmd_error *err)
{
	uint32_t bytes;

	memset(m, 0, sizeof(*m));
	if (!blob.ptr || !blob.len)
		return LMD_OK;
	if (blob.len < 4)
		return lmd_fail(err, LMD_CORRUPT, "precompiled_charsmap: %zu bytes, at least 4",
				blob.len);
	bytes = le32((const unsigned char *)blob.ptr);
	if (bytes >= blob.len - 4 || bytes % 4)
		return lmd_fail(err, LMD_CORRUPT,
				"precompiled_charsmap: array of %u bytes in %zu bytes of data",
				bytes, blob.len);
	m->unit = (const unsigned char *)blob.ptr + 4;
	m->n_unit = bytes / 4;
	m->text = blob.ptr + 4 + bytes;
	m->n_text = blob.len - 4 - bytes;
	return LMD_OK;
}

static inline uint32_t offset_of(uint32_t unit)
{
	return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

static size_t find(const struct tok_charsmap *m, const char *s, size_t n, bool shortest,
		   struct lmd_str *with)
{
	size_t node, len = 0, at = 0;

	if (!m->n_unit)
		return 0;
	if (n > TOK_CHARSMAP_DEPTH)
		n = TOK_CHARSMAP_DEPTH;
	node = offset_of(le32(m->unit));
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		uint32_t unit;

		node ^= c;
		if (!c || node >= m->n_unit)
			break;
		unit = le32(m->unit + 4 * node);
		if ((unit & (1u << 31 | 0xff)) != c)
			break;
		node ^= offset_of(unit);
		if (unit & 1u << 8) {
			if (node >= m->n_unit)
				break;
			len = i + 1;
			at = le32(m->unit + 4 * node) & ~(1u << 31);
			if (shortest)
				break;
		}
	}
	if (!len || at >= m->n_text || !memchr(m->text + at, 0, m->n_text - at))
		return 0;
	with->ptr = m->text + at;
	with->len = strlen(m->text + at);
	return len;
}

size_t tok_charsmap_find(const struct tok_charsmap *m, const char *s, size_t n,
			 struct lmd_str *with)
{
	return find(m, s, n, false, with);
}

size_t tok_charsmap_first(const struct tok_charsmap *m, const char *s, size_t n,
			  struct lmd_str *with)
{
	return find(m, s, n, true, with);
}
