/* SPDX-License-Identifier: MIT
 *
 * word_wrap.h - breaks the lines of a text between words while it is written to a terminal: a word that
 * reaches the edge moves to the next line, with what was already shown of it. */
#ifndef LLAMAD_LLAMACTL_WORD_WRAP_H
#define LLAMAD_LLAMACTL_WORD_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text/tokenizer.h"
#include "llamad/status.h"

/* Zeroed at the beginning of a line, except for columns. */
struct lmi_ctl_word_wrap {
	unsigned columns; /* of the terminal; 0: lines are not broken */
	unsigned at;	  /* columns of this line so far */
	char word[256];	  /* [n_word] the word so far, with sequences; longer ones do not move */
	unsigned n_word, word_columns;
	char part[4]; /* [n_part] the beginning of a character */
	unsigned n_part;
	bool sequence; /* in an escape sequence */
};

/* Appends a piece of a text. Its escape sequences are of the form ESC [ ... m. verbatim: the terminal
 * breaks the lines, wherever they reach the edge. */
enum lmd_status lmi_ctl_word_wrap_add(struct lmi_ctl_word_wrap *w, const char *text, size_t n,
				      bool verbatim, struct lmi_text_byte_buf *out,
				      struct lmd_error *err);
/* Begins a line: something else was written. A character that has begun is dropped. */
void lmi_ctl_word_wrap_begin(struct lmi_ctl_word_wrap *w);

#endif /* LLAMAD_LLAMACTL_WORD_WRAP_H */
