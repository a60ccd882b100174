/* SPDX-License-Identifier: MIT
 *
 * markdown.h - shows the markdown of an answer on a terminal while it is written: headings, lists,
 * quotes, rules, fenced and inline code, bold and italic text. Everything else stays as it is. */
#ifndef LLAMAD_LLAMACTL_MARKDOWN_H
#define LLAMAD_LLAMACTL_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text/tokenizer.h"
#include "llamad/status.h"

/* Zeroed at the beginning of an answer. */
struct lmi_ctl_markdown {
	char head[16]; /* [n_head] the beginning of a line, until it is clear what the line is */
	unsigned n_head;
	bool in_line;	 /* the line is past its beginning */
	bool fence;	 /* in a fenced block */
	bool fence_line; /* in the line that begins or ends one */
	bool heading, bold, italic, code;
	char run; /* '*' or '`': n_run of them wait for the next character */
	unsigned n_run;
	char before;	/* the character before the run; 0: none in this line */
	bool escape;	/* after a backslash */
};

/* Appends what the terminal shows for a piece of the answer. Up to 15 characters wait for the next
 * piece or the end. */
enum lmd_status lmi_ctl_markdown_add(struct lmi_ctl_markdown *m, const char *text, size_t n,
				     struct lmi_text_byte_buf *out, struct lmd_error *err);
/* Appends the characters that wait, and ends all attributes. */
enum lmd_status lmi_ctl_markdown_end(struct lmi_ctl_markdown *m, struct lmi_text_byte_buf *out,
				     struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_MARKDOWN_H */
