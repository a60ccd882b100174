/* SPDX-License-Identifier: MIT */
#include "client/llamactl/load_requests.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Common words: one token each, with the space before them, in most vocabularies. */
static const char *const words[] = {
	" time", " people", " water", " day",	" house", " world", " school", " state",
	" city", " night",  " book",  " money", " year",  " place", " room",   " group",
	" work", " life",   " hand",  " part",	" child", " eye",   " woman",  " man",
	" week", " case",   " point", " company", " number", " fact", " month", " story",
};

/* What a number of a request is for. */
enum purpose { SHARED, PROMPT_LENGTH, PREDICT_LENGTH, GAP, TEXT };

struct numbers {
	uint64_t state;
};

/* SplitMix64. */
static uint64_t next(struct numbers *n)
{
	uint64_t z = n->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static struct numbers numbers_of(const struct lmi_ctl_load_requests *r, uint64_t i, enum purpose p)
{
	struct numbers n = {.state = r->seed};

	n.state = next(&n) ^ i;
	n.state = next(&n) ^ p;
	return n;
}

static uint32_t between(struct numbers n, const struct lmi_ctl_load_lengths *l)
{
	return l->min + (uint32_t)(next(&n) % (l->max - l->min + 1));
}

static const char *read_length(const char *s, uint32_t *out)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = *s >= '0' && *s <= '9' ? strtoull(s, &end, 10) : ULLONG_MAX;
	if (v > LMI_CTL_LOAD_LENGTH || errno)
		return NULL;
	*out = (uint32_t)v;
	return end;
}

enum lmd_status lmi_ctl_load_lengths_parse(struct lmi_ctl_load_lengths *out, const char *name,
					   const char *text, uint32_t min, struct lmd_error *err)
{
	const char *p = read_length(text, &out->min);

	out->max = out->min;
	if (p && *p == '-')
		p = read_length(p + 1, &out->max);
	if (!p || *p || out->min < min || out->max < out->min)
		return lmd_fail(err, LMD_INVALID,
				"--%s: '%.40s' is not a length or two of them (64-512) from %u to %u", name,
				text, min, LMI_CTL_LOAD_LENGTH);
	return LMD_OK;
}

static char *put_words(char *p, struct numbers n, uint32_t n_word)
{
	for (uint32_t i = 0; i < n_word; i++)
		p = stpcpy(p, words[next(&n) % LMD_LEN(words)]);
	return p;
}

static char *prompt_of(const struct lmi_ctl_load_requests *r, uint64_t i)
{
	uint32_t n = between(numbers_of(r, i, PROMPT_LENGTH), &r->prompt);
	char *text = lmi_alloc(((size_t)r->n_shared + n) * 8 + 1, 1), *p = text;

	if (!text)
		return NULL;
	p = put_words(p, numbers_of(r, 0, SHARED), r->n_shared);
	(void)put_words(p, numbers_of(r, i, TEXT), n);
	return text;
}

const char *lmi_ctl_load_path(const struct lmi_ctl_load_requests *r)
{
	return r->chat ? "/v1/chat/completions" : "/v1/completions";
}

char *lmi_ctl_load_body(const struct lmi_ctl_load_requests *r, uint64_t i)
{
	char *prompt = prompt_of(r, i), *body = NULL;
	json_t *o = NULL;

	if (prompt)
		o = json_pack("{ss si sb sf si s{sb}}", "model", r->model, "max_tokens",
			      (int)between(numbers_of(r, i, PREDICT_LENGTH), &r->predict), "stream", 1,
			      "temperature", 0.0, "seed", 1, "stream_options", "include_usage", 1);
	if (o && !r->stop_early)
		(void)json_object_set_new(o, "ignore_eos", json_true());
	if (o)
		(void)json_object_set_new(o, r->chat ? "messages" : "prompt",
					  r->chat ? json_pack("[{ss ss}]", "role", "user", "content",
							      prompt)
						  : json_string(prompt));
	if (o)
		body = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	lmi_free(prompt);
	return body;
}

uint64_t lmi_ctl_load_gap_ns(const struct lmi_ctl_load_requests *r, uint64_t i)
{
	struct numbers n = numbers_of(r, i, GAP);
	double u = ((double)(next(&n) >> 11) + 1) / 9007199254740992.0; /* in (0, 1] */

	return (uint64_t)(-log(u) / r->rate * 1e9);
}
