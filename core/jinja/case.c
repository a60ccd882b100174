/* SPDX-License-Identifier: MIT
 *
 * String methods about case and character classes. */
#include "core/jinja/builtin.h"

#define CAPITAL_SIGMA 0x3a3
#define SMALL_SIGMA   0x3c3
#define FINAL_SIGMA   0x3c2

/* Whether c does not end a word: combining marks and certain signs. */
static bool case_ignorable(uint32_t c)
{
	return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xa8 ||
	       c == 0xad || c == 0xaf || c == 0xb4 || c == 0xb7 || c == 0xb8 || c == 0x2019 ||
	       (c >= 0x2b0 && c <= 0x36f);
}

/* Whether a capital sigma ends a word: a letter comes before it and none after it. */
static bool is_final(struct lmi_jinja_run *run, struct lmi_jinja_val v, size_t begin, size_t end)
{
	uint32_t c = 0;

	while (begin && lmi_jinja_run_step(run, 1)) {
		c = lmi_unicode_prev(v.u.s, &begin);
		if (!case_ignorable(c))
			break;
		c = 0;
	}
	if (!c || !lmi_unicode_cased(c))
		return false;
	while (end < v.n && lmi_jinja_run_step(run, 1)) {
		c = lmi_unicode_next(v.u.s, v.n, &end);
		if (!case_ignorable(c))
			return !lmi_unicode_cased(c);
	}
	return true;
}

static void put(struct lmi_jinja_str_buf *b, enum lmi_unicode_case to, uint32_t c)
{
	uint32_t out[3];
	int n = lmi_unicode_map(to, c, out);

	for (int i = 0; i < n; i++)
		lmi_jinja_buf_char(b, out[i]);
}

struct lmi_jinja_val lmi_jinja_str_case(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					enum lmi_jinja_str_case to)
{
	struct lmi_jinja_str_buf b = {.run = run};
	bool in_word = false;
	struct lmi_jinja_val out;

	for (size_t at = 0, from = 0; at < v.n && lmi_jinja_run_step(run, 1); from = at) {
		uint32_t c = lmi_unicode_next(v.u.s, v.n, &at);
		enum lmi_unicode_case one = LMI_UNICODE_CASE_LOWER;

		switch (to) {
		case LMI_JINJA_STR_UPPER:
			one = LMI_UNICODE_CASE_UPPER;
			break;
		case LMI_JINJA_STR_LOWER:
			break;
		case LMI_JINJA_STR_FOLD:
			one = LMI_UNICODE_CASE_FOLD;
			break;
		case LMI_JINJA_STR_TITLE:
			one = in_word ? LMI_UNICODE_CASE_LOWER : LMI_UNICODE_CASE_TITLE;
			break;
		case LMI_JINJA_STR_CAPITALIZE:
			one = from ? LMI_UNICODE_CASE_LOWER : LMI_UNICODE_CASE_TITLE;
			break;
		case LMI_JINJA_STR_SWAP:
			one = lmi_unicode_upper(c) ? LMI_UNICODE_CASE_LOWER
						   : LMI_UNICODE_CASE_UPPER;
			if (!lmi_unicode_upper(c) && !lmi_unicode_lower(c)) {
				lmi_jinja_buf_char(&b, c);
				continue;
			}
			break;
		}
		in_word = lmi_unicode_cased(c);
		if (c == CAPITAL_SIGMA && one == LMI_UNICODE_CASE_LOWER)
			lmi_jinja_buf_char(&b, is_final(run, v, from, at) ? FINAL_SIGMA : SMALL_SIGMA);
		else
			put(&b, one, c);
	}
	out = lmi_jinja_buf_done(&b);
	out.flags = v.flags;
	return out;
}

bool lmi_jinja_str_is_case(struct lmi_jinja_run *run, struct lmi_jinja_val v, bool upper)
{
	bool any = false;

	for (size_t at = 0; at < v.n && lmi_jinja_run_step(run, 1);) {
		uint32_t c = lmi_unicode_next(v.u.s, v.n, &at);

		if (upper ? lmi_unicode_lower(c) || lmi_unicode_title(c)
			  : lmi_unicode_upper(c) || lmi_unicode_title(c))
			return false;
		any |= upper ? lmi_unicode_upper(c) : lmi_unicode_lower(c);
	}
	return any;
}

static bool is_title(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	bool in_word = false, any = false;

	for (size_t at = 0; at < v.n && lmi_jinja_run_step(run, 1);) {
		uint32_t c = lmi_unicode_next(v.u.s, v.n, &at);

		if (lmi_unicode_upper(c) || lmi_unicode_title(c)) {
			if (in_word)
				return false;
			in_word = any = true;
		} else if (lmi_unicode_lower(c)) {
			if (!in_word)
				return false;
			any = true;
		} else {
			in_word = false;
		}
	}
	return any;
}

/* Whether there are characters and all of them pass the test. */
static struct lmi_jinja_val all(struct lmi_jinja_run *run, struct lmi_jinja_val v,
				bool (*test)(uint32_t))
{
	size_t at = 0;

	while (at < v.n && lmi_jinja_run_step(run, 1) && test(lmi_unicode_next(v.u.s, v.n, &at)))
		if (at == v.n)
			return lmi_jinja_bool(true);
	return lmi_jinja_bool(false);
}

static bool alnum(uint32_t c)
{
	return lmi_unicode_alpha(c) || lmi_unicode_numeric(c);
}

#define CASE_METHOD(name, to)                                                                      \
	static struct lmi_jinja_val name(struct lmi_jinja_run *run, struct lmi_jinja_val self,     \
					 const struct lmi_jinja_val *a)                            \
	{                                                                                          \
		(void)a;                                                                           \
		return lmi_jinja_str_case(run, self, to);                                          \
	}

CASE_METHOD(m_upper, LMI_JINJA_STR_UPPER)
CASE_METHOD(m_lower, LMI_JINJA_STR_LOWER)
CASE_METHOD(m_casefold, LMI_JINJA_STR_FOLD)
CASE_METHOD(m_title, LMI_JINJA_STR_TITLE)
CASE_METHOD(m_capitalize, LMI_JINJA_STR_CAPITALIZE)
CASE_METHOD(m_swapcase, LMI_JINJA_STR_SWAP)

#undef CASE_METHOD

#define CLASS_METHOD(name, test)                                                                   \
	static struct lmi_jinja_val name(struct lmi_jinja_run *run, struct lmi_jinja_val self,     \
					 const struct lmi_jinja_val *a)                            \
	{                                                                                          \
		(void)a;                                                                           \
		return all(run, self, test);                                                       \
	}

CLASS_METHOD(m_isalpha, lmi_unicode_alpha)
CLASS_METHOD(m_isalnum, alnum)
CLASS_METHOD(m_isdecimal, lmi_unicode_decimal)
CLASS_METHOD(m_isdigit, lmi_unicode_digit)
CLASS_METHOD(m_isnumeric, lmi_unicode_numeric)
CLASS_METHOD(m_isspace, lmi_unicode_space)

#undef CLASS_METHOD

static struct lmi_jinja_val m_isprintable(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					  const struct lmi_jinja_val *a)
{
	(void)a;
	return self.n ? all(run, self, lmi_unicode_printable) : lmi_jinja_bool(true);
}

static struct lmi_jinja_val m_isascii(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	(void)a;
	for (uint32_t i = 0; i < self.n; i++) {
		if (!(i % 4096) && !lmi_jinja_run_step(run, 4096 / 16))
			break;
		if ((unsigned char)self.u.s[i] >= 0x80)
			return lmi_jinja_bool(false);
	}
	return lmi_jinja_bool(true);
}

static struct lmi_jinja_val m_isidentifier(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					   const struct lmi_jinja_val *a)
{
	(void)a;
	for (size_t at = 0, from = 0; at < self.n && lmi_jinja_run_step(run, 1); from = at) {
		if (!lmi_unicode_ident(lmi_unicode_next(self.u.s, self.n, &at), !from))
			return lmi_jinja_bool(false);
	}
	return lmi_jinja_bool(self.n > 0);
}

static struct lmi_jinja_val m_isupper(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	(void)a;
	return lmi_jinja_bool(lmi_jinja_str_is_case(run, self, true));
}

static struct lmi_jinja_val m_islower(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	(void)a;
	return lmi_jinja_bool(lmi_jinja_str_is_case(run, self, false));
}

static struct lmi_jinja_val m_istitle(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	(void)a;
	return lmi_jinja_bool(is_title(run, self));
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "upper", .fn = m_upper, .params = ""},
	{.name = "lower", .fn = m_lower, .params = ""},
	{.name = "casefold", .fn = m_casefold, .params = ""},
	{.name = "title", .fn = m_title, .params = ""},
	{.name = "capitalize", .fn = m_capitalize, .params = ""},
	{.name = "swapcase", .fn = m_swapcase, .params = ""},
	{.name = "isalpha", .fn = m_isalpha, .params = ""},
	{.name = "isalnum", .fn = m_isalnum, .params = ""},
	{.name = "isascii", .fn = m_isascii, .params = ""},
	{.name = "isdecimal", .fn = m_isdecimal, .params = ""},
	{.name = "isdigit", .fn = m_isdigit, .params = ""},
	{.name = "isidentifier", .fn = m_isidentifier, .params = ""},
	{.name = "isnumeric", .fn = m_isnumeric, .params = ""},
	{.name = "isprintable", .fn = m_isprintable, .params = ""},
	{.name = "isspace", .fn = m_isspace, .params = ""},
	{.name = "isupper", .fn = m_isupper, .params = ""},
	{.name = "islower", .fn = m_islower, .params = ""},
	{.name = "istitle", .fn = m_istitle, .params = ""},
};

const struct lmi_jinja_table lmi_jinja_case_methods = LMI_JINJA_TABLE(rows);
