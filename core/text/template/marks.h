/* SPDX-License-Identifier: MIT
 *
 * marks.h - whose bytes a text is made of, while a template is rendered.
 *
 * Memory for values is taken in pieces; with marks each piece is twice as long, and the second
 * half has a byte for each of the first: 1 when the template wrote it, 0 when it came from a
 * variable.  Every copy of text takes the marks along.  Text that lies in no piece belongs to
 * the template or to the program.  All functions take marks NULL, and then do nothing. */
#ifndef LLAMAD_TEMPLATE_MARKS_H
#define LLAMAD_TEMPLATE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lmi_marks;

/* NULL: no memory. */
struct lmi_marks *lmi_marks_create(void);
void lmi_marks_destroy(struct lmi_marks *m);

/* A piece p of `bytes` bytes, with as many behind it; false: no memory. */
bool lmi_marks_piece(struct lmi_marks *m, char *p, size_t bytes);

/* dst, in a piece, has n bytes of src now. */
void lmi_marks_copy_in(struct lmi_marks *m, const char *dst, const char *src, size_t n);
static inline void lmi_marks_copy(struct lmi_marks *m, const char *dst, const char *src, size_t n)
{
	if (m)
		lmi_marks_copy_in(m, dst, src, n);
}

/* n bytes at dst, in a piece, are the template's own, or are not. */
void lmi_marks_set(struct lmi_marks *m, const char *dst, size_t n, bool own);

/* Output has room for cap bytes; false: no memory. */
bool lmi_marks_out(struct lmi_marks *m, size_t cap);
/* n bytes of src went to offset `at` of the output, or came from there to dst, in a piece. */
void lmi_marks_to_out(struct lmi_marks *m, size_t at, const char *src, size_t n);
void lmi_marks_from_out(struct lmi_marks *m, size_t at, const char *dst, size_t n);
/* The marks of the output; the caller frees them. */
uint8_t *lmi_marks_take_out(struct lmi_marks *m);

#endif /* LLAMAD_TEMPLATE_MARKS_H */
