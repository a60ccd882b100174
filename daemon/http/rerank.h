/* SPDX-License-Identifier: MIT
 *
 * rerank.h - scores of documents over HTTP, whatever API asks for them.
 *
 * An endpoint translates its body to a request of op rerank and names the function that writes the
 * answer.  Reading and writing are pure. */
#ifndef LLAMAD_DAEMON_HTTP_RERANK_H
#define LLAMAD_DAEMON_HTTP_RERANK_H

#include <jansson.h>

#include "core/base/json_text.h"
#include "daemon/http/exchange.h"
#include "daemon/http/json_body.h"
#include "proto/proto.h"

struct lmi_http_ranked {
	uint32_t index; /* of the document */
	double score;
};

struct lmi_http_rerank {
	struct lmi_wire_request req; /* op rerank; memory of the exchange's arena */
	int64_t top_n;               /* the best of them are reported; 0: all */
	bool texts;                  /* return the documents */
	bool probabilities;          /* scores become numbers between 0 and 1 */
	bool in_order;               /* as in the request, not by score */
	int64_t created;             /* seconds since 1970 */
	/* Writes the answer: one JSON value.  v: [n] the documents to report, best first unless
	 * in_order. */
	void (*write)(const struct lmi_http_rerank *e, const char *model,
		      const struct lmi_http_ranked *v, uint32_t n, int64_t n_prompt,
		      struct lmi_json_text *out);
};

typedef void (*lmi_http_rerank_read_fn)(struct lmi_http_reader *r, const json_t *body,
					struct lmi_http_rerank *e);

/* Reads the body of the exchange and responds with the answer, or with an error. */
void lmi_http_rerank(struct lmi_http_exchange *x, lmi_http_rerank_read_fn read);

/* Reads the members model, query, documents (or texts) and top_n. */
void lmi_http_read_rerank(struct lmi_http_reader *r, const json_t *body, struct lmi_http_rerank *e);
/* Reads a text, or a list of texts or of objects with a member `text`. */
const struct lmd_str *lmi_http_read_documents(struct lmi_http_reader *r, const char *name,
					      const json_t *v, uint32_t *n);
/* Returns 1 / (1 + exp(-x)). */
double lmi_http_sigmoid(double x);

#endif /* LLAMAD_DAEMON_HTTP_RERANK_H */
