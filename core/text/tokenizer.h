/* SPDX-License-Identifier: MIT
 *
 * tokenizer.h - an open vocabulary: the state of the tokenizer plugin that the model file asks for,
 * with growing buffers around its calls.
 *
 * An open tokenizer is immutable; all functions but open and close may be called from any number of
 * threads at the same time. */
#ifndef LLAMAD_CORE_TEXT_TOKENIZER_H
#define LLAMAD_CORE_TEXT_TOKENIZER_H

#include <stdbool.h>

#include "llamad/host.h"
#include "llamad/model.h"
#include "llamad/tokenizer.h"

struct lmi_factory;
struct lmi_plugin_registry;
struct lmi_tokenizer;

/* Opens the tokenizer factory named spec->kind ("none" if that is NULL).  The registry, host and
 * spec must outlive the tokenizer. */
enum lmd_status lmi_tokenizer_open(struct lmi_tokenizer **out, struct lmi_plugin_registry *registry,
				   const struct lmd_host *host, const struct lmd_tok_spec *spec,
				   struct lmd_error *err);
/* NULL allowed. */
void lmi_tokenizer_close(struct lmi_tokenizer *t);

/* Valid until the tokenizer is closed. */
const struct lmd_tok_info *lmi_tokenizer_info(const struct lmi_tokenizer *t);

/* The plugin factory in use; valid until the tokenizer is closed. */
const struct lmi_factory *lmi_tokenizer_factory(const struct lmi_tokenizer *t);

/* Whether this token ends a generation.  Takes O(log n) time. */
bool lmi_tokenizer_is_eog(const struct lmi_tokenizer *t, lmd_token id);

/* Growing result buffers that can be reused.  A zeroed buffer is empty; release it with its fini
 * function. */
struct lmi_text_token_buf {
	lmd_token *id;
	size_t n, cap;
};
struct lmi_text_byte_buf {
	char *p;              /* not NUL-terminated */
	size_t n, cap;
};
void lmi_text_token_buf_fini(struct lmi_text_token_buf *t);
void lmi_text_byte_buf_fini(struct lmi_text_byte_buf *t);
/* Appends.  On LMD_NOMEM nothing has changed. */
enum lmd_status lmi_text_token_buf_append(struct lmi_text_token_buf *t, const lmd_token *id,
					  size_t n, struct lmd_error *err);
enum lmd_status lmi_text_byte_buf_append(struct lmi_text_byte_buf *t, const char *p, size_t n,
					 struct lmd_error *err);

/* Encodes a text; the result replaces the content of `out`.  On failure out->n is 0.
 * flags: LMD_ENCODE_* */
enum lmd_status lmi_tokenizer_encode(const struct lmi_tokenizer *t, const char *text, size_t bytes,
				     uint32_t flags, struct lmi_text_token_buf *out,
				     struct lmd_error *err);

/* Decodes a whole list; the result replaces the content of `out`.
 * flags: LMD_DECODE_* */
enum lmd_status lmi_tokenizer_decode(const struct lmi_tokenizer *t, const lmd_token *ids,
				     size_t n_ids, uint32_t flags, struct lmi_text_byte_buf *out,
				     struct lmd_error *err);

/* Bytes of one token in the middle of a text; see struct lmd_tokenizer_ops.  Allocates nothing. */
size_t lmi_tokenizer_piece(const struct lmi_tokenizer *t, lmd_token id, uint32_t flags, char *out,
			   size_t cap);

#endif /* LLAMAD_CORE_TEXT_TOKENIZER_H */
