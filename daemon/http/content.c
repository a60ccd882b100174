/* SPDX-License-Identifier: MIT
 *
 * A picture keeps its place between the texts: it stands before a byte of the joined text. */
#include "daemon/http/content.h"

#include <string.h>

bool lmi_http_content_begin(struct lmi_http_translation *t, struct lmi_http_content *c, size_t n)
{
	*c = (struct lmi_http_content){.texts = lmi_http_alloc(&t->r, n ? n : 1, sizeof(*c->texts)),
				       .pictures = lmi_http_alloc(&t->r, n ? n : 1, sizeof(*c->pictures))};
	return c->texts && c->pictures;
}

void lmi_http_content_add_text(struct lmi_http_content *c, struct lmd_str text)
{
	c->texts[c->n_text++] = text;
}

void lmi_http_content_add_picture(struct lmi_http_translation *t, const struct lmi_http_at *at,
				  struct lmi_http_content *c, const json_t *v)
{
	c->pictures[c->n_picture++] = (struct lmi_wire_picture){
		.data = lmi_http_read_str(&t->r, at, v, 1, LMI_WIRE_LIMIT_MESSAGE_BYTES),
		.at = c->n_text};
}

void lmi_http_content_end(struct lmi_http_translation *t, struct lmi_http_content *c,
			  struct lmi_wire_chat_message *out)
{
	uint32_t next = 0;
	int64_t at = 0;

	if (t->r.status != LMD_OK)
		return;
	out->content = lmi_http_join(t, c->texts, c->n_text);
	for (uint32_t i = 0; i < c->n_picture; i++) {
		for (; (int64_t)next < c->pictures[i].at; next++)
			at += (int64_t)c->texts[next].len + 1;
		c->pictures[i].at = next < c->n_text ? at : (int64_t)out->content.len;
	}
	out->pictures = c->pictures;
	out->n_pictures = c->n_picture;
}

static void read_image_url(struct lmi_http_translation *t, const struct lmi_http_at *up, const json_t *v,
			   struct lmi_http_content *c)
{
	const struct lmi_http_at at = {.up = up, .name = "image_url"}, at_url = {.up = &at, .name = "url"};
	const json_t *image = lmi_http_get(v, "image_url");

	if (json_is_string(image))
		lmi_http_content_add_picture(t, &at, c, image);
	else if (lmi_http_is_object(&t->r, &at, image))
		lmi_http_content_add_picture(t, &at_url, c, lmi_http_get(image, "url"));
}

void lmi_http_read_message_content(struct lmi_http_translation *t, const struct lmi_http_at *at,
				   const json_t *v, struct lmi_wire_chat_message *out)
{
	size_t n = json_array_size(v);
	struct lmi_http_content c;

	if (!json_is_array(v)) {
		out->content = lmi_http_read_content(t, at, v);
		return;
	}
	if (!lmi_http_content_begin(t, &c, n))
		return;
	for (size_t i = 0; i < n && t->r.status == LMD_OK; i++) {
		const struct lmi_http_at here = {.up = at, .index = i};
		const json_t *part = json_array_get(v, i), *type = lmi_http_get(part, "type");

		if (json_is_string(type) && !strcmp(json_string_value(type), "image_url"))
			read_image_url(t, &here, part, &c);
		else
			lmi_http_content_add_text(&c, lmi_http_read_part(t, &here, part));
	}
	lmi_http_content_end(t, &c, out);
}
