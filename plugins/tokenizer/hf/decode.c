/* SPDX-License-Identifier: MIT
 *
 * Decoders: the texts of a list of tokens go through the steps as a list, and what comes out is
 * joined.  The piece of one token, as it is in the middle of a text, is what the steps make of it
 * there, less what they only do at the ends or to the whole. */
#include "tokenizer/hf/hf_kind.h"

#include "common/uni.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Texts in a row: text i is bytes[at[i] .. at[i + 1]); behind the last, up to `end`, is one that
 * is being written. */
struct texts {
	const struct lmd_host *host;
	struct lmi_buf bytes, at; /* size_t [n + 1] */
	size_t n, end;
	bool failed;              /* no memory */
};

static size_t *at_of(const struct texts *t)
{
	return t->at.p;
}

static struct lmd_str text_of(const struct texts *t, size_t i)
{
	const size_t *at = at_of(t);

	return (struct lmd_str){(const char *)t->bytes.p + at[i], at[i + 1] - at[i]};
}

static size_t n_bytes(const struct texts *t)
{
	return t->n ? at_of(t)[t->n] : 0;
}

static void clear(struct texts *t)
{
	t->n = t->end = 0;
	if (!lmi_buf_need(&t->at, t->host, sizeof(size_t)))
		t->failed = true;
	else
		at_of(t)[0] = 0;
}

/* Adds to the text that is being written. */
static void add(struct texts *t, const char *s, size_t n)
{
	if (t->failed || !n)
		return;
	if (!lmi_buf_need(&t->bytes, t->host, t->end + n)) {
		t->failed = true;
		return;
	}
	memcpy((char *)t->bytes.p + t->end, s, n);
	t->end += n;
}

/* Ends it. */
static void end_text(struct texts *t)
{
	if (t->failed)
		return;
	if (!lmi_buf_need(&t->at, t->host, (t->n + 2) * sizeof(size_t))) {
		t->failed = true;
		return;
	}
	at_of(t)[++t->n] = t->end;
}

static void put(struct texts *t, const char *s, size_t n)
{
	add(t, s, n);
	end_text(t);
}

/* Bytes of the character at p, strictly UTF-8; 0: none, and *bad is how many bytes belong to
 * what was begun. */
static size_t strict(const unsigned char *p, const unsigned char *end, size_t *bad)
{
	unsigned char c = *p, low = 0x80, high = 0xbf;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	*bad = 1;
	if (n <= 1)
		return n;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < n; i++) {
		if (p + i == end || p[i] < low || p[i] > high)
			return 0;
		*bad = i + 1;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

static bool is_utf8(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;
	size_t bad, len;

	for (; p < end; p += len) {
		len = strict(p, end, &bad);
		if (!len)
			return false;
	}
	return true;
}

/* What is no UTF-8 becomes U+FFFD, once for each beginning of a character. */
static void add_lossy(struct texts *t, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n, *from = p;
	size_t bad, len;

	while (p < end) {
		len = strict(p, end, &bad);
		if (len) {
			p += len;
			continue;
		}
		add(t, (const char *)from, (size_t)(p - from));
		add(t, REPLACEMENT, 3);
		from = p += bad;
	}
	add(t, (const char *)from, (size_t)(p - from));
}

/* A text in the byte alphabet as bytes; one with another character as it stands. */
static void add_bytes(struct texts *t, const struct lmd_str *s)
{
	const char *p = s->ptr, *end = p + s->len;

	while (p < end)
		if (lmi_char_byte(lmi_utf8_get(&p, end)) < 0) {
			add(t, s->ptr, s->len);
			return;
		}
	for (p = s->ptr; p < end;) {
		char c = (char)lmi_char_byte(lmi_utf8_get(&p, end));

		add(t, &c, 1);
	}
}

/* All places of a text replaced. */
static void add_replaced(struct texts *t, const struct lmd_str *s, const char *from, const char *to)
{
	const char *p = s->ptr, *end = p + s->len, *q;
	size_t n = strlen(from);

	while (n && (q = memmem(p, (size_t)(end - p), from, n)) != NULL) {
		add(t, p, (size_t)(q - p));
		add(t, to, strlen(to));
		p = q + n;
	}
	add(t, p, (size_t)(end - p));
}

/* Takes blanks away that are customary in front of punctuation. */
static void clean_up(struct texts *t, struct texts *spare)
{
	static const char *const rules[][2] = {
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
		{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	};

	for (size_t r = 0; r < LMD_LEN(rules); r++) {
		struct texts swap;

		clear(spare);
		for (size_t i = 0; i < t->n && !spare->failed; i++) {
			struct lmd_str s = text_of(t, i);

			add_replaced(spare, &s, rules[r][0], rules[r][1]);
			end_text(spare);
		}
		spare->failed |= t->failed;
		swap = *t;
		*t = *spare;
		*spare = swap;
		spare->failed = t->failed;
	}
}

/* One decoding: from one list to the other, and back. */
struct decoding {
	struct texts in, out;
	bool middle;  /* each text by itself, as between others */
	bool fused;
	enum lmd_status st;
};

static void swap_lists(struct decoding *d)
{
	struct texts t = d->in;

	d->in = d->out;
	d->out = t;
}

static void each_bytes(struct decoding *d)
{
	struct texts *o = &d->out;

	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str s = text_of(&d->in, i);

		add_bytes(o, &s);
		if (d->middle)
			end_text(o);
	}
	if (d->middle || o->failed)
		return;
	if (is_utf8(o->bytes.p, o->end)) {
		end_text(o);
		return;
	}
	clear(&d->in);
	add_lossy(&d->in, o->bytes.p, o->end);
	end_text(&d->in);
	swap_lists(d);
}

static void each_replace(struct decoding *d, const struct hf_step *s)
{
	struct lmi_job j = {.host = d->in.host};
	struct hf_out o = {&j.buf[HF_BUF_NORMAL], j.host, 0, LMD_OK};

	for (size_t i = 0; i < d->in.n && !d->out.failed; i++) {
		struct lmd_str t = text_of(&d->in, i);
		bool zero = true;

		o.n = 0;
		if (!hf_replace(s, &t, &o, &j, &zero)) {
			d->st = o.st != LMD_OK ? o.st : LMD_NOMEM;
			break;
		}
		put(&d->out, o.buf->p, o.n);
	}
	lmi_buf_fini(o.buf, j.host);
}

static void each_word_piece(struct decoding *d, const struct hf_step *s)
{
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i);
		bool inside = s->content.len <= t.len && s->content.ptr &&
			      !memcmp(t.ptr, s->content.ptr, s->content.len);

		if ((i || d->middle) && inside)
			t = (struct lmd_str){t.ptr + s->content.len, t.len - s->content.len};
		else if (i || d->middle)
			add(&d->out, " ", 1);
		put(&d->out, t.ptr, t.len);
	}
	if (s->clean && !d->middle) {
		clean_up(&d->out, &d->in);
	}
}

static void end_fallback(struct decoding *d, struct lmi_buf *held, size_t *n)
{
	if (is_utf8(held->p, *n)) {
		if (*n)
			put(&d->out, held->p, *n);
	} else {
		for (size_t i = 0; i < *n; i++)
			put(&d->out, REPLACEMENT, 3);
	}
	*n = 0;
}

/* Bytes in a row are a text if they are UTF-8. */
static void each_fallback(struct decoding *d)
{
	struct lmi_buf held = {NULL, 0};
	size_t n = 0;

	for (size_t i = 0; i < d->in.n && !d->out.failed; i++) {
		struct lmd_str t = text_of(&d->in, i);
		int byte = lmi_byte_text(t.ptr, t.len);
		char c = (char)byte;

		if (byte < 0 || d->middle) {
			end_fallback(d, &held, &n);
			put(&d->out, byte < 0 ? t.ptr : &c, byte < 0 ? t.len : 1);
		} else if (lmi_buf_need(&held, d->in.host, n + 1)) {
			((char *)held.p)[n++] = c;
		} else {
			d->out.failed = true;
		}
	}
	end_fallback(d, &held, &n);
	lmi_buf_fini(&held, d->in.host);
}

static void each_strip(struct decoding *d, const struct hf_step *s)
{
	size_t k = s->content.len;

	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i);

		if (!d->middle || !d->fused) {
			for (uint32_t c = 0; c < s->start && k && t.len >= k; c++) {
				if (memcmp(t.ptr, s->content.ptr, k) != 0)
					break;
				t.ptr += k;
				t.len -= k;
			}
			for (uint32_t c = 0; c < s->stop && k && t.len >= k; c++) {
				if (memcmp(t.ptr + t.len - k, s->content.ptr, k) != 0)
					break;
				t.len -= k;
			}
		}
		put(&d->out, t.ptr, t.len);
	}
}

static void each_metaspace(struct decoding *d, const struct hf_step *s)
{
	char r[32];

	snprintf(r, sizeof(r), "%.*s", (int)(s->content.len < 31 ? s->content.len : 31), s->content.ptr);
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i);
		bool first = !i && !d->middle && s->prepend != HF_NEVER;

		add_replaced(&d->out, &t, r, first ? "" : " ");
		end_text(&d->out);
	}
}

static void each_suffix(struct decoding *d, const struct hf_step *s)
{
	char r[64];

	snprintf(r, sizeof(r), "%.*s", (int)(s->content.len < 63 ? s->content.len : 63),
		 s->content.ptr ? s->content.ptr : "");
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i);

		add_replaced(&d->out, &t, r, i + 1 == d->in.n && !d->middle ? "" : " ");
		end_text(&d->out);
	}
}

/* Repeated tokens count once, padding is nothing. */
static void each_ctc(struct decoding *d, const struct hf_step *s)
{
	char pad[64], gap[64];

	snprintf(pad, sizeof(pad), "%.*s", (int)(s->pattern.len < 63 ? s->pattern.len : 63),
		 s->pattern.ptr ? s->pattern.ptr : "");
	snprintf(gap, sizeof(gap), "%.*s", (int)(s->content.len < 63 ? s->content.len : 63),
		 s->content.ptr ? s->content.ptr : "");
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i), b = i ? text_of(&d->in, i - 1) : t;

		if (i && !d->middle && t.len == b.len && !memcmp(t.ptr, b.ptr, t.len))
			continue;
		add_replaced(&d->out, &t, pad, "");
		if (d->out.failed)
			return;
		if (d->middle || d->out.end > at_of(&d->out)[d->out.n])
			end_text(&d->out);
	}
	if (!s->clean || d->middle)
		return;
	clean_up(&d->out, &d->in);
	swap_lists(d);
	clear(&d->out);
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = text_of(&d->in, i);

		add_replaced(&d->out, &t, gap, " ");
		end_text(&d->out);
	}
}

static void each_fuse(struct decoding *d)
{
	if (!d->middle) {
		put(&d->out, d->in.bytes.p, n_bytes(&d->in));
	} else {
		for (size_t i = 0; i < d->in.n; i++) {
			struct lmd_str t = text_of(&d->in, i);

			put(&d->out, t.ptr, t.len);
		}
	}
	d->fused = true;
}

static void run_step(struct decoding *d, const struct hf_step *s)
{
	clear(&d->out);
	switch ((enum hf_decoder)s->type->detail) {
	case HF_DEC_BYTES:
		each_bytes(d);
		break;
	case HF_DEC_REPLACE:
		each_replace(d, s);
		break;
	case HF_DEC_WORDPIECE:
		each_word_piece(d, s);
		break;
	case HF_DEC_FALLBACK:
		each_fallback(d);
		break;
	case HF_DEC_FUSE:
		each_fuse(d);
		break;
	case HF_DEC_STRIP:
		each_strip(d, s);
		break;
	case HF_DEC_METASPACE:
		each_metaspace(d, s);
		break;
	case HF_DEC_SUFFIX:
		each_suffix(d, s);
		break;
	case HF_DEC_CTC:
		each_ctc(d, s);
		break;
	}
	swap_lists(d);
	if (d->in.failed && d->st == LMD_OK)
		d->st = LMD_NOMEM;
}

/* Runs d->in through all steps. */
static void run_steps(const struct hf_state *h, struct decoding *d)
{
	if (d->in.failed)
		d->st = LMD_NOMEM;
	for (uint32_t i = 0; i < h->n_decode && d->st == LMD_OK; i++)
		run_step(d, &h->decode[i]);
}

static void drop(struct decoding *d)
{
	struct texts *const t[] = {&d->in, &d->out};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		lmi_buf_fini(&t[i]->bytes, t[i]->host);
		lmi_buf_fini(&t[i]->at, t[i]->host);
	}
}

static bool is_special(const struct lmi_vocab *v, uint32_t id)
{
	return v->spec->added && (v->spec->added[id] & LMD_ADDED_SPECIAL);
}

/* A hole of the vocabulary has no text. */
static bool is_hole(const struct lmi_vocab *v, uint32_t id)
{
	return !v->spec->text[id].len;
}

/* Leaves out what encode puts around a text. */
static void without_ends(const struct lmd_tokspec *s, const lmd_token **ids, size_t *n)
{
	const lmd_token *end = *ids + *n;
	size_t f = s->n_prefix, b = s->n_suffix;

	if (f && *n >= f && !memcmp(*ids, s->prefix, f * sizeof(**ids))) {
		*ids += f;
		*n -= f;
	}
	if (b && *n >= b && !memcmp(end - b, s->suffix, b * sizeof(**ids)))
		*n -= b;
}

enum lmd_status hf_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			  char *out, size_t cap, size_t *n, struct lmd_error *err)
{
	const struct hf_state *h = state;
	const struct lmi_vocab *v = &h->tok.vocab;
	struct decoding d = {.in.host = v->host, .out.host = v->host};
	enum lmd_status st = lmi_tok_check_ids(v, ids, n_ids, err);

	if (st != LMD_OK)
		return st;
	if (flags & LMD_DECODE_REMOVE_SPECIAL)
		without_ends(v->spec, &ids, &n_ids);
	clear(&d.in);
	for (size_t i = 0; i < n_ids; i++) {
		uint32_t id = (uint32_t)ids[i];

		if (is_hole(v, id) || (!(flags & LMD_DECODE_UNPARSE_SPECIAL) && is_special(v, id)))
			continue;
		if (!h->n_decode && d.in.n)
			add(&d.in, " ", 1);
		put(&d.in, v->text[id].ptr, v->text[id].len);
	}
	run_steps(h, &d);
	st = d.st;
	if (st == LMD_OK) {
		*n = n_bytes(&d.in);
		if (cap && *n)
			memcpy(out, d.in.bytes.p, *n < cap ? *n : cap);
	}
	drop(&d);
	if (st == LMD_INVALID)
		return lmd_fail(err, st, "decoding: a token takes a decoder too many steps");
	return st == LMD_OK ? st : lmd_fail(err, st, "decoding: no memory for %zu tokens", n_ids);
}

bool hf_strips_first(const struct hf_state *h)
{
	for (uint32_t i = 0; i < h->n_decode; i++) {
		const struct hf_step *s = &h->decode[i];

		switch ((enum hf_decoder)s->type->detail) {
		case HF_DEC_METASPACE:
			return s->prepend != HF_NEVER;
		case HF_DEC_WORDPIECE:
			return true;
		case HF_DEC_STRIP:
			if (s->start && s->content.len == 1 && *s->content.ptr == ' ')
				return true;
			break;
		default:
			break;
		}
	}
	return !h->n_decode;
}

/* Pieces are read off the text when bytes are all that is decoded. */
static bool plain_bytes(const struct hf_state *h)
{
	return h->n_decode == 1 && h->decode[0].type->detail == HF_DEC_BYTES;
}

enum lmd_status hf_pieces_open(struct hf_state *h, struct lmd_error *err)
{
	const struct lmi_vocab *v = &h->tok.vocab;
	struct decoding d = {.in.host = v->host, .out.host = v->host, .middle = true};

	if (plain_bytes(h))
		return LMD_OK;
	clear(&d.in);
	for (uint32_t i = 0; i < v->n; i++) {
		if (!h->n_decode && !is_hole(v, i))
			add(&d.in, " ", 1);
		put(&d.in, v->text[i].ptr, is_hole(v, i) ? 0 : v->text[i].len);
	}
	run_steps(h, &d);
	h->piece_at = lmi_host_array(v->host, v->n + 1u, sizeof(*h->piece_at));
	if (!h->piece_at || (d.st == LMD_OK && n_bytes(&d.in) > UINT32_MAX))
		d.st = LMD_NOMEM;
	if (d.st == LMD_OK) {
		for (uint32_t i = 0; i <= v->n; i++) {
			h->piece_at[i] = (uint32_t)at_of(&d.in)[i];
			if (i && h->piece_at[i] - h->piece_at[i - 1] > h->tok.vocab.info.max_piece_bytes)
				h->tok.vocab.info.max_piece_bytes =
					h->piece_at[i] - h->piece_at[i - 1];
		}
		h->piece_text = d.in.bytes.p;
		d.in.bytes = (struct lmi_buf){NULL, 0};
	}
	drop(&d);
	return d.st == LMD_OK ? LMD_OK
			      : lmd_fail(err, d.st, "vocabulary: no pieces of %u tokens", v->n);
}

void hf_pieces_close(struct hf_state *h)
{
	lmi_host_free(h->tok.vocab.host, h->piece_at);
	lmi_host_free(h->tok.vocab.host, h->piece_text);
}

size_t hf_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap)
{
	const struct hf_state *h = state;
	const struct lmi_vocab *v = &h->tok.vocab;
	struct lmi_sink s = {out, cap, 0, 0};
	const char *p, *end;

	if (id < 0 || (uint32_t)id >= v->n || is_hole(v, (uint32_t)id) ||
	    (!(flags & LMD_DECODE_UNPARSE_SPECIAL) && is_special(v, (uint32_t)id)))
		return 0;
	if (h->piece_at) {
		lmi_sink_put(&s, h->piece_text + h->piece_at[id],
			     h->piece_at[id + 1] - h->piece_at[id]);
		return s.n;
	}
	p = v->text[id].ptr;
	end = p + v->text[id].len;
	for (const char *q = p; q < end;) {
		if (lmi_char_byte(lmi_utf8_get(&q, end)) < 0) {
			lmi_sink_put(&s, p, (size_t)(end - p));
			return s.n;
		}
	}
	while (p < end) {
		char c = (char)lmi_char_byte(lmi_utf8_get(&p, end));

		lmi_sink_put(&s, &c, 1);
	}
	return s.n;
}
