/* SPDX-License-Identifier: MIT
 *
 * str_buf.h - builds strings: growing buffers and the string forms of values. */
#ifndef LLAMAD_CORE_JINJA_STR_BUF_H
#define LLAMAD_CORE_JINJA_STR_BUF_H

#include <string.h>

#include "core/jinja/value.h"

/* Maximum length of a string in bytes. */
#define LMI_JINJA_TEXT_MAX 0x7fffffffu

/* Growing strings */

struct lmi_jinja_str_buf {
	struct lmi_jinja_run *run;
	char *s;
	size_t n, cap;
};

void lmi_jinja_buf_add(struct lmi_jinja_str_buf *b, const char *s, size_t n);
void lmi_jinja_buf_char(struct lmi_jinja_str_buf *b, uint32_t c);
void lmi_jinja_buf_fill(struct lmi_jinja_str_buf *b, uint32_t c, uint64_t n);
void lmi_jinja_buf_printf(struct lmi_jinja_str_buf *b, const char *fmt, ...) LMD_PRINTF(2, 3);

static inline void lmi_jinja_buf_str(struct lmi_jinja_str_buf *b, const char *s)
{
	lmi_jinja_buf_add(b, s, strlen(s));
}

static inline void lmi_jinja_buf_val(struct lmi_jinja_str_buf *b, struct lmi_jinja_val str)
{
	lmi_jinja_buf_add(b, str.u.s, str.n);
}

/* Returns the string; the buffer must not be used any more. */
struct lmi_jinja_val lmi_jinja_buf_done(struct lmi_jinja_str_buf *b);

/* Concatenates a and b.  Repeated appending costs time and memory in proportion to what is
 * appended. */
struct lmi_jinja_val lmi_jinja_str_concat(struct lmi_jinja_run *run, struct lmi_jinja_val a,
					  struct lmi_jinja_val b);

/* String forms of values (repr.c) */

/* str(v); a STR is returned as it is, with its flag. */
struct lmi_jinja_val lmi_jinja_val_text(struct lmi_jinja_run *run, struct lmi_jinja_val v);
struct lmi_jinja_val lmi_jinja_val_repr(struct lmi_jinja_run *run, struct lmi_jinja_val v);
void lmi_jinja_val_repr_to(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v);
/* repr(v) with every non-ASCII character escaped. */
struct lmi_jinja_val lmi_jinja_val_ascii(struct lmi_jinja_run *run, struct lmi_jinja_val v);
/* repr of a float: at most 32 bytes, including the NUL. */
void lmi_jinja_float_text(double f, char out[32]);
/* Replaces &, <, >, " and ' by entities and marks the result safe.  A safe string is returned as it
 * is. */
struct lmi_jinja_val lmi_jinja_val_escape(struct lmi_jinja_run *run, struct lmi_jinja_val v);

#endif /* LLAMAD_CORE_JINJA_STR_BUF_H */
