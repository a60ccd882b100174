/* SPDX-License-Identifier: MIT
 *
 * Kind rwkv: token texts are written with backslash escapes, and a text is covered from the left
 * by the longest tokens. Begin and end tokens are never added. */
#include "common/tok.h"
#include "common/trie.h"
#include "llamad/plugin.h"

struct rwkv_state {
	struct lmi_tok tok; /* must be first */
	struct lmi_trie trie;
};

static enum lmd_status rwkv_text(const struct lmi_tok *t, struct lmi_job *j, const char *s,
				 size_t n)
{
	const struct rwkv_state *r = (const struct rwkv_state *)t;

	for (size_t at = 0; at < n;) {
		uint32_t id;
		size_t len = lmi_trie_longest(&r->trie, s + at, n - at, &id);

		if (len)
			lmi_job_put(j, id);
		else if (t->vocab.info.unk >= 0)
			lmi_job_put(j, (uint32_t)t->vocab.info.unk);
		at += len ? len : 1;
	}
	return LMD_OK;
}

static void rwkv_close(struct lmi_tok *t)
{
	lmi_trie_fini(&((struct rwkv_state *)t)->trie, t->vocab.host);
}

static bool build(struct rwkv_state *r)
{
	const struct lmi_vocab *v = &r->tok.vocab;
	size_t bytes = 0;
	char *raw = lmi_host_array(v->host, v->max_bytes, 1);
	bool ok = raw != NULL;

	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	ok = ok && lmi_trie_init(&r->trie, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++) {
		size_t n = lmi_unescape(raw, v->text[i].ptr, v->text[i].len);

		ok = lmi_trie_add(&r->trie, v->host, raw, n, i);
	}
	lmi_host_free(v->host, raw);
	return ok;
}

static enum lmd_status rwkv_open(void *state, const struct lmd_host *host,
				 const struct lmd_tokspec *spec, struct lmd_tok_info *info,
				 struct lmd_error *err)
{
	static const struct lmi_vocab_defaults def = {
		.bos = -1, .eos = -1, .unk = -1, .sep = -1, .pad = -1, .mask = -1,
	};
	struct rwkv_state *r = state;
	enum lmd_status st = lmi_vocab_open(&r->tok.vocab, host, spec, err);

	if (st != LMD_OK)
		return st;
	r->tok.kind = (struct lmi_tok_kind){.add = LMI_ADD_NOTHING,
					    .piece = LMI_PIECE_ESCAPED,
					    .text = rwkv_text,
					    .close = rwkv_close};
	if (!build(r)) {
		lmi_tok_close(r);
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens",
				spec->n_tokens);
	}
	return lmi_tok_finish(&r->tok, &def, info, err);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = rwkv_open,
	.close = lmi_tok_close,
	.encode = lmi_tok_encode,
	.decode = lmi_tok_decode,
	.piece = lmi_tok_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "rwkv",
	.state_bytes = sizeof(struct rwkv_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-rwkv", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
