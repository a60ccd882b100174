/* SPDX-License-Identifier: MIT
 *
 * origin_marks.h - origin marks: whether each byte of a string was written by the template or came
 * from a variable.
 *
 * Memory for values is taken from the arena in pieces.  With marks each piece is twice as long, and
 * its second half has a mark for each byte of the first: 1 if the template wrote it, 0 if it came
 * from a variable.  Every copy of text copies its marks.  Text outside all pieces belongs to the
 * template or the program.  All functions accept NULL for the marks and then do nothing. */
#ifndef LLAMAD_CORE_JINJA_ORIGIN_MARKS_H
#define LLAMAD_CORE_JINJA_ORIGIN_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lmi_jinja_origin_marks;

/* Returns NULL if out of memory. */
struct lmi_jinja_origin_marks *lmi_jinja_marks_create(void);
void lmi_jinja_marks_destroy(struct lmi_jinja_origin_marks *m);

/* Adds a piece p of `bytes` bytes, followed by as many bytes of marks.  Returns false if out of
 * memory. */
bool lmi_jinja_marks_piece(struct lmi_jinja_origin_marks *m, char *p, size_t bytes);

/* Records that n bytes were copied from src to dst, which lies in a piece. */
void lmi_jinja_marks_copy_in(struct lmi_jinja_origin_marks *m, const char *dst, const char *src,
			     size_t n);
static inline void lmi_jinja_marks_copy(struct lmi_jinja_origin_marks *m, const char *dst,
					const char *src, size_t n)
{
	if (m)
		lmi_jinja_marks_copy_in(m, dst, src, n);
}

/* Marks n bytes at dst, which lies in a piece, as the template's own or not. */
void lmi_jinja_marks_set(struct lmi_jinja_origin_marks *m, const char *dst, size_t n,
			 bool from_template);

/* Makes room for the marks of cap bytes of output.  Returns false if out of memory. */
bool lmi_jinja_marks_reserve_output(struct lmi_jinja_origin_marks *m, size_t cap);
/* Records that n bytes were copied from src to offset `at` of the output, or from there to dst,
 * which lies in a piece. */
void lmi_jinja_marks_to_out(struct lmi_jinja_origin_marks *m, size_t at, const char *src, size_t n);
void lmi_jinja_marks_from_out(struct lmi_jinja_origin_marks *m, size_t at, const char *dst,
			      size_t n);
/* Returns the marks of the output; caller frees. */
uint8_t *lmi_jinja_marks_take_output(struct lmi_jinja_origin_marks *m);

#endif /* LLAMAD_CORE_JINJA_ORIGIN_MARKS_H */
