/* SPDX-License-Identifier: MIT
 *
 * text.h - texts that are made: growing ones, and the texts of values. */
#ifndef LLAMAD_TEMPLATE_TEXT_H
#define LLAMAD_TEMPLATE_TEXT_H

#include "core/text/template/value.h"

/* Bytes of a text, at most. */
#define LMI_TEXT_MAX 0x7fffffffu

/* Texts that grow */

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

/* The text; the buffer is not used any more. */
struct lmi_val lmi_buf_done(struct lmi_buf *b);

/* a and b one after the other; repeated appending costs time and memory in proportion to
 * what is appended. */
struct lmi_val lmi_str_cat(struct lmi_run *run, struct lmi_val a, struct lmi_val b);

/* Texts of values (repr.c) */

/* str(v); a STR is itself, with its flag. */
struct lmi_val lmi_val_text(struct lmi_run *run, struct lmi_val v);
struct lmi_val lmi_val_repr(struct lmi_run *run, struct lmi_val v);
void lmi_val_repr_to(struct lmi_buf *b, struct lmi_val v);
/* repr with every character outside of ASCII escaped. */
struct lmi_val lmi_val_ascii(struct lmi_run *run, struct lmi_val v);
/* repr of a float, at most 32 bytes with the terminating zero. */
void lmi_float_text(double f, char out[32]);
/* &, <, >, " and ' as entities, marked safe; a safe text is itself. */
struct lmi_val lmi_val_escape(struct lmi_run *run, struct lmi_val v);

#endif /* LLAMAD_TEMPLATE_TEXT_H */
