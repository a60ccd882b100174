/* SPDX-License-Identifier: MIT
 *
 * Kinds gpt2 and gemma4: byte-pair encoding with a pre-tokenizer chosen by name. */
#include "tokenizer/bpe/bpe_kind.h"

#include <string.h>

#include "common/unicode.h"

/* Scratch buffers of a job, in addition to those of tok_bpe_word. */
enum { BUF_ESCAPED = 3, BUF_CLEAN = 4 };

static const char *escape_spaces(struct tok_encode_job *j, const char *s, size_t *n)
{
	size_t spaces = 0;
	char *o;

	for (size_t i = 0; i < *n; i++)
		spaces += s[i] == ' ';
	if (!spaces)
		return s;
	if (!tok_buf_reserve(&j->buf[BUF_ESCAPED], j->host, *n + 2 * spaces))
		return NULL;
	o = j->buf[BUF_ESCAPED].p;
	for (size_t i = 0; i < *n; i++) {
		if (s[i] == ' ') {
			memcpy(o, "\xe2\x96\x81", 3);
			o += 3;
		} else {
			*o++ = s[i];
		}
	}
	*n += 2 * spaces;
	return j->buf[BUF_ESCAPED].p;
}

struct word_arg {
	const struct tok_bpe *bpe;
	struct tok_encode_job *job;
};

static enum lmd_status put_word(void *arg, const char *w, size_t n)
{
	struct word_arg *a = arg;

	return tok_bpe_word(a->bpe, a->job, w, n);
}

enum lmd_status bpe_text(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
			 const char *s, size_t n)
{
	const struct bpe_state *b = (const struct bpe_state *)t;
	struct word_arg arg = {&b->bpe, j};

	if (!tok_encode_job_step(j, tok_work_scan(n)))
		return LMD_CANCELLED;
	if (b->escape_space)
		s = escape_spaces(j, s, &n);
	if (s && !tok_utf8_canonical(s, n, TOK_UCD_TOP)) {
		if (!tok_buf_reserve(&j->buf[BUF_CLEAN], j->host, n * 3))
			return LMD_NOMEM;
		n = tok_utf8_canonicalise(j->buf[BUF_CLEAN].p, s, n, TOK_UCD_TOP);
		s = j->buf[BUF_CLEAN].p;
	}
	return s ? pretok_split(&b->pre, s, n, put_word, &arg, NULL) : LMD_NOMEM;
}

static void close_kind(struct tok_tokenizer_base *t)
{
	struct bpe_state *b = (struct bpe_state *)t;

	pretok_close(&b->pre);
	tok_bpe_close(&b->bpe);
}

/* Characters outside the byte alphabet are written as a note, which is longer. */
static bool long_piece(const struct tok_tokenizer_base *t, uint32_t id)
{
	const struct bpe_state *b = (const struct bpe_state *)t;

	return b->tok.kind.piece == TOK_PIECE_BYTES &&
	       (!b->bpe.byte_level || !((const struct lmd_str *)b->bpe.sym.p)[id].ptr);
}

static const struct pretok_name *find_name(const struct lmd_host *host, const char *pre)
{
	if (pre && *pre)
		return pretok_find(pre);
	host->log(host->ctx, "tokenizer", LMD_LOG_WARN,
		  "the file names no pre-tokenizer: using 'default', which splits some texts "
		  "differently from the model's training");
	return pretok_find("default");
}

enum lmd_status bpe_open(struct bpe_state *b, const struct lmd_host *host,
			 const struct lmd_tok_spec *spec, const char *pre, int32_t def_bos,
			 struct lmd_tok_info *info, struct lmd_error *err)
{
	const struct pretok_name *name = find_name(host, pre);
	struct tok_vocab_defaults def;
	enum lmd_status st;

	if (!name)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"tokenizer.ggml.pre: pre-tokenizer '%.80s' is "
				"not known",
				pre);
	if (!spec->merge && !(name->flags & PRETOK_NO_MERGES))
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: tokenizer '%s' has no merges",
				spec->kind ? spec->kind : "");
	st = tok_vocab_open(&b->tok.vocab, host, spec, err);
	if (st != LMD_OK)
		return st;
	b->escape_space = name->flags & PRETOK_ESCAPE_SPACE;
	b->tok.kind.add = TOK_ADD_FLAGS;
	b->tok.kind.piece = b->escape_space ? TOK_PIECE_BLOCK : TOK_PIECE_BYTES;
	b->tok.kind.close = close_kind;
	b->tok.kind.long_piece = long_piece;
	if (!b->tok.kind.text)
		b->tok.kind.text = bpe_text;
	b->bpe.byte_level = !(name->flags & PRETOK_PLAIN);
	b->bpe.ignore_merges = spec->ignore_merges >= 0 ? spec->ignore_merges
							: (name->flags & PRETOK_IGNORE_MERGES) != 0;
	b->bpe.keep_line_feeds = name->flags & PRETOK_KEEP_LINE_FEEDS;
	def = (struct tok_vocab_defaults){
		.bos = name->flags & PRETOK_NO_BOS ? -1 : def_bos,
		.eos = def_bos,
		.unk = -1,
		.sep = -1,
		.pad = -1,
		.mask = -1,
		.add_bos = (name->flags & PRETOK_ADD_BOS) != 0,
		.add_sep = (name->flags & PRETOK_ADD_SEP) != 0,
		.clean_spaces = !(name->flags & PRETOK_KEEP_SPACES),
		.force_add_bos = (name->flags & PRETOK_FORCE_BOS) != 0,
		.mask_lstrip = (name->flags & PRETOK_MASK_LSTRIP) != 0,
	};
	if (b->dna)
		bpe_dna_tokens(b);
	st = pretok_open(&b->pre, host, name->family, err);
	if (st == LMD_OK)
		st = tok_bpe_open(&b->bpe, &b->tok.vocab, err);
	if (st != LMD_OK) {
		tok_close(b);
		return st;
	}
	return tok_finish(&b->tok, &def, info, err);
}

static enum lmd_status open_gpt2(void *state, const struct lmd_host *host,
				 const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				 struct lmd_error *err)
{
	return bpe_open(state, host, spec, spec->pre, 11, info, err);
}

static enum lmd_status open_gemma4(void *state, const struct lmd_host *host,
				   const struct lmd_tok_spec *spec, struct lmd_tok_info *info,
				   struct lmd_error *err)
{
	return bpe_open(state, host, spec, "gemma4", -1, info, err);
}

const struct lmd_tokenizer_ops bpe_gpt2_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = open_gpt2,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};

const struct lmd_tokenizer_ops bpe_gemma4_ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = open_gemma4,
	.close = tok_close,
	.encode = tok_encode,
	.decode = tok_decode,
	.piece = tok_piece,
};
