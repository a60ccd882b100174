/* SPDX-License-Identifier: MIT
 *
 * The last column stays empty: after a character there, terminals differ about where the cursor is. */
#include "client/llamactl/word_wrap.h"

#include <stdio.h>
#include <string.h>

#include "core/unicode/unicode.h"

#define ESC '\033'

static void end_word(struct lmi_ctl_word_wrap *w)
{
	w->n_word = w->word_columns = 0;
}

void lmi_ctl_word_wrap_begin(struct lmi_ctl_word_wrap *w)
{
	*w = (struct lmi_ctl_word_wrap){.columns = w->columns};
}

/* Remembers bytes of the word; one that does not fit no longer moves. */
static void remember(struct lmi_ctl_word_wrap *w, const char *text, size_t n)
{
	if (n > sizeof(w->word) - w->n_word || w->n_word > sizeof(w->word)) {
		w->n_word = sizeof(w->word) + 1;
		return;
	}
	memcpy(w->word + w->n_word, text, n);
	w->n_word += (unsigned)n;
}

/* Makes room in the next line, for the word or for what follows. */
static enum lmd_status break_line(struct lmi_ctl_word_wrap *w, struct lmi_text_byte_buf *out,
				  struct lmd_error *err)
{
	bool moves = w->word_columns && w->n_word <= sizeof(w->word);
	char back[32];
	enum lmd_status st;

	if (!moves) {
		w->at = 0;
		end_word(w);
		return lmi_text_byte_buf_append(out, "\n", 1, err);
	}
	(void)snprintf(back, sizeof(back), "\033[%uD\033[K\n", w->word_columns);
	st = lmi_text_byte_buf_append(out, back, strlen(back), err);
	w->at = w->word_columns;
	return st == LMD_OK ? lmi_text_byte_buf_append(out, w->word, w->n_word, err) : st;
}

static enum lmd_status add_char(struct lmi_ctl_word_wrap *w, const char *text, size_t n,
				unsigned columns, bool verbatim, struct lmi_text_byte_buf *out,
				struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (columns > 1) /* lines of ideographs may be broken anywhere */
		end_word(w);
	if (w->at + columns >= w->columns) {
		if (!verbatim && w->word_columns != w->at && w->n_word <= sizeof(w->word)) {
			st = break_line(w, out, err);
		} else if (w->at + columns > w->columns) {
			w->at = 0; /* the terminal breaks it */
			w->n_word = sizeof(w->word) + 1;
		}
	}
	w->at += columns;
	if (columns < 2) {
		w->word_columns += columns;
		remember(w, text, n);
	} else {
		end_word(w);
	}
	return st == LMD_OK ? lmi_text_byte_buf_append(out, text, n, err) : st;
}

/* A whole character. */
static enum lmd_status add(struct lmi_ctl_word_wrap *w, const char *text, size_t n, bool verbatim,
			   struct lmi_text_byte_buf *out, struct lmd_error *err)
{
	size_t at = 0;

	if (*text == '\n') {
		w->at = 0;
		end_word(w);
		return lmi_text_byte_buf_append(out, text, n, err);
	}
	if (*text == ' ' || *text == '\t') {
		unsigned to = *text == ' ' ? w->at + 1 : (w->at / 8 + 1) * 8;

		end_word(w);
		if (to >= w->columns && !verbatim) {
			w->at = w->columns - 1; /* the line is broken before the next word */
			return LMD_OK;
		}
		w->at = to;
		return lmi_text_byte_buf_append(out, text, n, err);
	}
	return add_char(w, text, n, lmi_unicode_columns(lmi_unicode_next(text, n, &at)), verbatim, out,
			err);
}

/* Length of the character that begins with this byte. */
static unsigned length(unsigned char c)
{
	return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static enum lmd_status flush_part(struct lmi_ctl_word_wrap *w, bool verbatim,
				  struct lmi_text_byte_buf *out, struct lmd_error *err)
{
	unsigned n = w->n_part;

	w->n_part = 0;
	return add(w, w->part, n, verbatim, out, err);
}

enum lmd_status lmi_ctl_word_wrap_add(struct lmi_ctl_word_wrap *w, const char *text, size_t n,
				      bool verbatim, struct lmi_text_byte_buf *out,
				      struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (!w->columns)
		return lmi_text_byte_buf_append(out, text, n, err);
	for (size_t i = 0; i < n && st == LMD_OK; i++) {
		if (w->sequence || text[i] == ESC) {
			if (w->n_part)
				st = flush_part(w, verbatim, out, err);
			w->sequence = text[i] != 'm';
			remember(w, text + i, 1);
			if (st == LMD_OK)
				st = lmi_text_byte_buf_append(out, text + i, 1, err);
			continue;
		}
		if (w->n_part && ((unsigned char)text[i] & 0xc0) != 0x80) /* a character does not end */
			st = flush_part(w, verbatim, out, err);
		w->part[w->n_part++] = text[i];
		if (w->n_part < length((unsigned char)w->part[0]))
			continue;
		if (st == LMD_OK)
			st = flush_part(w, verbatim, out, err);
	}
	return st;
}
