/* SPDX-License-Identifier: MIT
 *
 * Kind whitespace: white space separates words and is dropped; each word is encoded with byte-pair
 * encoding, in lower case if the file says so. */
#include "tokenizer/bpe/bpe_kind.h"

#include "common/uni.h"

enum { BUF_WORD = 5 };

static enum lmd_status whitespace_text(const struct lmi_tok *t, struct lmi_job *j, const char *s,
				       size_t n)
{
	const struct bpe_state *b = (const struct bpe_state *)t;
	struct lmi_buf *buf = &j->buf[BUF_WORD];
	const char *end = s + n;
	enum lmd_status st = LMD_OK;
	size_t len = 0;

	while (s < end && st == LMD_OK) {
		uint32_t cp = lmi_utf8_get(&s, end);

		if (lmi_ucd_is(cp, LMI_UCD_SPACE)) {
			if (len)
				st = bpe_text(t, j, buf->p, len);
			len = 0;
			continue;
		}
		if (!lmi_buf_need(buf, j->host, len + 4))
			return LMD_NOMEM;
		len += lmi_ucd_put_utf8((char *)buf->p + len, b->lowercase ? lmi_ucd_lower(cp) : cp);
	}
	return st == LMD_OK && len ? bpe_text(t, j, buf->p, len) : st;
}

static enum lmd_status open_whitespace(void *state, const struct lmd_host *host,
				       const struct lmd_tokspec *spec, struct lmd_tok_info *info,
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
	.close = lmi_tok_close,
	.encode = lmi_tok_encode,
	.decode = lmi_tok_decode,
	.piece = lmi_tok_piece,
};
