/* SPDX-License-Identifier: MIT
 *
 * Texts around a picture count as the template's, so that they can have control tokens. */
#include "core/text/chat/pictures.h"

#include <string.h>

#include "core/base/alloc.h"

/* The prompt as it grows: a text that has yet to be encoded, and the tokens before it. */
struct prompt {
	const struct lmi_text_control_tokens *controls;
	const struct lmi_tokenizer *tok;
	char *text;
	uint8_t *own;
	size_t n, cap;
	struct lmi_text_token_buf piece;
	struct lmi_text_token_buf *out;
	struct lmd_error *err;
};

/* Appends a text; own: NULL: all of it is the template's. */
static enum lmd_status add_text(struct prompt *p, const char *text, const uint8_t *own, size_t n)
{
	if (n > p->cap - p->n) {
		size_t cap = 2 * (p->n + n) + 256;
		char *more = lmi_realloc(p->text, cap, 1);
		uint8_t *more_own;

		p->text = more ? more : p->text;
		more_own = more ? lmi_realloc(p->own, cap, 1) : NULL;
		p->own = more_own ? more_own : p->own;
		if (!more_own)
			return lmd_fail(p->err, LMD_NOMEM, "no memory for a prompt of %zu bytes", p->n + n);
		p->cap = cap;
	}
	if (!n)
		return LMD_OK;
	memcpy(p->text + p->n, text, n);
	if (own)
		memcpy(p->own + p->n, own, n);
	else
		memset(p->own + p->n, 1, n);
	p->n += n;
	return LMD_OK;
}

static enum lmd_status flush(struct prompt *p)
{
	enum lmd_status st = LMD_OK;

	if (p->n)
		st = lmi_text_control_tokens_encode_prompt(p->controls, p->tok, p->text, p->own, p->n,
							   &p->piece, p->err);
	if (p->n && st == LMD_OK)
		st = lmi_text_token_buf_append(p->out, p->piece.id, p->piece.n, p->err);
	p->n = 0;
	return st;
}

static enum lmd_status add_rows(struct prompt *p, struct lmi_chat_picture_part *part)
{
	static const lmd_token none[64];
	enum lmd_status st = flush(p);

	part->first = (uint32_t)p->out->n;
	for (uint32_t left = part->n_row; left && st == LMD_OK;) {
		uint32_t n = left < LMD_LEN(none) ? left : (uint32_t)LMD_LEN(none);

		st = lmi_text_token_buf_append(p->out, none, n, p->err);
		left -= n;
	}
	return st;
}

static enum lmd_status add_picture(struct prompt *p, struct lmi_chat_picture *x)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < x->n && st == LMD_OK; i++) {
		st = add_text(p, x->parts[i].before, NULL, strlen(x->parts[i].before));
		if (st == LMD_OK)
			st = add_rows(p, &x->parts[i]);
	}
	return st == LMD_OK ? add_text(p, x->after, NULL, strlen(x->after)) : st;
}

/* Returns the next mark in text[from, n), whose bytes came from outside; n: there is none. */
static size_t find_mark(const struct lmi_chat_input *in, const struct lmi_text_byte_buf *text,
			const uint8_t *own, size_t from)
{
	size_t len = in->picture_mark.len;

	for (size_t at = from; len && at + len <= text->n; at++)
		if (!own[at] && !memcmp(text->p + at, in->picture_mark.ptr, len))
			return at;
	return text->n;
}

static enum lmd_status add_all(struct prompt *p, const struct lmi_chat_input *in,
			       const struct lmi_text_byte_buf *text, const uint8_t *own)
{
	uint32_t n_found = 0;
	enum lmd_status st = LMD_OK;

	for (size_t at = 0; at < text->n && st == LMD_OK;) {
		size_t mark = find_mark(in, text, own, at);

		st = add_text(p, text->p + at, own + at, mark - at);
		at = mark;
		if (mark == text->n || st != LMD_OK)
			break;
		if (n_found < in->n_pictures)
			st = add_picture(p, &in->pictures[n_found]);
		n_found++;
		at += in->picture_mark.len;
	}
	if (st == LMD_OK && n_found != in->n_pictures)
		return lmd_fail(p->err, LMD_INVALID,
				"chat template: it puts %u pictures into the prompt, but the messages have %u",
				n_found, in->n_pictures);
	return st == LMD_OK ? flush(p) : st;
}

enum lmd_status lmi_chat_encode_pictures(const struct lmi_chat_input *in,
					 const struct lmi_text_control_tokens *controls,
					 const struct lmi_tokenizer *tok,
					 const struct lmi_text_byte_buf *text, const uint8_t *own,
					 struct lmi_text_token_buf *out, struct lmd_error *err)
{
	struct prompt p = {.controls = controls, .tok = tok, .out = out, .err = err};
	enum lmd_status st;

	out->n = 0;
	st = add_all(&p, in, text, own);
	lmi_free(p.text);
	lmi_free(p.own);
	lmi_text_token_buf_fini(&p.piece);
	return st;
}
