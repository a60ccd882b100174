/* SPDX-License-Identifier: MIT
 *
 * pictures.h - encodes a prompt with pictures: the texts between their rows, each by itself. */
#ifndef LLAMAD_CORE_TEXT_CHAT_PICTURES_H
#define LLAMAD_CORE_TEXT_CHAT_PICTURES_H

#include "core/text/chat/chat.h"
#include "core/text/chat/control_tokens.h"

/* text: what the template rendered; own: [text->n], 1 for the template's bytes. The result replaces the
 * content of `out`, with a token 0 for each row. Sets `first` of the parts. LMD_INVALID: the template has
 * left out or repeated a picture. */
enum lmd_status lmi_chat_encode_pictures(const struct lmi_chat_input *in,
					 const struct lmi_text_control_tokens *controls,
					 const struct lmi_tokenizer *tok,
					 const struct lmi_text_byte_buf *text, const uint8_t *own,
					 struct lmi_text_token_buf *out, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_PICTURES_H */
