/* SPDX-License-Identifier: MIT
 *
 * control_tokens.h - the texts of a vocabulary's control tokens, and the encoding of a prompt such
 * that only its template can place a control token.
 *
 * A prompt consists of text that the template wrote and of text from outside; a flag for each byte
 * says which.  A control text whose bytes are all the template's becomes the token; any other
 * remains ordinary text.  If no control text comes from outside, the result is the whole prompt
 * encoded with LMD_ENCODE_PARSE_SPECIAL: boundaries between the two kinds of text do not split
 * words.  Otherwise the span around the outside text, from the previous control token to the next
 * one, is encoded without that flag.
 *
 * Tokens that the vocabulary calls user-defined are ordinary words and are always matched. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CONTROL_TOKENS_H
#define LLAMAD_CORE_TEXT_CHAT_CONTROL_TOKENS_H

#include "core/text/tokenizer.h"

struct lmi_text_control_tokens;

/* Reads the piece of every token; tok is not kept. */
enum lmd_status lmi_text_control_tokens_create(struct lmi_text_control_tokens **out,
					       const struct lmi_tokenizer *tok,
					       struct lmd_error *err);
/* NULL allowed. */
void lmi_text_control_tokens_destroy(struct lmi_text_control_tokens *c);

struct lmi_answer_format;
/* Finds the control tokens that occur in markers of this answer format, ascending; the result
 * replaces the content of `out`. */
enum lmd_status lmi_text_control_tokens_in_markers(const struct lmi_text_control_tokens *c,
						   const struct lmi_answer_format *f,
						   struct lmi_text_token_buf *out,
						   struct lmd_error *err);

/* Encodes a prompt without adding tokens; the result replaces the content of `out`.
 * own: [n], 1 for the template's bytes
 * Takes the time of encoding, plus the length of the text times that of the longest control text.
 * Any thread. */
enum lmd_status lmi_text_control_tokens_encode_prompt(const struct lmi_text_control_tokens *c,
						      const struct lmi_tokenizer *tok,
						      const char *text, const uint8_t *own,
						      size_t n, struct lmi_text_token_buf *out,
						      struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CONTROL_TOKENS_H */
