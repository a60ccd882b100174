/* SPDX-License-Identifier: MIT
 *
 * A file format: the checkpoints of llama2c (https://github.com/karpathy/llama2.c), such as
 * stories15M.bin, with the vocabulary in tokenizer.bin beside them.
 *
 * Two versions are read, both with float weights, which the host maps and uses in place:
 *
 *     0  seven numbers, then the weights; no magic number, so that the size of the file must agree
 *     1  the magic number, the version, the numbers and a flag in 256 bytes, then the weights
 *
 * The weights are those of a Llama and in the order of columns that GGUF files have. */
#include <llamad/format.h>
#include <llamad/plugin.h>
#include <stdio.h>
#include <string.h>

#define MAGIC		0x616b3432u
#define HEADER_BYTES_V0 28u
#define HEADER_BYTES	256u
#define MAX_VOCAB_BYTES (64u << 20)
#define N_SPECIAL	3 /* <unk>, <s>, </s> */
#define N_BYTE		256

struct header {
	int32_t dim, hidden, n_layer, n_head, n_head_kv, n_vocab, n_ctx;
	bool shared; /* the output layer is the table of embeddings */
	uint32_t version, data_at;
};

/* A row of the lists of weights: a matrix of columns (contiguous) and rows, for the whole model or,
 * one after the other, for each layer. */
enum size { ONE, DIM, DIM_KV, HIDDEN, VOCAB, DIM_HEAD, CTX };
struct weight {
	const char *name; /* after "blk.N." of a layer; NULL: not used */
	bool per_layer;
	uint8_t columns, rows; /* enum size */
};

static const struct weight weights_v0[] = {
	{"token_embd.weight", false, DIM, VOCAB},
	{"attn_norm.weight", true, DIM, ONE},
	{"attn_q.weight", true, DIM, DIM},
	{"attn_k.weight", true, DIM, DIM_KV},
	{"attn_v.weight", true, DIM, DIM_KV},
	{"attn_output.weight", true, DIM, DIM},
	{"ffn_norm.weight", true, DIM, ONE},
	{"ffn_gate.weight", true, DIM, HIDDEN},
	{"ffn_down.weight", true, HIDDEN, DIM},
	{"ffn_up.weight", true, DIM, HIDDEN},
	{"output_norm.weight", false, DIM, ONE},
	{NULL, false, DIM_HEAD, CTX}, /* sines and cosines, which the host computes */
	{"output.weight", false, DIM, VOCAB},
	{NULL, false, ONE, ONE}, /* the end */
};

static const struct weight weights_v1[] = {
	{"attn_norm.weight", true, DIM, ONE},
	{"ffn_norm.weight", true, DIM, ONE},
	{"output_norm.weight", false, DIM, ONE},
	{"token_embd.weight", false, DIM, VOCAB},
	{"attn_q.weight", true, DIM, DIM},
	{"attn_k.weight", true, DIM, DIM_KV},
	{"attn_v.weight", true, DIM, DIM_KV},
	{"attn_output.weight", true, DIM, DIM},
	{"ffn_gate.weight", true, DIM, HIDDEN},
	{"ffn_down.weight", true, HIDDEN, DIM},
	{"ffn_up.weight", true, DIM, HIDDEN},
	{"output.weight", false, DIM, VOCAB},
	{NULL, false, ONE, ONE},
};

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- the header ---- */

/* Checks a number; after the first error it does nothing. */
static void check(enum lmd_status *st, struct lmd_error *err, const char *what, int64_t value,
		  int64_t max)
{
	if (*st == LMD_OK && (value < 1 || value > max))
		*st = lmd_fail(err, LMD_INVALID, "%s: %lld, must be 1..%lld", what,
			       (long long)value, (long long)max);
}

/* Checks the numbers.  Within these limits no size below can overflow. */
static enum lmd_status check_header(const struct header *h, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	check(&st, err, "width", h->dim, 1 << 16);
	check(&st, err, "width of the FFN", h->hidden, 1 << 20);
	check(&st, err, "number of layers", h->n_layer, 1024);
	check(&st, err, "number of heads", h->n_head, h->dim);
	check(&st, err, "number of K and V heads", h->n_head_kv, h->n_head);
	check(&st, err, "number of tokens", h->n_vocab, 1 << 22);
	check(&st, err, "length of the context", h->n_ctx, 1 << 20);
	if (st == LMD_OK && (h->dim % h->n_head || h->dim / h->n_head % 2))
		st = lmd_fail(err, LMD_CORRUPT,
			      "a width of %d is not divided into %d heads of an even width", h->dim,
			      h->n_head);
	if (st == LMD_OK && h->n_head % h->n_head_kv)
		st = lmd_fail(err, LMD_CORRUPT, "%d heads are not a multiple of %d K and V heads",
			      h->n_head, h->n_head_kv);
	return st;
}

/* Parses the first n bytes of a file. */
static enum lmd_status parse_header(const uint8_t *p, size_t n, struct header *h,
				    struct lmd_error *err)
{
	int32_t v[7];

	memset(h, 0, sizeof(*h));
	h->data_at = HEADER_BYTES_V0;
	if (n >= 4 && get_u32(p) == MAGIC) {
		if (n < HEADER_BYTES)
			return lmd_fail(err, LMD_CORRUPT,
					"the file has %zu bytes, its header would have %u", n,
					HEADER_BYTES);
		h->version = get_u32(p + 4);
		h->data_at = HEADER_BYTES;
		h->shared = p[36] != 0;
		p += 8;
		if (h->version != 1)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"version %u cannot be read, only versions 0 and 1, which "
					"have weights in float",
					h->version);
	} else if (n < HEADER_BYTES_V0) {
		return lmd_fail(err, LMD_CORRUPT,
				"the file has %zu bytes, its header would have %u", n,
				HEADER_BYTES_V0);
	}
	for (int i = 0; i < 7; i++)
		v[i] = (int32_t)get_u32(p + 4 * i);
	h->dim = v[0];
	h->hidden = v[1];
	h->n_layer = v[2];
	h->n_head = v[3];
	h->n_head_kv = v[4];
	h->n_vocab = v[5];
	h->n_ctx = v[6];
	if (!h->version) { /* the sign is the flag */
		h->shared = h->n_vocab > 0;
		h->n_vocab = h->n_vocab == INT32_MIN ? 0 : h->shared ? h->n_vocab : -h->n_vocab;
	}
	return check_header(h, err);
}

/* ---- weights ---- */

static int64_t size_of(const struct header *h, uint8_t size)
{
	switch ((enum size)size) {
	case ONE:
		return 1;
	case DIM:
		return h->dim;
	case DIM_KV:
		return h->dim / h->n_head * h->n_head_kv;
	case HIDDEN:
		return h->hidden;
	case VOCAB:
		return h->n_vocab;
	case DIM_HEAD:
		return h->dim / h->n_head;
	case CTX:
		return h->n_ctx;
	}
	return 0;
}

/* Walks through the weights of a file, adds each to the builder if there is one, and returns the
 * size that the file must have. */
static uint64_t walk(const struct header *h, const struct lmd_model_builder *b)
{
	const struct weight *w = h->version ? weights_v1 : weights_v0;
	uint64_t at = h->data_at;

	for (; w->name || w->rows == CTX; w++) {
		int n = w->per_layer ? h->n_layer : 1;

		if (h->shared && w->name && !strcmp(w->name, "output.weight"))
			break;
		for (int i = 0; i < n; i++) {
			struct lmd_tensor t;
			char name[48];

			memset(&t, 0, sizeof(t));
			t.name = name;
			t.dtype = LMD_DTYPE_F32;
			t.n_dim = w->rows == ONE ? 1 : 2;
			t.dims[0] = size_of(h, w->columns);
			t.dims[1] = size_of(h, w->rows);
			t.bytes = (uint64_t)(t.dims[0] * t.dims[1]) * sizeof(float);
			t.offset = at;
			at += t.bytes;
			if (!b || !w->name)
				continue;
			if (w->per_layer)
				snprintf(name, sizeof(name), "blk.%d.%s", i, w->name);
			else
				snprintf(name, sizeof(name), "%s", w->name);
			b->add_tensor(b->ctx, &t);
		}
	}
	return at;
}

/* ---- the vocabulary ---- */

struct vocab {
	uint8_t *file; /* the bytes of tokenizer.bin */
	char *text;    /* three times as many: a blank becomes three bytes */
	struct lmd_str *token;
	double *score;
	int64_t *type;
};

/* Writes the text of a token as SentencePiece has it: U+2581 for a blank. */
static struct lmd_str text_of(int id, const uint8_t *p, uint32_t n, char **at)
{
	static const char *const special[N_SPECIAL] = {"<unk>", "<s>", "</s>"};
	struct lmd_str s = {*at, 0};

	if (id < N_SPECIAL) {
		s.ptr = special[id];
		s.len = strlen(special[id]);
		return s;
	}
	if (id < N_SPECIAL + N_BYTE) { /* the file may have the byte itself */
		s.len = (size_t)snprintf(*at, 7, "<0x%02X>", (unsigned)(id - N_SPECIAL) & 0xff);
		*at += 7;
		return s;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (p[i] == ' ') {
			memcpy(*at, "\xe2\x96\x81", 3);
			*at += 3;
		} else {
			*(*at)++ = (char)p[i];
		}
	}
	s.len = (size_t)(*at - s.ptr);
	return s;
}

/* tokenizer.bin: the length of the longest text; then score, length and text of each token. */
static enum lmd_status parse_vocab(const struct vocab *v, uint64_t n, int32_t n_vocab,
				   struct lmd_error *err)
{
	char *text = v->text;
	uint64_t at = 4;

	for (int32_t i = 0; i < n_vocab; i++) {
		uint32_t bits, len;
		float score;

		if (at + 8 > n || get_u32(v->file + at + 4) > n - at - 8)
			return lmd_fail(err, LMD_CORRUPT,
					"tokenizer.bin ends at byte %llu, in token %d of %d",
					(unsigned long long)n, i, n_vocab);
		bits = get_u32(v->file + at);
		len = get_u32(v->file + at + 4);
		memcpy(&score, &bits, sizeof(score));
		v->score[i] = (double)score;
		v->type[i] = i == 0			     ? LMD_TOKEN_UNKNOWN
			     : i < N_SPECIAL	     ? LMD_TOKEN_CONTROL
			     : i < N_SPECIAL + N_BYTE ? LMD_TOKEN_BYTE
						     : LMD_TOKEN_NORMAL;
		v->token[i] = text_of(i, v->file + at + 8, len, &text);
		at += 8 + (uint64_t)len;
	}
	if (at != n)
		return lmd_fail(err, LMD_CORRUPT,
				"tokenizer.bin has %llu bytes, but %d tokens end at byte %llu",
				(unsigned long long)n, n_vocab, (unsigned long long)at);
	return LMD_OK;
}

static enum lmd_status read_vocab(const struct lmd_model_builder *b, uint32_t file, int32_t n_vocab,
				  struct lmd_error *err)
{
	const struct lmd_host *host = b->host;
	uint64_t n = b->file_bytes(b->ctx, file);
	enum lmd_status st = LMD_NOMEM;
	struct vocab v;

	if (n < 4 || n > MAX_VOCAB_BYTES)
		return lmd_fail(err, LMD_INVALID, "tokenizer.bin has %llu bytes, must be 4..%u",
				(unsigned long long)n, MAX_VOCAB_BYTES);
	v.file = host->alloc(host->ctx, n);
	v.text = host->alloc(host->ctx, 3 * n);
	v.token = host->alloc(host->ctx, (size_t)n_vocab * sizeof(*v.token));
	v.score = host->alloc(host->ctx, (size_t)n_vocab * sizeof(*v.score));
	v.type = host->alloc(host->ctx, (size_t)n_vocab * sizeof(*v.type));
	if (v.file && v.text && v.token && v.score && v.type)
		st = b->read_file(b->ctx, file, 0, v.file, n, err);
	else
		lmd_fail(err, st, "no memory for a vocabulary of %d tokens", n_vocab);
	if (st == LMD_OK)
		st = parse_vocab(&v, n, n_vocab, err);
	if (st == LMD_OK) {
		uint64_t count = (uint64_t)n_vocab;

		lmd_add_array(b, "tokenizer.ggml.tokens", LMD_META_ARR_STR, v.token, count);
		lmd_add_array(b, "tokenizer.ggml.scores", LMD_META_ARR_F64, v.score, count);
		lmd_add_array(b, "tokenizer.ggml.token_type", LMD_META_ARR_I64, v.type, count);
	}
	host->free(host->ctx, v.file);
	host->free(host->ctx, v.text);
	host->free(host->ctx, v.token);
	host->free(host->ctx, v.score);
	host->free(host->ctx, v.type);
	return st;
}

static enum lmd_status add_vocab(const struct lmd_model_builder *b, const struct header *h,
				 struct lmd_error *err)
{
	uint32_t file;
	enum lmd_status st = b->add_file(b->ctx, "tokenizer.bin", &file, err);

	if (st == LMD_NOTFOUND) { /* the model can be run with numbers of tokens */
		lmd_add_str(b, "tokenizer.ggml.model", "no_vocab");
		return LMD_OK;
	}
	if (st != LMD_OK)
		return st;
	if (h->n_vocab < N_SPECIAL + N_BYTE)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%d tokens, but a vocabulary has at least %d: one for each byte",
				h->n_vocab, N_SPECIAL + N_BYTE);
	lmd_add_str(b, "tokenizer.ggml.model", "llama");
	lmd_add_i64(b, "tokenizer.ggml.unknown_token_id", 0);
	lmd_add_i64(b, "tokenizer.ggml.bos_token_id", 1);
	lmd_add_i64(b, "tokenizer.ggml.eos_token_id", 2);
	lmd_add_i64(b, "tokenizer.ggml.eot_token_id", 1); /* stories end where the next begins */
	lmd_add_bool(b, "tokenizer.ggml.add_bos_token", true);
	return read_vocab(b, file, h->n_vocab, err);
}

/* ---- the format ---- */

static int llama2c_probe(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	struct header h;

	(void)host;
	if (p->is_folder)
		return LMD_FORMAT_NO;
	if (p->head_bytes >= 4 && get_u32(p->head) == MAGIC)
		return LMD_FORMAT_SURE;
	if (parse_header(p->head, p->head_bytes, &h, NULL) != LMD_OK)
		return LMD_FORMAT_NO;
	return walk(&h, NULL) == p->file_bytes ? LMD_FORMAT_SURE : LMD_FORMAT_NO;
}

static enum lmd_status llama2c_open(void *state, const struct lmd_model_builder *b,
				    struct lmd_error *err)
{
	uint64_t bytes = b->file_bytes(b->ctx, 0), end;
	size_t n = bytes < HEADER_BYTES ? (size_t)bytes : HEADER_BYTES;
	uint8_t head[HEADER_BYTES];
	struct header h;
	enum lmd_status st = b->read_file(b->ctx, 0, 0, head, n, err);

	(void)state;
	if (st == LMD_OK)
		st = parse_header(head, n, &h, err);
	if (st != LMD_OK)
		return st;
	end = walk(&h, NULL);
	if (end != bytes)
		return lmd_fail(err, LMD_CORRUPT,
				"the file has %llu bytes, its weights end at %llu",
				(unsigned long long)bytes, (unsigned long long)end);
	lmd_add_str(b, "general.architecture", "llama");
	lmd_add_i64(b, "llama.block_count", h.n_layer);
	lmd_add_i64(b, "llama.context_length", h.n_ctx);
	lmd_add_i64(b, "llama.embedding_length", h.dim);
	lmd_add_i64(b, "llama.feed_forward_length", h.hidden);
	lmd_add_i64(b, "llama.attention.head_count", h.n_head);
	lmd_add_i64(b, "llama.attention.head_count_kv", h.n_head_kv);
	lmd_add_f64(b, "llama.attention.layer_norm_rms_epsilon", (double)1e-5f);
	lmd_add_i64(b, "llama.rope.dimension_count", h.dim / h.n_head);
	lmd_add_f64(b, "llama.rope.freq_base", 10000);
	lmd_add_i64(b, "llama.vocab_size", h.n_vocab);
	st = add_vocab(b, &h, err);
	if (st == LMD_OK)
		walk(&h, b);
	return st; /* the host knows the errors of the add functions */
}

static const struct lmd_format_ops ops = {
	.struct_size = sizeof(struct lmd_format_ops),
	.probe = llama2c_probe,
	.open = llama2c_open,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_FORMAT,
	.name = "llama2c",
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("format-llama2c", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_FORMAT), factories)
