/* SPDX-License-Identifier: MIT
 *
 * Reads all texts of a vocabulary once and sorts them. */
#include "core/grammar/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

/* Maximum total length of all texts in bytes. */
#define TEXT_MAX (1u << 30)

static size_t byte_piece(const void *ctx, lmd_token id, char *out, size_t cap)
{
	(void)ctx;
	if (id < 0 || id > 255)
		return 0;
	if (cap)
		out[0] = (char)id;
	return 1;
}

static const int32_t byte_end[] = {256};
static const struct lmd_sample_vocab bytes_alone = {.struct_size = sizeof(bytes_alone),
						    .n_tokens = 257,
						    .piece = byte_piece,
						    .eog = byte_end,
						    .n_eog = 1,
						    .eot = -1,
						    .eos = 256,
						    .nl = 10};

/* Appends the text of a token; returns its length, or SIZE_MAX if out of memory. */
static size_t add_text(struct lmi_grammar_vocab *v, const struct lmd_sample_vocab *from,
		       lmd_token id, size_t at, size_t *cap)
{
	size_t n = from->piece(from->ctx, id, v->text ? v->text + at : NULL, *cap - at);

	while (n > *cap - at) {
		size_t want = 2 * (at + n) + 4096;
		char *p = want <= TEXT_MAX ? lmi_realloc(v->text, want, 1) : NULL;

		if (!p)
			return SIZE_MAX;
		v->text = p;
		*cap = want;
		n = from->piece(from->ctx, id, p + at, want - at);
	}
	return n;
}

/* Returns the length of the UTF-8 character that starts here, or 0 if none does or it is cut
 * off. */
static size_t whole_char(const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];
	size_t len = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

static void describe(struct lmi_grammar_vocab *v, const struct lmi_gr_token *t,
		     struct lmi_gr_token_chars *chars)
{
	const char *s = v->text + t->text;

	for (uint32_t i = 0; i < t->n; i++) {
		unsigned char c = (unsigned char)s[i];

		chars->non_ascii |= c >= 0x80;
		if (c < 0x80)
			chars->ascii[c / 64] |= 1ull << (c % 64);
	}
	chars->complete = true;
	for (uint32_t i = 0; i < t->n && chars->complete;) {
		size_t len = lmi_utf8_char(s + i, t->n - i);

		chars->complete = len > 0;
		if (chars->n_chars < UINT8_MAX)
			chars->n_chars++;
		i += (uint32_t)len;
	}
	if (whole_char(s, t->n))
		lmi_gr_bit_set(v->starts_with_char, t->id);
}

static int compare(const struct lmi_grammar_vocab *v, const char *text, size_t n,
		   const struct lmi_gr_token *t)
{
	size_t m = n < t->n ? n : t->n;
	int c = m ? memcmp(text, v->text + t->text, m) : 0;

	return c ? c : (n > t->n) - (n < t->n);
}

/* Merge sort, because qsort of libc has no context argument for the texts. */
static void sort(const struct lmi_grammar_vocab *v, struct lmi_gr_token *a,
		 struct lmi_gr_token *tmp, uint32_t n)
{
	uint32_t mid = n / 2, i = 0, j = mid;

	if (n < 2)
		return;
	sort(v, a, tmp, mid);
	sort(v, a + mid, tmp, n - mid);
	for (uint32_t k = 0; k < n; k++) {
		bool left =
			j == n || (i < mid && compare(v, v->text + a[i].text, a[i].n, &a[j]) <= 0);

		tmp[k] = left ? a[i++] : a[j++];
	}
	memcpy(a, tmp, n * sizeof(*a));
}

static void index_order(struct lmi_grammar_vocab *v)
{
	uint32_t b = 0;

	for (uint32_t i = 0; i < v->n_tokens; i++) {
		struct lmi_gr_token *t = &v->token[i];
		unsigned char c = (unsigned char)v->text[t->text];

		v->rank[t->id] = i;
		while (b <= c)
			v->first[b++] = i;
		for (uint32_t k = 0; i && k < t->n && k < t[-1].n; k++, t->n_shared++) {
			if (v->text[t->text + k] != v->text[t[-1].text + k])
				break;
		}
	}
	while (b <= 256)
		v->first[b++] = v->n_tokens;
}

/* All characters from U+0020 on except the quote and the backslash. */
static const struct lmi_gr_char_set json_string_chars = {
	.ascii = {~0ull << ' ' & ~(1ull << '"'), ~(1ull << ('\\' - 64))}, .non_ascii = true};

static enum lmd_status fill(struct lmi_grammar_vocab *v, const struct lmd_sample_vocab *from,
			    struct lmd_error *err)
{
	struct lmi_gr_token *tmp;
	size_t at = 0, cap = 0;

	for (uint32_t i = 0; i < from->n_eog; i++) {
		if (from->eog[i] >= 0 && (uint32_t)from->eog[i] < v->n)
			lmi_gr_bit_set(v->eog, (uint32_t)from->eog[i]);
	}
	for (uint32_t id = 0; id < v->n; id++) {
		size_t n = add_text(v, from, (lmd_token)id, at, &cap);

		v->rank[id] = UINT32_MAX;
		lmi_gr_bit_set(v->all, id);
		if (n == SIZE_MAX)
			return lmd_fail(err, LMD_NOMEM,
					"grammar: out of memory for the texts of %u tokens", v->n);
		/* A text that starts with NUL is treated as empty. */
		if (!n || !v->text[at] || lmi_gr_bit(v->eog, id))
			continue;
		v->token[v->n_tokens++] =
			(struct lmi_gr_token){.id = id, .text = (uint32_t)at, .n = (uint32_t)n};
		at += n;
	}
	for (uint32_t i = 0; i < v->n_tokens; i++) {
		v->longest = v->token[i].n > v->longest ? v->token[i].n : v->longest;
	}
	tmp = lmi_alloc(v->n_tokens ? v->n_tokens : 1, sizeof(*tmp));
	if (!tmp)
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory for %u tokens", v->n);
	sort(v, v->token, tmp, v->n_tokens);
	lmi_free(tmp);
	for (uint32_t i = 0; i < v->n_tokens; i++)
		describe(v, &v->token[i], &v->chars[i]);
	index_order(v);
	if (!lmi_gr_class_tokens_init(&v->json_string, v, &json_string_chars))
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory for %u tokens", v->n);
	return LMD_OK;
}

enum lmd_status lmi_gr_vocab_create(struct lmi_grammar_vocab **out,
				    const struct lmd_sample_vocab *vocab, struct lmd_error *err)
{
	struct lmi_grammar_vocab *v = lmi_alloc(1, sizeof(*v));
	enum lmd_status st;

	vocab = vocab ? vocab : &bytes_alone;
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	v->n = vocab->n_tokens;
	v->n_words = v->n / 64 + 1;
	v->token = lmi_alloc(v->n ? v->n : 1, sizeof(*v->token));
	v->chars = lmi_alloc(v->n ? v->n : 1, sizeof(*v->chars));
	v->rank = lmi_alloc(v->n ? v->n : 1, sizeof(*v->rank));
	v->all = lmi_alloc(v->n_words, sizeof(*v->all));
	v->eog = lmi_alloc(v->n_words, sizeof(*v->eog));
	v->starts_with_char = lmi_alloc(v->n_words, sizeof(*v->starts_with_char));
	if (v->token && v->chars && v->rank && v->all && v->eog && v->starts_with_char)
		st = fill(v, vocab, err);
	else
		st = lmd_fail(err, LMD_NOMEM, "grammar: out of memory for %u tokens", v->n);
	if (st != LMD_OK) {
		lmi_gr_vocab_destroy(v);
		return st;
	}
	*out = v;
	return LMD_OK;
}

void lmi_gr_vocab_destroy(struct lmi_grammar_vocab *v)
{
	if (!v)
		return;
	lmi_free(v->token);
	lmi_free(v->chars);
	lmi_free(v->text);
	lmi_free(v->rank);
	lmi_free(v->all);
	lmi_free(v->eog);
	lmi_free(v->starts_with_char);
	lmi_gr_class_tokens_fini(&v->json_string);
	lmi_free(v);
}

uint32_t lmi_gr_vocab_size(const struct lmi_grammar_vocab *v)
{
	return v->n;
}

/* Returns the first token whose text is not less than this one. */
static uint32_t lower_bound(const struct lmi_grammar_vocab *v, const char *text, size_t bytes)
{
	uint32_t lo = 0, hi = v->n_tokens;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare(v, text, bytes, &v->token[mid]) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

lmd_token lmi_gr_vocab_find(const struct lmi_grammar_vocab *v, const char *text, size_t bytes)
{
	uint32_t i = lower_bound(v, text, bytes);

	if (i < v->n_tokens && !compare(v, text, bytes, &v->token[i]))
		return (lmd_token)v->token[i].id;
	return -1;
}

bool lmi_gr_vocab_has_longer(const struct lmi_grammar_vocab *v, const char *text, size_t bytes)
{
	uint32_t i = lower_bound(v, text, bytes);

	while (i < v->n_tokens && !compare(v, text, bytes, &v->token[i]))
		i++;
	return i < v->n_tokens && v->token[i].n > bytes &&
	       !memcmp(v->text + v->token[i].text, text, bytes);
}
