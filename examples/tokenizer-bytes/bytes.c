/* SPDX-License-Identifier: MIT
 *
 * A tokenizer in one page: every byte is a token, 256 begins a text and 257 ends it.  Models select
 * it by tokenizer.ggml.model = "bytes". */
#include <llamad/plugin.h>
#include <llamad/tokenizer.h>

enum { BEGIN = 256, END = 257, N_TOKENS = 258 };

struct state {
	bool add_begin; /* begin each text with BEGIN unless the file disables it */
};

static const int32_t end_of_generation[] = {END};

static enum lmd_status bytes_open(void *state, const struct lmd_host *host,
				  const struct lmd_tokspec *spec, struct lmd_tok_info *info,
				  struct lmd_error *err)
{
	struct state *s = state;

	if (spec->n_tokens && spec->n_tokens != N_TOKENS)
		return lmd_fail(err, LMD_CORRUPT, "bytes: the vocabulary has %u tokens, not %d",
				spec->n_tokens, N_TOKENS);
	(void)host; /* host->alloc is available for tables; this tokenizer needs none */
	s->add_begin = spec->add_bos != 0;
	info->n_tokens = N_TOKENS;
	info->bos = BEGIN;
	info->eos = info->eot = END;
	info->eom = info->unk = info->sep = info->pad = info->cls = info->mask = -1;
	info->fim_pre = info->fim_suf = info->fim_mid = -1;
	info->fim_pad = info->fim_rep = info->fim_sep = -1;
	info->add_bos = s->add_begin;
	info->eog = end_of_generation;
	info->n_eog = 1;
	info->max_piece_bytes = 4;
	return LMD_OK;
}

static void bytes_close(void *state)
{
	(void)state;
}

/* The text of a special token. */
static const char *special(lmd_token id)
{
	return id == BEGIN ? "<s>" : id == END ? "</s>" : NULL;
}

static enum lmd_status bytes_encode(const void *state, const char *text, size_t bytes,
				    uint32_t flags, lmd_token *out, size_t cap, size_t *n,
				    struct lmd_error *err)
{
	const struct state *s = state;
	size_t at = 0;

	(void)err;
	if ((flags & LMD_ENCODE_ADD_SPECIAL) && s->add_begin) {
		if (at < cap)
			out[at] = BEGIN;
		at++;
	}
	for (size_t i = 0; i < bytes; at++) {
		lmd_token id = (unsigned char)text[i];
		size_t len = 1;

		for (lmd_token t = BEGIN; t <= END && (flags & LMD_ENCODE_PARSE_SPECIAL); t++) {
			size_t k = strlen(special(t));

			if (k <= bytes - i && !memcmp(text + i, special(t), k)) {
				id = t;
				len = k;
			}
		}
		if (at < cap)
			out[at] = id;
		i += len;
	}
	*n = at;
	return LMD_OK;
}

static size_t bytes_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	size_t n = 1;

	(void)state;
	if (id < 0 || id >= N_TOKENS)
		return 0;
	if (id < BEGIN) {
		if (cap)
			*out = (char)id;
		return n;
	}
	if (!(flags & LMD_DECODE_UNPARSE_SPECIAL))
		return 0;
	n = strlen(special(id));
	memcpy(out, special(id), n < cap ? n : cap);
	return n;
}

static enum lmd_status bytes_decode(const void *state, const lmd_token *ids, size_t n_ids,
				    uint32_t flags, char *out, size_t cap, size_t *n,
				    struct lmd_error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < n_ids; i++) {
		if (ids[i] < 0 || ids[i] >= N_TOKENS)
			return lmd_fail(err, LMD_INVALID, "bytes: token %d is outside 0..%d",
					ids[i], N_TOKENS - 1);
		if ((flags & LMD_DECODE_REMOVE_SPECIAL) && !i && ids[i] == BEGIN)
			continue;
		at += bytes_piece(state, ids[i], flags, at < cap ? out + at : NULL,
				  at < cap ? cap - at : 0);
	}
	*n = at;
	return LMD_OK;
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = bytes_open,
	.close = bytes_close,
	.encode = bytes_encode,
	.decode = bytes_decode,
	.piece = bytes_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "bytes",
	.aliases = "byte-level-example\0",
	.state_bytes = sizeof(struct state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-bytes", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
