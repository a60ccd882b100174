/* SPDX-License-Identifier: MIT */
#include "core/text/detok.h"

#include <string.h>

void lmi_detok_init(struct lmi_detok *d, const struct lmi_tokenizer *t, uint32_t flags)
{
	memset(d, 0, sizeof(*d));
	d->t = t;
	d->flags = flags;
}

void lmi_detok_set_visible(struct lmi_detok *d, const lmd_token *ids, size_t n)
{
	d->shown = ids;
	d->n_shown = n;
}

bool lmi_detok_is_visible(const struct lmi_detok *d, lmd_token id)
{
	size_t lo = 0, hi = d->n_shown;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (d->shown[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return d->flags & LMD_DECODE_UNPARSE_SPECIAL || (lo < d->n_shown && d->shown[lo] == id);
}

size_t lmi_detok_max_bytes(const struct lmi_tokenizer *t)
{
	return (size_t)lmi_tokenizer_info(t)->max_piece_bytes + 3;
}

/* Whether `c` may be the second byte after this lead byte.  Excludes overlong forms, surrogates and
 * values above U+10FFFF. */
static bool second_fits(unsigned char lead, unsigned char c)
{
	unsigned char lo = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	unsigned char hi = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;

	return c >= lo && c <= hi;
}

size_t lmi_text_utf8_incomplete_tail(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];
		size_t want = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : 2;

		if ((c & 0xc0) == 0x80)
			continue;
		if (c < 0xc2 || c > 0xf4 || want <= back)
			return 0;
		if (back > 1 && !second_fits(c, (unsigned char)s[n - back + 1]))
			return 0;
		return back;
	}
	return 0;
}

size_t lmi_detok_feed(struct lmi_detok *d, lmd_token id, char *out)
{
	size_t held = d->n_held, n, cap = lmi_tokenizer_info(d->t)->max_piece_bytes;
	char *piece = out + held;

	memcpy(out, d->held, held);
	n = lmi_tokenizer_piece(
		d->t, id, lmi_detok_is_visible(d, id) ? LMD_DECODE_UNPARSE_SPECIAL : 0, piece, cap);
	if (n > cap)
		n = cap; /* the plugin understated max_piece_bytes */
	if (d->flags & LMI_DETOK_STRIP_LEADING_SPACE) {
		d->flags &= ~LMI_DETOK_STRIP_LEADING_SPACE;
		if (n && piece[0] == ' ' && lmi_tokenizer_info(d->t)->add_space_prefix)
			memmove(piece, piece + 1, --n);
	}
	n += held;
	d->n_held = (uint32_t)lmi_text_utf8_incomplete_tail(out, n);
	n -= d->n_held;
	memcpy(d->held, out + n, d->n_held);
	return n;
}

size_t lmi_detok_flush(struct lmi_detok *d, char *out)
{
	size_t n = d->n_held;

	memcpy(out, d->held, n);
	d->n_held = 0;
	return n;
}
