/* SPDX-License-Identifier: MIT
 *
 * controls.h - the texts of a vocabulary's control tokens, and how a prompt becomes tokens in
 * which nobody but its template can place one.
 *
 * A prompt is made of text that the template wrote and of text that came from outside, and each
 * byte says which.  Where a control text stands and all its bytes are the template's, it becomes
 * the token; anywhere else it stays text.  Without such text the tokens are those of the whole
 * prompt encoded with LMD_ENCODE_PARSE_SPECIAL, whatever its bytes say: borders between the two
 * kinds of text do not part words.  Where there is some, the stretch around it, from the last
 * control token in front to the next one behind, is encoded without.
 *
 * What the vocabulary calls user-defined tokens are words like others, and are always found. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CONTROLS_H
#define LLAMAD_CORE_TEXT_CHAT_CONTROLS_H

#include "core/text/tokenizer.h"

struct lmi_controls;

/* Asks for each token; tok is not kept. */
enum lmd_status lmi_controls_create(struct lmi_controls **out, const struct lmi_tokenizer *tok,
				    struct lmd_error *err);
/* NULL allowed. */
void lmi_controls_destroy(struct lmi_controls *c);
uint32_t lmi_controls_count(const struct lmi_controls *c);

/* The longest control text at text[at], in bytes; 0: none begins there. */
size_t lmi_controls_at(const struct lmi_controls *c, const char *text, size_t n, size_t at);

struct lmi_parse_format;
/* The control tokens that markers of answers of that format are made of, ascending, in place of
 * what `out` held. */
enum lmd_status lmi_controls_markers(const struct lmi_controls *c, const struct lmi_parse_format *f,
				     struct lmi_tokens *out, struct lmd_error *err);

/* Tokens of a prompt, in place of what `out` held; nothing is added to them.  own: [n], 1 for the
 * template's bytes.  Time is that of encoding, plus text times the longest control text.  Any
 * thread. */
enum lmd_status lmi_controls_encode(const struct lmi_controls *c, const struct lmi_tokenizer *tok,
				    const char *text, const uint8_t *own, size_t n,
				    struct lmi_tokens *out, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CONTROLS_H */
