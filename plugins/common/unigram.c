/* SPDX-License-Identifier: MIT
 *
 * Dynamic programming from the left: best[i] is the best way to cover s[0..i).  Positions are
 * those that lead bytes say are borders of characters. */
#include "common/unigram.h"

#include <float.h>

#include "common/uni.h"

#define UNKNOWN_PENALTY 10.0f

struct best {
	double sum;
	uint32_t id;   /* LMI_NONE: one character without a token */
	uint32_t from;
};

enum lmd_status lmi_unigram_open(struct lmi_unigram *u, const struct lmi_vocab *v,
				 struct lmd_error *err)
{
	const uint8_t known = LMI_ATTR_NORMAL | LMI_ATTR_USER | LMI_ATTR_UNUSED;
	float min = FLT_MAX;
	size_t bytes = 0;
	bool ok;

	memset(u, 0, sizeof(*u));
	u->vocab = v;
	for (uint32_t i = 0; i < v->n; i++)
		bytes += v->text[i].len;
	u->score = lmi_host_array(v->host, v->n, sizeof(*u->score));
	ok = u->score && lmi_trie_init(&u->trie, v->host, bytes / 2);
	for (uint32_t i = 0; ok && i < v->n; i++) {
		float score = lmi_vocab_score(v, i);

		if ((v->attr[i] & LMI_ATTR_NORMAL) && score < min)
			min = score;
		u->score[i] = v->attr[i] & LMI_ATTR_USER ? 0.0 : (double)score;
		if (v->attr[i] & known)
			ok = lmi_trie_add(&u->trie, v->host, v->text[i].ptr, v->text[i].len, i);
	}
	u->unknown_score = (double)(min - UNKNOWN_PENALTY);
	if (ok)
		return LMD_OK;
	lmi_unigram_close(u);
	return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
}

void lmi_unigram_close(struct lmi_unigram *u)
{
	if (!u->vocab)
		return;
	lmi_trie_fini(&u->trie, u->vocab->host);
	lmi_host_free(u->vocab->host, u->score);
	u->vocab = NULL;
}

static inline void offer(struct best *b, double sum, uint32_t id, size_t from)
{
	if (sum > b->sum)
		*b = (struct best){sum, id, (uint32_t)from};
}

/* All tokens that begin at `at`. */
static void extend(const struct lmi_unigram *u, struct best *b, const char *s, size_t n, size_t at,
		   size_t one)
{
	uint32_t node = LMI_TRIE_ROOT;
	bool whole = false;

	for (size_t i = at; i < n; i++) {
		uint32_t id;

		node = lmi_trie_next(&u->trie, node, (unsigned char)s[i]);
		if (node == LMI_NONE)
			break;
		id = u->trie.node[node].value;
		if (id == LMI_NONE)
			continue;
		whole |= i + 1 - at == one;
		offer(&b[i + 1], b[at].sum + u->score[id], id, at);
	}
	if (!whole)
		offer(&b[at + one], b[at].sum + u->unknown_score, LMI_NONE, at);
}

enum lmd_status lmi_unigram_text(const struct lmi_unigram *u, struct lmi_job *j, const char *s, size_t n)
{
	int32_t unk = u->vocab->info.unk;
	bool was_unknown = false;
	uint32_t *id;
	size_t k = 0;
	struct best *b;

	if (!n)
		return LMD_OK;
	if (!lmi_buf_need(&j->buf[0], j->host, (n + 1) * sizeof(*b)) ||
	    !lmi_buf_need(&j->buf[1], j->host, n * sizeof(*id)))
		return LMD_NOMEM;
	b = j->buf[0].p;
	id = j->buf[1].p;
	for (size_t i = 0; i <= n; i++)
		b[i] = (struct best){-DBL_MAX, LMI_NONE, 0};
	b[0].sum = 0;
	for (size_t at = 0, one; at < n; at += one) {
		one = lmi_utf8_len((unsigned char)s[at]);
		if (one > n - at)
			one = n - at;
		extend(u, b, s, n, at, one);
	}
	for (size_t at = n; at; at = b[at].from) {
		bool unknown = b[at].id == LMI_NONE || b[at].id == (uint32_t)unk;

		if (!unknown || !was_unknown)
			id[k++] = unknown ? (uint32_t)unk : b[at].id;
		was_unknown = unknown;
	}
	while (k--)
		if (id[k] != LMI_NONE) /* unk is -1: unknown characters vanish */
			lmi_job_put(j, id[k]);
	return LMD_OK;
}
