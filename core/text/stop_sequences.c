/* SPDX-License-Identifier: MIT
 *
 * Each stop sequence has its own Knuth-Morris-Pratt matcher, whose state is the length of the
 * longest prefix of the sequence that the stream ends with.  The bytes held back are the longest of
 * these prefixes, so they need no buffer: they are read from the sequence itself. */
#include "core/text/stop_sequences.h"

#include <string.h>

#include "core/base/alloc.h"

struct matcher {
	const char *text;
	uint16_t *fail; /* [len]: fail[i] = length of the longest proper prefix of text that is also
			 * a suffix of text[0..i] */
	uint16_t len;
	uint16_t at;    /* bytes matched so far, < len */
};

struct lmi_stop_matcher {
	uint32_t n;
	struct matcher m[LMI_STOP_SEQUENCES_MAX];
	char *bytes;
	uint16_t *fails;
};

static enum lmd_status check(const struct lmd_str *text, size_t n, size_t *total,
			     struct lmd_error *err)
{
	*total = 0;
	if (n > LMI_STOP_SEQUENCES_MAX)
		return lmd_fail(err, LMD_INVALID,
				"stop: %zu sequences given, at most %d are allowed", n,
				LMI_STOP_SEQUENCES_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!text[i].len)
			return lmd_fail(err, LMD_INVALID, "stop: sequence %zu is empty", i);
		if (text[i].len > LMI_STOP_SEQUENCE_BYTES_MAX)
			return lmd_fail(err, LMD_INVALID,
					"stop: sequence %zu has %zu bytes, at most %d are allowed",
					i, text[i].len, LMI_STOP_SEQUENCE_BYTES_MAX);
		*total += text[i].len;
	}
	return LMD_OK;
}

static void fill_fail(struct matcher *m)
{
	uint16_t k = 0;

	m->fail[0] = 0;
	for (uint16_t i = 1; i < m->len; i++) {
		while (k && m->text[i] != m->text[k])
			k = m->fail[k - 1];
		k = (uint16_t)(k + (m->text[i] == m->text[k]));
		m->fail[i] = k;
	}
}

enum lmd_status lmi_stop_create(struct lmi_stop_matcher **out, const struct lmd_str *text, size_t n,
				struct lmd_error *err)
{
	struct lmi_stop_matcher *s;
	size_t total, at = 0;
	enum lmd_status st = check(text, n, &total, err);

	if (st != LMD_OK)
		return st;
	s = lmi_alloc(1, sizeof(*s));
	if (s) {
		s->bytes = lmi_alloc(total + 1, 1);
		s->fails = lmi_alloc(total + 1, sizeof(*s->fails));
	}
	if (!s || !s->bytes || !s->fails) {
		lmi_stop_destroy(s);
		return lmd_fail(err, LMD_NOMEM, "stop: out of memory (%zu bytes)", total);
	}
	s->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		memcpy(s->bytes + at, text[i].ptr, text[i].len);
		s->m[i] = (struct matcher){s->bytes + at, s->fails + at, (uint16_t)text[i].len, 0};
		fill_fail(&s->m[i]);
		at += text[i].len;
	}
	*out = s;
	return LMD_OK;
}

void lmi_stop_destroy(struct lmi_stop_matcher *s)
{
	if (!s)
		return;
	lmi_free(s->bytes);
	lmi_free(s->fails);
	lmi_free(s);
}

void lmi_stop_reset(struct lmi_stop_matcher *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->m[i].at = 0;
}

/* The matcher with the longest partial match. */
static const struct matcher *longest_partial(const struct lmi_stop_matcher *s)
{
	static const struct matcher none;
	const struct matcher *best = &none;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->m[i].at > best->at)
			best = &s->m[i];
	return best;
}

/* Feeds one byte.  Returns the index of the longest sequence that it completes, or -1. */
static int step(struct lmi_stop_matcher *s, char c)
{
	int done = -1;

	for (uint32_t i = 0; i < s->n; i++) {
		struct matcher *m = &s->m[i];

		while (m->at && m->text[m->at] != c)
			m->at = m->fail[m->at - 1];
		m->at = (uint16_t)(m->at + (m->text[m->at] == c));
		if (m->at < m->len)
			continue;
		if (done < 0 || m->len > s->m[done].len)
			done = (int)i;
		m->at = m->fail[m->len - 1];
	}
	return done;
}

int lmi_stop_feed(struct lmi_stop_matcher *s, const char *in, size_t n, char *out, size_t *n_out,
		  size_t *used)
{
	const struct matcher *h = longest_partial(s);
	size_t before = h->at, total, keep;
	char *o = out;
	int done = -1;
	size_t i = 0;

	/* the held-back bytes come before the input */
	memcpy(o, h->text ? h->text : "", before);
	while (i < n && done < 0)
		done = step(s, in[i++]);
	memcpy(o + before, in, i);
	total = before + i;
	keep = done >= 0 ? s->m[done].len : longest_partial(s)->at;
	*n_out = total - keep;
	*used = i;
	if (done >= 0)
		lmi_stop_reset(s);
	return done;
}

size_t lmi_stop_flush(struct lmi_stop_matcher *s, char *out)
{
	const struct matcher *h = longest_partial(s);
	size_t n = h->at;

	memcpy(out, h->text ? h->text : "", n);
	lmi_stop_reset(s);
	return n;
}
