/* SPDX-License-Identifier: MIT
 *
 * Finds a format by its name or by the markers that a template contains, and the control tokens
 * that occur in its markers. */
#include <string.h>

#include "core/text/answer/formats.h"
#include "core/text/answer/parser.h"
#include "llamad/attr.h"

static bool is_word(const char *words, struct lmd_str w)
{
	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == w.len && !memcmp(words, w.ptr, n))
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

const struct lmi_answer_format *lmi_answer_format_find(struct lmd_str name)
{
	for (uint32_t i = 0; i < lmi_parse_n_formats; i++)
		if (is_word(lmi_parse_formats[i].name, name) ||
		    is_word(lmi_parse_formats[i].aliases, name))
			return &lmi_parse_formats[i];
	return NULL;
}

const char *lmi_answer_format_name_at(uint32_t i)
{
	return i < lmi_parse_n_formats ? lmi_parse_formats[i].name : NULL;
}

const char *lmi_answer_format_name(const struct lmi_answer_format *f)
{
	return f->name;
}

static bool contains(struct lmd_str text, const char *s)
{
	return s && memmem(text.ptr, text.len, s, strlen(s));
}

const struct lmi_answer_format *lmi_answer_format_detect(struct lmd_str template)
{
	for (uint32_t i = 0; template.len && i < lmi_parse_n_formats; i++)
		for (size_t k = 0; k < LMD_LEN(lmi_parse_formats[i].signatures); k++)
			if (contains(template, lmi_parse_formats[i].signatures[k]))
				return &lmi_parse_formats[i];
	return lmi_answer_format_find((struct lmd_str){.ptr = "none", .len = 4});
}

bool lmi_answer_format_has_marker(const struct lmi_answer_format *f, struct lmd_str token)
{
	const char *const all[] = {
		f->reasoning_begin,
		f->reasoning_end,
		f->section,
		f->section_end,
		f->call,
		f->call_end,
		f->name_prefix,
		f->id_end,
		f->id_begin,
		f->name_end,
		f->quote,
		f->param,
		f->key_end,
		f->value,
		f->value_end,
		f->json_value,
		f->ignored_markers[0],
		f->ignored_markers[1],
		f->ignored_markers[2],
		f->ignored_markers[3],
		f->other_markers,
	};

	if (token.len < 2) /* a single character occurs in almost any marker */
		return false;
	for (size_t i = 0; i < LMD_LEN(all); i++)
		if (all[i] && memmem(all[i], strlen(all[i]), token.ptr, token.len))
			return true;
	return false;
}

/* Offset of the last occurrence of `s` in text; text.len if there is none. */
static size_t last_of(struct lmd_str text, const char *s)
{
	size_t n = strlen(s);

	for (size_t at = text.len; at-- > 0;)
		if (text.len - at >= n && !memcmp(text.ptr + at, s, n))
			return at;
	return text.len;
}

bool lmi_answer_format_opens_reasoning(const struct lmi_answer_format *f, struct lmd_str prompt,
				       struct lmd_str begun)
{
	size_t n;

	if (!f->reasoning_begin)
		return false;
	if (begun.len) {
		size_t begin = last_of(begun, f->reasoning_begin),
		       end = last_of(begun, f->reasoning_end);

		if (end < begun.len || begin < begun.len)
			return begin < begun.len && (end == begun.len || begin > end);
	}
	while (prompt.len && strchr(" \n\t\r", prompt.ptr[prompt.len - 1]))
		prompt.len--;
	n = strlen(f->reasoning_begin);
	return prompt.len >= n && !memcmp(prompt.ptr + prompt.len - n, f->reasoning_begin, n);
}
