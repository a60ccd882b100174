/* SPDX-License-Identifier: MIT
 *
 * json_scan.h - finds the end of a JSON object or array, byte by byte. */
#ifndef LLAMAD_CORE_TEXT_ANSWER_JSON_SCAN_H
#define LLAMAD_CORE_TEXT_ANSWER_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define LMI_PARSE_SCAN_DEPTH 64

/* Zeroed: ready for the first byte, which must be { or [. */
struct lmi_parse_scan {
	uint64_t lists; /* bit d: level d is an array */
	uint32_t depth;
	bool in_string, escaped;
};

enum lmi_parse_scan_end {
	LMI_PARSE_SCAN_MORE,
	LMI_PARSE_SCAN_LAST, /* this byte is the last one */
	LMI_PARSE_SCAN_BAD   /* brackets do not match or are nested too deeply */
};

static inline enum lmi_parse_scan_end lmi_parse_scan_byte(struct lmi_parse_scan *s, char c)
{
	if (s->in_string) {
		if (s->escaped)
			s->escaped = false;
		else if (c == '\\')
			s->escaped = true;
		else if (c == '"')
			s->in_string = false;
		return LMI_PARSE_SCAN_MORE;
	}
	if (c == '"') {
		s->in_string = true;
	} else if (c == '{' || c == '[') {
		if (s->depth == LMI_PARSE_SCAN_DEPTH)
			return LMI_PARSE_SCAN_BAD;
		s->lists &= ~(1ull << s->depth);
		s->lists |= (uint64_t)(c == '[') << s->depth;
		s->depth++;
	} else if (c == '}' || c == ']') {
		if (!s->depth || (s->lists >> (s->depth - 1) & 1) != (c == ']'))
			return LMI_PARSE_SCAN_BAD;
		if (!--s->depth)
			return LMI_PARSE_SCAN_LAST;
	}
	return s->depth ? LMI_PARSE_SCAN_MORE : LMI_PARSE_SCAN_BAD;
}

#endif /* LLAMAD_CORE_TEXT_ANSWER_JSON_SCAN_H */
