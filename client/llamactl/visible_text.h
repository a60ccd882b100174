/* SPDX-License-Identifier: MIT
 *
 * visible_text.h - text of a model for a terminal: control characters, which could move the cursor,
 * set the title or write the clipboard, become visible. */
#ifndef LLAMAD_LLAMACTL_VISIBLE_TEXT_H
#define LLAMAD_LLAMACTL_VISIBLE_TEXT_H

#include <stddef.h>

#include "core/text/tokenizer.h"
#include "llamad/status.h"

/* Appends a piece of a text in UTF-8: control characters other than tab and newline as ^X, those of
 * 8 bits (U+0080 to U+009F) as no-break spaces; a carriage return is left out. *last is the byte
 * before the piece, 0 at the beginning, and becomes its last byte. */
enum lmd_status lmi_ctl_visible_text(struct lmi_text_byte_buf *out, char *last, const char *text,
				     size_t n, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_VISIBLE_TEXT_H */
