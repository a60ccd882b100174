/* SPDX-License-Identifier: MIT
 *
 * A growing ring buffer of items and a growing buffer of text; the final item is only a flag. */
#include "service/output.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"

static const struct lmi_svc_item final_item = {.kind = LMI_SVC_ITEM_END};

void lmi_svc_output_init(struct lmi_svc_output *o, uint64_t max_bytes)
{
	*o = (struct lmi_svc_output){.first = 1, .max_bytes = max_bytes};
}

void lmi_svc_output_fini(struct lmi_svc_output *o)
{
	lmi_free(o->items);
	lmi_free(o->text);
	lmi_free(o->settings);
	*o = (struct lmi_svc_output){.first = 1};
}

uint64_t lmi_svc_output_memory(const struct lmi_svc_output *o)
{
	return (uint64_t)o->cap * sizeof(*o->items) + o->text_cap;
}

static uint64_t n_kept(const struct lmi_svc_output *o)
{
	return o->last + 1 - o->first;
}

/* ---- adding ---- */

static bool grow_items(struct lmi_svc_output *o)
{
	uint32_t cap = o->cap ? 2 * o->cap : 32;
	struct lmi_svc_item *v;

	if (n_kept(o) < o->cap)
		return true;
	v = lmi_alloc(cap, sizeof(*v));
	if (!v)
		return false;
	for (uint64_t k = o->first; k <= o->last; k++)
		v[k % cap] = o->items[k % o->cap];
	lmi_free(o->items);
	o->items = v;
	o->cap = cap;
	return true;
}

static bool grow_text(struct lmi_svc_output *o, uint32_t n)
{
	size_t cap = o->text_cap ? o->text_cap : 256;
	char *p;

	while (cap - o->n_text < n)
		cap *= 2;
	if (cap == o->text_cap)
		return true;
	p = lmi_realloc(o->text, cap, 1);
	if (!p)
		return false;
	o->text = p;
	o->text_cap = cap;
	return true;
}

enum lmd_status lmi_svc_output_add(struct lmi_svc_output *o, const struct lmi_svc_item *item,
				   const char *text, const void *logprobs)
{
	uint32_t bytes = item->n_text + item->logprobs_bytes;

	assert(!o->ended);
	if ((n_kept(o) + 1) * sizeof(*item) + o->n_text + bytes > o->max_bytes)
		return LMD_BUSY;
	if (!grow_items(o) || (bytes && !grow_text(o, bytes)))
		return LMD_NOMEM;
	o->last++;
	o->items[o->last % o->cap] = *item;
	o->items[o->last % o->cap].text_at = o->text_first + o->n_text;
	if (item->n_text)
		memcpy(o->text + o->n_text, text, item->n_text);
	if (item->logprobs_bytes)
		memcpy(o->text + o->n_text + item->n_text, logprobs, item->logprobs_bytes);
	o->n_text += bytes;
	return LMD_OK;
}

enum lmd_status lmi_svc_output_text(struct lmi_svc_output *o, uint64_t now, const char *text,
				    uint32_t n)
{
	const struct lmi_svc_item item = {
		.kind = LMI_SVC_ITEM_TEXT, .token = -1, .n_text = n, .at_ns = now};

	return lmi_svc_output_add(o, &item, text, NULL);
}

enum lmd_status lmi_svc_output_progress(struct lmi_svc_output *o, uint64_t now, uint32_t phase,
					uint64_t done, uint64_t total)
{
	const struct lmi_svc_item item = {.kind = LMI_SVC_ITEM_PROGRESS,
					  .token = -1,
					  .phase = phase,
					  .done = done,
					  .total = total,
					  .at_ns = now};
	struct lmi_svc_item *old = n_kept(o) ? &o->items[o->last % o->cap] : NULL;

	assert(!o->ended);
	if (!old || old->kind != LMI_SVC_ITEM_PROGRESS || o->sent >= o->last)
		return lmi_svc_output_add(o, &item, NULL, NULL);
	old->phase = phase;
	old->done = done;
	old->total = total;
	return LMD_OK;
}

void lmi_svc_output_end(struct lmi_svc_output *o, uint64_t now, const struct lmi_svc_end *end)
{
	if (o->ended)
		return;
	o->ended = true;
	o->end_ns = now;
	o->end = *end;
}

/* ---- reading ---- */

uint64_t lmi_svc_output_last(const struct lmi_svc_output *o)
{
	return o->last + o->ended;
}

enum lmd_status lmi_svc_output_check(const struct lmi_svc_output *o, uint64_t after,
				     struct lmd_error *err)
{
	if (after > lmi_svc_output_last(o))
		return lmd_fail(err, LMD_INVALID, "after: %llu, but the stream has only %llu items",
				(unsigned long long)after,
				(unsigned long long)lmi_svc_output_last(o));
	if (after + 1 < o->first)
		return lmd_fail(err, LMD_INVALID,
				"after: %llu, but items up to %llu were acknowledged and dropped",
				(unsigned long long)after, (unsigned long long)(o->first - 1));
	return LMD_OK;
}

void lmi_svc_output_drop(struct lmi_svc_output *o, uint64_t after)
{
	uint64_t gone;

	if (after > o->last)
		after = o->last; /* the final item stays */
	if (after < o->first)
		return;
	gone = after == o->last ? o->n_text
				: o->items[(after + 1) % o->cap].text_at - o->text_first;
	o->first = after + 1;
	o->n_text -= (size_t)gone;
	o->text_first += gone;
	if (o->n_text && gone)
		memmove(o->text, o->text + gone, o->n_text);
}

uint64_t lmi_svc_output_due(const struct lmi_svc_output *o, uint64_t after, uint64_t hold_ns,
			    uint32_t max)
{
	uint64_t n = lmi_svc_output_last(o) - after, at;

	if (o->ended)
		return 0;
	if (!n)
		return UINT64_MAX;
	if (!after || n >= max)
		return 0;
	at = o->items[(after + 1) % o->cap].at_ns;
	return at < UINT64_MAX - hold_ns ? at + hold_ns : UINT64_MAX;
}

uint32_t lmi_svc_output_count(const struct lmi_svc_output *o, uint64_t after, uint32_t max)
{
	uint64_t n = lmi_svc_output_last(o) - after;

	return n < max ? (uint32_t)n : max;
}

const struct lmi_svc_item *lmi_svc_output_item(const struct lmi_svc_output *o, uint64_t number,
					       const char **text)
{
	const struct lmi_svc_item *item;

	*text = NULL;
	if (number > o->last)
		return &final_item;
	item = &o->items[number % o->cap];
	if (item->n_text)
		*text = o->text + (item->text_at - o->text_first);
	return item;
}

const char *lmi_svc_output_logprobs(const struct lmi_svc_output *o, const struct lmi_svc_item *item)
{
	return o->text + (item->text_at - o->text_first) + item->n_text;
}

void lmi_svc_output_set_sent(struct lmi_svc_output *o, uint64_t number)
{
	if (number > o->sent)
		o->sent = number;
}
