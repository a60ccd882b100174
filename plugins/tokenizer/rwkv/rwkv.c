/* SPDX-License-Identifier: MIT
 *
 * Kind rwkv: token texts are written with backslash escapes, and a text is covered from the left
 * by the longest tokens. Begin and end tokens are never added. */
#include "common/tokenizer_base.h"
#include "common/trie.h"
#include "llamad/plugin.h"

struct rwkv_state {
	struct tok_tokenizer_base tok; /* must be first */
	struct tok_trie trie;
};

static enum lmd_status rwkv_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				 const char *s, size_t n)
{
	const struct rwkv_state *r = (const struct rwkv_state *)t;

	for (size_t at = 0; at < n;) {
		uint32_t id;
		size_t len = tok_trie_longest(&r->trie, s + at, n - at, &id);

		if (len)
			tok_encode_job_put(j, id);
		else if (t->vocab.info.unk >= 0)
			tok_encode_job_put(j, (uint32_t)t->vocab.info.unk);
		at += len ? len : 1;
		if (!tok_encode_job_step(j, len + 1))
			return LMD_CANCELLED;
	}
	return LMD_OK;
}

static void rwkv_close(struct tok_tokenizer_base *t)
{
	tok_trie_fini(&((struct rwkv_state *)t)->trie, t->vocab.host);
}

static bool build(struct rwkv_state *r)
{
	const struct tok_vocab *v = &r->tok.vocab;
	size_t bytes = 0;
	char *raw = tok_host_array(v->host, v->max_bytes, 1);
	bool ok = raw != NULL;

	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	ok = ok && tok_trie_init(&r->trie, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++) {
		size_t n = tok_unescape(raw, v->text[i].ptr, v->text[i].len);

		ok = tok_trie_add(&r->trie, v->host, raw, n, i);
	}
	tok_host_free(v->host, raw);
	return ok;
}

static enum lmd_status rwkv_open(void *state, const struct lmd_host *host,
				 const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				 struct lmd_error *err)
{
	static const struct tok_vocab_defaults def = {
		.bos = -1,
		.eos = -1,
		.unk = -1,
		.sep = -1,
		.pad = -1,
		.mask = -1,
	};
	struct rwkv_state *r = state;
	enum lmd_status st = tok_vocab_open(&r->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	r->tok.kind = (struct tok_kind){.add = TOK_ADD_NOTHING,
					.piece = TOK_PIECE_ESCAPED,
					.text = rwkv_text,
					.close = rwkv_close};
	if (!build(r)) {
		tok_close(r);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens",
				spec->n_tokens);
	}
	return tok_finish(&r->tok, &def, info, err);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = rwkv_open,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "rwkv",
	.state_bytes = sizeof(struct rwkv_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-rwkv", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
