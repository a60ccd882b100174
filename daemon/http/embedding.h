/* SPDX-License-Identifier: MIT
 *
 * embedding.h - embeddings over HTTP, whatever API asks for them.
 *
 * An endpoint translates its body to a request of op embed and names the function that writes the
 * answer.  Reading and writing are pure. */
#ifndef LLAMAD_DAEMON_HTTP_EMBEDDING_H
#define LLAMAD_DAEMON_HTTP_EMBEDDING_H

#include <jansson.h>

#include "core/base/json_text.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "proto/proto.h"

struct lmi_http_embedding {
	struct lmi_wire_request req; /* op embed; memory of the exchange's arena */
	bool base64;                 /* vectors as text, not as numbers */
	/* Writes the answer: one JSON value.  model: as the client named it, or the model that was
	 * chosen for it. */
	void (*write)(const struct lmi_http_embedding *e, const char *model,
		      const struct lmi_wire_rep_embed *r, struct lmi_json_text *out);
};

/* Reads the body into e->req and e->base64, and sets e->write. */
typedef void (*lmi_http_embed_read_fn)(struct lmi_http_reader *r, const json_t *body,
				       struct lmi_http_embedding *e);

/* Reads the body of the exchange and responds with the answer, or with an error. */
void lmi_http_embed(struct lmi_http_exchange *x, lmi_http_embed_read_fn read);

/* ---- members that several APIs have ---- */

/* Reads one text, a list of texts, or the tokens of one text. */
void lmi_http_read_inputs(struct lmi_http_reader *r, const char *name, const json_t *v,
			  struct lmi_http_embedding *e);
/* Reads the members model and dimensions. */
void lmi_http_read_embedding_model(struct lmi_http_reader *r, const json_t *body,
				   struct lmi_http_embedding *e);

/* Writes the vector as a list of numbers, or as base64 of little-endian floats. */
void lmi_http_put_vector(struct lmi_json_text *out, const struct lmi_wire_embedding *v, bool base64);

#endif /* LLAMAD_DAEMON_HTTP_EMBEDDING_H */
