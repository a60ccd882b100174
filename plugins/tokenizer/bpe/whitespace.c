/* SPDX-License-Identifier: MIT
 *
 * Kind whitespace: white space separates words and is dropped; each word is encoded with byte-pair
 * encoding, in lower case if the file says so. */
#include <string.h>

#include "tokenizer/bpe/bpe_kind.h"

#include "common/unicode.h"

enum { BUF_WORD = 5 };

static enum lmd_status whitespace_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				       const char *s, size_t n)
{
	const struct bpe_state *b = (const struct bpe_state *)t;
	struct tok_buf *buf = &j->buf[BUF_WORD];
	const char *end = s + n;
	enum lmd_status st = LMD_OK;
	size_t len = 0;

	while (s < end && st == LMD_OK) {
		uint32_t cp = tok_utf8_get(&s, end);

		if (tok_ucd_is(cp, TOK_UCD_SPACE)) {
			if (len)
				st = bpe_text(t, j, buf->p, len);
			len = 0;
			continue;
		}
		if (!tok_buf_reserve(buf, j->host, len + 4))
			return LMD_NOMEM;
		len += tok_ucd_put_utf8((char *)buf->p + len,
					b->lowercase ? tok_ucd_lower(cp) : cp);
	}
	return st == LMD_OK && len ? bpe_text(t, j, buf->p, len) : st;
}

static enum lmd_status open_whitespace(void *state, const struct lmd_host *host,
				       const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				       struct lmd_error *err)
{
	struct bpe_state *b = state;

	b->tok.kind.text = whitespace_text;
	b->lowercase = spec->lowercase >= 0 ? spec->lowercase
					    : !(spec->pre && !strcmp(spec->pre, "whitespace"));
	return bpe_open(b, host, spec, spec->pre, 11, info, err);
}

const struct lmd_tokenizer_ops bpe_whitespace_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = open_whitespace,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};
