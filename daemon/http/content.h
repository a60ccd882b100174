/* SPDX-License-Identifier: MIT
 *
 * content.h - the content of a message that consists of parts: texts and pictures. */
#ifndef LLAMAD_DAEMON_HTTP_CONTENT_H
#define LLAMAD_DAEMON_HTTP_CONTENT_H

#include "daemon/http/chat_body.h"

/* The parts that were read so far. */
struct lmi_http_content {
	struct lmd_str *texts;		    /* [n_text] */
	struct lmi_wire_picture *pictures; /* [n_picture]; `at` is the number of texts before */
	uint32_t n_text, n_picture;
};

/* Prepares for at most n parts. Returns false if memory ran out, which t then says. */
bool lmi_http_content_begin(struct lmi_http_translation *t, struct lmi_http_content *c, size_t n);
void lmi_http_content_add_text(struct lmi_http_content *c, struct lmd_str text);
/* Adds a picture whose data is a JSON string: base64 or a data: URI. */
void lmi_http_content_add_picture(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  struct lmi_http_content *c, const json_t *v);
/* Puts the texts, joined by newlines, and the pictures into a message. */
void lmi_http_content_end(struct lmi_http_translation *t, struct lmi_http_content *c,
			  struct lmi_wire_chat_message *out);

/* Reads a string, or a list of parts: text, refusal, and image_url as in the chat completions API. */
void lmi_http_read_message_content(struct lmi_http_translation *t, const struct lmi_http_at *at,
				   const json_t *v, struct lmi_wire_chat_message *out);

#endif /* LLAMAD_DAEMON_HTTP_CONTENT_H */
