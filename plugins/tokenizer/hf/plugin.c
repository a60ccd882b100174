/* SPDX-License-Identifier: MIT
 *
 * Kind hf: opening, and the outer part of encoding. */
#include "tokenizer/hf/hf_kind.h"

#include "common/unicode.h"
#include "llamad/plugin.h"

static void close_kind(struct tok_tokenizer_base *t)
{
	struct hf_state *h = (struct hf_state *)t;

	hf_pieces_close(h);
	hf_added_close(h);
	hf_model_close(h);
	hf_steps_close(h);
}

static const struct lmd_tok_step *find_model(const struct lmd_tok_spec *spec)
{
	for (uint32_t i = 0; i < spec->n_step; i++)
		if (spec->step[i].phase == LMD_TOK_MODEL)
			return &spec->step[i];
	return NULL;
}

static enum lmd_status hf_open(void *state, const struct lmd_host *host,
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
	const struct lmd_tok_step *model = find_model(spec);
	struct hf_state *h = state;
	enum lmd_status st;

	if (!model)
		return lmd_fail(err, LMD_CORRUPT, "tokenizer: the description has no model");
	st = tok_vocab_open(&h->tok.vocab, host, spec, err);
	if (st != LMD_OK)
		return st;
	h->tok.kind = (struct tok_kind){.close = close_kind};
	st = hf_steps_open(h, spec, err);
	if (st == LMD_OK)
		st = hf_model_open(h, model, err);
	if (st == LMD_OK)
		st = hf_added_open(h, err);
	if (st == LMD_OK)
		st = tok_vocab_finish(&h->tok.vocab, &def, err);
	if (st == LMD_OK) {
		struct lmd_tok_info *f = &h->tok.vocab.info;

		if (f->unk < 0 && h->unk != TOK_NONE)
			f->unk = (int32_t)h->unk;
		f->add_bos = spec->n_prefix > 0;
		f->add_eos = spec->n_suffix > 0;
		f->add_space_prefix = hf_strips_first(h);
		f->max_piece_bytes = h->tok.vocab.max_bytes;
		st = hf_pieces_open(h, err);
	}
	if (st != LMD_OK) {
		tok_close(h);
		return st;
	}
	*info = h->tok.vocab.info;
	return LMD_OK;
}

/* Handles a fragment between added tokens after normalisation. */
static enum lmd_status put_normal(const struct hf_state *h, struct tok_encode_job *j,
				  const struct hf_fragment *f)
{
	return hf_split_text(h, j, f->s, f->n, f->zero);
}

/* Handles a fragment of the raw text between added tokens. */
static enum lmd_status put_raw(const struct hf_state *h, struct tok_encode_job *j,
			       const struct hf_fragment *f)
{
	struct hf_fragment normal = *f;
	struct lmd_str text = {f->s, f->n};
	enum lmd_status st = hf_normalize(h, j, &text, &normal.zero);

	if (st != LMD_OK || !text.len)
		return st;
	normal.s = text.ptr;
	normal.n = text.len;
	return hf_added_split(h, &h->normalized, j, &normal, put_normal);
}

static enum lmd_status encode_text(const struct hf_state *h, struct tok_encode_job *j,
				   const char *s, size_t n, bool control)
{
	struct tok_buf *clean = &j->buf[HF_BUF_CLEAN];
	struct hf_fragment f = {s, n, true, control};

	if (!tok_encode_job_step(j, tok_work_scan(n)))
		return LMD_CANCELLED;
	if (!tok_utf8_canonical(s, n, TOK_UCD_TOP)) {
		if (!tok_buf_reserve(clean, j->host, n * 3))
			return LMD_NOMEM;
		f.n = tok_utf8_canonicalise(clean->p, s, n, TOK_UCD_TOP);
		f.s = clean->p;
	}
	return n ? hf_added_split(h, &h->raw, j, &f, put_raw) : LMD_OK;
}

static enum lmd_status hf_encode(const void *state, const char *text, size_t bytes, uint32_t flags,
				 lmd_token *out, size_t cap, size_t *n, struct lmd_error *err)
{
	const struct hf_state *h = state;
	const struct lmd_tok_spec *spec = h->tok.vocab.spec;
	struct tok_encode_job j = {.tok = &h->tok,
				   .host = h->tok.vocab.host,
				   .out = out,
				   .cap = cap,
				   .text_bytes = bytes,
				   .err = err};
	bool add = flags & LMD_ENCODE_ADD_SPECIAL;
	enum lmd_status st;

	if (bytes >= UINT32_MAX / 4)
		return lmd_fail(err, LMD_INVALID, "text: %zu bytes, at most %u are allowed", bytes,
				UINT32_MAX / 4 - 1);
	for (uint32_t i = 0; add && i < spec->n_prefix; i++)
		tok_encode_job_put(&j, (uint32_t)spec->prefix[i]);
	st = encode_text(h, &j, text, bytes, flags & LMD_ENCODE_PARSE_SPECIAL);
	for (uint32_t i = 0; add && i < spec->n_suffix; i++)
		tok_encode_job_put(&j, (uint32_t)spec->suffix[i]);
	return tok_encode_job_end(&j, st, n);
}

static const struct lmd_tokenizer_ops ops = {
	.struct_size = sizeof(struct lmd_tokenizer_ops),
	.open = hf_open,
	.close = tok_close,
	.encode = hf_encode,
	.decode = hf_decode,
	.piece = hf_piece,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_TOKENIZER,
	.name = "hf",
	.aliases = "huggingface\0",
	.state_bytes = sizeof(struct hf_state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("tokenizer-hf", LMD_VERSION, "MIT", LMD_KIND_BIT(LMD_KIND_TOKENIZER), factories)
