/* SPDX-License-Identifier: MIT
 *
 * Categories and simple case mappings come from utf8proc, the rest from casing.gen.h. */
#include "core/unicode/unicode.h"

#include <utf8proc.h>

#include "core/base/utf8.h"
#include "core/unicode/casing.gen.h"
#include "llamad/attr.h"

uint32_t lmi_unicode_next(const char *s, size_t n, size_t *at)
{
	uint32_t c = lmi_utf8_next(s, n, at);

	return c == LMI_UTF8_BAD ? 0xfffd : c;
}

uint32_t lmi_unicode_prev(const char *s, size_t *at)
{
	size_t from = *at - 1, i;
	uint32_t c;

	while (from && *at - from < 4 && ((unsigned char)s[from] & 0xc0) == 0x80)
		from--;
	i = from;
	c = lmi_unicode_next(s, *at, &i);
	if (i != *at) { /* stray continuation bytes */
		from = *at - 1;
		c = 0xfffd;
	}
	*at = from;
	return c;
}

size_t lmi_unicode_count(const char *s, size_t n)
{
	size_t k = 0;

	for (size_t at = 0; at < n; k++)
		(void)lmi_unicode_next(s, n, &at);
	return k;
}

size_t lmi_unicode_offset(const char *s, size_t n, size_t k)
{
	size_t at = 0;

	while (k-- && at < n)
		(void)lmi_unicode_next(s, n, &at);
	return at;
}

unsigned lmi_unicode_columns(uint32_t c)
{
	return (unsigned)utf8proc_charwidth((utf8proc_int32_t)c);
}

static utf8proc_category_t category(uint32_t c)
{
	return utf8proc_category((utf8proc_int32_t)c);
}

static bool in_ranges(const uint32_t (*r)[2], size_t n, uint32_t c)
{
	for (size_t i = 0; i < n && r[i][0] <= c; i++) {
		if (c <= r[i][1])
			return true;
	}
	return false;
}

bool lmi_unicode_space(uint32_t c)
{
	return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
	       (c >= 0xa0 && (category(c) == UTF8PROC_CATEGORY_ZS || c == 0x2028 || c == 0x2029));
}

bool lmi_unicode_newline(uint32_t c)
{
	return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
	       c == 0x2029;
}

bool lmi_unicode_alpha(uint32_t c)
{
	utf8proc_category_t cat = category(c);

	return cat >= UTF8PROC_CATEGORY_LU && cat <= UTF8PROC_CATEGORY_LO;
}

bool lmi_unicode_decimal(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_ND;
}

bool lmi_unicode_digit(uint32_t c)
{
	return lmi_unicode_decimal(c) || in_ranges(digit_extra, LMD_LEN(digit_extra), c);
}

bool lmi_unicode_numeric(uint32_t c)
{
	utf8proc_category_t cat = category(c);

	return (cat >= UTF8PROC_CATEGORY_ND && cat <= UTF8PROC_CATEGORY_NO) ||
	       in_ranges(numeric_extra, LMD_LEN(numeric_extra), c);
}

bool lmi_unicode_upper(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_LU ||
	       in_ranges(upper_extra, LMD_LEN(upper_extra), c);
}

bool lmi_unicode_lower(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_LL ||
	       in_ranges(lower_extra, LMD_LEN(lower_extra), c);
}

bool lmi_unicode_title(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_LT;
}

bool lmi_unicode_cased(uint32_t c)
{
	return lmi_unicode_upper(c) || lmi_unicode_lower(c) || lmi_unicode_title(c);
}

bool lmi_unicode_printable(uint32_t c)
{
	switch (category(c)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CO:
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return false;
	case UTF8PROC_CATEGORY_ZS:
		return c == ' ';
	default: /* every other category of utf8proc is printable */
		return true;
	}
}

bool lmi_unicode_word(uint32_t c)
{
	return c == '_' || lmi_unicode_alpha(c) || lmi_unicode_numeric(c);
}

bool lmi_unicode_ident(uint32_t c, bool first)
{
	utf8proc_category_t cat = category(c);

	if (c == '_' || lmi_unicode_alpha(c) || cat == UTF8PROC_CATEGORY_NL)
		return true;
	return !first && (cat == UTF8PROC_CATEGORY_MN || cat == UTF8PROC_CATEGORY_MC ||
			  cat == UTF8PROC_CATEGORY_ND || cat == UTF8PROC_CATEGORY_PC);
}

static const struct lmi_unicode_casing *find(const struct lmi_unicode_casing *t, size_t n,
					     uint32_t c)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t[mid].from < c)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && t[lo].from == c ? &t[lo] : NULL;
}

/* Simple case folding: the lower case of the upper case, except for the Cherokee letters, which
 * fold to upper case. */
static uint32_t fold(uint32_t c)
{
	if ((c >= 0x13a0 && c <= 0x13f5) || c == 0x131 || c == 0x130)
		return c;
	if (c >= 0xab70 && c <= 0xabbf)
		return c - 0xab70 + 0x13a0;
	if (c >= 0x13f8 && c <= 0x13fd)
		return c - 8;
	return (uint32_t)utf8proc_tolower(utf8proc_toupper((utf8proc_int32_t)c));
}

int lmi_unicode_map(enum lmi_unicode_case to, uint32_t c, uint32_t out[3])
{
	const struct lmi_unicode_casing *m = NULL;
	int n = 0;

	switch (to) {
	case LMI_UNICODE_CASE_UPPER:
		m = find(casing_upper, LMD_LEN(casing_upper), c);
		out[0] = (uint32_t)utf8proc_toupper((utf8proc_int32_t)c);
		break;
	case LMI_UNICODE_CASE_TITLE:
		m = find(casing_title, LMD_LEN(casing_title), c);
		out[0] = (uint32_t)utf8proc_totitle((utf8proc_int32_t)c);
		break;
	case LMI_UNICODE_CASE_FOLD:
		m = find(casing_fold, LMD_LEN(casing_fold), c);
		out[0] = fold(c);
		break;
	case LMI_UNICODE_CASE_LOWER:
		out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
		if (c == 0x130) { /* the only character whose lower case is two characters */
			out[0] = 'i';
			out[1] = 0x307;
			return 2;
		}
		break;
	}
	if (!m)
		return 1;
	for (; n < 3 && m->to[n]; n++)
		out[n] = m->to[n];
	return n;
}
