/* SPDX-License-Identifier: MIT
 *
 * pair.h - a query and a document as the tokens that a reranker expects. */
#ifndef LLAMAD_SERVICE_PAIR_H
#define LLAMAD_SERVICE_PAIR_H

#include "core/engine/engine.h"
#include "core/text/tokenizer.h"

/* Replaces the content of `out`.  The model's template `rerank` is used if there is one; otherwise
 * the two texts are joined by the vocabulary's end and separator tokens.  n_max: longer pairs lose
 * tokens at the end of the document; 0: they do not.  Any thread. */
enum lmd_status lmi_svc_pair_encode(const struct lmi_engine *e, struct lmd_str query,
				    struct lmd_str document, uint32_t n_max,
				    struct lmi_text_token_buf *out, struct lmd_error *err);

#endif /* LLAMAD_SERVICE_PAIR_H */
