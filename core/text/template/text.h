/* SPDX-License-Identifier: MIT
 *
 * text.h - builds strings: growing buffers and the string forms of values. */
#ifndef LLAMAD_TEMPLATE_TEXT_H
#define LLAMAD_TEMPLATE_TEXT_H

#include "core/text/template/value.h"

/* Maximum length of a string in bytes. */
#define LMI_TEXT_MAX 0x7fffffffu

/* Growing strings */

struct lmi_buf {
	struct lmi_run *run;
	char *s;
	size_t n, cap;
};

void lmi_buf_add(struct lmi_buf *b, const char *s, size_t n);
void lmi_buf_char(struct lmi_buf *b, uint32_t c);
void lmi_buf_fill(struct lmi_buf *b, uint32_t c, uint64_t n);
void lmi_buf_printf(struct lmi_buf *b, const char *fmt, ...) LMD_PRINTF(2, 3);

static inline void lmi_buf_str(struct lmi_buf *b, const char *s)
{
	lmi_buf_add(b, s, strlen(s));
}

static inline void lmi_buf_val(struct lmi_buf *b, struct lmi_val str)
{
	lmi_buf_add(b, str.u.s, str.n);
}

/* Returns the string; the buffer must not be used any more. */
struct lmi_val lmi_buf_done(struct lmi_buf *b);

/* Concatenates a and b.  Repeated appending costs time and memory in proportion to what is
 * appended. */
struct lmi_val lmi_str_cat(struct lmi_run *run, struct lmi_val a, struct lmi_val b);

/* String forms of values (repr.c) */

/* str(v); a STR is returned as it is, with its flag. */
struct lmi_val lmi_val_text(struct lmi_run *run, struct lmi_val v);
struct lmi_val lmi_val_repr(struct lmi_run *run, struct lmi_val v);
void lmi_val_repr_to(struct lmi_buf *b, struct lmi_val v);
/* repr(v) with every non-ASCII character escaped. */
struct lmi_val lmi_val_ascii(struct lmi_run *run, struct lmi_val v);
/* repr of a float: at most 32 bytes, including the NUL. */
void lmi_float_text(double f, char out[32]);
/* Replaces &, <, >, " and ' by entities and marks the result safe.  A safe string is returned as it
 * is. */
struct lmi_val lmi_val_escape(struct lmi_run *run, struct lmi_val v);

#endif /* LLAMAD_TEMPLATE_TEXT_H */
