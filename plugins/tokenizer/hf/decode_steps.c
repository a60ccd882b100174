/* SPDX-License-Identifier: MIT
 *
 * Decoders; each converts one list of texts to another. */
#include <stdio.h>
#include <string.h>

#include "tokenizer/hf/decode.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Removes the customary blanks before punctuation. */
static void clean_up(struct hf_texts *t, struct hf_texts *spare)
{
	static const char *const rules[][2] = {
		{" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
		{" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
		{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	};

	for (size_t r = 0; r < LMD_LEN(rules); r++) {
		struct hf_texts swap;

		hf_texts_clear(spare);
		for (size_t i = 0; i < t->n && !spare->failed; i++) {
			struct lmd_str s = hf_texts_get(t, i);

			hf_texts_add_replaced(spare, &s, rules[r][0], rules[r][1]);
			hf_texts_end(spare);
		}
		spare->failed |= t->failed;
		swap = *t;
		*t = *spare;
		*spare = swap;
		spare->failed = t->failed;
	}
}

static void swap_lists(struct hf_decoding *d)
{
	struct hf_texts t = d->in;

	d->in = d->out;
	d->out = t;
}

static void each_bytes(struct hf_decoding *d)
{
	struct hf_texts *o = &d->out;

	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str s = hf_texts_get(&d->in, i);

		hf_texts_add_spelt(o, &s);
		if (d->middle)
			hf_texts_end(o);
	}
	if (d->middle || o->failed)
		return;
	if (hf_is_utf8(o->bytes.p, o->end)) {
		hf_texts_end(o);
		return;
	}
	hf_texts_clear(&d->in);
	hf_texts_add_lossy(&d->in, o->bytes.p, o->end);
	hf_texts_end(&d->in);
	swap_lists(d);
}

static void each_replace(struct hf_decoding *d, const struct hf_step *s)
{
	struct tok_encode_job j = {.host = d->in.host};
	struct hf_out o = {.buf = &j.buf[HF_BUF_NORMAL], .host = j.host};

	for (size_t i = 0; i < d->in.n && !d->out.failed; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);
		bool zero = true;

		o.n = 0;
		if (!hf_replace(s, &t, &o, &j, &zero)) {
			d->st = o.st != LMD_OK ? o.st : LMD_NOMEM;
			break;
		}
		hf_texts_put(&d->out, o.buf->p, o.n);
	}
	tok_buf_fini(o.buf, j.host);
}

static void each_word_piece(struct hf_decoding *d, const struct hf_step *s)
{
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);
		bool inside = s->content.len <= t.len && s->content.ptr &&
			      !memcmp(t.ptr, s->content.ptr, s->content.len);

		if ((i || d->middle) && inside)
			t = (struct lmd_str){t.ptr + s->content.len, t.len - s->content.len};
		else if (i || d->middle)
			hf_texts_add(&d->out, " ", 1);
		hf_texts_put(&d->out, t.ptr, t.len);
	}
	if (s->clean && !d->middle) {
		clean_up(&d->out, &d->in);
	}
}

static void end_fallback(struct hf_decoding *d, struct tok_buf *held, size_t *n)
{
	if (hf_is_utf8(held->p, *n)) {
		if (*n)
			hf_texts_put(&d->out, held->p, *n);
	} else {
		for (size_t i = 0; i < *n; i++)
			hf_texts_put(&d->out, REPLACEMENT, 3);
	}
	*n = 0;
}

/* Consecutive byte tokens become text if they are valid UTF-8. */
static void each_fallback(struct hf_decoding *d)
{
	struct tok_buf held = {NULL, 0};
	size_t n = 0;

	for (size_t i = 0; i < d->in.n && !d->out.failed; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);
		int byte = tok_byte_text(t.ptr, t.len);
		char c = (char)byte;

		if (byte < 0 || d->middle) {
			end_fallback(d, &held, &n);
			hf_texts_put(&d->out, byte < 0 ? t.ptr : &c, byte < 0 ? t.len : 1);
		} else if (tok_buf_reserve(&held, d->in.host, n + 1)) {
			((char *)held.p)[n++] = c;
		} else {
			d->out.failed = true;
		}
	}
	end_fallback(d, &held, &n);
	tok_buf_fini(&held, d->in.host);
}

static void each_strip(struct hf_decoding *d, const struct hf_step *s)
{
	size_t k = s->content.len;

	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);

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
		hf_texts_put(&d->out, t.ptr, t.len);
	}
}

static void each_metaspace(struct hf_decoding *d, const struct hf_step *s)
{
	char r[32];

	snprintf(r, sizeof(r), "%.*s", (int)(s->content.len < 31 ? s->content.len : 31),
		 s->content.ptr);
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);
		bool first = !i && !d->middle && s->prepend != HF_NEVER;

		hf_texts_add_replaced(&d->out, &t, r, first ? "" : " ");
		hf_texts_end(&d->out);
	}
}

static void each_suffix(struct hf_decoding *d, const struct hf_step *s)
{
	char r[64];

	snprintf(r, sizeof(r), "%.*s", (int)(s->content.len < 63 ? s->content.len : 63),
		 s->content.ptr ? s->content.ptr : "");
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);

		hf_texts_add_replaced(&d->out, &t, r, i + 1 == d->in.n && !d->middle ? "" : " ");
		hf_texts_end(&d->out);
	}
}

/* Drops repeated tokens and padding. */
static void each_ctc(struct hf_decoding *d, const struct hf_step *s)
{
	char pad[64], gap[64];

	snprintf(pad, sizeof(pad), "%.*s", (int)(s->pattern.len < 63 ? s->pattern.len : 63),
		 s->pattern.ptr ? s->pattern.ptr : "");
	snprintf(gap, sizeof(gap), "%.*s", (int)(s->content.len < 63 ? s->content.len : 63),
		 s->content.ptr ? s->content.ptr : "");
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i), b = i ? hf_texts_get(&d->in, i - 1) : t;

		if (i && !d->middle && t.len == b.len && !memcmp(t.ptr, b.ptr, t.len))
			continue;
		hf_texts_add_replaced(&d->out, &t, pad, "");
		if (d->out.failed)
			return;
		if (d->middle || d->out.end > hf_texts_at(&d->out)[d->out.n])
			hf_texts_end(&d->out);
	}
	if (!s->clean || d->middle)
		return;
	clean_up(&d->out, &d->in);
	swap_lists(d);
	hf_texts_clear(&d->out);
	for (size_t i = 0; i < d->in.n; i++) {
		struct lmd_str t = hf_texts_get(&d->in, i);

		hf_texts_add_replaced(&d->out, &t, gap, " ");
		hf_texts_end(&d->out);
	}
}

static void each_fuse(struct hf_decoding *d)
{
	if (!d->middle) {
		hf_texts_put(&d->out, d->in.bytes.p, hf_texts_bytes(&d->in));
	} else {
		for (size_t i = 0; i < d->in.n; i++) {
			struct lmd_str t = hf_texts_get(&d->in, i);

			hf_texts_put(&d->out, t.ptr, t.len);
		}
	}
	d->fused = true;
}

/* Why a list of texts is not complete. */
static enum lmd_status failure(const struct hf_decoding *d)
{
	return d->in.work.stopped || d->out.work.stopped ? LMD_CANCELLED : LMD_NOMEM;
}

static void run_step(struct hf_decoding *d, const struct hf_step *s)
{
	hf_texts_clear(&d->out);
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
		d->st = failure(d);
}

void hf_decode_steps(const struct hf_state *h, struct hf_decoding *d)
{
	if (d->in.failed)
		d->st = failure(d);
	for (uint32_t i = 0; i < h->n_decode && d->st == LMD_OK; i++)
		run_step(d, &h->decode[i]);
}

void hf_decode_drop(struct hf_decoding *d)
{
	struct hf_texts *const t[] = {&d->in, &d->out};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		tok_buf_fini(&t[i]->bytes, t[i]->host);
		tok_buf_fini(&t[i]->at, t[i]->host);
	}
}
