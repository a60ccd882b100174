/* SPDX-License-Identifier: MIT
 *
 * Models without a text vocabulary: ids are plain numbers, nothing can be encoded, and every piece
 * is empty. */
#include "llamad/plugin.h"
#include "llamad/tokenizer.h"

struct none_state {
	uint32_t n_tokens;
};

static enum lmd_status none_open(void *state, const struct lmd_host *host,
				 const struct lmd_tokspec *spec, struct lmd_tok_info *info,
				 struct lmd_error *err)
{
	struct none_state *s = state;

	(void)host;
	(void)err;
	s->n_tokens = spec->n_tokens;
	*info = (struct lmd_tok_info){
		.struct_size = sizeof(*info), .n_tokens = spec->n_tokens,
		.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .sep = -1, .pad = -1,
		.cls = -1, .mask = -1, .fim_pre = -1, .fim_suf = -1, .fim_mid = -1, .fim_pad = -1,
		.fim_rep = -1, .fim_sep = -1,
	};
	return LMD_OK;
}

static void none_close(void *state)
{
	(void)state;
}

static enum lmd_status none_encode(const void *state, const char *text, size_t bytes,
				   uint32_t flags, lmd_token *out, size_t cap, size_t *n,
				   struct lmd_error *err)
{
	(void)state;
	(void)text;
	(void)flags;
	(void)out;
	(void)cap;
	if (bytes)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"the model has no text vocabulary: %zu bytes of text cannot be "
				"tokenised",
				bytes);
	*n = 0;
	return LMD_OK;
}

static enum lmd_status none_decode(const void *state, const lmd_token *ids, size_t n_ids,
				   uint32_t flags, char *out, size_t cap, size_t *n,
				   struct lmd_error *err)
{
	const struct none_state *s = state;

	(void)flags;
	(void)out;
	(void)cap;
	for (size_t i = 0; i < n_ids; i++)
		if (ids[i] < 0 || (uint32_t)ids[i] >= s->n_tokens)
			return lmd_fail(
				err, LMD_INVALID,
				"token %d at position %zu is outside the vocabulary of %u",
				ids[i], i, s->n_tokens);
	*n = 0;
	return LMD_OK;
}

static size_t none_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	(void)state;
	(void)id;
	(void)flags;
	(void)out;
	(void)cap;
	return 0;
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = none_open,
	.close = none_close,
	.encode = none_encode,
	.decode = none_decode,
	.piece = none_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "none",
	.aliases = "no_vocab\0",
	.state_bytes = sizeof(struct none_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-none", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
